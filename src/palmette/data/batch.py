"""Encoded inputs: feature rows (dense or sparse) grouped into samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.data.checks import check_array, check_csr, check_finite, check_offsets, check_whole
from palmette.data.ragged import gather


@dataclass(frozen=True)
class SparseRows:
    """Sparse feature rows (CSR). Row ``r`` holds ``indices[indptr[r]:indptr[r + 1]]``.

    ``values`` is empty when every stored value is 1 (string features), which is the common case and saves
    two thirds of the memory. ``indptr`` need not start at 0, so that a slice of rows is a view.
    A column may occur twice in a row; its values then add.
    """

    indptr: np.ndarray  # int64 (n_rows + 1,)
    indices: np.ndarray  # int32 (nnz,)
    values: np.ndarray  # float64 (nnz,) or (0,)
    n_columns: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.n_columns

    def __getitem__(self, rows: slice | np.ndarray) -> SparseRows:
        if isinstance(rows, np.ndarray):
            return self._taken(rows)
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"only contiguous rows can be sliced, got step {step}")
        return SparseRows(self.indptr[start : stop + 1], self.indices, self.values, self.n_columns)

    def __reduce__(self) -> tuple[Any, ...]:
        lo, hi = int(self.indptr[0]), int(self.indptr[-1])  # a slice takes along what is its own
        own = self.indptr - lo, self.indices[lo:hi], self.values[lo:hi], self.n_columns
        return SparseRows, own

    def check(self, name: str = "rows") -> None:
        """Raise ValueError unless compiled loops can read the rows: types, sizes, every index in its range."""
        check_whole(f"{name}.n_columns", self.n_columns)
        check_array(f"{name}.indices", self.indices, np.int32)
        check_offsets(f"{name}.indptr", self.indptr, len(self.indices), part=True)
        check_csr(name, self.indptr, self.indices, len(self), self.n_columns, part=True)
        if len(check_array(f"{name}.values", self.values, np.float64)):
            check_array(f"{name}.values", self.values, np.float64, 1, len(self.indices))
            check_finite(f"{name}.values", self.values)

    def squared(self) -> SparseRows:
        """The squares of the entries, where columns that occur twice in a row are added up before.

        >>> twice = SparseRows(np.array([0, 2]), np.array([1, 1], np.int32), np.empty(0), 2)
        >>> twice.squared().values
        array([4.])
        """
        from scipy import sparse

        lo, hi = int(self.indptr[0]), int(self.indptr[-1])
        values = self.values[lo:hi] if len(self.values) else np.ones(hi - lo)
        rows = sparse.csr_array((values, self.indices[lo:hi], self.indptr - lo), shape=self.shape)
        rows.sum_duplicates()
        indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        return SparseRows(indptr, indices, rows.data**2, self.n_columns)

    def _taken(self, rows: np.ndarray) -> SparseRows:
        entries, indptr = gather(self.indptr, rows)
        values = self.values[entries] if len(self.values) else self.values
        return SparseRows(indptr, self.indices[entries], values, self.n_columns)


@dataclass(frozen=True)
class Batch:
    """Encoded inputs of some samples; a sample is a run of feature rows.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_columns), C order, or SparseRows
    offsets : ndarray of int64, shape (n_samples + 1,)
        Sample ``i`` owns the rows ``offsets[i]:offsets[i + 1]``.
    """

    rows: np.ndarray | SparseRows
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """Number of feature rows (positions) in all."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def n_columns(self) -> int:
        """Number of feature columns."""
        return int(self.rows.shape[1])

    @property
    def lengths(self) -> np.ndarray:
        """Rows of each sample."""
        return np.diff(self.offsets)

    def feature_tables(self) -> list[tuple[np.ndarray | SparseRows, np.ndarray]]:
        """All tables of features, each with the offsets of the samples' rows in it."""
        return [(self.rows, self.offsets)]

    def squared(self) -> Batch:
        """The same samples with the squares of their features: scores at weights of 1 are squared norms."""
        return replace(self, rows=squares(self.rows))

    @property
    def apart(self) -> np.ndarray:
        """Numbers of the samples that are not scored together with the one before them: none here."""
        return np.empty(0, np.int64)

    def slice(self, start: int, stop: int) -> Batch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        offsets = self.offsets[start : stop + 1]
        return Batch(self.rows[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])

    def take(self, samples: np.ndarray) -> Batch:
        """Copies of the samples of these numbers, in their order.

        >>> Batch(np.array([[1.0], [2.0], [3.0]]), np.array([0, 2, 3])).take(np.array([1, 0])).rows.ravel()
        array([3., 1., 2.])
        """
        rows, offsets = gather(self.offsets, samples)
        return Batch(self.rows[rows], offsets)

    def without(self, empty: np.ndarray) -> Batch:
        """The samples for which ``empty`` is false; the others have no rows, so that rows stay as they are."""
        return replace(self, offsets=np.concatenate([self.offsets[:1], self.offsets[1:][~empty]]))

    def in_pieces(self, decomposition: Any, seed: int, epoch: int) -> tuple[Batch, np.ndarray]:
        """The same rows in pieces that a decomposition draws for this epoch, and the sample of each piece."""
        starts, stops, sample = decomposition.pieces(self.offsets, seed, epoch)
        return self.recut(np.append(starts, stops[-1:]), sample), sample

    def recut(self, offsets: np.ndarray, sample: np.ndarray) -> Batch:
        """The same rows cut elsewhere; ``sample`` is the number of the sample that each new one is part of."""
        return replace(self, offsets=offsets)

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch. Estimators ask it of batches that they are given.

        >>> Batch(np.zeros((3, 2)), np.array([0, 4])).check()
        Traceback (most recent call last):
        ...
        ValueError: offsets goes from 0 to 4, but there are 3 entries
        """
        check_rows("rows", self.rows)
        check_offsets("offsets", self.offsets, self.rows.shape[0])


def check_rows(name: str, rows: np.ndarray | SparseRows) -> None:
    """Raise ValueError unless these are feature rows as compiled loops read them."""
    if isinstance(rows, SparseRows):
        rows.check(name)
        return
    check_finite(name, check_array(name, rows, np.float64, 2))
    if not rows.flags.c_contiguous:
        raise ValueError(f"{name} must be in C order: use np.ascontiguousarray")


def squares(rows: np.ndarray | SparseRows) -> np.ndarray | SparseRows:
    """Feature rows with the squares of their entries.

    >>> squares(np.array([[-2.0, 3.0]]))
    array([[4., 9.]])
    """
    return rows.squared() if isinstance(rows, SparseRows) else rows**2
