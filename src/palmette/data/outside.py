"""Data as users hold them: sparse matrices that are what they say, no masks that would be lost, nothing missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.checks import check_array, check_codes, check_csr

_INTEGERS = (np.int32, np.int64)


def checked_csr(X: Any, where: str) -> Any:
    """A sparse matrix of any format as CSR, after checking that nothing in it points outside.

    SciPy trusts the parts of a matrix, also where it converts or multiplies: wild ones end the process.

    >>> from scipy import sparse
    >>> broken = sparse.csr_array((np.ones(2), np.array([0, 9]), np.array([0, 1, 2])), shape=(2, 10))
    >>> broken.indices[1] = 10
    >>> checked_csr(broken, "X")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: X is a broken sparse matrix: X.indices[1] is 10, out of range: expected 0..9; rebuild it...
    """
    try:
        _check_parts(X, where)
        table = X.tocsr()
        if table is not X:
            _check_parts(table, where)
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{where} is a broken sparse matrix: {error}; rebuild it from its entries"
        ) from error
    return table


def _check_parts(X: Any, where: str) -> None:
    if X.ndim != 2:
        raise ValueError(f"{where} has shape {X.shape}, but rows and columns are needed")
    n_rows, n_columns = X.shape
    if X.format in ("csr", "csc"):
        major, minor = (n_rows, n_columns) if X.format == "csr" else (n_columns, n_rows)
        _check_compressed(X, where, major, minor)
        check_array(f"{where}.data", X.data, X.data.dtype)
        if len(X.data) < X.indptr[-1]:
            raise ValueError(f"{where}.data has {len(X.data)} entries, expected {X.indptr[-1]}")
    elif X.format == "bsr":
        height, width = X.blocksize
        if height < 1 or width < 1 or n_rows % height or n_columns % width:
            raise ValueError(f"blocks of shape {X.blocksize} do not fill the shape {X.shape}")
        _check_compressed(X, where, n_rows // height, n_columns // width)
        check_array(f"{where}.data", X.data, X.data.dtype, 3)
        if len(X.data) < X.indptr[-1] or X.data.shape[1:] != (height, width):
            raise ValueError(f"{where}.data has shape {X.data.shape}")
    elif X.format == "coo":
        n_entries = len(check_array(f"{where}.data", X.data, X.data.dtype))
        for axis, size in zip(("row", "col"), X.shape):
            codes = check_array(f"{where}.{axis}", getattr(X, axis), _INTEGERS, 1, n_entries)
            check_codes(f"{where}.{axis}", codes, size)
    elif X.format == "dia":
        offsets = check_array(f"{where}.offsets", X.offsets, _INTEGERS)
        check_array(f"{where}.data", X.data, X.data.dtype, 2, len(offsets))
        if len(np.unique(offsets)) != len(offsets):
            raise ValueError(f"{where}.offsets has a diagonal twice")
    elif X.format == "lil":
        if X.rows.shape != (n_rows,) or X.data.shape != (n_rows,):
            raise ValueError(f"it has {X.rows.shape} lists of columns, expected {(n_rows,)}")
        for r, (columns, values) in enumerate(zip(X.rows, X.data)):
            if type(columns) is not list or type(values) is not list or len(columns) != len(values):
                raise ValueError(f"{where}.rows[{r}] and {where}.data[{r}] must be lists of equal length")
            for column in columns:
                if not 0 <= column < n_columns:
                    raise ValueError(f"{where}.rows[{r}] has the column {column} of {n_columns}")
    elif X.format == "dok":
        for i, j in X.keys():
            if not (0 <= i < n_rows and 0 <= j < n_columns):
                raise ValueError(f"it has an entry at {(i, j)}, outside of the shape {X.shape}")


def _check_compressed(X: Any, where: str, n_major: int, n_minor: int) -> None:
    """The pointers and indices of CSR and its like; spare room behind the last entry is usual."""
    if len(X.indptr) and X.indptr[0] != 0:
        raise ValueError(f"{where}.indptr begins with {X.indptr[0]}, expected 0")
    check_csr(where, X.indptr, X.indices, n_major, n_minor, part=True)


def refuse_masked(values: Any, where: str) -> None:
    """Raise ValueError for a masked array with masked entries: NumPy's conversions would use what is under the mask.

    Looks at the members of a list too; a masked array in which nothing is masked is an array like any other.

    >>> refuse_masked([np.ma.array([1.0, 2.0], mask=[False, True])], "X")
    Traceback (most recent call last):
    ...
    ValueError: X[0] is a masked array, and its entry [1] is masked: fill it (X[0].filled(value)) or leave the row out
    """
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            at = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
            raise ValueError(
                f"{where} is a masked array, and its entry {at} is masked: fill it ({where}.filled(value)) or leave "
                "the row out"
            )
    elif isinstance(values, list | tuple) and any(
        issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))
    ):
        for i, value in enumerate(values):
            refuse_masked(value, f"{where}[{i}]")


def refuse_unordered(values: Any, where: str) -> None:
    """Raise TypeError for sets and mappings, which are no lists of samples.

    >>> refuse_unordered({"a", "b"}, "y")
    Traceback (most recent call last):
    ...
    TypeError: y must be a list, got a set, which has no order: give a list of its members, one for each sample
    """
    if isinstance(values, set | frozenset | Mapping):
        why = "names its members" if isinstance(values, Mapping) else "has no order"
        raise TypeError(
            f"{where} must be a list, got a {type(values).__name__}, which {why}: give a list of its members, one for "
            "each sample"
        )


def refuse_missing(values: Sequence[Any], where: str) -> None:
    """Raise ValueError for None among the members of a list, and for NaN, of NumPy or pandas, anywhere in them.

    >>> refuse_missing(["a", None], "y")
    Traceback (most recent call last):
    ...
    ValueError: y[1] is None: give it a value, or leave the sample out
    """
    for i, value in enumerate(values):
        if type(value) is not str:
            found = f"[{i}]" if value is None else _missing_in(value, f"[{i}]")
            if found is not None:
                shown = "None" if value is None else "missing (NaN)"
                raise ValueError(f"{where}{found} is {shown}: give it a value, or leave the sample out")


def _missing_in(value: Any, at: str) -> str | None:
    """Where NaN is in a value, if it is."""
    if isinstance(value, float | np.floating):
        return at if value != value else None
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        odd = np.argwhere(np.isnan(value))
        return at + "".join(f"[{k}]" for k in odd[0]) if len(odd) else None
    if isinstance(value, list | tuple | np.ndarray):
        return next(filter(None, (_missing_in(each, f"{at}[{k}]") for k, each in enumerate(value))), None)
    return at if type(value).__name__ in ("NAType", "NaTType") else None  # of pandas
