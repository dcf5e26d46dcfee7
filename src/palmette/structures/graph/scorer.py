"""Linear scores of graphs: features of nodes and edges, types of both, symmetric edges, cliques."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import check_array, check_codes, check_type, entry, group, needed
from palmette.registry import register
from palmette.structures.graph.batch import GraphBatch
from palmette.structures.graph.layout import FactorKind, canonical, pair_code, possible_pairs
from palmette.structures.graph.scorer_checks import check_parts, moved_codes
from palmette.structures.graph.scorer_parts import score_parts
from palmette.structures.graph.tables import GraphTables, LabelSets
from palmette.structures.positions.layout import check_weights, moved, positions, used_columns
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.part_norms import part_norms
from palmette.structures.positions.score_parts import Part
from palmette.structures.positions.tables import ChainTables

TABLES_A_BLOCK = 2**18  # numbers in the edge tables of one block: 2 MB


@register("scorer", "graph")
@dataclass(frozen=True)
class GraphScorer:
    """Potentials of graphs, linear in the weights.

    A node of type t scores ``<node, x> + bias[t]``, an edge of type t ``edge[t, i, j] + <edge_features, x_e>[i, j]``, a
    clique of type t ``factors[t]``. Columns of different types stand apart, so all weights of a type are its own. In
    symmetric types of edges the pairs ``i, j`` and ``j, i`` share their weights. The weight vector is
    ``[node | bias | edge | edge_features | factors]``.

    Parameters
    ----------
    nodes : LinearScorer
        Of node weights.
    edge_weights : LinearScorer or None
        Of edge features; its "labels" are codes of label pairs (``pair_code``).
    intercept : bool
        Whether there is a bias for every label of every type of nodes.
    pairs : ndarray of int64
        ``(t * n_labels + i) * n_labels + j`` of the pairs that have an edge weight, with ``i <= j`` in symmetric types.
    symmetric : ndarray of bool, shape (n_edge_types,)
    allowed : ndarray of bool, shape (n_node_types, n_labels)
    factors : tuple of FactorKind
        What the factors of every type are.
    """

    nodes: LinearScorer
    edge_weights: LinearScorer | None
    intercept: bool
    pairs: np.ndarray
    symmetric: np.ndarray
    allowed: np.ndarray
    factors: tuple[FactorKind, ...] = ()

    has_edges = True
    row_blocks: ClassVar[tuple[str, ...]] = ("node",)

    @classmethod
    def for_data(
        cls, batch: GraphBatch, codes: np.ndarray, n_labels: int, *, states: str, transitions: str, intercept: bool,
        symmetric: np.ndarray, n_node_types: int, allowed: np.ndarray | None = None, edge_bias: bool = True,
        edge_states: str = "all", factor_labels: tuple[int, ...] = (),
    ) -> GraphScorer:  # fmt: skip
        """Lay out the weights for training data; see :meth:`LinearScorer.for_data`.

        ``allowed`` are the labels of every node type; ``edge_bias=False`` leaves edges with features alone.
        """
        layout = batch.layout
        n_tables = len(symmetric) * n_labels**2
        check_weights(
            f"{n_labels:,} labels and {len(symmetric):,} edge types",
            n_edge=n_tables if edge_bias and transitions == "all" else 0,
            n_tables=n_tables,
        )
        if allowed is None:
            allowed = np.ones((n_node_types, n_labels), bool)
        plain = {"transitions": "all", "intercept": False, "has_edges": False}
        nodes = LinearScorer.for_data(batch, codes, n_labels, states=states, **plain)  # type: ignore[arg-type]
        ends = layout.edge_rows
        known = np.all(codes[ends] >= 0, axis=1)
        pair = np.where(known, codes[ends[:, 0]].astype(np.int64) * n_labels + codes[ends[:, 1]], 0)
        canon = canonical(n_labels, symmetric)
        found = (layout.edge_type * n_labels**2 + canon[layout.edge_type, pair])[known]
        pairs = np.empty(0, np.int64)
        if edge_bias:
            if transitions == "all":
                possible = possible_pairs(batch, allowed, len(symmetric))
                kinds, every = np.nonzero(possible.reshape(len(symmetric), -1))
                pairs = np.unique(kinds * n_labels**2 + canon[kinds, every])
            else:
                pairs = np.unique(found)
        edge_weights = None
        if batch.edge_rows is not None:
            code = pair_code(n_labels, symmetric)
            rows = Batch(batch.edge_rows, layout.edge_offsets)
            own = np.where(known, code[layout.edge_type, pair], -1).astype(np.int32)
            edge_weights = LinearScorer.for_data(
                rows,
                own,
                int(code.max()) + 1,
                states=edge_states,
                **plain,  # type: ignore[arg-type]
            )
        labels = factor_labels or (-1,) * len(layout.cliques)
        factors = tuple(
            FactorKind(group.kind, group.nodes.shape[1] if group.kind == "table" else 0, label)
            for group, label in zip(layout.cliques, labels)
        )
        return cls(nodes, edge_weights, intercept, pairs, symmetric, allowed, factors)

    def with_columns(self, n_columns: int) -> GraphScorer:
        """The same layout for dense rows of nodes of another number of columns."""
        return replace(self, nodes=self.nodes.with_columns(n_columns))

    # -- layout -------------------------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.nodes.n_labels

    @property
    def n_columns(self) -> int:
        """Feature columns of nodes and of edges together."""
        return self.nodes.n_columns + (0 if self.edge_weights is None else self.edge_weights.n_columns)

    # Cached: sequential solvers ask for these at every step.

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """Where the weights of each kind stand in the weight vector."""
        sizes = {
            "node": self.nodes.n_params,
            "bias": self.allowed.size * self.intercept,
            "edge": len(self.pairs),
            "edge_features": 0 if self.edge_weights is None else self.edge_weights.n_params,
            "factors": sum(factor.n_weights(self.n_labels) for factor in self.factors),
        }
        bounds = np.cumsum([0, *sizes.values()]).tolist()
        return {name: slice(a, b) for name, a, b in zip(sizes, bounds, bounds[1:])}

    @cached_property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.blocks["factors"].stop

    @cached_property
    def rows_a_block(self) -> int:
        """Rows to score at once, so that one edge table per row stays in the cache."""
        return 2**62 if self.edge_weights is None else max(1, TABLES_A_BLOCK // self.n_labels**2)

    @property
    def usual_blocks(self) -> int:
        """Blocks of the usual size to score at once: graphs of two labels and one shape are summed eight at once."""
        return 8 if self.n_labels == 2 and self.has_edges else 1

    @cached_property
    def table_weights(self) -> np.ndarray:
        """For every entry of the edge tables its place in ``pairs``; the place after the last one where it has none."""
        n = self.n_labels**2
        key = np.arange(len(self.symmetric))[:, None] * n + canonical(self.n_labels, self.symmetric)
        at = np.searchsorted(self.pairs, key)
        there = np.append(self.pairs, -1)[at] == key
        return np.where(there, at, len(self.pairs)).ravel()

    @property
    def arities(self) -> tuple[int, ...]:
        """Nodes of the factors of every type; 0 where it does not matter."""
        return tuple(factor.arity for factor in self.factors)

    @cached_property
    def pair_codes(self) -> np.ndarray:
        """The code of every pair of labels, a row for each type of edges."""
        return pair_code(self.n_labels, self.symmetric)

    @cached_property
    def _sets(self) -> LabelSets | None:
        return None if self.allowed.all() else LabelSets(self.allowed)

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and label of every node weight."""
        return self.nodes.coordinates()

    def edge_coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column, first label and second label of every weight of edge features; of symmetric ones the lower first."""
        if self.edge_weights is None:
            return (np.empty(0, np.int64),) * 3
        column, code = self.edge_weights.coordinates()
        if self.symmetric.all():  # codes are numbered without gaps
            code = np.unique(canonical(self.n_labels, self.symmetric))[code]
        return column + self.nodes.n_columns, *np.divmod(code, self.n_labels)

    def weight_columns(self) -> np.ndarray:
        """The column of features that each weight multiplies, -1 for weights of labels alone."""
        column = np.full(self.n_params, -1)
        column[self.blocks["node"]] = self.coordinates()[0]
        column[self.blocks["edge_features"]] = self.edge_coordinates()[0]
        return column

    def edge_table(self, w: np.ndarray) -> np.ndarray:
        """Edge weights as tables, shape (n_edge_types, labels, labels)."""
        own = np.append(w[self.blocks["edge"]], 0.0)
        return own[self.table_weights].reshape(-1, self.n_labels, self.n_labels)

    def factor_tables(self, w: np.ndarray) -> tuple[np.ndarray, ...]:
        """Weights of factors as tables for every type: shape (1, labels, ..., labels), or (1, states)."""
        at, tables = self.blocks["factors"].start, []
        for factor in self.factors:
            size = factor.n_weights(self.n_labels)
            if factor.kind == "at_most_one":
                tables.append(np.array([[0.0, -np.inf]]))
            else:
                tables.append(w[at : at + size].reshape(1, *factor.shape(self.n_labels)).copy())
            at += size
        return tuple(tables)

    # -- score and pull back ------------------------------------------------------------------------------------

    def score(self, w: np.ndarray, batch: GraphBatch) -> GraphTables:
        """Potentials of a batch; with edge features one table per edge."""
        layout, blocks = batch.layout, self.blocks
        node = self.nodes.score(w[blocks["node"]], batch).node
        if self.intercept:
            bias = w[blocks["bias"]].reshape(self.allowed.shape)
            node += bias[0] if len(bias) == 1 else bias[layout.node_type]
        if self._sets is not None:
            node[~self._sets.rows(layout)] = -np.inf
        edge, table = self.edge_table(w), layout.edge_type
        if self.edge_weights is not None:
            own = self.edge_weights.score(w[blocks["edge_features"]], self._edge_batch(batch)).node
            edge = (edge if len(edge) == 1 else edge[table]) + self._spread(own, layout.edge_type)
            table = np.arange(layout.n_edges)
        return GraphTables(
            node, edge, batch.offsets, layout=layout, edge_table=table, factors=self.factor_tables(w),
            allowed=self._sets, factor_labels=tuple(factor.label for factor in self.factors),
        )  # fmt: skip

    def _edge_batch(self, batch: GraphBatch) -> Batch:
        assert batch.edge_rows is not None, "the model has edge features, the batch has none"
        return Batch(batch.edge_rows, batch.layout.edge_offsets)

    def _spread(self, own: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """Numbers of codes of pairs as tables."""
        n = self.n_labels
        if self.symmetric.any():
            code = self.pair_codes
            one = len(code) == 1
            own = np.take(own, code[0], axis=1) if one else np.take_along_axis(own, code[kind], axis=1)
        return own.reshape(-1, n, n)

    def pull_back(self, counts: GraphTables, batch: GraphBatch, out: np.ndarray) -> None:
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        layout, blocks, n = batch.layout, self.blocks, self.n_labels
        self.nodes.pull_back(counts, batch, out[blocks["node"]])
        if self.intercept:
            bias = out[blocks["bias"]].reshape(self.allowed.shape)
            if len(bias) == 1:
                bias[0] += counts.node.sum(axis=0)
            else:
                np.add.at(bias, layout.node_type, counts.node)
        if len(self.pairs):
            edge = counts.edge
            if self.edge_weights is not None:
                kind = layout.edge_type[:, None] * n**2 + np.arange(n**2)
                edge = np.bincount(kind.ravel(), counts.edge.ravel(), len(self.symmetric) * n**2)
            summed = np.bincount(self.table_weights, edge.ravel(), minlength=len(self.pairs) + 1)
            out[blocks["edge"]] += summed[:-1]
        if self.edge_weights is not None and layout.n_edges:
            own = counts.edge.reshape(-1, n * n)
            if self.symmetric.any():
                width = self.edge_weights.n_labels
                place = np.arange(len(own))[:, None] * width + self.pair_codes[layout.edge_type]
                own = np.bincount(place.ravel(), own.ravel(), len(own) * width).reshape(-1, width)
            tables = ChainTables(own, np.empty((0, 1, 1)), layout.edge_offsets)
            self.edge_weights.pull_back(tables, self._edge_batch(batch), out[blocks["edge_features"]])
        at = blocks["factors"].start
        for factor, values in zip(self.factors, counts.factors):
            size = factor.n_weights(n)
            if size:
                out[at : at + size] += values.sum(axis=0).ravel()
            at += size

    def part_norms(self, batch: GraphBatch) -> GraphTables:
        """Norms of the features of every part, in the shape of potentials."""
        return part_norms(self, batch)

    def touched(self, batch: GraphBatch) -> np.ndarray:
        """Positions of the weights that the samples of ``batch`` can change."""
        blocks = self.blocks
        own = [self.nodes.touched(batch), np.arange(blocks["bias"].start, blocks["edge"].stop)]
        if self.edge_weights is not None:
            own.append(blocks["edge_features"].start + self.edge_weights.touched(self._edge_batch(batch)))
        own.append(np.arange(blocks["factors"].start, blocks["factors"].stop))
        return np.concatenate(own)

    # -- explanations -------------------------------------------------------------------------------------------

    def parts(self, w: np.ndarray, batch: GraphBatch, codes: np.ndarray, near: np.ndarray) -> Iterator[Part]:
        """The summands of the score of the labels of one graph, as far as they touch the rows ``near`` (bool)."""
        return score_parts(self, w, batch, codes, near)

    # -- persistence and growth ---------------------------------------------------------------------------------

    def carry_over(
        self, old: GraphScorer, w: np.ndarray, labels: np.ndarray, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights of ``old`` in this layout; see :meth:`LinearScorer.carry_over`. Types keep their numbers."""
        out, mine, theirs = np.zeros(self.n_params), self.blocks, old.blocks
        n_old = old.nodes.n_columns
        own = (
            None if columns is None else np.where(columns[:n_old] < self.nodes.n_columns, columns[:n_old], -1)
        )
        out[mine["node"]] = self.nodes.carry_over(old.nodes, w[theirs["node"]], labels, own)
        if self.intercept and old.intercept and len(self.allowed) == len(old.allowed):
            bias = w[theirs["bias"]].reshape(old.allowed.shape)
            out[mine["bias"]].reshape(self.allowed.shape)[:, labels] = bias
        kind, pair = np.divmod(old.pairs, old.n_labels**2)
        if len(kind) and kind.max() < len(self.symmetric):
            key = moved(pair, 2, old.n_labels, labels, self.n_labels)
            key = kind * self.n_labels**2 + canonical(self.n_labels, self.symmetric)[kind, key]
            at, there = positions(self.pairs, key)
            out[mine["edge"]][at] = w[theirs["edge"]][there]
        if self.edge_weights is not None and old.edge_weights is not None:
            codes = moved_codes(old, self, labels)
            if codes is not None:
                shift = None if columns is None else columns[n_old:] - self.nodes.n_columns
                out[mine["edge_features"]] = self.edge_weights.carry_over(
                    old.edge_weights, w[theirs["edge_features"]], codes, shift
                )
        if [f[:2] for f in self.factors] == [f[:2] for f in old.factors]:
            at = mine["factors"].start
            for factor, values in zip(self.factors, old.factor_tables(w)):
                size = factor.n_weights(self.n_labels)
                part = out[at : at + size].reshape(factor.shape(self.n_labels)) if size else None
                if factor.kind == "table":
                    part[np.ix_(*(labels,) * factor.arity)] = values[0]  # type: ignore[index]
                elif factor.kind == "agreement":
                    part[np.append(labels, self.n_labels)] = values[0]  # type: ignore[index]
                elif size:
                    part[:] = values[0]  # type: ignore[index]
                at += size
        return out

    def used_columns(self, w: np.ndarray) -> np.ndarray:
        """Which columns have a weight that is not 0 for some type, bool (n_columns,): types share their features."""
        used, n = used_columns(self, w), self.nodes.n_columns
        parts = used[:n].reshape(len(self.allowed), -1), used[n:].reshape(len(self.symmetric), -1)
        return np.concatenate([np.tile(part.any(axis=0), len(part)) for part in parts])

    def restricted(self, w: np.ndarray, keep: np.ndarray) -> GraphScorer:
        """The layout of the columns that stay; see :meth:`LinearScorer.restricted`."""
        n, blocks, edge_weights = self.nodes.n_columns, self.blocks, self.edge_weights
        if edge_weights is not None:
            edge_weights = edge_weights.restricted(w[blocks["edge_features"]], keep[n:])
        return replace(
            self, nodes=self.nodes.restricted(w[blocks["node"]], keep[:n]), edge_weights=edge_weights
        )

    def joined(self, old: GraphScorer) -> GraphScorer:
        """This layout plus all weights of ``old`` (same labels and types; columns of ``old`` keep their numbers)."""
        edge_weights = self.edge_weights
        if edge_weights is not None and old.edge_weights is not None:
            edge_weights = edge_weights.joined(old.edge_weights)
        return replace(
            self,
            nodes=self.nodes.joined(old.nodes),
            edge_weights=edge_weights,
            pairs=np.union1d(self.pairs, old.pairs),
            allowed=self.allowed | old.allowed,
        )

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array."""
        check_parts(self)

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Raise ValueError unless nodes have so many columns, and edges so many."""
        self.nodes.check_inputs(n_columns, 0)
        if n_more != (0 if self.edge_weights is None else self.edge_weights.n_columns):
            raise ValueError(f"edges have {n_more} columns, the weights are for {self.edge_weights}")

    def check_dense(self) -> None:
        """Raise ValueError unless the layout serves dense rows of nodes."""
        self.nodes.check_dense()

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        header: dict[str, Any] = {"intercept": self.intercept, "factors": [list(f) for f in self.factors]}
        arrays = {
            "pairs": self.pairs,
            "symmetric": self.symmetric.astype(np.uint8),
            "allowed": self.allowed.astype(np.uint8),
        }
        for name, scorer in (("nodes", self.nodes), ("edges", self.edge_weights)):
            header[name] = None
            if scorer is not None:
                header[name], own = scorer.state()
                arrays |= {f"{name}.{key}": array for key, array in own.items()}
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> GraphScorer:
        """Inverse of :meth:`state`."""
        nodes = LinearScorer.from_state(entry(header, "nodes", dict, "the scorer"), group(arrays, "nodes"))
        edges = header.get("edges")
        if edges is not None:
            edges = LinearScorer.from_state(check_type("edges", edges, dict), group(arrays, "edges"))
        symmetric, allowed = (
            check_codes(name, check_array(name, needed(arrays, name), np.uint8, ndim), 2).astype(bool)
            for name, ndim in (("symmetric", 1), ("allowed", 2))
        )
        factors = entry(header, "factors", list, "the scorer")
        return cls(
            nodes, edges, entry(header, "intercept", bool, "the scorer"), needed(arrays, "pairs"), symmetric, allowed,
            tuple(FactorKind(*check_type("factors", own, list)) for own in factors),
        )  # fmt: skip
