"""Soft hinge: the structured hinge loss with its maximum rounded off by entropy."""

from __future__ import annotations

from collections.abc import Callable
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
        A sum of costs of label parts, such as the Hamming loss, or the 0/1 loss.
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
        if self.task_loss.way not in ("parts", "contradiction"):
            raise MissingCapability(
                "loss='soft_hinge' needs a task loss that is a sum over label parts, such as 'hamming', or 'zero_one': "
                "the sum over outputs weighted by another loss is not known. Use one of these, or loss='hinge'"
            )

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        if self.task_loss.way == "contradiction":
            return self._of_zero_one(structure, theta, true, weight)
        t = self.temperature
        cost = self.task_loss.cost(theta, true)  # type: ignore[attr-defined]
        log_z, counts = structure.expectation(divided(theta, t), cost=divided(cost, t), weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(t * log_z - structure.score(theta, true), counts)

    def _of_zero_one(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """The 0/1 loss: with the probability p of agreeing outputs at temperature t the sum is ``Z e^(1/t) rest``.

        ``rest = 1 - (1 - e^(-1/t)) p`` takes from the agreeing outputs what only the others are to have.
        """
        t = self.temperature
        cold = divided(theta, t)
        agrees = structure.agreeing(theta, true)
        log_z = structure.log_partition(cold)
        p = np.exp(np.minimum(structure.log_partition(cold, within=agrees) - log_z, 0.0))
        share = -np.expm1(-1.0 / t) * p
        rest = 1.0 - share
        counts = structure.expectation(cold, weight=weight / rest).counts
        less = structure.expectation(cold, within=agrees, weight=weight * share / rest).counts
        counts = structure.count(theta, true, weight=-weight, into=minus(counts, less))
        return Evaluation(1.0 + t * (log_z + np.log(rest)) - structure.score(theta, true), counts)


def divided(tables: Any, t: float) -> Any:
    """Tables with all numbers divided by t, whatever parts a structure has; whole numbers are places, not scores."""
    return _by_scores(lambda scores: scores / t, tables)


def minus(tables: Any, other: Any) -> Any:
    """The difference of two tables of the same shapes."""
    return _by_scores(np.subtract, tables, other)


def _by_scores(function: Callable[..., np.ndarray], *tables: Any) -> Any:
    """A function of the arrays of scores of tables, one after the other."""
    changed: dict[str, Any] = {}
    for name in (own.name for own in fields(tables[0])):
        values = [getattr(each, name) for each in tables]
        if _holds_scores(values[0]):
            changed[name] = function(*values)
        elif isinstance(values[0], tuple) and any(map(_holds_scores, values[0])):
            changed[name] = tuple(map(function, *values))
    return replace(tables[0], **changed)


def _holds_scores(value: Any) -> bool:
    return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.floating)
