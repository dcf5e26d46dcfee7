"""Sums on chains: log-partition, marginals, samples. Tables as in ``chain_max``.

Scaled products (one ``exp`` per potential, every message normalised) are 6-16 times faster than sums in log
space, and exact as long as no message leaves the range of a double. ``fits_products`` proves that beforehand:

* nothing forbidden: messages of row t spread at most over (spread of node row t) + (spread of the edges);
* something forbidden: a label may live on one poor path only, so spreads add up along the chain, and so does
  the number of richer paths beside it;
* unless all edges forbid the same pairs, rows only at the ends forbid labels, and every label reaches every label in
  exactly m steps (2 for IOB2, 3 for IOBES): then spreads add up over m steps only (``chain_range.fits_mixing``).

Otherwise the log-space twin is taken. Both are tested against enumeration.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.logs import draw_label, log_sum_exp
from palmette._kernels.ragged import longest_sample
from palmette._kernels.spread import SAFE_SPREAD, fits_mixing, prepare_edges, spread


@kernel()
def fits_products(node, lo, hi, edge_spread, edge_forbidden):
    """Whether scaled products are exact for the sample in rows lo:hi."""
    widest, any_forbidden = 0.0, edge_forbidden
    # Without -inf the logs of alpha[t] differ by at most node spread + edge spread, those of beta by an edge spread,
    # and the two add up, since sum alpha beta = 1. With -inf all n rows add up, each with log K for its paths.
    for t in range(lo, hi):
        width, forbidden = spread(node[t])
        widest = max(widest, width)
        any_forbidden |= forbidden
    if any_forbidden:
        return (hi - lo) * (widest + edge_spread + np.log(node.shape[1])) < SAFE_SPREAD
    return widest + 2.0 * edge_spread < SAFE_SPREAD


@kernel()
def products_fit(node, lo, hi, edge_spread, steps):
    """``fits_products`` or ``fits_mixing``; a single row has no edges, so their spread does not matter."""
    if hi - lo == 1:
        return fits_products(node, lo, hi, 0.0, False)
    return fits_products(node, lo, hi, edge_spread, steps > 0.0) or fits_mixing(
        node, lo, hi, edge_spread, steps
    )


@kernel(fastmath=SUMS)
def forward_products(node, factor, shift, first, step, lo, hi, alpha, local, scale):
    """Normalised forward messages; returns the log-partition (-inf if no path is allowed).

    ``alpha[t]`` sums to 1, ``scale[t]`` is what it was divided by, and ``local[t]`` is exp(node) relative to the
    best label of row t.
    """
    n_labels = node.shape[1]
    log_z = 0.0
    # alpha[0, j] ~ local[0, j]; alpha[t, j] ~ local[t, j] sum_i alpha[t - 1, i] factor[t - 1, i, j]; O(n K^2).
    # Each alpha[t] is divided by its sum scale[t]: log Z = sum_t (log scale[t] + largest node score + edge shift).
    # All factors are at most 1; the caller has proved by ``products_fit`` that none that matters underflows.
    for t in range(hi - lo):
        row = node[lo + t]
        top = row[0]
        for j in range(1, n_labels):
            top = max(top, row[j])
        if not top > -np.inf:
            return -np.inf
        current = alpha[t]
        if t == 0:
            for j in range(n_labels):
                current[j] = 1.0
        else:
            e = first + (t - 1) * step
            table = factor[e]
            log_z += shift[e]
            previous = alpha[t - 1]
            current[:] = 0.0
            for i in range(n_labels):
                p = previous[i]
                for j in range(n_labels):
                    current[j] += p * table[i, j]
        total = 0.0
        for j in range(n_labels):
            local[t, j] = np.exp(row[j] - top)
            current[j] *= local[t, j]
            total += current[j]
        if not total > 0.0:
            return -np.inf
        scale[t] = total
        log_z += top + np.log(total)
        inverse = 1.0 / total
        for j in range(n_labels):
            current[j] *= inverse
    return log_z


@kernel(fastmath=SUMS)
def marginals_by_products(node, factor, shift, first, step, lo, hi, weight, work, scale, node_out, pair):
    """Forward-backward; adds ``weight`` x pair marginals to ``pair``, writes ``weight`` x node marginals.

    Pair marginals are ``alpha factor message``: the outer products are gathered in ``pair`` here and multiplied by
    ``factor`` once per table by the caller.
    """
    n_labels = node.shape[1]
    alpha, local, beta, message = work[0], work[1], work[2, 0], work[3, 0]
    log_z = forward_products(node, factor, shift, first, step, lo, hi, alpha, local, scale)
    if log_z == -np.inf:
        for t in range(lo, hi):
            node_out[t, :] = 0.0
        return log_z
    for j in range(n_labels):
        beta[j] = 1.0
    # Invariant: beta is the backward message of row t, scaled so that alpha[t] beta is the marginal and sums to 1.
    # With message[j] = local[t, j] beta[j] / scale[t], beta'[i] = sum_j factor[i, j] message[j] and the pair marginal
    # is alpha[t - 1, i] factor[i, j] message[j]. O(n K^2); beta and message are single rows of ``work``.
    for t in range(hi - lo - 1, -1, -1):
        current = alpha[t]
        for j in range(n_labels):
            node_out[lo + t, j] = weight * current[j] * beta[j]
        if t == 0:
            break
        e = first + (t - 1) * step
        table = factor[e]
        gathered = pair[e]
        previous = alpha[t - 1]
        inverse = 1.0 / scale[t]
        for j in range(n_labels):
            message[j] = local[t, j] * beta[j] * inverse
        for i in range(n_labels):
            back = 0.0
            for j in range(n_labels):
                back += table[i, j] * message[j]
            beta[i] = back
        for i in range(n_labels):
            p = weight * previous[i]
            for j in range(n_labels):
                gathered[i, j] += p * message[j]
    return log_z


@kernel()
def forward_logs(node, edge, first, step, lo, hi, alpha):
    """Forward messages in log space; returns the log-partition."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    for j in range(n_labels):
        alpha[0, j] = node[lo, j]
    # alpha[t, j] = node[t, j] + log sum_i exp(alpha[t - 1, i] + edge[t - 1, i, j]); O(n K^2) exponentials, -inf exact.
    for t in range(1, hi - lo):
        table = edge[first + (t - 1) * step]
        for j in range(n_labels):
            for i in range(n_labels):
                terms[i] = alpha[t - 1, i] + table[i, j]
            alpha[t, j] = node[lo + t, j] + log_sum_exp(terms)
    return log_sum_exp(alpha[hi - lo - 1])


@kernel()
def backward_logs(node, edge, first, step, lo, hi, beta):
    """Backward messages in log space: ``beta[t, i]`` sums over the rows after t given label i at row t."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    beta[hi - lo - 1, :] = 0.0
    # beta[t, i] = log sum_j exp(edge[t, i, j] + node[t + 1, j] + beta[t + 1, j]), 0 at the last row; O(n K^2).
    for t in range(hi - lo - 2, -1, -1):
        table = edge[first + t * step]
        for i in range(n_labels):
            for j in range(n_labels):
                terms[j] = table[i, j] + node[lo + t + 1, j] + beta[t + 1, j]
            beta[t, i] = log_sum_exp(terms)


@kernel()
def marginals_by_logs(node, edge, first, step, lo, hi, weight, work, node_out, pair):
    """Log-space twin of ``marginals_by_products``; ``pair`` receives finished pair marginals."""
    n_labels = node.shape[1]
    alpha, beta = work[0], work[1]
    log_z = forward_logs(node, edge, first, step, lo, hi, alpha)
    if log_z == -np.inf:
        for t in range(lo, hi):
            node_out[t, :] = 0.0
        return log_z
    backward_logs(node, edge, first, step, lo, hi, beta)
    # Marginals are exp(alpha + parts + beta - log Z) <= 1, so nothing overflows.
    for t in range(hi - lo):
        for i in range(n_labels):
            node_out[lo + t, i] = weight * np.exp(alpha[t, i] + beta[t, i] - log_z)
        if t == hi - lo - 1:
            break
        e = first + t * step
        for i in range(n_labels):
            for j in range(n_labels):
                ahead = node[lo + t + 1, j] + beta[t + 1, j]
                pair[e, i, j] += weight * np.exp(alpha[t, i] + edge[e, i, j] + ahead - log_z)
    return log_z


@kernel()
def log_partitions(node, edge, step, offsets, log_z):
    """Log-partition of every sample of a batch."""
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    work, scale = np.empty((2, longest, n_labels)), np.empty(longest)
    n_tables = longest if step == 1 else 1
    factor, shift = np.empty((n_tables, n_labels, n_labels)), np.empty(n_tables)
    edge_spread, steps = 0.0, 0.0
    if step == 0:
        edge_spread, steps = prepare_edges(edge, factor, shift)
    # O(n K^2) per sample. Memory O(longest K), and O(longest K^2) where every edge has a table of its own.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        if step == 1:  # its own tables alone decide, so that a sample's answer does not depend on its batch
            own = edge[first : first + hi - lo - 1]
            edge_spread, steps = prepare_edges(own, factor, shift)
        if products_fit(node, lo, hi, edge_spread, steps):
            log_z[s] = forward_products(node, factor, shift, lo - lo, step, lo, hi, work[0], work[1], scale)
        else:
            log_z[s] = forward_logs(node, edge, first, step, lo, hi, work[0])


@kernel()
def expectations(node, edge, step, offsets, weight, log_z, node_out, pair):
    """Log-partitions, node marginals and summed pair marginals of a batch, each sample times its weight."""
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    work, scale = np.empty((4, longest, n_labels)), np.empty(longest)
    n_tables = longest if step == 1 else 1
    factor, shift = np.empty((n_tables, n_labels, n_labels)), np.empty(n_tables)
    gathered, by_logs = np.zeros(factor.shape), np.zeros(factor.shape)
    edge_spread, steps = 0.0, 0.0
    if step == 0:
        edge_spread, steps = prepare_edges(edge, factor, shift)
    # ``gathered`` has sums of alpha x message, still to be multiplied by factor; ``by_logs`` has finished marginals.
    # A shared table (step 0) is finished once per batch, else tables are finished after each sample. Memory
    # O(longest K) and three sets of tables: O(K^2), or O(longest K^2) where every edge has its own.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        zero = lo - lo
        own = edge
        if step == 1:  # its own tables alone decide, so that a sample's answer does not depend on its batch
            own = edge[first : first + hi - lo - 1]
            edge_spread, steps = prepare_edges(own, factor, shift)
        if products_fit(node, lo, hi, edge_spread, steps):
            log_z[s] = marginals_by_products(
                node, factor, shift, zero, step, lo, hi, weight[s], work, scale, node_out, gathered
            )
        else:
            log_z[s] = marginals_by_logs(node, own, zero, step, lo, hi, weight[s], work, node_out, by_logs)
        if step == 1:
            finish_pairs(gathered, factor, by_logs, hi - lo - 1, pair, first)
    if step == 0:
        finish_pairs(gathered, factor, by_logs, len(pair), pair, step)


@kernel()
def finish_pairs(gathered, factor, by_logs, n, pair, first):
    """Write the pair marginals of n tables to ``pair`` from ``first`` on, and clear what they were gathered in."""
    # pair = alpha x factor x message (products) + finished marginals (logs); factor is multiplied once per table.
    for e in range(n):
        for i in range(pair.shape[1]):
            for j in range(pair.shape[2]):
                pair[first + e, i, j] = gathered[e, i, j] * factor[e, i, j] + by_logs[e, i, j]
                gathered[e, i, j] = by_logs[e, i, j] = 0.0


@kernel()
def draw_paths(node, edge, step, offsets, uniform, path):
    """Exact samples by backward filtering and forward drawing: ``uniform`` and ``path`` are (draws, rows).

    Returns the first sample without an allowed path, or -1.
    """
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    beta = np.empty((longest, n_labels))
    terms = np.empty(n_labels)
    # p(y_t | y_{t-1}) ~ exp(edge[t - 1, y_{t-1}, y_t] + node[t, y_t] + beta[t, y_t]); O(n K^2) for beta, O(n K) per
    # draw.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        backward_logs(node, edge, first, step, lo, hi, beta)
        for d in range(len(path)):
            for t in range(hi - lo):
                for j in range(n_labels):
                    terms[j] = node[lo + t, j] + beta[t, j]
                    if t > 0:
                        terms[j] += edge[first + (t - 1) * step, path[d, lo + t - 1], j]
                path[d, lo + t] = draw_label(terms, uniform[d, lo + t])
                if path[d, lo + t] < 0:
                    return s
    return -1
