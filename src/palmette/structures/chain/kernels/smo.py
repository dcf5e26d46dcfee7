"""Sequential minimal optimisation in the marginals of packed chains: pairs of labelings, one analytic step each.

The dual variables of a sample are the marginals of its labels ``node`` (rows, labels) and label pairs ``pair`` (edges,
labels, labels); edge e of sample s joins its rows ``e + s`` and ``e + s + 1``. The transitions ``w.edge`` stay in
step with their transpose, which the search for the best labeling reads.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import NOTHING, TIE
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette.structures.chain.kernels.frank_wolfe import labeling_score, loss_difference, move_mass
from palmette.structures.chain.kernels.packed import copy, score_rows, workspace
from palmette.structures.chain.kernels.packed_steps import add_cost


@kernel()
def worst_supported(score, edge, width, node, pair, lo, n, e0, ahead, path):
    """The labeling of lowest score among those all of whose parts have a positive marginal, into ``path[lo:lo + n]``.

    Ties go to the lowest labels. ``ahead`` (rows, labels) is room to work in. Returns the score, inf if there is none.
    """
    n_labels = node.shape[1]
    # ahead[t, i] = score[t, i] + min_j {edge[i, j] + ahead[t + 1, j] : node[t + 1, j] > 0 and pair[t, i, j] > 0};
    # inf where label i has no mass. O(n K^2); ``ahead`` is the caller's.
    for t in range(n - 1, -1, -1):
        for i in range(n_labels):
            ahead[t, i] = np.inf
            if node[lo + t, i] <= 0.0:
                continue
            low = 0.0 if t == n - 1 else np.inf
            if t < n - 1:
                for j in range(n_labels):
                    if node[lo + t + 1, j] > 0.0 and pair[e0 + t, i, j] > 0.0:
                        low = min(low, edge[i * width + j] + ahead[t + 1, j])
            ahead[t, i] = score[t * width + i] + low
    label = 0
    for i in range(1, n_labels):
        if ahead[0, i] < ahead[0, label]:
            label = i
    path[lo] = label
    total = ahead[0, label]
    for t in range(n - 1):
        follow, low = 0, np.inf
        for j in range(n_labels):
            if node[lo + t + 1, j] > 0.0 and pair[e0 + t, label, j] > 0.0:
                value = edge[label * width + j] + ahead[t + 1, j]
                if value < low:
                    follow, low = j, value
        label = follow
        path[lo + t + 1] = label
    return total


@kernel()
def smallest_part(node, pair, to, fro, lo, n, e0):
    """The smallest marginal of the parts that ``fro`` has and ``to`` has not."""
    least = np.inf
    # The mass that can move without making a marginal negative: parts that both labelings have do not change.
    for t in range(n):
        a, b = to[lo + t], fro[lo + t]
        if a != b:
            least = min(least, node[lo + t, b])
        if t > 0 and (a != b or to[lo + t - 1] != fro[lo + t - 1]):
            least = min(least, pair[e0 + t - 1, fro[lo + t - 1], b])
    return least


@kernel()
def shift_marginals(node, pair, to, fro, lo, n, e0, step):
    """Move ``step`` from the parts of ``fro`` to those of ``to``; what is left of emptied parts becomes 0."""
    # Keeps the marginals consistent: the pairs of an edge sum to the nodes at its ends, each node sums to 1. The caller
    # moves at most ``smallest_part``, so nothing becomes negative beyond rounding.
    for t in range(n):
        a, b = to[lo + t], fro[lo + t]
        if a != b:
            node[lo + t, a] += step
            rest = node[lo + t, b] - step
            node[lo + t, b] = rest if rest > NOTHING else 0.0
        if t > 0 and (a != b or to[lo + t - 1] != fro[lo + t - 1]):
            pair[e0 + t - 1, to[lo + t - 1], a] += step
            rest = pair[e0 + t - 1, fro[lo + t - 1], b] - step
            pair[e0 + t - 1, fro[lo + t - 1], b] = rest if rest > NOTHING else 0.0


@kernel()
def mean_score(score, edge, width, node, pair, lo, n, e0):
    """Score of a sample's marginals."""
    total = 0.0
    n_labels = node.shape[1]
    # <score, marginals> + <edge, pair marginals>; rows of label i are skipped where it has no mass. O(n K^2).
    for t in range(n):
        for i in range(n_labels):
            if node[lo + t, i] > 0.0:
                total += node[lo + t, i] * score[t * width + i]
                if t < n - 1:
                    for j in range(n_labels):
                        total += pair[e0 + t, i, j] * edge[i * width + j]
    return total


@kernel()
def smo_pass(chains, w, inverse, cost, order, node, pair, loss, gap, g, inner):
    """Visit the samples of ``order`` once each, with at most ``inner`` steps per visit.

    ``cost`` is flat, its rows padded to ``width``; ``inverse`` has 1 / l2, and 0 where there is no weight. ``loss`` and
    ``gap`` (samples,) are the mean loss of each block and what it lacked before its visit.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    work = workspace(chains, w.rows)
    score, keep, rival, edge_t = work.node, work.theta, work.path, work.factor_t
    ahead = np.empty((len(rival), n_labels))
    n_rows = offsets[len(offsets) - 1]
    to, fro = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    transpose(w.edge, n_labels, width, edge_t)
    # A step moves mass from the worst supported labeling to the best one, as far as the line search or the smallest
    # marginal of ``fro`` allows; the dual never falls. gap[s] = weight (max_y - mean) of augmented scores at the start.
    # Invariants: consistent marginals, w = sum_s weight (true - mean counts) / l2, edge_t the transpose of w.edge.
    # O(nnz K + n K^2) per step. ``to`` and ``fro`` are indexed by batch rows, as codes; best_chain overwrites
    # ``score``, hence ``keep``.
    for s in order:
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        e0 = lo - s
        for visit in range(inner):
            score_rows(x, w, base, lo, hi, width, score)
            add_cost(score, cost, codes, lo, n, width)
            copy(score, n * width, keep)
            low = worst_supported(score, w.edge, width, node, pair, lo, n, e0, ahead, fro)
            if visit == 0:
                mean = mean_score(score, w.edge, width, node, pair, lo, n, e0)
            top = best_chain(score, n, n_labels, width, w.edge, edge_t, rival)
            for t in range(n):
                to[lo + t] = rival[t]
            top = labeling_score(keep, w.edge, to, lo, n, width)
            if visit == 0:
                gap[s] = weight[s] * max(top - mean, 0.0)
            if not top - low > TIE * (1.0 + abs(top)):
                break
            limit = smallest_part(node, pair, to, fro, lo, n, e0)
            step = move_mass(
                x, w, inverse, g, edge_t, lo, n, width, weight[s], weight[s] * (top - low), to, fro, limit
            )
            loss[s] += step * loss_difference(cost, codes, to, fro, lo, n, width)
            shift_marginals(node, pair, to, fro, lo, n, e0, step)
