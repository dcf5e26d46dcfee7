"""Best labels of chains for every total cost that is a whole number, and the one that is worth most.

Tables as in ``chain_max``. ``cost`` (rows, labels) are whole numbers of at least 0. The worth of labels with the score
f and the total cost c is ``gain[c] * (f - base) + bonus[c]``; totals above ``top`` are left out. The inner loops run
over totals, which lie side by side.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.levels import raise_to, shift_by, worth_most


@kernel()
def best_by_level(node, edge, step, offsets, cost, top, gain, bonus, base, path, level, worth):
    """Labels worth most of every sample, their total cost and their worth (-inf if all totals are above ``top``)."""
    n_labels = node.shape[1]
    # value[t, i, c + cost[t, i]] = node[t, i] + max_j (edge[t, i, j] + value[t + 1, j, c]); -inf where rows t.. cannot
    # have the total. O(n K^2 C) per sample and O(n K C) memory, C = top[s] + 1 totals.
    # Reading off: value[t, label, total] is finite and ``total`` is what rows t.. cost. Ties go to the lowest first
    # label, then the lowest total, then the lowest followers.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        first = (lo - s) * step
        n_totals = top[s] + 1
        value = np.full((n, n_labels, n_totals), -np.inf)
        reach = np.empty(n_totals)
        for i in range(n_labels):
            if cost[hi - 1, i] < n_totals:
                value[n - 1, i, cost[hi - 1, i]] = node[hi - 1, i]
        for t in range(n - 2, -1, -1):
            for i in range(n_labels):
                reach[:] = -np.inf
                for j in range(n_labels):
                    raise_to(reach, edge[first + t * step, i, j], value[t + 1, j])
                shift_by(cost[lo + t, i], node[lo + t, i], reach, value[t, i])
        label, total, worth[s] = worth_most(value[0], gain, bonus, base[s])
        level[s] = total
        if label < 0:
            continue
        path[lo] = label
        for t in range(n - 1):
            total -= cost[lo + t, label]
            follow = 0
            for j in range(1, n_labels):
                here = edge[first + t * step, label, j] + value[t + 1, j, total]
                if here > edge[first + t * step, label, follow] + value[t + 1, follow, total]:
                    follow = j
            label = follow
            path[lo + t + 1] = label
