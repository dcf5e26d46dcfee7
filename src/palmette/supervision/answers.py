"""What an annotator says, checked at the door."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data import UNKNOWN, Linked
from palmette.data.ragged import offsets_from_lengths
from palmette.estimators.training import bound_structure, completed, encode_training, layout_weights
from palmette.supervision.questions import Question
from palmette.supervision.state import State, Told

if TYPE_CHECKING:
    from palmette.features.encoded import EncodedInputs

SKIP = "skip"


class Door:
    """Turns answers into what the state keeps, or says what is wrong with them.

    Parameters
    ----------
    model : learner
    pool : EncodedInputs
    state : State
    """

    def __init__(self, model: Any, pool: EncodedInputs, state: State) -> None:
        self.model, self.pool, self.state = model, pool, state
        self.structure: Structure = model.structure
        self.classes: Sequence[Any] | None = model.classes

    def asked(self, question: Question | int) -> list[Question]:
        """The open questions that an answer is for."""
        if isinstance(question, Question):
            if self.state.open.get(question.number) != question:
                raise ValueError(
                    f"question {question.number} (sample {question.sample}) is not open: it was never asked by this "
                    "learner, or was answered already; open_questions_ has those that are"
                )
            return [question]
        if isinstance(question, bool) or not isinstance(question, Integral):
            raise TypeError(f"tell needs a Question or the index of a sample, got {question!r:.60}")
        n_samples = len(self.state.offsets) - 1
        if not 0 <= question < n_samples:
            raise IndexError(f"there is no sample {question} in the pool: it has {n_samples} samples")
        found = self.state.open_of(int(question))
        if not found:
            raise ValueError(
                f"nothing about sample {question} is open: it was never asked, or was answered already; "
                "open_questions_ has what is"
            )
        return found

    def check(self, asked: Sequence[list[Question]], answers: Sequence[Any]) -> list[Told]:
        """The answers to questions, several of one sample at a time; nothing is kept if one of them is wrong."""
        told = [self._read(questions, answer) for questions, answer in zip(asked, answers, strict=True)]
        said = [k for k, one in enumerate(told) if one.known is None or one.known]
        before: dict[int, list[Any]] = {}
        for k, own in zip(said, self._known([told[k] for k in said])):
            told[k] = self._settled(told[k], own)
            self._compare(told[k], before)
            self._check_rules(told[k], before)
        return told

    def check_kept(self) -> None:
        """Raise ValueError for the first sample whose answers, from elsewhere, are none for this learner."""
        for sample, output in self.state.outputs.items():
            try:
                self._codes([output], np.array([self.state.length(sample)]))
                self._check_agreeing(sample, output)
            except (TypeError, ValueError) as error:
                raise ValueError(f"the answer about sample {sample}: {error}") from None

    def _read(self, questions: list[Question], answer: Any) -> Told:
        """The answer as labels of the parts asked for, or as a whole output."""
        sample, numbers = questions[0].sample, tuple(q.number for q in questions)
        parts = tuple(sorted({t for q in questions for t in q.parts}))
        n = self.state.length(sample)
        if self._skips(answer):
            return Told(numbers, sample, (), False, [])
        if isinstance(answer, Linked):
            raise TypeError(
                f"the answer to question {numbers[0]} (sample {sample}) is {answer!r:.60}: answers are about single "
                "parts, give their labels"
            )
        if self.structure.layout == "items":
            return Told(numbers, sample, None, True, answer)
        if len(parts) == 1 and _is_label(answer):
            answer = [answer]
        elif _is_label(answer):
            raise TypeError(
                f"the answer to question {numbers[0]} (sample {sample}) is {answer!r:.60}: give a list with the labels "
                f"of its {len(parts)} parts, or of all {n} (UNKNOWN where you do not know), or 'skip'"
            )
        if isinstance(answer, set | frozenset | dict):
            raise TypeError(
                f"the answer to question {numbers[0]} (sample {sample}) is the {type(answer).__name__} {answer!r:.60}, "
                "whose labels belong to no positions: give a list, with OneOf('a', 'b') where several are possible"
            )
        given = answer.tolist() if isinstance(answer, np.ndarray) else list(answer)
        outputs = not self.structure.label_per_row and any(isinstance(each, tuple | list) for each in given)
        if len(given) == n or outputs or (not self.structure.label_per_row and len(parts) == n):
            return Told(numbers, sample, None, True, given)
        if len(given) != len(parts):
            raise ValueError(
                f"the answer to question {numbers[0]} (sample {sample}) has {len(given)} labels: give those of its "
                f"{len(parts)} parts {list(parts)!r:.60}, or of all {n} positions"
            )
        return Told(numbers, sample, parts, False, given)

    def _skips(self, answer: Any) -> bool:
        declared = self.classes is not None and SKIP in list(self.classes)
        return answer is UNKNOWN or (isinstance(answer, str) and answer == SKIP and not declared)

    def _known(self, told: Sequence[Told]) -> list[np.ndarray]:
        """Which positions each answer is about, bool; labels that are not allowed are refused."""
        outputs = [self._output(one) for one in told]
        lengths = np.array([self.state.length(one.sample) for one in told], np.int64)
        said = [k for k, output in enumerate(outputs) if not _says_nothing(output)]
        try:
            codes = self._codes([outputs[k] for k in said], lengths[said])
        except (TypeError, ValueError):
            for k in said:  # once more, one by one, to say which it is
                try:
                    self._codes([outputs[k]], lengths[[k]])
                except (TypeError, ValueError) as error:
                    raise type(error)(
                        f"the answer to question {told[k].questions[0]} (sample {told[k].sample}): {error}"
                    ) from None
            raise
        known, bounds = [np.zeros(n, bool) for n in lengths.tolist()], offsets_from_lengths(lengths[said])
        for place, k in enumerate(said):
            known[k] = codes[bounds[place] : bounds[place + 1]] != -1
        return known

    def _output(self, told: Told) -> Any:
        if told.whole:
            return told.answer
        output = [UNKNOWN] * self.state.length(told.sample)
        for t, label in zip(told.known or (), told.answer):
            output[t] = label
        return output

    def _codes(self, outputs: list[Any], lengths: np.ndarray) -> np.ndarray:
        if not outputs:
            return np.empty(0, np.int32)
        codec = self.structure.make_codec(outputs, self.classes, lengths)
        annotation = codec.encode_annotation(outputs, lengths, self.structure.layout)
        if not np.any(annotation.known < 0):
            with warnings.catch_warnings():  # training says it, once
                warnings.simplefilter("ignore")
                bound = bound_structure(self.structure, codec)
                bound.check_outputs(annotation.known, offsets_from_lengths(lengths))
        return annotation.codes

    def _settled(self, told: Told, known: np.ndarray) -> Told:
        """The answer with the positions that it is about."""
        if known.all() and told.whole:
            return told
        positions = tuple(np.flatnonzero(known).tolist())
        if told.whole:
            return told._replace(known=positions)
        labels = dict(zip(told.known or (), told.answer))
        return told._replace(known=positions, answer=[labels[t] for t in positions])

    def _compare(self, told: Told, before: dict[int, list[Any]]) -> None:
        """Refuse another label than an earlier answer gave; ``before`` has those of the same call."""
        n = self.state.length(told.sample)
        old, new = before.get(told.sample, self.state.outputs.get(told.sample)), self._output(told)
        if not (isinstance(new, list) and len(new) == n):
            return  # not one label per part
        if isinstance(old, list) and len(old) == n:
            for t, (earlier, label) in enumerate(zip(old, new)):
                if earlier is not UNKNOWN and label is not UNKNOWN and earlier != label:
                    raise ValueError(
                        f"the answer to question {told.questions[0]} (sample {told.sample}) says {label!r} at position "
                        f"{t}, and an earlier one {earlier!r}: repeat that one, or take it back by undo()"
                    )
            new = [earlier if label is UNKNOWN else label for earlier, label in zip(old, new)]
        before[told.sample] = new

    def _check_rules(self, told: Told, merged: dict[int, list[Any]]) -> None:
        """Refuse what contradicts the rules together with the earlier answers: no model could be trained any more."""
        if told.sample not in merged:
            return
        try:
            self._check_agreeing(told.sample, merged[told.sample])
        except ValueError as error:
            raise ValueError(
                f"the answer to question {told.questions[0]} (sample {told.sample}), with earlier ones about the "
                f"sample: {error}"
            ) from None

    def _check_agreeing(self, sample: int, output: Any) -> None:
        """Raise ValueError unless some output of the sample agrees with this one, as training would."""
        undeclared = self.classes is None and self.structure.labelled
        if undeclared or _says_nothing(output) or not self._has_rules:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = encode_training(self.pool[[sample]], [output], self.structure, self.classes, None)
            completed(data, layout_weights(self.model, data))

    @cached_property
    def _has_rules(self) -> bool:
        """Whether labels may contradict each other."""
        if not self.structure.label_per_row:
            return True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bound = self.structure.bind(tuple(self.classes or ()))
        return type(bound).check_outputs is not Structure.check_outputs


def _is_label(answer: Any) -> bool:
    return isinstance(answer, str | bytes | tuple) or not hasattr(answer, "__len__")


def _says_nothing(output: Any) -> bool:
    return isinstance(output, list) and all(each is UNKNOWN for each in output)
