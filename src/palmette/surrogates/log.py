"""Log loss: the negative log-likelihood of a conditional random field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.surrogates.base import Evaluation


@dataclass(frozen=True)
class LogLoss:
    """``log sum_y exp f(y) - f(true)``; its gradient is expected minus true counts."""

    smooth = True
    convex = True
    compiled_as = "log"
    needs = ("expectation", "score", "count")

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        log_z, counts = structure.expectation(theta, weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(log_z - structure.score(theta, true), counts)
