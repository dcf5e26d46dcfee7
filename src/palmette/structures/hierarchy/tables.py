"""Scores of the nodes of a tree, costs on them, and restrictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.annotation import Annotation, Known, possible_codes


@dataclass(frozen=True)
class HierarchyTables:
    """One number per sample and node of the tree: potentials, counts, or probabilities of nodes.

    Parameters
    ----------
    node : ndarray of float64, shape (n_samples, n_nodes)
        ``f(y)`` is the sum over the nodes of y; -inf forbids a node.
    offsets : ndarray of int64, shape (n_samples + 1,)
        A sample is one row: ``0, 1, ..., n_samples``.

    Examples
    --------
    >>> HierarchyTables.of([[1.0, 0.0], [0.0, 2.0]]).take(np.array([1])).node
    array([[0., 2.]])
    """

    node: np.ndarray
    offsets: np.ndarray

    n_codes = 2  # a node is in an output (1) or not (0)

    @classmethod
    def of(cls, node: Any) -> HierarchyTables:
        """The tables of scores of shape (n_samples, n_nodes)."""
        node = np.ascontiguousarray(node, float)
        return cls(node, np.arange(len(node) + 1))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shape of the scores."""
        return (self.node.shape,)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the tree."""
        return int(self.node.shape[1])

    def zeros(self) -> HierarchyTables:
        """Zeros in this shape."""
        return HierarchyTables(np.zeros_like(self.node), self.offsets)

    def take(self, samples: np.ndarray) -> HierarchyTables:
        """Copies of the samples of these numbers, in their order; a sample may be taken more than once."""
        return HierarchyTables.of(self.node[np.asarray(samples, np.int64)])

    def dot(self, other: HierarchyTables) -> float:
        """Inner product; ``-inf`` times 0 counts as 0."""
        used = other.node != 0.0
        return float(self.node[used] @ other.node[used])

    def plus(self, other: HierarchyTables) -> HierarchyTables:
        """The sums of the scores."""
        return HierarchyTables(self.node + other.node, self.offsets)

    def relabelled(self, place: np.ndarray) -> HierarchyTables:
        """The scores of nodes in another order: node k has the numbers of node ``place[k]`` here."""
        return HierarchyTables(np.ascontiguousarray(self.node[:, place]), self.offsets)

    def any(self) -> bool:
        """Whether two outputs differ, given the difference of their counts."""
        return bool(np.any(self.node))

    def distance(self) -> float:
        """How many nodes only one of two outputs has, given the difference of their counts."""
        return float(np.abs(self.node).sum())

    def position_cost(self, costs: np.ndarray) -> NodeCost:
        """Costs of leaving and of taking each node, shape (n_samples * n_nodes, 2), as a cost."""
        left, taken = costs.reshape(*self.node.shape, 2).transpose(2, 0, 1)
        return NodeCost(np.ascontiguousarray(taken - left), left.sum(axis=1))

    def check(self, n_nodes: int) -> None:
        """Refuse what would let a kernel read past an array, and scores that cannot be compared."""
        node, offsets = self.node, self.offsets
        if not isinstance(node, np.ndarray) or node.dtype != np.float64 or not node.flags.c_contiguous:
            raise TypeError("scores of nodes must be a C-contiguous array of float64")
        if node.ndim != 2 or node.shape[1] != n_nodes:
            raise ValueError(f"scores have shape {node.shape}, expected one for each of {n_nodes} nodes")
        if not np.array_equal(offsets, np.arange(len(node) + 1)):
            raise ValueError(
                f"offsets must be 0, 1, ..., {len(node)}: a sample of a hierarchy is one row of features"
            )
        bad = ~(node < np.inf)  # NaN, too
        if bad.any():
            s, v = (int(k) for k in np.argwhere(bad)[0])
            raise ValueError(
                f"sample {s}, node {v}: its score is {node[s, v]}, since feature values or weights are too large; "
                "scale the features to values around 1 and fit again"
            )


class NodeCodes(NamedTuple):
    """A number for each code of every node: the node left (0) and taken (1)."""

    node: np.ndarray  # (n_samples * n_nodes, 2)


@dataclass(frozen=True)
class NodeCost:
    """A cost of each output: a constant plus the costs of its nodes.

    Parameters
    ----------
    node : ndarray of shape (n_samples, n_nodes)
    constant : ndarray of shape (n_samples,)
    """

    node: np.ndarray
    constant: np.ndarray

    def check(self, theta: HierarchyTables) -> None:
        """Compare shapes with the potentials before any work starts."""
        if self.node.shape != theta.node.shape or self.constant.shape != (len(theta),):
            raise ValueError(
                f"cost has shapes {self.node.shape} and {self.constant.shape}, expected {theta.node.shape} and "
                f"{(len(theta),)}"
            )
        if not (np.all(np.isfinite(self.node)) and np.all(np.isfinite(self.constant))):
            raise ValueError("cost has values that are not finite; forbid nodes with within=")

    def times(self, weight: np.ndarray) -> NodeCost:
        """The cost times one weight for each sample."""
        return NodeCost(self.node * weight[:, None], self.constant * weight)


@dataclass(frozen=True)
class HierarchyRestriction(Allowed):
    """Which outputs are allowed; None allows all of them.

    Parameters
    ----------
    node : ndarray of bool, shape (n_samples, n_nodes, 2), optional
        Whether an output may be without a node (0), and with it (1).
    contradicts : ndarray of int, shape (n_samples, n_nodes), optional
        Codes of nodes, -1 where unknown: an output must differ from a known one.

    Examples
    --------
    The second of three nodes must be in the output:

    >>> HierarchyRestriction.fixed(np.array([-1, 1, -1]), 3).node[0].astype(int)
    array([[1, 1],
           [0, 1],
           [1, 1]])
    """

    node: np.ndarray | None = None
    contradicts: np.ndarray | None = None

    @classmethod
    def fixed(cls, codes: Known, n_nodes: int) -> HierarchyRestriction:
        """Outputs with these codes of nodes, one sample after the other; -1 where both will do."""
        return cls(possible_codes(codes, 2).reshape(-1, n_nodes, 2))

    def __and__(self, other: HierarchyRestriction) -> HierarchyRestriction:
        """What both allow; only one of them may name an annotation to contradict."""
        if self.contradicts is not None and other.contradicts is not None:
            raise ValueError("within.contradicts names a second annotation; give one")
        node = other.node if self.node is None else self.node
        if self.node is not None and other.node is not None:
            node = self.node & other.node
        return HierarchyRestriction(node, other.contradicts if self.contradicts is None else self.contradicts)

    def check(self, theta: HierarchyTables) -> None:
        """Compare shapes and kinds with the potentials before any work starts."""
        shape = theta.node.shape
        if self.node is not None:
            if np.asarray(self.node).dtype != bool:
                raise TypeError("within.node must be an array of bool")
            if np.shape(self.node) != (*shape, 2):
                raise ValueError(f"within.node has shape {np.shape(self.node)}, expected {(*shape, 2)}")
        known = self.contradicts
        if known is not None and (known.shape != shape or known.dtype.kind not in "iu"):
            raise ValueError(
                f"within.contradicts must be a code of each node, {shape}; got {known.dtype} of {known.shape}"
            )

    def allows(self, codes: np.ndarray) -> np.ndarray:
        """Whether given outputs (n_samples, n_nodes) are allowed, bool (n_samples,)."""
        fine = np.ones(len(codes), bool)
        if self.node is not None:
            fine &= np.where(codes == 1, self.node[..., 1], self.node[..., 0]).all(axis=1)
        if self.contradicts is not None:
            fine &= ((self.contradicts >= 0) & (self.contradicts != codes)).any(axis=1)
        return fine


def known_codes(annotation: Known, n_nodes: int) -> np.ndarray:
    """The codes of nodes, shape (n_samples, n_nodes), -1 where an annotation leaves both.

    >>> known_codes(Annotation(np.array([1, -1, 2]), np.array([[True, False]])), 3)
    array([[ 1, -1,  0]])
    """
    if isinstance(annotation, Annotation) and annotation.sets is not None and len(annotation.sets):
        possible = annotation.possible()
        codes = np.where(possible.sum(axis=1) == 1, possible[:, 1].astype(int), -1)
    else:
        codes = np.asarray(annotation.codes if isinstance(annotation, Annotation) else annotation)
    return codes.reshape(-1, n_nodes)
