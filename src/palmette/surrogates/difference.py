"""Differences of two convex losses: tighter than either, and not convex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.surrogates.base import Evaluation


@dataclass(frozen=True)
class Difference:
    """``L = A - B``, both parts convex upper bounds of 0 (Do, Le, Teo, Chapelle and Smola, NIPS 2008).

    With ``A = max_y [f(y) + D] - f(true)`` and ``B = max_y f(y) - f(true)`` this is the ramp loss, for which
    ``D(true, augmented best) >= L >= D(true, best)``: it cannot grow with the scores, so that an output which the model
    cannot get right stops to matter.

    :class:`~palmette.solvers.CCCP` minimises it by convex problems; :meth:`evaluate` gives a value and the difference
    of two subgradients, for direct descent.

    Parameters
    ----------
    convex_part, concave_part : surrogates
        A and B. B is linear in the scores but for its maximum, so that ``B(w) = <gradient, w>``.

    Examples
    --------
    >>> from palmette.losses import Hamming
    >>> from palmette.structures import Multiclass
    >>> from palmette.structures.positions.tables import ChainTables
    >>> from palmette.surrogates import Hinge, PerceptronLoss
    >>> loss = Hamming().bind(Multiclass(), ("a", "b"))
    >>> theta = ChainTables(np.array([[9.0, 0.0], [0.3, 0.0]]), np.empty((0, 2, 2)), np.arange(3))
    >>> true, weight = np.array([1, 0], np.int32), np.ones(2)
    >>> Hinge(loss).evaluate(Multiclass(), theta, true, weight).values  # grows with the scores
    array([10. ,  0.7])
    >>> Difference(Hinge(loss), PerceptronLoss()).evaluate(Multiclass(), theta, true, weight).values
    array([1. , 0.7])
    """

    convex_part: Any
    concave_part: Any

    convex = False
    smooth = False
    compiled_as = "difference"

    @property
    def task_loss(self) -> Any:
        """The loss that is bounded."""
        return self.convex_part.task_loss

    @property
    def needs(self) -> tuple[str, ...]:
        """What both parts need of a structure."""
        return tuple(dict.fromkeys((*self.convex_part.needs, *self.concave_part.needs)))

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values of every sample, and the difference of subgradients of both parts.

        The slack is that of the convex part: what is missed of the concave part makes values too high, never too low.
        """
        convex = self.convex_part.evaluate(structure, theta, true, weight)
        less = self.concave_part.evaluate(structure, theta, true, -weight, into=convex.counts)
        return Evaluation(convex.values - less.values, less.counts, convex.slack)
