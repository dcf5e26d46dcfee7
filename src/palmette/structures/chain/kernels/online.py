"""Mistake-driven learners on chains: predict a sample and, if it is wrong, move the weights, in one compiled loop.

``rule`` says how far: see ``palmette._kernels.online_step``. Inputs and weights as in ``chain_sample``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import AROW, PERCEPTRON
from palmette._kernels.jit import kernel
from palmette._kernels.online_step import step_size
from palmette._kernels.ragged import longest_sample
from palmette._kernels.sample_scores import expand_edges, score_sample, weights_of
from palmette.structures.chain.kernels.given import path_score
from palmette.structures.chain.kernels.max import best_path


@kernel()
def add_entry(q, v, stamp, mark, active, n_active, delta):
    """Add v to ``delta[q]`` and list q among the active entries of this stamp; their number."""
    if mark[q] != stamp:
        mark[q] = stamp
        delta[q] = 0.0
        active[n_active] = q
        n_active += 1
    delta[q] += v
    return n_active


@kernel()
def add_column(a, v, ptr, label, n_labels, right, wrong, stamp, mark, active, n_active, delta):
    """One feature of a row: +v for its weight with the right label, -v with the wrong one, where these exist."""
    start, stop = weights_of(a, ptr, n_labels)
    if len(ptr) == 0:
        n_active = add_entry(start + right, v, stamp, mark, active, n_active, delta)
        return add_entry(start + wrong, -v, stamp, mark, active, n_active, delta)
    for q in range(start, stop):
        if label[q] == right:
            n_active = add_entry(q, v, stamp, mark, active, n_active, delta)
        elif label[q] == wrong:
            n_active = add_entry(q, -v, stamp, mark, active, n_active, delta)
    return n_active


@kernel()
def count_difference(
    dense, indptr, indices, values, ptr, label, bias_at, edge_at, pair_at, n_labels, lo, hi, codes, path, stamp, mark,
    active, delta,
):  # fmt: skip
    """True minus predicted feature counts of one sample in ``delta``; returns how many entries are ``active``."""
    n = 0
    ones = len(values) == 0
    # delta = counts(true) - counts(predicted); rows and pairs on which both agree are skipped. Entries are valid where
    # mark equals the stamp, so nothing is cleared between samples. Columns without a weight for a label are left out.
    for t in range(lo, hi):
        right, wrong = codes[t], path[t - lo]
        if right != wrong:
            if len(dense) > 0:
                for a in range(dense.shape[1]):
                    if dense[t, a] != 0.0:
                        n = add_column(
                            a, dense[t, a], ptr, label, n_labels, right, wrong, stamp, mark, active, n, delta
                        )
            else:
                for p in range(indptr[t], indptr[t + 1]):
                    v = 1.0 if ones else values[p]
                    n = add_column(
                        indices[p], v, ptr, label, n_labels, right, wrong, stamp, mark, active, n, delta
                    )
            if edge_at > bias_at:
                n = add_entry(bias_at + right, 1.0, stamp, mark, active, n, delta)
                n = add_entry(bias_at + wrong, -1.0, stamp, mark, active, n, delta)
        if t > lo and (right != wrong or codes[t - 1] != path[t - 1 - lo]):
            q = pair_at[codes[t - 1] * n_labels + right]
            if q >= 0:
                n = add_entry(q, 1.0, stamp, mark, active, n, delta)
            q = pair_at[path[t - 1 - lo] * n_labels + wrong]
            if q >= 0:
                n = add_entry(q, -1.0, stamp, mark, active, n, delta)
    return n


@kernel()
def online_pass(
    rule, strength, root_cost, dense, indptr, indices, values, ptr, label, pairs, bias_at, edge_at, offsets, codes,
    weight, n_labels, order, w, drift, variance, age,
):  # fmt: skip
    """Visit the samples of ``order`` once each; returns the sum of their losses and the number of wrong ones.

    ``drift`` gathers ``age * change``, and ``age`` grows by one with each sample. ``variance`` scales the steps of
    AROW, which shrinks it; the others leave it alone. The loss of a sample is zero where the prediction is right, else
    the share of wrong labels (perceptron) or the margin missed.
    """
    longest = longest_sample(offsets)
    node, value = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    table = np.zeros((1, n_labels, n_labels))
    path = np.empty(longest, np.int32)
    delta, mark, active = np.zeros(len(w)), np.full(len(w), -1, np.int64), np.empty(len(w), np.int64)
    pair_at = np.full(n_labels * n_labels, -1, np.int64)
    for p in range(len(pairs)):
        pair_at[pairs[p]] = edge_at + p
    zero = edge_at - edge_at  # an ordinary integer: a literal 0 would compile every callee once more
    expand_edges(w, edge_at, pairs, table)
    total, n_wrong = 0.0, 0
    # w += step delta (AROW: step Sigma delta, Sigma diagonal), only after a mistake; ``table`` repeats the edge
    # weights. drift += (age + turn) change, so that the average of the weights over the steps is w - drift / age at the
    # end. O(nnz K + n K^2) per sample; O(len(w) + longest K + K^2) memory.
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_sample(dense, indptr, indices, values, ptr, label, w, bias_at, edge_at, lo, hi, node)
        best = best_path(node, table, zero, zero, zero, n, value, path)
        n_errors = 0
        for t in range(n):
            n_errors += path[t] != codes[lo + t]
        if n_errors == 0 or weight[s] == 0.0:
            continue
        n_wrong += 1
        if rule == PERCEPTRON:
            cost = n_errors / n
        else:
            margin = 1.0
            if rule == AROW:
                margin = n_errors * 1.0
            elif root_cost:
                margin = np.sqrt(n_errors)
            cost = best - path_score(node, table, zero, zero, zero, n, codes[lo:hi]) + margin
        total += weight[s] * cost
        n_active = count_difference(
            dense, indptr, indices, values, ptr, label, bias_at, edge_at, pair_at, n_labels, lo, hi, codes, path, turn,
            mark, active, delta,
        )  # fmt: skip
        norm = 0.0
        for k in range(n_active):
            q = active[k]
            norm += delta[q] * delta[q] * variance[q] if rule == AROW else delta[q] * delta[q]
        if norm == 0.0:
            continue  # no weight tells the two labelings apart
        own = strength / weight[s] if rule == AROW else strength * weight[s]
        pace = step_size(rule, cost, norm, own)
        for k in range(n_active):
            q = active[k]
            change = pace * delta[q]
            if rule == AROW:
                change *= variance[q]
                variance[q] /= 1.0 + variance[q] * delta[q] * delta[q] / own
            w[q] += change
            drift[q] += (age + turn) * change
        expand_edges(w, edge_at, pairs, table)
    return total, n_wrong
