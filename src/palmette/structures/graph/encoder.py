"""Encoding of graphs: features of nodes and of edges by the encoders of positions, and types by number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import check_codes, check_type, check_whole, entry, group
from palmette.data.ragged import offsets_from_lengths
from palmette.features.base import Encoder
from palmette.features.choose_encoder import encoder_from_state
from palmette.registry import register, stored
from palmette.structures.graph.batch import CliqueRows, GraphBatch, GraphLayout, shifted_columns
from palmette.structures.graph.cliques import NO_LABEL, Factor
from palmette.structures.graph.inputs import (
    GraphInput,
    checked_edges,
    checked_factors,
    common_labels,
    graph_inputs,
    listed_types,
    refuse_duplicates,
)
from palmette.structures.graph.type_names import (
    FactorType,
    flat,
    known_types,
    plain_types,
    type_codes,
    typed,
    types_of,
)

# samples in messages of encoders that see only some of them
_RENUMBERED = re.compile(r"\b(sample |X\[)(\d+)")


@register("encoder", "graphs")
class GraphEncoder(Encoder):
    """Encodes nodes by one encoder and edges by another.

    Nodes of different types have different columns, and so have edges; the columns of edges come last.

    Parameters
    ----------
    nodes : Encoder
    edges : Encoder, optional
        Of edge features; None where there are none.
    symmetric : bool or list of edge types
        Types of edges that have no direction.
    own : bool
        Whether every node and every edge has a type of its own: its number in the graph, which is the same for all
        samples.

    Examples
    --------
    >>> from palmette.features.choose_encoder import make_encoder
    >>> X = [GraphInput([["a"], ["b"]], [(0, 1)], node_types=["page", "author"])]
    >>> batch = GraphEncoder(make_encoder([X[0].nodes], "sequences")).fit_transform(X)
    >>> batch.n_columns, batch.layout.node_type  # two names for each of two types
    (4, array([1, 0]))
    """

    of = "graphs"
    layouts = ("sequences",)

    @property
    def named_tables(self) -> tuple[bool, ...]:
        """Whether features of nodes have names, and those of edges if there are any."""
        return (self.named, *([] if self.edges is None else [self.edges.named]))

    @property
    def column_counts(self) -> tuple[int, int]:
        """Columns of nodes and of edges."""
        return self.n_node_columns, self.n_edge_columns

    @property
    def makes_dense_rows(self) -> bool:
        """Whether the rows of nodes are dense: nodes of several types have sparse rows."""
        return self.kind == "dense" and len(self.node_types) < 2

    def __init__(
        self, nodes: Encoder, edges: Encoder | None = None, symmetric: Any = False, own: bool = False
    ) -> None:
        super().__init__("sequences")
        self.nodes, self.edges, self.symmetric, self.own = nodes, edges, symmetric, bool(own)
        self.node_types: tuple[Any, ...] = ()
        self.edge_types: tuple[Any, ...] = ()
        self.factor_types: tuple[FactorType, ...] = ()
        self.labels: dict[str, Any] = {}  # of node types, where the graphs declare them
        self.shape: tuple[int, list[Any]] | None = None  # nodes and edges of the one graph, if `own`

    # -- columns ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> Any:  # type: ignore[override]
        """What the features of nodes are."""
        return self.nodes.kind

    @property
    def named(self) -> bool:  # type: ignore[override]
        """Whether the features of nodes have names."""
        return self.nodes.named

    @property
    def n_node_columns(self) -> int:
        """Columns of nodes of all types."""
        return self.nodes.n_columns * max(len(self.node_types), 1)

    @property
    def n_edge_columns(self) -> int:
        """Columns of edges of all types; 0 without edge features."""
        return 0 if self.edges is None else self.edges.n_columns * max(len(self.edge_types), 1)

    @property
    def n_columns(self) -> int:
        """Columns of nodes and of edges together."""
        return self.n_node_columns + self.n_edge_columns

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of nodes, then of edges, with their type if there are several; None for arrays."""
        names = self.nodes.feature_names
        if names is None:
            return None
        found = typed(names, self.node_types)
        if self.edges is not None:
            own = self.edges.feature_names or [str(k) for k in range(self.edges.n_columns)]
            found += [f"edge {name}" for name in typed(own, self.edge_types)]
        return found

    # -- encoding -----------------------------------------------------------------------------------------------

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> GraphBatch:
        """Fix columns and types from `X`, and encode it."""
        return self._encoded(X, "fit_transform", allow_empty)

    def transform(self, X: Any, *, allow_empty: bool = True) -> GraphBatch:
        """Encode `X`; features without a column are ignored, types that are not known refused."""
        return self._encoded(X, "transform", allow_empty)

    def _encoded(self, X: Any, what: str, allow_empty: bool) -> GraphBatch:
        """What a method of the encoders makes of nodes and of edges."""
        graphs = graph_inputs(X)
        read = self._read(graphs, learn=what == "fit_transform")
        batch = getattr(self.nodes, what)([graph.nodes for graph in graphs], allow_empty=allow_empty)
        edges = None if self.edges is None else self._edge_rows(graphs, getattr(self.edges, what))
        return self._packed(batch, edges, read)

    def extended(self, X: Any) -> GraphEncoder:
        """An encoder with these columns, each kind followed by those that only `X` has."""
        graphs = graph_inputs(X)
        more = self._like(self.nodes.extended([graph.nodes for graph in graphs]))
        if self.edges is not None:
            more.edges = self._edge_rows(graphs, self.edges.extended)
        widened = more.nodes.n_columns != self.nodes.n_columns and len(self.node_types) > 1
        if widened or (more.edges is not None and len(self.edge_types) > 1 and (
            more.edges.n_columns != self.edges.n_columns  # type: ignore[union-attr]
        )):  # fmt: skip
            raise ValueError(
                "new features cannot be added to a model with several types of nodes or edges: fit it on all data, or "
                "hash the features (n_hash)"
            )
        return more

    def restricted(self, keep: np.ndarray) -> GraphEncoder:
        """An encoder with those columns for which `keep` is true, which is the same for all types."""
        n = self.n_node_columns
        more = self._like(self.nodes.restricted(keep[: self.nodes.n_columns]))
        if self.edges is not None:
            more.edges = self.edges.restricted(keep[n : n + self.edges.n_columns])
        return more

    def _like(self, nodes: Encoder) -> GraphEncoder:
        other = GraphEncoder(nodes, self.edges, self.symmetric, self.own)
        for name in ("node_types", "edge_types", "factor_types", "labels", "shape"):
            setattr(other, name, getattr(self, name))
        return other

    def is_symmetric(self, edge_type: Any) -> bool:
        """Whether edges of this type have no direction."""
        if isinstance(self.symmetric, bool | np.bool_):
            return bool(self.symmetric)
        return edge_type in self.symmetric

    @property
    def symmetric_types(self) -> np.ndarray:
        """Of every known edge type, whether it is symmetric."""
        return np.array([self.is_symmetric(t) for t in self.edge_types], bool)

    def _read(self, graphs: Sequence[GraphInput], learn: bool) -> tuple[Any, ...]:
        """Edges, types and cliques of all graphs, checked."""
        edges = [checked_edges(graph, i) for i, graph in enumerate(graphs)]
        labels = common_labels(graphs, None if learn else self.labels)
        if self.own:
            node_types, edge_types = self._numbered(graphs, edges, learn)
        else:
            node_types = [listed_types(g.node_types, len(g), "node", i) for i, g in enumerate(graphs)]
            edge_types = [
                listed_types(g.edge_types, len(own), "edge", i)
                for i, (g, own) in enumerate(zip(graphs, edges))
            ]
        factors = [checked_factors(graph, i) for i, graph in enumerate(graphs)]
        if learn:
            self.node_types = known_types(node_types, "node")
            self.edge_types = known_types(edge_types, "edge") or (0,)
            self._learn_factors(factors)
            self.labels = labels
        node_codes = type_codes(node_types, self.node_types, "node")
        edge_codes = type_codes(edge_types, self.edge_types, "edge")
        symmetric = self.symmetric_types
        for i, (own, codes) in enumerate(zip(edges, edge_codes)):
            refuse_duplicates(own, codes, symmetric[codes], i)
        for i, (graph, own) in enumerate(zip(graphs, edges)):
            self._check_edge_features(graph, len(own), i, learn)
        return edges, node_codes, edge_codes, self._grouped(factors)

    def _numbered(
        self, graphs: Sequence[GraphInput], edges: list[np.ndarray], learn: bool
    ) -> tuple[list[Any], list[Any]]:
        """Numbers of nodes and edges as their types; all graphs must be alike."""
        if learn and graphs:
            self.shape = len(graphs[0]), edges[0].tolist()
        for i, (graph, own) in enumerate(zip(graphs, edges)):
            if graph.node_types is not None or graph.edge_types is not None:
                raise ValueError(
                    f"sample {i}: with parameters='own' nodes and edges cannot have types besides"
                )
            if self.shape is not None and (len(graph), own.tolist()) != self.shape:
                raise ValueError(
                    f"sample {i}: with parameters='own' all graphs must have the nodes and edges of the first, "
                    f"{self.shape[0]} nodes and {len(self.shape[1])} edges; this one has {len(graph)} and {len(own)}, "
                    "or others"
                )
        return [list(range(len(g))) for g in graphs], [list(range(len(own))) for own in edges]

    def _check_edge_features(self, graph: GraphInput, n_edges: int, i: int, learn: bool) -> None:
        from palmette.data.sequences import n_items

        given = graph.edge_features
        if (given is None) != (self.edges is None):
            if given is None and not n_edges:
                return
            others = "others have" if learn else "the training data had"
            raise ValueError(
                f"sample {i} has {'no ' if given is None else ''}edge_features, but {others} "
                f"{'some' if given is None else 'none'}; give them to all samples or to none"
            )
        if given is not None and n_items(given) != n_edges:
            raise ValueError(
                f"sample {i}: edge_features has {n_items(given)} rows, but the graph has {n_edges} edges"
            )

    def _learn_factors(self, factors: list[list[Factor]]) -> None:
        found: dict[str, Any] = {}
        for i, own in enumerate(factors):
            for factor in own:
                kind = FactorType.of(factor)
                first = found.setdefault(factor.type, kind)
                if first != kind:
                    raise ValueError(
                        f"sample {i}: the factors of type {factor.type!r} are {kind.text}, but earlier ones are "
                        f"{first.text}; give them another type"
                    )
        self.factor_types = tuple(found.values())

    def _grouped(self, factors: list[list[Factor]]) -> tuple[CliqueRows, ...]:
        for i, own in enumerate(factors):
            for factor in own:
                if FactorType.of(factor) not in self.factor_types:
                    raise ValueError(
                        f"sample {i}: {FactorType.of(factor).text} of type {factor.type!r} do not occur in the "
                        f"training data; known types: {[known.name for known in self.factor_types]}"
                    )
        groups = []
        for known in self.factor_types:
            parts = [[f.nodes for f in own if f.type == known.name] for own in factors]
            flat = [nodes for part in parts for nodes in part]
            width = max((nodes.shape[1] for nodes in flat), default=known.arity or 2)
            rows = [
                np.pad(nodes, ((0, 0), (0, width - nodes.shape[1])), constant_values=-1) for nodes in flat
            ]
            nodes = np.concatenate(rows) if rows else np.empty((0, width), np.int64)
            counts = [sum(map(len, part)) for part in parts]
            groups.append(CliqueRows(nodes, offsets_from_lengths(counts), known.kind))
        return tuple(groups)

    def _edge_rows(self, graphs: Sequence[GraphInput], encode: Callable[..., Any]) -> Any:
        """Edge features of all graphs, encoded as if the edges were positions."""
        features = [graph.edge_features for graph in graphs]
        there = [i for i, given in enumerate(features) if given is not None and len(graphs[i].edges)]
        try:
            return encode([features[i] for i in there])
        except (TypeError, ValueError) as error:
            text = _RENUMBERED.sub(lambda m: f"{m[1]}{there[int(m[2])]}", str(error))
            raise type(error)(f"edge_features: {text}") from error

    def _packed(self, batch: Batch, edge_batch: Batch | None, read: tuple[Any, ...]) -> GraphBatch:
        edges, node_codes, edge_codes, cliques = read
        layout = GraphLayout(
            batch.offsets,
            offsets_from_lengths([len(own) for own in edges]),
            flat(edges, np.empty((0, 2), np.int64)),
            flat(node_codes, np.empty(0, np.int64)),
            flat(edge_codes, np.empty(0, np.int64)),
            cliques,
        )
        rows = shifted_columns(batch.rows, layout.node_type, max(len(self.node_types), 1))
        edge_rows = None
        if edge_batch is not None:
            edge_rows = shifted_columns(edge_batch.rows, layout.edge_type, max(len(self.edge_types), 1))
        return GraphBatch(rows, batch.offsets, layout, edge_rows)

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch, made by whomever, is one that this encoder could have made."""
        if not isinstance(batch, GraphBatch):
            raise ValueError(f"the features are graphs, but their batch is a {type(batch).__name__}")
        batch.check()
        layout, own = batch.layout, 0 if batch.edge_rows is None else batch.edge_rows.shape[1]
        if batch.n_columns != self.n_node_columns or own != self.n_edge_columns:
            raise ValueError(
                f"the batch has {batch.n_columns} columns of nodes and {own} of edges, its encoder "
                f"{self.n_node_columns} and {self.n_edge_columns}"
            )
        check_codes("node_type", layout.node_type, max(len(self.node_types), 1))
        check_codes("edge_type", layout.edge_type, len(self.edge_types))
        kinds = [(t.kind, t.arity) for t in self.factor_types]
        if [(g.kind, g.nodes.shape[1] if g.kind == "table" else 0) for g in layout.cliques] != kinds:
            raise ValueError(f"the factors of the batch are not those of its encoder, {kinds}")

    # -- model files --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays."""
        symmetric = self.symmetric
        header: dict[str, Any] = {
            "layout": self.layout,
            "n_columns": self.n_columns,
            "symmetric": bool(symmetric)
            if isinstance(symmetric, bool | np.bool_)
            else plain_types(symmetric),
            "own": self.own,
            "node_types": plain_types(self.node_types),
            "edge_types": plain_types(self.edge_types),
            "factor_types": [
                [
                    plain_types([t.name]),
                    t.kind,
                    t.arity,
                    None if t.kind in NO_LABEL else plain_types([t.label]),
                ]
                for t in self.factor_types
            ],
            "labels": [plain_types(list(self.labels)), [plain_types(own) for own in self.labels.values()]],
            "shape": None if self.shape is None else [self.shape[0], self.shape[1]],
        }
        arrays: dict[str, np.ndarray] = {}
        for name, encoder in (("nodes", self.nodes), ("edges", self.edges)):
            header[name] = None
            if encoder is not None:
                header[name], own = stored(encoder)
                arrays |= {f"{name}.{key}": array for key, array in own.items()}
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> GraphEncoder:
        """Inverse of :meth:`state`."""
        nodes = encoder_from_state(entry(header, "nodes", dict), group(arrays, "nodes"))
        edges = None
        if header.get("edges") is not None:
            edges = encoder_from_state(entry(header, "edges", dict), group(arrays, "edges"))
        symmetric = header.get("symmetric")
        if not isinstance(symmetric, bool):
            symmetric = list(types_of(entry(header, "symmetric", list)))
        encoder = cls(nodes, edges, symmetric, entry(header, "own", bool))
        encoder.node_types = types_of(entry(header, "node_types", list))
        encoder.edge_types = types_of(entry(header, "edge_types", list))
        encoder.factor_types = tuple(
            FactorType.from_state(own) for own in entry(header, "factor_types", list)
        )
        kinds, lists = entry(header, "labels", list)
        encoder.labels = dict(zip(types_of(kinds), (list(types_of(own)) for own in lists), strict=True))
        if header.get("shape") is not None:
            n_nodes, pairs = entry(header, "shape", list)
            check_whole("the number of nodes", n_nodes)
            for pair in check_type("the edges", pairs, list):
                a, b = check_type("an edge", pair, list)
                check_whole("a node", a, 0, n_nodes - 1), check_whole("a node", b, 0, n_nodes - 1)
            encoder.shape = n_nodes, pairs
        for name, part in (("nodes", nodes), ("edges", edges)):
            if part is not None and part.layout != "sequences":
                raise ValueError(f"the features of {name} have the layout {part.layout}")
        if encoder.own != (encoder.shape is not None) or (encoder.own and not encoder._numbers_types()):
            raise ValueError("the types of nodes and edges are not their numbers")
        if not encoder.edge_types:
            raise ValueError("there is no type of edges")
        check_whole("n_columns", header["n_columns"], encoder.n_columns, encoder.n_columns)
        return encoder

    def _numbers_types(self) -> bool:
        """Whether the types of nodes and edges are the numbers of those of the one graph."""
        n_nodes, edges = self.shape or (0, [])
        return self.node_types == (*range(n_nodes),) and self.edge_types == ((*range(len(edges)),) or (0,))
