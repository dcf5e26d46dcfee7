"""Graphs as users hold them: nodes with features, edges between them, and cliques of several nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.outside import refuse_masked
from palmette.data.sequences import n_items
from palmette.structures.graph.cliques import Factor


class GraphInput:
    """The input of one sample of a :class:`~palmette.Graph`.

    Parameters
    ----------
    nodes : 2-D array, sparse matrix, list of dicts or of lists of strings
        Features of every node.
    edges : array of int, shape (n_edges, 2)
        Pairs of nodes, numbered from 0. The table of label pairs of edge ``(a, b)`` has the label of a in its rows.
    edge_features : like nodes, optional
        Features of every edge.
    node_types, edge_types : sequence of hashables, optional
        Nodes and edges of different types have different weights; all have type 0 if not given.
    factors : sequence of :class:`Clique`, :class:`AtMostOne`, :class:`Parity` and :class:`Agreement`, optional
        Factors on several nodes at once.
    labels : dict, optional
        ``{node type: [labels]}``: labels that the nodes of each type can have, the same in all samples. By default they
        are learned (see :class:`~palmette.Graph`).

    Examples
    --------
    >>> graph = GraphInput(np.eye(3), [(0, 1), (1, 2)])
    >>> len(graph), graph.n_edges
    (3, 2)
    """

    __slots__ = ("edge_features", "edge_types", "edges", "factors", "labels", "node_types", "nodes")

    def __init__(
        self,
        nodes: Any,
        edges: Any = (),
        edge_features: Any = None,
        node_types: Any = None,
        edge_types: Any = None,
        factors: Any = (),
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        self.nodes = nodes
        self.edges = edges
        self.edge_features = edge_features
        self.node_types = node_types
        self.edge_types = edge_types
        self.factors = (factors,) if isinstance(factors, Factor) else () if factors is None else factors
        self.labels = labels

    def __len__(self) -> int:
        return n_items(self.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    def __repr__(self) -> str:
        return f"GraphInput({len(self)} nodes, {self.n_edges} edges)"


NAMES = GraphInput.__slots__


def graph_inputs(X: Any) -> list[GraphInput]:
    """`X` as a list of graphs: of :class:`GraphInput`, ``(nodes, edges[, edge_features])`` or dicts of these.

    >>> graph_inputs([(np.eye(2), [(0, 1)]), {"nodes": [["a"], ["b"]], "edges": []}])
    [GraphInput(2 nodes, 1 edges), GraphInput(2 nodes, 0 edges)]
    """
    if isinstance(X, GraphInput | Mapping | str | bytes) or not isinstance(X, Iterable):
        raise TypeError(
            f"X must be a list of graphs, got {type(X).__name__}; a single graph g is given as [g]"
        )
    return [_graph_input(x, i) for i, x in enumerate(X)]


def _graph_input(x: Any, i: int) -> GraphInput:
    if isinstance(x, GraphInput):
        graph = x
    elif isinstance(x, Mapping):
        unknown = [key for key in x if key not in NAMES]
        if unknown or "nodes" not in x:
            what = f"has the key {unknown[0]!r}" if unknown else "has no 'nodes'"
            raise ValueError(f"X[{i}] {what}; the keys of a graph are {', '.join(sorted(NAMES))}")
        graph = GraphInput(**x)
    elif isinstance(x, tuple | list) and len(x) in (2, 3):
        graph = GraphInput(*x)
    else:
        raise TypeError(
            f"X[{i}] must be a GraphInput, a tuple (nodes, edges) or (nodes, edges, edge_features), or a dict of these"
            f"; got {type(x).__name__}. A single graph g is given as [g]"
        )
    if isinstance(graph.nodes, Mapping | str | bytes) and not sparse.issparse(graph.nodes):
        raise TypeError(
            f"X[{i}]: nodes must be an array or a list with the features of every node, got {graph.nodes!r:.60}"
        )
    if not hasattr(graph.nodes, "__len__") and not hasattr(graph.nodes, "shape"):
        raise TypeError(f"X[{i}]: nodes must be an array or a list, got {type(graph.nodes).__name__}")
    return graph


def checked_edges(graph: GraphInput, i: int) -> np.ndarray:
    """The edges of sample ``i`` as int64 (n_edges, 2); what is not an edge is refused."""
    refuse_masked(graph.edges, f"sample {i}: edges")
    try:
        edges = np.asarray(graph.edges)
    except ValueError:  # rows of different lengths
        edges = np.asarray([None])
        for e, edge in enumerate(graph.edges):
            if np.size(edge) != 2:
                raise ValueError(f"sample {i}: edge {e} = {edge!r:.60} is not a pair of nodes") from None
    if not edges.size:
        return np.empty((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"sample {i}: edges must be integers of shape (n_edges, 2), got {edges.dtype} of shape {edges.shape}"
        )
    edges = edges.astype(np.int64)
    n = len(graph)
    bad = np.flatnonzero((edges < 0).any(axis=1) | (edges >= n).any(axis=1))
    if len(bad):
        raise ValueError(
            f"sample {i}: edge {bad[0]} = {edges[bad[0]].tolist()} names a node that does not exist: the graph has "
            f"{n} nodes, numbered from 0"
        )
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(
            f"sample {i}: edge {loops[0]} = {edges[loops[0]].tolist()} is a self-loop; put what depends on one node "
            "into its features"
        )
    return edges


def refuse_duplicates(edges: np.ndarray, kind: np.ndarray, symmetric: np.ndarray, i: int) -> None:
    """Refuse two edges of one type between the same nodes; in symmetric types also in opposite directions.

    ``kind`` is the number of the type of every edge, ``symmetric`` says of every edge whether its type is.
    """
    if len(edges) < 2:
        return
    ends = np.where(symmetric[:, None], np.sort(edges, axis=1), edges)
    key = np.column_stack([ends, kind])
    order = np.lexsort(key.T)
    same = np.flatnonzero(np.all(key[order[1:]] == key[order[:-1]], axis=1))
    if len(same):
        first, second = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise ValueError(
            f"sample {i}: edge {second} = {edges[second].tolist()} is a duplicate of edge {first} = "
            f"{edges[first].tolist()}; merge them, or give them different edge_types"
        )


def checked_factors(graph: GraphInput, i: int) -> list[Factor]:
    """The factors of sample ``i``; nodes that do not exist or stand twice in a factor are refused."""
    factors = list(graph.factors)
    for f, factor in enumerate(factors):
        if not isinstance(factor, Factor):
            raise TypeError(
                f"sample {i}: factors[{f}] must be a Clique, AtMostOne, Parity or Agreement, got {factor!r:.60}"
            )
        outside = np.argwhere((factor.nodes < -1) | (factor.nodes >= len(graph)))
        if len(outside):
            k = int(outside[0][0])
            raise ValueError(
                f"sample {i}: factors[{f}], number {k} = {factor.nodes[k].tolist()} names a node that does not exist: "
                f"the graph has {len(graph)} nodes, numbered from 0"
            )
        ordered = np.sort(factor.nodes, axis=1)
        twice = np.flatnonzero(np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1))
        if len(twice):
            raise ValueError(
                f"sample {i}: factors[{f}], number {twice[0]} = {factor.nodes[twice[0]].tolist()} names a node twice"
            )
    return factors


def common_labels(graphs: Sequence[GraphInput], known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Labels of the node types that graphs declare; one that declares others than an earlier one is refused.

    >>> common_labels([GraphInput([["a"]], labels={0: ["x", "y"]}), GraphInput([["b"]])])
    {0: ['x', 'y']}
    """
    found = dict(known or {})
    for i, graph in enumerate(graphs):
        if graph.labels is not None and not isinstance(graph.labels, Mapping):
            raise TypeError(
                f"sample {i}: labels must be a dict {{node type: [labels]}}, got {graph.labels!r:.60}"
            )
        for kind, labels in (graph.labels or {}).items():
            own, first = list(labels), found.setdefault(kind, list(labels))
            if set(own) != set(first):
                raise ValueError(
                    f"sample {i}: nodes of type {kind!r} have {len(own)} labels, {own!r:.60}, but in earlier samples "
                    f"{len(first)}, {first!r:.60}; give them the same, or another node type"
                )
    return found


def listed_types(given: Any, n: int, what: str, i: int) -> list[Any]:
    """One type per node or edge, as a list; 0 for all if not given."""
    if given is None:
        return [0] * n
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise TypeError(f"sample {i}: {what}_types must be a list of one type a {what}, got {given!r:.60}")
    found = given.tolist() if isinstance(given, np.ndarray) else list(given)
    for k, name in enumerate(found):
        if not isinstance(name, Hashable):
            raise TypeError(
                f"sample {i}: {what}_types[{k}] is not hashable, {name!r:.60}; use strings or numbers"
            )
    if len(found) != n:
        raise ValueError(f"sample {i}: {what}_types has {len(found)} entries, but the graph has {n} {what}s")
    return found


# -- common shapes ----------------------------------------------------------------------------------------------


def chain_graph(nodes: Any) -> GraphInput:
    """A path through the nodes in their order: the graph of a sequence.

    >>> np.asarray(chain_graph(np.zeros((3, 1))).edges)
    array([[0, 1],
           [1, 2]])
    """
    n = n_items(nodes)
    first = np.arange(max(n - 1, 0))
    return GraphInput(nodes, np.column_stack([first, first + 1]))


def tree_graph(nodes: Any, parents: Sequence[int]) -> GraphInput:
    """A forest, given by the parent of every node (-1 for roots); edges run from parent to child.

    >>> np.asarray(tree_graph(np.zeros((3, 1)), [-1, 0, 0]).edges)
    array([[0, 1],
           [0, 2]])
    """
    parent = np.asarray(parents, np.int64)
    if parent.shape != (n_items(nodes),):
        raise ValueError(f"parents has shape {parent.shape}, expected one per node, ({n_items(nodes)},)")
    child = np.flatnonzero(parent >= 0)
    return GraphInput(nodes, np.column_stack([parent[child], child]))


def grid_graph(array: Any, neighbourhood: int = 4, directions: bool = True) -> GraphInput:
    """A grid, row by row: every cell is a node, joined with its 4 or 8 neighbours.

    Parameters
    ----------
    array : array of shape (height, width, n_features) or (height, width)
    neighbourhood : {4, 8}
    directions : bool, default=True
        Whether horizontal, vertical and diagonal edges have weights of their own (``edge_types``).

    Examples
    --------
    >>> graph = grid_graph(np.zeros((2, 2, 1)))
    >>> np.asarray(graph.edges).tolist(), graph.edge_types.tolist()
    ([[0, 1], [2, 3], [0, 2], [1, 3]], [0, 0, 1, 1])
    """
    array = np.asarray(array)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3:
        raise ValueError(f"a grid has shape (height, width, n_features), got {array.shape}")
    if neighbourhood not in (4, 8):
        raise ValueError(f"neighbourhood must be 4 or 8, got {neighbourhood!r}")
    height, width = array.shape[:2]
    number = np.arange(height * width).reshape(height, width)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    if neighbourhood == 8:
        pairs += [(number[:-1, :-1], number[1:, 1:]), (number[:-1, 1:], number[1:, :-1])]
    edges = [np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs]
    types = np.repeat(np.arange(len(edges)), [len(part) for part in edges])
    nodes = array.reshape(height * width, -1)
    return GraphInput(nodes, np.concatenate(edges), edge_types=types if directions else None)
