"""The operations of ``palmette._kernels.simd`` as NumPy functions, for kernels that run as plain Python.

Loads and stores check their place, which those of compiled kernels do not.
"""

from __future__ import annotations

import operator

import numpy as np

from palmette._kernels.constants import LANES


def load(array, index):
    check_vector(array, index)
    return np.asarray(array)[index : index + LANES].copy()


def store(array, index, value):
    check_vector(array, index)
    np.asarray(array)[index : index + LANES] = value


def check_vector(array, index):
    """Raise IndexError unless all lanes lie inside a flat, contiguous array."""
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise IndexError(f"vectors are read from flat arrays, not from one of shape {array.shape}")
    if not 0 <= index <= len(array) - LANES:
        raise IndexError(f"vector at {index}:{index + LANES} of an array of length {len(array)}")


def splat(array, value):
    return np.full(LANES, value, array.dtype)


def spread(array, index):
    if not 0 <= index < len(array):
        raise IndexError(f"number at {index} of an array of length {len(array)}")
    return np.full(LANES, array[index], array.dtype)


def fma(a, b, c):
    return a * b + c


def total(a):
    return float(a.sum())


def largest(a):
    return float(a.max())


def where_bits(bits, a):
    return np.where((bits >> np.arange(LANES)) & 1, a, a.dtype.type(0.0))


def exp(a):
    floor = -87.0 if a.dtype == np.float32 else -708.0
    return np.where(a < floor, a.dtype.type(0.0), np.exp(np.maximum(a, floor)))


def where_positive(test, a):
    return np.where(test > 0, a, a.dtype.type(0.0))


def divide(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


add, sub, mul = operator.add, operator.sub, operator.mul
larger, smaller, sqrt = np.maximum, np.minimum, np.sqrt
