"""Maximisation on forests: best labelings and max-marginals.

Tables: ``node`` is (rows, labels), ``edge`` (tables, labels, labels), and edge e of the batch reads ``edge[table[e]]``.
``f`` is a ``palmette.structures.graph.batch.Forests``. Its ``order``, ``parent`` and ``up`` are those of
``forest_order``, counted from the first row and edge of each sample; where ``flip`` the edge to the parent runs from
child to parent, so that its table is read transposed.
Labels are decided from the lowest node of every tree on: among equally good ones the lowest wins.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.ragged import longest_sample


@kernel(fastmath=MAXIMA)
def inside_maxima(node, edge, f, s, value, message):
    """``value[v, i]``: best score of the subtree of node v with label i; ``message[v]``: what its parent sees."""
    n_labels = node.shape[1]
    lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
    for t in range(hi - lo):
        for i in range(n_labels):
            value[t, i] = node[lo + t, i]
    # Children before parents: message[v, i] = max_j (edge[i, j] + value[v, j]), value[p] += message[v]; O(nodes K^2).
    # Invariant: value[v] is complete when v is reached, since all its children come later in ``order``.
    for place in range(hi - 1, lo - 1, -1):
        v = f.order[place]
        p = f.parent[lo + v]
        if p < 0:
            continue
        pair = edge[f.table[e0 + f.up[lo + v]]]
        own, seen, above = value[v], message[v], value[p]
        if f.flip[lo + v]:
            for i in range(n_labels):
                seen[i] = -np.inf
            for j in range(n_labels):
                x = own[j]
                for i in range(n_labels):
                    seen[i] = max(seen[i], pair[j, i] + x)
        else:
            for i in range(n_labels):
                best = -np.inf
                for j in range(n_labels):
                    best = max(best, pair[i, j] + own[j])
                seen[i] = best
        for i in range(n_labels):
            above[i] += seen[i]


@kernel()
def best_labels(node, edge, f, which, path, total):
    """Best labels of the samples ``which``; the total is -inf where there are none."""
    n_labels = node.shape[1]
    longest = longest_sample(f.offsets)
    value, message = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    # Roots take their best label, then each node the best one given its parent's; only a strictly better label
    # replaces a lower one. The total is the sum over the trees. O(nodes K^2) per sample, O(longest K) memory.
    for s in which:
        lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
        inside_maxima(node, edge, f, s, value, message)
        total[s] = 0.0
        for place in range(lo, hi):
            v = f.order[place]
            p = f.parent[lo + v]
            own = value[v]
            label = 0
            if p < 0:
                for j in range(1, n_labels):
                    if own[j] > own[label]:
                        label = j
                total[s] += own[label]
            else:
                pair = edge[f.table[e0 + f.up[lo + v]]]
                above = path[lo + p]
                if f.flip[lo + v]:
                    for j in range(1, n_labels):
                        if pair[j, above] + own[j] > pair[label, above] + own[label]:
                            label = j
                else:
                    for j in range(1, n_labels):
                        if pair[above, j] + own[j] > pair[above, label] + own[label]:
                            label = j
            path[lo + v] = label


@kernel(fastmath=MAXIMA)
def max_marginals(node, edge, f, which, node_out, edge_out):
    """Best score with each label (rows, labels) and each label pair (edges, labels, labels) fixed."""
    n_labels = node.shape[1]
    longest = longest_sample(f.offsets)
    value, message = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    outside, rest = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    prefix = np.empty(n_labels)
    tree = np.empty(longest)
    # outside[c, j] = max_i (edge[i, j] + node[v, i] + outside[v, i] + messages of the other children of v), gathered
    # from both sides: ``prefix`` (children before c) + ``rest`` (after c). Roots begin with the best of all other
    # trees. Node: outside + value; pair: without + edge + value. O(nodes K^2) per sample, O(longest K) memory.
    for s in which:
        lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
        inside_maxima(node, edge, f, s, value, message)
        total = 0.0
        for place in range(lo, hi):
            v = f.order[place]
            p = f.parent[lo + v]
            if p < 0:
                best = -np.inf
                for i in range(n_labels):
                    best = max(best, value[v, i])
                tree[v] = best
                total += best
            else:
                tree[v] = tree[p]
        for place in range(lo, hi):
            v = f.order[place]
            # The best of all other trees comes to every part of this one.
            others = total - tree[v] if total > -np.inf else -np.inf
            if f.parent[lo + v] < 0:
                outside[v, :] = others
            for i in range(n_labels):
                node_out[lo + v, i] = outside[v, i] + value[v, i]
            first = f.first_child[lo + v]
            last = first + f.n_children[lo + v]
            for i in range(n_labels):
                prefix[i] = outside[v, i] + node[lo + v, i]
            for q in range(last - 1, first - 1, -1):
                c = f.order[lo + q]
                for i in range(n_labels):
                    rest[c, i] = 0.0
                if q < last - 1:
                    later = f.order[lo + q + 1]
                    for i in range(n_labels):
                        rest[c, i] = rest[later, i] + message[later, i]
            for q in range(first, last):
                c = f.order[lo + q]
                e = e0 + f.up[lo + c]
                pair = edge[f.table[e]]
                for j in range(n_labels):
                    outside[c, j] = -np.inf
                for i in range(n_labels):
                    without = prefix[i] + rest[c, i]
                    for j in range(n_labels):
                        reach = without + (pair[j, i] if f.flip[lo + c] else pair[i, j])
                        outside[c, j] = max(outside[c, j], reach)
                        if f.flip[lo + c]:
                            edge_out[e, j, i] = reach + value[c, j]
                        else:
                            edge_out[e, i, j] = reach + value[c, j]
                for i in range(n_labels):
                    prefix[i] += message[c, i]
