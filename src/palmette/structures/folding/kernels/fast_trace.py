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
    ONE,
    STACK,
    WIDTH,
    extra_scores,
)

HAIRPIN, INSIDE, MULTILOOP = 0, 1, 2


@kernel()
def inner_score(p, q, letters, rows, pitch, base, c):
    """B(p, q): C with the junction that looks outward."""
    return c[base[p] + q] + rows[(INNER + 6 * letters[p] + letters[p - 1]) * pitch + q]


@kernel()
def loop_of(
    i, j, min_hairpin, letters, rows, pitch, shapes, hairpin, bulge_left, free_left, free_right, extra, base, c,
):  # fmt: skip
    """What (i, j) closes: a hairpin, a loop with one pair (p, q) inside, or a multiloop, as (kind, p, q)."""
    inside = 6 * letters[i] + letters[i + 1]
    close, target = rows[(CLOSE + inside) * pitch + j], c[base[i] + j]
    best, kind, p_best, q_best = c.dtype.type(NEVER), MULTILOOP, 0, 0
    if free_left[j] >= j - i - 1:
        score = close + hairpin[j - i] + extra[j]
        if score >= target:
            return HAIRPIN, 0, 0
        if score > best:
            best, kind = score, HAIRPIN
    if j - i - 3 < min_hairpin:
        return kind, p_best, q_best
    score = rows[(STACK + inside) * pitch + j] + c[base[i + 1] + j - 1] + extra[j]
    if score >= target:
        return INSIDE, i + 1, j - 1
    if score > best:
        best, kind, p_best, q_best = score, INSIDE, i + 1, j - 1
    longest = min(30, j - i - 3 - min_hairpin)
    for l1 in range(min(longest, free_right[i]) + 1):
        p = i + 1 + l1
        junction = rows[(INNER + 6 * letters[p] + letters[p - 1]) * pitch :]
        row = c[base[p] :]
        for l2 in range(longest - l1 + 1):
            if l2 > free_left[j]:
                break
            q = j - 1 - l2
            inner = row[q] + junction[q]
            if l1 + l2 == 0:
                continue
            if l1 == 1 and l2 == 0:
                score = bulge_left[letters[i + 1]] + inner
            elif l1 == 0 and l2 == 1:
                score = rows[BULGE * pitch + j] + inner
            elif l1 == 1 and l2 == 1:
                score = rows[(ONE + letters[i + 1]) * pitch + j] + inner
            else:
                score = inner + shapes[WIDTH * l2 + l1]
            score = (close + score) + extra[j]
            if score >= target:
                return INSIDE, p, q
            if score > best:
                best, kind, p_best, q_best = score, INSIDE, p, q
    return MULTILOOP, p_best, q_best


@kernel()
def split_of(i, j, base, m):
    """The k at which ``M(i, k) + M(k+1, j)`` is best, and this score."""
    best, at = m.dtype.type(NEVER), -1
    for k in range(i, j):
        score = m[base[i] + k] + m[base[k + 1] + j]
        if score > best:
            best, at = score, k
    return at, best


@kernel()
def trace(
    letters, min_hairpin, rows, pitch, shapes, hairpin, bulge_left, multi_paired, multi, free_left, free_right, side,
    starts, columns, values, dense, may_pair, base, c, m, chosen, codes,
):  # fmt: skip
    """Write the best structure: 0 where unpaired, j + 1 where paired with j."""
    n = len(letters)
    codes[:] = 0
    extra = np.empty(n + 64, c.dtype)
    todo = np.empty(
        (n + 2, 3), np.int64
    )  # whether the span is closed by a pair, its first and its last position
    waiting, i = 0, 0
    while i < n:
        if chosen[i] >= 0:
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = 1, i, chosen[i]
            waiting += 1
            i = chosen[i]
        i += 1
    while waiting > 0:
        waiting -= 1
        paired, i, j = todo[waiting]
        if paired:
            codes[i], codes[j] = j + 1, i + 1
            extra_scores(i, n, side, starts, columns, values, dense, may_pair, extra)
            kind, p, q = loop_of(
                i, j, min_hairpin, letters, rows, pitch, shapes, hairpin, bulge_left, free_left, free_right, extra, base,
                c,
            )  # fmt: skip
            if kind == INSIDE:
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = 1, p, q
                waiting += 1
            elif kind == MULTILOOP:
                k, _ = split_of(i + 1, j - 1, base, m)
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = 0, i + 1, k
                todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = 0, k + 1, j - 1
                waiting += 2
            continue
        # M(i, j): skip a position at either end, or one branch spans it, or two parts.
        target = m[base[i] + j]
        before = letters[i - 1] if i > 0 else BEYOND
        left, right = m[base[i + 1] + j] + multi[i], m[base[i] + j - 1] + multi[j]
        branch = c[base[i] + j] + rows[(BRANCH + 6 * letters[i] + before) * pitch + j] + multi_paired
        top = max(max(left, right), branch)
        if top < target:
            k, score = split_of(i, j, base, m)
            if score > top:
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = 0, i, k
                todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = 0, k + 1, j
                waiting += 2
                continue
        todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = top == branch, i, j
        if top != branch:
            if top == left:
                todo[waiting, 1] = i + 1
            else:
                todo[waiting, 2] = j - 1
        waiting += 1
