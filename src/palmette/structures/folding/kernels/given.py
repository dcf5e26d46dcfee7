"""Given structures: what is wrong with their codes, their scores and their counts; O(n) each.

The codes of a structure: 0 at an unpaired position, ``j + 1`` at one that is paired with position j of its sample.
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
from palmette.structures.folding.layout import (
    BASE_PAIR,
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
    N_LETTERS,
)

FINE, NO_CODE, NOT_MUTUAL, CROSSING, LETTERS, CLOSE, LONG = 0, 1, 2, 3, 4, 5, 6


@kernel()
def loop_of(codes, i, j):
    """The loop inside of the pair (i, j), or the external one for (-1, n): number of branches, the last, unpaired."""
    branches, p, q, unpaired, t = 0, -1, -1, 0, i + 1
    while t < j:
        if codes[t] == 0:
            unpaired += 1
            t += 1
        else:
            p, q = t, codes[t] - 1
            branches += 1
            t = q + 1
    return branches, p, q, unpaired


@kernel()
def first_flaw(letters, offsets, can_pair, min_hairpin, max_interior, codes):
    """Kind, sample and position of the first thing that makes codes no structure of the model; FINE, -1, -1."""
    for s in range(len(offsets) - 1):
        lo, n = offsets[s], offsets[s + 1] - offsets[s]
        own = codes[lo : lo + n]
        ends, top = np.empty(n + 1, np.int64), 0
        for t in range(n):
            if own[t] < 0 or own[t] > n:
                return NO_CODE, s, t
            if own[t] > 0 and (own[t] - 1 == t or own[own[t] - 1] != t + 1):
                return NOT_MUTUAL, s, t
        for t in range(n):
            if own[t] == 0:
                continue
            j = own[t] - 1
            if j < t:
                top -= 1
                continue
            if top > 0 and ends[top - 1] < j:
                return CROSSING, s, t
            ends[top] = j
            top += 1
            if not can_pair[letters[lo + t], letters[lo + j]]:
                return LETTERS, s, t
            if j - t - 1 < min_hairpin:
                return CLOSE, s, t
        for t in range(n):
            if own[t] > t + 1:
                branches, _, _, unpaired = loop_of(own, t, own[t] - 1)
                if branches == 1 and unpaired > max_interior:
                    return LONG, s, t
    return FINE, -1, -1


@kernel()
def structure_scores(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, codes, out,
):  # fmt: skip
    """Score of every sample's structure, which is one of the model; -inf if it is restricted away."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        x, own = letters[lo:hi].astype(np.int64), codes[lo:hi]
        score, external = 0.0, True
        for t in range(n):
            if own[t] == 0:
                score += unpaired[lo + t]
            if len(partner) and partner[lo + t] >= 0 and partner[lo + t] != own[t]:
                score = -np.inf
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            if own[entry[e] // n] == entry[e] % n + 1:
                score += value[e]
        i = -1
        while i < n:  # the external loop, then every pair
            j = n if external else own[i] - 1
            if external or j > i:
                if not external:
                    score += tables[BASE_PAIR + x[i] * N_LETTERS + x[j]] + uniform[s]
                    if len(dense):
                        score += dense[squares[s] + i * n + j]
                    if len(mask) and not mask[squares[s] + i * n + j]:
                        score = -np.inf
                branches, p, q, free = loop_of(own, i, j)
                if external:
                    score += free * tables[EXTERNAL_UNPAIRED]
                elif branches == 0:
                    score += hairpin(tables, x, i, j)
                elif branches == 1:
                    score += interior(tables, x, i, j, p, q)
                else:
                    score += closing(tables, x, i, j) + free * tables[MULTI_UNPAIRED]
                if external or branches > 1:
                    t = i + 1
                    while t < j:
                        if own[t] == 0:
                            t += 1
                        else:
                            score += branch(tables, x, t, own[t] - 1)
                            score += tables[EXTERNAL_PAIRED if external else MULTI_PAIRED]
                            t = own[t]
            external = False
            i += 1
        out[s] = score


@kernel()
def add_counts(letters, offsets, codes, weight, squares, counts, free, pairs):
    """Add ``weight`` x the counts of each structure; ``pairs`` has a square for each sample, or is empty."""
    for s in range(len(offsets) - 1):
        lo, hi, w = offsets[s], offsets[s + 1], weight[s]
        n = hi - lo
        x, own = letters[lo:hi].astype(np.int64), codes[lo:hi]
        external, i = True, -1
        while i < n:  # the external loop, then every pair
            j = n if external else own[i] - 1
            if not external and own[i] == 0:
                free[lo + i] += w
            if external or j > i:
                if not external:
                    counts[BASE_PAIR + x[i] * N_LETTERS + x[j]] += w
                    if len(pairs):
                        pairs[squares[s] + i * n + j] += w
                branches, p, q, loose = loop_of(own, i, j)
                if external:
                    counts[EXTERNAL_UNPAIRED] += loose * w
                elif branches == 0:
                    add_hairpin(counts, x, i, j, w)
                elif branches == 1:
                    add_interior(counts, x, i, j, p, q, w)
                else:
                    add_closing(counts, x, i, j, w)
                    counts[MULTI_UNPAIRED] += loose * w
                if external or branches > 1:
                    t = i + 1
                    while t < j:
                        if own[t] == 0:
                            t += 1
                        else:
                            add_branch(counts, x, t, own[t] - 1, external, w)
                            t = own[t]
            external = False
            i += 1
