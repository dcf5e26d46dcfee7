"""Answers about given alignments, and what all answers ask of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.annotation import Known
from palmette.errors import TooLarge
from palmette.memory import in_words, memory_limit
from palmette.structures.alignment.question import Question, ask
from palmette.structures.alignment.restrictions import AlignmentRestriction, agreeing
from palmette.structures.alignment.samples import lengths_of, weights_of
from palmette.structures.alignment.tables import FIELDS, AlignmentTables


class GivenAnswers(Structure):
    """Score, counts and contradictions of given alignments, on packed batches of :class:`AlignmentTables`."""

    memory_limit: Any
    precision: str
    fast = True
    """Whether fast kernels answer where they can; the plain ones serve every question."""

    def _ask(
        self, theta: AlignmentTables, cost: Any, within: Any, sign: float = 1.0, tables: float = 1.0
    ) -> Question:
        """The question, if ``tables`` plain recursions at once have room in memory."""
        question = ask(theta, cost, within, sign)
        self._check_room(theta, question, tables)
        return question

    def _like(self) -> np.ndarray:
        """An array of the precision of the fast kernels."""
        return np.empty(0, np.float32 if self.precision == "single" else np.float64)

    def _is_fast(self, theta: AlignmentTables, question: Question) -> np.ndarray:
        """Which samples fast kernels can answer for: one kind of gap, and no code that cannot be, bool (n_samples,)."""
        from palmette.structures.alignment.kernels.fast_batch import serves

        if self.fast and theta.n_kinds == 1 and question.unit is theta.unit:
            return np.ones(len(theta), bool)  # nothing was asked but the potentials, which are finite
        fine = np.zeros(len(theta), bool)
        if self.fast and theta.n_kinds == 1 and not len(question.wrong_gaps):
            gaps = question.unit[0], question.open[0], question.extend[0]
            serves(theta.offsets, theta.splits, *gaps, question.change, question.codes, fine)
        return fine

    def _check_room(self, theta: AlignmentTables, question: Question, tables: float = 1.0) -> None:
        """Refuse a pair whose plain recursions take more memory than there is."""
        layers = 2 if len(question.wrong_gaps) else 1
        each = 8.0 * (tables * (1 + 2 * theta.n_kinds) * layers + 1 + layers)
        self._check_bytes(theta, int(each * _rooms(theta).max(initial=0)))

    def _check_bytes(self, theta: AlignmentTables, needed: int) -> None:
        """Refuse the largest pair if it takes more bytes than there are."""
        limit = memory_limit() if self.memory_limit is None else self.memory_limit
        if needed > limit:
            s = int(np.argmax(_rooms(theta)))
            n, m = lengths_of(theta, s)
            raise TooLarge(
                f"sample {s}: a pair of {n:,} and {m:,} positions takes at least {in_words(needed)}, and the limit is "
                f"{in_words(limit)}: raise memory_limit, or align pieces between positions that are known to match",
                needed,
            )

    def score(
        self, theta: AlignmentTables, codes: Any, *, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Score plus cost of given alignments; -inf for one that the restriction forbids."""
        from palmette.structures.alignment.kernels.given import alignment_scores

        question = ask(theta, cost, within)
        codes, values = self.checked_codes(theta, codes), np.empty(len(theta))
        alignment_scores(*question, codes, values)
        if cost is not None:
            values += cost.constant
        if within is not None and within.contradicts is not None:
            values[~self.contradicts(theta, within.contradicts, codes)] = -np.inf
        return values

    def count(
        self, theta: AlignmentTables, codes: Any, *, weight: Any = None, into: AlignmentTables | None = None
    ) -> AlignmentTables:
        """Counts of given alignments in theta's shape, times ``weight``; added to ``into`` if given."""
        from palmette.structures.alignment.kernels.given import add_counts

        theta.check()
        codes, weight = self.checked_codes(theta, codes), weights_of(theta, weight)
        into = theta.zeros() if into is None else into
        for name in FIELDS:
            own, given = getattr(theta, name), getattr(into, name)
            if np.shape(own) != np.shape(given):
                raise ValueError(f"into.{name} has shape {np.shape(given)}, expected {np.shape(own)}")
        cells = np.empty(0) if into.cells is None else into.cells
        add_counts(
            theta.letters, theta.offsets, theta.splits, codes, weight, theta.starts, into.substitution, into.unit,
            into.open, into.extend, into.change, cells,
        )  # fmt: skip
        return into

    def log_proba(
        self, theta: AlignmentTables, codes: Any, *, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Log-probability of given alignments."""
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)

    def agreeing(self, theta: AlignmentTables, codes: Known) -> AlignmentRestriction:
        """The restriction to alignments that agree with an annotation."""
        return agreeing(theta, codes)

    def contradicting(self, theta: AlignmentTables, codes: Known) -> AlignmentRestriction:
        """The restriction to alignments that contradict an annotation somewhere."""
        return AlignmentRestriction(contradicts=codes)

    def checked_codes(self, theta: AlignmentTables, codes: Any) -> np.ndarray:
        """Given alignments as kernels read them; what is no alignment is refused, naming the position."""
        from palmette.structures.alignment.kernels import given

        codes = np.ascontiguousarray(codes, np.int32)
        if codes.shape != theta.letters.shape:
            raise ValueError(
                f"codes have shape {codes.shape}, expected one per position, {theta.letters.shape}"
            )
        kind, s, t = given.first_flaw(theta.offsets, theta.splits, theta.n_kinds, codes)
        if kind != given.FINE:
            raise ValueError(f"sample {s}: {_flaw_words(kind, theta, codes, s, t)}")
        return codes


def _rooms(theta: AlignmentTables) -> np.ndarray:
    """Cells of the recursions of each sample."""
    return (theta.splits + 1) * (np.diff(theta.offsets) - theta.splits + 1)


def _flaw_words(kind: int, theta: AlignmentTables, codes: np.ndarray, s: int, t: int) -> str:
    """What is wrong with an alignment."""
    from palmette.structures.alignment.kernels import given

    n, m = lengths_of(theta, s)
    code = int(codes[theta.offsets[s] + t])
    which, at = ("first", t) if t < n else ("second", t - n)
    where = f"position {at} of the {which} sequence"
    if kind == given.NO_CODE:
        return f"code {code} at {where} is not in 0..{m if t < n else n}"
    if kind == given.NOT_MUTUAL:
        return f"{where} is matched with {code - 1}, which is not matched with it"
    if kind == given.CROSSING:
        return f"{where} is matched with {code - 1}, but an earlier one with a later position: matches cross"
    return (
        f"{where} is against a gap of another kind than the position before it; a run of gaps is of one kind"
    )
