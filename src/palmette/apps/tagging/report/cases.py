"""The worst errors of a model: whole sentences, and single wrong labels of high probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palmette.apps.tagging.report.confidence import Confidence
from palmette.inspection import Term

Labels = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A sentence with wrong labels.

    Parameters
    ----------
    index : int
        Of the sentence, from 0.
    place : str
        Where it stands, such as ``file:line``; may be empty.
    words, true, predicted : sequence of str
    p_true, p_predicted : ndarray of shape (n_tokens,), or None
        Marginal probabilities of the two labels of each token, if the model has them.
    lead : float
        By how much the prediction's score beats that of the truth; NaN without a model, infinite if the
        truth has a label that the model does not know.
    log_true : float
        Log-probability of the truth; NaN without a model.
    reasons : tuple of Term
        What made the prediction win, strongest first; sums to `lead`.
    """

    index: int
    place: str
    words: Sequence[str]
    true: Sequence[str]
    predicted: Sequence[str]
    p_true: np.ndarray | None = None
    p_predicted: np.ndarray | None = None
    lead: float = float("nan")
    log_true: float = float("nan")
    reasons: tuple[Term, ...] = ()

    @property
    def n_wrong(self) -> int:
        """Number of wrong labels."""
        return sum(a != b for a, b in zip(self.true, self.predicted))


def worst_sentences(true: Labels, predicted: Labels, confidence: Confidence | None, top: int) -> list[int]:
    """Indices of the sentences with errors, worst first.

    By the lead of the prediction over the truth where a model tells, else by the number of wrong labels. Sentences
    with true labels that the model cannot give come last: it had no choice.

    Examples
    --------
    >>> worst_sentences([["a"], ["a", "b"], ["c"]], [["b"], ["b", "a"], ["c"]], None, 5)
    [1, 0]
    """
    wrong = [sum(a != b for a, b in zip(*pair)) for pair in zip(true, predicted)]
    badness = np.array(wrong) if confidence is None else confidence.lead
    badness = np.where(np.isfinite(badness), badness, -np.inf)
    failed = [i for i, n in enumerate(wrong) if n]
    return sorted(failed, key=lambda i: -badness[i])[:top]


@dataclass(frozen=True)
class SureError:
    """A wrong label to which the model gave a high probability."""

    index: int
    position: int
    true: str
    predicted: str
    p_true: float
    p_predicted: float


def surest_errors(true: Labels, predicted: Labels, confidence: Confidence, top: int) -> list[SureError]:
    """The wrong labels of the highest probability, highest first, at most one per sentence.

    Examples
    --------
    >>> p = [np.array([0.9, 0.6, 0.7])], [np.array([0.9, 0.3, 0.2])]
    >>> sure = Confidence(*p, np.zeros(1), np.zeros(1), True)
    >>> [(error.position, error.true) for error in surest_errors([["a", "b", "c"]], [["a", "a", "a"]], sure, 5)]
    [(2, 'c')]
    """
    found = []
    for i, (labels, guesses) in enumerate(zip(true, predicted)):
        p_true, p_predicted = confidence.true[i], confidence.predicted[i]
        wrong = [t for t, (a, b) in enumerate(zip(labels, guesses)) if a != b]
        if wrong:
            t = max(wrong, key=lambda t: p_predicted[t])
            found.append(SureError(i, t, labels[t], guesses[t], float(p_true[t]), float(p_predicted[t])))
    return sorted(found, key=lambda error: -error.p_predicted)[:top]
