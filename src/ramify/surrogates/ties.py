"""What an annotation loses to the best of the outputs that are as good as itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ramify.surrogates.base import Evaluation
from ramify.surrogates.hinge import difference


@dataclass(frozen=True)
class TieLoss:
    """``max f(y'') - f(true)`` over the outputs y'' that no loss can tell from the true one.

    The hinge minus it is ``min over y'' of max_y [f(y) + D(y'', y)] - f(y'')``: whichever of the equally good outputs
    the model prefers counts as the truth. The structure finds it (``best_equivalent``).
    """

    smooth = False
    convex = True
    needs = ("best_equivalent", "score", "count")

    def evaluate(
        self, structure: Any, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        rival, value = structure.best_equivalent(theta, true)
        return difference(structure, theta, true, rival, value, weight, into)
