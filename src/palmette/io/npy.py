"""Arrays of numbers as ``.npy`` bytes, read without trusting what the bytes declare."""

from __future__ import annotations

import math
import re
import struct
from typing import Any, BinaryIO

import numpy as np

_CHUNK = 1 << 24
_MAGIC = b"\x93NUMPY\x01\x00"
_KINDS = "biufc"  # booleans and numbers; never objects, which would be pickles
# NumPy reads its headers with Python's parser, which can be driven into any exception and much memory.
# Ours are all alike, so that a pattern is enough.
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|=]?\w{1,20})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,19}, ?)*(?:\d{1,19})?)\),? *\} *\n"
)


def check_dtype(dtype: np.dtype) -> None:
    """Raise ValueError for a type that a model file does not keep."""
    if dtype.kind not in _KINDS:
        raise ValueError(f"has dtype {dtype}; model files keep booleans and numbers only")


def write_array(file: BinaryIO, array: np.ndarray) -> None:
    """Write `array` in version 1.0 of the format."""
    check_dtype(array.dtype)
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def read_array(file: Any, size: int) -> np.ndarray:
    """Read an array from a stream of `size` bytes to its end: writeable, C order, native byte order.

    The declared shape is compared with `size` before any memory is taken. Raises ValueError for anything odd.
    """
    dtype, shape, order = _read_header(file)
    n_bytes = size - file.tell()
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"declares shape {shape} of {dtype}, but has {n_bytes} bytes")
    raw, filled = np.empty(n_bytes, np.uint8), 0
    while chunk := file.read(_CHUNK):
        raw[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
        filled += len(chunk)
    if filled != n_bytes:
        raise ValueError(f"ends after {filled} of {n_bytes} bytes")
    if dtype.kind == "b" and n_bytes and raw.max() > 1:
        raise ValueError("is boolean, but has bytes other than 0 and 1")
    array = raw.view(dtype).reshape(shape, order=order)
    return np.require(array, dtype.newbyteorder("="), ["C", "W"])


def _read_header(file: Any) -> tuple[np.dtype, tuple[int, ...], Any]:
    start = file.read(len(_MAGIC) + 2)
    if len(start) < len(_MAGIC) + 2 or not start.startswith(_MAGIC):
        raise ValueError("does not start as an array of npy version 1.0")
    (length,) = struct.unpack("<H", start[len(_MAGIC) :])
    found = _HEADER.fullmatch(file.read(length))
    if found is None:
        raise ValueError("does not describe itself as a plain array")
    try:
        dtype = np.dtype(found["dtype"].decode("ascii"))
    except (TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"has an unknown dtype ({error})") from None
    check_dtype(dtype)
    shape = tuple(int(n) for n in found["shape"].split(b",") if n.strip())
    if len(shape) > 32:
        raise ValueError(f"has {len(shape)} dimensions")
    return dtype, shape, "F" if found["fortran"] == b"True" else "C"
