"""Sums on forests in log space: the twins of ``forest_products`` for potentials of any size."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.logs import log_sum_exp


@kernel()
def inside_logs(node, edge, f, s, value, message):
    """Log-space twin of ``inside_products``: nothing is normalised."""
    n_labels = node.shape[1]
    lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
    terms = np.empty(n_labels)
    log_z = 0.0
    for t in range(hi - lo):
        for i in range(n_labels):
            value[t, i] = node[lo + t, i]
    # Children before parents: message[v, i] = log sum_j exp(edge[i, j] + value[v, j]), value[p] += message[v], so that
    # value[v] is complete when v is reached. log Z = sum over roots of log sum_i exp(value). O(nodes K^2).
    for place in range(hi - 1, lo - 1, -1):
        v = f.order[place]
        p = f.parent[lo + v]
        if p < 0:
            log_z += log_sum_exp(value[v])
            continue
        pair = edge[f.table[e0 + f.up[lo + v]]]
        for i in range(n_labels):
            for j in range(n_labels):
                terms[j] = (pair[j, i] if f.flip[lo + v] else pair[i, j]) + value[v, j]
            message[v, i] = log_sum_exp(terms)
            value[p, i] += message[v, i]
    return log_z


@kernel()
def outside_logs(node, edge, f, s, weight, value, message, outside, rest, prefix, node_out, pair_out):
    """Log-space twin of ``outside_products``; ``pair_out`` receives finished pair marginals."""
    n_labels = node.shape[1]
    lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
    terms = np.empty(n_labels)
    tree = 0.0
    # Parents before children: outside[c, j] = log sum_i exp(edge[i, j] + node[v, i] + outside[v, i] + messages of the
    # other children of v): ``prefix`` (children before c) + ``rest`` (after c), so that nothing is subtracted.
    # value + outside gives node marginals relative to ``tree``, log Z of the node's own tree. O(nodes K^2).
    for place in range(lo, hi):
        v = f.order[place]
        if f.parent[lo + v] < 0:
            outside[v, :] = 0.0
        for i in range(n_labels):
            terms[i] = value[v, i] + outside[v, i]
            prefix[i] = node[lo + v, i] + outside[v, i]
        tree = log_sum_exp(terms)
        for i in range(n_labels):
            node_out[lo + v, i] = weight * np.exp(terms[i] - tree)
        first = f.first_child[lo + v]
        last = first + f.n_children[lo + v]
        for q in range(last - 1, first - 1, -1):
            c = f.order[lo + q]
            for i in range(n_labels):
                rest[c, i] = 0.0
                if q < last - 1:
                    later = f.order[lo + q + 1]
                    rest[c, i] = rest[later, i] + message[later, i]
        for q in range(first, last):
            c = f.order[lo + q]
            e = f.table[e0 + f.up[lo + c]]
            for i in range(n_labels):
                rest[c, i] += prefix[i]
            for j in range(n_labels):
                for i in range(n_labels):
                    x = edge[e, j, i] if f.flip[lo + c] else edge[e, i, j]
                    terms[i] = rest[c, i] + x
                    p = weight * np.exp(terms[i] + value[c, j] - tree)
                    if f.flip[lo + c]:
                        pair_out[e, j, i] += p
                    else:
                        pair_out[e, i, j] += p
                outside[c, j] = log_sum_exp(terms)
            for i in range(n_labels):
                prefix[i] += message[c, i]
