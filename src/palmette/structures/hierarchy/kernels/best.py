"""Best outputs: one, the k best, and the best with each node. Recurrences over walks (``steps``)."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.hierarchy.kernels.steps import best_ahead, weigh_steps


@kernel()
def best_outputs(score, may, known, node, go, stop, dead, codes, values):
    """The best output of every sample; of equally good ones that with the lowest codes. ``codes`` are 0 at first."""
    # The maxima ahead by ``best_ahead``, then a walk along them that leaves a node where both steps are as good: the
    # first node at which two outputs differ is then left. O(states) per sample.
    layers = 2 if len(known) else 1
    gain, flag = np.empty((len(node), 2)), np.zeros((len(node), 2), np.int64)
    value = np.empty((len(node) + 1, layers))
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        best_ahead(gain, flag, go, value)
        values[r] = value[0, 0]
        if not values[r] > -np.inf:
            continue
        s, f = 0, 0
        while s < len(node):
            ahead = gain[s, 0] + value[go[s, 0], f | flag[s, 0]]
            b = 0 if ahead == value[s, f] else 1
            codes[r, node[s]] = b
            s, f = go[s, b], f | flag[s, b]


@kernel()
def node_maxima(score, may, known, node, go, stop, dead, out):
    """``out[r, v, b]``: the best value of an output of sample r with the code b at node v; ``out`` is -inf at first."""
    # behind[s, f] = best sum of the steps from the start to s; with the step b at s the best is
    # behind[s, f] + gain[s, b] + value[go[s, b], .], which holds for all nodes that the step leaves, too.
    layers = 2 if len(known) else 1
    n = len(node)
    gain, flag = np.empty((n, 2)), np.zeros((n, 2), np.int64)
    value, behind = np.empty((n + 1, layers)), np.empty((n + 1, layers))
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        best_ahead(gain, flag, go, value)
        behind[:] = -np.inf
        behind[0, 0] = 0.0
        for s in range(n):
            for f in range(layers):
                for b in range(2):
                    t, g = go[s, b], f | flag[s, b]
                    to = behind[s, f] + gain[s, b]
                    behind[t, g] = max(behind[t, g], to)
                    best = to + value[t, g]
                    if b == 1:
                        out[r, node[s], 1] = max(out[r, node[s], 1], best)
                    for v in range(node[s] + b, stop[s, b]):
                        out[r, v, 0] = max(out[r, v, 0], best)


@kernel()
def k_best_outputs(score, may, known, node, go, stop, dead, codes, values):
    """The k best outputs of every sample, best first: ``codes`` (k, samples, nodes), 0 at first, ``values``
    (samples, k), -inf for those that do not exist.
    """
    # ahead[s, f, j] = j-th best sum from s to the end: the two sorted lists of its steps merged, of equal sums those
    # that leave the node first. step and rank say where each came from. O(k states) per sample.
    k = values.shape[1]
    layers = 2 if len(known) else 1
    n = len(node)
    gain, flag = np.empty((n, 2)), np.zeros((n, 2), np.int64)
    ahead = np.empty((n + 1, layers, k))
    step, rank = np.empty((n, layers, k), np.int8), np.empty((n, layers, k), np.int64)
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        ahead[n] = -np.inf
        ahead[n, layers - 1, 0] = 0.0
        for s in range(n - 1, -1, -1):
            for f in range(layers):
                i = j = 0
                for q in range(k):
                    left = gain[s, 0] + ahead[go[s, 0], f | flag[s, 0], i] if i < k else -np.inf
                    taken = gain[s, 1] + ahead[go[s, 1], f | flag[s, 1], j] if j < k else -np.inf
                    if left >= taken:
                        ahead[s, f, q], step[s, f, q], rank[s, f, q] = left, 0, i
                        i += 1
                    else:
                        ahead[s, f, q], step[s, f, q], rank[s, f, q] = taken, 1, j
                        j += 1
        for q in range(k):
            values[r, q] = ahead[0, 0, q]
            if not values[r, q] > -np.inf:
                continue
            s, f, at = 0, 0, q
            while s < n:
                b = step[s, f, at]
                codes[q, r, node[s]] = b
                at, f, s = rank[s, f, at], f | flag[s, b], go[s, b]
