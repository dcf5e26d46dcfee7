"""Perceptron loss: the hinge without a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.surrogates.base import Evaluation
from palmette.surrogates.hinge import difference


@dataclass(frozen=True)
class PerceptronLoss:
    """``max_y f(y) - f(true)``; zero where the prediction is right."""

    smooth = False
    convex = True
    compiled_as = "perceptron"
    needs = ("best", "score", "count")

    def evaluate(
        self, structure: Any, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        rival, value = structure.best(theta)
        return difference(structure, theta, true, rival, value, weight, into)
