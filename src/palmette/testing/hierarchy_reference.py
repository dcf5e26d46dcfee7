"""Paths and subtrees from their definition: sets of nodes that have the parents of their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.structures.hierarchy.hierarchy import Hierarchy
from palmette.structures.hierarchy.tables import HierarchyRestriction, HierarchyTables, NodeCost
from palmette.testing.chain_instances import EXACT, _forbidding, _huge, _huge_whole, _moderate, _whole, _zeros
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import RowReference, with_sets

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

KINDS = [
    ("ties", _whole, 3), ("forbidden potentials", _forbidding, 3), ("huge", _huge, 2), ("moderate", _moderate, 2),
    ("zeros", _zeros, 2), ("huge ties", _huge_whole, 2), ("one sample", _moderate, 1),
]  # fmt: skip


class HierarchyReference(RowReference):
    """Outputs are tuples with 1 for the nodes of an output and 0 for the others.

    Parameters
    ----------
    nodes : sequence of tuple
        The nodes of the tree, each as the labels from the top to it.
    inner_ends, multi_label : bool
        As of the structure.

    All sets of nodes are tried, so that trees have to be small.
    """

    def __init__(
        self, nodes: Sequence[tuple[Any, ...]] = (), inner_ends: bool = False, multi_label: bool = False
    ) -> None:
        self.nodes, self.inner_ends, self.multi_label = list(nodes), inner_ends, multi_label
        self._all = [tuple(int(v in own) for v in range(len(self.nodes))) for own in self._sets()]
        self._all.sort()

    def of(self, structure: Structure) -> Reference:
        """The reference of the tree of one structure."""
        found: Any = structure
        return HierarchyReference(found.nodes.nodes, found.inner_ends, found.multi_label)

    def _sets(self) -> Iterator[frozenset[int]]:
        everything = range(len(self.nodes))
        for size in range(len(self.nodes) + 1):
            for chosen in combinations(everything, size):
                if self._is_output({self.nodes[v] for v in chosen}):
                    yield frozenset(chosen)

    def _is_output(self, own: set[tuple[Any, ...]]) -> bool:
        """By definition: parents are there, nothing ends where it may not, and of paths there is one."""
        if any(len(node) > 1 and node[:-1] not in own for node in own):
            return False
        ends = [node for node in own if not any(other[:-1] == node for other in own)]
        inside = [node for node in ends if any(other[:-1] == node for other in self.nodes)]
        if inside and not self.inner_ends:
            return False
        return len(ends) == 1 if not self.multi_label else bool(ends) or self.inner_ends

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        for name, draw, n_samples in KINDS:
            node = draw(rng, (n_samples, len(self.nodes)))
            if draw is _forbidding:  # some output stays
                for row in node:
                    kept = self._all[rng.integers(len(self._all))]
                    row[np.array(kept, bool) & np.isneginf(row)] = 0.5
            yield Instance(name, HierarchyTables.of(node), exact=draw in EXACT)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows whose largest column tells the output; outputs as a bool for each node."""
        chosen = [self._all[k] for k in rng.permutation(len(self._all))[:3]]
        X = rng.normal(size=(8, len(chosen)))
        return list(X), [[bool(code) for code in chosen[k]] for k in X.argmax(axis=1)]

    def outputs(self, theta: Any, s: int) -> list[tuple[int, ...]]:
        """All outputs, in the order of their codes."""
        return self._all

    def score(self, theta: Any, s: int, y: tuple[int, ...]) -> float:
        """The sum of the scores of the nodes of y."""
        return sum(float(score) for score, code in zip(theta.node[s], y) if code)

    def counts(self, theta: Any, weights: Sequence[Mapping[tuple[int, ...], float]]) -> HierarchyTables:
        """How often each node is in an output."""
        node = np.zeros_like(theta.node)
        for s, outputs in enumerate(weights):
            for y, weight in outputs.items():
                node[s] += weight * np.array(y)
        return HierarchyTables.of(node)

    def unpack(self, theta: Any, codes: np.ndarray) -> list[tuple[int, ...]]:
        """Cut the codes into samples."""
        if np.shape(codes) != (theta.node.size,):
            raise AssertionError(f"codes have shape {np.shape(codes)}, expected ({theta.node.size},)")
        return [tuple(row) for row in np.asarray(codes).reshape(theta.node.shape).tolist()]

    def select(self, theta: Any, samples: Sequence[int]) -> HierarchyTables:
        """Some samples as a batch of their own."""
        return HierarchyTables.of(theta.node[np.array(samples, int)].reshape(-1, len(self.nodes)))

    def zeros(self, theta: Any) -> HierarchyTables:
        """The same batch with all scores 0."""
        return HierarchyTables.of(np.zeros_like(theta.node))

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[int, ...]]]]:
        """Offsets that do not fit, and scores that are no numbers."""
        node = np.zeros((1, len(self.nodes)))
        yield Instance("two rows", HierarchyTables(node, np.array([0, 2]))), [self._all[0]]
        node = np.full((1, len(self.nodes)), np.nan)
        yield Instance("NaN", HierarchyTables.of(node)), [self._all[0]]

    # -- costs and restrictions ---------------------------------------------------------------------------------

    def parts(self, theta: Any, s: int, y: tuple[int, ...]) -> list[Any]:
        """Every node with its code."""
        return list(enumerate(y))

    def read_parts(self, theta: Any, tables: Any) -> list[dict[Any, float]]:
        """A number for both codes of every node."""
        return _by_part(tables.node.reshape(*theta.node.shape, 2))

    def draw_cost(self, rng: np.random.Generator, theta: Any, whole: bool) -> Cost:
        """A cost of both codes of every node."""
        costs = rng.normal(size=(*theta.node.shape, 2))
        costs = np.round(2 * costs) if whole else costs
        return Cost("cost of nodes", theta.position_cost(costs.reshape(-1, 2)), _by_part(costs))

    def select_cost(self, theta: Any, given: NodeCost, samples: Sequence[int]) -> NodeCost:
        """The cost of some samples."""
        some = np.array(samples, int)
        return NodeCost(given.node[some].reshape(-1, len(self.nodes)), given.constant[some])

    def draw_limits(self, rng: np.random.Generator, theta: Any) -> Iterator[Limit]:
        """Nothing allowed, fixed nodes, allowed codes."""
        n = len(self.nodes)
        planted = np.array(self.plant(rng, theta)).reshape(-1, n)
        allowed = rng.random((*theta.node.shape, 2)) < 0.6
        np.put_along_axis(allowed, planted[..., None], True, axis=2)
        nothing = allowed.copy()
        nothing[int(rng.integers(len(theta))), int(rng.integers(n))] = False
        fixed = np.where(rng.random(planted.shape) < 0.3, planted, -1)
        for name, within in [
            ("nothing allowed", HierarchyRestriction(nothing)),
            ("fixed nodes", HierarchyRestriction.fixed(fixed.ravel(), n)),
            ("allowed codes", HierarchyRestriction(allowed)),
        ]:
            yield Limit(f"within {name}", within, self._allows(within.node))

    def _allows(self, node: Any) -> Any:
        return lambda s, y: all(node[s, v, code] for v, code in enumerate(y))

    def select_within(self, theta: Any, given: Any, samples: Sequence[int]) -> HierarchyRestriction:
        """The restriction of some samples."""
        return HierarchyRestriction(given.node[np.array(samples, int)].reshape(-1, len(self.nodes), 2))

    def draw_annotations(self, rng: np.random.Generator, theta: Any) -> Iterator[list[tuple[Any, ...]]]:
        """Whole outputs, prefixes of them (what is below one of its nodes is open), some nodes, and sets of codes."""
        full = [self._all[k] for k in rng.integers(len(self._all), size=len(theta))]
        yield full
        yield [self._prefix(rng, y) for y in full]
        some = [tuple(code if rng.random() < 0.5 else -1 for code in y) for y in full]
        yield some
        yield [with_sets(rng, y, 2) for y in some]

    def _prefix(self, rng: np.random.Generator, y: tuple[int, ...]) -> tuple[int, ...]:
        tops = [(), *(node for node, code in zip(self.nodes, y) if code)]
        top = tops[int(rng.integers(len(tops)))]
        below = [len(node) > len(top) and node[: len(top)] == top for node in self.nodes]
        return tuple(-1 if inside else code for code, inside in zip(y, below))


def _by_part(numbers: np.ndarray) -> list[dict[Any, float]]:
    """Numbers of the codes of nodes, shape (n_samples, n_nodes, 2), by part."""
    return [{(v, code): row[v][code] for v in range(len(row)) for code in (0, 1)} for row in numbers.tolist()]


register_reference(Hierarchy, HierarchyReference())
