"""Answers about all alignments: log-partitions, probabilities, entropy, samples, decoding of least risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation
from palmette.structures.alignment.best_answers import BestAnswers
from palmette.structures.alignment.cost import MatchCost
from palmette.structures.alignment.question import Question, ask
from palmette.structures.alignment.room import room
from palmette.structures.alignment.samples import (
    add_samples,
    check_feasible,
    infeasible,
    some_samples,
    weights_of,
)
from palmette.structures.alignment.tables import AlignmentParts, AlignmentTables


class SumAnswers(BestAnswers):
    """Sums, and all that follows from them."""

    def log_partition(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed alignments of every sample."""
        return self._expected(theta, cost, within, np.zeros(len(theta)), False)[0]

    def expectation(
        self, theta: AlignmentTables, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        own = weights_of(theta, weight)
        return Expectation(*self._expected(theta, cost, within, own, theta.cells is not None))

    def _expected(
        self,
        theta: AlignmentTables,
        cost: Any,
        within: Any,
        weight: np.ndarray,
        with_cells: bool,
        only_parts: bool = False,
    ) -> tuple[np.ndarray, AlignmentTables]:
        """Log-partitions, expected counts times weights, with cells if wanted; ``only_parts``: no others."""
        question = ask(theta, cost, within)
        size, kind = int(theta.starts[-1]) if with_cells else 0, self._like().dtype if only_parts else float
        fast, counting = self._is_fast(theta, question), (1 if only_parts else 2) if np.any(weight) else 0
        all_written = counting > 0 and fast.all() and not len(question.codes)
        counts = replace(theta, cells=None).zeros()
        counts = replace(counts, cells=np.empty(size, kind) if all_written else np.zeros(size, kind))
        log_z = np.full(len(theta), np.nan)
        if fast.any():
            self._sum_fast(theta, question, fast, weight, counting, log_z, counts)
        left = np.flatnonzero(np.isnan(log_z))  # what fast kernels do not know, or what leaves their range
        if len(left) == len(theta):
            self._check_room(theta, question)
            counts = replace(counts, cells=np.zeros(size))
            log_z = _sum_plainly(theta, question, weight, counts)[0]
        elif len(left):
            own, price, limit = some_samples(theta, cost, within, left)
            part = replace(own.zeros(), cells=np.zeros(int(own.starts[-1]) if with_cells else 0))
            question = ask(own, price, limit)
            self._check_room(own, question)
            log_z[left] = _sum_plainly(own, question, weight[left], part)[0]
            add_samples(counts, left, part)
        check_feasible(log_z, theta)
        if cost is not None:
            log_z = log_z + cost.constant
        return log_z, counts if with_cells else replace(counts, cells=None)

    def _sum_fast(
        self,
        theta: AlignmentTables,
        question: Question,
        fast: np.ndarray,
        weight: np.ndarray,
        counting: int,
        log_z: np.ndarray,
        counts: AlignmentTables,
    ) -> None:
        """Sums by the fast kernels, in double precision where single does not do; NaN where neither does."""
        from palmette.structures.alignment.kernels.fast_counts import octets_of_sums, sums_fast

        gaps = counts.unit[0], counts.open[0], counts.extend[0], counts.change
        for like in (self._like(), np.empty(0)):
            todo = fast & np.isnan(log_z)
            if np.any(todo):
                size = octets_of_sums(theta.offsets, theta.splits, len(theta.substitution), like, counting)
                self._check_bytes(theta, size)
                sums_fast(
                    *question.of_one_kind, like, room(size), todo, weight, log_z, counting, counts.substitution, *gaps,
                    theta.starts, counts.cells,
                )  # fmt: skip
                # A sum of 0: there is no alignment, or all are out of range.
                log_z[todo & np.isneginf(log_z)] = np.nan

    def marginals(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> AlignmentParts:
        """Probability of every match, and of every position to be against a gap."""
        counts = self._expected(theta, cost, within, np.ones(len(theta)), True, True)[1]
        assert counts.cells is not None
        return AlignmentParts(counts.unit, counts.cells, theta.offsets, theta.splits)

    def position_marginals(self, theta: AlignmentTables, *, within: Any = None) -> np.ndarray:
        """Probabilities of each position to be against a gap and matched, shape (n_positions, 2)."""
        gaps = self.expectation(theta, within=within).counts.unit.sum(axis=0)
        return np.stack([gaps, 1.0 - gaps], axis=1)

    def entropy(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        counts = replace(theta.zeros(), cells=np.empty(0))
        question = self._ask(theta, cost, within)
        log_z, entropy = _sum_plainly(theta, question, np.ones(len(theta)), counts, True)
        check_feasible(log_z, theta)
        return np.maximum(entropy, 0.0)

    def sample(
        self,
        theta: AlignmentTables,
        n_draws: int = 1,
        *,
        random_state: Any = None,
        cost: Any = None,
        within: Any = None,
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``: codes, int32, shape (n_draws, n_positions)."""
        from palmette.structures.alignment.kernels.draw import draw_alignments

        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        rng = np.random.default_rng(random_state)
        codes = np.zeros((n_draws, len(theta.letters)), np.int32)
        chances = rng.random(codes.shape)
        bad = draw_alignments(*self._ask(theta, cost, within), chances, codes)
        if bad >= 0:
            raise infeasible(int(bad), theta)
        return codes

    def min_risk(
        self, theta: AlignmentTables, gamma: float = 0.0, *, cost: Any = None, within: Any = None
    ) -> Best:
        """The alignment of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        gamma : float
            A position whose true partner is missed costs 1, a position against a gap that is predicted as matched
            (or as a gap of the other kind) costs ``gamma``. 0 maximises the expected number of right matches, 1 the
            expected number of right positions; between them, and above, gaps are the likelier the larger it is.
        """
        _check_gamma(gamma)
        return self._least_risk(theta, self.marginals(theta, cost=cost, within=within), gamma, within)

    def min_risk_of(
        self, theta: AlignmentTables, probabilities: AlignmentParts, gamma: float = 0.0, *, within: Any = None
    ) -> Best:
        """As :meth:`min_risk`, with given probabilities of parts instead of those of ``theta``, which says the letters.

        Means of what :meth:`marginals` of several models says are such probabilities.
        """
        _check_gamma(gamma)
        same = (
            np.array_equal(getattr(probabilities, own), getattr(theta, own)) for own in ("offsets", "splits")
        )
        if not all(same) or probabilities.gaps.shape != theta.unit.shape:
            raise ValueError("the probabilities are of other pairs than theta: give those of the same batch")
        return self._least_risk(theta, probabilities, gamma, within)

    def _least_risk(self, theta: AlignmentTables, found: AlignmentParts, gamma: float, within: Any) -> Best:
        """The alignment of least expected loss."""
        sample = np.repeat(np.arange(len(theta)), np.diff(theta.offsets))
        gaps = found.gaps.sum(axis=0)
        most = np.bincount(sample, (1.0 - gaps) + gamma * gaps, len(theta))
        gain = MatchCost.none(
            theta.offsets,
            theta.n_kinds,
            gap=gamma * found.gaps,
            dense=2.0 * found.matches.astype(float, copy=False),
        )
        best = self.best(replace(theta, cells=None).zeros(), cost=gain, within=within)
        return Best(best.codes, np.maximum(most - best.values, 0.0))


def _check_gamma(gamma: Any) -> None:
    if not (isinstance(gamma, int | float | np.number) and 0.0 <= gamma < np.inf):
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")


def _sum_plainly(
    theta: AlignmentTables,
    question: Question,
    weight: np.ndarray,
    counts: AlignmentTables,
    with_entropy: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-partitions and entropies (if wanted) by the plain kernel; counts times weights are added to ``counts``."""
    from palmette.structures.alignment.kernels.sums import expectations

    log_z, entropy = np.empty(len(theta)), np.empty(len(theta) if with_entropy else 0)
    tables = counts.substitution if np.any(weight) else np.empty((0, 0))
    expectations(
        *question, weight, log_z, tables, counts.unit, counts.open, counts.extend, counts.change, theta.starts,
        counts.cells, entropy,
    )  # fmt: skip
    return log_z, entropy
