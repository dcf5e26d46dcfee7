"""A convex problem with a linear term taken off: what each round of the concave-convex procedure minimises."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.objectives.problem import bounded_loss, refine


class Shifted:
    """``loss(w) - <slope, w>`` with the penalty of another problem.

    Parameters
    ----------
    problem : Risk
        With a convex surrogate.
    slope : ndarray of shape (n_params,)
        A subgradient of the concave part, such that the difference is not negative.
    """

    decomposition = None

    def __init__(self, problem: Any, slope: np.ndarray) -> None:
        self.problem, self.slope = problem, slope
        self.regularizer, self.smooth, self.convex = problem.regularizer, problem.smooth, True
        self.n_params, self.n_samples = problem.n_params, problem.n_samples

    @property
    def surrogate(self) -> Any:
        """The convex surrogate, by which messages name the problem."""
        return self.problem.surrogate

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and (sub)gradient of the data term at ``w``."""
        return self.bounded_loss(w)[:2]

    def bounded_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        """What was found of the value, with its (sub)gradient, and what may be missing."""
        value, gradient, slack = bounded_loss(self.problem, w)
        gradient -= self.slope
        return value - float(self.slope @ w), gradient, slack

    def refine(self) -> bool:
        """Find maxima to a higher accuracy from now on; False if that is not possible."""
        return refine(self.problem)
