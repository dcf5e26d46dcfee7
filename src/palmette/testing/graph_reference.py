"""Graphs by definition: every labeling, scored part by part."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from palmette.structures.graph.batch import CliqueRows, GraphLayout
from palmette.structures.graph.graph import Graph
from palmette.structures.graph.tables import GraphTables
from palmette.structures.positions.tables import Restriction
from palmette.testing.graph_instances import graph_instances
from palmette.testing.reference import Cost, Instance, Limit, register_reference
from palmette.testing.row_reference import RowReference, rows_of


class GraphReference(RowReference):
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
        return graph_instances(rng)

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[Any, ...]]]]:
        """A sample without nodes."""
        layout = GraphLayout(np.array([0, 2, 2, 3]), np.zeros(4, int), np.empty((0, 2), int))
        theta = GraphTables(
            rng.normal(size=(3, 2)),
            np.zeros((1, 2, 2)),
            layout.offsets,
            layout=layout,
            edge_table=np.empty(0, int),
        )
        yield Instance("a sample without nodes", theta), [(0, 1), (), (1,)]

    def zeros(self, theta: GraphTables) -> GraphTables:
        """The same shape, all potentials 0, also those that were forbidden."""
        return replace(
            theta,
            node=np.zeros_like(theta.node),
            edge=np.zeros_like(theta.edge),
            factors=tuple(np.zeros_like(table) for table in theta.factors),
            allowed=None,
        )

    def select(self, theta: GraphTables, samples: Sequence[int]) -> GraphTables:
        """The graphs of some samples, laid out anew; tables that edges share stay as they are."""
        rows, edges = rows_of(theta, samples), _edges(theta, samples)
        lengths = [_span(theta.offsets, s) for s in samples]
        n_edges = [_span(theta.edge_offsets, s) for s in samples]
        own = len(theta.edge) == len(theta.edge_table) and np.array_equal(
            theta.edge_table, np.arange(len(theta.edge))
        )
        cliques, factors = [], []
        for group, table in zip(theta.layout.cliques, theta.factors):
            chosen = [f for s in samples for f in range(group.offsets[s], group.offsets[s + 1])]
            counts = [_span(group.offsets, s) for s in samples]
            cliques.append(CliqueRows(group.nodes[chosen], np.cumsum([0, *counts]), group.kind))
            factors.append(table.copy() if len(table) == 1 else table[chosen])
        layout = GraphLayout(
            np.cumsum([0, *lengths]), np.cumsum([0, *n_edges]), theta.layout.edges[edges],
            theta.layout.node_type[rows], theta.layout.edge_type[edges], tuple(cliques),
        )  # fmt: skip
        return GraphTables(
            theta.node[rows],
            theta.edge[edges] if own and len(theta.edge) > 1 else theta.edge.copy(),
            layout.offsets,
            layout=layout,
            edge_table=np.arange(len(edges)) if own and len(theta.edge) > 1 else theta.edge_table[edges],
            factors=tuple(factors),
            allowed=theta.allowed,
            factor_labels=theta.factor_labels,
        )

    # -- outputs ----------------------------------------------------------------------------------------

    def parts(self, theta: GraphTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """Nodes, edges and cliques."""
        found: list[tuple[Any, ...]] = [("node", v, label) for v, label in enumerate(y)]
        lo, hi = theta.edge_offsets[s : s + 2].tolist()
        found += [("edge", e, y[a], y[b]) for e, (a, b) in enumerate(theta.layout.edges[lo:hi].tolist())]
        for k, group in enumerate(theta.layout.cliques):
            own = group.nodes[group.offsets[s] : group.offsets[s + 1]].tolist()
            label = theta.factor_labels[k] if theta.factor_labels else -1
            found += [
                (
                    "clique",
                    k,
                    f,
                    *_state(group.kind, [y[v] for v in nodes if v >= 0], label, theta.node.shape[1]),
                )
                for f, nodes in enumerate(own)
            ]
        return found

    def score(self, theta: GraphTables, s: int, y: tuple[int, ...]) -> float:
        """Sum of the potentials of the parts."""
        return math.fsum(self.part_score(theta, s, part) for part in self.parts(theta, s, y))

    def part_score(self, theta: GraphTables, s: int, part: tuple[Any, ...]) -> float:
        """The potential of one part."""
        array, index = _place(theta, s, part)
        return float(array[index])

    def counts(self, theta: GraphTables, weights: Any) -> GraphTables:
        """Weighted counts of the parts in theta's shape."""
        out = replace(self.zeros(theta), allowed=theta.allowed)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for part in self.parts(theta, s, y):
                    array, index = _place(out, s, part)
                    array[index] += weight
        return out

    def read_parts(self, theta: GraphTables, tables: GraphTables) -> list[dict[tuple[Any, ...], float]]:
        """The entries of node (rows, labels), edge (edges, labels, labels) and of a table for every clique."""
        labels = theta.node.shape[1]
        expected = [theta.node.shape, (theta.n_edges, labels, labels)]
        for group in theta.layout.cliques:
            expected.append((len(group.nodes), *_dims(group, labels)))
        found = [table.shape for table in (tables.node, tables.edge, *tables.factors)]
        if found != expected:
            raise AssertionError(f"tables have shapes {found}, expected {expected}")
        whole = replace(
            theta,
            node=tables.node,
            edge=tables.edge,
            edge_table=np.arange(theta.n_edges),
            factors=tables.factors,
        )
        return [_by_part(whole, s) for s in range(len(theta))]

    # -- costs, restrictions, annotations, risks --------------------------------------------------------

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
        return Cost(f"cost {name}", given, [_by_part(given, s) for s in range(len(theta))])

    def select_cost(self, theta: GraphTables, given: GraphTables, samples: Sequence[int]) -> GraphTables:
        """Node rows, edge tables and tables of cliques of some samples."""
        part = self.select(theta, samples)
        edges = _edges(theta, samples)
        edge, table = given.edge, given.edge_table[:0]
        if len(given.edge_table):
            own = np.array_equal(given.edge_table, np.arange(len(given.edge))) and len(given.edge) > 1
            edge = given.edge[edges] if own else given.edge
            table = np.arange(len(edges)) if own else given.edge_table[edges]
        factors = [
            own[[f for s in samples for f in range(group.offsets[s], group.offsets[s + 1])]]
            for own, group in zip(given.factors, theta.layout.cliques)
        ]
        return replace(
            part, node=given.node[rows_of(theta, samples)], edge=edge, edge_table=table, factors=tuple(factors),
            allowed=None,
        )  # fmt: skip

    def draw_limits(self, rng: np.random.Generator, theta: GraphTables) -> Iterator[Limit]:
        """Nothing allowed, fixed labels, allowed labels, allowed pairs, contradiction, and combinations."""
        n_rows, n_labels = theta.node.shape
        planted = self.plant(rng, theta)
        full: Any = rng.integers(0, n_labels, n_rows)
        somewhere = np.array([rng.choice(rows_of(theta, [s])) for s in range(len(theta))])
        full[somewhere] = (planted[somewhere] + 1) % n_labels
        partial = np.where(rng.random(n_rows) < 0.5, full, -1)
        partial[somewhere] = full[somewhere]
        labels = rng.random((n_rows, n_labels)) < 0.6
        labels[np.arange(n_rows), planted] = True
        a, b = theta.edges[:, 0], theta.edges[:, 1]
        pairs = rng.random((theta.n_edges, n_labels, n_labels)) < 0.5
        pairs[np.arange(len(a)), planted[a], planted[b]] = True
        same_pairs = rng.random((1, n_labels, n_labels)) < 0.5
        same_pairs[0, planted[a], planted[b]] = True
        nothing = labels.copy()
        nothing[rng.integers(n_rows)] = False
        for name, within in [
            ("nothing allowed", Restriction(node=nothing)),
            ("no pair allowed", Restriction(edge=np.zeros_like(same_pairs))),
            ("fixed labels", Restriction.fixed(np.where(rng.random(n_rows) < 0.5, planted, -1), n_labels)),
            ("allowed labels", Restriction(node=labels)),
            ("allowed pairs", Restriction(edge=same_pairs)),
            ("allowed pairs of each edge", Restriction(edge=pairs)),
            ("contradiction", Restriction(contradicts=full)),
            ("contradiction of some labels", Restriction(contradicts=partial)),
            ("allowed labels and pairs, contradiction", Restriction(labels, same_pairs, partial)),
        ]:
            allows = functools.partial(self._allows, theta, within)
            yield Limit(f"within {name}", within, allows, contradicting=within.contradicts is not None)

    def _allows(self, theta: GraphTables, within: Restriction, s: int, y: tuple[int, ...]) -> bool:
        lo = int(theta.offsets[s])
        if within.node is not None and not all(within.node[lo + v, label] for v, label in enumerate(y)):
            return False
        if within.edge is not None:
            first = int(theta.edge_offsets[s])
            for part in self.parts(theta, s, y):
                if (
                    part[0] == "edge"
                    and not within.edge[(0 if len(within.edge) == 1 else first + part[1], *part[2:])]
                ):
                    return False
        return within.contradicts is None or self.contradicts(
            y, within.contradicts[lo : lo + len(y)].tolist()
        )

    def select_within(self, theta: GraphTables, given: Restriction, samples: Sequence[int]) -> Restriction:
        """The restriction of some samples."""
        rows, edge = rows_of(theta, samples), given.edge
        if edge is not None and len(edge) != 1:
            edge = edge[_edges(theta, samples)]
        return Restriction(
            None if given.node is None else given.node[rows],
            edge,
            None if given.contradicts is None else given.contradicts[rows],
        )


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


def _edges(theta: GraphTables, samples: Sequence[int]) -> np.ndarray:
    bounds = theta.edge_offsets
    return np.array([e for s in samples for e in range(bounds[s], bounds[s + 1])], int)


def _place(tables: GraphTables, s: int, part: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """The array and the index that hold a part's number."""
    kind, t, *labels = part
    if kind == "node":
        return tables.node, (int(tables.offsets[s]) + t, *labels)
    if kind == "edge":
        return tables.edge, (int(tables.edge_table[int(tables.edge_offsets[s]) + t]), *labels)
    f, *own = labels
    table = tables.factors[t]
    return table, (0 if len(table) == 1 else int(tables.layout.cliques[t].offsets[s]) + f, *own)


def _by_part(tables: GraphTables, s: int) -> dict[tuple[Any, ...], float]:
    """All parts of sample ``s`` that the tables speak of, and their numbers."""
    labels = range(tables.node.shape[1])
    parts: list[tuple[Any, ...]] = [("node", v, i) for v in range(_span(tables.offsets, s)) for i in labels]
    if len(tables.edge):
        parts += [
            ("edge", e, i, j) for e in range(_span(tables.edge_offsets, s)) for i in labels for j in labels
        ]
    if tables.factors:
        for k, group in enumerate(tables.layout.cliques):
            every = list(product(*map(range, _dims(group, len(labels)))))
            parts += [("clique", k, f, *own) for f in range(_span(group.offsets, s)) for own in every]
    places = ((part, _place(tables, s, part)) for part in parts)
    return {part: float(array[index]) for part, (array, index) in places}


register_reference(Graph, GraphReference())
