"""Rankings from their definition: every permutation of the documents of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.structures.ranking.codec import RANK_BITS
from palmette.structures.ranking.ranking import Ranking
from palmette.structures.ranking.tables import RankingCost, RankingRestriction, RankingTables
from palmette.testing.chain_instances import EXACT
from palmette.testing.ranking_instances import KINDS
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import RowReference, rows_of

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


class RankingReference(RowReference):
    """Outputs are tuples with the rank of every document.

    Parameters
    ----------
    position : sequence of float
        Weights of the ranks.

    Among equally good rankings the first wins: documents in the order of falling scores (then as given) have their
    ranks compared lexicographically.
    """

    def __init__(self, position: Sequence[float] = ()) -> None:
        self.position = position

    def of(self, structure: Structure) -> Reference:
        """The reference with the weights of one structure."""
        return RankingReference(structure.weights(6).tolist())

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        whole_weights = all(c == int(c) for c in self.position)
        for name, draw, lengths in KINDS:
            theta = RankingTables(draw(rng, sum(lengths)), np.cumsum([0, *lengths]).astype(np.int64))
            yield Instance(name, theta, exact=whole_weights and draw in EXACT)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Queries whose grades follow from the first feature of a document."""
        X = [rng.normal(size=(4, 3)) for _ in range(8)]
        return X, [np.clip(np.round(x[:, 0] + 1.0), 0, 2).astype(int).tolist() for x in X]

    def outputs(self, theta: RankingTables, s: int) -> list[tuple[int, ...]]:
        """All permutations, in the order in which ties are decided."""
        score = theta.node[rows_of(theta, [s])].tolist()
        first = sorted(range(len(score)), key=lambda d: (-score[d], d))
        found = permutations(range(len(score)))
        return sorted(found, key=lambda ranks: [ranks[d] for d in first])

    def score(self, theta: RankingTables, s: int, y: tuple[int, ...]) -> float:
        """``sum_d s_d c_rank(d)``."""
        score = theta.node[rows_of(theta, [s])].tolist()
        return sum(score[d] * self.position[rank] for d, rank in enumerate(y))

    def counts(
        self, theta: RankingTables, weights: Sequence[Mapping[tuple[int, ...], float]]
    ) -> RankingTables:
        """Weights of the ranks, times those of the outputs."""
        node = np.zeros_like(theta.node)
        for s, outputs in enumerate(weights):
            for y, weight in outputs.items():
                for row, rank in zip(rows_of(theta, [s]), y):
                    node[row] += weight * self.position[rank]
        return RankingTables(node, theta.offsets)

    def select(self, theta: RankingTables, samples: Sequence[int]) -> RankingTables:
        """Some queries as a batch of their own."""
        lengths = [theta.offsets[s + 1] - theta.offsets[s] for s in samples]
        return RankingTables(theta.node[rows_of(theta, samples)], np.cumsum([0, *lengths]).astype(np.int64))

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[tuple[int, ...]]]]:
        """A query without documents, offsets that do not fit, and scores that are no numbers."""
        yield Instance("empty query", RankingTables(np.zeros(1), np.array([0, 0, 1]))), [(), (0,)]
        yield Instance("offsets too long", RankingTables(np.zeros(1), np.array([0, 2]))), [(0, 1)]
        yield Instance("NaN", RankingTables(np.array([0.0, np.nan]), np.array([0, 2]))), [(0, 1)]

    # -- costs and restrictions ---------------------------------------------------------------------------------

    def parts(self, theta: RankingTables, s: int, y: tuple[int, ...]) -> list[tuple[int, int]]:
        """Every document with its rank."""
        return list(enumerate(y))

    def draw_cost(self, rng: np.random.Generator, theta: RankingTables, whole: bool) -> Cost:
        """Gain times discount, proportional to the weights of ranks or not, any cost, or both."""
        n_rows, n_ranks = len(theta.node), theta.longest
        form = int(rng.integers(4))
        gain, table = rng.normal(size=n_rows), rng.normal(size=(n_rows, n_ranks))
        discount = np.sort(rng.normal(size=n_ranks))[::-1]
        if whole:
            gain, table, discount = (np.round(2 * each) for each in (gain, table, discount))
        if form == 0:
            discount = 2.0 * np.array(self.position[:n_ranks])
        name, given = [
            ("of sorting", RankingCost(gain, discount)),
            ("gain times discount", RankingCost(gain, discount)),
            ("table", RankingCost(table=table)),
            ("of both kinds", RankingCost(gain, discount, table)),
        ][form]
        parts = []
        for s in range(len(theta)):
            rows = rows_of(theta, [s])
            own = {
                (d, r): (0.0 if given.table is None else float(table[row, r]))
                + (0.0 if given.gain is None else float(gain[row] * discount[r]))
                for d, row in enumerate(rows)
                for r in range(len(rows))
            }
            parts.append(own)
        return Cost(f"cost {name}", given, parts)

    def select_cost(self, theta: RankingTables, given: RankingCost, samples: Sequence[int]) -> RankingCost:
        """The cost of some queries."""
        rows = rows_of(theta, samples)
        return RankingCost(
            None if given.gain is None else given.gain[rows],
            given.discount,
            None if given.table is None else given.table[rows],
        )

    def draw_limits(self, rng: np.random.Generator, theta: RankingTables) -> Iterator[Limit]:
        """Nothing allowed, fixed ranks, allowed ranks, levels."""
        n_rows = len(theta.node)
        planted = self.plant(rng, theta)
        allowed = rng.random((n_rows, theta.longest)) < 0.5
        allowed[np.arange(n_rows), planted] = True
        nothing = allowed.copy()
        nothing[rng.integers(n_rows)] = False
        fixed = np.where(rng.random(n_rows) < 0.4, planted, -1)
        for name, within in [
            ("nothing allowed", RankingRestriction(nothing)),
            ("fixed ranks", RankingRestriction.fixed(fixed, theta.offsets)),
            ("allowed ranks", RankingRestriction(allowed)),
        ]:
            yield Limit(f"within {name}", within, self._allows(theta, within))
        level = rng.integers(0, 3, n_rows)

        def falls(s: int, y: tuple[int, ...]) -> bool:
            own = sorted(zip(y, level[rows_of(theta, [s])].tolist()))
            return all(above >= below for (_, above), (_, below) in zip(own, own[1:]))

        yield Limit("within levels", RankingRestriction.levels(level, theta.offsets), falls)

    def draw_annotations(
        self, rng: np.random.Generator, theta: RankingTables
    ) -> Iterator[list[tuple[int, ...]]]:
        """Grades of all documents, then of some, as codes."""
        grades = rng.integers(0, 3, len(theta.node))
        for known in (grades, np.where(rng.random(len(grades)) < 0.6, grades, -1)):
            yield self.unpack(theta, np.where(known < 0, -1, known << RANK_BITS))

    def contradicts(self, y: tuple[int, ...], annotation: Sequence[int]) -> bool:
        """Whether a document stands before one of a higher grade."""
        known = [(rank, code >> RANK_BITS) for rank, code in zip(y, annotation) if code >= 0]
        return any(rank < other and grade < above for rank, grade in known for other, above in known)

    def _allows(self, theta: RankingTables, within: RankingRestriction) -> Any:
        allowed: Any = within.allowed
        return lambda s, y: all(allowed[row, rank] for row, rank in zip(rows_of(theta, [s]), y))

    def select_within(
        self, theta: RankingTables, given: RankingRestriction, samples: Sequence[int]
    ) -> RankingRestriction:
        """The restriction of some queries."""
        allowed: Any = given.allowed
        return RankingRestriction(allowed[rows_of(theta, samples)])


register_reference(Ranking, RankingReference())
