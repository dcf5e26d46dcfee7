"""Scores as ratios of sums over sentences, which is all that resampling needs to know of them.

=================  =============================  ==================================
score              numerator of a sentence        denominator of a sentence
=================  =============================  ==================================
accuracy           labels that are right          labels
F1                 2 x spans (words) in common    true + predicted spans (words)
precision          spans in common                predicted spans
recall             spans in common                true spans
=================  =============================  ==================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from palmette.metrics.accuracy import Labels, check_lengths, known_labels
from palmette.metrics.chunks import Tags, matched_chunks
from palmette.metrics.words import Words, count_words


@dataclass(frozen=True)
class Tally:
    """A score ``sum_i numerator_i / sum_i denominator_i`` over sentences i; 0 where it is undefined.

    Parameters
    ----------
    name : str
    numerator, denominator : ndarray of shape (n_sentences,)

    Examples
    --------
    >>> tally = tally_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    >>> tally.numerator, tally.denominator, round(tally.score, 3)
    (array([1, 1]), array([2, 1]), 0.667)
    """

    name: str
    numerator: np.ndarray
    denominator: np.ndarray

    def __len__(self) -> int:
        return len(self.numerator)

    @property
    def score(self) -> float:
        """The score over all sentences."""
        return float(ratio(self.numerator.sum(), self.denominator.sum()))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise ratio, 0 where the denominator is."""
    return np.divide(numerator, denominator, out=np.zeros(np.shape(numerator)), where=denominator != 0)


def pooled(tallies: Iterable[Tally]) -> Tally:
    """One tally of several runs (seeds) on the same sentences: a sentence's counts are added.

    Examples
    --------
    >>> runs = [tally_accuracy([["A", "B"]], [[a, "B"]]) for a in "AB"]
    >>> pooled(runs).score
    0.75
    """
    runs = list(tallies)
    kinds = {(run.name, len(run)) for run in runs}
    if len(kinds) != 1:
        raise ValueError(f"runs of one score on the same sentences can be pooled, got {sorted(kinds)}")
    sums = (sum(run.numerator for run in runs), sum(run.denominator for run in runs))
    return Tally(runs[0].name, *map(np.asarray, sums))


def tally_accuracy(Y_true: Labels, Y_pred: Labels) -> Tally:
    """Share of labels that are right, sentence by sentence.

    Examples
    --------
    >>> tally_accuracy([["A", "B"]], [["A", "C"]]).score
    0.5
    """
    Y_true, Y_pred = known_labels(Y_true, Y_pred)
    right = [sum(a == b for a, b in zip(*pair)) for pair in zip(Y_true, Y_pred)]
    return Tally("accuracy", np.array(right, np.int64), np.array(list(map(len, Y_true)), np.int64))


def tally_chunks(Y_true: Tags, Y_pred: Tags, score: str = "f1") -> Tally:
    """F1, precision or recall of chunks, sentence by sentence; counts as `chunk_report` counts.

    Parameters
    ----------
    Y_true, Y_pred : list of list of str
        Labels in any span encoding.
    score : {"f1", "precision", "recall"}, default="f1"

    Examples
    --------
    >>> tally_chunks([["B-NP", "I-NP", "B-VP"]], [["S-NP", "S-NP", "S-VP"]]).score
    0.4
    """
    check_lengths(Y_true, Y_pred)
    gold, predicted, correct = matched_chunks(Y_true, Y_pred)
    owners = gold.sequences, predicted.sequences, gold.sequences[correct]
    counts = [np.bincount(owner, minlength=len(Y_true)) for owner in owners]
    return _tally("chunk", score, *counts)


def tally_words(
    Y_true: Words, Y_pred: Words, score: str = "f1", vocabulary: Collection[str] | None = None
) -> Tally:
    """F1, precision or recall of words, sentence by sentence; counts as `word_report` counts.

    Parameters
    ----------
    Y_true, Y_pred : list of list of str
        Words of the same sentences.
    score : {"f1", "precision", "recall", "oov_recall", "iv_recall"}, default="f1"
        The last two are the recall of words outside and in the vocabulary.
    vocabulary : collection of str, optional
        Words of the training text, for the last two.

    Examples
    --------
    >>> tally_words([["ab", "c"]], [["a", "b", "c"]]).score
    0.4
    """
    if score in ("oov_recall", "iv_recall") and vocabulary is None:
        raise ValueError(f"score={score!r} needs vocabulary=, the words of the training text")
    counts = count_words(Y_true, Y_pred, vocabulary)
    if score == "oov_recall":
        return Tally("word oov_recall", counts.correct_unknown, counts.unknown)
    if score == "iv_recall":
        known = counts.correct - counts.correct_unknown, counts.gold - counts.unknown
        return Tally("word iv_recall", *known)
    return _tally("word", score, *counts[:3])


def _tally(unit: str, score: str, gold: np.ndarray, predicted: np.ndarray, correct: np.ndarray) -> Tally:
    parts = {
        "f1": (2 * correct, gold + predicted),
        "precision": (correct, predicted),
        "recall": (correct, gold),
    }
    if score not in parts:
        raise ValueError(f"score must be one of {', '.join(map(repr, parts))}, got {score!r}")
    return Tally(f"{unit} {score}", *parts[score])
