"""Texts as runs of bytes: cut and hash them, look them up, add the new ones.

A table of texts is ``arena[bounds[i]:bounds[i + 1]]``, the bytes of text i, and ``slots``, an open-addressing hash
table of a power of two of entries: the upper half of a slot is the upper half of the hash, the lower half the number
of the text.

The hash is a polynomial in the bytes modulo 2^64, so that the hash of a text follows from those of its parts:
``hash(ab) = hash(a) * MULTIPLIER^|b| + hash(b)``. It is the same on every machine and in every run.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.simd_moves import load_word

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_LINE_FEED = np.uint8(10)
_WORD = 8


@kernel()
def stirred(value):
    """Spread the bits of a hash over the whole word (the low bits of a polynomial are weak)."""
    value ^= value >> _HALF
    value *= _STIR
    return value ^ (value >> _HALF)


@kernel()
def cut_lines(text, starts, stops, hashes):
    """Runs between line feeds and their hashes; their number, or one more than there is room for."""
    n, start, h = 0, 0, np.uint64(0)
    # h = hash of text[start:p]: h <- h MULTIPLIER + byte + 1, so that zero bytes count. One pass.
    for p in range(len(text)):
        if text[p] == _LINE_FEED:
            if n + 1 >= len(starts):
                return n + 2
            starts[n], stops[n], hashes[n] = start, p, h
            n, start, h = n + 1, p + 1, np.uint64(0)
        else:
            h = h * MULTIPLIER + np.uint64(text[p]) + _ONE
    starts[n], stops[n], hashes[n] = start, len(text), h
    return n + 1


@kernel()
def hash_texts(text, starts, stops, hashes):
    """Hashes of the runs ``text[starts[i]:stops[i]]``."""
    for i in range(len(starts)):
        h = np.uint64(0)
        for p in range(starts[i], stops[i]):
            h = h * MULTIPLIER + np.uint64(text[p]) + _ONE
        hashes[i] = h


@kernel()
def same_bytes(a, at_a, b, at_b, size):
    """Whether ``a[at_a : at_a + size]`` and ``b[at_b : at_b + size]`` are equal."""
    p = 0
    # The first p bytes are equal. Eight at a time; the last eight may be compared twice in part. O(size / 8).
    if size >= _WORD:
        while p < size - _WORD:
            if load_word(a, at_a + p) != load_word(b, at_b + p):
                return False
            p += _WORD
        last = size - _WORD
        return load_word(a, at_a + last) == load_word(b, at_b + last)
    while p < size and a[at_a + p] == b[at_b + p]:
        p += 1
    return p == size


@kernel()
def look_up_texts(text, starts, stops, hashes, arena, bounds, slots, count, grow, out):
    """Numbers of texts, -1 where one is not in the table; with ``grow`` it is added. Returns the number of texts.

    With ``grow`` there must be room: for all bytes in the arena, for every text in bounds, and twice in slots.
    """
    mask = np.uint64(len(slots) - 1)
    # Linear probing; a slot matches if the upper halves of the hashes, the lengths and all bytes agree, so that
    # collisions are harmless. Texts are numbered by their first occurrence; at most half of the slots are used.
    # No look-up waits for another one, so the processor has several of them under way.
    for i in range(len(starts)):
        h = stirred(hashes[i])
        at = h & mask
        start, size = starts[i], stops[i] - starts[i]
        found = np.int32(-1)
        while slots[at] != EMPTY:
            if slots[at] >> _HALF == h >> _HALF:
                n = np.int64(slots[at] & _LOW)
                first = bounds[n]
                if bounds[n + 1] - first == size and same_bytes(arena, first, text, start, size):
                    found = np.int32(n)
                    break
            at = (at + _ONE) & mask
        if found < 0 and grow:
            found = np.int32(count)
            slots[at] = ((h >> _HALF) << _HALF) | np.uint64(count)
            first = bounds[count]
            for p in range(size):
                arena[first + p] = text[start + p]
            count += 1
            bounds[count] = first + size
        out[i] = found
    return count


@kernel()
def fill_slots(hashes, slots):
    """Put texts with these hashes, all different, into an empty table."""
    mask = np.uint64(len(slots) - 1)
    # The same probing as in ``look_up_texts``, without comparing texts: they are all different.
    for i in range(len(hashes)):
        h = stirred(hashes[i])
        at = h & mask
        while slots[at] != EMPTY:
            at = (at + _ONE) & mask
        slots[at] = ((h >> _HALF) << _HALF) | np.uint64(i)


@kernel()
def drop_missing(indptr, columns):
    """Take the columns below 0 out of sparse rows, in place."""
    used = 0
    start = indptr[0]
    # used <= p at all times, so nothing is overwritten before it is read; indptr[r + 1] is read before it is replaced.
    for r in range(len(indptr) - 1):
        stop = indptr[r + 1]
        indptr[r] = used
        for p in range(start, stop):
            if columns[p] >= 0:
                columns[used] = columns[p]
                used += 1
        start = stop
    indptr[len(indptr) - 1] = used


@kernel()
def hashed_columns(hashes, n_columns, out):
    """A column in ``0:n_columns`` for each hash: its stirred upper half, scaled down."""
    scale = np.uint64(n_columns)
    for i in range(len(hashes)):
        out[i] = np.int32(((stirred(hashes[i]) >> _HALF) * scale) >> _HALF)
