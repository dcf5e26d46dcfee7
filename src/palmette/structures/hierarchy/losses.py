"""What wrong nodes cost: losses that are linear in the nodes of an answer, so that augmented maxima are exact."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.data.annotation import Known
from palmette.data.paths import read_path
from palmette.errors import MissingCapability
from palmette.losses.base import no_way
from palmette.losses.hamming import common_unit
from palmette.losses.weighted_maximum import per_sample
from palmette.registry import register
from palmette.structures.hierarchy.hierarchy import Hierarchy
from palmette.structures.hierarchy.tables import HierarchyTables, NodeCost, known_codes
from palmette.structures.hierarchy.tree import Tree


@dataclass(frozen=True)
class BoundNodeLoss:
    """A loss ``D(y, y') = constant(y) + sum over the nodes v of y' of cost_v(y)``, times a scale.

    Of a truth that is known in part only known nodes cost something: outputs that agree with it cost nothing.
    """

    tree: Tree
    weights: np.ndarray  # (n_nodes,)
    scale: float

    way = "parts"

    @abstractmethod
    def part_costs(self, sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Costs of nodes and constants of ``sum_i a_i D(y_i, y)``, of which the losses of single truths are a case.

        Parameters
        ----------
        sums : ndarray of shape (n, n_nodes)
            ``sum_i a_i [node v is in y_i]``.
        mass : ndarray of shape (n,)
            ``sum_i a_i``.

        Returns
        -------
        costs of nodes (n, n_nodes), constants (n,)
            Linear in both.
        """

    def cost(self, theta: Any, true: Known) -> NodeCost:
        """The loss as a cost added to the potentials."""
        known = known_codes(true, len(self.tree))
        one = np.ones(len(known))
        if np.all(known >= 0):
            return NodeCost(*self.part_costs(known.astype(float), one))
        known = self._with_parents(known)
        node, constant = self.part_costs((known == 1).astype(float), one)
        return NodeCost(np.where(self._decided(known), node, 0.0), constant)

    def _with_parents(self, known: np.ndarray) -> np.ndarray:
        """Truths (n, n_nodes) with -1 where unknown; who has a node has its parent."""
        known = known.copy()
        for v in np.flatnonzero(self.tree.parent >= 0)[::-1].tolist():
            known[known[:, v] == 1, self.tree.parent[v]] = 1
        return known

    def _decided(self, known: np.ndarray) -> np.ndarray:
        """Nodes that cost something, given truths (n, n_nodes) with -1 where unknown."""
        return known >= 0

    def value(self, structure: Structure, theta: Any, true: Known, codes: np.ndarray) -> np.ndarray:
        """Loss of each sample."""
        cost = self.cost(theta, true)
        answer = np.asarray(codes).reshape(-1, len(self.tree))
        # Sums of weights that cancel may leave less than nothing.
        return np.maximum(cost.constant + np.where(answer == 1, cost.node, 0.0).sum(axis=1), 0.0)

    def augmented_best(self, structure: Structure, theta: Any, true: Known) -> Best:
        """One maximisation with the cost added."""
        return structure.best(theta, cost=self.cost(theta, true))

    def weighted_best(self, structure: Structure, theta: Any, true: np.ndarray, weight: Any) -> Best:
        """``argmax_y f(y) + weight D(true, y)``, with one weight for all samples or one each, at least 0."""
        return structure.best(theta, cost=self.weighted_cost(structure, theta, true, weight))

    def weighted_cost(self, structure: Structure, theta: Any, true: np.ndarray, weight: Any) -> NodeCost:
        """The loss times a weight for each sample as a cost."""
        return self.cost(theta, true).times(per_sample(weight, theta))

    def largest(self, structure: Structure, theta: Any, true: np.ndarray) -> np.ndarray:
        """The largest loss of any output of each sample."""
        nothing = HierarchyTables.of(np.zeros((len(theta), len(self.tree))))
        return structure.best(nothing, cost=self.cost(theta, true)).values

    @cached_property
    def least(self) -> float:
        """No loss is between this and 0."""
        return self.scale * float(self.weights.min(where=self.weights > 0.0, initial=np.inf))

    @cached_property
    def unit(self) -> float | None:
        """The largest number of which all losses are multiples; None if there is none."""
        unit = common_unit(self.weights)
        return None if unit is None else self.scale * unit


class BoundCommonPath(BoundNodeLoss):
    """Levels after the common ones, on codes."""

    def part_costs(self, sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``max(|y|, |y'|) - common = |y| - common + (nodes of y' at levels that y does not have)``."""
        level = self.tree.level - 1
        at_level = sums @ np.eye(self.tree.depth)[level]
        beyond = (mass[:, None] - at_level)[:, level]
        return self.scale * (beyond - sums), self.scale * sums.sum(axis=1)

    def _decided(self, known: np.ndarray) -> np.ndarray:
        """Those of the truth, and others at levels that it cannot have."""
        deepest = np.where(known != 0, self.tree.level, 0).max(axis=1, initial=0)
        return (known == 1) | (self.tree.level > deepest[:, None])


class BoundSymmetricDifference(BoundNodeLoss):
    """Weights of the nodes that only one of two outputs has, on codes."""

    def part_costs(self, sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A node of y' costs its weight if y does not have it, and else saves it."""
        return self.scale * (mass[:, None] - 2.0 * sums) * self.weights, self.scale * (sums @ self.weights)


class BoundFirstMistakes(BoundNodeLoss):
    """Weights of the nodes that are wrong below a right one, on codes."""

    def part_costs(self, sums: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Below a true node p a true child c costs ``y'_p - y'_c``, another one ``y'_c``. All outputs have the root."""
        parent, own = self.tree.parent, self.weights * sums
        above = np.where(parent < 0, mass[:, None], sums[:, parent])
        node = self.weights * (above - sums) - own
        for v in np.flatnonzero(parent >= 0).tolist():
            node[:, parent[v]] += own[:, v]
        return self.scale * node, self.scale * own[:, parent < 0].sum(axis=1)


def _bound(
    kind: type[BoundNodeLoss],
    loss: Any,
    structure: Structure,
    classes: tuple[Any, ...],
    weights: Any,
    largest: Any,
) -> Any:
    """The loss on the tree of the nodes ``classes``; ``largest(tree, weights, multi_label)`` bounds it."""
    if not isinstance(structure, Hierarchy):
        raise no_way(loss, structure)
    tree = Tree(tuple(classes))
    found = node_weights(tree, weights, structure.separator, type(loss).__name__)
    scale = 1.0
    if loss.normalize:
        top = float(largest(tree, found, bool(structure.multi_label)))
        scale = 1.0 / top if top > 0.0 else 1.0
    return kind(tree, found, scale)


def node_weights(tree: Tree, weights: Any, separator: str, name: str) -> np.ndarray:
    """Weights of nodes, at least 0: 1 for all, by level, or by node (1 for those that are not named).

    >>> node_weights(Tree.of([("a", "x"), ("b",)]), [2.0, 0.5], ".", "SymmetricDifference")
    array([2. , 0.5, 2. ])
    """
    found = np.ones(len(tree))
    if isinstance(weights, Mapping):
        for key, own in weights.items():
            v = tree.place.get(read_path(key, separator, f"{name}: weights").labels)
            if v is None:
                raise ValueError(
                    f"{name}: weights name {key!r:.60}, which is no node of the tree; a node is named by the path to it"
                )
            found[v] = own
    elif weights is not None:
        levels = np.asarray(weights, float)
        if levels.ndim != 1 or len(levels) < tree.depth:
            raise ValueError(
                f"{name}: weights={weights!r:.60} must be one number for each of the {tree.depth} levels, or a dict "
                "{path: weight}"
            )
        found = levels[tree.level - 1].astype(float)
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
    if len(bad):
        node = tree.nodes[int(bad[0])]
        raise ValueError(
            f"{name}: the weight of {node!r:.60} is {found[bad[0]]:g}; it must be finite and at least 0"
        )
    return found


@register("loss")
@dataclass(frozen=True)
class CommonPath:
    """Levels of the longer path after the common ones: ``D(y, y') = max(|y|, |y'|) - |common levels|``.

    The *hierarchical loss* of paths: 0 if they are equal, the number of levels if they part at the top.

    Parameters
    ----------
    normalize : bool, default=False
        Divide by the depth of the tree, so that losses are in [0, 1].

    Examples
    --------
    >>> from palmette import SSVM, Hierarchy
    >>> model = SSVM(Hierarchy(), task_loss=CommonPath(normalize=True))
    """

    called: ClassVar[str] = "common_path"

    normalize: bool = False

    def bind(self, structure: Any, classes: tuple[Any, ...]) -> BoundCommonPath:
        """The same on codes."""
        if getattr(structure, "multi_label", False):
            raise MissingCapability(
                "task loss CommonPath compares two paths, and outputs of Hierarchy(multi_label=True) are sets of "
                "paths: use task_loss='first_mistakes' or 'symmetric_difference'"
            )
        return _bound(BoundCommonPath, self, structure, classes, None, lambda tree, _, __: tree.depth)


@register("loss")
@dataclass(frozen=True)
class SymmetricDifference:
    """Weights of the nodes that only one of two outputs has: of paths the length of the way between their ends.

    A node stands for the edge to its parent, so that weights are *weights of edges*.

    Parameters
    ----------
    weights : None, list or dict, default=None
        1 for all nodes; one weight for each level, from the top; or ``{path: weight}``, 1 for nodes that are not named.
    normalize : bool, default=False
        Divide by the largest loss that two outputs can have (of paths by twice the weight of the heaviest), so that
        losses are in [0, 1].

    Examples
    --------
    >>> from palmette import SSVM, Hierarchy
    >>> model = SSVM(Hierarchy(), task_loss=SymmetricDifference(weights=[4.0, 2.0, 1.0]))
    """

    called: ClassVar[str] = "symmetric_difference"

    weights: Any = None
    normalize: bool = False

    def bind(self, structure: Any, classes: tuple[Any, ...]) -> BoundSymmetricDifference:
        """The same on codes."""
        return _bound(BoundSymmetricDifference, self, structure, classes, self.weights, _heaviest)


@register("loss")
@dataclass(frozen=True)
class FirstMistakes:
    """Weights of the nodes that are wrong while the node above is right: what follows from a mistake costs nothing.

    Parameters
    ----------
    weights : None, list or dict, default=None
        As of :class:`SymmetricDifference`.
    normalize : bool, default=False
        Divide by the largest loss that two outputs can have, so that losses are in [0, 1].

    Examples
    --------
    >>> from palmette import SSVM, Hierarchy
    >>> model = SSVM(Hierarchy(multi_label=True), task_loss=FirstMistakes())
    """

    called: ClassVar[str] = "first_mistakes"

    weights: Any = None
    normalize: bool = False

    def bind(self, structure: Any, classes: tuple[Any, ...]) -> BoundFirstMistakes:
        """The same on codes."""
        return _bound(BoundFirstMistakes, self, structure, classes, self.weights, _heaviest_mistakes)


def _heaviest(tree: Tree, weights: np.ndarray, multi_label: bool) -> float:
    return float(weights.sum() if multi_label else 2.0 * tree.along(weights).max())


def _heaviest_mistakes(tree: Tree, weights: np.ndarray, multi_label: bool) -> float:
    return float(weights.sum() if multi_label else 2.0 * weights.max())
