"""Maximisation on chains: best path, k best paths, max-marginals.

Tables: ``node`` is (rows, labels), ``edge`` (tables, labels, labels). The sample in rows ``lo:hi`` reads table
``first + (t - lo) * step`` between rows t and t + 1, so one shared table has step 0.
Paths are decided from the first row on, so among equally good paths the lexicographically lowest one wins.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import LANES
from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette._kernels.ragged import longest_sample


@kernel(fastmath=MAXIMA)
def best_suffixes(node, edge, first, step, lo, hi, value):
    """``value[t, i]`` = best score of rows t.. of the sample when row t has label i."""
    n_labels = node.shape[1]
    n = hi - lo
    for i in range(n_labels):
        value[n - 1, i] = node[hi - 1, i]
    # value[t, i] = node[t, i] + max_j (edge[t, i, j] + value[t + 1, j]), value[n - 1, i] = node[n - 1, i]; O(n K^2).
    # ``value`` (longest, K) belongs to the caller. -inf is absorbing: there is no +inf, so no NaN arises.
    for t in range(n - 2, -1, -1):
        table = edge[first + t * step]
        for i in range(n_labels):
            best = -np.inf
            for j in range(n_labels):
                best = max(best, table[i, j] + value[t + 1, j])
            value[t, i] = node[lo + t, i] + best


@kernel()
def best_path(node, edge, first, step, lo, hi, value, path):
    """Write the best path of one sample into ``path[lo:hi]``; return its score (-inf if there is none)."""
    n_labels = node.shape[1]
    best_suffixes(node, edge, first, step, lo, hi, value)
    label = 0
    for i in range(1, n_labels):
        if value[0, i] > value[0, label]:
            label = i
    path[lo] = label
    total = value[0, label]
    # Invariant: value[t, label] is the best score of rows t.. given the labels before. Only a strictly better label
    # replaces a lower one, so ties go to the lexicographically lowest path. O(n K), no back pointers.
    for t in range(hi - lo - 1):
        table = edge[first + t * step]
        follow = 0
        for j in range(1, n_labels):
            if table[label, j] + value[t + 1, j] > table[label, follow] + value[t + 1, follow]:
                follow = j
        label = follow
        path[lo + t + 1] = label
    return total


@kernel()
def best_paths(node, edge, step, offsets, path, total):
    """Best path of every sample of a batch."""
    if step == 0 and len(edge) > 0:
        shared_best_paths(node, edge, offsets, path, total)
        return
    value = np.empty((longest_sample(offsets), node.shape[1]))
    # O(n K^2) per sample; one table of O(longest K) for all.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        total[s] = best_path(node, edge, (lo - s) * step, step, lo, hi, value, path)


@kernel()
def shared_best_paths(node, edge, offsets, path, total):
    """Best path of every sample where all edges read ``edge[0]``, eight labels at a time: the same sums and maxima."""
    n_labels = node.shape[1]
    width = (n_labels + LANES - 1) // LANES * LANES
    table, table_t = np.zeros(n_labels * width), np.zeros(n_labels * width)
    for i in range(n_labels):
        for j in range(n_labels):
            table[i * width + j] = edge[0, i, j]
    transpose(table, n_labels, width, table_t)
    value = np.zeros(longest_sample(offsets) * width)
    # The rows of a sample are copied, padded by what ``best_chain`` leaves there, which it never reads. O(n K width).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        for t in range(hi - lo):
            for k in range(n_labels):
                value[t * width + k] = node[lo + t, k]
        total[s] = best_chain(value, hi - lo, n_labels, width, table, table_t, path[lo:hi])


@kernel()
def k_best_paths(node, edge, step, offsets, k, path, total):
    """The k best distinct paths of every sample: ``path`` (k, rows), ``total`` (samples, k), -inf where none is left.

    ``value[t, i]`` lists the best suffixes from label i at row t, best first; a suffix is a follower and its rank.
    Equal values keep the order of (follower, rank), which is the lexicographic one.
    """
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    value = np.empty((longest, n_labels, k))
    follower = np.empty((longest, n_labels, k), np.int32)
    follower_rank = np.empty((longest, n_labels, k), np.int32)
    head = np.empty(n_labels, np.int64)
    # value[t, i, :] merges the K sorted lists edge[t, i, j] + value[t + 1, j, :]: head[j] is how many of list j are
    # taken, and -inf fills up what is missing. The first row is merged alike, over its labels.
    # O(n K^2 k) per sample, O(longest K k) memory. Ties go to the lowest label, then the lowest rank.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        first = (lo - s) * step
        for i in range(n_labels):
            value[n - 1, i, :] = -np.inf
            value[n - 1, i, 0] = node[hi - 1, i]
        for t in range(n - 2, -1, -1):
            table = edge[first + t * step]
            for i in range(n_labels):
                head[:] = 0
                for r in range(k):
                    best, arg = -np.inf, -1
                    for j in range(n_labels):
                        if head[j] < k:
                            candidate = table[i, j] + value[t + 1, j, head[j]]
                            if candidate > best:
                                best, arg = candidate, j
                    if arg < 0:
                        value[t, i, r] = -np.inf
                        continue
                    value[t, i, r] = node[lo + t, i] + best
                    follower[t, i, r] = arg
                    follower_rank[t, i, r] = head[arg]
                    head[arg] += 1
        head[:] = 0
        for r in range(k):
            best, label = -np.inf, -1
            for i in range(n_labels):
                if head[i] < k and value[0, i, head[i]] > best:
                    best, label = value[0, i, head[i]], i
            total[s, r] = best
            if label < 0:
                continue
            rank = head[label]
            head[label] += 1
            path[r, lo] = label
            for t in range(n - 1):
                label, rank = follower[t, label, rank], follower_rank[t, label, rank]
                path[r, lo + t + 1] = label


@kernel(fastmath=MAXIMA)
def max_marginals(node, edge, step, offsets, node_out, edge_out):
    """Best score with each label (rows, labels) and each label pair (edges, labels, labels) fixed."""
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    suffix = np.empty((longest, n_labels))
    prefix = np.empty(n_labels)
    fresh = np.empty(n_labels)
    # prefix[j] at t + 1 = max_i (prefix[i] + node[t, i] + edge[t, i, j]), 0 at the first row. Node: prefix + suffix;
    # pair: prefix[i] + node[t, i] + edge[t, i, j] + suffix[t + 1, j]. O(n K^2) per sample, O(longest K) memory.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        best_suffixes(node, edge, first, step, lo, hi, suffix)
        prefix[:] = 0.0
        for t in range(hi - lo):
            for i in range(n_labels):
                node_out[lo + t, i] = prefix[i] + suffix[t, i]
            if t == hi - lo - 1:
                break
            table = edge[first + t * step]
            fresh[:] = -np.inf
            for i in range(n_labels):
                ahead = prefix[i] + node[lo + t, i]
                for j in range(n_labels):
                    reach = ahead + table[i, j]
                    fresh[j] = max(fresh[j], reach)
                    edge_out[lo - s + t, i, j] = reach + suffix[t + 1, j]
            for j in range(n_labels):
                prefix[j] = fresh[j]
