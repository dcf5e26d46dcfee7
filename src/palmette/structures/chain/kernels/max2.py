"""Maximisation on chains of second order: best path, k best paths, max-marginals.

Tables as in ``chain_max``, and ``triple`` (tables, labels, labels, labels): the sample whose triples begin at number
``first3`` reads table ``first3 + t * step3`` for the rows t, t + 1, t + 2. Messages live on pairs of neighbours:
O(K^3) per position. Paths are decided from the first row on: the lexicographically lowest of the best wins.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.ragged import longest_sample


@kernel(fastmath=MAXIMA)
def best_suffixes(node, edge, first, step, triple, first3, step3, lo, hi, value):
    """``value[t, i, j]`` = best score of rows t.. of the sample when rows t and t + 1 have the labels i and j."""
    n_labels = node.shape[1]
    # value[t, i, j] = node[t, i] + edge[t, i, j] + max_k (triple[t, i, j, k] + value[t + 1, j, k]);
    # value[n - 2, i, j] = node[n - 2, i] + edge[n - 2, i, j] + node[n - 1, j]. O(n K^3), O(n K^2) memory of the caller.
    # Forbidden pairs (-inf) skip the maximum. A sample of one row leaves ``value`` untouched.
    for t in range(hi - lo - 2, -1, -1):
        table = edge[first + t * step]
        for i in range(n_labels):
            for j in range(n_labels):
                here = node[lo + t, i] + table[i, j]
                best = -np.inf
                if t == hi - lo - 2:
                    best = node[hi - 1, j]
                elif here > -np.inf:
                    row, ahead = triple[first3 + t * step3, i, j], value[t + 1, j]
                    for k in range(n_labels):
                        best = max(best, row[k] + ahead[k])
                value[t, i, j] = here + best


@kernel()
def best_path(node, edge, first, step, triple, first3, step3, lo, hi, value, path):
    """Write the best path of one sample into ``path[lo:hi]``; return its score (-inf if there is none)."""
    n_labels = node.shape[1]
    left, right = 0, 0
    if hi - lo == 1:
        for i in range(1, n_labels):
            if node[lo, i] > node[lo, left]:
                left = i
        path[lo] = left
        return node[lo, left]
    best_suffixes(node, edge, first, step, triple, first3, step3, lo, hi, value)
    for i in range(n_labels):
        for j in range(n_labels):
            if value[0, i, j] > value[0, left, right]:
                left, right = i, j
    total = value[0, left, right]
    path[lo], path[lo + 1] = left, right
    # Invariant: value[t, left, right] is the best score of rows t.. given the labels before. Only a strictly better
    # label replaces a lower one, so ties go to the lexicographically lowest path. O(n K), no back pointers.
    for t in range(hi - lo - 2):
        row, ahead = triple[first3 + t * step3, left, right], value[t + 1, right]
        follow = 0
        for k in range(1, n_labels):
            if row[k] + ahead[k] > row[follow] + ahead[follow]:
                follow = k
        left, right = right, follow
        path[lo + t + 2] = follow
    return total


@kernel()
def best_paths(node, edge, step, triple, step3, offsets, path, total):
    """Best path of every sample of a batch."""
    n_labels = node.shape[1]
    value = np.empty((longest_sample(offsets), n_labels, n_labels))
    first3 = 0
    # O(longest K^2) memory, allocated once and reused by all samples; first3 counts the triples of samples before.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        total[s] = best_path(
            node, edge, (lo - s) * step, step, triple, first3 * step3, step3, lo, hi, value, path
        )
        first3 += max(hi - lo - 2, 0)


@kernel()
def k_best_suffixes(node, edge, first, step, triple, first3, step3, lo, hi, k, value, follower, rank, head):
    """``value[t, i, j]`` lists the best suffixes from labels i, j at rows t, t + 1, each a follower and its rank.

    Equal values keep the order of (follower, rank), which is the lexicographic one.
    """
    n_labels = node.shape[1]
    # The K sorted lists triple[t, i, j, m] + value[t + 1, j, m, :] are merged: head[m] counts what is taken of list m.
    # O(n K^3 k) time; value, follower and rank (of the caller) have O(n K^2 k) entries.
    # Invariant: value[t, i, j, :] is sorted, best first, and -inf behind the last suffix. Ties go to the lowest m.
    for t in range(hi - lo - 2, -1, -1):
        table = edge[first + t * step]
        for i in range(n_labels):
            for j in range(n_labels):
                here = node[lo + t, i] + table[i, j]
                for r in range(k):
                    value[t, i, j, r] = -np.inf
                if t == hi - lo - 2:
                    value[t, i, j, 0] = here + node[hi - 1, j]
                    continue
                row = triple[first3 + t * step3, i, j]
                for m in range(n_labels):
                    head[m] = 0
                for r in range(k):
                    best, arg = -np.inf, -1
                    for m in range(n_labels):
                        if head[m] < k:
                            candidate = row[m] + value[t + 1, j, m, head[m]]
                            if candidate > best:
                                best, arg = candidate, m
                    if arg < 0:
                        break
                    value[t, i, j, r] = here + best
                    follower[t, i, j, r] = arg
                    rank[t, i, j, r] = head[arg]
                    head[arg] += 1


@kernel()
def k_best_paths(node, edge, step, triple, step3, offsets, k, path, total):
    """The k best distinct paths of every sample: ``path`` (k, rows), ``total`` (samples, k), -inf if none is left."""
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    value = np.empty((longest, n_labels, n_labels, k))
    follower = np.empty((longest, n_labels, n_labels, k), np.int32)
    rank = np.empty((longest, n_labels, n_labels, k), np.int32)
    head = np.empty(n_labels, np.int64)
    taken = np.empty((n_labels, n_labels), np.int64)
    first3 = 0
    # taken[i, j] counts the paths already read off the list of the first pair (i, j); path r is the best head of all
    # lists, then followers and ranks are looked up row by row. Memory O(longest K^2 k), reused by all samples.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        if hi - lo == 1:  # single labels stand in the first column of the pairs
            for i in range(n_labels):
                for j in range(n_labels):
                    for r in range(k):
                        value[0, i, j, r] = -np.inf
                value[0, i, 0, 0] = node[lo, i]
        else:
            k_best_suffixes(
                node, edge, (lo - s) * step, step, triple, first3 * step3, step3, lo, hi, k, value, follower,
                rank, head,
            )  # fmt: skip
        for i in range(n_labels):
            for j in range(n_labels):
                taken[i, j] = 0
        for r in range(k):
            best, left, right = -np.inf, -1, -1
            for i in range(n_labels):
                for j in range(n_labels):
                    if taken[i, j] < k and value[0, i, j, taken[i, j]] > best:
                        best, left, right = value[0, i, j, taken[i, j]], i, j
            total[s, r] = best
            if left < 0:
                continue
            q = taken[left, right]
            taken[left, right] += 1
            path[r, lo] = left
            if hi - lo > 1:
                path[r, lo + 1] = right
            for t in range(hi - lo - 2):
                left, right, q = right, follower[t, left, right, q], rank[t, left, right, q]
                path[r, lo + t + 2] = right
        first3 += max(hi - lo - 2, 0)


@kernel(fastmath=MAXIMA)
def max_marginals(node, edge, step, triple, step3, offsets, node_out, edge_out, triple_out):
    """Best score with each label, each pair of neighbours and each triple fixed."""
    n_labels = node.shape[1]
    suffix = np.empty((longest_sample(offsets), n_labels, n_labels))
    prefix, fresh = np.empty((n_labels, n_labels)), np.empty((n_labels, n_labels))
    first3 = 0
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        for t in range(lo, hi):
            for i in range(n_labels):
                node_out[t, i] = node[t, i] if hi - lo == 1 else -np.inf
        best_suffixes(node, edge, first, step, triple, first3 * step3, step3, lo, hi, suffix)
        for i in range(n_labels):
            for j in range(n_labels):
                prefix[i, j] = 0.0
        # prefix[i, j]: the best of what stands before row t if rows t and t + 1 have the labels i and j
        # prefix'[j, k] = max_i (prefix[i, j] + node[t, i] + edge[t, i, j] + triple[t, i, j, k]), 0 at the first pair.
        # Every max-marginal is prefix + parts + suffix. O(n K^3) per sample, O(longest K^2) memory besides outputs.
        for t in range(hi - lo - 1):
            table = edge[first + t * step]
            for i in range(n_labels):
                for j in range(n_labels):
                    whole = prefix[i, j] + suffix[t, i, j]
                    edge_out[lo - s + t, i, j] = whole
                    node_out[lo + t, i] = max(node_out[lo + t, i], whole)
                    if t == hi - lo - 2:
                        node_out[hi - 1, j] = max(node_out[hi - 1, j], whole)
            if t == hi - lo - 2:
                break
            for j in range(n_labels):
                for k in range(n_labels):
                    fresh[j, k] = -np.inf
            for i in range(n_labels):
                for j in range(n_labels):
                    ahead = prefix[i, j] + node[lo + t, i] + table[i, j]
                    row = triple[(first3 + t) * step3, i, j]
                    for k in range(n_labels):
                        reach = ahead + row[k]
                        fresh[j, k] = max(fresh[j, k], reach)
                        triple_out[first3 + t, i, j, k] = reach + suffix[t + 1, j, k]
            for j in range(n_labels):
                for k in range(n_labels):
                    prefix[j, k] = fresh[j, k]
        first3 += max(hi - lo - 2, 0)
