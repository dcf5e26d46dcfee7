"""Feature templates on columns of codes: shifted cells, tuples of codes as 64-bit keys, rows of columns.

A table of pairs is ``keys[i] = left << 32 | right`` (both non-negative int32) and ``slots``, an open-addressing hash
table of a power of two of entries, -1 where empty, else the number i of a key.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.texts import stirred


@kernel()
def cell_values(cells, values, offsets, row, outside, out):
    """``out[t] = values[cells[t + row]]``; where that is d tokens outside of the sentence, ``outside[reach + d]``."""
    reach = len(outside) // 2
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for t in range(first, last + 1):
            at = t + row
            if at < first:
                out[t] = outside[reach + at - first]
            elif at > last:
                out[t] = outside[reach + at - last]
            else:
                out[t] = values[cells[at]]


@kernel()
def look_up_pairs(left, right, keys, slots, count, grow, out):
    """Numbers of pairs, -1 where one is not in the table or a part is negative; with ``grow`` it is added.

    Returns the number of keys. With ``grow`` there must be room for every pair in keys, and twice in slots.
    """
    mask = np.uint64(len(slots) - 1)
    # Linear probing from the stirred key; ``slots`` is at most half full, so probes are short and always end. Keys are
    # numbered in the order of their first occurrence. Nothing is allocated.
    for t in range(len(left)):
        found = np.int32(-1)
        if left[t] >= 0 and right[t] >= 0:
            key = (np.int64(left[t]) << 32) | np.int64(right[t])
            at = stirred(np.uint64(key)) & mask
            while slots[at] >= 0 and keys[slots[at]] != key:
                at = (at + np.uint64(1)) & mask
            if slots[at] < 0 and grow:
                keys[count] = key
                slots[at] = count
                count += 1
            found = slots[at]
        out[t] = found
    return count


@kernel()
def fill_pair_slots(keys, slots):
    """Put keys, all different, into an empty table."""
    mask = np.uint64(len(slots) - 1)
    # The same probing as in ``look_up_pairs``; at most half of the slots are used, so a free one is near.
    for i in range(len(keys)):
        at = stirred(np.uint64(keys[i])) & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = i


@kernel()
def pack_rows(matrix, indptr, start, indices):
    """Append the columns >= 0 of each token, ``matrix[:, t]``, to sparse rows from row ``start`` on."""
    n_lines, n_tokens = matrix.shape
    used = indptr[start]
    for t in range(n_tokens):
        for f in range(n_lines):
            if matrix[f, t] >= 0:
                indices[used] = matrix[f, t]
                used += 1
        indptr[start + t + 1] = used


@kernel()
def append_cells(cells, hashes, powers, offsets, row, outside_hashes, outside_powers, skip, total, present):
    """Go on hashing each token's attribute with the text of a cell (``palmette._kernels.texts`` has the hash).

    ``powers`` is the multiplier to the length of the text. With ``skip`` an attribute that reaches outside is absent.
    """
    reach = len(outside_hashes) // 2
    # hash(ab) = hash(a) MULTIPLIER^|b| + hash(b), modulo 2^64: no text is ever built. O(tokens).
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for t in range(first, last + 1):
            at = t + row
            if first <= at <= last:
                total[t] = total[t] * powers[cells[at]] + hashes[cells[at]]
            elif skip:
                present[t] = False
            else:
                d = reach + (at - first if at < first else at - last)
                total[t] = total[t] * outside_powers[d] + outside_hashes[d]
