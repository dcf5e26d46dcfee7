"""Given rankings: whether they are rankings, their scores and counts. ``ranks[d]`` is the place of row d, from 0."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def first_flaw(ranks, offsets):
    """The first row whose rank is out of range or taken by an earlier row of its sample; -1 if there is none."""
    # A permutation of 0..n - 1 has every rank once: O(n) per sample, one flag per rank.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        taken = np.zeros(hi - lo, np.bool_)
        for d in range(lo, hi):
            if ranks[d] < 0 or ranks[d] >= hi - lo or taken[ranks[d]]:
                return d
            taken[ranks[d]] = True
    return -1


@kernel()
def ranking_scores(node, position, offsets, ranks, out):
    """``sum_d node[d] position[rank of d]`` of every sample."""
    # f = sum_d node[d] position[rank of d]; rows in order. O(rows).
    for s in range(len(offsets) - 1):
        total = 0.0
        for d in range(offsets[s], offsets[s + 1]):
            total += node[d] * position[ranks[d]]
        out[s] = total


@kernel()
def add_ranking_counts(position, offsets, ranks, weight, out):
    """Add ``weight`` times the position weight of each row's rank."""
    # The adjoint of ``ranking_scores``: the count of row d is position[rank of d].
    for s in range(len(offsets) - 1):
        for d in range(offsets[s], offsets[s + 1]):
            out[d] += weight[s] * position[ranks[d]]
