"""Chains and multiclass by definition: every label sequence, scored part by part."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.structures.chain.chain import Chain
from palmette.structures.chain.multiclass import Multiclass
from palmette.structures.positions.tables import ChainTables, Restriction
from palmette.testing.chain_instances import chain_instances, item_instances
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import RowReference, rows_of

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


class ChainReference(RowReference):
    """Label sequences with node and edge tables.

    Parts are ``("node", t, label)`` and ``("edge", t, label, next label)`` with t counted inside the sample.

    Parameters
    ----------
    n_labels : int, optional
    lengths : sequence of int, optional
        Replace the built-in shapes of the instances. The number of outputs, ``n_labels ** length``, should
        stay below a few hundred.

    Examples
    --------
    >>> import numpy as np
    >>> theta = ChainTables(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros((1, 2, 2)), np.array([0, 2]))
    >>> reference = ChainReference()
    >>> {y: reference.score(theta, 0, y) for y in reference.outputs(theta, 0)}
    {(0, 0): 1.0, (0, 1): 3.0, (1, 0): 0.0, (1, 1): 2.0}
    """

    def __init__(self, n_labels: int | None = None, lengths: Sequence[int] | None = None) -> None:
        self.n_labels, self.lengths = n_labels, lengths

    def of(self, structure: Structure) -> Reference:
        """For chains of second order, or with forbidden transitions, references of their own."""
        from palmette.testing import chain2_reference as more

        rules = getattr(structure, "rules", None)
        if rules is not None:
            kinds = {1: more.GrammaticalChains, 2: more.GrammaticalSecondOrderChains}
            return kinds[structure.order or 1](rules)
        return more.SecondOrderReference() if getattr(structure, "order", 1) == 2 else self

    # -- instances --------------------------------------------------------------------------------------

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        return chain_instances(rng, self.n_labels, self.lengths)

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[Any, ...]]]]:
        """A sample without positions."""
        theta = ChainTables(rng.normal(size=(3, 2)), np.zeros((1, 2, 2)), np.array([0, 2, 2, 3]))
        yield Instance("a sample without positions", theta), [(0, 1), (), (1,)]

    def zeros(self, theta: ChainTables) -> ChainTables:
        """The same shape, all potentials 0."""
        return ChainTables(np.zeros_like(theta.node), np.zeros_like(theta.edge), theta.offsets)

    def select(self, theta: ChainTables, samples: Sequence[int]) -> ChainTables:
        """Rows and edge tables of some samples; a table shared by all edges stays as it is."""
        rows, edges = rows_of(theta, samples), _edges(theta, samples)
        lengths = [_length(theta, s) for s in samples]
        edge = theta.edge.copy() if len(theta.edge) <= 1 else theta.edge[edges]
        return ChainTables(theta.node[rows], edge, np.cumsum([0, *lengths]))

    # -- outputs ----------------------------------------------------------------------------------------

    def parts(self, theta: ChainTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """A part for every position and for every pair of neighbours."""
        nodes = [("node", t, label) for t, label in enumerate(y)]
        return nodes + [("edge", t, *pair) for t, pair in enumerate(zip(y, y[1:]))]

    def score(self, theta: ChainTables, s: int, y: tuple[int, ...]) -> float:
        """Sum of the potentials of the parts."""
        return math.fsum(self.part_score(theta, s, part) for part in self.parts(theta, s, y))

    def part_score(self, theta: ChainTables, s: int, part: tuple[Any, ...]) -> float:
        """The potential of one part."""
        array, index = _place(theta, s, part)
        return float(array[index])

    def counts(self, theta: ChainTables, weights: Any) -> ChainTables:
        """Weighted counts of the parts in theta's shape."""
        out = self.zeros(theta)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for part in self.parts(theta, s, y):
                    array, index = _place(out, s, part)
                    array[index] += weight
        return out

    def read_parts(self, theta: ChainTables, tables: ChainTables) -> list[dict[tuple[Any, ...], float]]:
        """The entries of node (rows, labels) and edge (edges, labels, labels)."""
        n_labels = theta.node.shape[1]
        n_edges = len(_edges(theta, range(len(theta))))
        expected = (len(theta.node), n_labels), (n_edges, n_labels, n_labels)
        if (tables.node.shape, tables.edge.shape) != expected:
            raise AssertionError(
                f"tables have shapes {(tables.node.shape, tables.edge.shape)}, expected {expected}"
            )
        return [_by_part(tables, theta, s) for s in range(len(theta))]

    # -- costs, restrictions, annotations, risks --------------------------------------------------------

    def draw_cost(self, rng: np.random.Generator, theta: ChainTables, whole: bool) -> Cost:
        """A cost on nodes only, with one table for all edges, or edge by edge."""
        n_labels = theta.node.shape[1]
        n_edges = len(_edges(theta, range(len(theta))))
        name, n_tables = [("on nodes", 0), ("on all edges alike", 1), ("edge by edge", n_edges)][
            rng.integers(3)
        ]
        if not len(theta.edge):
            name, n_tables = "on nodes", 0
        node, edge = rng.normal(size=theta.node.shape), rng.normal(size=(n_tables, n_labels, n_labels))
        given = ChainTables(
            np.round(node) if whole else node, np.round(edge) if whole else edge, theta.offsets
        )
        return Cost(f"cost {name}", given, [_by_part(given, theta, s) for s in range(len(theta))])

    def select_cost(self, theta: ChainTables, given: ChainTables, samples: Sequence[int]) -> ChainTables:
        """Node rows and edge tables of some samples."""
        edge = given.edge if len(given.edge) <= 1 else given.edge[_edges(theta, samples)]
        return ChainTables(given.node[rows_of(theta, samples)], edge, self.select(theta, samples).offsets)

    def draw_limits(self, rng: np.random.Generator, theta: ChainTables) -> Iterator[Limit]:
        """Nothing allowed, fixed labels, allowed labels, allowed pairs, contradiction, and combinations."""
        n_rows, n_labels = theta.node.shape
        planted = self.plant(rng, theta)
        full: Any = rng.integers(0, n_labels, n_rows)
        somewhere = np.array([rng.choice(rows_of(theta, [s])) for s in range(len(theta))])
        full[somewhere] = (planted[somewhere] + 1) % n_labels
        partial = np.where(rng.random(n_rows) < 0.5, full, -1)
        partial[somewhere] = full[somewhere]
        labels = rng.random((n_rows, n_labels)) < 0.6
        labels[np.arange(n_rows), planted] = True
        left = np.array([r for s in range(len(theta)) for r in rows_of(theta, [s])[:-1]], int)
        pairs = rng.random((len(left), n_labels, n_labels)) < 0.5
        pairs[np.arange(len(left)), planted[left], planted[left + 1]] = True
        same_pairs = rng.random((1, n_labels, n_labels)) < 0.5
        same_pairs[0, planted[left], planted[left + 1]] = True
        nothing = labels.copy()
        nothing[rng.integers(n_rows)] = False
        for name, within in [
            ("nothing allowed", Restriction(node=nothing)),
            ("no pair allowed", Restriction(edge=np.zeros_like(same_pairs))),
            ("fixed labels", Restriction.fixed(np.where(rng.random(n_rows) < 0.5, planted, -1), n_labels)),
            ("allowed labels", Restriction(node=labels)),
            ("allowed pairs", Restriction(edge=same_pairs)),
            ("allowed pairs of each edge", Restriction(edge=pairs)),
            ("contradiction", Restriction(contradicts=full)),
            ("contradiction of some labels", Restriction(contradicts=partial)),
            ("allowed labels and pairs of each edge", Restriction(labels, pairs)),
            ("allowed labels and pairs, contradiction", Restriction(labels, same_pairs, partial)),
        ]:
            allows = functools.partial(self._allows, theta, within)
            yield Limit(f"within {name}", within, allows, contradicting=within.contradicts is not None)

    def _allows(self, theta: ChainTables, within: Restriction, s: int, y: tuple[int, ...]) -> bool:
        lo = int(theta.offsets[s])
        if within.node is not None and not all(within.node[lo + t, label] for t, label in enumerate(y)):
            return False
        if within.edge is not None:
            tables = ChainTables(theta.node, within.edge, theta.offsets)
            edges = [part for part in self.parts(theta, s, y) if part[0] == "edge"]
            if not all(self.part_score(tables, s, part) for part in edges):
                return False
        return within.contradicts is None or self.contradicts(
            y, within.contradicts[lo : lo + len(y)].tolist()
        )

    def select_within(self, theta: ChainTables, given: Restriction, samples: Sequence[int]) -> Restriction:
        """The restriction of some samples."""
        rows, edge = rows_of(theta, samples), given.edge
        if edge is not None and len(edge) != 1:
            edge = edge[_edges(theta, samples)]
        return Restriction(
            None if given.node is None else given.node[rows],
            edge,
            None if given.contradicts is None else given.contradicts[rows],
        )


class MulticlassReference(ChainReference):
    """One label per sample; no edge tables."""

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        return item_instances(rng, self.n_labels, None if self.lengths is None else len(self.lengths))


def _length(theta: ChainTables, s: int) -> int:
    return int(theta.offsets[s + 1] - theta.offsets[s])


def _edges(theta: ChainTables, samples: Sequence[int]) -> np.ndarray:
    """Numbers of the samples' edges, counted through the batch."""
    return np.array([_edge(theta, s, t) for s in samples for t in range(_length(theta, s) - 1)], int)


def _edge(theta: ChainTables, s: int, t: int) -> int:
    return sum(_length(theta, earlier) - 1 for earlier in range(s)) + t


def _place(tables: ChainTables, s: int, part: tuple[Any, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array and the index that hold a part's number."""
    kind, t, *labels = part
    if kind == "node":
        return tables.node, (int(tables.offsets[s]) + t, *labels)
    return tables.edge, (0 if len(tables.edge) == 1 else _edge(tables, s, t), *labels)


def _by_part(tables: ChainTables, theta: ChainTables, s: int) -> dict[tuple[Any, ...], float]:
    """All parts of sample ``s`` that the tables speak of, and their numbers."""
    labels = range(theta.node.shape[1])
    parts: list[tuple[Any, ...]] = [("node", t, i) for t in range(_length(theta, s)) for i in labels]
    if len(tables.edge):
        parts += [("edge", t, i, j) for t in range(_length(theta, s) - 1) for i in labels for j in labels]
    places = ((part, _place(tables, s, part)) for part in parts)
    return {part: float(array[index]) for part, (array, index) in places}


register_reference(Chain, ChainReference())
register_reference(Multiclass, MulticlassReference())
