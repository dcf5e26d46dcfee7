"""Lists of strings as Python's ``marshal`` writes them (version 4): cut and hash the texts.

The grammar, as far as it is read here. A byte of 128 or more announces an object that may come again, of the kind of
its low seven bits; announced objects are numbered in the order in which they begin.

===========  =============================================================
``[  (``     list, tuple: the number of items in four bytes, the items
``)``        tuple: the number of items in one byte, the items
``z  Z``     ASCII text: the number of bytes in one byte, the bytes
``aA ut``    ASCII text, UTF-8 text: the number of bytes in four, the bytes
``r``        something announced: its number in four bytes
===========  =============================================================

The whole is a list of samples, a sample a list of rows, a row a list of texts.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.simd_moves import load_word, weighted_bytes
from palmette._kernels.texts import MULTIPLIER

_LIST, _TUPLE, _SHORT_TUPLE, _AGAIN = 91, 40, 41, 114
_SHORT_ASCII, _SHORT_INTERNED, _ASCII, _ASCII_INTERNED, _UNICODE, _INTERNED = 122, 90, 97, 65, 117, 116
_ANNOUNCED = 128
_OTHER = -1
UNREADABLE, FULL = -1, -2

_powers = [pow(int(MULTIPLIER), k, 1 << 64) for k in range(9)]
_M8, _EIGHT_ONES = np.uint64(_powers[8]), np.uint64(sum(_powers[:8]) % (1 << 64))
_FALLING = np.array(_powers[7::-1], np.uint64)  # M^7 ... 1
# By a number n of bytes below 8: M^n, 1 + M + ... + M^(n-1), and what moves n bytes to the end of a word.
_POWERS = np.array(_powers[:8], np.uint64)
_ONES = np.array([sum(_powers[:n]) % (1 << 64) for n in range(8)], np.uint64)
_SHIFTS = np.array([0, *(64 - 8 * n for n in range(1, 8))], np.uint64)
_MASKS = np.array([0, *[(1 << 64) - 1] * 7], np.uint64)


@kernel(inline=True)
def _number(data, at):
    """The number in four bytes."""
    low = np.int64(data[at]) | np.int64(data[at + 1]) << 8
    return low | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24


@kernel(inline=True)
def _begin_list(data, at):
    """Number of items of the list or tuple that begins here, and where they begin; -1 if there is none."""
    kind = data[at] & 127
    if kind == _LIST or kind == _TUPLE:
        return _number(data, at + 1), at + 5
    return (np.int64(data[at + 1]), at + 2) if kind == _SHORT_TUPLE else (np.int64(-1), at)


@kernel(inline=True)
def _begin_text(data, at):
    """Number of bytes of the text that begins here, and where they begin; -1 if there is none."""
    kind = data[at] & 127
    if kind == _SHORT_ASCII or kind == _SHORT_INTERNED:
        return np.int64(data[at + 1]), at + 2
    if kind == _ASCII or kind == _ASCII_INTERNED or kind == _UNICODE or kind == _INTERNED:
        return _number(data, at + 1), at + 5
    return np.int64(-1), at


@kernel(inline=True)
def _hash(data, start, stop):
    """The hash of ``palmette._kernels.texts``, eight bytes at a time; a word can be read from ``stop`` on, too."""
    h, p = np.uint64(0), start
    # h = hash of data[start:p]. One byte is h <- h M + byte + 1, so n of them are h M^n + sum_k (byte_k + 1) M^(n-1-k),
    # products that do not wait for each other. The last n < 8 bytes are moved to the end of a word, behind zeros.
    while p + 8 <= stop:
        h = h * _M8 + (weighted_bytes(load_word(data, p), _FALLING) + _EIGHT_ONES)
        p += 8
    n = stop - p
    return h * _POWERS[n] + (
        weighted_bytes(load_word(data, p) << _SHIFTS[n] & _MASKS[n], _FALLING) + _ONES[n]
    )


@kernel()
def cut_lists(data, size, known, lengths, indptr, texts, starts, stops, hashes):
    """Rows of each sample, entries before each row, the number of each entry's text, and the texts with their hashes.

    ``data`` has ``size`` bytes and a word of zeros. ``lengths`` has room for all samples; ``starts``, ``stops`` and
    ``hashes`` for as many as ``texts``. Returns the numbers of rows, entries and texts. Rows are ``UNREADABLE`` where
    the bytes are anything but lists of lists of lists of texts, and ``FULL`` where an array has too little room.
    """
    unreadable, full = (np.int64(UNREADABLE), 0, 0), (np.int64(FULL), 0, 0)
    row, entry, text, n_known = 0, 0, 0, 0
    most_rows, most_entries, most_known = len(indptr) - 1, len(texts), len(known)
    # Invariants: data[:at] is read; row, entry, text and n_known count what is written. Texts are numbered in the order
    # in which they are written out, text <= entry. known[k] = t where text t was announced as the k-th object, -2 - r
    # where row r was and has ended, -1 elsewhere; so a row that comes again is copied. One pass, O(bytes + entries).
    n_samples, at = _begin_list(data, 0)
    if n_samples != len(lengths):
        return unreadable
    if data[0] >= _ANNOUNCED:
        known[0] = _OTHER
        n_known += 1
    for s in range(n_samples):
        if at >= size:
            return unreadable
        if data[at] >= _ANNOUNCED:
            if n_known == most_known:
                return full
            known[n_known] = _OTHER
            n_known += 1
        n_own, at = _begin_list(data, at)
        if n_own < 0:
            return unreadable
        lengths[s] = n_own
        for _ in range(n_own):
            if at >= size:
                return unreadable
            if row == most_rows or n_known == most_known:
                return full
            indptr[row] = entry
            if data[at] == _AGAIN:
                k = _number(data, at + 1)
                if k < 0 or k >= n_known or known[k] >= _OTHER:
                    return unreadable
                before = _OTHER - 1 - known[k]
                if entry + indptr[before + 1] - indptr[before] > most_entries:
                    return full
                for p in range(indptr[before], indptr[before + 1]):
                    texts[entry] = texts[p]
                    entry += 1
                at += 5
            else:
                mine = n_known
                if data[at] >= _ANNOUNCED:
                    known[mine] = _OTHER
                    n_known += 1
                n_items, at = _begin_list(data, at)
                if n_items < 0 or n_items > size:
                    return unreadable
                if entry + n_items > most_entries:
                    return full
                for _ in range(n_items):
                    if at >= size:
                        return unreadable
                    if data[at] == _AGAIN:
                        k = _number(data, at + 1)
                        if k < 0 or k >= n_known or known[k] < 0:
                            return unreadable
                        texts[entry] = known[k]
                        at += 5
                    else:
                        if data[at] >= _ANNOUNCED:
                            if n_known == most_known:
                                return full
                            known[n_known] = text
                            n_known += 1
                        n_bytes, at = _begin_text(data, at)
                        if n_bytes < 0 or n_bytes > size - at:
                            return unreadable
                        starts[text], stops[text] = at, at + n_bytes
                        hashes[text] = _hash(data, at, at + n_bytes)
                        texts[entry] = text
                        text += 1
                        at += n_bytes
                    entry += 1
                if n_known > mine and known[mine] == _OTHER:
                    known[mine] = _OTHER - 1 - row
            row += 1
    indptr[row] = entry
    return (np.int64(row), entry, text) if at == size else unreadable
