"""Files that come with a source checkout, by name: benchmarks and recipes."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import palmette


@dataclass(frozen=True)
class CheckoutFiles:
    """Python files of one folder of the source checkout, or of the current folder.

    Parameters
    ----------
    folder : str
        Name of the folder, which is the plural of what its files are.
    noun : str
        What one file is called in messages.

    Examples
    --------
    >>> CheckoutFiles("benchmarks", "benchmark").find("no_such_thing")
    Traceback (most recent call last):
    ...
    ValueError: no benchmark 'no_such_thing'...
    """

    folder: str
    noun: str

    def paths(self) -> dict[str, Path]:
        """Files by name, sorted; the checkout this package runs from goes before the current folder."""
        checkout = Path(palmette.__file__).resolve().parents[2]
        roots = [checkout] if (checkout / "pyproject.toml").is_file() else []
        files: dict[str, Path] = {}
        for root in [*roots, Path.cwd()]:
            for path in (root / self.folder).glob("[!_]*.py"):
                files.setdefault(path.stem, path)
        return dict(sorted(files.items()))

    def find(self, name: str) -> Path:
        """File of a name.

        Raises
        ------
        ValueError
            There is none of this name, or none at all because this is not a source checkout.
        """
        files = self.paths()
        if not files:
            raise ValueError(
                f"no {self.noun} {name!r}: {self.folder} come with a source checkout of palmette, not with the "
                "installed package. Clone the repository and run the command inside it."
            )
        if name not in files:
            raise ValueError(f"no {self.noun} {name!r}; there are: {', '.join(files)}")
        return files[name]

    def load(self, path: Path | str) -> ModuleType:
        """Import a file as a module.

        Raises
        ------
        ValueError
            The file does not exist or is not a Python file.
        """
        path = Path(path)
        if not path.is_file():
            raise ValueError(f"no {self.noun} file {path}")
        spec = importlib.util.spec_from_file_location(f"palmette_{self.noun}_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
