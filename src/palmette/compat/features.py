"""Which weights a CRFsuite model has.

A weight for an attribute and a label (or for two labels in a row) exists if they occur together in the training data
and the values of the occurrences sum to at least ``min_freq``. An attribute given with the value 0 (or False) occurs,
too; one whose values sum to less than 0 with some label has no weight with it, unless ``min_freq`` is as low.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.batch import Batch, SparseRows
from palmette.features.attributes import attribute_name
from palmette.features.base import Encoder
from palmette.structures.positions.linear_scorer import LinearScorer


def zero_names(position: Any) -> list[str]:
    """Names of the attributes of a position whose value is 0.

    >>> zero_names({"w": "a", "cap": False, "next": {"cap": 0, "n": 0.5}})
    ['cap', 'next:cap']
    """
    if not isinstance(position, dict):
        return []
    found = []
    for name, value in position.items():
        if value.__class__ is str:  # most are
            continue
        if isinstance(value, dict):
            found += [f"{attribute_name(name)}:{inner}" for inner in zero_names(value)]
        elif value == 0:
            found.append(attribute_name(name))
    return found


def zero_rows(X: list[Any], encoder: Encoder) -> SparseRows | None:
    """The columns of zero-valued attributes at every position, as rows of ones; None where there are none."""
    if encoder.kind != "names":
        return None
    names = [[zero_names(position) for position in sample] for sample in X]
    if not any(map(any, names)):
        return None
    rows = encoder.transform(names).rows
    assert isinstance(rows, SparseRows)
    return rows


def lay_out(
    batch: Batch, zeros: SparseRows | None, codes: np.ndarray, n_labels: int, *, min_freq: float,
    all_possible_states: bool, all_possible_transitions: bool,
) -> LinearScorer:  # fmt: skip
    """The weights of a model for training data.

    Parameters
    ----------
    batch : Batch
    zeros : SparseRows, optional
        Columns that occur with the value 0 at each row of the batch.
    codes : ndarray of int32, shape (n_rows,)
    n_labels : int
    min_freq : float
    all_possible_states, all_possible_transitions : bool
        Combinations that do not occur count as if they did, with a sum of 0.
    """
    rows = batch.rows
    if isinstance(rows, SparseRows):
        ptr, label = _states(rows, zeros, codes, n_labels, min_freq, all_possible_states)
    elif min_freq > 0:
        raise ValueError(
            f"min_freq={min_freq:g} counts named features (dicts, lists of strings); X holds arrays: leave it out"
        )
    else:
        ptr, label = np.empty(0, np.int64), np.empty(0, np.int32)
    return LinearScorer(
        n_columns=batch.n_columns, n_labels=n_labels, ptr=ptr, label=label,
        pairs=_transitions(batch.offsets, codes, n_labels, min_freq, all_possible_transitions),
        intercept=False, has_edges=True,
    )  # fmt: skip


def _states(
    rows: SparseRows, zeros: SparseRows | None, codes: np.ndarray, n_labels: int, min_freq: float, everything: bool
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    parts = [(rows.indices, np.repeat(codes, np.diff(rows.indptr)), _values(rows))]
    if zeros is not None:
        parts.append((zeros.indices, np.repeat(codes, np.diff(zeros.indptr)), np.zeros(len(zeros.indices))))
    if everything:
        pair = np.divmod(np.arange(rows.n_columns * n_labels), n_labels)
        parts.append((*pair, np.zeros(rows.n_columns * n_labels)))
    column, label, value = (np.concatenate(part) for part in zip(*parts))
    total = sparse.coo_array((value, (column, label)), (rows.n_columns, n_labels)).tocsr()
    total.sum_duplicates()
    keep = total.data >= min_freq
    if keep.sum() == rows.n_columns * n_labels:
        return np.empty(0, np.int64), np.empty(0, np.int32)  # all of them
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    return kept_before[total.indptr].astype(np.int64), total.indices[keep].astype(np.int32)


def _values(rows: SparseRows) -> np.ndarray:
    return rows.values if len(rows.values) else np.ones(len(rows.indices))


def _transitions(
    offsets: np.ndarray, codes: np.ndarray, n_labels: int, min_freq: float, everything: bool
) -> np.ndarray:
    inner = np.ones(len(codes), bool)
    inner[offsets[:-1]] = False  # rows with a left neighbour in their sample
    right = np.flatnonzero(inner)
    pairs = codes[right - 1].astype(np.int64) * n_labels + codes[right]
    count = np.bincount(pairs, minlength=n_labels * n_labels)
    return np.flatnonzero((count >= min_freq) & (everything | (count > 0)))
