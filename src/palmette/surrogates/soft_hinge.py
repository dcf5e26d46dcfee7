"""Soft hinge: the structured hinge loss with its maximum smoothed by entropy."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.errors import InfeasibleError, MissingCapability
from palmette.losses.base import BoundLoss
from palmette.surrogates.base import Evaluation, by_scores

EPSILON = 1e-16  # probability that a sample without other outputs leaves to them


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

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        if self.task_loss.way == "contradiction":
            return self._of_zero_one(structure, theta, true, weight)
        t = self.temperature
        cost = self.task_loss.cost(theta, true)  # type: ignore[attr-defined]
        log_z, counts = structure.expectation(divided(theta, t), cost=divided(cost, t), weight=weight)
        counts = structure.count(theta, true, weight=-weight, into=counts)
        return Evaluation(t * log_z - structure.score(theta, true), counts)

    def _of_zero_one(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """The 0/1 loss: outputs that agree with the truth, and the others, whose sum is larger by ``e^(1/t)``."""
        t = self.temperature
        cold = divided(theta, t)
        agrees, others = structure.agreeing(theta, true), structure.contradicting(theta, true)
        log_z = structure.log_partition(cold, within=agrees)
        try:
            rest = structure.log_partition(cold, within=others) + 1.0 / t
        except InfeasibleError:
            # Some sample has no other output: what all outputs have beyond the agreeing ones.
            whole = structure.log_partition(cold)
            rest = whole + np.log(-np.expm1(np.minimum(log_z - whole, -EPSILON))) + 1.0 / t
            others = None
        total = np.logaddexp(log_z, rest)
        share = np.exp(rest - total)
        less = 1.0 - share
        if others is None:  # the agreeing ones are among the outputs summed over
            share = np.exp(whole + 1.0 / t - total)
            less = less - (share - np.exp(rest - total))
        counts = structure.expectation(cold, within=agrees, weight=weight * less).counts
        more = structure.expectation(cold, within=others, weight=weight * share).counts
        counts = structure.count(theta, true, weight=-weight, into=by_scores(np.add, counts, more))
        return Evaluation(t * total - structure.score(theta, true), counts)


def divided(tables: Any, t: float) -> Any:
    """Tables with all numbers divided by t, whatever parts a structure has; whole numbers are places, not scores."""
    return by_scores(lambda scores: scores / t, tables)
