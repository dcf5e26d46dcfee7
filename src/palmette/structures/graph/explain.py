"""Description of the inference methods used for each graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.ragged import offsets_from_lengths
from palmette.features.encoded import EncodedInputs
from palmette.structures.graph.batch import CliqueRows, GraphBatch, GraphLayout
from palmette.structures.graph.factor_graphs import factor_graph, shape_of
from palmette.structures.graph.inputs import checked_edges, checked_factors, graph_inputs
from palmette.structures.graph.methods import NOT_EXACT, GraphMethods, tree_advice
from palmette.structures.graph.tables import GraphTables

MOST_LINES = 20

_METHODS = {
    "junction_tree": "a junction tree (exact)",
    "graph_cut": "a graph cut (exact: two labels each, submodular)",
    "integer_program": "an integer program (exact)",
    "bounded": "sequential message passing with a bound (exact where value and bound meet)",
    "loopy": "loopy max-product (approximate)",
    "reweighted": "tree-reweighted message passing (an upper bound, convex)",
    "bethe": "loopy belief propagation (Bethe: approximate, no bound)",
}


def explain(structure: GraphMethods, X: Any, n_labels: int | None = None) -> str:
    """See :meth:`palmette.Graph.explain`."""
    theta = _tables(X, n_labels)
    known = isinstance(X, GraphTables)
    forests, others = structure.parted(theta)
    layout = theta.layout
    guess = "" if known or n_labels is not None else " (n_labels says how many if others)"
    size = f"{len(theta)} graphs, {len(theta.node)} nodes, {layout.n_edges} edges"
    lines = [f"{size}, {theta.n_labels} labels{guess}"]
    if len(forests):
        lines.append(
            f"{len(forests)} forests: best labels and sums by message passing along the trees (exact), all in one call"
        )
    for s in others[:MOST_LINES]:
        lines.append(_line(structure, theta, s, known))
    if len(others) > MOST_LINES:
        lines.append(f"... and {len(others) - MOST_LINES} more graphs with cycles or cliques")
    return "\n".join(lines)


def _line(structure: GraphMethods, theta: GraphTables, s: int, known: bool) -> str:
    topology = shape_of(theta, s).topology
    tree = structure.tree_of(topology)
    a, b = theta.edge_offsets[s : s + 2].tolist()
    n_cliques = sum(int(group.offsets[s + 1] - group.offsets[s]) for group in theta.layout.cliques)
    cliques = f", {n_cliques} factors of several nodes" if n_cliques else ""
    n_nodes = int(theta.offsets[s + 1] - theta.offsets[s])
    parts = _n_components(topology.n_vars, topology)
    if tree is None:
        error = topology.memory["too wide", structure.memory_limit]
        width = f"a junction tree would need cliques of 2^{error.log2_size:.1f} entries"
        width += tree_advice(error.n_bytes) or ", out of reach"
    else:
        width = f"junction tree of 2^{tree.log2_size:.1f} entries at most"
    best = structure.best_method(factor_graph(theta, s))
    how = _METHODS[best]
    pairs = topology.cards.max() <= 2 and topology.arity.max(initial=2) <= 2
    if not known and pairs and best in (*NOT_EXACT, "integer_program"):
        how += ", or a graph cut where the weights are submodular"
    if best in NOT_EXACT and structure.oracle == "relaxed":
        how += "; SSVM trains on the linear relaxation"
    sums = _METHODS[structure.sum_method(topology)]
    return (
        f"sample {s}: {n_nodes} nodes, {b - a} edges{cliques}, {parts} component{'s' * (parts > 1)}, {width}: "
        f"best labels by {how}; sums by {sums}"
    )


def _n_components(n: int, topology: Any) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.repeat(topology.scope[topology.scope_ptr[:-1]], topology.arity)
    graph = coo_array((np.ones(len(first), bool), (first, topology.scope)), shape=(n, n))
    return int(connected_components(graph, directed=False)[0])


def _tables(X: Any, n_labels: int | None) -> GraphTables:
    """Potentials, or some of their shape."""
    if isinstance(X, GraphTables):
        return X
    if isinstance(X, EncodedInputs):
        X = X.batch
    layout = X.layout if isinstance(X, GraphBatch) else _layout(X)
    n = 2 if n_labels is None else int(n_labels)
    return GraphTables(
        np.zeros((int(layout.offsets[-1]), n)),
        1.0 - np.eye(n)[None],  # not submodular, since weights need not be
        layout.offsets,
        layout=layout,
        edge_table=np.zeros(layout.n_edges, np.int64),
        factors=tuple(np.zeros((1, *group.shape(n))) for group in layout.cliques),
        factor_labels=(0,) * len(layout.cliques),
    )


def _layout(X: Any) -> GraphLayout:
    graphs = graph_inputs(X)
    edges = [checked_edges(graph, i) for i, graph in enumerate(graphs)]
    factors = [checked_factors(graph, i) for i, graph in enumerate(graphs)]
    groups = []
    for kind, width in sorted({(factor.kind, factor.nodes.shape[1]) for own in factors for factor in own}):
        parts = [[f.nodes for f in own if (f.kind, f.nodes.shape[1]) == (kind, width)] for own in factors]
        nodes = np.concatenate([nodes for part in parts for nodes in part])
        groups.append(CliqueRows(nodes, offsets_from_lengths([sum(map(len, part)) for part in parts]), kind))
    return GraphLayout(
        offsets_from_lengths([len(graph) for graph in graphs]),
        offsets_from_lengths([len(own) for own in edges]),
        np.concatenate(edges) if edges else np.empty((0, 2), np.int64),
        cliques=tuple(groups),
    )
