"""Real-valued features of the positions around each position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class Neighbours(BaseEstimator):
    """Puts the features of the neighbours beside those of a position.

    Where there is no neighbour, the first or the last position stands in for it.

    Parameters
    ----------
    reach : int, default=1
        How far neighbours are away at most: ``2 reach + 1`` times as many features.

    Examples
    --------
    >>> Neighbours().fit([]).transform([np.array([[1.0], [2.0], [3.0]])])
    [array([[1., 1., 2.],
           [1., 2., 3.],
           [2., 3., 3.]])]
    """

    def __init__(self, reach: int = 1) -> None:
        self.reach = reach

    def fit(self, X: Any, y: Any = None) -> Neighbours:
        """Nothing to learn."""
        return self

    def transform(self, X: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Tables with the further columns, from the earliest neighbour to the latest."""
        return [np.hstack(self._shifted(table)) for table in X]

    def _shifted(self, table: np.ndarray) -> list[np.ndarray]:
        places, last = np.arange(len(table)), len(table) - 1
        return [table[np.clip(places + by, 0, last)] for by in range(-self.reach, self.reach + 1)]
