"""The k best of several sorted lists."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def merge_lists(row, value, head, best_value, best_item, best_rank):
    """The best of ``row[j] + value[j, rank]`` over items and ranks, best first; -inf where none is left."""
    n_items, k = value.shape
    for j in range(n_items):
        head[j] = 0
    # k best of sorted lists: head[j] counts what is taken of list j. O(k items); ties go to the lowest item.
    for r in range(k):
        best, pick = -np.inf, -1
        for j in range(n_items):
            if head[j] < k:
                reach = row[j] + value[j, head[j]]
                if reach > best:
                    best, pick = reach, j
        best_value[r] = best
        if pick >= 0:
            best_item[r] = pick
            best_rank[r] = head[pick]
            head[pick] += 1
