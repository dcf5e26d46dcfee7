"""Value and gradient of the log loss over packed chains, in one pass."""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import add_pairs, log_partition, scale_row, sum_chain
from palmette.structures.chain.kernels.packed import (
    add_labels,
    limit_rows,
    scatter_rows,
    score_rows,
    true_score,
    workspace,
)
from palmette.structures.chain.kernels.packed_given import allowed_labels, subtract_given, sum_given
from palmette.structures.chain.kernels.packed_tables import (
    scatter_edges,
    score_edges,
    sum_in_tables,
    sum_tables,
)


@kernel()
def log_loss_value(chains, w, factor, shift, node, alpha, failed):
    """Sum of the log losses of all samples without edge features; ``failed`` as in ``log_loss_pass``."""
    x, base, offsets, codes, weight, n_labels, width = chains
    loss = 0.0
    # A forward pass alone. Samples in order: sums are the same in every run.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_rows(x, w, base, lo, hi, width, node)
        truth = true_score(node, w.edge, 0 * width, codes, lo, n, width)
        log_z = log_partition(node, n, n_labels, width, factor, alpha) + (n - 1) * shift
        if np.isnan(log_z):
            failed[s] = True
        else:
            loss += weight[s] * (log_z - truth)
    return loss


@kernel()
def log_loss_pass(chains, w, factor, factor_t, shift, node, alpha, pull, d, failed, edge_features):
    """Sum of the log losses of all samples; their gradient is added to the packed ``d``.

    ``d.edge`` gets what is to be multiplied by ``factor = exp(w.edge - shift)``, and the true pairs are left out of it,
    unless there are edge features: then it gets the gradient itself. Samples whose numbers leave the range
    of their type are marked in ``failed`` and left out. ``edge_features`` is True or None, for which their code is not
    even compiled. ``node``, ``alpha`` and ``pull`` are room for the rows of the longest sample.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    size = n_labels * width
    if edge_features is not None:
        tables = np.empty(len(node) * n_labels, w.rows.dtype)
    loss = 0.0
    # loss += c (log Z - score of the truth), gradient += c (marginals - truth). For pairs
    # sum_t alpha[t - 1, i] pull[t, j] is gathered, and multiplied by factor[i, j] once by the caller.
    # O(nnz width + n K width) per sample; memory O(longest width), with edge features
    # O(longest K width). Samples in order: sums are the same in every run.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_rows(x, w, base, lo, hi, width, node)
        if edge_features is not None:
            score_edges(x, w, lo, n, n_labels, width, tables)
            truth = true_score(node, tables, size, codes, lo, n, width)
            log_z = sum_in_tables(node, n, n_labels, width, tables, alpha, pull)
        else:
            truth = true_score(node, w.edge, 0 * size, codes, lo, n, width)
            log_z = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull) + (n - 1) * shift
        if np.isnan(log_z):
            failed[s] = True
            continue
        loss += weight[s] * (log_z - truth)
        if edge_features is not None:
            add_labels(node, tables, size, codes, lo, n, width, -1.0, 1.0)
            if weight[s] != 1.0:
                scale_row(tables, size, weight[s], (n - 1) * size)
            sum_tables(tables, n, n_labels, width, 1.0, d.edge)
            scatter_edges(x, lo, n, n_labels, width, tables, d.edge_features)
        else:
            for t in range(n):
                node[t * width + codes[lo + t]] -= 1.0
            add_pairs(alpha, pull, n, n_labels, width, weight[s], d.edge)
        if weight[s] != 1.0:
            scale_row(node, 0, weight[s], n * width)
        scatter_rows(x, lo, hi, width, node, d.rows, d.singles)
    return loss


@kernel()
def marginal_loss_pass(chains, limits, w, factor, factor_t, shift, d, failed):
    """Sum of ``log Z - log Z*`` over all samples, Z* over the labelings that the annotation allows; for chains without
    edge features. Their gradient is added to the packed ``d`` as by ``log_loss_pass``, with nothing left out of it.
    """
    x, base, offsets, _, weight, n_labels, width = chains
    work = workspace(chains, w.rows)
    node, given, alpha, pull = work.node, work.theta, work.alpha, work.pull
    alpha_given, pull_given = np.empty_like(alpha), np.empty_like(pull)
    labels, counts = np.empty(len(node), np.int64), np.empty(len(work.path), np.int64)
    loss = 0.0
    # loss += c (log Z - log Z*), gradient += c (marginals - marginals given the annotation), each by a forward and
    # backward pass over the same scores: the second label by label where few are allowed, else with NEVER added to
    # those that are not. Pairs as in log_loss_pass. O(nnz width + 2 n K width) per sample; memory O(longest width).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_rows(x, w, base, lo, hi, width, node)
        n_pairs = allowed_labels(limits, lo, n, n_labels, width, labels, counts)
        few = n_pairs * LANES < n * n_labels * width
        if few:
            log_given = sum_given(node, n, width, factor, labels, counts, given, alpha_given, pull_given)
        else:
            limit_rows(limits, lo, n, width, node, given)
            log_given = sum_chain(given, n, n_labels, width, factor, factor_t, alpha_given, pull_given)
        log_z = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull)
        if np.isnan(log_z) or np.isnan(log_given):
            failed[s] = True
            continue
        loss += weight[s] * (log_z - log_given)
        add_pairs(alpha, pull, n, n_labels, width, weight[s], d.edge)
        if few:
            subtract_given(given, alpha_given, pull_given, n, width, labels, counts, weight[s], node, d.edge)
        else:
            for i in range(n * width):
                node[i] -= given[i]
            add_pairs(alpha_given, pull_given, n, n_labels, width, -weight[s], d.edge)
        if weight[s] != 1.0:
            scale_row(node, 0, weight[s], n * width)
        scatter_rows(x, lo, hi, width, node, d.rows, d.singles)
    return loss
