"""Sparse rows from raw entries."""

from __future__ import annotations

import numpy as np

from ramify.data.batch import SparseRows


def sparse_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None, n_columns: int
) -> SparseRows:
    """Drop entries of column -1 or of value 0, and the values altogether where each is 1 (or None is given).

    >>> rows = sparse_rows(np.array([0, 2, 3]), np.array([0, -1, 1], np.int32), None, 2)
    >>> rows.indptr, rows.indices, rows.values
    (array([0, 1, 2]), array([0, 1], dtype=int32), array([], dtype=float64))
    """
    keep = indices >= 0
    if values is not None:
        keep &= values != 0
    if not keep.all():
        kept_before = np.zeros(len(keep) + 1, np.int64)
        np.cumsum(keep, out=kept_before[1:])
        indptr, indices = kept_before[indptr], indices[keep]
        values = None if values is None else values[keep]
    if values is None or (values == 1).all():
        values = np.empty(0)
    return SparseRows(indptr, indices, values, n_columns)


def first_not_finite(rows: SparseRows) -> tuple[int, int, float] | None:
    """Row, column and value of the first value that is NaN or infinite, if there is one."""
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if not bad.size:
        return None
    row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
    return row, int(rows.indices[bad[0]]), float(rows.values[bad[0]])
