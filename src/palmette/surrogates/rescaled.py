"""Rescaled bounds of the task loss: slack rescaling and its generalisations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.losses.base import BoundLoss
from palmette.losses.rescaling import check_rescaling, rescaled_best, resolve_rescaling
from palmette.surrogates.base import Evaluation, Rivals


@dataclass(frozen=True)
class _Rescaled:
    task_loss: BoundLoss
    rescaling: Any = "slack"

    smooth = False
    convex = True
    needs = ("best", "score", "count")
    margin = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rescaling", resolve_rescaling(self.rescaling))
        check_rescaling(self.task_loss, self.rescaling)

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample; weighted counts are added to ``into`` if given."""
        rivals, slack = self._search(structure, theta, true)
        return rivals.evaluation(structure, theta, true, weight, into, slack)

    def rivals(self, structure: Structure, theta: Any, true: Any) -> Rivals:
        """The outputs found."""
        return self._search(structure, theta, true)[0]

    def _search(self, structure: Structure, theta: Any, true: Any) -> tuple[Rivals, np.ndarray]:
        found = rescaled_best(self.task_loss, structure, theta, true, self.rescaling, margin=self.margin)
        rivals = Rivals(found.codes, found.values, self.rescaling.gamma(found.losses))
        return rivals, found.upper - found.values


@dataclass(frozen=True)
class RescaledHinge(_Rescaled):
    """``max_y G(D) (f(y) - f(true)) + D`` with ``D = D(true, y)``: a convex upper bound on the loss of the prediction.

    Parameters
    ----------
    task_loss : BoundLoss
    rescaling : {"slack", "margin"}, function of the loss or Rescaling
        ``G``: the loss itself, 1 (then this is the structured hinge loss), or any non-decreasing function.

    Notes
    -----
    The maximum is searched as :mod:`palmette.losses.rescaling` says. Where the best output is not found for certain,
    the values are those of a good one, so cuts stay below the loss, and ``slack`` is what it may be above them.

    Examples
    --------
    >>> from palmette.losses import Hamming
    >>> from palmette.structures import Multiclass
    >>> from palmette.structures.positions.tables import ChainTables
    >>> loss = Hamming({("a", "b"): 3.0}).bind(Multiclass(), ("a", "b"))
    >>> theta = ChainTables(np.array([[0.5, 0.0]]), np.empty((0, 2, 2)), np.array([0, 1]))
    >>> true, weight = np.array([0], np.int32), np.ones(1)
    >>> RescaledHinge(loss, "slack").evaluate(Multiclass(), theta, true, weight).values  # 3 * (1 - 0.5)
    array([1.5])
    >>> RescaledHinge(loss, "margin").evaluate(Multiclass(), theta, true, weight).values  # 3 - 0.5
    array([2.5])
    """

    margin = True


@dataclass(frozen=True)
class RescaledPerceptron(_Rescaled):
    """``max_y G(D) (f(y) - f(true))``: zero where the truth scores best; the second term of the ramp loss.

    Parameters
    ----------
    task_loss : BoundLoss
    rescaling : {"slack", "margin"}, function of the loss or Rescaling

    Examples
    --------
    >>> from palmette.losses import Hamming
    >>> from palmette.structures import Multiclass
    >>> from palmette.structures.positions.tables import ChainTables
    >>> loss = Hamming({("a", "b"): 3.0}).bind(Multiclass(), ("a", "b"))
    >>> theta = ChainTables(np.array([[0.0, 0.5]]), np.empty((0, 2, 2)), np.array([0, 1]))
    >>> RescaledPerceptron(loss, "slack").evaluate(Multiclass(), theta, np.array([0], np.int32), np.ones(1)).values
    array([1.5])
    """

    margin = False
