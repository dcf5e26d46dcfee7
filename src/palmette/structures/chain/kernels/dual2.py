"""Dual ascent on chains of second order: a pass of visits by the sums of ``sum2``.

A row scores each label in one place. Tables are those of label pairs (K x K), then those of triples (K x K x K).
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.dual_rows import finish_visit, read_tables, room_for, score_rows
from palmette._kernels.jit import kernel
from palmette._kernels.logs import log_sum_exp
from palmette._kernels.ragged import longest_sample
from palmette.structures.chain.kernels.messages2 import backward_products, forward_products, marginals_by_logs
from palmette.structures.chain.kernels.sum2 import note_edges, note_triples, prepare, workspace


@kernel()
def sample_sums(n, node, edge, triple, work, node_out, edge_out, triple_out):
    """Log-partition of a sample, and its marginals added to tables that were zero."""
    alpha, beta, local, scale, pair, shift, exp3, shift3, found = work
    zero = n - n  # an ordinary integer: a literal 0 would compile every callee once more
    if n == 1:
        log_z = log_sum_exp(node[0])
        for j in range(node.shape[1]):
            node_out[0, j] = np.exp(node[0, j] - log_z)
        return log_z
    if not prepare(
        node, edge, zero, zero, triple, zero, zero, zero, n, pair, shift, exp3, shift3, found
    ):  # fmt: skip
        return marginals_by_logs(
            node, edge, zero, zero, triple, zero, zero, zero, n, 1.0, alpha, beta, node_out, edge_out, zero, zero,
            triple_out, zero, zero,
        )  # fmt: skip
    log_z = forward_products(
        node, pair, shift, zero, zero, exp3, shift3, zero, zero, zero, n, alpha, local, scale
    )
    backward_products(
        pair, zero, zero, exp3, zero, zero, zero, n, 1.0, alpha, local, scale, beta[0], beta[1], node_out, edge_out,
        zero, zero, triple_out, zero, zero,
    )  # fmt: skip
    return log_z


@kernel()
def subtract_truth(n, node, edge, triple, codes, lo, node_out, edge_out, triple_out):
    """Take the true labels from the moments; returns their score."""
    score = 0.0
    for t in range(n):
        k = codes[lo + t]
        score += node[t, k]
        node_out[t, k] -= 1.0
        if t > 0:
            j = codes[lo + t - 1]
            score += edge[0, j, k]
            edge_out[0, j, k] -= 1.0
            if t > 1:
                i = codes[lo + t - 2]
                score += triple[0, i, j, k]
                triple_out[0, i, j, k] -= 1.0
    return score


@kernel()
def dual_pass(x, tables, ascent, mode, order, offsets, codes, weight, n_labels):
    """A visit, as ``mode`` says, of each sample of ``order``; returns how many were out of range and left out."""
    longest, n_pairs = max(longest_sample(offsets), 2), n_labels * n_labels
    room = room_for(x, tables, longest, ascent.residual_table.shape[1])
    node, node_out = np.zeros((longest, n_labels)), np.zeros((longest, n_labels))
    edge, edge_out = (room.table[:n_pairs], room.table_moment[:n_pairs])
    edge, edge_out = edge.reshape((1, n_labels, n_labels)), edge_out.reshape((1, n_labels, n_labels))
    triple = room.table[n_pairs:].reshape((1, n_labels, n_labels, n_labels))
    triple_out = room.table_moment[n_pairs:].reshape((1, n_labels, n_labels, n_labels))
    zero = n_labels - n_labels
    work = workspace(edge, zero, triple, zero, offsets, n_labels)
    n_failed = 0
    # O(weights read + n K^3) per sample; the tables of triples are exponentiated anew for each, O(K^3).
    for turn in range(len(order)):
        s = order[turn]
        lo, hi, n = offsets[s], offsets[s + 1], offsets[s + 1] - offsets[s]
        if weight[s] == 0.0 or n == 0:
            continue
        score_rows(x, ascent.w, lo, hi, zero, room.theta)
        read_tables(tables, ascent.w, room.table)
        for t in range(n):
            for k in range(n_labels):
                node[t, k], node_out[t, k] = room.theta[t * x.width + k], 0.0
        for e in range(len(room.table_moment)):
            room.table_moment[e] = 0.0
        note_edges(edge, work[4], work[5], work[8])
        note_triples(triple, work[6], work[7], work[8])
        log_z = sample_sums(n, node, edge, triple, work, node_out, edge_out, triple_out)
        if not abs(log_z) < np.inf:
            n_failed += 1
            continue
        value = log_z - subtract_truth(n, node, edge, triple, codes, lo, node_out, edge_out, triple_out)
        for t in range(n):
            for k in range(n_labels):
                room.moment[t * x.width + k] = node_out[t, k]
        finish_visit(x, tables, ascent, room, mode, turn, s, lo, hi, zero, weight[s], value)
    return n_failed
