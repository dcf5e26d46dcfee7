"""Perceptron loss: the hinge without a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.surrogates.base import Evaluation, Rivals


@dataclass(frozen=True)
class PerceptronLoss:
    """``max_y f(y) - f(true)``; zero where the prediction is right."""

    smooth = False
    convex = True
    compiled_as = "perceptron"
    needs = ("best", "score", "count")

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        return self.rivals(structure, theta, true).evaluation(structure, theta, true, weight, into)

    def rivals(self, structure: Structure, theta: Any, true: Any) -> Rivals:
        """The best outputs."""
        rival, value = structure.best(theta)
        return Rivals(rival, value - structure.score(theta, true), np.ones(len(value)))
