"""Block-coordinate pairwise Frank-Wolfe for the hinge on chains.

The dual block of a sample is a distribution over labelings, kept as a short list of active labelings and their
weights. A visit adds the augmented best labeling and moves weight from the worst active labeling to the best one
by an exact line search; the two differ in few positions, so a step touches few weights.
"""

from __future__ import annotations

import numpy as np

from ramify._kernels.chain_max import best_path
from ramify._kernels.chain_sample import (
    columns_of,
    expand_edges,
    gather_edges,
    scatter_sample,
    score_sample,
    weights_of,
)
from ramify._kernels.jit import kernel
from ramify._kernels.ragged import longest_sample

FREE = -1.0  # mass of an unused place in the list of active labelings
TIE = 1e-10  # an exact step makes two labelings equally good; rounding must not choose between them


@kernel()
def augmented_score(node, table, cost, codes, at, n, path, row, p0):
    """``f(path) + loss`` and the loss, of the labeling in ``path[row, p0:p0 + n]``."""
    total, loss = 0.0, 0.0
    for t in range(n):
        k = path[row, p0 + t]
        loss += cost[codes[at + t], k]
        total += node[t, k]
        if t > 0:
            total += table[0, path[row, p0 + t - 1], k]
    return total + loss, loss


@kernel()
def frank_wolfe_pass(
    dense, indptr, indices, values, ptr, label, pairs, bias_at, edge_at, offsets, codes, weight, cost, order,
    n_columns, w, l2, path, mass, loss, inner,
):  # fmt: skip
    """Visit the samples of ``order`` once each; returns the sum of their gaps when visited, and how often no
    place was free for a new labeling.

    ``path`` (places, rows) and ``mass`` (samples, places) are the active labelings and their weights, ``loss``
    (samples,) the mean loss of each block. ``inner`` pairwise steps are taken in each visit at most.
    """
    n_labels = cost.shape[0]
    n_places = len(path)
    longest = longest_sample(offsets)
    node, augmented = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    suffix, d_node = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    n_tables = 1 if len(pairs) > 0 else 0
    table, d_edge = np.zeros((n_tables, n_labels, n_labels)), np.empty((n_tables, n_labels, n_labels))
    rival = np.empty(longest, np.int32)
    mark, columns = np.full(n_columns, -1, np.int64), np.empty(n_columns, np.int64)
    g = np.zeros(len(w))
    gaps, crowded = 0.0, 0
    stamp = 0
    for s in order:
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        zero = lo - lo  # an ordinary integer: a literal 0 would compile the callee once more
        for visit in range(inner):
            score_sample(dense, indptr, indices, values, ptr, label, w, bias_at, edge_at, lo, hi, node)
            expand_edges(w, edge_at, pairs, table)
            # the best and the worst active labeling, and the mean value of the block
            best, worst, free, mean = -1, -1, -1, 0.0
            best_value, worst_value, best_loss, worst_loss = -np.inf, np.inf, 0.0, 0.0
            for m in range(n_places):
                if mass[s, m] == FREE:
                    free = m if free < 0 else free
                    continue
                value, lost = augmented_score(node, table, cost, codes, lo, n, path, m, lo)
                mean += mass[s, m] * value
                tie = TIE * (1.0 + abs(value))
                if value > best_value + tie:
                    best, best_value, best_loss = m, value, lost
                if value < worst_value - tie:
                    worst, worst_value, worst_loss = m, value, lost
            if visit == 0:
                for t in range(n):
                    for k in range(n_labels):
                        augmented[t, k] = node[t, k] + cost[codes[lo + t], k]
                value = best_path(augmented, table, zero, zero, zero, n, suffix, rival)
                gaps += weight[s] * max(value - mean, 0.0)
                if value > best_value + TIE * (1.0 + abs(value)):
                    if free >= 0:
                        mass[s, free] = 0.0
                        best, best_value = free, value
                        best_loss = 0.0
                        for t in range(n):
                            path[free, lo + t] = rival[t]
                            best_loss += cost[codes[lo + t], rival[t]]
                    else:
                        crowded += 1
            rise = weight[s] * (best_value - worst_value)
            if best == worst or rise <= weight[s] * TIE * (1.0 + abs(best_value)):
                break
            # direction: counts of best minus counts of worst
            d_node[:n] = 0.0
            d_edge[:] = 0.0
            for t in range(n):
                d_node[t, path[best, lo + t]] += weight[s]
                d_node[t, path[worst, lo + t]] -= weight[s]
                if t > 0:
                    d_edge[0, path[best, lo + t - 1], path[best, lo + t]] += weight[s]
                    d_edge[0, path[worst, lo + t - 1], path[worst, lo + t]] -= weight[s]
            scatter_sample(dense, indptr, indices, values, ptr, label, bias_at, edge_at, lo, hi, d_node, g)
            gather_edges(d_edge, edge_at, pairs, g)
            n_touched = columns_of(dense, indptr, indices, lo, hi, stamp, mark, columns)
            stamp += 1
            curvature = 0.0
            for c in range(n_touched):
                start, stop = weights_of(columns[c], ptr, n_labels)
                for q in range(start, stop):
                    curvature += g[q] * g[q] / l2[q]
            for q in range(bias_at, len(w)):
                curvature += g[q] * g[q] / l2[q]
            step = mass[s, worst]
            if curvature > 0.0:
                step = min(step, rise / curvature)
            for c in range(n_touched):
                start, stop = weights_of(columns[c], ptr, n_labels)
                for q in range(start, stop):
                    w[q] -= step * g[q] / l2[q]
                    g[q] = 0.0
            for q in range(bias_at, len(w)):
                w[q] -= step * g[q] / l2[q]
                g[q] = 0.0
            mass[s, best] += step
            mass[s, worst] = FREE if step >= mass[s, worst] else mass[s, worst] - step
            loss[s] += step * (best_loss - worst_loss)
        for m in range(n_places):
            if mass[s, m] == 0.0:
                mass[s, m] = FREE
    return gaps, crowded
