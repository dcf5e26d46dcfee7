"""Paths and subtrees of a tree of classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from palmette.contracts.structure import Best, Expectation, Structure, Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN, Known
from palmette.data.paths import nodes_of
from palmette.errors import InfeasibleError, MissingCapability
from palmette.memory import check_size
from palmette.metrics.hierarchy import node_counts
from palmette.registry import register
from palmette.structures.hierarchy.codec import HierarchyCodec, is_row_of_flags, outputs_of
from palmette.structures.hierarchy.inputs import one_row_each
from palmette.structures.hierarchy.outputs import first_flaw
from palmette.structures.hierarchy.scorer import HierarchyScorer
from palmette.structures.hierarchy.tables import (
    HierarchyRestriction,
    HierarchyTables,
    NodeCodes,
    NodeCost,
    known_codes,
)
from palmette.structures.hierarchy.tree import Tree, given_tree
from palmette.structures.hierarchy.walk import Walk
from palmette.structures.positions.checks import _weights
from palmette.structures.positions.parts import ROW_ENCODERS


@register("structure")
class Hierarchy(Structure):
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
    lacks = MappingProxyType({})

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
    def nodes(self) -> Tree:
        """The tree: that of ``classes_`` once the structure is bound to them, else the one that is given."""
        return self._bound[0]

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
        """The nodes of an output, all at the one row of the sample."""
        return [(slice(0, 1), labels[v]) for v in np.flatnonzero(codes).tolist()]

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring output of every sample; values include the cost."""
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Lowest-scoring output of every sample; values include the cost."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: Any, cost: Any, within: Any, sign: float) -> Best:
        from palmette.structures.hierarchy.kernels.best import best_outputs

        arguments, constant = self._question(theta, cost, within, sign)
        codes, values = np.zeros(theta.node.shape, np.int32), np.empty(len(theta))
        best_outputs(*arguments, codes, values)
        _check_feasible(values)
        return Best(codes.ravel(), sign * values + constant)

    def k_best(
        self, theta: Any, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct outputs of every sample, best first; fewer where fewer exist.

        Returns
        -------
        list of list of (codes, value)
        """
        from palmette.structures.hierarchy.kernels.best import k_best_outputs

        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be an integer of at least 1, got {k!r}")
        arguments, constant = self._question(theta, cost, within)
        n, walk = theta.n_nodes, self._bound[1]
        k = int(min(k, walk.n_outputs))
        check_size(
            f"the {k:,} best outputs of {len(theta):,} samples in a tree of {n:,} nodes",
            k * (len(theta) * (4 * n + 150) + 50 * len(walk)),
            "ask for fewer of them (k, n, --nbest), or for fewer samples at a time",
        )
        codes, values = np.zeros((k, len(theta), n), np.int32), np.empty((len(theta), k))
        k_best_outputs(*arguments, codes, values)
        _check_feasible(values[:, 0])
        return [
            [(codes[q, s].copy(), float(v + constant[s])) for q, v in enumerate(values[s]) if v > -np.inf]
            for s in range(len(theta))
        ]

    def max_marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> NodeCodes:
        """Best value of an output without and with each node; -inf if there is none."""
        from palmette.structures.hierarchy.kernels.best import node_maxima

        arguments, constant = self._question(theta, cost, within)
        out = np.full((*theta.node.shape, 2), -np.inf)
        node_maxima(*arguments, out)
        _check_feasible(out[:, 0].max(axis=1))
        return NodeCodes((out + constant[:, None, None]).reshape(-1, 2))

    def min_risk(
        self, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
    ) -> Best:
        """Output of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (2, 2), optional
            ``risk[i, j]`` is the loss of a node with the code j where i is true; by default 1 unless i = j, the
            symmetric difference.
        """
        risk = 1.0 - np.eye(2) if risk is None else np.asarray(risk, float)
        if risk.shape != (2, 2):
            raise ValueError(f"risk has shape {risk.shape}, expected (2, 2)")
        chance = self.expectation(theta, cost=cost, within=within).counts.node[..., None]
        expected = chance * risk[1] + (1.0 - chance) * risk[0]
        nothing = HierarchyTables(np.where(np.isneginf(theta.node), -np.inf, 0.0), theta.offsets)
        return self.worst(nothing, cost=theta.position_cost(expected), within=within)

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
        from palmette.structures.hierarchy.kernels.sums import log_sums

        arguments, constant = self._question(theta, cost, within)
        log_z = np.empty(len(theta))
        log_sums(*arguments, log_z)
        _check_feasible(log_z)
        return log_z + constant

    def expectation(
        self, theta: Any, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        log_z, _, counts = self._sums(theta, cost, within, weight)
        return Expectation(log_z, counts)

    def marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> NodeCodes:
        """Probability that an output is without and with each node."""
        taken = self._sums(theta, cost, within, None)[2].node.ravel()
        return NodeCodes(np.stack([1.0 - taken, taken], axis=1))

    def part_marginals(self, theta: Any, *, within: Any = None) -> np.ndarray:
        """Probability that an output is without and with each node, shape (n_samples * n_nodes, 2)."""
        return self.marginals(theta, within=within).node

    def entropy(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        return np.maximum(self._sums(theta, cost, within, None)[1], 0.0)

    def _sums(
        self, theta: Any, cost: Any, within: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray, HierarchyTables]:
        from palmette.structures.hierarchy.kernels.sums import expected_counts

        arguments, constant = self._question(theta, cost, within)
        log_z, entropy, counts = np.empty(len(theta)), np.empty(len(theta)), theta.zeros()
        expected_counts(*arguments, _weights(theta, weight), log_z, entropy, counts.node)
        _check_feasible(log_z)
        return log_z + constant, entropy, counts

    def sample(
        self, theta: Any, n_draws: int = 1, *, random_state: Any = None, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``.

        Returns
        -------
        ndarray of int32, shape (n_draws, n_samples * n_nodes)
        """
        from palmette.structures.hierarchy.kernels.sums import draw_outputs

        arguments, _ = self._question(theta, cost, within)
        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        uniform = np.random.default_rng(random_state).random((n_draws, *theta.node.shape))
        codes = np.zeros(uniform.shape, np.int32)
        bad = draw_outputs(*arguments, uniform, codes)
        if bad >= 0:
            raise _infeasible(int(bad))
        return codes.reshape(n_draws, -1)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the restriction forbids."""
        (node, *_), constant = self._question(theta, cost, within)
        codes = self._codes(theta, codes)
        values = np.where(codes == 1, node, 0.0).sum(axis=1) + constant
        return values if within is None else np.where(within.allows(codes), values, -np.inf)

    def log_proba(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Log-probability of given outputs under ``p(y) ~ exp(f(y) + cost(y))``."""
        value = self.score(theta, codes, cost=cost, within=within)
        return value - self.log_partition(theta, cost=cost, within=within)

    def count(self, theta: Any, codes: Any, *, weight: Any = None, into: Any = None) -> HierarchyTables:
        """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
        theta.check(len(self.nodes))
        codes = self._codes(theta, codes)
        if into is None:
            into = theta.zeros()
        elif into.shapes != theta.shapes:
            raise ValueError(f"into has scores of shapes {into.shapes}, expected {theta.shapes}")
        into.node[...] += _weights(theta, weight)[:, None] * codes
        return into

    def agreeing(self, theta: Any, codes: Known) -> HierarchyRestriction:
        """The restriction to outputs that agree with an annotation of nodes."""
        return HierarchyRestriction.fixed(codes, len(self.nodes))

    def contradicting(self, theta: Any, codes: Known) -> HierarchyRestriction:
        """The restriction to outputs that differ from an annotation at a known node."""
        return HierarchyRestriction(contradicts=known_codes(codes, len(self.nodes)))

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

    # -- inside -------------------------------------------------------------------------------------------------

    def _question(
        self, theta: Any, cost: Any, within: Any, sign: float = 1.0
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """What kernels ask, checked, and the constant of the cost."""
        tree, walk = self._bound
        for name, given, kind in (
            ("theta", theta, HierarchyTables), ("cost", cost, NodeCost), ("within", within, HierarchyRestriction),
        ):  # fmt: skip
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"{name} must be {kind.__name__}, got {type(given).__name__}")
        theta.check(len(tree))
        node, constant = theta.node, np.zeros(len(theta))
        if cost is not None:
            cost.check(theta)
            node, constant = node + cost.node, cost.constant
        if sign != 1.0:
            node = np.where(np.isneginf(node), -np.inf, sign * node)
        may, known = np.empty((0, len(tree), 2), bool), np.empty((0, len(tree)), np.int64)
        if within is not None:
            within.check(theta)
            may = may if within.node is None else np.ascontiguousarray(within.node)
            if within.contradicts is not None:
                known = np.ascontiguousarray(within.contradicts, np.int64)
        return (node, may, known, *walk.arguments), constant

    def _codes(self, theta: Any, codes: Any) -> np.ndarray:
        """Given outputs as rows, checked."""
        found = np.ascontiguousarray(codes, np.int32)
        if found.shape != (theta.node.size,):
            raise ValueError(f"codes have shape {found.shape}, expected one per node, {(theta.node.size,)}")
        found = found.reshape(theta.node.shape)
        if np.any((found < 0) | (found > 1)):
            s, v = (int(k) for k in np.argwhere((found < 0) | (found > 1))[0])
            raise ValueError(f"sample {s}, node {v}: its code is {found[s, v]}, expected 0 or 1")
        return found


def _check_feasible(values: np.ndarray) -> None:
    bad = np.flatnonzero(~(values > -np.inf))
    if len(bad):
        raise _infeasible(int(bad[0]))


def _infeasible(sample: int) -> InfeasibleError:
    text = f"sample {sample}: no output of the tree satisfies the restriction; allow more of its nodes"
    return InfeasibleError(text, sample)
