"""The score difference between an annotation and the best equivalent output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.surrogates.base import Evaluation, Rivals
from palmette.surrogates.hinge import difference
from palmette.surrogates.perceptron import PerceptronLoss


@dataclass(frozen=True)
class TieLoss:
    """``max f(y'') - f(true)`` over the outputs y'' that no loss can tell from the true one.

    The hinge minus it is ``min over y'' of max_y [f(y) + D(y'', y)] - f(y'')``: whichever of the equally good outputs
    the model prefers counts as the truth. The structure finds it (``best_equivalent``).
    """

    smooth = False
    convex = True
    needs = ("best_equivalent", "score", "count")

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        return self.rivals(structure, theta, true).evaluation(structure, theta, true, weight, into)

    def rivals(self, structure: Structure, theta: Any, true: Any) -> Rivals:
        """The best of the outputs that are as good as the true one."""
        rival, value = structure.best_equivalent(theta, true)
        return Rivals(rival, value - structure.score(theta, true), np.ones(len(value)))


@dataclass(frozen=True)
class TiedPerceptronLoss(PerceptronLoss):
    """``max_y f(y) - max f(y'')`` over the outputs y'' as good as the true one; zero where one of them is the best.

    The perceptron then learns nothing from outputs that no loss can tell from the truth. It is not convex.
    """

    convex = False
    needs = ("best", "best_equivalent", "score", "count")  # type: ignore[assignment]

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a generalised gradient of every sample."""
        rival, value = structure.best(theta)
        closest = structure.best_equivalent(theta, true).codes
        return difference(structure, theta, closest, rival, value, weight, into)
