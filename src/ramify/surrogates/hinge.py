"""Structured hinge loss with margin rescaling: the loss of max-margin Markov networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ramify.losses.base import BoundLoss
from ramify.surrogates.base import Evaluation


@dataclass(frozen=True)
class Hinge:
    """``max_y [f(y) + D(true, y)] - f(true)``; an upper bound on the task loss of the prediction.

    Where a structure cannot maximise exactly but has a relaxation (``relaxes``, ``relaxed_best``), the maximum is that
    of the relaxation: still convex, and never below.
    """

    task_loss: BoundLoss

    smooth = False
    needs = ("best", "score", "count")

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and a subgradient of every sample."""
        if self.task_loss.way == "parts" and hasattr(structure, "relaxes") and structure.relaxes(theta):
            cost = self.task_loss.cost(theta, true)  # type: ignore[attr-defined]
            value, counts = structure.relaxed_best(theta, cost=cost, weight=weight)
            counts = structure.count(theta, true, weight=-weight, into=counts)
            return Evaluation(value - structure.score(theta, true), counts)
        rival, value = self.task_loss.augmented_best(structure, theta, true)
        return difference(structure, theta, true, rival, value, weight)


def difference(structure, theta, true, rival, value, weight) -> Evaluation:
    """``value - f(true)`` and the counts of the rival minus those of the truth."""
    counts = structure.count(theta, rival, weight=weight)
    counts = structure.count(theta, true, weight=-weight, into=counts)
    return Evaluation(value - structure.score(theta, true), counts)
