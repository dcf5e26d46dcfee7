"""Sums on chains of second order: log-partition, marginals, entropy, samples. Tables as in ``chain2_max``.

As in ``chain_sum``, scaled products are taken where ``fits_products`` proves them exact, and sums in log space
elsewhere.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.logs import draw_label, log_sum_exp
from palmette._kernels.ragged import longest_sample
from palmette._kernels.spread import exponentiate_edges, prepare_edges
from palmette.structures.chain.kernels.given2 import sample_entropy
from palmette.structures.chain.kernels.messages2 import (
    backward_logs,
    backward_products,
    fits_products,
    forward_logs,
    forward_products,
    marginals_by_logs,
)


@kernel()
def workspace(edge, step, triple, step3, offsets, n_labels):
    """Work space for one sample: messages, exponentials of tables (filled here if shared), and their properties."""
    # O(longest K^2), and O(longest K^3) where every triple has a table of its own (else K^3). ``found`` is
    # [edge spread, mixing steps, triple spread, triples forbidden].
    longest = longest_sample(offsets)
    alpha, beta = np.empty((longest, n_labels, n_labels)), np.empty((longest, n_labels, n_labels))
    local, scale = np.empty((longest, n_labels)), np.empty(longest)
    n_pairs, n_triples = (longest if step == 1 else 1), (longest if step3 == 1 else 1)
    pair, shift = np.empty((n_pairs, n_labels, n_labels)), np.empty(n_pairs)
    exp3, shift3 = np.empty((n_triples, n_labels, n_labels, n_labels)), np.empty(n_triples)
    found = np.zeros(4)  # as the last arguments of ``fits_products``
    if step == 0:
        note_edges(edge, pair, shift, found)
    if step3 == 0:
        note_triples(triple, exp3, shift3, found)
    return alpha, beta, local, scale, pair, shift, exp3, shift3, found


@kernel()
def note_edges(edge, pair, shift, found):
    """Exponentials of edge tables, and how far they spread and mix."""
    found[0], found[1] = prepare_edges(edge, pair, shift)


@kernel()
def note_triples(triple, exp3, shift3, found):
    """Exponentials of triple tables, and how far they spread."""
    n, m = triple.shape[0], triple.shape[1]
    flat = triple.reshape(n, m, m * m)
    found[2], found[3] = exponentiate_edges(flat, exp3.reshape(len(exp3), m, m * m), shift3)


@kernel()
def prepare(node, edge, first, step, triple, first3, step3, lo, hi, pair, shift, exp3, shift3, found):
    """Exponentials of a sample's own tables; returns whether scaled products are exact for it."""
    n = hi - lo
    if step == 1:
        note_edges(edge[first : first + n - 1], pair, shift, found)
    if step3 == 1:
        note_triples(triple[first3 : first3 + n - 2], exp3, shift3, found)
    triple_spread, triple_forbidden = found[2], found[3] > 0.0
    if n == 2:  # a table shared by all triples is none of its business
        triple_spread, triple_forbidden = 0.0, False
    return fits_products(node, lo, hi, found[0], found[1], triple_spread, triple_forbidden)


@kernel()
def log_partitions(node, edge, step, triple, step3, offsets, log_z):
    """Log-partition of every sample of a batch."""
    alpha, _, local, scale, pair, shift, exp3, shift3, found = workspace(
        edge, step, triple, step3, offsets, node.shape[1]
    )
    first3, zero = 0, step - step  # an ordinary integer: a literal 0 would compile every callee once more
    # Each sample by scaled products where ``prepare`` proves them exact, else in log space; the choice depends on the
    # sample alone, never on its batch. O(K^3) per position, one workspace for all.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first, at3 = (lo - s) * step, first3 * step3
        if hi - lo == 1:
            log_z[s] = log_sum_exp(node[lo])
        elif prepare(node, edge, first, step, triple, at3, step3, lo, hi, pair, shift, exp3, shift3, found):
            log_z[s] = forward_products(
                node, pair, shift, zero, step, exp3, shift3, zero, step3, lo, hi, alpha, local, scale
            )
        else:
            log_z[s] = forward_logs(node, edge, first, step, triple, at3, step3, lo, hi, alpha)
        first3 += max(hi - lo - 2, 0)


@kernel()
def expectations(
    node, edge, step, triple, step3, offsets, weight, log_z, node_out, edge_out, edge_step, triple_out, triple_step,
):  # fmt: skip
    """Log-partitions and marginals of a batch, each sample times its weight, added to tables that were zero.

    A step of 0 adds the marginals of all edges (triples) up.
    """
    n_labels = node.shape[1]
    alpha, beta, local, scale, pair, shift, exp3, shift3, found = workspace(
        edge, step, triple, step3, offsets, n_labels
    )
    first3, zero = 0, step - step
    # As ``log_partitions``, then backward. Outputs are added to; samples without an allowed path add nothing.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first, at3 = (lo - s) * step, first3 * step3
        edge_at, triple_at = (lo - s) * edge_step, first3 * triple_step
        if hi - lo == 1:
            log_z[s] = log_sum_exp(node[lo])
            if log_z[s] > -np.inf:
                for j in range(n_labels):
                    node_out[lo, j] = weight[s] * np.exp(node[lo, j] - log_z[s])
        elif prepare(node, edge, first, step, triple, at3, step3, lo, hi, pair, shift, exp3, shift3, found):
            log_z[s] = forward_products(
                node, pair, shift, zero, step, exp3, shift3, zero, step3, lo, hi, alpha, local, scale
            )
            if log_z[s] > -np.inf:
                backward_products(
                    pair, zero, step, exp3, zero, step3, lo, hi, weight[s], alpha, local, scale, beta[0], beta[1],
                    node_out, edge_out, edge_at, edge_step, triple_out, triple_at, triple_step,
                )  # fmt: skip
        else:
            log_z[s] = marginals_by_logs(
                node, edge, first, step, triple, at3, step3, lo, hi, weight[s], alpha, beta, node_out, edge_out,
                edge_at, edge_step, triple_out, triple_at, triple_step,
            )  # fmt: skip
        first3 += max(hi - lo - 2, 0)


@kernel()
def clear(x):
    """Set all entries to zero."""
    for i in range(len(x)):
        x[i] = 0.0


@kernel()
def entropies(node, edge, step, triple, step3, offsets, log_z, out):
    """Log-partition and entropy of every sample; the marginals of one sample at a time are kept."""
    n_labels, longest = node.shape[1], longest_sample(offsets)
    node_out, weight = np.empty((longest, n_labels)), np.ones(1)
    edge_out = np.empty((longest, n_labels, n_labels))
    triple_out = np.empty((longest, n_labels, n_labels, n_labels))
    own = np.zeros(2, np.int64)  # offsets of the sample alone
    first3, one = 0, len(weight)
    # The triple marginals of one sample at a time: O(longest K^3) memory instead of O(rows K^3).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        own[1] = n = hi - lo
        n_triples = max(n - 2, 0)
        first, at3 = (lo - s) * step, first3 * step3
        clear(node_out[:n].ravel())
        clear(edge_out[:n].ravel())
        clear(triple_out[:n].ravel())
        expectations(
            node[lo:hi], edge[first : first + n - 1] if step == 1 else edge, step,
            triple[at3 : at3 + n_triples] if step3 == 1 else triple, step3, own, weight, log_z[s : s + 1], node_out,
            edge_out, one, triple_out, one,
        )  # fmt: skip
        out[s] = sample_entropy(n, node_out, edge_out, triple_out)
        first3 += n_triples


@kernel()
def draw_paths(node, edge, step, triple, step3, offsets, uniform, path):
    """Exact samples by backward filtering and forward drawing: ``uniform`` and ``path`` are (draws, rows).

    Returns the first sample without an allowed path, or -1.
    """
    n_labels = node.shape[1]
    beta = np.empty((longest_sample(offsets), n_labels, n_labels))
    ahead, terms, first_terms = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    first3 = 0
    # p(y_0) ~ exp(node[0] + log sum_j exp(edge + node[1] + beta[1])); p(y_t | y_{t-2}, y_{t-1}) ~ exp(triple + edge +
    # node[t] + beta[t]). O(n K^3) per sample for beta, O(n K) per draw; O(longest K^2) memory.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first, at3 = (lo - s) * step, first3 * step3
        backward_logs(node, edge, first, step, triple, at3, step3, lo, hi, beta)
        for i in range(n_labels):
            first_terms[i] = node[lo, i]
            if hi - lo > 1:
                for j in range(n_labels):
                    ahead[j] = edge[first, i, j] + node[lo + 1, j] + beta[1, i, j]
                first_terms[i] += log_sum_exp(ahead)
        for d in range(len(path)):
            terms[:] = first_terms
            label = draw_label(terms, uniform[d, lo])
            if label < 0:
                return s
            path[d, lo] = label
            for t in range(1, hi - lo):
                i = path[d, lo + t - 1]
                for j in range(n_labels):
                    terms[j] = edge[first + (t - 1) * step, i, j] + node[lo + t, j] + beta[t, i, j]
                    if t > 1:
                        terms[j] += triple[at3 + (t - 2) * step3, path[d, lo + t - 2], i, j]
                path[d, lo + t] = draw_label(terms, uniform[d, lo + t])
        first3 += max(hi - lo - 2, 0)
    return -1
