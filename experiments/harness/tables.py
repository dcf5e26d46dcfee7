"""Rows of the tables and bars of the figures that studies and recipes make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def cells(record: Mapping[str, Any], *names: str) -> list[str]:
    """Values of a record by name, each perhaps with a format.

    >>> cells({"edges": "windows", "seconds": 1.5}, "edges", "seconds:.2f")
    ['windows', '1.50']
    """
    parts = (name.partition(":") for name in names)
    return [format(record[name], form) for name, _, form in parts]


def grouped(records: Sequence[Mapping[str, Any]], *names: str) -> dict[tuple[Any, ...], list[Any]]:
    """Records by what they have under some names.

    >>> grouped([{"set": "dna", "fold": 0}, {"set": "dna", "fold": 1}], "set")
    {('dna',): [{'set': 'dna', 'fold': 0}, {'set': 'dna', 'fold': 1}]}
    """
    found: dict[tuple[Any, ...], list[Any]] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in names), []).append(record)
    return found


def mean(runs: Sequence[Mapping[str, Any]], name: str) -> float:
    """The mean of a value over runs."""
    return sum(run[name] for run in runs) / len(runs)


def target_row(what: str, sign: str, bound: float, value: float, digits: int) -> list[str]:
    """A target, what was reached, and whether that is enough (``sign`` is ``<=`` or ``>=``)."""
    met = value <= bound if sign == "<=" else value >= bound
    return [what, f"{sign} {bound:g}", f"{value:.{digits}f}", "met" if met else "MISSED"]


def draw_bars(ax: Any, names: Sequence[str], heights: Mapping[str, Sequence[float]], **ticks: Any) -> None:
    """Bars beside each other, one of each learner for every name."""
    for k, (learner, values) in enumerate(heights.items()):
        places = [i + (k - (len(heights) - 1) / 2) * 0.27 for i in range(len(values))]
        ax.bar(places, values, width=0.25, label=learner)
    ax.set_xticks(range(len(names)), names, **ticks)
