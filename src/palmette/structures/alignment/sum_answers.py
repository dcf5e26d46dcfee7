"""Answers about all alignments: log-partitions, probabilities, entropy, samples, decoding of least risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation
from palmette.structures.alignment.best_answers import BestAnswers
from palmette.structures.alignment.cost import MatchCost
from palmette.structures.alignment.samples import check_feasible, infeasible, weights_of
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
        log_z, counts, _ = self._expected(theta, cost, within, own, theta.cells is not None)
        return Expectation(log_z, counts)

    def _expected(
        self,
        theta: AlignmentTables,
        cost: Any,
        within: Any,
        weight: np.ndarray,
        with_cells: bool,
        with_entropy: bool = False,
    ) -> tuple[np.ndarray, AlignmentTables, np.ndarray]:
        """Log-partitions, expected counts times weights (with cells if wanted), entropies (if wanted)."""
        from palmette.structures.alignment.kernels.sums import expectations

        question = self._ask(theta, cost, within)
        counting = bool(np.any(weight))
        counts, starts = replace(theta, cells=None).zeros(), theta.starts
        cells = np.zeros(int(starts[-1]) if with_cells else 0)
        log_z, entropy = np.empty(len(theta)), np.empty(len(theta) if with_entropy else 0)
        tables = counts.substitution if counting else np.empty((0, 0))
        expectations(
            *question, weight, log_z, tables, counts.unit, counts.open, counts.extend, counts.change, starts, cells,
            entropy,
        )  # fmt: skip
        check_feasible(log_z, theta)
        if cost is not None:
            log_z = log_z + cost.constant
        return log_z, replace(counts, cells=cells if with_cells else None), entropy

    def marginals(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> AlignmentParts:
        """Probability of every match, and of every position to be against a gap."""
        counts = self._expected(theta, cost, within, np.ones(len(theta)), True)[1]
        assert counts.cells is not None
        return AlignmentParts(counts.unit, counts.cells, theta.offsets, theta.splits)

    def position_marginals(self, theta: AlignmentTables, *, within: Any = None) -> np.ndarray:
        """Probabilities of each position to be against a gap and matched, shape (n_positions, 2)."""
        gaps = self.expectation(theta, within=within).counts.unit.sum(axis=0)
        return np.stack([gaps, 1.0 - gaps], axis=1)

    def entropy(self, theta: AlignmentTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        return np.maximum(self._expected(theta, cost, within, np.ones(len(theta)), False, True)[2], 0.0)

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
        if not (isinstance(gamma, int | float | np.number) and 0.0 <= gamma < np.inf):
            raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")
        found = self.marginals(theta, cost=cost, within=within)
        sample = np.repeat(np.arange(len(theta)), np.diff(theta.offsets))
        gaps = found.gaps.sum(axis=0)
        most = np.bincount(sample, (1.0 - gaps) + gamma * gaps, len(theta))
        gain = MatchCost.none(theta.offsets, theta.n_kinds, gap=gamma * found.gaps, dense=2.0 * found.matches)
        best = self.best(replace(theta, cells=None).zeros(), cost=gain, within=within)
        return Best(best.codes, np.maximum(most - best.values, 0.0))
