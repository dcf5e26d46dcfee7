"""Every answer about folded sequences, on packed batches of :class:`~palmette.structures.FoldingTables`."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation, Structure
from palmette.data.annotation import Known
from palmette.errors import InfeasibleError, TooLarge
from palmette.memory import in_words, memory_limit
from palmette.structures.folding.contradiction import contradicting_parts, forced, pieces, repeated
from palmette.structures.folding.question import Question, ask
from palmette.structures.folding.ranked import ranked_structures
from palmette.structures.folding.restrictions import FoldingRestriction, agreeing
from palmette.structures.folding.room import room
from palmette.structures.folding.tables import FoldingParts, FoldingTables, PairCost, squares_of

TIED = 64
"""How many equally good contradicting parts are tried for the structure with the lowest codes."""
TABLES_BEST, TABLES_SUMS = 6.0, 9.0  # squares of doubles that the plain kernels hold at once
FAST_BEST, FAST_SUMS = 1.1, 2.4  # the same of the fast kernels


class FoldingInference(Structure):
    """Answers; :class:`~palmette.Folding` says what users give and get."""

    min_hairpin: int
    max_interior: int
    memory_limit: Any
    precision: str
    fast_from = 24
    """Sequences of at least so many positions are folded by the fast kernels, shorter ones by the plain ones."""

    def can_pair(self) -> np.ndarray:
        """Which letters may pair, bool (5, 5)."""
        raise NotImplementedError

    def _ask(
        self, theta: FoldingTables, cost: Any, within: Any, sign: float = 1.0, tables: float = TABLES_BEST
    ) -> Question:
        question = ask(theta, cost, within, self.can_pair(), self.min_hairpin, self.max_interior, sign)
        n = _longest(theta)
        needed = int(8 * tables * (n + 1) ** 2)
        limit = memory_limit() if self.memory_limit is None else self.memory_limit
        if needed > limit:
            raise TooLarge(
                f"a sequence of {n:,} positions takes at least {in_words(needed)}, and the limit is {in_words(limit)}: "
                "raise memory_limit, fold shorter pieces, or search approximately with Folding(beam=200)",
                needed,
            )
        return question

    # -- best ---------------------------------------------------------------------------------------------------

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
            _check_feasible(values, theta)
        else:
            plain = replace(within, contradicts=None)
            codes, values = self._best(theta, cost, plain, sign)
            _check_feasible(values, theta)
            agree = ~self.contradicts(theta, annotation, codes)
            for s in np.flatnonzero(agree).tolist():
                own = slice(int(theta.offsets[s]), int(theta.offsets[s + 1]))
                alone, price, limit = _one(theta, cost, plain, s)
                found = self._best_contradicting(alone, price, limit, annotation[own], sign)
                if found is None:
                    raise _infeasible(s, theta)
                codes[own], values[s] = found
        values = sign * values
        return Best(codes, values if cost is None else values + cost.constant)

    def _best(
        self, theta: FoldingTables, cost: Any, within: Any, sign: float
    ) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.folding.kernels.fast_batch import best_structures

        codes, values = np.zeros(len(theta.letters), np.int32), np.zeros(len(theta))
        like = self._like()
        question = self._ask(theta, cost, within, sign, FAST_BEST * like.itemsize / 8)
        best_structures(*question, self.fast_from, room(_longest(theta), 2, like), codes, values)
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
        copies = _copies(theta, cost, within, len(parts))
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
        alone, price, limit = _one(
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
            if value >= lowest:
                yield codes, value
            empty = False
        if empty and lowest == -np.inf:
            raise _infeasible(s, theta)

    def max_marginals(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> FoldingParts:
        """The highest score with each position unpaired and with each pair; -inf where there is no such structure."""
        annotation = None if within is None else within.contradicts
        if annotation is None:
            values, free, pairs = self._max_marginals(theta, cost, within, 1.0)
            _check_feasible(values, theta)
        else:
            free, pairs = np.empty(len(theta.letters)), np.empty(int(theta.squares[-1]))
            for s, alone, price, limit in self._pieces(theta, cost, within):
                values, own, square = self._max_marginals(alone, price, limit, 1.0)
                if values.max() == -np.inf:
                    raise _infeasible(s, theta)
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
                raise _infeasible(s, theta)
            times = len(found.unpaired) // len(own)  # type: ignore[arg-type]
            alone, price, limit = _copies(*_one(theta, cost, plain, s), times)
            yield s, alone, price, limit & found

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta: FoldingTables, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed structures of every sample."""
        if within is None or within.contradicts is None:
            log_z = self._log_partition(theta, cost, within)
        else:
            log_z = np.empty(len(theta))
            for s, *own in self._pieces(theta, cost, within):
                log_z[s] = np.logaddexp.reduce(self._log_partition(*own))
        _check_feasible(log_z, theta)
        return log_z

    def _log_partition(self, theta: FoldingTables, cost: Any, within: Any) -> np.ndarray:
        return self._plain_expected(theta, cost, within, np.zeros(len(theta)), False)[0]

    def expectation(
        self, theta: FoldingTables, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        log_z, tables, free, pairs = self._expected(
            theta, cost, within, _weights(theta, weight), theta.pair_scores is not None
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
            _check_feasible(found[0], theta)
            return found
        log_z, tables = np.empty(len(theta)), np.zeros_like(theta.tables)
        free, pairs = np.zeros(len(theta.letters)), np.zeros(int(theta.squares[-1]))
        for s, alone, price, limit in self._pieces(theta, cost, within):
            own = self._log_partition(alone, price, limit)
            log_z[s] = np.logaddexp.reduce(own)
            if log_z[s] == -np.inf:
                raise _infeasible(s, theta)
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
        from palmette.structures.folding.kernels.fast_batch import expectations

        counting, like = bool(np.any(weight)), self._like()
        question = self._ask(theta, cost, within, tables=FAST_SUMS * like.itemsize / 8)
        log_z, tables, free = np.empty(len(theta)), np.zeros_like(theta.tables), np.zeros(len(theta.letters))
        starts = theta.squares
        pairs = np.zeros(int(starts[-1]) if with_pairs else 0)
        own = room(_longest(theta), 4, like)
        double = room(_longest(theta), 4, np.empty(0)) if like.itemsize < 8 else np.empty(0)
        counts, loose = tables[: len(tables) * (counting and with_tables)], free[: len(free) * counting]
        expectations(*question, self.fast_from, own, double, weight, log_z, counts, loose, starts, pairs)
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
            _check_feasible(log_z, theta)
            return np.maximum(out, 0.0)
        out = np.empty(len(theta))
        for s, *own in self._pieces(theta, cost, within):
            log_z, each = self._entropy(*own)
            if log_z.max() == -np.inf:
                raise _infeasible(s, theta)
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
                raise _infeasible(int(bad), theta)
            return codes
        for s, alone, price, limit in self._pieces(theta, cost, within):
            log_z = self._log_partition(alone, price, limit)
            if log_z.max() == -np.inf:
                raise _infeasible(s, theta)
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
        if not (isinstance(gamma, int | float | np.number) and 0.0 <= gamma < np.inf):
            raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")
        if kind not in ("mea", "centroid"):
            raise ValueError(f"kind must be 'mea' or 'centroid', got {kind!r}")
        _, _, free, pairs = self._expected(theta, cost, within, np.ones(len(theta)), True, False)
        assert pairs is not None
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

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: FoldingTables, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given structures; -inf for one that the restriction forbids."""
        from palmette.structures.folding.kernels.given import structure_scores

        question = ask(theta, cost, within, self.can_pair(), self.min_hairpin, self.max_interior)
        codes, values = self.checked_codes(theta, codes), np.empty(len(theta))
        structure_scores(*question, codes, values)
        if cost is not None:
            values += cost.constant
        if within is not None and within.contradicts is not None:
            values[~self.contradicts(theta, within.contradicts, codes)] = -np.inf
        return values

    def count(
        self, theta: FoldingTables, codes: Any, *, weight: Any = None, into: FoldingTables | None = None
    ) -> FoldingTables:
        """Counts of given structures in theta's shape, times ``weight``; added to ``into`` if given."""
        from palmette.structures.folding.kernels.given import add_counts

        theta.check()
        codes, weight = self.checked_codes(theta, codes), _weights(theta, weight)
        into = theta.zeros() if into is None else into
        none = np.empty(0)
        for name in ("tables", "unpaired", "pair_scores"):
            own, given = getattr(theta, name), getattr(into, name)
            if np.shape(own) != np.shape(given):
                raise ValueError(f"into.{name} has shape {np.shape(given)}, expected {np.shape(own)}")
        pairs = none if into.pair_scores is None else into.pair_scores
        add_counts(
            theta.letters, theta.offsets, codes, weight, theta.squares, into.tables, into.unpaired, pairs
        )
        return into

    def log_proba(
        self, theta: FoldingTables, codes: Any, *, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Log-probability of given structures."""
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)

    def agreeing(self, theta: FoldingTables, codes: Known) -> FoldingRestriction:
        """The restriction to structures that agree with an annotation."""
        return agreeing(theta, codes)

    def contradicting(self, theta: FoldingTables, codes: Known) -> FoldingRestriction:
        """The restriction to structures that contradict an annotation somewhere."""
        return FoldingRestriction(contradicts=codes)

    def contradicts(self, theta: FoldingTables, annotation: Known, codes: np.ndarray) -> np.ndarray:
        """Whether each of the given structures contradicts its annotation, bool (n_samples,)."""
        within = agreeing(theta, annotation)
        return np.isneginf(self.score(replace(theta.zeros(), pair_scores=None), codes, within=within))

    def checked_codes(self, theta: FoldingTables, codes: Any) -> np.ndarray:
        """Given structures as kernels read them; what is no structure of the model is refused, naming the position."""
        from palmette.structures.folding.kernels import given

        codes = np.ascontiguousarray(codes, np.int32)
        if codes.shape != theta.letters.shape:
            raise ValueError(
                f"codes have shape {codes.shape}, expected one per position, {theta.letters.shape}"
            )
        kind, s, t = given.first_flaw(
            theta.letters, theta.offsets, self.can_pair(), self.min_hairpin, self.max_interior, codes
        )
        if kind != given.FINE:
            raise ValueError(f"sample {s}: {self.flaw_words(kind, theta, codes, s, t)}")
        return codes

    def flaw_words(self, kind: int, theta: FoldingTables, codes: np.ndarray, s: int, t: int) -> str:
        """What is wrong with a structure."""
        from palmette.structures.folding.kernels import given

        lo = int(theta.offsets[s])
        code, letters = int(codes[lo + t]), "ACGUN"
        if kind == given.NO_CODE:
            return f"code {code} at position {t} is neither 0 nor a position + 1"
        pair = f"({t}, {code - 1})"
        if kind == given.NOT_MUTUAL:
            return f"position {t} is paired with {code - 1}, which is not paired with it"
        if kind == given.CROSSING:
            return f"the pair {pair} crosses another one: pseudoknots are outside of the model"
        if kind == given.LETTERS:
            a, b = letters[theta.letters[lo + t]], letters[theta.letters[lo + code - 1]]
            return (
                f"the pair {pair} is {a} with {b}, which may not pair (pairs={self.get_params()['pairs']!r})"
            )
        if kind == given.CLOSE:
            return f"the pair {pair} has fewer than min_hairpin={self.min_hairpin} positions between its ends"
        return f"the interior loop inside of {pair} has more than max_interior={self.max_interior} unpaired positions"


def _longest(theta: FoldingTables) -> int:
    return int(np.diff(theta.offsets).max(initial=0))


def _one(theta: FoldingTables, cost: Any, within: Any, s: int) -> tuple[FoldingTables, Any, Any]:
    """One sample of everything."""
    if len(theta) == 1:
        return theta, cost, within
    one = np.array([s])
    price = None if cost is None else cost.take(one, theta.offsets)
    return theta.take(one), price, None if within is None else within.take(one, theta.offsets)


def _copies(theta: FoldingTables, cost: Any, within: Any, times: int) -> tuple[FoldingTables, Any, Any]:
    """One sample of everything so often."""
    same = np.zeros(times, np.int64)
    price = None if cost is None else cost.take(same, theta.offsets)
    limit = FoldingRestriction() if within is None else repeated(within, times)
    return theta.take(same), price, limit


def _symmetric(pairs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Upper triangles mirrored, in place."""
    squares = squares_of(offsets)
    for s, n in enumerate(np.diff(offsets).tolist()):
        square = pairs[squares[s] : squares[s + 1]].reshape(n, n)
        square += square.T.copy()
    return pairs


def _weights(theta: FoldingTables, weight: Any) -> np.ndarray:
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one per sample, {(len(theta),)}")
    return weight


def _check_feasible(values: np.ndarray, theta: FoldingTables) -> None:
    bad = np.flatnonzero(~(values > -np.inf))
    if len(bad):
        raise _infeasible(int(bad[0]), theta)


def _infeasible(sample: int, theta: FoldingTables) -> InfeasibleError:
    n = int(theta.offsets[sample + 1] - theta.offsets[sample])
    return InfeasibleError(
        f"sample {sample} (length {n}): no structure satisfies the restriction; forced pairs must nest, be of letters "
        "that may pair, and leave room for hairpins",
        sample,
    )
