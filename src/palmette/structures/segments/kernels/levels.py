"""Best segmentations for every total cost that is a whole number, and the one that is worth most.

Tables as in ``segment_max``; ``cost`` (rows, 2 states) are whole numbers for every code of a row. Worth as in
``chain_levels``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.levels import raise_to, worth_most
from palmette.structures.segments.kernels.max import write_segment


@kernel()
def level_suffixes(whole, edge, first, step, lo, hi, cost, value, after):
    """``value[t, s, c]``: best from row t on if state s begins there; ``after[t, s, c]``: if it has just ended."""
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    n, n_totals = hi - lo, value.shape[2]
    for s in range(n_states):
        after[n, s, 0] = 0.0
    # value[t, s, c + paid] = max_d (whole[t, d, s] + after[t + d + 1, s, c]), paid = the costs of the rows t..t + d;
    # after[t, i, c] = max_j (edge[t - 1, i, j] + value[t, j, c]), after[n, :, 0] = 0. O(n S (D + S) C) for C totals.
    # ``value`` and ``after`` are -inf at the start. Costs are >= 0, so a length that is too dear ends the loop.
    for t in range(n - 1, -1, -1):
        for s in range(n_states):
            paid = cost[lo + t, s]
            for d in range(min(n_lengths, n - t)):
                if d > 0:
                    paid += cost[lo + t + d, n_states + s]
                if paid >= n_totals:
                    break
                raise_to(value[t, s, paid:], whole[lo + t, d, s], after[t + d + 1, s, : n_totals - paid])
        if t == 0:
            break
        for i in range(n_states):
            for j in range(n_states):
                raise_to(after[t, i], edge[first + (t - 1) * step, i, j], value[t, j])


@kernel()
def best_by_level(whole, edge, step, offsets, cost, top, gain, bonus, base, path, level, worth):
    """Segmentations worth most of every sample, their total cost and their worth (-inf if all are above ``top``)."""
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    # Memory O(n S C) per sample, C = top[s] + 1. Read off from the first row on: ``total`` is what rows t.. cost. Ties
    # go to the lowest first state, then the lowest total, then the shortest segments and the lowest states.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        first = (lo - s) * step
        value = np.full((n, n_states, top[s] + 1), -np.inf)
        after = np.full((n + 1, n_states, top[s] + 1), -np.inf)
        level_suffixes(whole, edge, first, step, lo, hi, cost, value, after)
        state, total, worth[s] = worth_most(value[0], gain, bonus, base[s])
        level[s] = total
        if state < 0:
            continue
        t = 0
        while t < n:
            length, best, left = 0, -np.inf, total
            paid = cost[lo + t, state]
            for d in range(min(n_lengths, n - t)):
                if d > 0:
                    paid += cost[lo + t + d, n_states + state]
                if paid > total:
                    break
                here = whole[lo + t, d, state] + after[t + d + 1, state, total - paid]
                if here > best:
                    length, best, left = d, here, total - paid
            write_segment(path, lo + t, length, state, n_states)
            t += length + 1
            total = left
            if t < n:
                before, state, best = state, 0, -np.inf
                for j in range(n_states):
                    here = edge[first + (t - 1) * step, before, j] + value[t, j, total]
                    if here > best:
                        state, best = j, here
