"""Experiments by name: benchmarks and recipes are files beside the package, never part of it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import palmette

FOLDER = "experiments"


def checkout() -> Path | None:
    """The source checkout that this package runs from; None for an installed package."""
    root = Path(palmette.__file__).resolve().parents[2]
    return root if (root / FOLDER).is_dir() and (root / "pyproject.toml").is_file() else None


def _experiments() -> list[Path]:
    """Folders ``experiments``: of the checkout, then of the current folder."""
    roots = [root for root in (checkout(), Path.cwd()) if root is not None]
    return [root / FOLDER for root in roots if (root / FOLDER).is_dir()]


@dataclass(frozen=True)
class ExperimentFiles:
    """Python files of one kind: those of a checkout, then those of the current folder.

    Parameters
    ----------
    folder : str
        Name of their folder, in ``experiments/`` or in the current folder. It is the plural of what its files are.
    noun : str
        What one file is called in messages.

    Examples
    --------
    >>> ExperimentFiles("recipes", "recipe").find("no-such-thing")
    Traceback (most recent call last):
    ...
    ValueError: no recipe 'no-such-thing'...
    """

    folder: str
    noun: str

    def paths(self) -> dict[str, Path]:
        """Files by name, sorted; names have underscores.

        Raises
        ------
        ValueError
            There are none; the message says where they are.
        """
        files: dict[str, Path] = {}
        for root in [*_experiments(), Path.cwd()]:
            for path in (root / self.folder).glob("[!_]*.py"):
                files.setdefault(_normal(path.stem), path)
        if not files:
            raise ValueError(
                f"no {self.folder} here: those of palmette are not part of the installed package; get its source code, "
                f"run this command in its folder, which has {FOLDER}/{self.folder}; or write your own as "
                f"{self.folder}/NAME.py in the current folder"
            )
        return dict(sorted(files.items()))

    def find(self, name: str) -> Path:
        """File of a name, in which hyphens count as underscores.

        Raises
        ------
        ValueError
            There is no such file.
        """
        files = self.paths()
        if _normal(name) not in files:
            raise ValueError(f"no {self.noun} {name!r}; there are: {', '.join(files)}")
        return files[_normal(name)]


def _normal(name: str) -> str:
    return name.replace("-", "_")


def load_file(path: Path) -> ModuleType:
    """Import a file as a module; it can import ``experiments.harness`` if there is a checkout."""
    _reach_harness()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def import_harness() -> ModuleType:
    """The package ``experiments.harness`` of the checkout, or of the current folder.

    Raises
    ------
    ValueError
        There is none: benchmarks need a checkout.
    """
    if not _reach_harness():
        raise ValueError(
            "no benchmarks here: they are not part of the installed package; get the source code of palmette, run "
            f"this command in its folder, which has {FOLDER}/benchmarks"
        )
    return importlib.import_module(f"{FOLDER}.harness")


def _reach_harness() -> bool:
    """Put the parent of ``experiments/`` on the path; whether there is one with a harness."""
    for folder in _experiments():
        if (folder / "harness" / "__init__.py").is_file():
            root = str(folder.parent)
            if root not in sys.path:
                sys.path.insert(0, root)
            return True
    return False
