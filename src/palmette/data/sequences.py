"""Samples as users hold them: one long table with groups, lists, iterators; and their lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.outside import checked_csr, refuse_masked


def as_sequences(X: Any, y: Any = None, groups: Any = None) -> Any:
    """Cut one table of positions into a list of sequences.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns), data frame, or list of n_rows dicts
        The positions of all sequences, one sequence after the other.
    y : sequence of n_rows labels, optional
    groups : sequence of n_rows values, optional
        Rows of one sequence have equal values and are neighbours. Without it all rows are one sequence.

    Returns
    -------
    X : list of 2-D arrays, of sparse matrices (CSR) or of lists of dicts
    y : list of lists of labels
        Only if `y` was given.

    Examples
    --------
    >>> X, y = as_sequences([[0.5], [1.5], [2.5]], ["a", "b", "b"], groups=[7, 7, 8])
    >>> [x.shape for x in X], y
    ([(2, 1), (1, 1)], [['a', 'b'], ['b']])
    """
    rows = _as_rows(X)
    n_rows = n_items(rows)
    if n_rows == 0:
        raise ValueError("X has no rows, hence no sequence")
    bounds = _runs(groups, n_rows) if groups is not None else [0, n_rows]
    cut = [rows[start:stop] for start, stop in zip(bounds, bounds[1:])]
    if y is None:
        return cut
    labels = _flat(y, "y", n_rows)
    return cut, [labels[start:stop] for start, stop in zip(bounds, bounds[1:])]


def _as_rows(X: Any) -> Any:
    if sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions (rows x columns), got shape {X.shape}")
        return checked_csr(X, "X")
    refuse_masked(X, "X")
    X = listed(X)
    if isinstance(X, (list, tuple)) and _is_named(next((row for row in X if _size(row)), None)):
        return list(X)
    array = np.asarray(X)
    if array.ndim != 2 and array.size:
        raise ValueError(f"X must have two dimensions (rows x columns), got shape {array.shape}")
    return array


def _is_named(row: Any) -> bool:
    """Whether a row is a dict or a list of strings rather than numbers."""
    if isinstance(row, (list, tuple)):
        return any(isinstance(value, (str, bytes)) for value in row)
    return isinstance(row, (Mapping, set, frozenset))


def _size(row: Any) -> int:
    return len(row) if hasattr(row, "__len__") else 1


def _runs(groups: Any, n_rows: int) -> list[int]:
    """Bounds of the runs of equal values; a value that comes back later is an error."""
    bounds, seen, row = [0], set(), 0
    for group, members in groupby(_flat(groups, "groups", n_rows)):
        if group != group:
            raise ValueError(f"groups[{row}] is {group!r}; every row needs a group")
        if group in seen:
            raise ValueError(
                f"group {group!r} occurs again at row {row} after another group; rows of a group must be "
                "neighbours: sort X, y and groups by group first"
            )
        seen.add(group)
        row += sum(1 for _ in members)
        bounds.append(row)
    return bounds


def _flat(values: Any, name: str, n_rows: int) -> list[Any]:
    refuse_masked(values, name)
    values = np.asarray(values) if hasattr(values, "__array__") else list(values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {values.shape}")
        values = values.tolist()
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {len(values)}")
    return values


def listed(samples: Any) -> Any:
    """`samples` with iterators (generators) replaced by lists, so that it can be read more than once.

    Anything else is returned as it is, without a copy.

    >>> listed(str(i) for i in range(2)), listed([range(2), iter("ab")])
    (['0', '1'], [range(0, 2), ['a', 'b']])
    """
    if isinstance(samples, Iterator):
        samples = list(samples)
    if isinstance(samples, (list, tuple)) and any(
        issubclass(kind, Iterator) for kind in set(map(type, samples))
    ):
        samples = [list(sample) if isinstance(sample, Iterator) else sample for sample in samples]
    return samples


def n_items(values: Any) -> int:
    """``len(values)``, for sparse matrices too."""
    return values.shape[0] if sparse.issparse(values) else len(values)


def check_same_length(X: Any, y: Any, layout: str = "sequences") -> None:
    """Raise ValueError unless `X` and `y` have as many samples and, in sequences, as many positions.

    Parameters
    ----------
    X, y : the inputs and labels of some samples, free of iterators (see `listed`)
    layout : {"sequences", "items"}
        Whether a sample is a sequence of positions or one item.

    Examples
    --------
    >>> check_same_length([["p", "q"]], [["a"]])
    Traceback (most recent call last):
    ...
    ValueError: sample 0: X[0] has 2 positions but y[0] has 1 labels
    """
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    for name, values in (("X", X), ("y", y)):
        if not hasattr(values, "__len__") or isinstance(values, (str, bytes)):
            raise TypeError(
                f"{name} must hold one entry per sample, got {type(values).__name__}: {values!r:.60}"
            )
    if n_items(X) != n_items(y):
        raise ValueError(f"X has {n_items(X)} samples but y has {n_items(y)}")
    if layout == "items":
        return
    for i, (sample, labels) in enumerate(zip(X, y)):
        if not (hasattr(sample, "__len__") and hasattr(labels, "__len__")):
            continue  # not a sequence at all: its encoder says so
        if n_items(sample) != n_items(labels):
            raise ValueError(
                f"sample {i}: X[{i}] has {n_items(sample)} positions but y[{i}] has {n_items(labels)} labels"
            )
