"""What a shell offers for the beginning of a word: names of tasks, data sets, recipes, benchmarks.

``palmette --install-completion`` makes the shell ask; it then runs this command once per Tab with ``ASKED`` set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

ASKED = "_PALMETTE_COMPLETE"
"""Set by the shell that wants completions instead of a run."""


def completion(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The function that Typer asks; without words, as outside a checkout, nothing is offered.

    >>> completion(lambda: ["map", "mar", "pr"])("ma")
    ['map', 'mar']
    """

    def offered(incomplete: str) -> list[str]:
        try:
            return [word for word in words() if word.startswith(incomplete)]
        except ValueError:
            return []

    return offered


def datasets() -> Iterable[str]:
    """Names of data sets."""
    from palmette.datasets.registry import REGISTRY

    return REGISTRY


def recipes() -> Iterable[str]:
    """Names of the recipes that can be run from here."""
    from palmette.recipes.files import ExperimentFiles

    return ExperimentFiles("recipes", "recipe").paths()


def benchmarks() -> Iterable[str]:
    """Names of the benchmarks that can be run from here."""
    from palmette.recipes.files import ExperimentFiles

    return ExperimentFiles("benchmarks", "benchmark").paths()
