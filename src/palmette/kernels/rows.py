"""Rows that kernels compare: dense arrays or CSR matrices, whatever users and encoders hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.batch import SparseRows
from palmette.data.outside import checked_csr, refuse_masked

Rows = Any  # ndarray of shape (n, d), a CSR array, or rows of two kernels side by side


def as_rows(X: Any, where: str = "X") -> Rows:
    """Rows of numbers: a 2-D array or CSR array of float64; encoded rows lose nothing. Messages call it ``where``.

    >>> as_rows([[0, 1], [2, 3]])
    array([[0., 1.],
           [2., 3.]])
    """
    if isinstance(X, SparseRows):
        start, stop = int(X.indptr[0]), int(X.indptr[-1])
        values = X.values[start:stop] if len(X.values) else np.ones(stop - start)
        rows = sparse.csr_array((values, X.indices[start:stop], X.indptr - start), shape=X.shape)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the entries are those of the batch, and perhaps of the user's own matrix
            rows.sum_duplicates()
        return rows
    if sparse.issparse(X):
        return sparse.csr_array(checked_csr(X, where)).astype(np.float64)
    refuse_masked(X, where)
    try:
        table = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        _refuse_rows(X, where)
        raise
    if table.ndim != 2:
        found = "single numbers" if table.ndim == 1 else f"an array of shape {table.shape}"
        remedy = f"np.reshape({where}, (-1, 1))" if table.ndim == 1 else "give one row for each"
        raise ValueError(f"{where} is {found}, and a kernel compares the rows of tables: {remedy}")
    return table


def _refuse_rows(X: Any, where: str) -> None:
    """Name the first row that is none, or that has another length than the first one."""
    lengths: list[int] = []
    for i, row in enumerate(X if isinstance(X, Iterable) else []):
        try:
            numbers = np.asarray(row, np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where}[{i}] = {row!r:.60} is no row of numbers, which this kernel compares"
            ) from None
        lengths.append(numbers.size)
        if lengths[i] != lengths[0]:
            raise ValueError(
                f"{where}[{i}] has {lengths[i]} numbers, and {where}[0] has {lengths[0]}: a kernel compares rows of "
                "one length; fill them up, or take a kernel of sequences, such as 'hamming' or NGram"
            )


class PairedRows:
    """What two kernels compare of the same inputs, indexed like one table.

    >>> PairedRows(np.eye(3), np.ones((3, 2)))[1:].shape
    (2, 5)
    """

    def __init__(self, left: Rows, right: Rows) -> None:
        self.left, self.right = left, right

    def __len__(self) -> int:
        return int(self.left.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns on both sides together."""
        return len(self), sum(sum(side.shape[1:]) for side in (self.left, self.right))

    def __getitem__(self, chosen: Any) -> PairedRows:
        return PairedRows(self.left[chosen], self.right[chosen])

    def astype(self, kind: Any) -> PairedRows:
        """Both sides in another precision."""
        return PairedRows(self.left.astype(kind), self.right.astype(kind))


def squared_norms(X: Rows) -> np.ndarray:
    """``|x|^2`` of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), float).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=float)


def products(X: Rows, Y: Rows) -> np.ndarray:
    """``<x, y>`` of all pairs, a dense array."""
    found = X @ Y.T
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


def whole_power(base: np.ndarray, degree: int) -> np.ndarray:
    """``base ** degree`` by repeated multiplication, in place and much faster; ``base`` is overwritten.

    >>> whole_power(np.array([2.0, 3.0]), 5)
    array([ 32., 243.])
    """
    power, degree = base.copy() if degree > 1 else base, degree - 1
    with np.errstate(over="ignore"):  # whoever needs finite values says so, naming the rows
        while degree:
            if degree & 1:
                base *= power
            degree >>= 1
            if degree:
                power *= power
    return base


def variance(X: Rows) -> float:
    """Variance of all entries, zeros of sparse rows included."""
    if not sparse.issparse(X):
        return float(X.var())
    n = X.shape[0] * X.shape[1]
    return float(X.multiply(X).sum() / n - (X.sum() / n) ** 2)


def distinct(X: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the distinct rows, in order of appearance, and for every row the number of its twin among them.

    >>> distinct(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    if isinstance(X, PairedRows):
        return distinct(np.column_stack([distinct(side)[1] for side in (X.left, X.right)]))
    if X.dtype == object:  # things that may not be comparable
        return np.arange(len(X)), np.arange(len(X))
    seen: dict[bytes, int] = {}
    first: list[int] = []
    number = np.empty(X.shape[0], np.int64)
    if sparse.issparse(X):
        X = X.sorted_indices()
        X.eliminate_zeros()
        ptr = X.indptr
        keys = (
            X.indices[ptr[i] : ptr[i + 1]].tobytes() + X.data[ptr[i] : ptr[i + 1]].tobytes()
            for i in range(X.shape[0])
        )
    else:
        X = np.ascontiguousarray(X) + 0.0  # so that -0.0 is 0.0
        keys = (row.tobytes() for row in X)
    for i, key in enumerate(keys):
        number[i] = seen.setdefault(key, len(seen))
        if number[i] == len(first):
            first.append(i)
    return np.array(first, np.int64), number
