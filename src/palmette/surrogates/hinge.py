"""Structured hinge loss with margin rescaling: the loss of max-margin Markov networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.losses.base import BoundLoss
from palmette.surrogates.base import Evaluation


@dataclass(frozen=True)
class Hinge:
    """``max_y [f(y) + D(true, y)] - f(true)``; an upper bound on the task loss of the prediction.

    Where a structure cannot maximise exactly but has a relaxation (``relaxes``, ``relaxed_best``), the maximum is that
    of the relaxation: still convex, and never below.
    """

    task_loss: BoundLoss

    smooth = False
    convex = True
    compiled_as = "hinge"
    needs = ("best", "score", "count")

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and a subgradient of every sample."""
        return self._evaluate(structure, theta, true, true, weight)

    def _evaluate(self, structure: Structure, theta: Any, known: Any, true: Any, weight: Any) -> Evaluation:
        """``max_y [f(y) + D(known, y)] - f(true)``."""
        if self.task_loss.way != "parts" or structure.exact:
            rival, value = self.task_loss.augmented_best(structure, theta, known)
            return difference(structure, theta, true, rival, value, weight)
        cost = self.task_loss.cost(theta, known)  # type: ignore[attr-defined]
        if not structure.relaxes(theta):
            rival, value, bound = structure.bounded_best(theta, cost=cost)
            found = difference(structure, theta, true, rival, value, weight)
            return found._replace(slack=np.maximum(bound - value, 0.0))
        value, counts, slack = structure.relaxed_best(theta, cost=cost, weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(value - structure.score(theta, true), counts, slack)


def difference(
    structure: Structure, theta: Any, true: Any, rival: Any, value: Any, weight: Any, into: Any = None
) -> Evaluation:
    """``value - f(true)`` and the counts of the rival minus those of the truth, added to ``into`` if given."""
    counts = structure.count(theta, rival, weight=weight, into=into)
    counts = structure.count(theta, true, weight=-weight, into=counts)
    return Evaluation(value - structure.score(theta, true), counts)
