"""The ramp loss of a task loss, under any rescaling."""

from __future__ import annotations

from typing import Any

from palmette.losses.base import BoundLoss
from palmette.losses.rescaling import resolve_rescaling
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.perceptron import PerceptronLoss
from palmette.surrogates.rescaled import RescaledHinge, RescaledPerceptron


def ramp_loss(task_loss: BoundLoss, rescaling: Any = "margin") -> Difference:
    """``max_y [G(D) s(y) + D] - max_y G(D) s(y)`` with ``s(y) = f(y) - f(true)``; its first part is the convex bound.

    Parameters
    ----------
    task_loss : BoundLoss
    rescaling : {"margin", "slack"}, function of the loss or Rescaling
        ``G``. With margin rescaling it is 1, and the score of the truth cancels out.

    Examples
    --------
    >>> from palmette.losses import Hamming
    >>> from palmette.structures import Chain
    >>> loss = Hamming().bind(Chain(), ("a", "b"))
    >>> [type(part).__name__ for part in (ramp_loss(loss).convex_part, ramp_loss(loss, "slack").convex_part)]
    ['Hinge', 'RescaledHinge']
    """
    rescaling = resolve_rescaling(rescaling)
    if rescaling.is_margin:
        return Difference(Hinge(task_loss), PerceptronLoss())
    return Difference(RescaledHinge(task_loss, rescaling), RescaledPerceptron(task_loss, rescaling))
