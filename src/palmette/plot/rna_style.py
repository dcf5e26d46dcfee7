"""What displays of folded sequences share: what they take, colours, letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.structures.folding.brackets import Pair, check_pairs, parse_brackets

INK, GREY, LIGHT = "#25313d", "#9aa5b1", "#e4e8ec"
LETTERS = {"A": "#f6c667", "C": "#8ecae6", "G": "#90d5a4", "U": "#f4a3b5", "T": "#f4a3b5"}
"""Fills of letters."""

TRUE, FALSE, MISSED = "#2a9d6f", "#e07a3f", "#9aa5b1"
"""Pairs that are in both structures, only predicted, and only in the reference."""


def pairs_of(structure: str | Sequence[Pair], length: int, what: str = "structure") -> list[Pair]:
    """The pairs of a dot-bracket string or list, checked against the length of the sequence."""
    if not isinstance(structure, str):
        return check_pairs(structure, length)
    if len(structure) != length:
        raise ValueError(f"{what} has {len(structure)} characters, the sequence {length} letters")
    return parse_brackets(structure)


def checked_probabilities(probabilities: Any, length: int) -> np.ndarray | None:
    """A symmetric table of pair probabilities, shape (length, length); None stays None."""
    if probabilities is None:
        return None
    table = np.asarray(probabilities, float)
    if table.shape != (length, length):
        raise ValueError(
            f"probabilities have shape {table.shape}, expected ({length}, {length}) for this sequence"
        )
    if length and not (np.all(table >= -1e-6) and np.all(table <= 1 + 1e-6)):
        raise ValueError("probabilities must be from 0 to 1")
    return np.maximum(table, table.T)


def certainty(pairs: Sequence[Pair], probabilities: np.ndarray) -> np.ndarray:
    """How probable what each position does is: its pair, or to be unpaired; shape (length,)."""
    sure = 1.0 - probabilities.sum(axis=1)
    for i, j in pairs:
        sure[i] = sure[j] = probabilities[i, j]
    return np.clip(sure, 0.0, 1.0)


def bare(ax: Any, title: str | None) -> None:
    """Axes without frame and ticks, one unit as long as the other."""
    ax.set_aspect("equal")
    ax.axis("off")
    if title:
        ax.set_title(title, color=INK, fontsize=11, loc="left")


def points_per_unit(ax: Any) -> float:
    """How long a unit of the data is on paper, in points, once the limits are set."""
    box = ax.get_window_extent()
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return 72.0 / ax.figure.dpi * min(box.width / abs(x1 - x0), box.height / abs(y1 - y0))
