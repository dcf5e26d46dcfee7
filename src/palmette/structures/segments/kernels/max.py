"""Maximisation over segmentations: best, k best, max-marginals.

``whole`` (rows, lengths, states) scores the segment of rows ``t .. t + d`` with a state, -inf where there is none.
``edge`` (tables, states, states) scores neighbouring segments: the sample in rows ``lo:hi`` reads table
``first + (t - 1) * step`` for the boundary before its row t (counted from lo).
Codes of an output: the state in the first row of a segment, ``n_states + state`` in the rows inside.

O(lengths x states + states^2) per row: ``value[t]`` holds what begins at row t, ``after[t]`` what
may follow a segment that ends just before it. Outputs are decided from the first row on, the lower state first, then
the shorter segment, so among equally good ones the lexicographically lowest wins.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.ragged import longest_sample


@kernel(fastmath=MAXIMA)
def best_suffixes(whole, edge, first, step, lo, hi, value, after, length):
    """``value[t, s]``: best score from row t on if a segment of state s begins there; ``length`` is its d.

    ``after[t, s]``: best score from row t on if a segment of state s has just ended.
    """
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    n = hi - lo
    for s in range(n_states):
        after[n, s] = 0.0
    # value[t, s] = max_d (whole[t, d, s] + after[t + d + 1, s]); after[t, i] = max_j (edge[t - 1, i, j] + value[t, j]),
    # after[n] = 0. O(n S (D + S)). Strictly better only: ties go to the shortest segment. Tables belong to the caller.
    for t in range(n - 1, -1, -1):
        for s in range(n_states):
            value[t, s] = -np.inf
            length[t, s] = 0
        for d in range(min(n_lengths, n - t)):
            for s in range(n_states):
                reach = whole[lo + t, d, s] + after[t + d + 1, s]
                if reach > value[t, s]:
                    value[t, s] = reach
                    length[t, s] = d
        if t == 0:
            break
        table = edge[first + (t - 1) * step]
        for i in range(n_states):
            best = -np.inf
            for j in range(n_states):
                best = max(best, table[i, j] + value[t, j])
            after[t, i] = best


@kernel()
def write_segment(path, at, d, state, n_states):
    """Codes of the segment of rows ``at .. at + d``."""
    path[at] = state
    for u in range(at + 1, at + d + 1):
        path[u] = n_states + state


@kernel()
def best_segmentation(whole, edge, first, step, lo, hi, value, after, length, path):
    """Write the best segmentation of one sample into ``path[lo:hi]``; return its score (-inf if there is none)."""
    n_states = whole.shape[2]
    best_suffixes(whole, edge, first, step, lo, hi, value, after, length)
    total, state, t = -np.inf, 0, 0
    # Invariant: rows before t are decided and the best continuation is max_j (edge[state, j] + value[t, j]).
    while t < hi - lo:
        best, pick = -np.inf, 0
        for j in range(n_states):
            reach = value[t, j]
            if t > 0:
                reach += edge[first + (t - 1) * step, state, j]
            if reach > best:
                best, pick = reach, j
        if t == 0:
            total = best
        state = pick
        write_segment(path, lo + t, length[t, state], state, n_states)
        t += length[t, state] + 1
    return total


@kernel()
def best_segmentations(whole, edge, step, offsets, path, total):
    """Best segmentation of every sample of a batch."""
    longest, n_states = longest_sample(offsets), whole.shape[2]
    value, after = np.empty((longest, n_states)), np.empty((longest + 1, n_states))
    length = np.empty((longest, n_states), np.int32)
    # O(n S (D + S)) per sample; tables of O(longest S), reused by all samples.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        total[s] = best_segmentation(whole, edge, first, step, lo, hi, value, after, length, path)


@kernel()
def merge_states(row, value, head, best_value, best_state, best_rank):
    """The best of ``row[j] + value[j, rank]`` over states and ranks, best first; -inf where none is left."""
    n_states, k = value.shape
    head[:] = 0
    # k best of S sorted lists: head[j] counts what is taken of list j. O(k S); ties go to the lowest state.
    for r in range(k):
        best, pick = -np.inf, -1
        for j in range(n_states):
            if head[j] < k:
                reach = row[j] + value[j, head[j]]
                if reach > best:
                    best, pick = reach, j
        best_value[r] = best
        if pick >= 0:
            best_state[r] = pick
            best_rank[r] = head[pick]
            head[pick] += 1


@kernel()
def merge_lengths(whole, after, t, state, head, best_value, best_length, best_rank):
    """The best of ``whole[d, state] + after[t + d + 1, state, rank]`` over lengths and ranks, best first."""
    n_lengths, k = len(head), after.shape[2]
    head[:] = 0
    # As ``merge_states`` over the lengths; ties go to the shortest segment. ``head`` has the lengths that fit. O(k D).
    for r in range(k):
        best, pick = -np.inf, -1
        for d in range(n_lengths):
            if head[d] < k:
                reach = whole[d, state] + after[t + d + 1, state, head[d]]
                if reach > best:
                    best, pick = reach, d
        best_value[r] = best
        if pick >= 0:
            best_length[r] = pick
            best_rank[r] = head[pick]
            head[pick] += 1


@kernel()
def k_best_segmentations(whole, edge, step, offsets, k, path, total):
    """The k best distinct segmentations: ``path`` (k, rows), ``total`` (samples, k), -inf where none is left.

    A suffix that begins at row t with some state is a length and the rank of what comes after; what comes after is a
    state and the rank of its suffix.
    """
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    longest = longest_sample(offsets)
    value, after = np.empty((longest, n_states, k)), np.empty((longest + 1, n_states, k))
    length = np.zeros((longest, n_states, k), np.int32)
    after_rank = np.zeros((longest, n_states, k), np.int32)
    state = np.zeros((longest + 1, n_states, k), np.int32)
    state_rank = np.zeros((longest + 1, n_states, k), np.int32)
    heads, length_heads = np.empty(n_states, np.int64), np.empty(n_lengths, np.int64)
    no_edge = np.zeros(n_states)
    # The recurrences of ``best_suffixes`` on sorted lists of k. O(n S (D + S) k) per sample, O(longest S k) memory.
    # after[0, 0] merges the first states without an edge: the k best of all.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        for i in range(n_states):
            after[n, i, :] = -np.inf
            after[n, i, 0] = 0.0
        for t in range(n - 1, -1, -1):
            head = length_heads[: min(n_lengths, n - t)]
            for i in range(n_states):
                merge_lengths(whole[lo + t], after, t, i, head, value[t, i], length[t, i], after_rank[t, i])
            for i in range(n_states):
                row = edge[(lo - s + t - 1) * step, i] if t > 0 else no_edge
                merge_states(row, value[t], heads, after[t, i], state[t, i], state_rank[t, i])
        for r in range(k):
            total[s, r] = after[0, 0, r]
            if total[s, r] == -np.inf:
                continue
            t, i, rank = 0, 0, r
            while t < n:
                i, rank = state[t, i, rank], state_rank[t, i, rank]
                d, rank = length[t, i, rank], after_rank[t, i, rank]
                write_segment(path[r], lo + t, d, i, n_states)
                t += d + 1


@kernel(fastmath=MAXIMA)
def max_marginals(whole, edge, step, offsets, segment_out, edge_out):
    """Best score with each segment and each pair of neighbouring segments fixed; -inf where impossible."""
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    longest = longest_sample(offsets)
    value, after = np.empty((longest, n_states)), np.empty((longest + 1, n_states))
    length = np.empty((longest, n_states), np.int32)
    begin, ended = np.empty((longest, n_states)), np.empty((longest + 1, n_states))  # best before row t
    segment_out[:] = -np.inf
    # begin[t, j] = max_i (ended[t, i] + edge[t - 1, i, j]), ended[t + d + 1, i] = max (begin[t, i] + whole[t, d, i]).
    # Segment: begin + whole + after; boundary: ended + edge + value. O(n S (D + S)) per sample, O(longest S) memory.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        first = (lo - s) * step
        best_suffixes(whole, edge, first, step, lo, hi, value, after, length)
        for t in range(n + 1):
            for i in range(n_states):
                ended[t, i] = -np.inf
        for t in range(n):
            for j in range(n_states):
                begin[t, j] = 0.0 if t == 0 else -np.inf
            if t > 0:
                table = edge[first + (t - 1) * step]
                for i in range(n_states):
                    for j in range(n_states):
                        reach = ended[t, i] + table[i, j]
                        begin[t, j] = max(begin[t, j], reach)
                        edge_out[lo - s + t - 1, i, j] = reach + value[t, j]
            for d in range(min(n_lengths, n - t)):
                for i in range(n_states):
                    reach = begin[t, i] + whole[lo + t, d, i]
                    ended[t + d + 1, i] = max(ended[t + d + 1, i], reach)
                    segment_out[lo + t, d, i] = reach + after[t + d + 1, i]
