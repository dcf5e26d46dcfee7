"""Answers about given structures, and what all answers ask of kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.annotation import Known
from palmette.errors import TooLarge
from palmette.memory import in_words, memory_limit
from palmette.structures.folding.question import Question, ask
from palmette.structures.folding.restrictions import FoldingRestriction, agreeing
from palmette.structures.folding.samples import longest, weights_of
from palmette.structures.folding.tables import FoldingTables

TABLES_BEST, TABLES_SUMS = 6.0, 9.0  # squares of doubles that the plain kernels hold at once
FAST_BEST, FAST_SUMS = 1.1, 2.4  # the same of the fast kernels


class GivenAnswers(Structure):
    """Score, counts and contradictions of given structures, on packed batches of :class:`FoldingTables`."""

    min_hairpin: int
    max_interior: int
    memory_limit: Any
    precision: str
    beam: int | None
    fast_from = 24
    """Sequences of at least so many positions are folded by the fast kernels, shorter ones by the plain ones."""

    def can_pair(self) -> np.ndarray:
        """Which letters may pair, bool (5, 5)."""
        raise NotImplementedError

    def _ask(
        self, theta: FoldingTables, cost: Any, within: Any, sign: float = 1.0, tables: float = TABLES_BEST
    ) -> Question:
        question = ask(theta, cost, within, self.can_pair(), self.min_hairpin, self.max_interior, sign)
        n = longest(theta)
        needed = int(8 * tables * (n + 1) ** 2)
        limit = memory_limit() if self.memory_limit is None else self.memory_limit
        if needed > limit:
            raise TooLarge(
                f"a sequence of {n:,} positions takes at least {in_words(needed)}, and the limit is {in_words(limit)}: "
                "raise memory_limit, fold shorter pieces, or search approximately: Folding(beam=200), "
                "palmette fold --beam 200",
                needed,
            )
        return question

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
        codes, weight = self.checked_codes(theta, codes), weights_of(theta, weight)
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
