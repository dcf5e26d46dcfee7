"""Sums over all structures: the recursion of :mod:`palmette.structures.folding.kernels.best` on logarithms.

Expected counts come from the derivative of ``log Z = F(0)`` (reverse mode): the derivative of log Z by ``C(i, j)`` is
the probability of the pair (i, j), and a term t of a sum A hands on the share ``exp(t - A)`` of what A has.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.loops import (
    add_branch,
    add_closing,
    add_hairpin,
    add_interior,
    branch,
    closing,
    hairpin,
    interior,
)
from palmette.structures.folding.kernels.parts import free_runs, pair_scores, sums_before
from palmette.structures.folding.layout import (
    BASE_PAIR,
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
    N_LETTERS,
)


@kernel()
def plus(a, b):
    """``log(exp(a) + exp(b))``."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@kernel()
def log_inside(tables, x, unpaired, pair, min_hairpin, max_interior):
    """The tables C, B, S, M, M2 and F of one sample, as logarithms of sums; shapes as in ``best_inside``."""
    n = len(x)
    C, B = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    S, M, M2 = (
        np.full((n + 1, n + 1), -np.inf),
        np.full((n + 1, n + 1), -np.inf),
        np.full((n + 1, n + 1), -np.inf),
    )
    before = sums_before(unpaired)
    ahead, back = free_runs(unpaired)
    # Terms of one sum, added together once their maximum is known.
    terms = np.empty(max(n, (max_interior + 1) * (max_interior + 1)) + 2)
    for i in range(n - 1, -1, -1):
        loose = tables[MULTI_UNPAIRED] + unpaired[i]
        for j in range(i + 1, n):
            if pair[i, j] > -np.inf:
                m = 0
                if ahead[i + 1] >= j - i - 1:
                    terms[m] = hairpin(tables, x, i, j) + (before[j] - before[i + 1])
                    m += 1
                for p in range(i + 1, min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin) + 1):
                    rest = max_interior - (p - i - 1)
                    for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                        if C[p, q] > -np.inf:
                            free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                            terms[m] = C[p, q] + interior(tables, x, i, j, p, q) + free
                            m += 1
                if M2[i + 1, j - 1] > -np.inf:
                    terms[m] = M2[i + 1, j - 1] + closing(tables, x, i, j)
                    m += 1
                C[i, j] = pair[i, j] + log_sum(terms, m)
                B[i, j] = C[i, j] + branch(tables, x, i, j) + tables[MULTI_PAIRED]
            B[i, j] = plus(B[i, j], B[i, j - 1] + tables[MULTI_UNPAIRED] + unpaired[j])
        for j in range(i + 3, n):
            m = 0
            for k in range(i + 1, j - 1):
                if C[i, k] > -np.inf and M[k + 1, j] > -np.inf:
                    terms[m] = C[i, k] + branch(tables, x, i, k) + tables[MULTI_PAIRED] + M[k + 1, j]
                    m += 1
            S[i, j] = log_sum(terms, m)
        for j in range(i + 1, n):
            M2[i, j] = plus(loose + M2[i + 1, j], S[i, j])
            M[i, j] = plus(loose + M[i + 1, j], plus(S[i, j], B[i, j]))
    F = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        terms[0] = tables[EXTERNAL_UNPAIRED] + unpaired[i] + F[i + 1]
        m = 1
        for j in range(i + 1, n):
            if C[i, j] > -np.inf:
                terms[m] = C[i, j] + branch(tables, x, i, j) + tables[EXTERNAL_PAIRED] + F[j + 1]
                m += 1
        F[i] = log_sum(terms, m)
    return C, B, S, M, M2, F


@kernel()
def log_sum(terms, m):
    """``log sum exp`` of the first m terms."""
    top = -np.inf
    for k in range(m):
        top = max(top, terms[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(m):
        total += np.exp(terms[k] - top)
    return top + np.log(total)


@kernel()
def handed_on(amount, log_share):
    """What a term gets of an amount, and what the choice of it adds to the entropy."""
    own = amount * np.exp(log_share)
    return own, 0.0 if own == 0.0 else -own * log_share


@kernel()
def reverse(tables, x, unpaired, pair, min_hairpin, max_interior, C, B, S, M, M2, F, weight, counts, chance):
    """Add ``weight`` x expected counts of the tables to ``counts``, and of the pairs i < j to ``chance`` (n, n).

    Returns ``weight`` x entropy: each sum is a choice among its terms, so the entropy is that of the choices, each
    times the probability that it is made. No two large numbers are subtracted.
    """
    # Invariant: when row i begins, the derivatives of F(i), M(i, .), M2(i, .) are complete, since they come from rows
    # below i; so are those that C(i, .) has from interior loops, to which row i adds those of its branches.
    n = len(x)
    before = sums_before(unpaired)
    ahead, back = free_runs(unpaired)
    dM, dM2 = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    dF, dB, dS = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    dF[0] = weight
    entropy = 0.0
    for i in range(n):
        if dF[i] != 0.0:
            share, part = handed_on(dF[i], tables[EXTERNAL_UNPAIRED] + unpaired[i] + F[i + 1] - F[i])
            entropy += part
            counts[EXTERNAL_UNPAIRED] += share
            dF[i + 1] += share
            for j in range(i + 1, n):
                if C[i, j] > -np.inf:
                    own = C[i, j] + branch(tables, x, i, j) + tables[EXTERNAL_PAIRED] + F[j + 1]
                    share, part = handed_on(dF[i], own - F[i])
                    entropy += part
                    dF[j + 1] += share
                    chance[i, j] += share
                    add_branch(counts, x, i, j, True, share)
        loose = tables[MULTI_UNPAIRED] + unpaired[i]
        for j in range(i + 1, n):
            dS[j], dB[j] = 0.0, 0.0
            if dM[i, j] != 0.0:
                share, part = handed_on(dM[i, j], loose + M[i + 1, j] - M[i, j])
                entropy += part
                counts[MULTI_UNPAIRED] += share
                dM[i + 1, j] += share
                share, part = handed_on(dM[i, j], S[i, j] - M[i, j])
                entropy += part
                dS[j] += share
                dB[j], part = handed_on(dM[i, j], B[i, j] - M[i, j])
                entropy += part
            if dM2[i, j] != 0.0:
                share, part = handed_on(dM2[i, j], loose + M2[i + 1, j] - M2[i, j])
                entropy += part
                counts[MULTI_UNPAIRED] += share
                dM2[i + 1, j] += share
                share, part = handed_on(dM2[i, j], S[i, j] - M2[i, j])
                entropy += part
                dS[j] += share
        for j in range(n - 1, i, -1):
            if dB[j] != 0.0:
                share, part = handed_on(dB[j], B[i, j - 1] + tables[MULTI_UNPAIRED] + unpaired[j] - B[i, j])
                entropy += part
                counts[MULTI_UNPAIRED] += share
                dB[j - 1] += share
            if C[i, j] == -np.inf:
                continue
            own = C[i, j] + branch(tables, x, i, j) + tables[MULTI_PAIRED]
            found = 0.0
            if dB[j] != 0.0:
                found, part = handed_on(dB[j], own - B[i, j])
                entropy += part
            for k in range(j + 2, n):
                if dS[k] != 0.0 and M[j + 1, k] > -np.inf:
                    share, part = handed_on(dS[k], own + M[j + 1, k] - S[i, k])
                    entropy += part
                    dM[j + 1, k] += share
                    found += share
            if found != 0.0:
                chance[i, j] += found
                add_branch(counts, x, i, j, False, found)
        for j in range(i + 1, n):
            if chance[i, j] == 0.0 or C[i, j] == -np.inf:
                continue
            mine, total = chance[i, j], C[i, j] - pair[i, j]
            counts[BASE_PAIR + x[i] * N_LETTERS + x[j]] += mine
            if ahead[i + 1] >= j - i - 1:
                own = hairpin(tables, x, i, j) + (before[j] - before[i + 1])
                share, part = handed_on(mine, own - total)
                entropy += part
                add_hairpin(counts, x, i, j, share)
            for p in range(i + 1, min(i + 1 + min(max_interior, ahead[i + 1]), j - 2 - min_hairpin) + 1):
                rest = max_interior - (p - i - 1)
                for q in range(max(j - 1 - min(rest, back[j]), p + 1 + min_hairpin), j):
                    if C[p, q] > -np.inf:
                        free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                        own = C[p, q] + interior(tables, x, i, j, p, q) + free
                        share, part = handed_on(mine, own - total)
                        entropy += part
                        chance[p, q] += share
                        add_interior(counts, x, i, j, p, q, share)
            if M2[i + 1, j - 1] > -np.inf:
                share, part = handed_on(mine, M2[i + 1, j - 1] + closing(tables, x, i, j) - total)
                entropy += part
                dM2[i + 1, j - 1] += share
                add_closing(counts, x, i, j, share)
    return entropy


@kernel()
def expect(
    tables, letters, unpaired, pair, min_hairpin, max_interior, weight, counts, free, start, squares_of_pairs
):  # fmt: skip
    """Log-partition of one sample; ``weight`` x expected counts are added to what is not empty.

    ``free`` are the unpaired positions; the square of the sample begins at ``start``.
    """
    x = letters.astype(np.int64)
    C, B, S, M, M2, F = log_inside(tables, x, unpaired, pair, min_hairpin, max_interior)
    if len(counts) == 0 or weight == 0.0 or F[0] == -np.inf:
        return F[0]
    n = len(x)
    chance = np.zeros((n, n))
    reverse(
        tables, x, unpaired, pair, min_hairpin, max_interior, C, B, S, M, M2, F, weight, counts, chance
    )  # fmt: skip
    for i in range(n):
        left = weight
        for j in range(n):
            left -= chance[min(i, j), max(i, j)]
        # What pairs leave of 1 may be off by rounding: nothing is less likely than impossible.
        impossible = unpaired[i] == -np.inf or left * weight < 0.0
        free[i] += 0.0 if impossible else left
        if len(squares_of_pairs):
            for j in range(i + 1, n):
                squares_of_pairs[start + i * n + j] += chance[i, j]
    return F[0]


@kernel()
def expectations(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, asked, weight, log_z, counts, free, starts, squares_of_pairs,
):  # fmt: skip
    """As :func:`palmette.structures.folding.kernels.fast_batch.expectations`, for sums of any size."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        if not asked[s]:
            continue
        pair = pair_scores(
            tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
            min_hairpin, s,
        )  # fmt: skip
        own_counts = np.zeros(len(tables)) if len(free) > len(counts) == 0 else counts
        log_z[s] = expect(
            tables, letters[lo:hi], unpaired[lo:hi], pair, min_hairpin, max_interior, weight[s], own_counts,
            free[lo:hi] if len(free) else free, starts[s], squares_of_pairs,
        )  # fmt: skip


@kernel()
def entropies(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, log_z, out,
):  # fmt: skip
    """Log-partition and entropy of every sample; the entropy is 0 where there is no structure."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        pair = pair_scores(
            tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
            min_hairpin, s,
        )  # fmt: skip
        x, free = letters[lo:hi].astype(np.int64), unpaired[lo:hi]
        counts, chance = np.zeros(len(tables)), np.zeros((n, n))
        C, B, S, M, M2, F = log_inside(tables, x, free, pair, min_hairpin, max_interior)
        log_z[s], out[s] = F[0], 0.0
        if F[0] > -np.inf:
            out[s] = reverse(
                tables, x, free, pair, min_hairpin, max_interior, C, B, S, M, M2, F, 1.0, counts, chance
            )  # fmt: skip
