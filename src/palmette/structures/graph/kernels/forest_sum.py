"""Sums on forests: log-partitions and marginals. Tables as in ``forest_max``.

Scaled products where ``fits_products`` proves that no message leaves the range of a double, else log space, as on
chains. Messages go from the leaves to the roots and back; the message to one child is the product of the messages from
all other neighbours, gathered from both sides of the row of children, so that nothing is ever divided.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.logs import draw_label
from palmette._kernels.ragged import longest_sample
from palmette.structures.graph.kernels.forest_logs import inside_logs, outside_logs
from palmette.structures.graph.kernels.forest_products import (
    exponentiate_tables,
    fits_products,
    inside_products,
    outside_products,
)


@kernel()
def log_partitions(node, edge, f, which, log_z):
    """Log-partitions of the samples ``which``."""
    n_labels = node.shape[1]
    longest = longest_sample(f.offsets)
    work = np.empty((3, longest, n_labels))
    value, local, message = work[0], work[1], work[2]
    factor, shift = np.empty(edge.shape), np.empty(len(edge))
    width, forbidden = np.empty(len(edge)), np.empty(len(edge), np.bool_)
    exponentiate_tables(edge, factor, shift, width, forbidden)
    # Each sample by products where proved exact, else in logs; the tables that it reads decide, so its answer does not
    # depend on its batch. O(nodes K^2) per sample. Memory O(longest K + tables K^2).
    for s in which:
        if fits_products(node, f, s, width, forbidden):
            log_z[s] = inside_products(node, factor, shift, f, s, value, local, message)
        else:
            log_z[s] = inside_logs(node, edge, f, s, value, message)


@kernel()
def expectations(node, edge, f, which, weight, log_z, node_out, pair_out):
    """Log-partitions, node marginals and summed pair marginals of the samples ``which``, each times its weight.

    Pair marginals are added to ``pair_out``, one table for each of ``edge``.
    """
    n_labels = node.shape[1]
    longest = longest_sample(f.offsets)
    work = np.empty((5, longest, n_labels))
    value, local, message, outside, rest = work[0], work[1], work[2], work[3], work[4]
    prefix = np.empty(n_labels)
    factor, shift, gathered = np.empty(edge.shape), np.empty(len(edge)), np.zeros(edge.shape)
    width, forbidden = np.empty(len(edge)), np.empty(len(edge), np.bool_)
    exponentiate_tables(edge, factor, shift, width, forbidden)
    # ``gathered`` has sums of outer products, multiplied by ``factor`` once at the end; samples in log space add
    # finished marginals to ``pair_out``. Memory O(longest K + tables K^2). log Z = -inf adds nothing.
    for s in which:
        products = fits_products(node, f, s, width, forbidden)
        if products:
            log_z[s] = inside_products(node, factor, shift, f, s, value, local, message)
        else:
            log_z[s] = inside_logs(node, edge, f, s, value, message)
        if not log_z[s] > -np.inf:
            for t in range(f.offsets[s], f.offsets[s + 1]):
                node_out[t, :] = 0.0
        elif products:
            outside_products(
                factor, f, s, weight[s], value, local, message, outside, rest, prefix, node_out, gathered
            )
        else:
            outside_logs(
                node, edge, f, s, weight[s], value, message, outside, rest, prefix, node_out, pair_out
            )
    for e in range(len(edge)):
        for i in range(n_labels):
            for j in range(n_labels):
                pair_out[e, i, j] += gathered[e, i, j] * factor[e, i, j]


@kernel()
def draw_labels(node, edge, f, which, draw_of, uniform, path):
    """Exact samples: messages to the roots, then labels from the roots on. ``uniform`` and ``path`` are (draws, rows).

    Sample ``which[k]`` is drawn for the draws where ``draw_of`` (draws, samples) is true. Returns the first sample
    without an allowed labeling, or -1.
    """
    n_labels = node.shape[1]
    longest = longest_sample(f.offsets)
    value, message = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    terms = np.empty(n_labels)
    # p(y_v | y_parent) ~ exp(edge[y_parent, y_v] + value[v, y_v]), parents first. O(nodes K^2) per sample for value,
    # O(nodes K) per draw.
    for s in which:
        lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
        if not inside_logs(node, edge, f, s, value, message) > -np.inf:
            return s
        for d in range(len(path)):
            if not draw_of[d, s]:
                continue
            for place in range(lo, hi):
                v = f.order[place]
                p = f.parent[lo + v]
                for j in range(n_labels):
                    terms[j] = value[v, j]
                    if p >= 0:
                        pair = edge[f.table[e0 + f.up[lo + v]]]
                        above = path[d, lo + p]
                        terms[j] += pair[j, above] if f.flip[lo + v] else pair[above, j]
                path[d, lo + v] = draw_label(terms, uniform[d, lo + v])
    return -1
