"""Graphs of any shape: the structure that learners take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ramify.data.graphs import GraphInput, graph_inputs
from ramify.features.door import make_encoder
from ramify.features.encoded import EncodedInputs
from ramify.features.graphs import GraphEncoder
from ramify.structures.graph_inference import GraphInference

PARAMETERS = ("shared", "own")
SUMS = ("auto", "reweighted", "bethe")


class Graph(GraphInference):
    """Markov networks of any shape: one label a node, potentials on nodes, edges and cliques."""

    layout = "sequences"
    has_edges = True
    removable_edges = True

    def __init__(
        self,
        symmetric: Any = False,
        parameters: str = "shared",
        labels: Mapping | None = None,
        edge_bias: bool = True,
        inference: str = "auto",
        sums: str = "auto",
        memory_limit: float | None = None,
    ) -> None:
        self.symmetric = symmetric
        self.parameters = parameters
        self.labels = labels
        self.edge_bias = edge_bias
        self.inference = inference
        self.sums = sums
        self.memory_limit = memory_limit

    # -- the door: what users give and get ----------------------------------------------------------------------

    def admit(self, X: Any) -> Any:
        """Inputs as a list of graphs; what is encoded already stays as it is."""
        return X if isinstance(X, EncodedInputs) else graph_inputs(X)

    def make_encoder(
        self, X: list[GraphInput], *, min_count: int = 1, n_hash: int | None = None
    ) -> GraphEncoder:
        """The encoder for graphs like these, not fitted yet."""
        self._check_settings()
        nodes = make_encoder([graph.nodes for graph in X], "sequences", min_count=min_count, n_hash=n_hash)
        given = [graph.edge_features for graph in X if graph.edge_features is not None and graph.n_edges]
        edges = None
        if given:
            edges = make_encoder(given, "sequences")
            if edges.named:
                edges = make_encoder(given, "sequences", min_count=min_count)
        elif not self.edge_bias:
            raise ValueError(
                "Graph(edge_bias=False) leaves edges with their features alone, and X has no edge_features"
            )
        return GraphEncoder(nodes, edges, self.symmetric, own=self.parameters == "own")

    def check_encoder(self, encoder: Any) -> None:
        """Refuse inputs that were encoded for another structure."""
        if not isinstance(encoder, GraphEncoder):
            raise ValueError(
                "X was encoded as sequences, but the structure is a Graph: encode X with its encode()"
            )
        if encoder.symmetric != self.symmetric or encoder.own != (self.parameters == "own"):
            raise ValueError(
                f"X was encoded with symmetric={encoder.symmetric!r} and own={encoder.own}, but the structure is "
                f"{self!r}"
            )

    def _check_settings(self) -> None:
        for name, choices in (("parameters", PARAMETERS), ("sums", SUMS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"Graph: {name} must be one of {choices}, got {getattr(self, name)!r}")
        if self.labels is not None and not isinstance(self.labels, Mapping):
            raise TypeError(f"Graph: labels must be a dict {{node type: [labels]}}, got {self.labels!r:.60}")

    def label_sets(self, encoder: GraphEncoder, classes: tuple, batch: Any, codes: np.ndarray) -> np.ndarray:
        """Labels of every type of nodes, bool (n_node_types, n_labels): as given, or those that occur in training.

        All labels where there is one type only, or where every node has weights of its own.
        """
        kinds = encoder.node_types or (0,)
        place = {label: k for k, label in enumerate(classes)}
        allowed = np.ones((len(kinds), len(classes)), bool)
        node_type = batch.layout.node_type
        if len(kinds) > 1 and not encoder.own:
            allowed[:] = False
            allowed[node_type, codes] = True
        for kind, labels in (self.labels or {}).items():
            if kind not in kinds:
                raise ValueError(
                    f"Graph: labels names the node type {kind!r}, which no node has; known: {list(kinds)}"
                )
            unknown = [label for label in labels if label not in place]
            if unknown:
                raise ValueError(
                    f"Graph: labels[{kind!r}] has {unknown[0]!r}, which does not occur in y: declare it with "
                    "classes=..."
                )
            t = kinds.index(kind)
            allowed[t] = False
            allowed[t, [place[label] for label in labels]] = True
            wrong = np.flatnonzero((node_type == t) & ~allowed[t, codes])
            if len(wrong):
                s = int(np.searchsorted(batch.offsets, wrong[0], side="right")) - 1
                raise ValueError(
                    f"sample {s}, node {wrong[0] - batch.offsets[s]}: y has the label {classes[codes[wrong[0]]]!r}, "
                    f"but nodes of type {kind!r} have {list(labels)}"
                )
        return allowed
