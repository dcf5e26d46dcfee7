"""Scores and counts of given labelings of graphs of any shape; tables as in ``forest_max``, ``edges`` in batch rows."""

from __future__ import annotations

from palmette._kernels.jit import kernel


@kernel()
def labeling_scores(node, edge, table, offsets, edge_offsets, edges, path, total):
    """Score of one labeling per sample, nodes and edges."""
    # f(y) = sum_t node[t, y_t] + sum_e edge[table[e], y_a, y_b]; O(nodes + edges). -inf where a part is forbidden.
    for s in range(len(offsets) - 1):
        value = 0.0
        for t in range(offsets[s], offsets[s + 1]):
            value += node[t, path[t]]
        for e in range(edge_offsets[s], edge_offsets[s + 1]):
            value += edge[table[e], path[edges[e, 0]], path[edges[e, 1]]]
        total[s] = value


@kernel()
def add_counts(table, offsets, edge_offsets, edges, path, weight, node_out, edge_out):
    """Add the counts of one labeling per sample, times its weight."""
    # The adjoint of ``labeling_scores``: outputs are added to, edges that share a table into that table.
    for s in range(len(offsets) - 1):
        x = weight[s]
        for t in range(offsets[s], offsets[s + 1]):
            node_out[t, path[t]] += x
        for e in range(edge_offsets[s], edge_offsets[s + 1]):
            edge_out[table[e], path[edges[e, 0]], path[edges[e, 1]]] += x
