"""Tables of segments: whole scores from their parts, and what segments say about single rows.

``segment[t, d, k]`` belongs to the segment of rows ``t .. t + d`` (``d + 1`` of them) with label k.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, SUMS, kernel


@kernel()
def whole_scores(node, segment, longest, offsets, whole):
    """``whole[t, d, k]`` = own potential plus the nodes of its rows; -inf beyond the sample or the longest allowed.

    Nodes are added up afresh for every start: differences of running sums would lose digits, and forbidden (-inf)
    nodes altogether.
    """
    n_lengths, n_labels = segment.shape[1], segment.shape[2]
    inside = np.empty(n_labels)
    # inside[k] = sum of node[t..t + d, k], extended row by row from each start t. O(rows D K), O(K) allocated.
    for s in range(len(offsets) - 1):
        hi = offsets[s + 1]
        for t in range(offsets[s], hi):
            inside[:] = 0.0
            for d in range(n_lengths):
                for k in range(n_labels):
                    if t + d < hi and d < longest[k]:
                        inside[k] += node[t + d, k]
                        whole[t, d, k] = inside[k] + segment[t, d, k]
                    else:
                        whole[t, d, k] = -np.inf


@kernel(fastmath=SUMS)
def sum_over_rows(segment, offsets, node):
    """Adjoint of the sums in ``whole_scores``: ``node[u, k]`` = sum over the segments that cover row u."""
    n_lengths, n_labels = segment.shape[1], segment.shape[2]
    rest = np.empty(n_labels)
    node[:] = 0.0
    # From the longest segment of start t down: rest[k] = sum over those that reach row t + d. O(rows D K).
    for s in range(len(offsets) - 1):
        hi = offsets[s + 1]
        for t in range(offsets[s], hi):
            rest[:] = 0.0
            for d in range(min(n_lengths, hi - t) - 1, -1, -1):
                for k in range(n_labels):
                    rest[k] += segment[t, d, k]  # all that reach row t + d from t
                    node[t + d, k] += rest[k]


@kernel(fastmath=MAXIMA)
def best_over_rows(segment, offsets, node):
    """``node[u, k]`` = best of the segments that cover row u."""
    n_lengths, n_labels = segment.shape[1], segment.shape[2]
    rest = np.empty(n_labels)
    node[:] = -np.inf
    # As ``sum_over_rows`` with maxima: rest[k] = best of the segments from t that reach row t + d. O(rows D K).
    for s in range(len(offsets) - 1):
        hi = offsets[s + 1]
        for t in range(offsets[s], hi):
            rest[:] = -np.inf
            for d in range(min(n_lengths, hi - t) - 1, -1, -1):
                for k in range(n_labels):
                    rest[k] = max(rest[k], segment[t, d, k])
                    node[t + d, k] = max(node[t + d, k], rest[k])


@kernel(fastmath=SUMS)
def add_boundaries(begin, end, length, offsets, segment):
    """Add ``begin[t, k] + length[d, k] + end[t + d, k]`` to every segment that lies inside its sample."""
    n_lengths, n_labels = segment.shape[1], segment.shape[2]
    # The segment of rows t..t + d has begin[t], end[t + d] and length[d]; those beyond the sample are not touched.
    for s in range(len(offsets) - 1):
        hi = offsets[s + 1]
        for t in range(offsets[s], hi):
            for d in range(min(n_lengths, hi - t)):
                for k in range(n_labels):
                    segment[t, d, k] += begin[t, k] + length[d, k] + end[t + d, k]


@kernel(fastmath=SUMS)
def gather_boundaries(segment, offsets, begin, end, length):
    """Adjoint of ``add_boundaries``: sums over the segments with each first row, each last row, and each length."""
    n_lengths, n_labels = segment.shape[1], segment.shape[2]
    begin[:] = 0.0
    end[:] = 0.0
    length[:] = 0.0
    for s in range(len(offsets) - 1):
        hi = offsets[s + 1]
        for t in range(offsets[s], hi):
            for d in range(min(n_lengths, hi - t)):
                for k in range(n_labels):
                    count = segment[t, d, k]
                    begin[t, k] += count
                    end[t + d, k] += count
                    length[d, k] += count
