"""The operations of ``palmette._kernels.simd`` as NumPy functions, for kernels that run as plain Python.

Loads and stores check their place, which those of compiled kernels do not.
"""

from __future__ import annotations

import operator

import numpy as np

from palmette._kernels.constants import LANES, WIDE_BITS


def load(array, index, lanes=LANES):
    check_vector(array, index, lanes)
    return np.asarray(array)[index : index + lanes].copy()


def load_wide(array, index):
    return load(array, index, lanes_wide(array))


def store(array, index, value):
    check_vector(array, index, len(value))
    np.asarray(array)[index : index + len(value)] = value


def check_vector(array, index, lanes=LANES):
    """Raise IndexError unless all lanes lie inside a flat, contiguous array."""
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise IndexError(f"vectors are read from flat arrays, not from one of shape {array.shape}")
    if not 0 <= index <= len(array) - lanes:
        raise IndexError(f"vector at {index}:{index + lanes} of an array of length {len(array)}")


def lanes_wide(array):
    return WIDE_BITS // (8 * array.itemsize)


def splat(array, value, lanes=LANES):
    return np.full(lanes, value, array.dtype)


def splat_wide(array, value):
    return splat(array, value, lanes_wide(array))


def spread(array, index, lanes=LANES):
    if not 0 <= index < len(array):
        raise IndexError(f"number at {index} of an array of length {len(array)}")
    return np.full(lanes, array[index], array.dtype)


def spread_wide(array, index):
    return spread(array, index, lanes_wide(array))


def where_at_least(test, limit, a, b):
    return np.where(test >= limit, a, b)


def flush_denormals():
    return 0


def restore_denormals(before):
    pass


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


def log_ratio(a, b):
    ratio = np.maximum(a, np.finfo(a.dtype).tiny).astype(np.longdouble) / b  # whose range holds it
    return np.log(ratio).astype(a.dtype)


def where_positive(test, a):
    return np.where(test > 0, a, a.dtype.type(0.0))


def divide(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


add, sub, mul = operator.add, operator.sub, operator.mul
larger, smaller, sqrt = np.maximum, np.minimum, np.sqrt


def moved(a, by, before):
    if by >= len(a):
        return before
    return np.concatenate([before[len(a) - by :], a[: len(a) - by]])


def last(a):
    return a[-1]


def store_larger(octets, index, a, b):
    bits = np.packbits(a > b, bitorder="little")
    check_vector(octets, index, len(bits))
    np.asarray(octets)[index : index + len(bits)] = bits


def moved_down(a, by, after):
    by = min(by, len(a))
    return np.concatenate([a[by:], after[:by]])


def sums_after(a):
    return sums_before(a[::-1])[::-1]


def sums_before(a):
    return np.concatenate([np.zeros(1, a.dtype), np.cumsum(a[:-1])])


def spread_first(a):
    return np.full_like(a, a[0])


def spread_last(a):
    return np.full_like(a, a[-1])


def load_as(source, index, like):
    return load(source, index, lanes_wide(like)).astype(like.dtype)


def store_as(to, index, a):
    store(to, index, a.astype(to.dtype))


def store_striped(source, start, step, to, index):
    lanes = lanes_wide(to)
    given = np.stack([load(source, start + k * step, 4) for k in range(lanes)])
    store(to, index, given.T.ravel())


def looked_up(table, start, places):
    return load(table, start, len(places))[places]


def fetch(source, index):
    pass


def load_word(octets, index):
    return np.frombuffer(load(octets, index, 8).tobytes(), np.uint64)[0]


def weighted_bytes(word, factors):
    return np.sum(np.frombuffer(np.uint64(word).tobytes(), np.uint8) * load(factors, 0), dtype=np.uint64)
