"""Rankings found by sorting."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

RUN = 8  # as many neighbours are sorted by insertion before runs are merged


@kernel()
def falling_order(values):
    """Positions by falling values, earlier ones first among equals."""
    n = len(values)
    order, other = np.arange(n), np.empty(n, np.int64)
    # Stable merge sort from the bottom up: runs of RUN by insertion, then runs of ``width`` are merged pairwise, equal
    # values from the left run first. O(n log n), 2 n integers.
    for start in range(0, n, RUN):
        for i in range(start + 1, min(start + RUN, n)):
            own, j = order[i], i
            while j > start and values[order[j - 1]] < values[own]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = own
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, stop):
                if i < middle and (j == stop or values[order[i]] >= values[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@kernel()
def sort_rows(keys, scores, position, ranks):
    """Ranks of one sample by falling ``keys``.

    Equal keys and ranks of equal weight leave a choice: there documents of higher score stand first, then earlier ones.
    """
    n = len(keys)
    by_score = falling_order(scores)
    order = by_score.copy()
    for r in range(1, n):
        if keys[order[r]] > keys[order[r - 1]]:
            order = by_score[falling_order(keys[by_score])]
            break
    place = np.empty(n, np.int64)  # of each document in the order of scores
    for r in range(n):
        place[by_score[r]] = r
    # Within ranks of equal weight the order of scores is restored; it does not change the value.
    for r in range(1, n):  # insertion, among ranks of equal weight
        own, i = order[r], r
        while i > 0 and position[i - 1] == position[r] and place[order[i - 1]] > place[own]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = own
    for r in range(n):
        ranks[order[r]] = r


@kernel()
def sort_samples(keys, scores, position, offsets, ranks):
    """:func:`sort_rows` for every sample."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        sort_rows(keys[lo:hi], scores[lo:hi], position, ranks[lo:hi])
