"""Chains and multiclass by definition: every label sequence, scored part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.structures.chain.chain import Chain
from palmette.structures.chain.multiclass import Multiclass
from palmette.structures.positions.tables import ChainTables
from palmette.testing.chain_instances import EXACT, ITEM_KINDS, KINDS, draw_chains
from palmette.testing.reference import Cost, Instance, Reference, register_reference
from palmette.testing.row_reference import labelled_rows
from palmette.testing.table_reference import TableReference

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


class ChainReference(TableReference):
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

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind, in the given shape if there is one."""
        for name, scores, usual_labels, usual_lengths, shared in KINDS:
            n_labels, lengths = self.n_labels or usual_labels, self.lengths or usual_lengths
            theta, _ = draw_chains(rng, scores, n_labels, lengths, shared)
            yield Instance(name, theta, exact=scores[0] in EXACT)

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[Any, ...]]]]:
        """A sample without positions."""
        theta = ChainTables(rng.normal(size=(3, 2)), np.zeros((1, 2, 2)), np.array([0, 2, 2, 3]))
        yield Instance("a sample without positions", theta), [(0, 1), (), (1,)]

    def parts(self, theta: ChainTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """A part for every position and for every pair of neighbours."""
        nodes = [("node", t, label) for t, label in enumerate(y)]
        return nodes + [("edge", t, *pair) for t, pair in enumerate(zip(y, y[1:]))]

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows of three features, of which the largest tells the label."""
        return labelled_rows(rng)

    def draw_cost(self, rng: np.random.Generator, theta: ChainTables, whole: bool) -> Cost:
        """A cost on nodes only, with one table for all edges, or edge by edge."""
        n_labels, kind = theta.n_labels, int(rng.integers(3)) if len(theta.edge) else 0
        name, n_tables = [("on nodes", 0), ("on all edges alike", 1), ("edge by edge", theta.n_edges)][kind]
        node, edge = rng.normal(size=theta.node.shape), rng.normal(size=(n_tables, n_labels, n_labels))
        given = ChainTables(
            np.round(node) if whole else node, np.round(edge) if whole else edge, theta.offsets
        )
        return Cost(f"cost {name}", given, self.by_part(given, theta))


class MulticlassReference(ChainReference):
    """One label per sample; no edge tables."""

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        for name, scores, usual_labels in ITEM_KINDS:
            lengths = (1,) * len(self.lengths or range(5))
            theta, _ = draw_chains(rng, scores, self.n_labels or usual_labels, lengths, shared=True)
            yield Instance(name, replace(theta, edge=theta.edge[:0]), exact=scores[0] in EXACT)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """The rows one by one."""
        X, Y = labelled_rows(rng)
        return np.concatenate(X), [label for y in Y for label in y]


register_reference(Chain, ChainReference())
register_reference(Multiclass, MulticlassReference())
