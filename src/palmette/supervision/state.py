"""What has been asked and answered so far: a function of the events, which a journal can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from palmette.data import UNKNOWN
from palmette.supervision.journal import from_json, to_json
from palmette.supervision.questions import Question

FREE, OPEN, ANSWERED, SKIPPED = range(4)


class Told(NamedTuple):
    """An answer that was checked.

    ``known`` are the positions in the output that it answers (None: all). If ``whole``, ``answer`` is an output as
    ``fit`` takes it; else it has the labels of the known positions.
    """

    questions: tuple[int, ...]
    sample: int
    known: tuple[int, ...] | None
    whole: bool
    answer: Any

    def as_event(self) -> dict[str, Any]:
        """As JSON values."""
        known = None if self.known is None else list(self.known)
        return {
            "event": "tell", "questions": list(self.questions), "sample": self.sample, "known": known,
            "whole": self.whole, "answer": to_json(self.answer),
        }  # fmt: skip

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Told:
        """Inverse of :meth:`as_event`."""
        known = None if event["known"] is None else tuple(map(int, event["known"]))
        numbers, answer = tuple(map(int, event["questions"])), from_json(event["answer"])
        return cls(numbers, int(event["sample"]), known, bool(event["whole"]), answer)


@dataclass
class _Before:
    """What an answer replaced."""

    told: Told
    status: np.ndarray
    output: Any
    closed: list[Question]


class State:
    """Which parts are free, asked, answered or skipped, and the answers by sample.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_samples + 1,)
        Parts of the samples.
    items : bool
        Whether an output is a single label.

    Attributes
    ----------
    status : ndarray of int8, shape (n_parts,)
        FREE, OPEN, ANSWERED or SKIPPED.
    outputs : dict
        What is known of the output of a sample, by its number: as ``fit`` takes it, with ``UNKNOWN`` in it.
    open : dict
        Questions without an answer, by their numbers.
    averages : list of float
        The average uncertainty at each query that had a model.
    version : int
        Changes with every answer.
    """

    def __init__(self, offsets: np.ndarray, items: bool) -> None:
        self.offsets, self.items = offsets, items
        self.status = np.full(int(offsets[-1]), FREE, np.int8)
        self.outputs: dict[int, Any] = {}
        self.open: dict[int, Question] = {}
        self.averages: list[float] = []
        self.n_queries = self.n_questions = self.n_evaluation = self.version = 0
        self.averaged = self.refitted = -1  # the versions of the last average, and of the last final model
        self._of_sample: dict[int, set[int]] = {}
        self._told: list[_Before] = []

    def length(self, sample: int) -> int:
        """Parts of a sample."""
        return int(self.offsets[sample + 1] - self.offsets[sample])

    def open_of(self, sample: int) -> list[Question]:
        """The open questions about a sample."""
        return [self.open[number] for number in sorted(self._of_sample.get(sample, ()))]

    # -- events -------------------------------------------------------------------------------------------------

    def ask(self, questions: Sequence[Question], average: float | None) -> None:
        """Note questions, and the average uncertainty at which they were asked."""
        self.n_queries += 1
        for question in questions:
            self.status[self.offsets[question.sample] + np.array(question.parts)] = OPEN
            self._reopen(question)
            self.n_questions = max(self.n_questions, question.number + 1)
            self.n_evaluation += question.evaluation
        if average is not None:
            self.averages.append(average)
            self.averaged = self.version

    def tell(self, told: Told) -> None:
        """Note an answer."""
        lo, hi = self.offsets[told.sample : told.sample + 2]
        own = self.status[lo:hi]
        before = _Before(told, own.copy(), self.outputs.get(told.sample), [])
        asked = [self.open[number] for number in told.questions if number in self.open]
        for question in asked:
            own[list(question.parts)] = SKIPPED
        own[slice(None) if told.known is None else list(told.known)] = ANSWERED
        output = self._merged(told)
        if output is not None:
            self.outputs[told.sample] = output
        for question in self.open_of(told.sample):
            if question in asked or not np.any(own[list(question.parts)] == OPEN):
                before.closed.append(self.open.pop(question.number))
                self._of_sample[told.sample].discard(question.number)
        self._told.append(before)
        self.version += 1

    @property
    def n_told(self) -> int:
        """Answers that can be taken back."""
        return len(self._told)

    def undo(self) -> Told:
        """Take the last answer back."""
        before = self._told.pop()
        told = before.told
        self.status[self.offsets[told.sample] : self.offsets[told.sample + 1]] = before.status
        if before.output is None:
            self.outputs.pop(told.sample, None)
        else:
            self.outputs[told.sample] = before.output
        for question in before.closed:
            self._reopen(question)
        self.version += 1
        return told

    def finish(self) -> None:
        """Note that the final model is wanted for the answers so far."""
        self.refitted = self.version

    def replay(self, events: Iterable[dict[str, Any]]) -> int:
        """Apply events of a journal; how many were damaged."""
        damaged = 0
        for event in events:
            try:
                self._apply(event)
            except (KeyError, TypeError, ValueError, IndexError):
                damaged += 1
        return damaged

    def _apply(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "ask":
            questions = [Question.from_event(each) for each in event["questions"]]
            for question in questions:
                self._check(question.sample, question.parts)
            self.ask(questions, event["average"])
        elif kind == "tell":
            told = Told.from_event(event)
            self._check(told.sample, told.known or ())
            self.tell(told)
        elif kind == "undo":
            self.undo()
        elif kind == "finish":
            self.finish()
        else:
            raise ValueError(f"the event {kind!r} is unknown")

    def _check(self, sample: int, parts: tuple[int, ...]) -> None:
        if not 0 <= sample < len(self.offsets) - 1 or not all(0 <= p < self.length(sample) for p in parts):
            raise IndexError(f"there is no sample {sample} with the parts {parts}")

    def _reopen(self, question: Question) -> None:
        self.open[question.number] = question
        self._of_sample.setdefault(question.sample, set()).add(question.number)

    def _merged(self, told: Told) -> Any:
        """What is known of a sample with this answer; None if nothing is."""
        if told.known is not None and not told.known:
            return None
        if (told.whole and told.known is None) or self.items:
            return told.answer
        old = self.outputs.get(told.sample)
        merged = list(old) if old is not None else [UNKNOWN] * self.length(told.sample)
        labels = [told.answer[t] for t in told.known or ()] if told.whole else told.answer
        for t, label in zip(told.known or (), labels):
            merged[t] = label
        return merged
