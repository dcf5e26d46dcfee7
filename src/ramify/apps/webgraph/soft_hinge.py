"""Soft hinge: the structured hinge loss with its maximum rounded off by entropy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ramify.estimators.ssvm import SSVM
from ramify.losses.base import BoundLoss, resolve_loss
from ramify.surrogates.base import Evaluation


@dataclass(frozen=True)
class SoftHinge:
    """``t log sum_y exp [(f(y) + D(true, y)) / t] - f(true)`` with a temperature t.

    Smooth, never below the hinge loss, and above it by at most t times the logarithm of the number of outputs. With
    approximate sums the same holds for relaxations: a convex free energy in place of ``log sum exp`` is never below the
    maximum over locally consistent marginals, and tends to it as t falls. With t = 1 and no ``D`` it is the log loss.

    Parameters
    ----------
    task_loss : BoundLoss
        A sum of costs of label parts, such as the Hamming loss.
    temperature : float
        Above 0.
    """

    task_loss: BoundLoss
    temperature: float

    smooth = True
    needs = ("expectation", "score", "count")

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        t = self.temperature
        cost = self.task_loss.cost(theta, true)  # type: ignore[attr-defined]
        log_z, counts = structure.expectation(divided(theta, t), cost=divided(cost, t), weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(t * log_z - structure.score(theta, true), counts)


def divided(tables: Any, t: float) -> Any:
    """Tables with all numbers divided by t."""
    changed: dict[str, Any] = {"node": tables.node / t, "edge": tables.edge / t}
    if getattr(tables, "triple", None) is not None:
        changed["triple"] = tables.triple / t
    if getattr(tables, "factors", ()):
        changed["factors"] = tuple(values / t for values in tables.factors)
    return replace(tables, **changed)


class SoftSSVM(SSVM):
    """An SSVM with the soft hinge, by L-BFGS.

    For few samples that are large graphs with cycles: the bundle method would solve their linear programs hundreds of
    times, while sums at a temperature need a few sweeps from the messages of the last step.
    """

    temperature = 0.2

    def _surrogate(self, classes: tuple) -> Any:
        return SoftHinge(resolve_loss(self.task_loss, self.structure, classes), self.temperature)

    def _solver_name(self, problem: Any) -> Any:
        return "lbfgs" if isinstance(self.solver, str) and self.solver == "auto" else self.solver
