"""The best structure of every sample: fill the tables, then walk back. All times O(n^3 + n^2 L^2), L = max_interior.

With ``C(i, j)`` for the best inside of the pair (i, j), pair included, and ``P(i, j)`` for C with what it scores as a
branch of a multiloop (all indices inclusive, -inf where there is nothing):

    C(i, j)  = w(i, j) + max(hairpin, max_{p, q} interior + C(p, q), closing + M2(i + 1, j - 1))
    B(i, j)  = max(P(i, j), B(i, j - 1) + m(j))                one branch, which begins at i; unpaired after it
    S(i, j)  = max_k P(i, k) + M(k + 1, j)                     a branch begins at i, others follow
    M(i, j)  = max(m(i) + M(i + 1, j), S(i, j), B(i, j))       at least one branch
    M2(i, j) = max(m(i) + M2(i + 1, j), S(i, j))               at least two
    F(i)     = max(e(i) + F(i + 1), max_j C(i, j) + branch + external_paired + F(j + 1))    the external loop from i on

Each structure has exactly one derivation, so the same recursion with sums counts each structure once. Row i needs rows
above i and P(i, k) with k <= j only.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.loops import branch, closing, hairpin, interior
from palmette.structures.folding.kernels.parts import free_runs, sums_before
from palmette.structures.folding.layout import (
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)


@kernel()
def best_inside(tables, x, unpaired, pair, min_hairpin, max_interior):
    """The tables C, B, S, M, M2 of shape (n + 1, n + 1) and F of one sample. Entry (i, j) of M, say, is ``M[i, j]``."""
    n = len(x)
    C, B = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    S, M, M2 = (
        np.full((n + 1, n + 1), -np.inf),
        np.full((n + 1, n + 1), -np.inf),
        np.full((n + 1, n + 1), -np.inf),
    )
    before = sums_before(unpaired)
    ahead, back = free_runs(unpaired)
    for i in range(n - 1, -1, -1):
        loose = tables[MULTI_UNPAIRED] + unpaired[i]
        for j in range(i + 1, n):
            if pair[i, j] > -np.inf:
                best = -np.inf
                if ahead[i + 1] >= j - i - 1:
                    best = hairpin(tables, x, i, j) + (before[j] - before[i + 1])
                for p in range(i + 1, min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin) + 1):
                    rest = max_interior - (p - i - 1)
                    for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                        if C[p, q] > -np.inf:
                            free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                            best = max(best, C[p, q] + interior(tables, x, i, j, p, q) + free)
                if M2[i + 1, j - 1] > -np.inf:
                    best = max(best, M2[i + 1, j - 1] + closing(tables, x, i, j))
                C[i, j] = pair[i, j] + best
                B[i, j] = C[i, j] + branch(tables, x, i, j) + tables[MULTI_PAIRED]
            B[i, j] = max(B[i, j], B[i, j - 1] + tables[MULTI_UNPAIRED] + unpaired[j])
        # P(i, k) is what B(i, k) has beyond its predecessor, so it is computed again from C.
        for k in range(i + 1, n):
            if C[i, k] > -np.inf:
                first = C[i, k] + branch(tables, x, i, k) + tables[MULTI_PAIRED]
                for j in range(k + 2, n):
                    S[i, j] = max(S[i, j], first + M[k + 1, j])
        for j in range(i + 1, n):
            M2[i, j] = max(loose + M2[i + 1, j], S[i, j])
            M[i, j] = max(loose + M[i + 1, j], max(S[i, j], B[i, j]))
    F = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        best = tables[EXTERNAL_UNPAIRED] + unpaired[i] + F[i + 1]
        for j in range(i + 1, n):
            if C[i, j] > -np.inf:
                best = max(best, C[i, j] + branch(tables, x, i, j) + tables[EXTERNAL_PAIRED] + F[j + 1])
        F[i] = best
    return C, B, S, M, M2, F


@kernel()
def first_split(tables, x, C, M, i, j):
    """The first k that attains ``S(i, j) = max_k P(i, k) + M(k + 1, j)``."""
    best, at = -np.inf, -1
    for k in range(i + 1, j):
        if C[i, k] > -np.inf:
            found = C[i, k] + branch(tables, x, i, k) + tables[MULTI_PAIRED] + M[k + 1, j]
            if found > best:
                best, at = found, k
    return at


@kernel()
def first_branch(tables, x, unpaired, C, S, M, M2, i, j):
    """The first branch of the best ``M2(i, j)``."""
    while tables[MULTI_UNPAIRED] + unpaired[i] + M2[i + 1, j] >= S[i, j]:
        i += 1
    return i, first_split(tables, x, C, M, i, j)


EXTERNAL, PAIR, SOME, TWO = 0, 1, 2, 3  # what is left to derive: F, C, M, M2


@kernel()
def walk_back(tables, x, unpaired, min_hairpin, max_interior, C, B, S, M, M2, F, codes):
    """The best structure from its tables; of equally good ones that with the lowest codes."""
    # At each step candidates are compared from the lowest codes on, and a later one must be better. In a loop that
    # (i, j) closes, codes are lower the later its first branch begins, then the earlier that ends.
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
                best, at = tables[EXTERNAL_UNPAIRED] + unpaired[i] + F[i + 1], -1
                for k in range(i + 1, n):
                    if C[i, k] > -np.inf:
                        found = C[i, k] + branch(tables, x, i, k) + tables[EXTERNAL_PAIRED] + F[k + 1]
                        if found > best:
                            best, at = found, k
                if at < 0:
                    i += 1
                    continue
                stack[top, 0], stack[top, 1], stack[top, 2] = EXTERNAL, at + 1, n - 1
                stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = PAIR, i, at
                top += 2
                break
        elif what == PAIR:
            codes[i], codes[j] = j + 1, i + 1
            best, first, last = -np.inf, -1, -1
            if ahead[i + 1] >= j - i - 1:
                best = hairpin(tables, x, i, j) + (before[j] - before[i + 1])
            for p in range(min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin), i, -1):
                rest = max_interior - (p - i - 1)
                for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                    if C[p, q] > -np.inf:
                        free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                        found = C[p, q] + interior(tables, x, i, j, p, q) + free
                        if found > best:
                            best, first, last = found, p, q
            multi = False
            if M2[i + 1, j - 1] > -np.inf:
                found = M2[i + 1, j - 1] + closing(tables, x, i, j)
                multi = found > best
                if found == best and first >= 0:
                    p, q = first_branch(tables, x, unpaired, C, S, M, M2, i + 1, j - 1)
                    multi = p > first or (p == first and q < last)
            if multi:
                stack[top, 0], stack[top, 1], stack[top, 2] = TWO, i + 1, j - 1
                top += 1
            elif first >= 0:
                stack[top, 0], stack[top, 1], stack[top, 2] = PAIR, first, last
                top += 1
        elif what == TWO:
            i, k = first_branch(tables, x, unpaired, C, S, M, M2, i, j)
            stack[top, 0], stack[top, 1], stack[top, 2] = SOME, k + 1, j
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = PAIR, i, k
            top += 2
        else:
            while tables[MULTI_UNPAIRED] + unpaired[i] + M[i + 1, j] >= max(S[i, j], B[i, j]):
                i += 1
            best, at, more = -np.inf, -1, False
            for k in range(i + 1, j + 1):
                if C[i, k] > -np.inf:
                    own = C[i, k] + branch(tables, x, i, k) + tables[MULTI_PAIRED]
                    alone = -np.inf
                    if back[j + 1] >= j - k:
                        alone = own + (before[j + 1] - before[k + 1]) + (j - k) * tables[MULTI_UNPAIRED]
                    others = own + M[k + 1, j]
                    if max(alone, others) > best:
                        best, at, more = max(alone, others), k, others > alone
            if more:
                stack[top, 0], stack[top, 1], stack[top, 2] = SOME, at + 1, j
                top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = PAIR, i, at
            top += 1
