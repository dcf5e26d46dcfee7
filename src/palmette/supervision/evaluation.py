"""How good the model is, by answers that were drawn at random and never trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm


class Evaluation(NamedTuple):
    """A score with its interval.

    Attributes
    ----------
    score, low, high : float
        What ``model.score`` returns on the answers, and the ends of its interval.
    level : float
        The share of such intervals that contain the score on all inputs.
    n_samples : int
        Samples that the score is over.
    weight : float
        What they could reach: the number of answered parts, of rankings the number of queries.
    """

    score: float
    low: float
    high: float
    level: float
    n_samples: int
    weight: float


def evaluate(model: Any, X: Any, y: Any, level: float) -> Evaluation:
    """The score of a model on samples, with a Wilson interval.

    With what sample i reaches, ``r_i``, of what it could, ``t_i``, the score is ``p = sum r / sum t``. Parts of a sample
    depend on each other, so that the interval is for ``n = p (1 - p) / v`` independent parts, where
    ``v = m / (m - 1) sum (r_i - p t_i)^2 / (sum t)^2`` is the variance of the ratio over m samples; n = m if v = 0.
    """
    right, total = model.structure.measure(model, X, y)
    weight, n_samples = float(total.sum()), len(total)
    score = float(right.sum() / weight)
    spread = n_samples / max(n_samples - 1, 1) * float(((right - score * total) ** 2).sum()) / weight**2
    n = min(score * (1 - score) / spread, weight) if spread > 0 and 0 < score < 1 else n_samples
    low, high = wilson(score, n, level)
    return Evaluation(score, low, high, level, n_samples, weight)


def wilson(score: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share of n independent trials.

    >>> [round(end, 3) for end in wilson(0.9, 100, 0.95)]
    [0.826, 0.945]
    """
    z = float(norm.ppf(0.5 + level / 2))
    centre = (score + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(score * (1 - score) / n + z * z / (4 * n * n)))
    return max(centre - half, 0.0), min(centre + half, 1.0)
