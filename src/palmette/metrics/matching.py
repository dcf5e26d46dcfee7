"""Spans that two segmentations of the same text have in common."""

from __future__ import annotations

import numpy as np


def matching(
    starts: np.ndarray, stops: np.ndarray, other_starts: np.ndarray, other_stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the spans that are in both lists, of which neither overlaps itself.

    Examples
    --------
    >>> matching(np.array([0, 2]), np.array([2, 3]), np.array([0, 1, 2]), np.array([1, 2, 3]))
    (array([1]), array([2]))
    """
    _, mine, theirs = np.intersect1d(starts, other_starts, assume_unique=True, return_indices=True)
    same = stops[mine] == other_stops[theirs]
    return mine[same], theirs[same]
