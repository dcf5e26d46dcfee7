"""Small queries: which rankings can be best at any level of a loss that knows documents by their grades only.

Such a loss sees which grade stands at which rank. Among the rankings that look alike to it, the one with the documents
of each grade in score order scores best, since the weights of ranks fall.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

MOST = 2000  # arrangements of a query that are listed


def candidates(score: np.ndarray, level: np.ndarray) -> np.ndarray | None:
    """Ranks of the documents, int32 (n_arrangements, n_documents), in score order within each level; None if too many.

    >>> candidates(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0])).tolist()  # the third document before the first
    [[1, 2, 0], [2, 1, 0], [2, 0, 1]]
    """
    counts = np.bincount(level)
    number = math.factorial(len(level))
    for count in counts.tolist():
        number //= math.factorial(count)
    if number > MOST:
        return None
    ranks = np.empty((number, len(level)), np.int32)
    ranks[:, np.lexsort((-score, level))] = arrangements(tuple(counts.tolist()))
    return ranks


@lru_cache(maxsize=256)
def arrangements(counts: tuple[int, ...]) -> np.ndarray:
    """For every order of the levels: the ranks of level 0 from the front, then those of level 1, ...

    >>> arrangements((1, 1)).tolist()
    [[0, 1], [1, 0]]
    """
    partial: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), counts)]
    for _ in range(sum(counts)):
        partial = [
            ((*levels, g), (*left[:g], left[g] - 1, *left[g + 1 :]))
            for levels, left in partial
            for g in range(len(counts))
            if left[g]
        ]
    return np.argsort(np.array([levels for levels, _ in partial]), axis=1, kind="stable")
