"""The algebra of surrogates."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np


class Evaluation(NamedTuple):
    """A surrogate on a batch: unweighted value of each sample, weighted gradient in theta's shape."""

    values: np.ndarray
    counts: Any


class Surrogate(Protocol):
    """An upper bound (or stand-in) for the task loss, non-negative by construction."""

    smooth: bool
    convex: bool
    needs: tuple[str, ...]

    def evaluate(self, structure: Any, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient at ``theta`` for the true outputs ``true``."""
