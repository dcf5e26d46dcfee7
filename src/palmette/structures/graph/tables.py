"""Tables over the label parts of graphs: potentials, costs, counts and marginals all have this shape."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.data.linked import Pairs
from palmette.data.ragged import gather
from palmette.structures.graph.batch import GraphLayout, sample_number
from palmette.structures.positions.tables import ChainTables, Restriction, _dot


class LabelSets:
    """Which labels the nodes of each type can have: ``mask``, bool (n_node_types, n_labels)."""

    __slots__ = ("key", "mask")

    def __init__(self, mask: np.ndarray) -> None:
        self.mask = np.ascontiguousarray(mask, bool)
        self.key = (self.mask.shape, self.mask.tobytes())

    def rows(self, layout: GraphLayout) -> np.ndarray:
        """Labels that each row of a batch can have, bool (n_rows, n_labels)."""
        return self.mask[layout.node_type]


@dataclass(frozen=True)
class GraphTables(ChainTables):
    """One number per (node, label), per (edge, label, label) and per labels of a clique of a batch of graphs.

    Parameters
    ----------
    node : ndarray of float64, shape (n_rows, n_labels)
        Rows of all samples one after the other; -inf at labels that a node cannot have.
    edge : ndarray of float64, shape (n_tables, n_labels, n_labels)
        Edge e, which joins the rows ``(a, b) = edges[e]``, has the table ``edge[edge_table[e]]`` with the label of a
        in its rows. Edges may share a table.
    offsets : ndarray of int64, shape (n_samples + 1,)
    layout : GraphLayout
        Which nodes are joined.
    edge_table : ndarray of int64, shape (n_edges,)
    factors : tuple of ndarray, shape (1 or n_factors, n_labels, ..., n_labels)
        For every type of factors in ``layout`` one table for all, or one each. Structured factors have a number for
        each state instead: "parity" for even and odd, "at_most_one" for at most one and more, "agreement" for every
        label that all nodes have, and for none.
    factor_labels : tuple of int
        Code of the label that each type of structured factors counts; -1 for types without.
    allowed : LabelSets, optional
        Labels that the nodes of each type can have; ``node`` is -inf at the others. None: all.

    Notes
    -----
    ``f(y) = sum_r node[r, y_r] + sum_e edge[edge_table[e], y_a, y_b] + sum over cliques``.

    Examples
    --------
    A triangle whose three edges share a table:

    >>> layout = GraphLayout(np.array([0, 3]), np.array([0, 3]), np.array([[0, 1], [1, 2], [2, 0]]))
    >>> theta = GraphTables(
    ...     np.zeros((3, 2)), np.eye(2)[None], np.array([0, 3]), layout=layout, edge_table=np.zeros(3, int)
    ... )
    >>> theta.n_edges, theta.edges.tolist()
    (3, [[0, 1], [1, 2], [2, 0]])
    """

    layout: GraphLayout = field(kw_only=True)
    edge_table: np.ndarray = field(kw_only=True)
    factors: tuple[np.ndarray, ...] = field(default=(), kw_only=True)
    factor_labels: tuple[int, ...] = field(default=(), kw_only=True)
    allowed: LabelSets | None = field(default=None, kw_only=True)

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shapes of the tables of nodes, edges and cliques."""
        return (self.node.shape, self.edge.shape, *(table.shape for table in self.factors))

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples together."""
        return self.layout.n_edges

    @property
    def n_triples(self) -> int:
        """There are none: cliques of three nodes are factors."""
        return 0

    @property
    def edges(self) -> np.ndarray:
        """The edges as pairs of rows, int64 (n_edges, 2)."""
        return self.layout.edge_rows

    @property
    def edge_offsets(self) -> np.ndarray:
        """Edges of each sample: ``edge_offsets[s]:edge_offsets[s + 1]``."""
        return self.layout.edge_offsets

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The tables as the kernels on forests take them."""
        return self.node, self.edge, self.layout.forests(self.edge_table)

    @property
    def has_own_tables(self) -> bool:
        """Whether every edge has a table of its own, in order."""
        n = self.n_edges
        return len(self.edge) == n and bool(np.array_equal(self.edge_table, np.arange(n)))

    def number(self, s: int) -> int:
        """The number of sample s for messages: its place in what was encoded, of which this may be a part."""
        return sample_number(self.layout.memory[s])

    def check(self) -> None:
        """Refuse what would let a kernel read past an array."""
        for name in ("node", "edge"):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not array.flags.c_contiguous:
                raise TypeError(f"{name} tables must be C-contiguous arrays of float64")
        if self.node.ndim != 2 or self.edge.ndim != 3 or self.edge.shape[1:] != (self.n_labels,) * 2:
            raise ValueError(
                f"node and edge tables have shapes {self.node.shape} and {self.edge.shape}, expected (rows, labels) "
                "and (tables, labels, labels)"
            )
        layout = self.layout
        if self.offsets.dtype != np.int64 or not np.array_equal(self.offsets, layout.offsets):
            raise ValueError(f"offsets must be those of the layout, {layout.offsets}; got {self.offsets}")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.node):
            raise ValueError(f"the layout has {self.offsets[-1]} nodes, but there are {len(self.node)} rows")
        empty = np.flatnonzero(np.diff(self.offsets) < 1)
        if len(empty):
            raise ValueError(f"sample {empty[0]} has no nodes; leave empty samples out")
        table = self.edge_table
        if table.dtype != np.int64 or table.shape != (self.n_edges,):
            raise ValueError(
                f"edge_table must be int64, one per edge ({self.n_edges}); got {table.dtype} {table.shape}"
            )
        if len(table) and not 0 <= table.min() <= table.max() < len(self.edge):
            raise ValueError(f"edge_table names the tables {table.min()}..{table.max()} of {len(self.edge)}")
        if any(group.kind in ("parity", "at_most_one") for group in layout.cliques) and len(
            self.factor_labels
        ) != len(layout.cliques):
            raise ValueError("factor_labels must say of every type of factors which label it counts")
        if len(self.factors) != len(layout.cliques):
            raise ValueError(f"{len(layout.cliques)} types of cliques have {len(self.factors)} tables")
        for values, group in zip(self.factors, layout.cliques):
            shape = group.shape(self.n_labels)
            if values.shape[1:] != shape or len(values) not in (1, len(group.nodes)):
                raise ValueError(
                    f"the table of cliques has shape {values.shape}, expected (1 or {len(group.nodes)}, *{shape})"
                )

    def dot(self, other: Any) -> float:
        """Inner product; ``-inf`` times 0 counts as 0."""
        total = _dot(self.node, other.node) + _dot(self.edge, other.edge)
        return total + sum(_dot(mine, theirs) for mine, theirs in zip(self.factors, other.factors))

    def per_edge(self) -> GraphTables:
        """The same potentials with one table for every edge and every clique."""
        factors = tuple(
            values if len(values) == len(group.nodes) else np.repeat(values, len(group.nodes), axis=0)
            for values, group in zip(self.factors, self.layout.cliques)
        )
        if self.has_own_tables:
            return replace(self, factors=factors)
        return replace(
            self, edge=self.edge[self.edge_table], edge_table=np.arange(self.n_edges), factors=factors
        )

    def pair_cost(self, cost: np.ndarray, pairs: Pairs) -> GraphTables:
        """A cost for every label at every node, and 1 for labels of edges that ``pairs`` do not allow."""
        return self.edge_costs(cost, (~pairs.on(self.edges)).astype(float))

    def edge_costs(self, node: np.ndarray, edge: np.ndarray) -> GraphTables:
        """Costs of labels of nodes, and of labels of both ends of each edge."""
        table = np.arange(self.n_edges)
        return replace(self, node=node, edge=edge, edge_table=table, factors=(), allowed=None)

    def plus(self, cost: Any) -> GraphTables:
        """These potentials with a cost inside; of another model's potentials, edges and factors must be the same."""
        if isinstance(cost, GraphTables):
            mine, theirs = self.layout, cost.layout
            alike = np.array_equal(mine.edge_rows, theirs.edge_rows) and len(mine.cliques) == len(
                theirs.cliques
            )
            if not alike or any(
                a.kind != b.kind or k != m or not np.array_equal(a.nodes, b.nodes)
                for a, b, k, m in zip(mine.cliques, theirs.cliques, self.factor_labels, cost.factor_labels)
            ):
                raise ValueError(
                    "the models see different edges, or types of factors in another order: give both the same graphs, "
                    "and fit them on the same types"
                )
        return combined(self, cost, None)

    def relabelled(self, place: np.ndarray) -> GraphTables:
        """The tables of labels in another order: label k has the numbers of label ``place[k]`` here."""
        base = super().relabelled(place)
        label, factors = {int(old): new for new, old in enumerate(place)}, []
        for values, group in zip(self.factors, self.layout.cliques):
            if group.kind == "table":
                values = values[np.ix_(np.arange(len(values)), *(place,) * (values.ndim - 1))]
            elif group.kind == "agreement":
                values = values[:, np.append(place, self.n_labels)]
            factors.append(values)
        return replace(
            self, node=base.node, edge=base.edge, factors=tuple(factors), allowed=None,
            factor_labels=tuple(label.get(k, -1) for k in self.factor_labels),
        )  # fmt: skip

    def zeros(self, *, per_part: bool = False) -> GraphTables:
        """Zeros in this shape; with ``per_part`` a table for every edge and every clique."""
        labels = self.n_labels
        n_edges = self.n_edges if per_part else len(self.edge)
        factors = tuple(
            np.zeros((len(group.nodes) if per_part else len(values), *values.shape[1:]))
            for values, group in zip(self.factors, self.layout.cliques)
        )
        return replace(
            self,
            node=np.zeros_like(self.node),
            edge=np.zeros((n_edges, labels, labels)),
            edge_table=np.arange(n_edges) if per_part else self.edge_table,
            factors=factors,
        )

    def take(self, samples: np.ndarray) -> GraphTables:
        """Copies of the samples of these numbers, in their order; a sample may be taken more than once."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        edges, _ = gather(self.edge_offsets, samples)
        edge, edge_table = self.edge, self.edge_table[edges]
        if len(edge) > 1 and self.has_own_tables:
            edge, edge_table = edge[edges], np.arange(len(edges))
        factors = tuple(
            values if len(values) == 1 else values[gather(group.offsets, samples)[0]]
            for values, group in zip(self.factors, self.layout.cliques)
        )
        return replace(
            self, node=self.node[rows], edge=edge, offsets=offsets, layout=self.layout.take(samples),
            edge_table=edge_table, factors=factors,
        )  # fmt: skip


def combined(theta: GraphTables, cost: Any, within: Restriction | None, sign: float = 1.0) -> GraphTables:
    """``sign * (theta + cost)`` with -inf on forbidden parts: all that inference needs to know of the three.

    The contradiction of ``within`` is left to the structure.
    """
    if not isinstance(theta, GraphTables):
        raise TypeError(f"the potentials of graphs are GraphTables, got {type(theta).__name__}")
    theta.check()
    if cost is None and within is None and sign == 1.0:
        return theta
    _check_added(theta, cost, within)
    tables = theta
    if cost is not None:
        tables = _plus(tables, cost)
    if sign != 1.0:
        # Forbidden stays forbidden: only finite potentials change sign.
        node, edge, *factors = (
            np.where(np.isneginf(values), values, sign * values)
            for values in (tables.node, tables.edge, *tables.factors)
        )
        tables = replace(tables, node=node, edge=edge, factors=tuple(factors))
    if within is not None and within.node is not None:
        tables = replace(tables, node=np.where(within.node, tables.node, -np.inf))
    if within is not None and within.edge is not None and theta.n_edges:
        if len(within.edge) > 1 or theta.n_edges == 1:
            tables = tables.per_edge()
        tables = replace(tables, edge=np.where(within.edge, tables.edge, -np.inf))
    return tables


def _plus(tables: GraphTables, cost: Any) -> GraphTables:
    node, edge, table = tables.node + cost.node, tables.edge, tables.edge_table
    if len(cost.edge) and tables.n_edges:
        own = cost.edge[cost.edge_table] if isinstance(cost, GraphTables) else cost.edge
        if len(cost.edge) > 1 or tables.n_edges == 1:
            edge, table = edge[table] + own, np.arange(tables.n_edges)
        else:
            edge = edge + cost.edge
    factors = tables.factors
    if getattr(cost, "factors", ()):
        factors = tuple(np.ascontiguousarray(a + b) for a, b in zip(factors, cost.factors))
    return replace(tables, node=node, edge=np.ascontiguousarray(edge), edge_table=table, factors=factors)


def _check_added(theta: GraphTables, cost: Any, within: Restriction | None) -> None:
    if cost is not None:
        if not isinstance(cost, ChainTables):
            raise TypeError(f"cost must be GraphTables, got {type(cost).__name__}")
        if cost.node.shape != theta.node.shape:
            raise ValueError(f"cost.node has shape {cost.node.shape}, expected {theta.node.shape}")
        pair = (theta.n_labels, theta.n_labels)
        counts: tuple[int, ...] = (0, 1, theta.n_edges)
        if isinstance(cost, GraphTables):
            counts = (len(cost.edge),)
            if len(cost.edge) and cost.edge_table.shape != (theta.n_edges,):
                raise ValueError(f"cost has {len(cost.edge_table)} edges, expected {theta.n_edges}")
        if cost.edge.shape[1:] != pair or len(cost.edge) not in counts:
            raise ValueError(
                f"cost.edge has shape {cost.edge.shape}, which fits none of {theta.n_edges} edges"
            )
    if within is not None:
        if not isinstance(within, Restriction):
            raise TypeError(f"within must be a Restriction, got {type(within).__name__}")
        within.check(theta)
