"""The perceptron on packed chains: only the weights of wrong positions are touched."""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette.structures.chain.kernels.packed import (
    fetch_columns,
    limit_rows,
    score_rows,
    true_score,
    workspace,
)
from palmette.structures.chain.kernels.packed_tables import best_in_tables, score_edges

REFRESHED = 256  # edges


@kernel()
def perceptron_pass(chains, w, drift, mask, edge_mask, order, age, edge_features, limits):
    """One epoch of the perceptron: where the best labels are wrong, add the true counts and subtract the predicted.

    Returns the sum of the losses met and the number of samples with a mistake. As ``stochastic_pass`` with rate 1 and
    no penalty, but only the weights of wrong positions are touched. ``edge_features`` is True or None, as there. With
    ``limits`` (else None) the true labels of a sample are the best ones that its annotation allows: they are written
    over ``codes`` before each step.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    work, edge_size = workspace(chains, w.rows), n_labels * width
    node, path, edge_t = work.node, work.path, work.factor_t
    if edge_features is not None:
        tables = np.empty(len(path) * edge_size, w.rows.dtype)
    if limits is not None:
        given, nearest = work.theta, np.empty_like(path)
    chunks = width // LANES
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    total, n_mistakes = 0.0, 0
    n_edges = REFRESHED
    # Invariant: ``edge_t`` is ``w.edge`` transposed, since both take every change; where other threads change
    # ``w.edge``, too, that is so again after every REFRESHED edges.
    # w += c (counts(true) - counts(predicted)) after a mistake; drift += (age + turn) change, so that the average of
    # the weights over the steps is w - drift / age at the end. Labels without a weight (mask bit 0) stay as they are.
    # O(nnz width + n K width) per sample to predict, O(nnz of wrong positions) to update;
    # O(longest width + width^2) memory, with edge features O(longest K width).
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        if turn + 1 < len(order):
            following = order[turn + 1]
            fetch_columns(x, w, offsets[following], offsets[following + 1], width)
        score_rows(x, w, base, lo, hi, width, node)
        if edge_features is not None:
            score_edges(x, w, lo, n, n_labels, width, tables)
        elif n_edges >= REFRESHED:
            transpose(w.edge, n_labels, width, edge_t)
            n_edges = 0
        n_edges += n - 1
        if limits is not None:
            limit_rows(limits, lo, n, width, node, given)
            if edge_features is not None:
                best_in_tables(given, n, n_labels, width, tables, nearest)
            else:
                best_chain(given, n, n_labels, width, w.edge, edge_t, nearest)
            for t in range(n):
                codes[lo + t] = nearest[t]
        truth = true_score(node, w.edge, 0 * width, codes, lo, n, width)
        if edge_features is not None:
            for t in range(1, n):
                at = codes[lo + t - 1] * width + codes[lo + t]
                truth += tables[t * edge_size + at] - w.edge[at]
            value = best_in_tables(node, n, n_labels, width, tables, path)
        else:
            value = best_chain(node, n, n_labels, width, w.edge, edge_t, path)
        total += weight[s] * (value - truth)
        wrong = False
        now = age + turn
        for t in range(n):
            true, found = codes[lo + t], path[t]
            if true == found:
                continue
            wrong = True
            for p in range(x.multi_at[lo + t], x.multi_at[lo + t + 1]):
                row = x.multi[p]
                change = weight[s] if ones else weight[s] * x.multi_value[p]
                if mask[row * chunks + true // LANES] >> (true % LANES) & 1:
                    w.rows[row * width + true] += change
                    drift.rows[row * width + true] += now * change
                if mask[row * chunks + found // LANES] >> (found % LANES) & 1:
                    w.rows[row * width + found] -= change
                    drift.rows[row * width + found] -= now * change
            for p in range(x.single_at[lo + t], x.single_at[lo + t + 1]):
                q = x.single[p]
                change = weight[s] if ones else weight[s] * x.single_value[p]
                if x.single_label[q] == true:
                    w.singles[q] += change
                    drift.singles[q] += now * change
                elif x.single_label[q] == found:
                    w.singles[q] -= change
                    drift.singles[q] -= now * change
        n_mistakes += wrong
        if not wrong or len(edge_mask) == 0:
            continue
        for t in range(1, n):
            true, found = codes[lo + t - 1] * width + codes[lo + t], path[t - 1] * width + path[t]
            if true == found:
                continue
            for at, change in ((true, weight[s]), (found, -weight[s])):
                if edge_mask[at // LANES] >> (at % LANES) & 1:
                    w.edge[at] += change
                    edge_t[at % width * width + at // width] = w.edge[at]
                    drift.edge[at] += now * change
                if edge_features is not None:
                    for p in range(x.edge_at[lo + t], x.edge_at[lo + t + 1]):
                        a = x.edge_column[p]
                        step = change if len(x.edge_value) == 0 else change * x.edge_value[p]
                        for q in range(x.edge_ptr[a], x.edge_ptr[a + 1]):
                            if x.edge_pair[q] == at:
                                w.edge_features[q] += step
                                drift.edge_features[q] += now * step
    return total, n_mistakes
