"""Makers of columns that have nothing to learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np


class Stateless:
    """What a maker of columns that learns nothing shares with the others."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        return self

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Nothing to keep."""
        return {}, {}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """A new one."""
        return cls()
