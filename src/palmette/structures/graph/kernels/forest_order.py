"""Which graphs of a batch are forests, and the order in which messages pass on those.

Every sample has nodes and edges of its own, numbered from 0; edges are rows ``(a, b)`` of ``edges``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.ragged import longest_sample


@kernel()
def forest_orders(edges, edge_offsets, offsets, forest, order, parent, up, first_child, n_children):
    """Breadth-first orders from the lowest node of every component.

    ``order[offsets[s]:offsets[s + 1]]`` lists the nodes of sample s, parents before children and the children of a
    node next to each other, from place ``first_child`` on. ``up`` is the edge to the parent (-1 for roots). Samples
    with a cycle or with parallel edges are marked false in ``forest``; their other entries have no meaning.
    """
    longest, most = longest_sample(offsets), longest_sample(edge_offsets)
    start, place = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    neighbour, through = np.empty(2 * most, np.int64), np.empty(2 * most, np.int64)
    # Neighbour lists by counting sort, then breadth first; parent is -2 for nodes not met yet, -1 for roots. An edge to
    # a node met before, other than the edge to the parent, closes a cycle. O(nodes + edges) per sample.
    for s in range(len(offsets) - 1):
        lo, n = offsets[s], offsets[s + 1] - offsets[s]
        e0, m = edge_offsets[s], edge_offsets[s + 1] - edge_offsets[s]
        start[: n + 1] = 0
        for e in range(m):
            start[edges[e0 + e, 0] + 1] += 1
            start[edges[e0 + e, 1] + 1] += 1
        for v in range(n):
            start[v + 1] += start[v]
            place[v] = start[v]
            parent[lo + v] = -2
        for e in range(m):
            for side in range(2):
                v = edges[e0 + e, side]
                neighbour[place[v]] = edges[e0 + e, 1 - side]
                through[place[v]] = e
                place[v] += 1
        forest[s] = True
        tail = 0
        for root in range(n):
            if parent[lo + root] != -2:
                continue
            parent[lo + root], up[lo + root], order[lo + tail] = -1, -1, root
            head = tail
            tail += 1
            while head < tail:
                v = order[lo + head]
                head += 1
                first_child[lo + v] = tail
                for p in range(start[v], start[v + 1]):
                    w = neighbour[p]
                    if through[p] == up[lo + v]:
                        continue
                    if parent[lo + w] != -2:
                        forest[s] = False
                        continue
                    parent[lo + w], up[lo + w], order[lo + tail] = v, through[p], w
                    tail += 1
                n_children[lo + v] = tail - first_child[lo + v]
