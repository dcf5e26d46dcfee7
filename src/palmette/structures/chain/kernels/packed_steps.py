"""Stochastic (sub)gradient steps on packed chains: score a sample, infer, update, in one compiled loop.

The penalty of a weight is spread over the samples that touch it, so the sum over samples is exactly the
objective and yet a step touches only the columns of its sample: no lazy bookkeeping is needed.
A sample is any run of rows, so the pieces of a decomposition are samples too.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import add_pairs, best_chain, exponentiate_edges, scale_row, sum_chain, transpose
from palmette._kernels.logs import log_sum_exp
from palmette.structures.chain.kernels.packed import (
    add_labels,
    copy,
    fetch_columns,
    fill,
    gather_gradient,
    multiply,
    number_distinct,
    score_rows,
    true_score,
    workspace,
)
from palmette.structures.chain.kernels.packed_tables import (
    best_in_tables,
    scatter_edges,
    score_edges,
    sum_in_tables,
    sum_tables,
)

LOG, HINGE, PERCEPTRON = 0, 1, 2


@kernel()
def count_touches(x, offsets, rows, singles, edge_columns):
    """Number of samples in which each multi, single and edge column stands."""
    row_mark, single_mark = np.full(len(rows), -1), np.full(len(singles), -1)
    edge_mark = np.full(len(edge_columns), -1)
    # Each column counts once per sample: marks hold the last sample that it was seen in. O(occurrences + columns).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        for p in range(x.multi_at[lo], x.multi_at[hi]):
            if row_mark[x.multi[p]] != s:
                row_mark[x.multi[p]] = s
                rows[x.multi[p]] += 1.0
        for p in range(x.single_at[lo], x.single_at[hi]):
            if single_mark[x.single[p]] != s:
                single_mark[x.single[p]] = s
                singles[x.single[p]] += 1.0
        if len(edge_columns) > 0:
            for p in range(x.edge_at[lo], x.edge_at[hi]):
                if edge_mark[x.edge_column[p]] != s:
                    edge_mark[x.edge_column[p]] = s
                    edge_columns[x.edge_column[p]] += 1.0


@kernel()
def sum_in_logs(node, n, n_labels, width, edge, step, pairs, weight):
    """Log-partition, marginals in place of ``node`` and expected pairs, in log space: slow, and never out of range.

    The table of the edge into t stands at ``t * step``, and so do its expected pairs; with ``step = 0``
    they are added up, times ``weight``.
    """
    forward, backward = np.empty((n, n_labels)), np.zeros((n, n_labels))
    terms = np.empty(n_labels)
    # forward[t, j] = node[t, j] + log sum_i exp(forward[t - 1, i] + edge[i, j]);
    # backward[t, i] = log sum_j exp(edge[i, j] + node[t + 1, j] + backward[t + 1, j]), 0 at the last position;
    # marginals are exp(forward + backward - log Z). O(n K^2) exponentials in double precision, O(n K) memory.
    # ``pairs`` may be ``edge`` itself (step > 0): each entry is read before it is written.
    for t in range(n):
        for j in range(n_labels):
            value = 0.0
            if t > 0:
                for i in range(n_labels):
                    terms[i] = forward[t - 1, i] + edge[t * step + i * width + j]
                value += log_sum_exp(terms)
            forward[t, j] = value + node[t * width + j]
    for t in range(n - 2, -1, -1):
        for i in range(n_labels):
            for j in range(n_labels):
                terms[j] = (
                    edge[(t + 1) * step + i * width + j] + node[(t + 1) * width + j] + backward[t + 1, j]
                )
            backward[t, i] = log_sum_exp(terms)
    log_z = log_sum_exp(forward[n - 1])
    for t in range(1, n):
        for i in range(n_labels):
            for j in range(n_labels):
                at = t * step + i * width + j
                value = np.exp(forward[t - 1, i] + edge[at] + node[t * width + j] + backward[t, j] - log_z)
                pairs[at] = weight * value + pairs[at] if step == 0 else value
    for t in range(n):
        for j in range(n_labels):
            node[t * width + j] = np.exp(forward[t, j] + backward[t, j] - log_z)
    return log_z


@kernel()
def table_gradient(surrogate, chains, w, cost, lo, n, work, tables, counts, weight):
    """As ``loss_gradient`` for chains with edge features; ``tables`` gets the gradient of each edge."""
    x, _, _, codes, _, n_labels, width = chains
    node, size = work.node, n_labels * width
    score_edges(x, w, lo, n, n_labels, width, tables)
    truth = true_score(node, tables, size, codes, lo, n, width)
    # As ``loss_gradient``. ``sum_in_tables`` leaves marginals in place of scores, so for log space (NaN) node and
    # tables are set up again. The gradient of an edge stays in its table; ``counts`` gets the sum, for transitions.
    if surrogate == LOG:
        copy(node, n * width, work.theta)
        value = sum_in_tables(node, n, n_labels, width, tables, work.alpha, work.pull)
        if np.isnan(value):
            copy(work.theta, n * width, node)
            score_edges(x, w, lo, n, n_labels, width, tables)
            value = sum_in_logs(node, n, n_labels, width, tables, size, tables, 1.0)
    else:
        if surrogate == HINGE:
            add_cost(node, cost, codes, lo, n, width)
        value = 0.0 + best_in_tables(node, n, n_labels, width, tables, work.path)
        fill(node, n * width, 0.0)
        fill(tables, n * size, 0.0)
        add_labels(node, tables, size, work.path, 0, n, width, 1.0, 1.0)
    add_labels(node, tables, size, codes, lo, n, width, -1.0, 1.0)
    sum_tables(tables, n, n_labels, width, weight, counts)
    return value - truth


@kernel()
def add_cost(node, cost, codes, lo, n, width):
    """Add to every row of scores what the labels cost where ``codes`` are true."""
    for t in range(n):
        at, true = t * width, codes[lo + t] * width
        for c in range(0, width, LANES):
            simd.store(node, at + c, simd.add(simd.load(node, at + c), simd.load(cost, true + c)))


@kernel()
def prepare_edges(surrogate, edge, n_labels, width, work):
    """Make ``factor`` and ``factor_t`` of transitions, exponentiated (log loss) or as they are, transposed.

    Returns the largest score of a pair, which exponentiated ones are relative to. Holds until transitions change.
    """
    shift = 0.0
    if surrogate == LOG:
        shift += exponentiate_edges(edge, n_labels, width, work.factor, work.factor_t)
    else:
        transpose(edge, n_labels, width, work.factor_t)
    return shift


@kernel()
def gathered_pairs(surrogate, work, counts, size):
    """The gradient by transitions of all samples since the last call, in ``work.pairs``; ``counts`` becomes 0."""
    pairs = work.pairs
    # ``pairs`` has sums of alpha x pull of samples that had the same transitions, so that one product with their
    # exponentials makes expected pairs of all of them. It is 0 under other losses.
    if surrogate == LOG:
        multiply(pairs, size, work.factor)
    for c in range(0, size, LANES):
        simd.store(pairs, c, simd.add(simd.load(pairs, c), simd.load(counts, c)))
    fill(counts, size, 0.0)


@kernel(inline=True)
def loss_gradient(
    surrogate, codes, n_labels, width, edge, cost, lo, n, node, theta, alpha, pull, path, pairs, factor, factor_t,
    shift, counts, weight,
):  # fmt: skip
    """Value of one sample; its gradient with respect to the scores ``node``, in their place.

    That by transitions is multiplied by ``weight`` and added to ``pairs`` and ``counts``, for ``gathered_pairs``.
    ``prepare_edges`` has returned ``shift`` for these transitions. The arrays of ``Work`` are given one by one: taken
    out of it here, the users of each would be counted up and down for every sample.
    """
    shared = 0 * width
    truth = true_score(node, edge, shared, codes, lo, n, width)
    # LOG: log Z - f(true) with the gradient marginals - truth, in log space where products leave their range (NaN).
    # HINGE: max_y [f + cost] - f(true), PERCEPTRON: the same without cost; gradient = maximiser - truth. O(n K width).
    if surrogate == LOG:
        copy(node, n * width, theta)
        value = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull) + (n - 1) * shift
        if np.isnan(value):
            copy(theta, n * width, node)
            value = sum_in_logs(node, n, n_labels, width, edge, shared, counts, weight)
        else:
            add_pairs(alpha, pull, n, n_labels, width, weight, pairs)
    else:
        if surrogate == HINGE:
            add_cost(node, cost, codes, lo, n, width)
        value = best_chain(node, n, n_labels, width, edge, factor_t, path)
        fill(node, n * width, 0.0)
        add_labels(node, counts, shared, path, 0, n, width, 1.0, weight)
    add_labels(node, counts, shared, codes, lo, n, width, -1.0, weight)
    return value - truth


@kernel(inline=True)
def update_rows(w, squares, drift, l2, l1, places, n, g, mask, width, rate, adaptive, age, n_samples):
    """One (proximal) step on the rows ``places[0:n]``, whose gradients stand in ``g``; ``l2`` and ``l1`` have one
    number per row, for each of ``n_samples`` samples that the gradients come from.

    ``drift`` gathers ``age * change``, from which the average over steps follows without touching other weights.
    """
    chunks = width // LANES
    zero, pace, older = simd.splat(w, 0.0), simd.splat(w, rate), simd.splat(w, age)
    # w <- soft(w - eta (g + l2 w), eta l1), eta = rate or rate / sqrt(sum of squared steps) per weight. Lanes without a
    # weight (mask bit 0) have step 0 and stay as they are. O(n width).
    for j in range(n):
        row = places[j]
        decay, cut = simd.splat(w, n_samples * l2[row]), simd.splat(w, n_samples * l1[row])
        for c in range(chunks):
            at = row * width + c * LANES
            old = simd.load(w, at)
            step = simd.fma(decay, old, simd.load(g, j * width + c * LANES))
            step = simd.where_bits(mask[row * chunks + c], step)
            by = pace
            if adaptive:
                square = simd.fma(step, step, simd.load(squares, at))
                simd.store(squares, at, square)
                by = simd.where_positive(square, simd.divide(pace, simd.sqrt(square)))
            fresh = simd.sub(old, simd.mul(by, step))
            if l1[row] > 0.0:
                threshold = simd.mul(by, cut)
                fresh = simd.add(
                    simd.larger(simd.sub(fresh, threshold), zero),
                    simd.smaller(simd.add(fresh, threshold), zero),
                )
            simd.store(drift, at, simd.fma(older, simd.sub(fresh, old), simd.load(drift, at)))
            simd.store(w, at, fresh)


@kernel(inline=True)
def update_single(q, g, w, squares, drift, l2, l1, rate, adaptive, age):
    """The same step on one weight."""
    step = g + l2[q] * w[q]
    pace = rate
    if adaptive:
        squares[q] += step * step
        pace = 0.0 * rate if squares[q] == 0.0 else rate / np.sqrt(squares[q])
    fresh = w[q] - pace * step
    if l1[q] > 0.0:
        cut = pace * l1[q]
        fresh = max(fresh - cut, 0.0) if fresh > 0.0 else min(fresh + cut, 0.0)
    drift[q] += age * (fresh - w[q])
    w[q] = fresh


@kernel()
def stochastic_pass(
    surrogate, chains, w, squares, drift, l2, l1, mask, edge_mask, cost, order, rate, decay, adaptive, n_steps,
    age, edge_features, settled, most_edges,
):  # fmt: skip
    """Visit the samples of ``order`` once each; returns the sum of their values before each step, and how many of
    them called for an update.

    ``l2`` and ``l1`` are the strengths divided by the number of samples that touch a weight, one number for each row,
    single weight and row of transitions. The rate at step s is ``rate / (1 + decay s)``, divided by the root of summed
    squares if ``adaptive``. ``edge_features`` is True or None, for which their code is not even compiled. Transitions
    take a step after the samples that are ``settled``, when ``most_edges`` have come since their last one, and at the
    end.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    work, dtype = workspace(chains, w.rows), w.rows.dtype
    node, theta, alpha, pull, path, pairs, factor, factor_t = work
    edge = w.edge
    most = 0
    for s in range(len(offsets) - 1):
        most = max(most, x.multi_at[offsets[s + 1]] - x.multi_at[offsets[s]])
    edge_size = n_labels * width
    g, g_single = np.empty(most * width, dtype), np.zeros(len(w.singles))
    mark = np.full(len(w.rows) // width, -1)
    distinct, local = np.empty(most, np.int32), np.empty(most, np.int32)
    all_labels = np.arange(n_labels).astype(np.int32)
    has_edges = len(edge_mask) > 0
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    if edge_features is not None:
        tables = np.empty(len(work.path) * edge_size, dtype)
        g_edge, edge_mark = np.zeros(len(w.edge_features)), np.full(len(x.edge_ptr), -1)
    counts = np.zeros(edge_size, dtype)
    total, n_updates, seen = 0.0, 0, 0
    shift, n_edges, n_gathered = 0.0, 0, 0
    # Each column of the sample is updated once, with the gradient summed over its occurrences and its share of the
    # penalty; transitions are touched by every sample. Their gradient is the sum over the n_gathered samples since
    # their last step; until the next, their exponentials hold. drift += (age + turn) change gives the average.
    # O(nnz width + n K width) per sample; memory O((longest + width + most) width), most = multi columns of a sample;
    # with edge features O(longest K width). Marks by ``seen`` and ``turn`` need no clearing.
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        if turn + 1 < len(order):
            following = order[turn + 1]
            start, stop = offsets[following], offsets[following + 1]
            fetch_columns(x, w, start, stop, width)
            fetch_columns(x, squares, start, stop, width)
            fetch_columns(x, drift, start, stop, width)
        score_rows(x, w, base, lo, hi, width, node)
        if edge_features is not None:
            value = table_gradient(surrogate, chains, w, cost, lo, n, work, tables, counts, weight[s])
        else:
            if n_gathered == 0:
                shift = prepare_edges(surrogate, w.edge, n_labels, width, work)
            value = loss_gradient(
                surrogate, codes, n_labels, width, edge, cost, lo, n, node, theta, alpha, pull, path, pairs, factor,
                factor_t, shift, counts, weight[s],
            )  # fmt: skip
        total += weight[s] * value
        changed = False
        for c in range(n * width):
            if node[c] != 0.0:
                changed = True
                break
        n_updates += changed
        if weight[s] != 1.0:
            scale_row(node, 0, weight[s], n * width)
            if edge_features is not None:
                scale_row(tables, edge_size, weight[s], (n - 1) * edge_size)
        pace = rate / (1.0 + decay * (n_steps + turn))
        n_distinct, seen = number_distinct(x, lo, hi, seen, mark, distinct, local)
        gather_gradient(x, lo, hi, width, node, n_distinct, local, g)
        update_rows(
            w.rows, squares.rows, drift.rows, l2.rows, l1.rows, distinct, n_distinct, g, mask, width, pace, adaptive,
            age + turn, 1,
        )  # fmt: skip
        for t in range(n):
            for p in range(x.single_at[lo + t], x.single_at[lo + t + 1]):
                d = node[t * width + x.single_label[x.single[p]]]
                g_single[x.single[p]] += d if ones else d * x.single_value[p]
        for p in range(x.single_at[lo], x.single_at[hi]):
            q = np.int64(x.single[p])
            if not np.isnan(g_single[q]):
                update_single(
                    q, g_single[q], w.singles, squares.singles, drift.singles, l2.singles, l1.singles, pace, adaptive,
                    age + turn,
                )  # fmt: skip
                g_single[q] = np.nan  # done; occurs again in this sample only to be passed over
        for p in range(x.single_at[lo], x.single_at[hi]):
            g_single[x.single[p]] = 0.0
        n_edges, n_gathered = n_edges + n - 1, n_gathered + 1
        if settled[s] or n_edges >= most_edges or turn == len(order) - 1:
            gathered_pairs(surrogate, work, counts, edge_size)
            if has_edges:
                update_rows(
                    w.edge, squares.edge, drift.edge, l2.edge, l1.edge, all_labels, n_labels, pairs, edge_mask, width,
                    pace, adaptive, age + turn, n_gathered,
                )  # fmt: skip
            fill(pairs, edge_size, 0.0)
            n_edges, n_gathered = 0, 0
        if edge_features is not None:
            scatter_edges(x, lo, n, n_labels, width, tables, g_edge)
            for p in range(x.edge_at[lo], x.edge_at[hi]):
                a = x.edge_column[p]
                if edge_mark[a] != turn:
                    edge_mark[a] = turn
                    for q in range(x.edge_ptr[a], x.edge_ptr[a + 1]):
                        update_single(
                            q, g_edge[q], w.edge_features, squares.edge_features, drift.edge_features, l2.edge_features,
                            l1.edge_features, pace, adaptive, age + turn,
                        )  # fmt: skip
                        g_edge[q] = 0.0
    return total, n_updates
