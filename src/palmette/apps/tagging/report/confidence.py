"""Confidence of a model: probabilities of predicted and true labels, and their calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.estimators import CRF
from palmette.features.encoded import EncodedInputs

SENTENCES_A_BLOCK = 500  # whose marginals are held at a time


@dataclass(frozen=True)
class Confidence:
    """Probabilities under ``p(y) ~ exp f(x, y)`` for every token and every sentence.

    Parameters
    ----------
    predicted, true : list of arrays of shape (n_tokens,)
        Marginal probability of the predicted and of the true label at each token; 0 for a true label that the
        model does not know.
    log_predicted, log_true : ndarray of shape (n_sentences,)
        Log-probability of the predicted and of the true output; ``-inf`` if the model cannot give it.
    calibrated : bool
        Whether the model was trained to give probabilities (a CRF); otherwise they only rank.
    """

    predicted: list[np.ndarray]
    true: list[np.ndarray]
    log_predicted: np.ndarray
    log_true: np.ndarray
    calibrated: bool

    @property
    def lead(self) -> np.ndarray:
        """By how much each prediction beats the truth, ``f(x, y') - f(x, y)``: 0 where it is right or as good."""
        return self.log_predicted - self.log_true

    def bins(self, right: Sequence[Sequence[bool]], n_bins: int = 10) -> list[tuple[float, float, int]]:
        """Mean probability, share that is right and number of the tokens in bins of equal width, empty ones left out.

        Parameters
        ----------
        right : list of list of bool
            Whether each label is right.
        n_bins : int, default=10

        Examples
        --------
        >>> sure = Confidence([np.array([0.9, 0.98, 0.5])], [], np.zeros(1), np.zeros(1), True)
        >>> [(round(p, 2), share, n) for p, share, n in sure.bins([[True, True, False]])]
        [(0.5, 0.0, 1), (0.94, 1.0, 2)]
        """
        p = np.concatenate([*self.predicted, np.empty(0)])
        hit = np.array([each for sentence in right for each in sentence], float)
        of = np.minimum((p * n_bins).astype(int), n_bins - 1)
        return [
            (float(p[of == k].mean()), float(hit[of == k].mean()), int((of == k).sum()))
            for k in range(n_bins)
            if (of == k).any()
        ]


def calibration_error(bins: Sequence[tuple[float, float, int]]) -> float:
    """Expected calibration error: mean over tokens of ``|probability - share right|`` of their bin.

    Examples
    --------
    >>> round(calibration_error([(0.5, 0.25, 1), (0.9, 0.9, 3)]), 4)
    0.0625
    """
    total = sum(n for *_, n in bins)
    return sum(n * abs(p - share) for p, share, n in bins) / total if total else 0.0


def confidence_of(
    model: Any, X: EncodedInputs, true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]]
) -> Confidence:
    """Ask a fitted model for all probabilities that a report shows.

    Parameters
    ----------
    model : estimator with ``predict_marginals`` and ``log_proba``
    X : EncodedInputs
        What ``model.encode`` returned.
    true, predicted : list of list of labels
    """
    place = {label: k for k, label in enumerate(model.codec_.classes_)}
    unknown = [not place.keys() >= set(labels) for labels in true]
    # Sentences with unknown labels get a stand-in, so that the others can be asked for together.
    askable = [given if strange else labels for strange, labels, given in zip(unknown, true, predicted)]
    log_predicted, log_true = np.empty(len(X)), np.empty(len(X))
    p_predicted, p_true = [], []
    for start in range(0, len(X), SENTENCES_A_BLOCK):
        block = slice(start, start + SENTENCES_A_BLOCK)
        log_predicted[block] = model.log_proba(X[block], predicted[block])
        log_true[block] = model.log_proba(X[block], askable[block])
        for marginals, given, labels in zip(model.predict_marginals(X[block]), predicted[block], true[block]):
            p_predicted.append(_picked(marginals, given, place))
            p_true.append(_picked(marginals, labels, place))
    log_true[unknown] = -np.inf
    return Confidence(p_predicted, p_true, log_predicted, log_true, isinstance(model, CRF))


def _picked(marginals: np.ndarray, labels: Sequence[Any], place: dict[str, Any]) -> np.ndarray:
    """Probability of one label at each position; 0 for labels without a place."""
    padded = np.column_stack([marginals, np.zeros(len(marginals))])
    return padded[np.arange(len(marginals)), [place.get(label, -1) for label in labels]]
