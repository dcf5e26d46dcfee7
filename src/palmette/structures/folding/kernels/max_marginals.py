"""Best score with each position unpaired, and with each pair, in every sample."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.best import best_inside
from palmette.structures.folding.kernels.loops import branch, closing, hairpin, interior
from palmette.structures.folding.kernels.parts import free_runs, pair_scores, sums_before
from palmette.structures.folding.layout import (
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)


@kernel()
def best_with_each(tables, x, unpaired, pair, min_hairpin, max_interior, C, B, S, M, M2, F, free, pairs):
    """Best scores with each position unpaired (n,), and with each pair (n, n), i < j; both begin at -inf."""
    # ``oX`` is the best of everything outside of X, as the derivatives in ``reverse``: row i is complete when it
    # begins. ``run[a, b]`` is the best with a and b paired and all between them unpaired, within a hairpin or on one
    # side of an interior loop.
    n = len(x)
    before = sums_before(unpaired)
    ahead, back = free_runs(unpaired)
    oM, oM2 = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    run, oF = np.full((n + 1, n + 1), -np.inf), np.full(n + 1, -np.inf)
    oB, oS = np.empty(n + 1), np.empty(n + 1)
    oF[0] = 0.0
    for i in range(n):
        alone = oF[i] + tables[EXTERNAL_UNPAIRED] + unpaired[i]
        oF[i + 1] = max(oF[i + 1], alone)
        free[i] = max(free[i], alone + F[i + 1])
        loose = tables[MULTI_UNPAIRED] + unpaired[i]
        for j in range(i + 1, n):
            if C[i, j] > -np.inf:
                own = branch(tables, x, i, j) + tables[EXTERNAL_PAIRED]
                oF[j + 1] = max(oF[j + 1], oF[i] + own + C[i, j])
                pairs[i, j] = max(pairs[i, j], oF[i] + own + F[j + 1])
            oB[j], oS[j] = oM[i, j], max(oM[i, j], oM2[i, j])
            oM[i + 1, j] = max(oM[i + 1, j], oM[i, j] + loose)
            oM2[i + 1, j] = max(oM2[i + 1, j], oM2[i, j] + loose)
            free[i] = max(free[i], max(oM[i, j] + loose + M[i + 1, j], oM2[i, j] + loose + M2[i + 1, j]))
        for j in range(n - 1, i, -1):
            trailing = oB[j] + tables[MULTI_UNPAIRED] + unpaired[j]
            if j > i + 1:
                oB[j - 1] = max(oB[j - 1], trailing)
                free[j] = max(free[j], trailing + B[i, j - 1])
            if C[i, j] == -np.inf:
                continue
            own, best = branch(tables, x, i, j) + tables[MULTI_PAIRED], oB[j]
            for k in range(j + 2, n):
                best = max(best, oS[k] + M[j + 1, k])
                oM[j + 1, k] = max(oM[j + 1, k], oS[k] + own + C[i, j])
            pairs[i, j] = max(pairs[i, j], best + own)
        for j in range(i + 1, n):
            if C[i, j] == -np.inf or pairs[i, j] == -np.inf:
                continue
            outside = pairs[i, j] + pair[i, j]
            if ahead[i + 1] >= j - i - 1:
                own = hairpin(tables, x, i, j) + (before[j] - before[i + 1])
                run[i, j] = max(run[i, j], outside + own)
            for p in range(i + 1, min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin) + 1):
                rest = max_interior - (p - i - 1)
                for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                    if C[p, q] > -np.inf:
                        own = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                        own += outside + interior(tables, x, i, j, p, q)
                        pairs[p, q] = max(pairs[p, q], own)
                        run[i, p] = max(run[i, p], own + C[p, q])
                        run[q, j] = max(run[q, j], own + C[p, q])
            oM2[i + 1, j - 1] = max(oM2[i + 1, j - 1], outside + closing(tables, x, i, j))
    for i in range(n):
        best = -np.inf
        for t in range(n - 2, i, -1):
            best = max(best, run[i, t + 1])
            free[t] = max(free[t], best)
        for j in range(i + 1, n):
            pairs[i, j] += C[i, j]


@kernel()
def max_marginals(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, starts, values, free, pairs,
):  # fmt: skip
    """Best scores in all, with each position unpaired, and with each pair: symmetric squares from ``starts`` on."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        pair = pair_scores(
            tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
            min_hairpin, s,
        )  # fmt: skip
        x = letters[lo:hi].astype(np.int64)
        C, B, S, M, M2, F = best_inside(tables, x, unpaired[lo:hi], pair, min_hairpin, max_interior)
        values[s] = F[0]
        own, square = np.full(n, -np.inf), np.full((n, n), -np.inf)
        best_with_each(
            tables, x, unpaired[lo:hi], pair, min_hairpin, max_interior, C, B, S, M, M2, F, own, square
        )  # fmt: skip
        for i in range(n):
            free[lo + i] = own[i]
            for j in range(n):
                pairs[starts[s] + i * n + j] = square[min(i, j), max(i, j)]
