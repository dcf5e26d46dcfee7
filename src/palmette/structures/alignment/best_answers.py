"""Answers that search: the best and the worst alignment, all from the best on, the best with each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from palmette.contracts.structure import Best
from palmette.data.ragged import gather
from palmette.structures.alignment.given_answers import GivenAnswers
from palmette.structures.alignment.question import ask
from palmette.structures.alignment.ranked import ranked_alignments
from palmette.structures.alignment.room import room
from palmette.structures.alignment.samples import check_feasible, infeasible, one_sample, some_samples
from palmette.structures.alignment.tables import AlignmentParts, AlignmentTables


class BestAnswers(GivenAnswers):
    """Maxima and minima."""

    def best(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring alignment of every sample."""
        if cost is None and within is None and self.fast and len(theta.open) == 1:
            return self._best_of_scores(theta)
        return self._extreme(theta, cost, within, 1.0)

    def _best_of_scores(self, theta: AlignmentTables) -> Best:
        """The best alignments where nothing else is asked: one kernel checks and answers."""
        from palmette.structures.alignment.kernels.fast_batch import UNSOUND, best_of_scores

        given, needed, kept = theta.for_kernels(), UNSOUND, room()
        if self.memory_limit is not None:  # what is kept from other calls is no reason to pass it
            kept = kept[: int(min(self.memory_limit, len(kept)))]
        codes, values = np.empty(len(theta.letters), np.int32), np.empty(len(theta))
        if given is not None:
            needed = best_of_scores(*given, self._like(), kept, codes, values)
            if needed > 0:
                self._check_bytes(theta, needed)
                needed = best_of_scores(*given, self._like(), room(needed), codes, values)
        if needed == UNSOUND:
            theta.check()
            check_feasible(values, theta)
        return Best(codes, values)

    def worst(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> Best:
        """Lowest-scoring alignment of every sample."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: AlignmentTables, cost: Any, within: Any, sign: float) -> Best:
        annotation = None if within is None else within.contradicts
        free = within if annotation is None else replace(within, contradicts=None)
        codes, values = self._best(theta, cost, free, sign)
        check_feasible(values, theta)
        if annotation is not None:  # most alignments contradict without being told to
            agree = np.flatnonzero(~self.contradicts(theta, annotation, codes))
            if len(agree):
                own, values[agree] = self._best(*some_samples(theta, cost, within, agree), sign)
                check_feasible(values, theta)
                codes[gather(theta.offsets, agree)[0]] = own
        values = sign * values
        return Best(codes, values if cost is None else values + cost.constant)

    def _best(
        self, theta: AlignmentTables, cost: Any, within: Any, sign: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes and values, -inf where there is no alignment."""
        from palmette.structures.alignment.kernels.best import best_alignments
        from palmette.structures.alignment.kernels.fast_batch import best_fast, octets_of_best

        codes, values = np.zeros(len(theta.letters), np.int32), np.empty(len(theta))
        question, like = ask(theta, cost, within, sign), self._like()
        fast = self._is_fast(theta, question)
        if fast.any():
            size = octets_of_best(theta.offsets, theta.splits, len(theta.substitution), like)
            self._check_bytes(theta, size)
            best_fast(*question.of_one_kind, like, room(size), fast, codes, values)
        if fast.all():
            return codes, values
        left = np.flatnonzero(~fast)
        if len(left) == len(theta):
            self._check_room(theta, question)
            best_alignments(*question, codes, values)
        else:
            own, price, limit = some_samples(theta, cost, within, left)
            found, values[left] = self._best(own, price, limit, sign)
            codes[gather(theta.offsets, left)[0]] = found
        return codes, values

    def k_best(
        self, theta: AlignmentTables, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct alignments of every sample as (codes, value), best first; fewer where fewer exist."""
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be an integer of at least 1, got {k!r}")
        return [list(islice(self._ranked(theta, cost, within, s), int(k))) for s in range(len(theta))]

    def suboptimal(
        self,
        theta: AlignmentTables,
        delta: float,
        *,
        most: int | None = None,
        cost: Any = None,
        within: Any = None,
    ) -> list[list[tuple[np.ndarray, float]]]:
        """All alignments whose value is at most ``delta`` below the best one, best first, at most ``most`` of them.

        Their number grows exponentially with ``delta`` and the lengths.
        """
        if not float(delta) >= 0.0:
            raise ValueError(f"delta must be at least 0, got {delta!r}")
        lowest = self.best(theta, cost=cost, within=within).values - float(delta)
        rows = (self._ranked(theta, cost, within, s, float(low)) for s, low in enumerate(lowest))
        return [list(islice(row, most)) for row in rows]

    def _ranked(
        self, theta: AlignmentTables, cost: Any, within: Any, s: int, lowest: float = -np.inf
    ) -> Iterator[tuple[np.ndarray, float]]:
        """Alignments of one sample, best first."""
        alone, price, limit = one_sample(theta, cost, within, s)
        constant = 0.0 if price is None else float(price.constant[0])
        slack = 1e-9 * (1.0 + abs(lowest)) if lowest > -np.inf else 0.0
        empty = True
        for _, codes in ranked_alignments(self._ask(alone, price, limit), lowest - constant - slack):
            value = float(self.score(alone, codes, cost=price)[0])
            if value >= lowest - slack:
                yield codes, value
            empty = False
        if empty and lowest == -np.inf:
            raise infeasible(s, theta)

    def max_marginals(
        self, theta: AlignmentTables, *, cost: Any = None, within: Any = None
    ) -> AlignmentParts:
        """The highest score with each gap and each match; -inf where there is no such alignment."""
        from palmette.structures.alignment.kernels.max_marginals import max_marginals

        starts, values = theta.starts, np.empty(len(theta))
        gaps, cells = np.full(theta.unit.shape, -np.inf), np.full(int(starts[-1]), -np.inf)
        max_marginals(*self._ask(theta, cost, within, tables=2.0), starts, values, gaps, cells)
        check_feasible(values, theta)
        if cost is not None:
            gaps += np.repeat(cost.constant, np.diff(theta.offsets))
            cells += np.repeat(cost.constant, np.diff(starts))
        return AlignmentParts(gaps, cells, theta.offsets, theta.splits, additive=False)
