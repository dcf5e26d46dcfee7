"""Which weights exist: (column, code) pairs and label tuples seen in training, or all of them.

The weights of column a stand at ``ptr[a]:ptr[a + 1]`` for the codes ``code[...]``, ascending; a code is a label, or a
label pair ``i * n_labels + j``. The key of a weight is ``a * n_codes + code``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.features.rows import renumbered
from palmette.memory import check_size

BYTES_A_WEIGHT = 32  # at least, in training: the weight, its gradient, its penalty, where it stands
BYTES_AN_ENTRY = 16  # of a table of label pairs: scores and counts


def check_weights(
    what: str, *, n_node: int = 0, n_edge: int = 0, n_tables: int = 0, n_pointers: int = 0
) -> None:
    """Refuse layouts that memory has no room for, before they are made.

    Parameters
    ----------
    what : str
        The labels and features there are.
    n_node, n_edge : int
        Weights of features and of label pairs.
    n_tables : int
        Entries of tables of label pairs, with or without a weight.
    n_pointers : int
        Columns with a list of the labels that have a weight.
    """
    labels = BYTES_A_WEIGHT * n_edge + BYTES_AN_ENTRY * n_tables
    features = BYTES_A_WEIGHT * n_node + 16 * n_pointers
    remedy = (
        "merge rare labels, or leave label pairs out (Multiclass())"
        if labels > features
        else "take fewer features (min_count, a smaller n_hash), or states='observed'"
    )
    check_size(f"{what} make {n_node + n_edge:,} weights", labels + features, remedy)


def from_keys(keys: np.ndarray, n_columns: int, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """``ptr`` and ``code`` of ascending keys.

    >>> from_keys(np.array([1, 4, 5]), n_columns=3, n_codes=2)
    (array([0, 1, 1, 3]), array([1, 0, 1], dtype=int32))
    """
    ptr = np.zeros(n_columns + 1, np.int64)
    np.cumsum(np.bincount(keys // n_codes, minlength=n_columns), out=ptr[1:])
    return ptr, (keys % n_codes).astype(np.int32)


def keys_of(ptr: np.ndarray, code: np.ndarray, n_codes: int) -> np.ndarray:
    """Inverse of :func:`from_keys`."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * n_codes + code


def positions(own: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where ``keys`` stand among the ascending keys ``own``: places, and which of the keys are there.

    >>> positions(np.array([2, 5, 7]), np.array([7, 3, 2]))
    (array([2, 0]), array([ True, False,  True]))
    """
    at = np.searchsorted(own, keys)
    there = np.append(own, -1)[at] == keys
    return at[there], there


def ranges(ptr: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """``ptr[a]:ptr[a + 1]`` of all ``columns``, one after the other.

    >>> ranges(np.array([0, 2, 3, 5]), np.array([0, 2]))
    array([0, 1, 3, 4])
    """
    lengths = ptr[columns + 1] - ptr[columns]
    skipped = np.repeat(ptr[columns] - np.cumsum(lengths) + lengths, lengths)
    return skipped + np.arange(len(skipped))


def tuple_codes(codes: np.ndarray, offsets: np.ndarray, size: int, n_labels: int) -> np.ndarray:
    """Code of the labels of rows ``t - size + 1 .. t`` for every row t; -1 if one is unknown or of another sample.

    >>> tuple_codes(np.array([1, 0, 1]), np.array([0, 2, 3]), 2, 2)
    array([-1,  2, -1])
    """
    out = np.full(len(codes), -1, np.int64)
    place = np.arange(len(codes)) - np.repeat(offsets[:-1], np.diff(offsets))
    rows = np.flatnonzero(place >= size - 1)
    labels = (
        np.stack([codes[rows - size + 1 + k] for k in range(size)]) if len(rows) else np.empty((size, 0), int)
    )
    known = np.all(labels >= 0, axis=0)
    out[rows[known]] = np.ravel_multi_index(labels[:, known].astype(np.int64), (n_labels,) * size)
    return out


def observed_tuples(codes: np.ndarray, offsets: np.ndarray, size: int, n_labels: int) -> np.ndarray:
    """Codes of the label tuples of neighbours that occur, ascending."""
    found = tuple_codes(codes, offsets, size, n_labels)
    return np.unique(found[found >= 0])


def observed_keys(batch: Batch, codes: np.ndarray, n_codes: int, columns: np.ndarray) -> np.ndarray:
    """Keys of the ``columns`` (bool, one per column) and of the codes of the rows they stand in; -1 is not a code."""
    if not isinstance(batch.rows, SparseRows):
        raise ValueError(
            "states='observed' needs sparse or string features; dense arrays use every column with every label: "
            "use states='all'"
        )
    indptr = batch.rows.indptr
    indices = batch.rows.indices[indptr[0] : indptr[-1]]
    row_codes = np.repeat(codes, np.diff(indptr))
    wanted = columns[indices] & (row_codes >= 0)
    return np.unique(indices[wanted].astype(np.int64) * n_codes + row_codes[wanted])


def all_keys(columns: np.ndarray, codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Keys of every one of the ``columns`` (bool) with every one of ``codes``."""
    return (np.flatnonzero(columns)[:, None] * n_codes + codes).ravel()


def moved(codes: np.ndarray, size: int, n_old: int, labels: np.ndarray, n_new: int) -> np.ndarray:
    """Codes of label tuples after labels got new codes: ``labels[k]`` is the new one of k, of ``n_new``."""
    digits = np.unravel_index(codes, (n_old,) * size)
    return np.ravel_multi_index([labels[digit] for digit in digits], (n_new,) * size)


def used_columns(scorer: Any, w: np.ndarray) -> np.ndarray:
    """Which columns of a scorer have a weight that is not 0, bool (n_columns,)."""
    keep, column = np.zeros(scorer.n_columns, bool), scorer.weight_columns()
    keep[column[(w != 0) & (column >= 0)]] = True
    return keep


def without_zeros(
    ptr: np.ndarray, code: np.ndarray, w: np.ndarray, keep: np.ndarray, n_codes: int
) -> tuple[np.ndarray, np.ndarray]:
    """A layout of the columns that stay, with the codes whose weights are not 0."""
    column, code = np.divmod(keys_of(ptr, code, n_codes)[w != 0], n_codes)
    return from_keys(renumbered(keep)[column].astype(np.int64) * n_codes + code, int(keep.sum()), n_codes)
