"""What numbers and arrays from outside obey before a compiled loop sees them.

Compiled loops check no index: a wrong pointer reads or writes foreign memory. Model files, sparse matrices and
batches made by hand come from outside. The rules for all of them stand here and nowhere else. Every function raises
ValueError, names the object and the value that is wrong, and returns what it was given if all is well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 2**31 - 1  # of numbers of columns, labels and the like: their codes are int32


def check_whole(name: str, value: Any, low: int = 0, high: int = LARGEST) -> int:
    """An integer from ``low`` to ``high``; neither bool nor float, not even 3.0.

    >>> check_whole("n_labels", 3)
    3
    >>> check_whole("n_labels", float("inf"))
    Traceback (most recent call last):
    ...
    ValueError: n_labels must be an integer from 0 to 2147483647, found inf
    """
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low} to {high}, found {value!r:.60}")
    return value


def check_type(name: str, value: Any, kind: type) -> Any:
    """A value of exactly this type: bool, str, list or dict.

    >>> check_type("options", [], dict)
    Traceback (most recent call last):
    ...
    ValueError: options must be of type dict, found list []
    """
    if type(value) is not kind:
        raise ValueError(
            f"{name} must be of type {kind.__name__}, found {type(value).__name__} {value!r:.60}"
        )
    return value


def check_array(name: str, array: Any, dtype: Any, ndim: int = 1, length: int | None = None) -> np.ndarray:
    """An array of one of the types ``dtype``, with so many dimensions and, if given, so many rows.

    >>> check_array("ptr", np.zeros((2, 2)), np.int64)
    Traceback (most recent call last):
    ...
    ValueError: ptr must be a 1-D array of int64, found float64 of shape (2, 2)
    """
    kinds = [np.dtype(kind) for kind in (dtype if isinstance(dtype, tuple) else (dtype,))]
    if not isinstance(array, np.ndarray) or array.ndim != ndim or array.dtype not in kinds:
        found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else f"{array!r:.60}"
        raise ValueError(f"{name} must be a {ndim}-D array of {' or '.join(map(str, kinds))}, found {found}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} has {len(array)} entries, expected {length}")
    return array


def check_pointers(
    name: str, pointers: Any, n_rows: int, n_entries: int, *, part: bool = False
) -> np.ndarray:
    """Row r owns the entries ``pointers[r]:pointers[r + 1]``: int64, from 0 to ``n_entries``, never falling.

    With ``part`` the rows may own only some entries, and the first need not begin at 0.

    >>> check_pointers("ptr", np.array([0, 3, 1, 4]), 3, 4)
    Traceback (most recent call last):
    ...
    ValueError: ptr decreases from 3 to 1 at row 1
    """
    check_array(name, pointers, (np.int64, np.int32), 1, n_rows + 1)
    first, last = int(pointers[0]), int(pointers[-1])
    if (first < 0 or last > n_entries) if part else (first != 0 or last != n_entries):
        raise ValueError(f"{name} goes from {first} to {last}, but there are {n_entries} entries")
    falls = pointers[1:] < pointers[:-1]  # no difference, which could overflow
    if falls.any():
        row = int(np.argmax(falls))
        raise ValueError(f"{name} decreases from {pointers[row]} to {pointers[row + 1]} at row {row}")
    return pointers


def check_offsets(name: str, offsets: Any, n_entries: int, *, part: bool = False) -> np.ndarray:
    """Pointers of however many rows, int64; see :func:`check_pointers`."""
    check_array(name, offsets, np.int64)
    return check_pointers(name, offsets, max(len(offsets) - 1, 0), n_entries, part=part)


def check_codes(name: str, codes: np.ndarray, stop: int, start: int = 0) -> np.ndarray:
    """Whole numbers, all from ``start`` to ``stop - 1``.

    >>> check_codes("label", np.array([0, 1, -7]), 2)
    Traceback (most recent call last):
    ...
    ValueError: label[2] is -7, out of range: expected 0..1
    """
    if codes.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, found {codes.dtype}")
    if codes.size and not (codes.min() >= start and codes.max() < stop):
        flat = codes.ravel()
        at = int(np.argmax((flat < start) | (flat >= stop)))
        raise ValueError(f"{name}[{at}] is {flat[at]}, out of range: expected {start}..{stop - 1}")
    return codes


def check_ascending(name: str, codes: np.ndarray, stop: int) -> np.ndarray:
    """A 1-D array of codes of int64 below ``stop``, each larger than the one before it."""
    check_codes(name, check_array(name, codes, np.int64), stop)
    wrong = codes[1:] <= codes[:-1]
    if wrong.any():
        at = int(np.argmax(wrong)) + 1
        raise ValueError(f"{name}[{at}] is {codes[at]} after {codes[at - 1]}, but the codes must ascend")
    return codes


def check_layout(name: str, ptr: np.ndarray, code: np.ndarray, n_columns: int, n_codes: int) -> None:
    """Which weights columns have: ``code[ptr[a]:ptr[a + 1]]`` ascend, for every column a; all have all if empty."""
    check_array(f"{name}.ptr", ptr, np.int64)
    check_array(f"{name}.code", code, np.int32)
    if not len(ptr):
        check_array(f"{name}.code", code, np.int32, 1, 0)
        return
    check_pointers(f"{name}.ptr", ptr, n_columns, len(code))
    check_codes(f"{name}.code", code, n_codes)
    rises = np.ones(len(code) + 1, bool)
    rises[1:-1] = code[1:] > code[:-1]
    rises[ptr] = True  # where a column begins
    if not rises.all():
        at = int(np.argmin(rises))
        raise ValueError(
            f"{name}.code[{at}] is {code[at]} after {code[at - 1]} of the same column: they must ascend"
        )


def check_finite(name: str, values: np.ndarray) -> np.ndarray:
    """Floats, none of them NaN or infinite.

    >>> check_finite("coef", np.array([1.0, np.nan]))
    Traceback (most recent call last):
    ...
    ValueError: coef[1] is nan; NaN and infinite values are refused
    """
    if values.dtype.kind != "f":
        raise ValueError(f"{name} must hold floats, found {values.dtype}")
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite.ravel()))
        raise ValueError(f"{name}[{at}] is {values.ravel()[at]}; NaN and infinite values are refused")
    return values


def check_csr(
    name: str, indptr: Any, indices: Any, n_rows: int, n_columns: int, *, part: bool = False
) -> None:
    """Pointers and columns of sparse rows (see :func:`check_pointers` for ``part``).

    SciPy's full check is not enough: it looks at ``indices[:indptr[-1]]`` alone, so that pointers that end in 0 may
    hold anything in between.
    """
    check_array(f"{name}.indices", indices, (np.int32, np.int64))
    check_pointers(f"{name}.indptr", indptr, n_rows, len(indices), part=part)
    check_codes(f"{name}.indices", indices[int(indptr[0]) : int(indptr[-1])], n_columns)


def entry(header: Any, key: str, kind: type, where: str = "the header") -> Any:
    """``header[key]``, of exactly this type.

    >>> entry({"kind": 3}, "kind", str)
    Traceback (most recent call last):
    ...
    ValueError: 'kind' of the header must be of type str, found int 3
    """
    if not isinstance(header, dict) or key not in header:
        raise ValueError(f"{where} has no entry {key!r}")
    return check_type(f"{key!r} of {where}", header[key], kind)


def needed(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """``arrays[name]``, which must be there."""
    if name not in arrays:
        raise ValueError(f"the array {name!r} is missing")
    return arrays[name]


def group(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The arrays ``name.*`` by the rest of their names.

    >>> group({"edges.ptr": np.zeros(1), "ptr": np.ones(1)}, "edges")
    {'ptr': array([0.])}
    """
    return {k.removeprefix(f"{name}."): array for k, array in arrays.items() if k.startswith(f"{name}.")}
