"""Graphs by definition: every labeling, scored part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palmette.data.annotation import Annotation, OneOf
from palmette.data.linked import Linked, Pairs
from palmette.structures.graph.batch import CliqueRows, GraphLayout
from palmette.structures.graph.graph import Graph
from palmette.structures.graph.inputs import GraphInput
from palmette.structures.graph.tables import GraphTables
from palmette.testing.chain_instances import EXACT
from palmette.testing.graph_instances import KINDS, draw_graphs
from palmette.testing.reference import Cost, Instance, register_reference
from palmette.testing.row_reference import labelled_rows, rows_of, with_sets
from palmette.testing.table_reference import TableReference


class GraphReference(TableReference):
    """Labelings of graphs with tables of nodes, edges and cliques.

    Parts are ``("node", v, label)``, ``("edge", e, label, label)`` and ``("clique", type, f, labels...)`` with nodes,
    edges and cliques counted inside the sample.

    Examples
    --------
    >>> layout = GraphLayout(np.array([0, 2]), np.array([0, 1]), np.array([[1, 0]]))
    >>> theta = GraphTables(
    ...     np.zeros((2, 2)), np.array([[[0.0, 1.0], [2.0, 3.0]]]), np.array([0, 2]), layout=layout,
    ...     edge_table=np.zeros(1, int),
    ... )
    >>> {y: GraphReference().score(theta, 0, y) for y in GraphReference().outputs(theta, 0)}
    {(0, 0): 0.0, (0, 1): 2.0, (1, 0): 1.0, (1, 1): 3.0}
    """

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        for name, scores, n_labels, shapes, tables in KINDS:
            theta = draw_graphs(rng, scores, n_labels, shapes, tables)
            yield Instance(name, theta, exact=scores[0] in EXACT)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Cycles and trees whose rows tell the labels."""
        X, Y = labelled_rows(rng)
        ends = [[(v, v + 1) for v in range(len(x) - 1)] for x in X]
        cycles = [
            [*own, (len(x) - 1, 0)] if k % 2 and len(x) > 2 else own
            for k, (x, own) in enumerate(zip(X, ends))
        ]
        return [GraphInput(x, np.array(own)) for x, own in zip(X, cycles)], Y

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[Any, ...]]]]:
        """A sample without nodes."""
        layout = GraphLayout(np.array([0, 2, 2, 3]), np.zeros(4, int), np.empty((0, 2), int))
        tables = rng.normal(size=(3, 2)), np.zeros((1, 2, 2))
        theta = GraphTables(*tables, layout.offsets, layout=layout, edge_table=np.empty(0, int))
        yield Instance("a sample without nodes", theta), [(0, 1), (), (1,)]

    def zeros(self, theta: GraphTables) -> GraphTables:
        """The same shape, all potentials 0, also those that were forbidden."""
        factors = tuple(map(np.zeros_like, theta.factors))
        return replace(super().zeros(theta), factors=factors, allowed=None)

    def counts(self, theta: GraphTables, weights: Any) -> GraphTables:
        """Weighted counts of the parts in theta's shape."""
        return replace(super().counts(theta, weights), allowed=theta.allowed)

    # -- where numbers stand ----------------------------------------------------------------------------

    def starts(self, theta: GraphTables, kind: str) -> list[int]:
        """Where each sample begins among the nodes or the edges."""
        offsets = {"node": theta.offsets, "edge": theta.edge_offsets}[kind]
        return offsets.tolist()

    def place(self, tables: GraphTables, s: int, part: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
        """The array and the index that hold a part's number."""
        kind, t, *labels = part
        if kind == "node":
            return super().place(tables, s, part)
        if kind == "edge":
            return tables.edge, (int(tables.edge_table[int(tables.edge_offsets[s]) + t]), *labels)
        f, *own = labels
        table = tables.factors[t]
        return table, (0 if len(table) == 1 else int(tables.layout.cliques[t].offsets[s]) + f, *own)

    def every_part(self, tables: GraphTables, theta: GraphTables, s: int) -> Iterator[tuple[Any, ...]]:
        """All parts of sample ``s`` that the tables speak of."""
        yield from super().every_part(tables, theta, s)
        for k, group in enumerate(theta.layout.cliques if tables.factors else ()):
            for f in range(_span(group.offsets, s)):
                yield from (("clique", k, f, *own) for own in np.ndindex(*_dims(group, theta.n_labels)))

    def neighbours(self, theta: GraphTables) -> tuple[np.ndarray, np.ndarray]:
        """Rows at the two ends of every edge."""
        return theta.edges[:, 0], theta.edges[:, 1]

    # -- some of the samples ----------------------------------------------------------------------------

    def select(self, theta: GraphTables, samples: Sequence[int]) -> GraphTables:
        """The graphs of some samples, laid out anew; tables that edges share stay as they are."""
        rows, edges = rows_of(theta, samples), self.entries(theta, samples, "edge")
        lengths = [_span(theta.offsets, s) for s in samples]
        n_edges = [_span(theta.edge_offsets, s) for s in samples]
        cliques, factors = [], []
        for group, table in zip(theta.layout.cliques, theta.factors):
            chosen = rows_of(group, samples)
            counts = [_span(group.offsets, s) for s in samples]
            cliques.append(CliqueRows(group.nodes[chosen], np.cumsum([0, *counts]), group.kind))
            factors.append(table if len(table) == 1 else table[chosen])
        layout = GraphLayout(
            np.cumsum([0, *lengths]), np.cumsum([0, *n_edges]), theta.layout.edges[edges],
            theta.layout.node_type[rows], theta.layout.edge_type[edges], tuple(cliques),
        )  # fmt: skip
        edge, table = _edge_tables(theta, edges)
        return replace(
            theta, node=theta.node[rows], edge=edge, offsets=layout.offsets, layout=layout, edge_table=table,
            factors=tuple(factors),
        )  # fmt: skip

    # -- outputs ----------------------------------------------------------------------------------------

    def parts(self, theta: GraphTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """Nodes, edges and cliques."""
        found: list[tuple[Any, ...]] = [("node", v, label) for v, label in enumerate(y)]
        lo, hi = theta.edge_offsets[s : s + 2].tolist()
        found += [("edge", e, y[a], y[b]) for e, (a, b) in enumerate(theta.layout.edges[lo:hi].tolist())]
        for k, group in enumerate(theta.layout.cliques):
            own = group.nodes[group.offsets[s] : group.offsets[s + 1]].tolist()
            label = theta.factor_labels[k] if theta.factor_labels else -1
            for f, nodes in enumerate(own):
                state = _state(group.kind, [y[v] for v in nodes if v >= 0], label, theta.n_labels)
                found.append(("clique", k, f, *state))
        return found

    def read_parts(self, theta: GraphTables, tables: GraphTables) -> list[dict[tuple[Any, ...], float]]:
        """The entries of node (rows, labels), edge (edges, labels, labels) and of a table for every clique."""
        labels = theta.node.shape[1]
        expected = [theta.node.shape, (theta.n_edges, labels, labels)]
        for group in theta.layout.cliques:
            expected.append((len(group.nodes), *_dims(group, labels)))
        found = [table.shape for table in (tables.node, tables.edge, *tables.factors)]
        if found != expected:
            raise AssertionError(f"tables have shapes {found}, expected {expected}")
        arrays: dict[str, Any] = {"node": tables.node, "edge": tables.edge, "factors": tables.factors}
        return self.by_part(replace(theta, edge_table=np.arange(theta.n_edges), **arrays), theta)

    # -- costs, restrictions, annotations, risks --------------------------------------------------------

    def draw_annotations(self, rng: np.random.Generator, theta: GraphTables) -> Iterator[list[Any]]:
        """Also allowed labels of some edges, read in either direction, beside those of some nodes."""
        yield from super().draw_annotations(rng, theta)
        own, n_labels, noted = rng.spawn(1)[0], theta.n_labels, []
        for s, y in enumerate(self.unpack(theta, own.integers(0, n_labels, len(theta.node)))):
            lo, hi = theta.edge_offsets[s : s + 2].tolist()
            edges = {
                frozenset(ends): own.permutation(ends).tolist() for ends in theta.layout.edges[lo:hi].tolist()
            }
            pairs = {}
            for u, v in edges.values():
                if own.random() < 0.7:
                    more = own.integers(0, n_labels, (int(own.integers(0, 3)), 2)).tolist()
                    pairs[u, v] = OneOf((y[u], y[v]), *map(tuple, more))
            codes = [code if own.random() < 0.3 else -1 for code in y]
            noted.append(Linked(with_sets(own, codes, n_labels), pairs))
        yield noted

    def contradicts(self, y: tuple[int, ...], annotation: Sequence[Any]) -> bool:
        """Whether a known row differs, or an edge has labels that are not allowed."""
        pairs = annotation.pairs if isinstance(annotation, Linked) else {}
        wrong = any((y[u], y[v]) not in allowed.labels for (u, v), allowed in pairs.items())
        return wrong or super().contradicts(y, annotation)

    def pack(self, theta: GraphTables, outputs: Sequence[Any]) -> Any:
        """All codes one after the other; with sets of codes or allowed labels of edges an annotation."""
        found = super().pack(theta, outputs)
        places, tables = [], []
        for start, y in zip(theta.offsets.tolist(), outputs):
            for (u, v), allowed in sorted(y.pairs.items()) if isinstance(y, Linked) else ():
                places.append((start + u, start + v))
                tables.append(np.zeros((theta.n_labels,) * 2, bool))
                tables[-1][tuple(zip(*allowed.labels))] = True
        if not places:
            return found
        if not isinstance(found, Annotation):
            found = Annotation(found, np.empty((0, theta.n_labels), bool))
        return replace(found, pairs=Pairs(np.array(places), np.arange(len(places)), np.array(tables)))

    def draw_cost(self, rng: np.random.Generator, theta: GraphTables, whole: bool) -> Cost:
        """A cost on nodes only, with one table for all edges, or part by part."""
        labels, kind = theta.node.shape[1], int(rng.integers(3))
        kind = kind if theta.n_edges else 0
        name, n_tables = [("on nodes", 0), ("on all edges alike", 1), ("part by part", theta.n_edges)][kind]
        shapes = [theta.node.shape, (n_tables, labels, labels)]
        if kind == 2:
            shapes += [(len(g.nodes), *_dims(g, labels)) for g in theta.layout.cliques]
        node, edge, *factors = (np.round(x) if whole else x for x in (rng.normal(size=s) for s in shapes))
        table = np.arange(n_tables) if kind == 2 else np.zeros(theta.n_edges if kind else 0, int)
        given = replace(theta, node=node, edge=edge, edge_table=table, factors=tuple(factors), allowed=None)
        return Cost(f"cost {name}", given, self.by_part(given, theta))

    def select_cost(self, theta: GraphTables, given: GraphTables, samples: Sequence[int]) -> GraphTables:
        """Node rows, edge tables and tables of cliques of some samples."""
        part, node = self.select(theta, samples), given.node[rows_of(theta, samples)]
        edge, table = _edge_tables(given, self.entries(theta, samples, "edge"))
        groups = zip(given.factors, theta.layout.cliques)
        factors = tuple(own[rows_of(group, samples)] for own, group in groups)
        return replace(part, node=node, edge=edge, edge_table=table, factors=factors, allowed=None)


def _dims(group: CliqueRows, n_labels: int) -> tuple[int, ...]:
    """Shape of the table of a factor: of labels, or of states."""
    states = {"parity": 2, "at_most_one": 2, "agreement": n_labels + 1}
    return (states[group.kind],) if group.kind in states else (n_labels,) * group.nodes.shape[1]


def _state(kind: str, labels: list[int], label: int, n_labels: int) -> tuple[int, ...]:
    """The entry of a factor's table that belongs to the labels of its nodes."""
    if kind == "parity":
        return (labels.count(label) % 2,)
    if kind == "at_most_one":
        return (int(labels.count(label) > 1),)
    if kind == "agreement":
        return (labels[0] if len(set(labels)) == 1 else n_labels,)
    return tuple(labels)


def _span(offsets: np.ndarray, s: int) -> int:
    return int(offsets[s + 1] - offsets[s])


def _edge_tables(given: GraphTables, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tables of some edges, and which of them each has; tables that edges share stay as they are."""
    if not len(given.edge_table):
        return given.edge, given.edge_table
    if len(given.edge) > 1 and np.array_equal(given.edge_table, np.arange(len(given.edge))):
        return given.edge[edges], np.arange(len(edges))
    return given.edge, given.edge_table[edges]


register_reference(Graph, GraphReference())
