"""What a problem asks of a compiled loop over all its samples; the generic one is ``Risk`` itself."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class BatchLoss(Protocol):
    """A loop of the table for ``sum_i weight_i loss_i(w)``, in shards on the executor of the problem."""

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``w``."""

    def value(self, w: np.ndarray) -> float:
        """The value alone, where that is cheaper."""
