"""Paths and subtrees of a tree of classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from palmette.contracts.structure import Best, Structure, Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN
from palmette.data.paths import nodes_of
from palmette.errors import MissingCapability
from palmette.metrics.hierarchy import node_counts
from palmette.registry import register
from palmette.structures.hierarchy.answers import HierarchyAnswers
from palmette.structures.hierarchy.codec import HierarchyCodec, is_row_of_flags, outputs_of
from palmette.structures.hierarchy.inputs import one_row_each
from palmette.structures.hierarchy.outputs import first_flaw
from palmette.structures.hierarchy.scorer import HierarchyScorer
from palmette.structures.hierarchy.tables import (
    HierarchyTables,
)
from palmette.structures.hierarchy.tree import Tree, given_tree
from palmette.structures.hierarchy.walk import Walk
from palmette.structures.positions.parts import ROW_ENCODERS


@register("structure")
class Hierarchy(HierarchyAnswers):
    """Paths in a tree of classes; every node has a score, and ``f(y)`` is the sum of the scores of the nodes of y.

    An output is a path from the top to a leaf, given as a tuple of labels, ``("animal", "dog")``, or as a string,
    ``"1.2.3.4"``. Each node has weights of its own, so that classes share what their common ancestors learn, and a
    class without training data still has the scores of its ancestors.

    Parameters
    ----------
    tree : None, dict or list, default=None
        None: all nodes on the paths of ``y``. Else nested dicts ``{"animal": {"dog": {}, "cat": {}}}`` (a list of
        leaves will do, ``{"animal": ["dog", "cat"]}``), a dict ``{node: parent}`` with the parent None at the top
        (:func:`~palmette.structures.tree_from_edges` makes one), or a list of paths. The root has no name.
    inner_ends : bool, default=False
        Whether paths may end inside the tree.
    multi_label : bool, default=False
        Whether an output is a set of paths, a list, instead of one: all nodes on them, a subtree that has the root.
        With ``inner_ends`` the empty set is one.
    separator : str, default="."
        What separates the labels of paths that are strings.

    Notes
    -----
    A path of which only the first levels are known ends with ``UNKNOWN``, ``("animal", UNKNOWN)``, or ``"1.2.?"``.
    Codes are 1 for the nodes of an output and 0 for the others, in the order of ``classes_``: a node, what is below
    it, its next sibling. Ties go to the lowest codes, so to the path that is last in ``classes_``. All answers are
    exact and take O(nodes) per sample.

    Examples
    --------
    >>> from palmette import CRF
    >>> X = [[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.9, 0.1]]
    >>> y = ["animal.dog", "animal.cat", "plant.rose", "plant.oak"]
    >>> CRF(Hierarchy(), C=100.0).fit(X, y).predict(X)
    ['animal.dog', 'animal.cat', 'plant.rose', 'plant.oak']

    With explicit scores, of the nodes a, a.x, a.y and b:

    >>> structure = Hierarchy(["a.x", "a.y", "b"])
    >>> structure.best(HierarchyTables.of([[1.0, 0.0, 2.0, 2.5]])).codes
    array([1, 0, 1, 0], dtype=int32)
    """

    words = Words("paths", "between samples", "between classes")
    part_kinds = MappingProxyType(
        {"codec": ("hierarchy",), "encoder": ROW_ENCODERS, "scorer": ("hierarchy",)}
    )

    def __init__(
        self, tree: Any = None, *, inner_ends: bool = False, multi_label: bool = False, separator: str = "."
    ) -> None:
        self.tree = tree
        self.inner_ends = inner_ends
        self.multi_label = multi_label
        self.separator = separator

    @property
    def default_loss(self) -> str:
        """The loss of paths, or of sets of them."""
        return "symmetric_difference" if self.multi_label else "common_path"

    # -- the door: what users give and get ----------------------------------------------------------------------

    def admit(self, X: Any) -> Any:
        """One table of all samples, or a list with the features of each, as samples of one row."""
        return one_row_each(X)

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> HierarchyCodec:
        """The codec of the nodes of the tree that is given, or else of those on the paths of ``y`` and ``classes``."""
        self._check_settings()
        given = outputs_of(y)
        settings: dict[str, Any] = {
            "separator": self.separator, "inner_ends": bool(self.inner_ends), "multi_label": bool(self.multi_label),
            "text": self._is_text(given),
        }  # fmt: skip
        if self.tree is not None:
            if classes is not None:
                raise ValueError(
                    "classes=... and Hierarchy(tree=...) both name the classes: give one of them"
                )
            return HierarchyCodec(given_tree(self.tree, self.separator), **settings)
        for i, each in enumerate(given):
            if (
                isinstance(each, list)
                and each
                and is_row_of_flags(each, len(each))
                and each[0] is not UNKNOWN
            ):
                raise ValueError(
                    f"y[{i}] has a bool for each node, and the tree is not known: give it, Hierarchy(tree=...)"
                )
        reader = HierarchyCodec(Tree(((0,),)), **settings)
        nodes = [
            node for i, each in enumerate(given) for node in nodes_of(reader._paths(each, f"y[{i}]"))
        ]  # fmt: skip
        if classes is not None:
            nodes += given_tree(list(classes), self.separator).nodes
        if not nodes:
            raise ValueError("y has no path at all; give paths, or the tree: Hierarchy(tree=...)")
        return HierarchyCodec(Tree.of(nodes), **settings)

    def _is_text(self, given: list[Any]) -> bool:
        """Whether paths are given as strings."""
        for each in given:
            first = (
                next(iter(each), None)
                if self.multi_label and not isinstance(each, str) and each is not UNKNOWN
                else each
            )
            if first is not UNKNOWN and first is not None:
                return isinstance(first, str)
        return False

    def _check_settings(self) -> None:
        for name in ("inner_ends", "multi_label"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"Hierarchy: {name} must be True or False, got {getattr(self, name)!r:.60}")
        if not isinstance(self.separator, str) or not self.separator:
            raise ValueError(f"Hierarchy: separator must be a string such as '.', got {self.separator!r:.60}")

    def make_scorer(self, data: Encoded, options: WeightOptions) -> HierarchyScorer:
        """Weights of features with nodes, and a bias of each node."""
        if options.edge_features is not None:
            raise ValueError("edge_features need the edges of a Chain; Hierarchy has none")
        named, n = data.encoder.named, len(data.codec.classes_)
        return HierarchyScorer.for_nodes(
            data.samples.batch, data.samples.codes.reshape(-1, n), n,
            states=options.states_of(named), intercept=options.intercept_of(named),
        )  # fmt: skip

    def bind(self, classes: Sequence[Any]) -> Hierarchy:
        """The same structure on the nodes ``classes``, in this order."""
        self._check_settings()
        tree = Tree(tuple(classes))
        tree.check()
        bound = copy.copy(self)
        bound._known = tree, Walk.over(tree, bool(self.inner_ends), bool(self.multi_label))
        return bound

    @property
    def _bound(self) -> tuple[Tree, Walk]:
        if "_known" in vars(self):
            return self._known
        if self.tree is None:
            raise ValueError(
                "the tree of this Hierarchy is not known before it is fitted: give it, Hierarchy(tree=...)"
            )
        settings = self.inner_ends, self.multi_label, self.separator
        kept = vars(self).get("_given")  # parameters may change
        if kept is None or kept[0] is not self.tree or kept[1] != settings:
            own = self.bind(given_tree(self.tree, self.separator).nodes)._known
            kept = self._given = self.tree, settings, own
        return kept[2]

    def output_offsets(self, sized: Any) -> np.ndarray:
        """A code for each node of the tree."""
        return np.arange(len(sized) + 1) * len(self.nodes)

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Raise ValueError at the first complete output that is no path (subtree) of the tree."""
        found = codes.reshape(-1, len(self.nodes))
        flaw = first_flaw(self.nodes, found, bool(self.inner_ends), bool(self.multi_label))
        if flaw is not None:
            raise ValueError(f"y[{flaw[0]}] {flaw[1]}")

    def check_model(self, encoder: Any, weights: Any, codec: Any) -> None:
        """Raise ValueError unless the settings are those of the codec."""
        for name in ("inner_ends", "multi_label", "separator"):
            if getattr(self, name) != getattr(codec, name):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r:.60}, but {getattr(codec, name)!r:.60} in the tree"
                )

    def adds(self, other: Structure) -> bool:
        """Whether the outputs of the other structure are of the same kind; nodes are matched by name."""
        return isinstance(other, Hierarchy) and (self.inner_ends, self.multi_label) == (
            other.inner_ends,
            other.multi_label,
        )

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Refused: what a wrong node costs depends on where it is."""
        raise MissingCapability(
            "Hamming loss has costs of label confusions, and an output of a Hierarchy is a path: use task_loss="
            "'common_path', 'symmetric_difference' (with weights of nodes), 'first_mistakes' or 'zero_one'"
        )

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that are right: ``score`` is the hierarchical F1 of all samples."""
        found, given = model.predict(X), [model.codec_.as_paths(each) for each in outputs_of(y)]
        counts = node_counts(given, found, multi_label=bool(self.multi_label), separator=self.separator)
        return 2.0 * counts[:, 0], (counts[:, 1] + counts[:, 2]).astype(float)

    def units(self, codes: np.ndarray, labels: Sequence[Any]) -> list[tuple[slice, Any]]:
        """The nodes of an output."""
        return [(slice(v, v + 1), labels[v]) for v in np.flatnonzero(codes).tolist()]

    # -- for regression -----------------------------------------------------------------------------------------

    def part_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """The nodes of given outputs, 0 or 1, shape (n_samples, n_nodes): what two outputs share is their product.

        >>> Hierarchy(["a.x", "a.y"]).part_features(np.array([1, 0, 1]), np.array([0, 3])).toarray()
        array([[1., 0., 1.]])
        """
        found = np.asarray(codes).reshape(len(offsets) - 1, len(self.nodes))
        return sparse.csr_array((found == 1).astype(float))

    def best_by_parts(self, sized: Any, gains: np.ndarray) -> Best:
        """The output with the highest sum of the gains of its nodes, for every row of ``gains``."""
        return self.best(HierarchyTables.of(gains))

    def first_besides(self, codes: np.ndarray) -> np.ndarray | None:
        """The lowest codes of an output that is none of the distinct outputs ``codes`` (n, n_nodes); None without one.

        >>> Hierarchy(["a.x", "a.y", "b"]).first_besides(np.array([[0, 0, 0, 1], [1, 1, 0, 0]]))
        array([1, 0, 1, 0], dtype=int32)
        """
        return self._bound[1].first_besides(np.asarray(codes))
