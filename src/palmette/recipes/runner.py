"""Finds recipes and runs them."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from palmette.recipes.context import Context
from palmette.recipes.files import ExperimentFiles, load_file
from palmette.recipes.machine import machine, versions
from palmette.recipes.report import RecipeReport

_FILES = ExperimentFiles("recipes", "recipe")


@dataclass(frozen=True)
class Recipe:
    """A recipe that can be run from here.

    ``title`` is the first line of ``doc``, the docstring of the file.
    """

    name: str
    path: Path
    doc: str

    @property
    def title(self) -> str:
        """First line of the description."""
        return self.doc.strip().partition("\n")[0] or self.name


def list_recipes() -> list[Recipe]:
    """The recipes of the source checkout and of the current folder, by name; nothing is imported.

    Raises
    ------
    ValueError
        There are none.
    """
    return [_described(path) for path in _FILES.paths().values()]


def find_recipe(name: str) -> Recipe:
    """The recipe of a name, in which hyphens count as underscores.

    Raises
    ------
    ValueError
        There is no such recipe.
    """
    return _described(_FILES.find(name))


def run_recipe(name: str, quick: bool = False, log: Callable[[str], None] | None = None) -> RecipeReport:
    """Run a recipe.

    Parameters
    ----------
    name : str
        Name of its file without ``.py``; hyphens count as underscores.
    quick : bool, default=False
        A small version that takes less than a minute.
    log : callable, optional
        Called with lines of progress.

    Returns
    -------
    RecipeReport

    Raises
    ------
    ValueError
        There is no such recipe, its file has no function ``run``, or the run left neither table nor figure.
    DatasetUnavailable
        The recipe needs data that is not here and could not be fetched.
    """
    recipe = find_recipe(name)
    run = getattr(load_file(recipe.path), "run", None)
    if not callable(run):
        raise ValueError(f"{recipe.path} does not define run(context), which does the work of a recipe")
    context = Context(quick=quick, log=log)
    started = time.perf_counter()
    run(context)
    if not (context.tables or context.figures):
        raise ValueError(f"{recipe.path}: run(context) added neither a table nor a figure to the report")
    return RecipeReport(
        name=recipe.name, title=recipe.title, doc=recipe.doc, quick=quick, seconds=time.perf_counter() - started,
        tables=tuple(context.tables), figures=tuple(context.figures), evaluations=tuple(context.evaluations),
        verdicts=tuple(context.verdicts), notes=tuple(context.notes), versions=versions(["scikit-learn"]),
        machine=machine(),
    )  # fmt: skip


def _described(path: Path) -> Recipe:
    return Recipe(path.stem, path, _docstring(path))


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))) or ""
