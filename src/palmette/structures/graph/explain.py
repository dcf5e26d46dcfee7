"""Description of the inference methods used for each graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.ragged import offsets_from_lengths
from palmette.features.encoded import EncodedInputs
from palmette.inference.factor_graph import Topology
from palmette.inference.junction_tree import JunctionTree
from palmette.structures.graph.batch import CliqueRows, GraphBatch, GraphLayout
from palmette.structures.graph.factor_graphs import factor_graph, shape_of
from palmette.structures.graph.inputs import checked_edges, checked_factors, graph_inputs
from palmette.structures.graph.methods import MOST_ENTRIES, NOT_EXACT, GraphMethods
from palmette.structures.graph.tables import GraphTables
from palmette.structures.graph.tally import remedy

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
    shapes = _by_shape(theta, others)
    for own in shapes[:MOST_LINES]:
        lines += _of_a_shape(structure, theta, own, known)
    if len(shapes) > MOST_LINES:
        rest = shapes[MOST_LINES:]
        n_more, shapes_of = sum(map(len, rest)), "1 shape" if len(rest) == 1 else f"{len(rest)} shapes"
        lines.append(f"... and {n_more} more graphs with cycles or cliques, of {shapes_of}")
    return "\n".join(lines)


def _by_shape(theta: GraphTables, samples: list[int]) -> list[list[int]]:
    """Samples of the same topology and cliques together, in the order of the first of each."""
    found: dict[Any, list[int]] = {}
    for s in samples:
        found.setdefault((shape_of(theta, s).topology.key, _n_cliques(theta, s)), []).append(s)
    return list(found.values())


def _n_cliques(theta: GraphTables, s: int) -> int:
    return sum(int(group.offsets[s + 1] - group.offsets[s]) for group in theta.layout.cliques)


def _of_a_shape(structure: GraphMethods, theta: GraphTables, samples: list[int], known: bool) -> list[str]:
    """A line for each method that graphs of one shape have: that of the best labels depends on the potentials."""
    by_method: dict[str, list[int]] = {}
    if known:
        for s in samples:
            by_method.setdefault(structure.best_method(factor_graph(theta, s)), []).append(s)
    else:
        by_method[structure.best_method(factor_graph(theta, samples[0]))] = samples
    return [_line(structure, theta, own, best, known) for best, own in by_method.items()]


def _line(structure: GraphMethods, theta: GraphTables, samples: list[int], best: str, known: bool) -> str:
    s = samples[0]
    topology = shape_of(theta, s).topology
    a, b = theta.edge_offsets[s : s + 2].tolist()
    n_cliques, parts = _n_cliques(theta, s), _n_components(topology.n_vars, topology)
    cliques = f", {n_cliques} factors of several nodes" if n_cliques else ""
    n_nodes = int(theta.offsets[s + 1] - theta.offsets[s])
    size = structure.tree_size(topology)
    if structure.tree_of(topology) is None:
        width = f"a junction tree would need cliques of 2^{size.log2_size:.1f} entries"
    else:
        width = f"junction tree of 2^{size.log2_size:.1f} entries at most"
    how = _METHODS[best]
    pairs = topology.cards.max() <= 2 and topology.arity.max(initial=2) <= 2
    if not known and pairs and best in (*NOT_EXACT, "integer_program"):
        how += ", or a graph cut where the weights are submodular"
    if best in NOT_EXACT and structure.oracle == "relaxed":
        how += "; SSVM trains on the linear relaxation"
    shape = f"{n_nodes} nodes, {b - a} edges{cliques}, {parts} component{'s' * (parts > 1)}, {width}"
    return f"{_named(samples)}: {shape}: best labels by {how}; sums by {_sums(structure, topology)}"


def _named(samples: list[int]) -> str:
    """Numbers of samples, the first few of many.

    >>> _named([3]), _named([0, 1, 2]), _named([0, 2, 4, 6, 8])
    ('sample 3', 'samples 0, 1, 2', 'samples 0, 2, 4 and 2 more')
    """
    first = ", ".join(map(str, samples[:3]))
    more = f" and {len(samples) - 3} more" if len(samples) > 3 else ""
    return f"sample{'s' * (len(samples) > 1)} {first}{more}"


def _sums(structure: GraphMethods, topology: Topology) -> str:
    """How sums are found, and what makes them exact if they are not."""
    method = structure.sum_method(topology)
    if structure.sums != "auto" or method == "junction_tree":
        return _METHODS[method]
    size, why = structure.tree_size(topology), remedy("sums", [structure.size_of(topology)])
    if isinstance(size, JunctionTree):
        why = f"exact ones would go through 2^{size.log2_entries:.1f} entries, more than 2^{MOST_ENTRIES:g}; {why}"
    return f"{_METHODS[method]}: {why}"


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
