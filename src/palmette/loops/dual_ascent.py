"""What dual ascent asks of the loop that keeps its variables. There is no generic one: marginals belong to a layout."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from palmette.contracts.problem import SampledProblem


class DualVariables(Protocol):
    """Marginals of every sample, the weights they imply, and bounds on their entropies.

    Attributes
    ----------
    weight, gap : ndarray of shape (n_samples,)
        Weights of the samples, and what each block lacked when it was last visited (inf before).
    """

    weight: np.ndarray
    gap: np.ndarray

    def __init__(self, problem: SampledProblem, dtype: Any) -> None:
        """The variables of a problem at ``w = 0``, in this precision."""

    def copy(self) -> Self:
        """An independent copy."""

    def start_from(self, w: np.ndarray) -> None:
        """Move towards the marginals under ``w``, as far as the dual value grows."""

    def visit(self, order: np.ndarray) -> int:
        """An ascent step on each sample of ``order``; returns how many were out of range and left as they are."""

    def weights(self) -> np.ndarray:
        """The present weights."""

    def estimate(self) -> float:
        """The dual value up to rounding."""

    def refresh(self, keep: bool = True) -> tuple[np.ndarray, float]:
        """Weights and dual value computed from the variables alone; ``keep`` stores the weights."""
