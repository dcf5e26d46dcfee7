"""Answers that search: the best and the worst structure, all from the best on, the best with each part."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from palmette.contracts.structure import Best
from palmette.data.annotation import Known
from palmette.structures.folding.contradiction import contradicting_parts, forced, pieces
from palmette.structures.folding.given_answers import FAST_BEST, TABLES_SUMS, GivenAnswers
from palmette.structures.folding.ranked import ranked_structures
from palmette.structures.folding.restrictions import FoldingRestriction
from palmette.structures.folding.room import room
from palmette.structures.folding.samples import check_feasible, copies_of, infeasible, longest, one_sample
from palmette.structures.folding.tables import FoldingParts, FoldingTables

TIED = 64
"""How many equally good contradicting parts are tried for the structure with the lowest codes."""


class BestAnswers(GivenAnswers):
    """Maxima and minima."""

    def best(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring structure of every sample."""
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> Best:
        """Lowest-scoring structure of every sample."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: FoldingTables, cost: Any, within: Any, sign: float) -> Best:
        annotation = None if within is None else within.contradicts
        if annotation is None:
            codes, values = self._best(theta, cost, within, sign)
            check_feasible(values, theta)
        else:
            plain = replace(within, contradicts=None)
            codes, values = self._best(theta, cost, plain, sign)
            check_feasible(values, theta)
            agree = ~self.contradicts(theta, annotation, codes)
            for s in np.flatnonzero(agree).tolist():
                own = slice(int(theta.offsets[s]), int(theta.offsets[s + 1]))
                alone, price, limit = one_sample(theta, cost, plain, s)
                found = self._best_contradicting(alone, price, limit, annotation[own], sign)
                if found is None:
                    raise infeasible(s, theta)
                codes[own], values[s] = found
        values = sign * values
        return Best(codes, values if cost is None else values + cost.constant)

    def _best(
        self, theta: FoldingTables, cost: Any, within: Any, sign: float
    ) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.folding.kernels.fast_batch import beam_structures, best_structures

        codes, values = np.zeros(len(theta.letters), np.int32), np.zeros(len(theta))
        if self.beam is not None:
            question = self._ask(theta, cost, within, sign, 0.0)
            beam_structures(*question, self.beam, codes, values)
            return codes, values
        like = self._like()
        question = self._ask(theta, cost, within, sign, FAST_BEST * like.itemsize / 8)
        own, everyone = room(longest(theta), 2, like), np.ones(len(theta), bool)
        best_structures(*question, self.fast_from, own, everyone, codes, values)
        return codes, values

    def _like(self) -> np.ndarray:
        """An array of the precision of the fast kernels."""
        return np.empty(0, np.float32 if self.precision == "single" else np.float64)

    def _best_contradicting(
        self, theta: FoldingTables, cost: Any, within: FoldingRestriction, annotation: Known, sign: float
    ) -> tuple[np.ndarray, float] | None:
        """The best structure of one sample that contradicts: that with the part of the highest max-marginal."""
        _, free, pairs = self._max_marginals(theta, cost, within, sign)
        n = len(free)
        alone, joined = contradicting_parts(annotation, theta)
        values = np.concatenate([free[alone], pairs.reshape(n, n)[joined[:, 0], joined[:, 1]]])
        if not len(values) or values.max() == -np.inf:
            return None
        chosen = np.flatnonzero(values == values.max())[:TIED]
        parts = [
            (int(alone[k]),) if k < len(alone) else tuple(joined[k - len(alone)].tolist())
            for k in chosen.tolist()
        ]
        copies = copies_of(theta, cost, within, len(parts))
        codes, values = self._best(copies[0], copies[1], copies[2] & forced(parts, n), sign)
        best = max(values)
        return min((tuple(each), best) for each, v in zip(codes.reshape(-1, n).tolist(), values) if v == best)  # type: ignore[return-value]

    def k_best(
        self, theta: FoldingTables, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct structures of every sample as (codes, value), best first; fewer where fewer exist."""
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be an integer of at least 1, got {k!r}")
        return [list(islice(self._ranked(theta, cost, within, s), int(k))) for s in range(len(theta))]

    def suboptimal(
        self,
        theta: FoldingTables,
        delta: float,
        *,
        most: int | None = None,
        cost: Any = None,
        within: Any = None,
    ) -> list[list[tuple[np.ndarray, float]]]:
        """All structures whose value is at most ``delta`` below the best one, best first, at most ``most`` of them.

        Their number grows exponentially with ``delta`` and the length.
        """
        if not float(delta) >= 0.0:
            raise ValueError(f"delta must be at least 0, got {delta!r}")
        lowest = self.best(theta, cost=cost, within=within).values - float(delta)
        rows = (self._ranked(theta, cost, within, s, float(low)) for s, low in enumerate(lowest))
        return [list(islice(row, most)) for row in rows]

    def _ranked(
        self, theta: FoldingTables, cost: Any, within: Any, s: int, lowest: float = -np.inf
    ) -> Iterator[tuple[np.ndarray, float]]:
        """Structures of one sample, best first."""
        annotation = None if within is None else within.contradicts
        alone, price, limit = one_sample(
            theta, cost, None if within is None else replace(within, contradicts=None), s
        )
        constant = 0.0 if price is None else float(price.constant[0])
        slack = 1e-9 * (1.0 + abs(lowest)) if lowest > -np.inf else 0.0
        bound = lowest - constant - slack
        if annotation is None:
            streams = [ranked_structures(self._ask(alone, price, limit), bound)]
        else:
            own = annotation[int(theta.offsets[s]) : int(theta.offsets[s + 1])]
            parts, n = pieces(own, len(alone.letters)), len(alone.letters)
            streams = []
            for t in range(0 if parts is None or not n else len(parts.unpaired) // n):  # type: ignore[arg-type]
                piece = parts.take(np.array([t]), n * np.arange(len(parts.unpaired) // n + 1))  # type: ignore
                both = piece if limit is None else limit & piece
                streams.append(ranked_structures(self._ask(alone, price, both), bound))
        empty = True
        for value, codes in heapq.merge(*streams, key=lambda found: (-found[0], found[1].tolist())):
            value = float(self.score(alone, codes, cost=price)[0])
            if value >= lowest - slack:
                yield codes, value
            empty = False
        if empty and lowest == -np.inf:
            raise infeasible(s, theta)

    def max_marginals(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> FoldingParts:
        """The highest score with each position unpaired and with each pair; -inf where there is no such structure."""
        annotation = None if within is None else within.contradicts
        if annotation is None:
            values, free, pairs = self._max_marginals(theta, cost, within, 1.0)
            check_feasible(values, theta)
        else:
            free, pairs = np.empty(len(theta.letters)), np.empty(int(theta.squares[-1]))
            for s, alone, price, limit in self._pieces(theta, cost, within):
                values, own, square = self._max_marginals(alone, price, limit, 1.0)
                if values.max() == -np.inf:
                    raise infeasible(s, theta)
                n = int(theta.offsets[s + 1] - theta.offsets[s])
                free[theta.offsets[s] : theta.offsets[s + 1]] = own.reshape(-1, n).max(axis=0)
                pairs[theta.squares[s] : theta.squares[s + 1]] = square.reshape(-1, n * n).max(axis=0)
        if cost is not None:
            lengths = np.diff(theta.offsets)
            free, pairs = (
                free + np.repeat(cost.constant, lengths),
                pairs + np.repeat(cost.constant, lengths**2),
            )
        return FoldingParts(free, pairs, theta.offsets, additive=False)

    def _max_marginals(
        self, theta: FoldingTables, cost: Any, within: Any, sign: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from palmette.structures.folding.kernels.max_marginals import max_marginals

        starts = theta.squares
        values, free, pairs = np.empty(len(theta)), np.empty(len(theta.letters)), np.empty(int(starts[-1]))
        max_marginals(*self._ask(theta, cost, within, sign, TABLES_SUMS), starts, values, free, pairs)
        return values, free, pairs

    def _pieces(
        self, theta: FoldingTables, cost: Any, within: FoldingRestriction
    ) -> Iterator[tuple[int, FoldingTables, Any, FoldingRestriction]]:
        """Of every sample the pieces of what contradicts, as copies of the sample with a restriction each."""
        plain = replace(within, contradicts=None)
        for s in range(len(theta)):
            own = within.contradicts[int(theta.offsets[s]) : int(theta.offsets[s + 1])]
            found = pieces(own, len(own))
            if found is None:
                raise infeasible(s, theta)
            times = len(found.unpaired) // len(own)  # type: ignore[arg-type]
            alone, price, limit = copies_of(*one_sample(theta, cost, plain, s), times)
            yield s, alone, price, limit & found
