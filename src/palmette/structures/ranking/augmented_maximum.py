"""Losses of rankings on codes: their values, and the three ways to their augmented maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.structure import Best, Structure
from palmette.errors import MissingCapability, warn_caller
from palmette.structures.ranking.arrangements import candidates
from palmette.structures.ranking.codec import grades_of, ranks_of
from palmette.structures.ranking.gains import is_proportional
from palmette.structures.ranking.tables import RankingCost, RankingTables

GAIN, AVERAGE_PRECISION, DISCORDANT = 0, 1, 2  # kinds, as in palmette.structures.ranking.kernels.merge
SORT, MERGE, ASSIGN = 0, 1, 2  # ways
MOST_STATES = 10_000_000  # of a merge: about 100 MB
FEW = 20  # documents of queries whose k best rankings are found quickly
ASSIGNMENT = 3e-10  # seconds that an assignment takes, by the cube of the documents
LONG = 3.0  # seconds of a pass over the queries from which on it is told
STEPS = 0.15  # of a merge, in the time of one of the documents^3 steps of an assignment


@dataclass(frozen=True)
class BoundRankingLoss:
    """A loss of rankings, ``D = scale (ideal - gained)`` (discordant pairs: ``scale * pairs``).

    Parameters
    ----------
    kind : int
        How gains add up: gain times discount, average precision, discordant pairs.
    loss : NDCG, MeanAveragePrecision, PrecisionAt or Pairwise
        ``levels`` (grades that it tells apart), ``gains`` by level, ``ranks`` (discounts) and ``scale``.
    cut : int
        Ranks that count.
    """

    kind: int
    loss: Any
    cut: int

    way = "ranking"

    def value(
        self, structure: Structure, theta: RankingTables, true: np.ndarray, codes: np.ndarray
    ) -> np.ndarray:
        """Loss of each query's ranking ``codes``; the grades are those of ``true``."""
        level, gains, discount = self._tables(theta, true)
        ideal, found = self._gained(theta, level, gains, discount, codes)
        lost = found if self.kind == DISCORDANT else ideal - found
        return np.maximum(self.loss.scale(ideal) * lost, 0.0)

    def augmented_best(self, structure: Structure, theta: RankingTables, true: np.ndarray) -> Best:
        """``argmax f + D`` of each query."""
        return self.weighted_best(structure, theta, true, 1.0)

    def weighted_best(
        self, structure: Structure, theta: RankingTables, true: np.ndarray, weight: Any
    ) -> Best:
        """``argmax f + weight D`` of each query; ``weight`` is a number of at least 0, or one per query."""
        from palmette.structures.ranking.kernels.merge import augmented_ranks

        theta.check()
        weight = np.ascontiguousarray(np.broadcast_to(np.asarray(weight, float), (len(theta),)))
        if not np.all(weight >= 0):
            raise ValueError(f"weights of the loss must be at least 0, got {weight.min()}")
        level, gains, discount = self._tables(theta, true)
        position = structure.weights(theta.longest)
        ideal, _ = self._gained(theta, level, gains, discount, true)
        factor = weight * self.loss.scale(ideal)
        way = self._ways(theta, level, len(gains), discount, position)
        ranks = np.empty(len(theta.node), np.int32)
        augmented_ranks(
            self.kind, theta.node, level, len(gains), gains, discount, position, factor, self.cut, theta.offsets, way,
            ranks,
        )  # fmt: skip
        for s in np.flatnonzero(way == ASSIGN):
            rows = slice(theta.offsets[s], theta.offsets[s + 1])
            seen = np.where(np.arange(len(discount)) < self.cut, discount, 0.0)
            cost = RankingCost(-factor[s] * gains[level[rows]], seen)
            ranks[rows] = structure.best(_alone(theta, rows), cost=cost).codes
        value = self.value(structure, theta, true, ranks)
        return Best(ranks, structure.score(theta, ranks) + weight * value)

    def advise(self, problem: SampledProblem) -> None:
        """Tell of a loss that is always 0, and of queries so large that another loss would do with far less time."""
        theta = problem.scorer.score(np.zeros(problem.n_params), problem.samples.batch)
        if not self.largest(problem.structure, theta, problem.samples.codes).any():
            warn_caller(
                f"{self.loss!r} is 0 for every order of all {problem.n_samples} queries, so that nothing can be "
                f"learnt from it: choose a cut-off below the {theta.longest} documents of the largest query, and "
                "grades of which some documents of a query are relevant and others not",
                UserWarning,
            )
        slow = np.array(self.ways(problem.structure, theta, problem.samples.codes)) == "assignment"
        seconds = ASSIGNMENT * float(np.sum(np.diff(theta.offsets)[slow] ** 3.0))
        if seconds > LONG:
            warn_caller(
                f"A pass over the queries takes about {seconds:.0f} s, since augmented maxima of {slow.sum()} of them "
                f"are linear assignments (up to {theta.longest} documents): task_loss=NDCG(k=10), or Ranking('letor') "
                "with NDCG(), takes less than a millisecond a query",
                UserWarning,
            )

    def weighted_cost(
        self, structure: Structure, theta: RankingTables, true: np.ndarray, weight: Any
    ) -> RankingCost | None:
        """``weight D`` but for a constant of each query, for :meth:`Ranking.k_best <palmette.Ranking.k_best>`.

        None where D is not a sum over documents, or where the k best of larger queries would take too long.
        """
        if self.kind != GAIN or theta.longest > FEW:
            return None
        level, gains, discount = self._tables(theta, true)
        ideal, _ = self._gained(theta, level, gains, discount, true)
        factor = np.repeat(weight * self.loss.scale(ideal), np.diff(theta.offsets))
        return RankingCost(
            -factor * gains[level], np.where(np.arange(len(discount)) < self.cut, discount, 0.0)
        )

    def candidates(self, theta: RankingTables, true: np.ndarray) -> np.ndarray | None:
        """Rankings of one query, one of which is best whatever its loss counts; None where they are too many."""
        return candidates(theta.node, self._tables(theta, true)[0])

    def largest(self, structure: Structure, theta: RankingTables, true: np.ndarray) -> np.ndarray:
        """Largest loss of any ranking of each query: that of the ideal order turned round."""
        last = np.repeat(np.diff(theta.offsets) - 1, np.diff(theta.offsets))
        return self.value(
            structure, theta, true, (last - ranks_of(np.asarray(true, np.int32))).astype(np.int32)
        )

    def ways(self, structure: Structure, theta: RankingTables, true: np.ndarray) -> list[str]:
        """By which way the augmented maximum of each query is found."""
        level, gains, discount = self._tables(theta, true)
        way = self._ways(theta, level, len(gains), discount, structure.weights(theta.longest))
        return [("sort", "merge", "assignment")[w] for w in way]

    def _tables(self, theta: RankingTables, true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Levels of the documents, gains by level, discounts by rank."""
        level = np.ascontiguousarray(self.loss.levels(grades_of(np.asarray(true, np.int32))))
        gains = self.loss.gains(int(level.max(initial=0)))
        return level, gains, self.loss.ranks(max(theta.longest, 1))

    def _gained(
        self, theta: Any, level: Any, gains: Any, discount: Any, codes: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.ranking.kernels.merge import ranking_losses

        ideal, found = np.empty(len(theta)), np.empty(len(theta))
        ranks = ranks_of(np.ascontiguousarray(codes, np.int32))
        ranking_losses(
            self.kind, level, len(gains), gains, discount, self.cut, theta.offsets, ranks, ideal, found
        )
        return ideal, found

    def _ways(self, theta: Any, level: Any, n_levels: Any, discount: Any, position: Any) -> np.ndarray:
        from palmette.structures.ranking.kernels.merge import count_states

        states = np.empty((len(theta), 3))
        count_states(level, n_levels, theta.offsets, self.cut, states)
        n = np.diff(theta.offsets).astype(float)
        way = np.full(len(theta), MERGE)
        if self.kind == GAIN:
            way[(states[:, 2] > np.maximum(STEPS * n**3, 1000)) | (states[:, 0] > MOST_STATES)] = ASSIGN
            if len(position) and is_proportional(discount, position):
                way[n <= self.cut] = SORT
        elif np.any(states[:, 0] > MOST_STATES):
            s = int(np.argmax(states[:, 0]))
            raise MissingCapability(
                f"{type(self.loss).__name__}: query {s} has {n[s]:.0f} documents of {states[s, 1]:.0f} grades, and the "
                f"exact augmented maximum would need {states[s, 0]:.1e} states (at most {MOST_STATES:.0e}): tell fewer "
                "grades apart, Pairwise(levels_at=(1,)), or use NDCG"
            )
        return way


def _alone(theta: RankingTables, rows: slice) -> RankingTables:
    node = theta.node[rows]
    return RankingTables(np.ascontiguousarray(node), np.array([0, len(node)], np.int64))
