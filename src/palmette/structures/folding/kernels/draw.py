"""Exact samples of structures: a walk back through the sums, each choice with its share."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.best import EXTERNAL, PAIR, SOME, TWO
from palmette.structures.folding.kernels.inside import log_inside
from palmette.structures.folding.kernels.loops import branch, closing, hairpin, interior
from palmette.structures.folding.kernels.parts import free_runs, pair_scores, sums_before
from palmette.structures.folding.layout import (
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)


@kernel()
def draw(tables, x, unpaired, pair, min_hairpin, max_interior, C, B, S, M, M2, F, chances, codes):
    """One structure. ``chances`` (2, n) are uniform: the first row decides at positions, the second inside of pairs."""
    # A choice walks through the terms of a sum until their shares exceed a uniform number. The last term that is
    # possible stands for what rounding leaves.
    n = len(x)
    codes[:] = 0
    before = sums_before(unpaired)
    ahead, back = free_runs(unpaired)
    stack = np.empty((n + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = EXTERNAL, 0, n - 1
    top = 1
    while top > 0:
        top -= 1
        what, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        if what == EXTERNAL:
            while i < n:
                own = tables[EXTERNAL_UNPAIRED] + unpaired[i] + F[i + 1]
                left, at = chances[0, i] - np.exp(own - F[i]), -1
                if left >= 0.0 or own == -np.inf:
                    for k in range(i + 1, n):
                        if C[i, k] > -np.inf and F[k + 1] > -np.inf:
                            at = k
                            own = C[i, k] + branch(tables, x, i, k) + tables[EXTERNAL_PAIRED] + F[k + 1]
                            left -= np.exp(own - F[i])
                            if left < 0.0:
                                break
                if at < 0:
                    i += 1
                    continue
                stack[top, 0], stack[top, 1], stack[top, 2] = EXTERNAL, at + 1, n - 1
                stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = PAIR, i, at
                top += 2
                break
        elif what == PAIR:
            codes[i], codes[j] = j + 1, i + 1
            left, total = chances[1, i], C[i, j] - pair[i, j]
            kind, first, last = -1, -1, -1
            if ahead[i + 1] >= j - i - 1:
                kind = EXTERNAL  # nothing inside
                left -= np.exp(hairpin(tables, x, i, j) + (before[j] - before[i + 1]) - total)
            if left >= 0.0 and M2[i + 1, j - 1] > -np.inf:
                kind = TWO
                left -= np.exp(M2[i + 1, j - 1] + closing(tables, x, i, j) - total)
            p = i + 1
            while left >= 0.0 and p <= min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin):
                rest = max_interior - (p - i - 1)
                for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                    if C[p, q] > -np.inf:
                        kind, first, last = PAIR, p, q
                        free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                        left -= np.exp(C[p, q] + interior(tables, x, i, j, p, q) + free - total)
                        if left < 0.0:
                            break
                p += 1
            if kind == TWO:
                stack[top, 0], stack[top, 1], stack[top, 2] = TWO, i + 1, j - 1
                top += 1
            elif kind == PAIR:
                stack[top, 0], stack[top, 1], stack[top, 2] = PAIR, first, last
                top += 1
        else:
            # M2: unpaired, or a branch with others after it; M: also a branch alone.
            two = what == TWO
            while True:
                total = M2[i, j] if two else M[i, j]
                own = tables[MULTI_UNPAIRED] + unpaired[i] + (M2[i + 1, j] if two else M[i + 1, j])
                left, at, more = chances[0, i] - np.exp(own - total), -1, False
                if left >= 0.0 or own == -np.inf:
                    for k in range(i + 1, j + 1):
                        if C[i, k] == -np.inf:
                            continue
                        own = C[i, k] + branch(tables, x, i, k) + tables[MULTI_PAIRED]
                        if M[k + 1, j] > -np.inf:
                            at, more = k, True
                            left -= np.exp(own + M[k + 1, j] - total)
                            if left < 0.0:
                                break
                        if not two and back[j + 1] >= j - k:
                            at, more = k, False
                            alone = (before[j + 1] - before[k + 1]) + (j - k) * tables[MULTI_UNPAIRED]
                            left -= np.exp(own + alone - total)
                            if left < 0.0:
                                break
                if at >= 0:
                    break
                i += 1
            if more:
                stack[top, 0], stack[top, 1], stack[top, 2] = SOME, at + 1, j
                top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = PAIR, i, at
            top += 1


@kernel()
def draw_structures(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, chances, codes,
):  # fmt: skip
    """Draws of every sample, (n_draws, n_positions); the first sample without a structure, or -1."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        pair = pair_scores(
            tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
            min_hairpin, s,
        )  # fmt: skip
        x, free = letters[lo:hi].astype(np.int64), unpaired[lo:hi]
        C, B, S, M, M2, F = log_inside(tables, x, free, pair, min_hairpin, max_interior)
        if F[0] == -np.inf:
            return s
        for d in range(len(codes)):
            draw(
                tables, x, free, pair, min_hairpin, max_interior, C, B, S, M, M2, F, chances[:, d, lo:hi],
                codes[d, lo:hi],
            )  # fmt: skip
    return -1
