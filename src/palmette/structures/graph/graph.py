"""Graphs of any shape: the structure that learners take."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded, WeightOptions
from palmette.features.choose_encoder import make_encoder
from palmette.features.encoded import EncodedInputs
from palmette.registry import register
from palmette.structures.graph import best as maxima
from palmette.structures.graph import given as labelings
from palmette.structures.graph import sums as totals
from palmette.structures.graph.cliques import NO_LABEL
from palmette.structures.graph.encoder import GraphEncoder
from palmette.structures.graph.explain import explain
from palmette.structures.graph.inputs import GraphInput, graph_inputs
from palmette.structures.graph.methods import INFERENCE, SUMS, GraphMethods
from palmette.structures.graph.scorer import GraphScorer
from palmette.structures.positions.labelled import LabelledPositions

CHOICES = {
    "parameters": ("shared", "own"),
    "inference": INFERENCE,
    "sums": SUMS,
    "oracle": ("relaxed", "undergenerating"),
}


@register("structure")
class Graph(GraphMethods, LabelledPositions):
    """Markov networks of any shape: one label per node, potentials on nodes, edges and cliques.

    The score of a labeling is ``sum_v node[v, y_v] + sum_e edge[e, y_a, y_b] + sum over cliques``, where edge e joins
    the nodes a and b. Every sample has its own graph: ``X`` is a list of :class:`~palmette.GraphInput`, of tuples
    ``(nodes, edges)`` or ``(nodes, edges, edge_features)``, or of dicts; ``y`` has one label per node, or is
    :class:`~palmette.Linked`, with allowed labels of edges. Chains, trees, and grids are special cases
    (``chain_graph``, ``tree_graph`` and ``grid_graph`` of :mod:`palmette.structures` make them).

    **Inference.** Forests: compiled message passing, all graphs of a batch in one call. Other graphs: a junction tree
    if its tables fit ``memory_limit`` and are not so large that training would take very long, or, for the best labels
    of two-label graphs with submodular edges, a graph cut. Otherwise best labels come from sequential message passing
    with a proven bound, and sums from tree-reweighted message passing, a convex upper bound whose gradient is its
    marginals. :meth:`explain` reports the methods for given graphs, and approximate results raise an
    :class:`~palmette.errors.ApproximateInferenceWarning`.

    Parameters
    ----------
    symmetric : bool or list of edge types, default=False
        Edges without direction: label pairs ``i, j`` and ``j, i`` share their weights. For all edges, or for those of
        the types named.
    parameters : {"shared", "own"}
        "own": every node and every edge has its own weights, by its number; all samples then have the same graph (for
        example in multi-label classification).
    labels : dict, optional
        ``{node type: [labels]}``: the labels that nodes of each type can have. By default those that occur in training
        at nodes of the type; all labels where there is one type.
    edge_bias : bool, default=True
        Whether label pairs have a weight at every edge, besides those of edge features. False: an edge scores by its
        features alone, so that one constant feature scales its potentials.
    inference : {"auto", "exact", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program"}
        Method for the best labels of graphs that are not forests. "exact" ends with an integer program.
    sums : {"auto", "exact", "reweighted", "bethe"}
        Method for sums on graphs that are not forests: "auto" is a junction tree if it fits and its cliques have at
        most 2^20 entries together (some milliseconds a graph), otherwise reweighted. "exact" is a junction tree if it
        fits, however slow.
    oracle : {"relaxed", "undergenerating"}
        What :class:`~palmette.SSVM` maximises where the best labels are not known exactly: the linear relaxation, which
        keeps the objective convex and an upper bound, or the labels that ``inference`` finds.
    memory_limit : float, optional
        Maximal bytes for the messages of one junction tree. By default 2^27 (eight graphs of a shape at once: 2^28),
        and the largest clique may have 2^17.5 entries for the best labels, the cliques together 2^20 for sums (larger
        ones are slow); an explicit limit removes these restrictions.
    tol : float, default=1e-8
        Relative accuracy of tree-reweighted sums: their proven bounds differ by at most this share. On its way L-BFGS
        lets all of them lack a hundredth of its own ``tol`` times the objective.
    max_sweeps : int, default=2000
        Maximal passes over all messages of a graph; graphs that need more are counted in ``result_.n_unconverged``.

    Notes
    -----
    Among equally good labelings of a forest the lowest labels win, decided from the lowest node of every tree on; where
    parents have lower numbers than their children this is the lexicographic order.

    Examples
    --------
    >>> from palmette import CRF, Graph
    >>> X = [([["red"], ["round"], ["round"]], [(0, 1), (1, 2)]), ([["round"], ["red"]], [(0, 1)])]
    >>> Y = [["fruit", "ball", "ball"], ["ball", "fruit"]]
    >>> CRF(Graph(), l2=0.1).fit(X, Y).predict([([["red"], ["round"]], [(0, 1)])])
    [['fruit', 'ball']]
    >>> print(Graph().explain(X))
    2 graphs, 5 nodes, 3 edges, 2 labels (n_labels says how many if others)
    2 forests: best labels and sums by message passing along the trees (exact), all in one call
    """

    compiled_as = "graph"
    removable_edges = True
    annotated_pairs = True
    exact = False

    part_kinds = MappingProxyType({"codec": ("labels",), "encoder": ("graphs",), "scorer": ("graph",)})

    def __init__(
        self,
        symmetric: Any = False,
        parameters: str = "shared",
        labels: Mapping[str, Any] | None = None,
        edge_bias: bool = True,
        inference: str = "auto",
        sums: str = "auto",
        oracle: str = "relaxed",
        memory_limit: float | None = None,
        tol: float = 1e-8,
        max_sweeps: int = 2000,
    ) -> None:
        self.symmetric = symmetric
        self.parameters = parameters
        self.labels = labels
        self.edge_bias = edge_bias
        self.inference = inference
        self.sums = sums
        self.oracle = oracle
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_sweeps = max_sweeps

    _limit = (
        "the restriction, the labels of the node types and the at-most-one factors at once; allow more labels, or "
        "leave factors out"
    )

    # -- answers ------------------------------------------------------------------------------------------------

    score, count, agreeing = labelings.score, labelings.count, labelings.agreeing
    best, worst, k_best, max_marginals = maxima.best, maxima.worst, maxima.k_best, maxima.max_marginals
    bounded_best, bounds, finds_best = maxima.bounded_best, maxima.bounds, maxima.finds_best
    relaxes, relaxed_best = maxima.relaxes, maxima.relaxed_best
    log_partition, expectation, marginals = totals.log_partition, totals.expectation, totals.marginals
    entropy, sample, min_risk = totals.entropy, totals.sample, totals.min_risk

    def bind(self, classes: Sequence[Any]) -> Graph:
        """A copy for one model, which knows its number of labels and keeps its own account of what is approximate."""
        own = copy.copy(self)
        own._n_labels = len(classes)
        return own

    def explain(self, X: Any, n_labels: int | None = None) -> str:
        """Which method answers for which graph, exactly or not, and why.

        Parameters
        ----------
        X : list of graphs, encoded inputs or :class:`~palmette.structures.GraphTables`
        n_labels : int, optional
            Labels of a node; by default those of the model (``model.structure_.explain(X)``), 2 where there is none.
            Potentials know theirs.
        """
        return explain(self, X, getattr(self, "_n_labels", None) if n_labels is None else n_labels)

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
        if encoder.of != "graphs":
            raise ValueError(
                "X was encoded as sequences, but the structure is a Graph: encode X with its encode()"
            )
        if encoder.symmetric != self.symmetric or encoder.own != (self.parameters == "own"):
            raise ValueError(
                f"X was encoded with symmetric={encoder.symmetric!r} and own={encoder.own}, but the structure is "
                f"{self!r}"
            )

    def adds(self, other: Structure) -> bool:
        """Whether the other structure has potentials of nodes and edges, too."""
        return isinstance(other, Graph)

    def links(self, batch: Any) -> np.ndarray:
        """Pairs of rows that an edge joins, int64 (n_edges, 2)."""
        return batch.layout.edge_rows

    def neighbour_cost(self, theta: Any, node: np.ndarray, pair: np.ndarray) -> Any:
        """Costs of codes of nodes (n_rows, n_labels), and of both ends of edges (n_edges, n_labels, n_labels)."""
        return theta.edge_costs(node, pair)

    def parts_at(self, theta: Any) -> tuple[np.ndarray, int]:
        """How many parts each row belongs to, and how many labels a part joins at most.

        Factors with tables of states have at most as many values as pairs of labels, and count as such.
        """
        layout, arity = theta.layout, 2
        found = 1 + np.bincount(layout.edge_rows.ravel(), minlength=len(theta.node))
        for k, group in enumerate(layout.cliques):
            rows = layout.clique_rows(k)
            found += np.bincount(rows[rows >= 0], minlength=len(theta.node))
            arity = max(arity, rows.shape[1]) if group.kind == "table" else arity
        return found, arity

    def make_scorer(self, data: Encoded, options: WeightOptions) -> GraphScorer:
        """Weights of nodes, edges and cliques; features of edges come with the graphs."""
        if options.edge_features is not None:
            raise ValueError(
                "edge_features of the learner choose features of positions for the edges of a Chain; those of a Graph "
                "come with its inputs: GraphInput(nodes, edges, edge_features)"
            )
        encoder: Any = data.encoder
        batch: Any = data.samples.batch
        codes, classes = data.samples.codes, data.codec.classes_
        allowed = self.label_sets(encoder, classes, batch, codes)
        self.check_factors(encoder, classes, batch, codes)
        return GraphScorer.for_data(
            batch, codes, len(classes), states=options.states_of(encoder.named), transitions=options.label_pairs,
            intercept=options.intercept_of(encoder.named), symmetric=encoder.symmetric_types,
            n_node_types=max(len(encoder.node_types), 1), allowed=allowed, edge_bias=self.edge_bias,
            edge_states=options.states_of(encoder.edges is not None and encoder.edges.named),
            factor_labels=self.factor_labels(encoder, classes),
        )  # fmt: skip

    def _check_settings(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"Graph: {name} must be one of {choices}, got {getattr(self, name)!r}")
        if isinstance(self.symmetric, str | bytes) or not isinstance(
            self.symmetric, bool | np.bool_ | Iterable
        ):
            raise TypeError(
                f"Graph: symmetric must be True, False or a list of edge types, got {self.symmetric!r}"
            )
        for name, given, least in (
            ("memory_limit", self.memory_limit, 0), ("tol", self.tol, 0), ("max_sweeps", self.max_sweeps, 1),
        ):  # fmt: skip
            if given is not None and not (isinstance(given, int | float | np.number) and given >= least):
                raise ValueError(f"Graph: {name} must be a number, at least {least}, got {given!r}")
        if self.labels is not None and not isinstance(self.labels, Mapping):
            raise TypeError(f"Graph: labels must be a dict {{node type: [labels]}}, got {self.labels!r:.60}")

    def check_model(self, encoder: GraphEncoder, weights: Any, codec: Any) -> None:
        """Raise ValueError unless features, weights and labels have the same types of nodes, edges and factors."""
        self._check_settings()
        self.check_encoder(encoder)
        if len(weights.allowed) != max(len(encoder.node_types), 1):
            raise ValueError(
                f"there are {len(encoder.node_types)} types of nodes, but weights for {len(weights.allowed)}"
            )
        if not np.array_equal(weights.symmetric, encoder.symmetric_types):
            raise ValueError("features and weights have different types of edges")
        labels = self.factor_labels(encoder, codec.classes_)
        known = [(t.kind, t.arity, label) for t, label in zip(encoder.factor_types, labels)]
        if known != [tuple(factor) for factor in weights.factors]:
            raise ValueError("features and weights have different types of factors")

    def check_factors(
        self, encoder: GraphEncoder, classes: tuple[Any, ...], batch: Any, codes: np.ndarray
    ) -> None:
        """Refuse training labels that an at-most-one factor forbids."""
        for group, k in zip(batch.layout.cliques, self.factor_labels(encoder, classes)):
            if group.kind != "at_most_one":
                continue
            sample = np.repeat(np.arange(len(group.offsets) - 1), np.diff(group.offsets))
            rows = np.where(group.nodes >= 0, group.nodes + batch.offsets[sample][:, None], 0)
            has = (group.nodes >= 0) & (codes[rows] == k)
            wrong = np.flatnonzero(has.sum(axis=1) > 1)
            if len(wrong):
                f = wrong[0]
                nodes = group.nodes[f, has[f]].tolist()
                raise ValueError(
                    f"sample {sample[f]}: y has the label {classes[k]!r} at the nodes {nodes}, "
                    "but an AtMostOne factor joins them; correct y, or leave the factor out"
                )

    def factor_labels(self, encoder: GraphEncoder, classes: tuple[Any, ...]) -> tuple[int, ...]:
        """Code of the label that each type of structured factors counts, -1 for types without."""
        place = {label: k for k, label in enumerate(classes)}
        for kind in encoder.factor_types:
            if kind.kind not in NO_LABEL and kind.label not in place:
                raise ValueError(
                    f"{kind.text}: the label does not occur in y, declare it with classes=...; known: {list(classes)}"
                )
        return tuple(-1 if t.kind in NO_LABEL else place[t.label] for t in encoder.factor_types)

    def label_sets(
        self, encoder: GraphEncoder, classes: tuple[Any, ...], batch: Any, codes: np.ndarray
    ) -> np.ndarray:
        """Labels of every type of nodes, bool (n_node_types, n_labels): as given, or those that occur in training.

        All labels where there is one type only, or where every node has weights of its own.
        """
        kinds = encoder.node_types or (0,)
        place = {label: k for k, label in enumerate(classes)}
        allowed = np.ones((len(kinds), len(classes)), bool)
        node_type = batch.layout.node_type
        if len(kinds) > 1 and not encoder.own:
            allowed[:] = False
            known = codes >= 0
            allowed[node_type[known], codes[known]] = True
        for kind, labels in (self.labels or {}).items():
            if set(encoder.labels.get(kind, labels)) != set(labels):
                raise ValueError(
                    f"Graph: labels gives nodes of type {kind!r} the labels {list(labels)}, but X gives them "
                    f"{encoder.labels[kind]}"
                )
        for kind, labels in {**encoder.labels, **(self.labels or {})}.items():
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
            wrong = np.flatnonzero((node_type == t) & (codes >= 0) & ~allowed[t, codes])
            if len(wrong):
                s = int(np.searchsorted(batch.offsets, wrong[0], side="right")) - 1
                raise ValueError(
                    f"sample {s}, node {wrong[0] - batch.offsets[s]}: y has the label {classes[codes[wrong[0]]]!r}, "
                    f"but nodes of type {kind!r} have {list(labels)}"
                )
        return allowed
