"""Answers about all structures: log-partitions, probabilities, entropy, samples, decoding of least risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation
from palmette.structures.folding.best_answers import BestAnswers
from palmette.structures.folding.given_answers import FAST_SUMS, TABLES_SUMS
from palmette.structures.folding.samples import check_feasible, infeasible, weights_of
from palmette.structures.folding.sums import add_expectations
from palmette.structures.folding.tables import FoldingParts, FoldingTables, PairCost, squares_of


class SumAnswers(BestAnswers):
    """Sums, and all that follows from them."""

    def log_partition(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed structures of every sample."""
        if within is None or within.contradicts is None:
            log_z = self._log_partition(theta, cost, within)
        else:
            log_z = np.empty(len(theta))
            for s, *own in self._pieces(theta, cost, within):
                log_z[s] = np.logaddexp.reduce(self._log_partition(*own))
        check_feasible(log_z, theta)
        return log_z

    def _log_partition(self, theta: FoldingTables, cost: Any, within: Any) -> np.ndarray:
        return self._plain_expected(theta, cost, within, np.zeros(len(theta)), False)[0]

    def expectation(
        self, theta: FoldingTables, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        log_z, tables, free, pairs = self._expected(
            theta, cost, within, weights_of(theta, weight), theta.pair_scores is not None
        )
        counts = replace(theta, tables=tables, unpaired=free, pair_scores=None if pairs is None else pairs)
        return Expectation(log_z, counts)

    def _expected(
        self,
        theta: FoldingTables,
        cost: Any,
        within: Any,
        weight: np.ndarray,
        with_pairs: bool,
        with_tables: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Log-partitions, expected tables, unpaired positions and pairs (upper triangles), times weights."""
        if within is None or within.contradicts is None:
            found = self._plain_expected(theta, cost, within, weight, with_pairs, with_tables)
            check_feasible(found[0], theta)
            return found
        log_z, tables = np.empty(len(theta)), np.zeros_like(theta.tables)
        free, pairs = np.zeros(len(theta.letters)), np.zeros(int(theta.squares[-1]))
        for s, alone, price, limit in self._pieces(theta, cost, within):
            own = self._log_partition(alone, price, limit)
            log_z[s] = np.logaddexp.reduce(own)
            if log_z[s] == -np.inf:
                raise infeasible(s, theta)
            n, share = int(theta.offsets[s + 1] - theta.offsets[s]), weight[s] * np.exp(own - log_z[s])
            _, counts, loose, square = self._plain_expected(alone, price, limit, share, True)
            tables += counts
            free[theta.offsets[s] : theta.offsets[s + 1]] = loose.reshape(-1, n).sum(axis=0)
            if square is not None:
                pairs[theta.squares[s] : theta.squares[s + 1]] = square.reshape(-1, n * n).sum(axis=0)
        return log_z, tables, free, pairs if with_pairs else None

    def _plain_expected(
        self,
        theta: FoldingTables,
        cost: Any,
        within: Any,
        weight: np.ndarray,
        with_pairs: bool,
        with_tables: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        counting, like = bool(np.any(weight)), self._like()
        question = self._ask(theta, cost, within, tables=FAST_SUMS * like.itemsize / 8)
        tables, free, starts = np.zeros_like(theta.tables), np.zeros(len(theta.letters)), theta.squares
        pairs = np.zeros(int(starts[-1]) if with_pairs else 0)
        counts, loose = tables[: len(tables) * (counting and with_tables)], free[: len(free) * counting]
        log_z = add_expectations(question, self.fast_from, like, weight, counts, loose, starts, pairs)
        log_z = log_z if cost is None else log_z + cost.constant
        return log_z, tables, free, pairs if with_pairs else None

    def marginals(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> FoldingParts:
        """Probability of every position to be unpaired, and of every pair: symmetric squares."""
        _, _, free, pairs = self._expected(theta, cost, within, np.ones(len(theta)), True, False)
        assert pairs is not None
        return FoldingParts(free, _symmetric(pairs, theta.offsets), theta.offsets)

    def position_marginals(self, theta: FoldingTables, *, within: Any = None) -> np.ndarray:
        """Probabilities of each position to be unpaired and paired, shape (n_positions, 2)."""
        free = self.expectation(theta, within=within).counts.unpaired
        return np.stack([free, 1.0 - free], axis=1)

    def entropy(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        if within is None or within.contradicts is None:
            log_z, out = self._entropy(theta, cost, within)
            check_feasible(log_z, theta)
            return np.maximum(out, 0.0)
        out = np.empty(len(theta))
        for s, *own in self._pieces(theta, cost, within):
            log_z, each = self._entropy(*own)
            if log_z.max() == -np.inf:
                raise infeasible(s, theta)
            log_share = (log_z - np.logaddexp.reduce(log_z))[log_z > -np.inf]
            out[s] = np.exp(log_share) @ (each[log_z > -np.inf] - log_share)
        return np.maximum(out, 0.0)

    def _entropy(self, theta: FoldingTables, cost: Any, within: Any) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.folding.kernels.inside import entropies

        log_z, out = np.empty(len(theta)), np.empty(len(theta))
        entropies(*self._ask(theta, cost, within, tables=TABLES_SUMS), log_z, out)
        return log_z, out

    def sample(
        self,
        theta: FoldingTables,
        n_draws: int = 1,
        *,
        random_state: Any = None,
        cost: Any = None,
        within: Any = None,
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``: codes, int32, shape (n_draws, n_positions)."""
        from palmette.structures.folding.kernels.draw import draw_structures

        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        rng = np.random.default_rng(random_state)
        codes = np.zeros((n_draws, len(theta.letters)), np.int32)
        if within is None or within.contradicts is None:
            chances = rng.random((2, n_draws, len(theta.letters)))
            bad = draw_structures(*self._ask(theta, cost, within), chances, codes)
            if bad >= 0:
                raise infeasible(int(bad), theta)
            return codes
        for s, alone, price, limit in self._pieces(theta, cost, within):
            log_z = self._log_partition(alone, price, limit)
            if log_z.max() == -np.inf:
                raise infeasible(s, theta)
            share = np.exp(log_z - log_z.max())
            which = rng.choice(len(share), n_draws, p=share / share.sum())
            lo, hi = int(theta.offsets[s]), int(theta.offsets[s + 1])
            for k in np.unique(which):
                one = np.array([k])
                piece = alone.take(one), None if price is None else price.take(one, alone.offsets)
                own = np.flatnonzero(which == k)
                drawn = np.zeros((len(own), hi - lo), np.int32)
                chances = rng.random((2, len(own), hi - lo))
                draw_structures(*self._ask(*piece, limit.take(one, alone.offsets)), chances, drawn)
                codes[own, lo:hi] = drawn
        return codes

    def min_risk(
        self,
        theta: FoldingTables,
        gamma: float = 1.0,
        *,
        kind: str = "mea",
        cost: Any = None,
        within: Any = None,
    ) -> Best:
        """The structure of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        gamma : float
            How much pairs count: more of them are predicted the larger it is.
        kind : {"mea", "centroid"}
            "mea" (maximum expected accuracy): an unpaired position that is predicted as paired costs 1, a paired one
            without its true partner costs ``gamma``; with ``gamma=1`` this is the Hamming loss of positions.
            "centroid" (gamma-centroid): a false pair costs 1, a missed one ``gamma``.
        """
        _check_risk(gamma, kind)
        _, _, free, pairs = self._expected(theta, cost, within, np.ones(len(theta)), True, False)
        assert pairs is not None
        return self._least_risk(theta, free, pairs, gamma, kind, within)

    def min_risk_of(
        self,
        theta: FoldingTables,
        probabilities: FoldingParts,
        gamma: float = 1.0,
        *,
        kind: str = "mea",
        within: Any = None,
    ) -> Best:
        """As :meth:`min_risk`, with given probabilities of parts instead of those of ``theta``, which says the letters.

        Means of what :meth:`marginals` of several models says are such probabilities.
        """
        _check_risk(gamma, kind)
        same = np.array_equal(probabilities.offsets, theta.offsets)
        if not same or len(probabilities.pairs) != theta.squares[-1]:
            raise ValueError(
                "the probabilities are of other sequences than theta: give those of the same batch"
            )
        return self._least_risk(theta, probabilities.unpaired, probabilities.pairs, gamma, kind, within)

    def _least_risk(
        self, theta: FoldingTables, free: np.ndarray, pairs: np.ndarray, gamma: float, kind: str, within: Any
    ) -> Best:
        """The structure of least expected loss; of ``pairs`` the entries i < j count."""
        lengths = np.diff(theta.offsets)
        sample = np.repeat(np.arange(len(theta)), lengths)
        if kind == "mea":
            # What a structure gains: 1 for each position that is rightly unpaired, gamma for each end of a right pair.
            most = np.bincount(sample, free + gamma * (1.0 - free), len(theta))
            gain = PairCost.none(theta.offsets, unpaired=free, dense=2.0 * gamma * pairs)
        else:
            most = np.bincount(sample, gamma * 0.5 * (1.0 - free), len(theta))
            gain = PairCost.none(theta.offsets, dense=(gamma + 1.0) * pairs - 1.0)
        nothing = replace(theta.zeros(), pair_scores=None)
        found = self.best(nothing, cost=gain, within=within)
        return Best(found.codes, np.maximum(most - found.values, 0.0))


def _check_risk(gamma: Any, kind: Any) -> None:
    if not (isinstance(gamma, int | float | np.number) and 0.0 <= gamma < np.inf):
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")
    if kind not in ("mea", "centroid"):
        raise ValueError(f"kind must be 'mea' or 'centroid', got {kind!r}")


def _symmetric(pairs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Upper triangles mirrored, in place."""
    squares = squares_of(offsets)
    for s, n in enumerate(np.diff(offsets).tolist()):
        square = pairs[squares[s] : squares[s + 1]].reshape(n, n)
        square += square.T.copy()
    return pairs
