"""Word segmentation: precision, recall and F1 of words, and recall of words that training never had."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from palmette.data.words import word_lengths
from palmette.metrics.matching import matching

Words = Sequence[Sequence[str]]


@dataclass(frozen=True)
class WordReport:
    """Agreement of predicted with true words; ratios are 0 where they are undefined.

    Parameters
    ----------
    gold, predicted, correct : int
        True words, predicted words, and those in both: the same characters from the same place on.
    unknown, correct_unknown : int or None
        True words that are not in the vocabulary (OOV) and those of them that were found; None without one.
    """

    gold: int
    predicted: int
    correct: int
    unknown: int | None = None
    correct_unknown: int | None = None

    @property
    def precision(self) -> float:
        """Share of the predicted words that are right."""
        return _ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """Share of the true words that were found."""
        return _ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, ``2 correct / (gold + predicted)``."""
        return _ratio(2 * self.correct, self.gold + self.predicted)

    @property
    def oov_rate(self) -> float | None:
        """Share of the true words that the vocabulary does not have."""
        return None if self.unknown is None else _ratio(self.unknown, self.gold)

    @property
    def oov_recall(self) -> float | None:
        """Share of the unknown words that were found."""
        return None if self.unknown is None else _ratio(self.correct_unknown or 0, self.unknown)

    @property
    def iv_recall(self) -> float | None:
        """Share of the known words that were found."""
        if self.unknown is None:
            return None
        return _ratio(self.correct - (self.correct_unknown or 0), self.gold - self.unknown)

    def to_dict(self) -> dict[str, float | None]:
        """Counts and ratios for JSON."""
        names = ("gold", "predicted", "correct", "unknown", "correct_unknown", "precision", "recall", "f1")
        return {name: getattr(self, name) for name in (*names, "oov_rate", "oov_recall", "iv_recall")}

    def format(self) -> str:
        """Write the ratios as percentages, in one line, or two with a vocabulary."""
        text = (
            f"words: {self.gold:,}; found: {self.predicted:,}; correct: {self.correct:,}; precision: "
            f"{100 * self.precision:.2f}%; recall: {100 * self.recall:.2f}%; F1: {100 * self.f1:.2f}"
        )
        if self.oov_rate is None or self.oov_recall is None or self.iv_recall is None:
            return text
        return (
            f"{text}\nunknown words: {100 * self.oov_rate:.2f}%; recall of unknown words: "
            f"{100 * self.oov_recall:.2f}%; of known words: {100 * self.iv_recall:.2f}%"
        )


def word_report(Y_true: Words, Y_pred: Words, vocabulary: Collection[str] | None = None) -> WordReport:
    """Compare predicted with true words; one is correct if it begins and ends where the true one does.

    Parameters
    ----------
    Y_true, Y_pred : list of list of str
        Words of the same sentences (see `palmette.data.join_words` for words from labels).
    vocabulary : collection of str, optional
        The words of the training text; recall is then also given for words outside of it (OOV recall) and
        in it (IV recall).

    Returns
    -------
    WordReport

    Examples
    --------
    >>> report = word_report([["ab", "c", "de"]], [["ab", "cd", "e"]], vocabulary={"c", "de"})
    >>> report.f1, report.oov_rate, report.oov_recall, report.iv_recall
    (0.3333333333333333, 0.3333333333333333, 1.0, 0.0)
    """
    counts = count_words(Y_true, Y_pred, vocabulary)
    gold, predicted, correct, unknown, correct_unknown = (int(count.sum()) for count in counts)
    if vocabulary is None:
        return WordReport(gold, predicted, correct)
    return WordReport(gold, predicted, correct, unknown, correct_unknown)


class WordCounts(NamedTuple):
    """Counts of each sentence: arrays of shape (n_sentences,)."""

    gold: np.ndarray
    predicted: np.ndarray
    correct: np.ndarray
    unknown: np.ndarray
    correct_unknown: np.ndarray


def count_words(Y_true: Words, Y_pred: Words, vocabulary: Collection[str] | None = None) -> WordCounts:
    """Count words sentence by sentence, after checking that the texts are the same; see `word_report`."""
    if len(Y_true) != len(Y_pred):
        raise ValueError(
            f"Y_true has {len(Y_true)} sentences, Y_pred has {len(Y_pred)}; give the same sentences"
        )
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred)):
        if isinstance(true, str) or isinstance(predicted, str):
            raise TypeError(f"sentence {i} is a string; give a list of words")
        if "".join(true) != "".join(predicted):
            raise ValueError(
                f"sentence {i}: Y_true and Y_pred are words of different texts, "
                f"{''.join(true)[:30]!r} and {''.join(predicted)[:30]!r}"
            )
    if isinstance(vocabulary, str):
        raise TypeError("vocabulary is a string; give a set of words")
    known = vocabulary if isinstance(vocabulary, (set, frozenset, dict)) else frozenset(vocabulary or ())
    starts, stops, owner = _bounds(Y_true)
    other_starts, other_stops, other_owner = _bounds(Y_pred)
    right, _ = matching(starts, stops, other_starts, other_stops)
    words = chain.from_iterable(Y_true)
    new = np.fromiter((word not in known for word in words), bool, len(starts))
    owners = (owner, other_owner, owner[right], owner[new], owner[right[new[right]]])
    return WordCounts(*(np.bincount(each, minlength=len(Y_true)) for each in owners))


def _bounds(sentences: Words) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and last position (exclusive) of every word over all sentences, and its sentence."""
    lengths, n_words = word_lengths(sentences, "sentence {}: word {} is empty; remove it")
    stops = np.cumsum(lengths)
    return stops - lengths, stops, np.repeat(np.arange(len(sentences)), np.diff(n_words))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
