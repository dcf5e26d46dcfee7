"""How good the model is, by answers that were drawn at random and never trained on."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from palmette.supervision.units import Units


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


class Reserve:
    """Samples kept apart for evaluation, and their units in the order in which they are asked, both at random.

    Parameters
    ----------
    units : Units
    n_samples : int
    share : float
        Of the samples; at least one unless it is 0.
    seed : int

    Attributes
    ----------
    samples : ndarray of bool, shape (n_samples,)
        Which samples are kept apart.
    """

    def __init__(self, units: Units, n_samples: int, share: float, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        size = max(1, round(share * n_samples)) if share else 0
        self.samples = np.zeros(n_samples, bool)
        self.samples[rng.permutation(n_samples)[:size]] = True
        if self.samples.all():
            raise ValueError(
                f"evaluate_share={share!r} keeps all {n_samples} samples of the pool apart: give a larger pool, or a "
                "smaller share"
            )
        self._units = units
        self._order = rng.permutation(np.flatnonzero(self.samples[units.sample])).tolist()

    def next(self, n: int, free: np.ndarray) -> list[int]:
        """The first n units of the random order that have a free part."""
        return list(islice((unit for unit in self._order if free[self._units.parts(unit)].any()), max(n, 0)))


def evaluate(model: Any, X: Any, y: Any, level: float) -> Evaluation:
    """The score of a model on samples, with a Wilson interval.

    With what sample i reaches, ``r_i``, of what it could, ``t_i``, the score is ``p = sum r / sum t``. Parts of a
    sample depend on each other, so that the interval is for ``n = p (1 - p) / v`` independent parts, where
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
