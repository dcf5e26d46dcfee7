"""The parts of the score of one output, each a value times a weight, for explanations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.data.batch import SparseRows


class Part(NamedTuple):
    """One summand ``value * weight`` of the score of an output.

    Parameters
    ----------
    kind : str
        "feature", "bias", "transition", "edge feature", ...
    place : tuple of int
        Rows that it speaks of; the last one is where it stands.
    column : int
        Of the feature; -1 where there is none.
    labels : tuple of int
        Codes of the labels there.
    """

    kind: str
    place: tuple[int, ...]
    column: int
    labels: tuple[int, ...]
    value: float
    weight: float
    name: str = ""


def entries(rows: np.ndarray | SparseRows, t: int) -> list[tuple[int, float]]:
    """Columns and values of a row, equal columns added.

    >>> entries(np.array([[0.0, 2.0]]), 0)
    [(1, 2.0)]
    """
    if not isinstance(rows, SparseRows):
        return [(int(c), float(rows[t, c])) for c in np.flatnonzero(rows[t])]
    own = slice(rows.indptr[t], rows.indptr[t + 1])
    columns, at = np.unique(rows.indices[own], return_inverse=True)
    values = np.bincount(at, rows.values[own] if len(rows.values) else None, minlength=len(columns))
    return list(zip(columns.tolist(), values.astype(float).tolist()))


def weight_in(ptr: np.ndarray, code: np.ndarray, w: np.ndarray, column: int, wanted: int) -> float:
    """The weight of a column with a code in a layout that holds some codes; 0 where it has none.

    >>> weight_in(np.array([0, 2]), np.array([1, 4]), np.array([0.5, 2.0]), 0, 4)
    2.0
    """
    a, b = int(ptr[column]), int(ptr[column + 1])
    at = a + int(np.searchsorted(code[a:b], wanted))
    return float(w[at]) if at < b and code[at] == wanted else 0.0


def ends_near(near: np.ndarray) -> np.ndarray:
    """Right rows of the edges of one chain that touch a row of ``near``.

    >>> ends_near(np.array([False, True, False, False]))
    array([1, 2])
    """
    return 1 + np.flatnonzero(near[1:] | near[:-1])
