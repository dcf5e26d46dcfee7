"""Array features: dense arrays and sparse matrices, one per sequence or one for all items."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from palmette.data.batch import Batch, SparseRows
from palmette.data.outside import checked_csr, refuse_masked
from palmette.data.ragged import offsets_from_lengths
from palmette.data.sequences import listed
from palmette.features.attributes import describe
from palmette.features.base import Encoder, check_lengths, place
from palmette.features.kinds import Layout, kind_of, require_kind, samples_of
from palmette.features.rows import first_not_finite, sparse_rows
from palmette.registry import register


class ArrayEncoder(Encoder):
    """What encoders of dense and sparse arrays share: the columns are those of the arrays.

    Parameters
    ----------
    layout : {"sequences", "items"}
    n_columns : int, optional
        Number of columns, if known already.
    """

    def __init__(self, layout: Layout, n_columns: int | None = None) -> None:
        super().__init__(layout)
        self._n_columns = n_columns

    @property
    def n_columns(self) -> int:
        """Number of columns of the arrays."""
        if self._n_columns is None:
            raise ValueError("the encoder has no columns yet: call fit_transform first")
        return self._n_columns

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Take the number of columns from `X` and encode it."""
        batch = self._encode(X, None, allow_empty)
        if not len(batch):
            raise ValueError("X is empty: there is no sample to learn from")
        if not batch.n_columns:
            raise ValueError("X has no features: its arrays have 0 columns")
        self._n_columns = batch.n_columns
        return batch

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`, which must have the columns of the arrays of `fit_transform`."""
        return self._encode(X, self.n_columns, allow_empty)

    def extended(self, X: Any) -> ArrayEncoder:
        """This encoder: arrays have no new columns, which is checked."""
        self.transform(X)
        return self

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and (no) arrays."""
        return {"layout": self.layout, "n_columns": self.n_columns}, {}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> ArrayEncoder:
        """Encoder from what `state` returned."""
        return cls(header["layout"], header["n_columns"])

    def _encode(self, X: Any, n_columns: int | None, allow_empty: bool) -> Batch:
        X = self._converted(listed(X))
        if self.layout == "items":
            batch = self._of_items(X, n_columns)
            if n_columns not in (None, batch.n_columns):
                found, wanted = batch.n_columns, n_columns
                raise ValueError(
                    f"X has {found} features, but palmette is expecting {wanted} features as input"
                )
        else:
            batch = self._of_sequences(X, n_columns, allow_empty)
        bad = self._first_not_finite(batch.rows)
        if bad is not None:
            row, column, value = bad
            raise ValueError(
                f"{place(batch.offsets, row, self.layout)}, column {column} is {value}; "
                "NaN and infinite (inf) feature values are refused"
            )
        return batch

    def _converted(self, X: Any) -> Any:
        """Dense and sparse arrays stand for each other; named features do not."""
        if kind_of(X, self.layout) not in ("dense", "sparse"):
            require_kind(X, self.layout, self.kind)
            return X
        if self.layout == "items":
            return self._as_own_kind(_sound(X, "X"))
        return [self._as_own_kind(_sound(sample, f"X[{i}]")) for i, sample in enumerate(samples_of(X))]

    @abstractmethod
    def _as_own_kind(self, table: Any) -> Any:
        """`table` as this encoder's kind of array, if it is one of the other kind."""

    def _of_items(self, X: Any, n_columns: int | None) -> Batch:
        if n_columns is not None and isinstance(X, (list, tuple)) and not X:
            rows = self._stack([], n_columns)
        else:
            # scikit-learn's own door, so that its users meet the messages they know
            fewest = 1 if n_columns is None else 0
            table = check_array(
                X,
                accept_sparse="csr",
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=fewest,
                input_name="X",
            )
            rows = self._stack([self._table(table, "X")], table.shape[1])
        return Batch(rows, np.arange(rows.shape[0] + 1))

    def _of_sequences(self, X: Any, n_columns: int | None, allow_empty: bool) -> Batch:
        tables = [self._table(sample, f"X[{i}]") for i, sample in enumerate(samples_of(X))]
        offsets = offsets_from_lengths([0 if table is None else table.shape[0] for table in tables])
        check_lengths(np.diff(offsets), allow_empty)
        known = "the model was fitted on" if n_columns is not None else None
        for i, table in enumerate(tables):
            if table is None:
                continue
            if n_columns is None:
                n_columns, known = table.shape[1], f"X[{i}] has"
            elif table.shape[1] != n_columns:
                raise ValueError(
                    f"X[{i}] has {table.shape[1]} columns but {known} {n_columns}; "
                    "all samples need the same features"
                )
        rows = self._stack([table for table in tables if table is not None], n_columns or 0)
        return Batch(rows, offsets)

    @abstractmethod
    def _table(self, sample: Any, where: str) -> Any:
        """`sample` as a 2-D table of numbers, or None if it is an empty list."""

    @abstractmethod
    def _stack(self, tables: list[Any], n_columns: int) -> np.ndarray | SparseRows:
        """The tables below each other; they have `n_columns` columns."""

    @abstractmethod
    def _first_not_finite(self, rows: Any) -> tuple[int, int, float] | None:
        """Row, column and value of the first value that is NaN or infinite."""


@register("encoder", "dense")
class DenseEncoder(ArrayEncoder):
    """Encoder of dense arrays.

    Examples
    --------
    >>> batch = DenseEncoder("sequences").fit_transform([[[1, 2], [3, 4]], np.zeros((1, 2))])
    >>> batch.rows.shape, batch.lengths
    ((3, 2), array([2, 1]))
    """

    kind = "dense"

    def _as_own_kind(self, table: Any) -> Any:
        return table.toarray() if sparse.issparse(table) else table

    def _table(self, sample: Any, where: str) -> np.ndarray | None:
        try:
            array = np.asarray(sample)
        except ValueError as error:
            raise ValueError(f"{where} is not a 2-D array: {error}") from None
        if array.shape in ((0,), (0, 0)):
            return None
        array = _numbers(array, where)
        if array.ndim != 2:
            hint = f"; reshape(-1, 1) makes a column of {len(array)} positions" if array.ndim == 1 else ""
            raise ValueError(
                f"{where} has {array.ndim} dimension{'s' * (array.ndim != 1)}, but a sequence is a 2-D array "
                f"(positions x features), got shape {array.shape}{hint}"
            )
        return array

    def _stack(self, tables: list[Any], n_columns: int) -> np.ndarray:
        if len(tables) == 1:
            # Kernels want aligned, writeable C arrays (a memory map of a worker process is read-only).
            return np.require(tables[0], np.float64, ["C", "A", "W", "E"])
        rows = np.empty((sum(map(len, tables)), n_columns))
        return np.concatenate(tables, out=rows) if tables else rows

    def _first_not_finite(self, rows: np.ndarray) -> tuple[int, int, float] | None:
        finite = np.isfinite(rows)
        if finite.all():
            return None
        row, column = np.unravel_index(np.argmin(finite), rows.shape)
        return int(row), int(column), float(rows[row, column])


@register("encoder", "sparse")
class SparseEncoder(ArrayEncoder):
    """Encoder of SciPy sparse matrices.

    Examples
    --------
    >>> batch = SparseEncoder("items").fit_transform(sparse.eye(3, format="csr"))
    >>> batch.rows.indices, batch.rows.values.size
    (array([0, 1, 2], dtype=int32), 0)
    """

    kind = "sparse"

    def _as_own_kind(self, table: Any) -> Any:
        if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biuf":
            return sparse.csr_array(table)
        return table

    def _table(self, sample: Any, where: str) -> Any:
        if not sparse.issparse(sample):
            if isinstance(sample, (list, tuple)) and not sample:
                return None
            raise TypeError(
                f"{where} is not a sparse matrix but {describe(sample)}; give one kind for all samples"
            )
        if sample.ndim != 2:
            raise ValueError(
                f"{where} has shape {sample.shape}, but a sequence is a 2-D matrix (positions x features)"
            )
        if sample.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"{where} has {sample.shape[1]} columns, more than 2**31 - 1")
        if sample.dtype.kind not in "biuf":
            sample = sparse.csr_array(
                (_numbers(sample.data, where), sample.indices, sample.indptr), sample.shape
            )
        if not sample.has_canonical_format:
            # Entries of one place are added here, in a copy, as SciPy does for all other formats: whoever looks at
            # single values later (how large features are, say) shall see those of the matrix.
            sample = sample.copy()
            sample.sum_duplicates()
        return sample

    def _stack(self, tables: list[Any], n_columns: int) -> SparseRows:
        if len(tables) == 1:
            table = tables[0]
        elif tables:
            table = sparse.vstack(tables, format="csr")
        else:
            table = sparse.csr_array((0, n_columns))
        indptr = np.require(table.indptr, np.int64, ["C", "A", "W", "E"])
        indices = np.require(table.indices[: indptr[-1]], np.int32, ["C", "A", "W", "E"])
        values = np.require(table.data[: indptr[-1]], np.float64, ["C", "A", "W", "E"])
        return sparse_rows(indptr, indices, values, n_columns)

    def _first_not_finite(self, rows: SparseRows) -> tuple[int, int, float] | None:
        return first_not_finite(rows)


def _sound(table: Any, where: str) -> Any:
    """A table whose parts can be trusted: sparse ones as CSR, and nothing masked."""
    if sparse.issparse(table):
        return checked_csr(table, where) if table.ndim == 2 else table
    refuse_masked(table, where)
    return table


def _numbers(array: np.ndarray, where: str) -> np.ndarray:
    """`array` if it holds real numbers; objects are converted, anything else is refused."""
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {where} holds complex numbers")
    if array.dtype.kind == "O":
        for position, value in np.ndenumerate(array):
            if isinstance(value, (str, bytes)):
                raise ValueError(f"{where}{list(position)} is the string {value!r:.60}; {_NAMED}")
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{where} holds something else than numbers: {error}") from None
    if array.dtype.kind in "US":
        raise ValueError(f"{where} is an array of strings, such as {array.flat[0]!r:.60}; {_NAMED}")
    raise TypeError(f"{where} is an array of type {array.dtype}; features are real numbers")


_NAMED = "arrays hold numbers, named features are given as dicts or lists of strings"
