"""Soft hinge: the structured hinge loss with its maximum smoothed by entropy."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.losses.base import BoundLoss
from palmette.surrogates.base import Evaluation


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

    Examples
    --------
    >>> from palmette.losses import resolve_loss
    >>> from palmette.structures import Multiclass
    >>> from palmette.structures.positions.tables import ChainTables
    >>> theta = ChainTables(np.array([[2.0, 0.0]]), np.empty((0, 2, 2)), np.array([0, 1]))
    >>> loss, true = resolve_loss("zero_one", Multiclass(), ("a", "b")), np.array([0], np.int32)
    >>> SoftHinge(loss, 0.2).evaluate(Multiclass(), theta, true, np.ones(1)).values.round(4)  # the hinge is 0
    array([0.0013])
    """

    task_loss: BoundLoss
    temperature: float

    smooth = True
    convex = True
    needs = ("expectation", "score", "count")

    def __post_init__(self) -> None:
        if not (isinstance(self.temperature, Real) and 0.0 < float(self.temperature) < np.inf):
            raise ValueError(f"temperature must be a finite number > 0, got {self.temperature!r}")
        if not hasattr(self.task_loss, "cost"):
            raise MissingCapability(
                "loss='soft_hinge' needs a task loss that is a sum over label parts, such as 'hamming': use that, or "
                "loss='hinge'"
            )

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        t = self.temperature
        cost = self.task_loss.cost(theta, true)  # type: ignore[attr-defined]
        log_z, counts = structure.expectation(divided(theta, t), cost=divided(cost, t), weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(t * log_z - structure.score(theta, true), counts)


def divided(tables: Any, t: float) -> Any:
    """Tables with all numbers divided by t, whatever parts a structure has; integers are places, not scores."""
    changed: dict[str, Any] = {}
    for name in (own.name for own in fields(tables)):
        value = getattr(tables, name)
        if _holds_scores(value):
            changed[name] = value / t
        elif isinstance(value, tuple) and any(map(_holds_scores, value)):
            changed[name] = tuple(each / t for each in value)
    return replace(tables, **changed)


def _holds_scores(value: Any) -> bool:
    return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.floating)
