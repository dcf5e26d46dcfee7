"""Packed chains with features on their edges: one table of label pairs per edge.

The table of the edge that enters position t stands at ``t * n_labels * width``; position 0 has none. What the plain
loops of ``palmette._kernels.lanes`` do with one table for all edges is done here with these.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import (
    backward_row,
    exponentiate_row,
    first_row,
    last_row,
    read_path,
    scale_row,
    times_row,
)


@kernel()
def score_edges(x, w, lo, n, n_labels, width, tables):
    """Scores of the label pairs at the edges of rows lo:lo + n: transitions plus the features of the right row."""
    size = n_labels * width
    ones = len(x.edge_value) == 0
    # tables[t, i, j] = w.edge[i, j] + sum_a x[t, a] w[a, (i, j)]; O(n K width + nnz x pairs per column).
    for t in range(1, n):
        at = t * size
        for c in range(0, size, LANES):
            simd.store(tables, at + c, simd.load(w.edge, c))
        for p in range(x.edge_at[lo + t], x.edge_at[lo + t + 1]):
            a = x.edge_column[p]
            for q in range(x.edge_ptr[a], x.edge_ptr[a + 1]):
                value = w.edge_features[q]
                tables[at + x.edge_pair[q]] += value if ones else value * x.edge_value[p]


@kernel()
def scatter_edges(x, lo, n, n_labels, width, tables, out):
    """Adjoint of ``score_edges`` for the edge features."""
    size = n_labels * width
    ones = len(x.edge_value) == 0
    for t in range(1, n):
        at = t * size
        for p in range(x.edge_at[lo + t], x.edge_at[lo + t + 1]):
            a = x.edge_column[p]
            for q in range(x.edge_ptr[a], x.edge_ptr[a + 1]):
                d = tables[at + x.edge_pair[q]]
                out[q] += d if ones else d * x.edge_value[p]


@kernel()
def sum_tables(tables, n, n_labels, width, weight, pairs):
    """Add the tables of all edges to ``pairs``."""
    size = n_labels * width
    w = simd.splat(pairs, weight)
    for t in range(1, n):
        for c in range(0, size, LANES):
            simd.store(pairs, c, simd.fma(w, simd.load(tables, t * size + c), simd.load(pairs, c)))


@kernel()
def exponentiate_table(tables, at, n_labels, width):
    """Replace scores by ``exp(score - largest)``, 0 in the padding; returns the largest."""
    # The largest pair becomes 1; padded columns are 0, so that padded labels never count. O(K width).
    largest = tables[at]
    for i in range(n_labels):
        for j in range(n_labels):
            largest = max(largest, tables[at + i * width + j])
    shift = simd.splat(tables, largest)
    for i in range(n_labels):
        for c in range(0, width, LANES):
            p = at + i * width + c
            simd.store(tables, p, simd.exp(simd.sub(simd.load(tables, p), shift)))
        for j in range(n_labels, width):
            tables[at + i * width + j] = 0.0
    return largest


@kernel()
def rows_times(tables, at, n_labels, width, x, start, out, to):
    """``out[to + i] = sum_j tables[at, i, j] x[start + j]``, 0 in the padding."""
    for i in range(n_labels):
        s = simd.splat(out, 0.0)
        for c in range(0, width, LANES):
            s = simd.fma(simd.load(tables, at + i * width + c), simd.load(x, start + c), s)
        out[to + i] = simd.total(s)
    for i in range(n_labels, width):
        out[to + i] = 0.0


@kernel()
def times_columns(tables, at, n_labels, width, x, start, out, to):
    """``out[to + j] = sum_i x[start + i] tables[at, i, j]``, like ``lanes.times_table`` but for n_labels rows."""
    for c in range(0, width, LANES):
        s = simd.splat(out, 0.0)
        for i in range(n_labels):
            s = simd.fma(simd.spread(x, start + i), simd.load(tables, at + i * width + c), s)
        simd.store(out, to + c, s)


@kernel()
def sum_in_tables(node, n, n_labels, width, tables, alpha, pull):
    """Log-partition; marginals in place of the scores, of labels in ``node`` and of label pairs in ``tables``.

    NaN if the numbers leave the range of their type, where the rest means nothing.
    """
    smallest = 1e-30 if node.itemsize == 4 else 1e-290
    size = n_labels * width
    log_z, product = 0.0, 1.0
    # As ``lanes.sum_chain``: alpha[t, j] = node[t, j] sum_i alpha[t - 1, i] tables[t, i, j] / z_t, each table relative
    # to its largest entry, which goes into log Z. NaN where z_t nears the smallest number of the type. O(n K width).
    for t in range(n):
        at = t * width
        log_z += exponentiate_row(node, at, width)
        z = 0.0
        if t == 0:
            z += first_row(node, alpha, width)
        else:
            log_z += exponentiate_table(tables, t * size, n_labels, width)
            times_columns(tables, t * size, n_labels, width, alpha, at - width, alpha, at)
            z += times_row(alpha, at, node, at, width)
        if not z > smallest:
            return np.nan
        scale_row(alpha, at, 1.0 / z, width)
        scale_row(node, at, 1.0 / z, width)
        product *= z
        if product < 1e-200 or product > 1e200:
            log_z += np.log(product)
            product = 1.0
    log_z += np.log(product)
    # beta[t, i] = sum_j tables[t + 1, i, j] pull[t + 1, j], pull[t] = node x beta (node was divided by z_t). Marginals
    # alpha beta and alpha tables pull replace node and tables; those of a position must sum to 1, else NaN.
    for t in range(n - 1, -1, -1):
        at = t * width
        if t == n - 1:
            last_row(node, alpha, pull, at, width)
            continue
        table = (t + 1) * size
        rows_times(tables, table, n_labels, width, pull, at + width, pull, at)
        for i in range(n_labels):
            by = simd.spread(alpha, at + i)
            for c in range(0, width, LANES):
                p = table + i * width + c
                value = simd.mul(by, simd.load(pull, at + width + c))
                simd.store(tables, p, simd.mul(simd.load(tables, p), value))
        if not abs(backward_row(node, alpha, pull, at, width) - 1.0) < 1e-3:
            return np.nan
    return log_z


@kernel()
def best_in_tables(node, n, n_labels, width, tables, path):
    """As ``lanes.best_chain``, with one table per edge."""
    size = n_labels * width
    # node[t, i] += max_j (tables[t + 1, i, j] + node[t + 1, j]); O(n K width). Padded j never win: their node scores
    # are NEVER. Ties go to the lowest labels, from the first row on.
    for t in range(n - 2, -1, -1):
        at, following, table = t * width, (t + 1) * width, (t + 1) * size
        for i in range(n_labels):
            top = simd.add(simd.load(tables, table + i * width), simd.load(node, following))
            for c in range(LANES, width, LANES):
                top = simd.larger(
                    top, simd.add(simd.load(tables, table + i * width + c), simd.load(node, following + c))
                )
            node[at + i] += simd.largest(top)
    return read_path(node, n, n_labels, width, tables, size, path)
