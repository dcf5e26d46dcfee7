"""The algebra of surrogates."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np


class Evaluation(NamedTuple):
    """A surrogate on a batch: unweighted value of each sample, weighted gradient in theta's shape.

    Where maxima are not found for certain, ``values`` are those of what was found, so that cuts stay below the loss,
    and the loss of each sample is at most ``values + slack``.
    """

    values: np.ndarray
    counts: Any
    slack: Any = 0.0  # one number per sample, or 0 for all


class Surrogate(Protocol):
    """An upper bound (or stand-in) for the task loss, non-negative by construction."""

    smooth: bool
    convex: bool
    needs: tuple[str, ...]

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient at ``theta`` for the true outputs ``true``."""
