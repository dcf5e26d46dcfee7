"""L2 and L1 penalties, one strength a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ElasticNet:
    """``R(w) = sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``; strengths differ by block (node, bias, edge).

    Parameters
    ----------
    l2, l1 : ndarray of shape (n_params,)

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(np.array([2.0, 2.0]), np.array([0.0, 1.0])).value(np.array([1.0, -1.0]))
    3.0
    """

    l2: np.ndarray
    l1: np.ndarray

    @property
    def has_l1(self) -> bool:
        """Whether any weight has an L1 penalty."""
        return bool(np.any(self.l1 > 0))

    @property
    def strongly_convex(self) -> bool:
        """Whether every weight has an L2 penalty."""
        return bool(np.all(self.l2 > 0))

    def l2_value(self, w: np.ndarray) -> float:
        """The L2 part of the penalty."""
        return float(0.5 * np.dot(self.l2 * w, w))

    def l1_value(self, w: np.ndarray) -> float:
        """The L1 part of the penalty."""
        return float(np.dot(self.l1, np.abs(w)))

    def value(self, w: np.ndarray) -> float:
        """``R(w)``."""
        return self.l2_value(w) + self.l1_value(w)

    def l2_gradient(self, w: np.ndarray) -> np.ndarray:
        """Gradient of the L2 part."""
        return self.l2 * w

    def dual_value(self, g: np.ndarray) -> float:
        """``-min_w [<g, w> + R(w)] = sum_j max(|g_j| - l1_j, 0)^2 / (2 l2_j)``; inf where nothing holds g_j back."""
        excess = np.maximum(np.abs(g) - self.l1, 0.0)
        free = self.l2 == 0
        if np.any(excess[free] > 0):
            return float("inf")
        return float(0.5 * np.sum(np.divide(excess**2, self.l2, out=np.zeros_like(excess), where=~free)))

    def min_norm_subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The shortest subgradient of ``loss + R`` at w, for the loss gradient g: zero at the optimum."""
        smooth = g + self.l2 * w
        at_zero = np.sign(smooth) * np.maximum(np.abs(smooth) - self.l1, 0.0)
        return np.where(w == 0, at_zero, smooth + self.l1 * np.sign(w))
