"""Sparse rows from raw entries."""

from __future__ import annotations

import numpy as np

from palmette.data.batch import SparseRows


def sparse_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None, n_columns: int
) -> SparseRows:
    """Drop entries of column -1 or of value 0, and the values altogether where each is 1 (or None is given).

    >>> rows = sparse_rows(np.array([0, 2, 3]), np.array([0, -1, 1], np.int32), None, 2)
    >>> rows.indptr, rows.indices, rows.values
    (array([0, 1, 2]), array([0, 1], dtype=int32), array([], dtype=float64))
    """
    if values is None:
        if len(indices) and indices.min() < 0:
            from palmette._kernels.texts import drop_missing

            indptr, indices = indptr.copy(), indices.copy()
            drop_missing(indptr, indices)
            indices = indices[: indptr[-1]]
        return SparseRows(indptr, indices, np.empty(0), n_columns)
    keep = (indices >= 0) & (values != 0)
    if not keep.all():
        kept_before = np.zeros(len(keep) + 1, np.int64)
        np.cumsum(keep, out=kept_before[1:])
        indptr, indices, values = kept_before[indptr], indices[keep], values[keep]
    if (values == 1).all():
        values = np.empty(0)
    return SparseRows(indptr, indices, values, n_columns)


def frequent(columns: np.ndarray, n_columns: int, min_count: int) -> tuple[np.ndarray, np.ndarray]:
    """New numbers of columns (-1 for one that occurs fewer than `min_count` times), and which columns stay.

    >>> frequent(np.array([0, 1, 1, 2, 2, -1], np.int32), 3, 2)
    (array([-1,  0,  0,  1,  1, -1], dtype=int32), array([False,  True,  True]))
    """
    keep = np.bincount(columns[columns >= 0], minlength=n_columns) >= min_count
    if not keep.any():
        raise ValueError(f"no feature of X occurs {min_count} times (min_count={min_count}); lower min_count")
    return renumbered(keep)[columns], keep


def renumbered(keep: np.ndarray) -> np.ndarray:
    """New numbers (int32) of the columns for which `keep` is true, -1 for the others and, at the end, for column -1."""
    new = np.cumsum(keep, dtype=np.int32) - 1
    return np.append(np.where(keep, new, -1), -1).astype(np.int32)


def first_not_finite(rows: SparseRows) -> tuple[int, int, float] | None:
    """Row, column and value of the first value that is NaN or infinite, if there is one."""
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if not bad.size:
        return None
    row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
    return row, int(rows.indices[bad[0]]), float(rows.values[bad[0]])
