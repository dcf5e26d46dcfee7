"""Rankings found by sorting."""

from __future__ import annotations

import numpy as np

from ramify._kernels.jit import kernel


@kernel()
def sort_rows(keys, scores, position, ranks):
    """Ranks of one sample by falling ``keys``.

    Equal keys and ranks of equal weight leave a choice: there documents of higher score stand first, then earlier ones.
    """
    n = len(keys)
    by_score = np.argsort(-scores, kind="mergesort")
    order = by_score.copy()
    for r in range(1, n):
        if keys[order[r]] > keys[order[r - 1]]:
            order = by_score[np.argsort(-keys[by_score], kind="mergesort")]
            break
    place = np.empty(n, np.int64)  # of each document in the order of scores
    for r in range(n):
        place[by_score[r]] = r
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and position[stop] == position[start]:
            stop += 1
        if stop - start > 1:
            inside = order[start:stop].copy()
            order[start:stop] = inside[np.argsort(place[inside])]
        start = stop
    for r in range(n):
        ranks[order[r]] = r


@kernel()
def sort_samples(keys, scores, position, offsets, ranks):
    """:func:`sort_rows` for every sample."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        sort_rows(keys[lo:hi], scores[lo:hi], position, ranks[lo:hi])
