"""Best labels of chains of second order for every total cost that is a whole number; see ``chain_levels``."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.levels import raise_to, shift_by, worth_most


@kernel()
def level_suffixes(node, edge, first, step, triple, first3, step3, lo, hi, cost, value):
    """``value[t, i * labels + j, c]``: best score of rows t.. with the labels i, j at rows t, t + 1 and the total c.

    A sample of one row has ``value[0, i, c]``.
    """
    n_labels, n, n_totals = node.shape[1], hi - lo, value.shape[2]
    reach = np.empty(n_totals)
    if n == 1:
        for i in range(n_labels):
            if cost[lo, i] < n_totals:
                value[0, i, cost[lo, i]] = node[lo, i]
    # value[t, ij, c + cost[t, i]] = node[t, i] + edge[t, i, j] + max_k (triple[t, i, j, k] + value[t + 1, jk, c]);
    # behind the last pair of rows stands node[n - 1, j] at the total cost[n - 1, j], and -inf at all others.
    # O(n K^3 C) for C totals. ``value`` is -inf at the start; totals of C or more are dropped.
    for t in range(n - 2, -1, -1):
        for i in range(n_labels):
            for j in range(n_labels):
                reach[:] = -np.inf
                if t == n - 2:
                    if cost[hi - 1, j] < n_totals:
                        reach[cost[hi - 1, j]] = node[hi - 1, j]
                else:
                    for k in range(n_labels):
                        raise_to(reach, triple[first3 + t * step3, i, j, k], value[t + 1, j * n_labels + k])
                score = node[lo + t, i] + edge[first + t * step, i, j]
                shift_by(cost[lo + t, i], score, reach, value[t, i * n_labels + j])


@kernel()
def best_by_level(node, edge, step, triple, step3, offsets, cost, top, gain, bonus, base, path, level, worth):
    """Labels worth most of every sample, their total cost and their worth (-inf if all totals are above ``top``)."""
    n_labels = node.shape[1]
    begin3 = 0
    # Allocates O(n K^2 C) per sample, C = top[s] + 1. The path is read off from the first row on: ``total`` is the cost
    # still to be spent on rows t.., and value[t, (left, right), total] is finite, so a follower exists.
    # Ties go to the lowest first pair, then the lowest total, then the lowest followers.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        first3 = begin3 * step3
        begin3 += max(n - 2, 0)
        value = np.full((max(n - 1, 1), n_labels if n == 1 else n_labels * n_labels, top[s] + 1), -np.inf)
        level_suffixes(node, edge, (lo - s) * step, step, triple, first3, step3, lo, hi, cost, value)
        pair, total, worth[s] = worth_most(value[0], gain, bonus, base[s])
        level[s] = total
        if pair < 0:
            continue
        if n == 1:
            path[lo] = pair
            continue
        left, right = pair // n_labels, pair % n_labels
        path[lo], path[lo + 1] = left, right
        for t in range(n - 2):
            total -= cost[lo + t, left]
            follow, best = 0, -np.inf
            for k in range(n_labels):
                here = triple[first3 + t * step3, left, right, k] + value[t + 1, right * n_labels + k, total]
                if here > best:
                    follow, best = k, here
            left, right = right, follow
            path[lo + t + 2] = follow
