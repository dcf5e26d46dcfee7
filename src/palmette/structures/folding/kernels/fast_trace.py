"""The best structure, read off the filled triangles of ``fast_max``: every choice is computed again.

The same additions in the same order give the same numbers, so that a choice is found where its score is reached.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_rows import (
    BEYOND,
    BRANCH,
    BULGE,
    CLOSE,
    INNER,
    MARGIN,
    ONE,
    STACK,
    WIDTH,
    extra_scores,
)

HAIRPIN, INSIDE, MULTILOOP = 0, 1, 2


@kernel()
def loop_of(i, j, loops, extra, base, c):
    """What (i, j) closes: a hairpin, a loop with one pair (p, q) inside, or a multiloop, as (kind, p, q)."""
    letters, rows, pitch, min_hairpin = loops.letters, loops.rows, loops.pitch, loops.min_hairpin
    inside = 6 * letters[i] + letters[i + 1]
    close, target = rows[(CLOSE + inside) * pitch + j], c[base[i] + j]
    if loops.free_left[j] >= j - i - 1 and close + loops.hairpin[j - i] + extra >= target:
        return HAIRPIN, 0, 0
    longest = min(loops.longest, j - i - 3 - min_hairpin)
    if longest < 0:
        return HAIRPIN, 0, 0  # the only one there is room for
    if rows[(STACK + inside) * pitch + j] + c[base[i + 1] + j - 1] + extra >= target:
        return INSIDE, i + 1, j - 1
    for l1 in range(min(longest, int(loops.free_right[i])) + 1):
        p = i + 1 + l1
        junction, row = (INNER + 6 * letters[p] + letters[p - 1]) * pitch, base[p]
        for l2 in range(min(longest - l1, int(loops.free_left[j])) + 1):
            q = j - 1 - l2
            inner = c[row + q] + rows[junction + q]
            if l1 == 1 and l2 == 0:
                score = loops.bulge_left[letters[i + 1]] + inner
            elif l1 == 0 and l2 == 1:
                score = rows[BULGE * pitch + j] + inner
            elif l1 == 1 and l2 == 1:
                score = rows[(ONE + letters[i + 1]) * pitch + j] + inner
            else:
                score = inner + loops.shapes[WIDTH * l2 + l1]
            if (close + score) + extra >= target:
                return INSIDE, p, q
    return MULTILOOP, 0, 0


@kernel()
def split_of(i, j, base, m):
    """The k at which ``M(i, k) + M(k+1, j)`` is best, and this score."""
    best, at = m.dtype.type(NEVER), i
    for k in range(i, j):
        score = m[base[i] + k] + m[base[k + 1] + j]
        if score > best:
            best, at = score, k
    return at, best


@kernel()
def put(todo, at, paired, i, j):
    """Note a span that is still to be taken apart."""
    todo[at, 0], todo[at, 1], todo[at, 2] = paired, i, j


@kernel()
def trace(loops, pairs, base, c, m, chosen, codes):
    """Write the best structure: 0 where unpaired, j + 1 where paired with j."""
    letters, rows, pitch = loops.letters, loops.rows, loops.pitch
    n = len(letters)
    codes[:] = 0
    extra = np.empty(n + MARGIN, c.dtype)
    todo = np.empty((n + 2, 3), np.int64)  # spans: whether closed by a pair, first and last position
    waiting, i = 0, 0
    while i < n:
        if chosen[i] >= 0:
            put(todo, waiting, 1, i, chosen[i])
            waiting += 1
            i = chosen[i]
        i += 1
    while waiting > 0:
        waiting -= 1
        paired, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        if paired:
            codes[i], codes[j] = j + 1, i + 1
            extra_scores(i, n, pairs, extra)
            kind, p, q = loop_of(i, j, loops, extra[j], base, c)
            if kind == INSIDE:
                put(todo, waiting, 1, p, q)
                waiting += 1
            elif kind == MULTILOOP:
                k, _ = split_of(i + 1, j - 1, base, m)
                put(todo, waiting, 0, i + 1, k)
                put(todo, waiting + 1, 0, k + 1, j - 1)
                waiting += 2
            continue
        # M(i, j): a position at either end is unpaired, or one branch spans it all, or there are two parts.
        before = letters[i - 1] if i > 0 else BEYOND
        left, right = m[base[i + 1] + j] + loops.multi[i], m[base[i] + j - 1] + loops.multi[j]
        branch = c[base[i] + j] + rows[(BRANCH + 6 * letters[i] + before) * pitch + j] + loops.multi_paired
        best = max(max(left, right), branch)
        if best < m[base[i] + j]:
            k, score = split_of(i, j, base, m)
            if score > best:
                put(todo, waiting, 0, i, k)
                put(todo, waiting + 1, 0, k + 1, j)
                waiting += 2
                continue
        if best == branch:
            put(todo, waiting, 1, i, j)
        elif best == left:
            put(todo, waiting, 0, i + 1, j)
        else:
            put(todo, waiting, 0, i, j - 1)
        waiting += 1
