"""Dual ascent on forests: a pass of visits by the sums of ``forest_sum``.

A row scores each label in one place. Tables are those of label pairs, one (K x K) for each type of edges.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.dual_rows import finish_visit, read_tables, room_for, score_rows
from palmette._kernels.jit import kernel
from palmette._kernels.ragged import longest_sample
from palmette.structures.graph.kernels.forest_logs import inside_logs, outside_logs
from palmette.structures.graph.kernels.forest_products import (
    exponentiate_tables,
    fits_products,
    inside_products,
    outside_products,
)


@kernel()
def subtract_truth(node, edge, f, edges, s, codes, node_out, edge_out):
    """Take the true labels of sample s from the moments; returns their score."""
    score = 0.0
    for t in range(f.offsets[s], f.offsets[s + 1]):
        score += node[t, codes[t]]
        node_out[t, codes[t]] -= 1.0
    lo = f.offsets[s]
    for e in range(f.edge_offsets[s], f.edge_offsets[s + 1]):
        i, j = codes[lo + edges[e, 0]], codes[lo + edges[e, 1]]
        score += edge[f.table[e], i, j]
        edge_out[f.table[e], i, j] -= 1.0
    return score


@kernel()
def dual_pass(x, tables, ascent, mode, order, f, edges, codes, weight, n_labels):
    """A visit, as ``mode`` says, of each sample of ``order``; returns how many were out of range and left out."""
    longest, n_rows, n_tables = (
        longest_sample(f.offsets),
        len(codes),
        len(tables.weight) // (n_labels * n_labels),
    )
    room = room_for(x, tables, longest, ascent.residual_table.shape[1])
    node, node_out = np.zeros((n_rows, n_labels)), np.zeros((n_rows, n_labels))
    edge = room.table.reshape((n_tables, n_labels, n_labels))
    edge_out = room.table_moment.reshape((n_tables, n_labels, n_labels))
    factor, gathered = np.zeros(edge.shape), np.zeros(edge.shape)
    shift, width, forbidden = np.zeros(n_tables), np.zeros(n_tables), np.zeros(n_tables, np.bool_)
    work, prefix = np.zeros((5, longest, n_labels)), np.zeros(n_labels)
    value, local, message, outside, rest = work[0], work[1], work[2], work[3], work[4]
    n_failed, zero = 0, n_labels - n_labels
    # Kernels of forests number rows in the whole batch, so that scores and marginals have a row for each of them; a
    # visit uses those of its sample. O(weights read + nodes K^2 + tables K^2) per sample.
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = f.offsets[s], f.offsets[s + 1]
        if weight[s] == 0.0 or hi == lo:
            continue
        score_rows(x, ascent.w, lo, hi, zero, room.theta)
        read_tables(tables, ascent.w, room.table)
        for t in range(lo, hi):
            for k in range(n_labels):
                node[t, k], node_out[t, k] = room.theta[(t - lo) * x.width + k], 0.0
        for e in range(n_tables):
            for i in range(n_labels):
                for j in range(n_labels):
                    edge_out[e, i, j] = gathered[e, i, j] = 0.0
        exponentiate_tables(edge, factor, shift, width, forbidden)
        if fits_products(node, f, s, width, forbidden):
            log_z = inside_products(node, factor, shift, f, s, value, local, message)
            outside_products(
                factor, f, s, 1.0, value, local, message, outside, rest, prefix, node_out, gathered
            )
            for e in range(n_tables):
                for i in range(n_labels):
                    for j in range(n_labels):
                        edge_out[e, i, j] = gathered[e, i, j] * factor[e, i, j]
        else:
            log_z = inside_logs(node, edge, f, s, value, message)
            outside_logs(node, edge, f, s, 1.0, value, message, outside, rest, prefix, node_out, edge_out)
        if not abs(log_z) < np.inf:
            n_failed += 1
            continue
        loss = log_z - subtract_truth(node, edge, f, edges, s, codes, node_out, edge_out)
        for t in range(lo, hi):
            for k in range(n_labels):
                room.moment[(t - lo) * x.width + k] = node_out[t, k]
        finish_visit(x, tables, ascent, room, mode, turn, s, lo, hi, zero, weight[s], loss)
    return n_failed
