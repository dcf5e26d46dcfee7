"""Stochastic (sub)gradient steps on chains: score one, infer one, update, in one compiled loop.

The penalty of a column is spread over the samples in which it stands, so the sum over samples is exactly the
objective and yet every step touches only the columns of its sample: no lazy bookkeeping is needed.
"""

from __future__ import annotations

import numpy as np

from ramify._kernels.chain_given import path_score
from ramify._kernels.chain_max import best_path
from ramify._kernels.chain_sample import (
    columns_of,
    expand_edges,
    gather_edges,
    scatter_sample,
    score_sample,
    weights_of,
)
from ramify._kernels.chain_sum import (
    exponentiate_edges,
    fits_products,
    marginals_by_logs,
    marginals_by_products,
)
from ramify._kernels.jit import kernel
from ramify._kernels.ragged import longest_sample

LOG, HINGE, PERCEPTRON = 0, 1, 2


@kernel()
def sample_gradient(surrogate, node, table, cost, codes, at, n, work, scale, path, d_node, d_edge):
    """Value of one sample, and its gradient with respect to the potentials (zero if nothing is wrong).

    ``codes[at:at + n]`` are the true labels, ``node[0:n]`` the potentials, ``cost`` the loss table of the hinge.
    """
    n_labels = node.shape[1]
    zero = at - at  # an ordinary integer: a literal 0 would compile every callee once more
    truth = path_score(node, table, zero, zero, zero, n, codes[at : at + n])
    d_edge[:] = 0.0
    if surrogate == LOG:
        factor, shift = np.empty(table.shape), np.empty(len(table))
        edge_spread, edge_forbidden = exponentiate_edges(table, factor, shift)
        if fits_products(node, zero, n, edge_spread, edge_forbidden):
            value = marginals_by_products(
                node, factor, shift, zero, zero, zero, n, 1.0, work, scale, d_node, d_edge
            )
            for e in range(len(table)):
                for i in range(n_labels):
                    for j in range(n_labels):
                        d_edge[e, i, j] *= factor[e, i, j]
        else:
            value = marginals_by_logs(node, table, zero, zero, zero, n, 1.0, work, d_node, d_edge)
    else:
        if surrogate == HINGE:
            for t in range(n):
                for k in range(n_labels):
                    node[t, k] += cost[codes[at + t], k]
        value = best_path(node, table, zero, zero, zero, n, work[0], path)
        d_node[:n] = 0.0
        for t in range(n):
            d_node[t, path[t]] += 1.0
            if t > 0:
                d_edge[0, path[t - 1], path[t]] += 1.0
    for t in range(n):
        d_node[t, codes[at + t]] -= 1.0
        if t > 0:
            d_edge[0, codes[at + t - 1], codes[at + t]] -= 1.0
    return value - truth


@kernel()
def not_zero(table, n):
    """Whether any of the first n rows has an entry other than zero."""
    for t in range(n):
        for k in range(table.shape[1]):
            if table[t, k] != 0.0:
                return True
    return False


@kernel()
def scale_by(factor, table, n):
    """Multiply the first n rows."""
    if factor != 1.0:
        for t in range(n):
            for k in range(table.shape[1]):
                table[t, k] *= factor


@kernel()
def update_range(start, stop, g, w, squares, drift, touch_count, l2, l1, rate, adaptive, age):
    """One (proximal) step on the weights start:stop; clears their gradient.

    ``drift`` gathers ``age * change``, from which the average over steps follows without touching other weights.
    """
    for q in range(start, stop):
        share = 1.0 / touch_count[q]
        step = g[q] + share * l2[q] * w[q]
        g[q] = 0.0
        pace = rate
        if adaptive:
            squares[q] += step * step
            if squares[q] == 0.0:
                continue
            pace = rate / np.sqrt(squares[q])
        fresh = w[q] - pace * step
        if l1[q] > 0.0:
            cut = pace * share * l1[q]
            fresh = max(fresh - cut, 0.0) if fresh > 0.0 else min(fresh + cut, 0.0)
        drift[q] += age * (fresh - w[q])
        w[q] = fresh


@kernel()
def stochastic_pass(
    surrogate, dense, indptr, indices, values, ptr, label, pairs, bias_at, edge_at, offsets, codes, weight, cost,
    n_columns, order, w, squares, drift, touch_count, l2, l1, rate, decay, adaptive, n_steps, age,
):  # fmt: skip
    """Visit the samples of ``order`` once each; returns the sum of their values before each step, and how many of
    them called for an update.

    The rate at step s is ``rate / (1 + decay s)``, divided by the root of summed squares if ``adaptive``.
    """
    n_labels = cost.shape[0]
    longest = longest_sample(offsets)
    node, d_node = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    work, scale = np.empty((4, longest, n_labels)), np.empty(longest)
    n_tables = 1 if len(pairs) > 0 else 0
    table, d_edge = np.zeros((n_tables, n_labels, n_labels)), np.empty((n_tables, n_labels, n_labels))
    path = np.empty(longest, np.int32)
    mark, columns = np.full(n_columns, -1, np.int64), np.empty(n_columns, np.int64)
    g = np.zeros(len(w))
    total, n_updates = 0.0, 0
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_sample(dense, indptr, indices, values, ptr, label, w, bias_at, edge_at, lo, hi, node)
        expand_edges(w, edge_at, pairs, table)
        value = sample_gradient(surrogate, node, table, cost, codes, lo, n, work, scale, path, d_node, d_edge)
        total += weight[s] * value
        n_updates += not_zero(d_node, n)
        scale_by(weight[s], d_node, n)
        for e in range(n_tables):
            scale_by(weight[s], d_edge[e], n_labels)
        scatter_sample(dense, indptr, indices, values, ptr, label, bias_at, edge_at, lo, hi, d_node, g)
        gather_edges(d_edge, edge_at, pairs, g)
        pace = rate / (1.0 + decay * (n_steps + turn))
        for c in range(columns_of(dense, indptr, indices, lo, hi, turn, mark, columns)):
            start, stop = weights_of(columns[c], ptr, n_labels)
            update_range(start, stop, g, w, squares, drift, touch_count, l2, l1, pace, adaptive, age + turn)
        update_range(bias_at, len(w), g, w, squares, drift, touch_count, l2, l1, pace, adaptive, age + turn)
    return total, n_updates
