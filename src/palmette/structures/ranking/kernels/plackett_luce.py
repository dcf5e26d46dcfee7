"""Plackett-Luce likelihood of graded documents, query by query."""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.ragged import longest_sample
from palmette.structures.ranking.kernels.exponential_clocks import log_before

EXACT, EFRON, BRESLOW = 0, 1, 2


@kernel()
def log_add(a, b):
    """``log(e^a + e^b)``; either may be -inf."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@kernel()
def losses(scores, order, grades, offsets, weight, ties, top, values, gradient):
    """Write ``-log P`` of every query and its weighted gradient.

    Parameters
    ----------
    scores : (n_rows,) array
    order : (n_rows,) array of int
        The rows of each query, best grade first.
    grades : (n_rows,) array of int
    offsets : (n_queries + 1,) array of int
    weight : (n_queries,) array
    ties : int
        EXACT, EFRON or BRESLOW.
    top : int
        Places that count; 0 for all.
    values : (n_queries,) array, written
    gradient : (n_rows,) array, written
    """
    longest = longest_sample(offsets)
    s, tail = np.empty(longest), np.empty(longest + 1)
    own, rate = np.empty(longest), np.empty(longest)
    ratio, sums = np.empty(longest + 1), np.empty(longest + 1)
    # tail[i] = log sum_{j >= i} e^{s_j}, best grade first. -log P is the sum over groups of equal grade of
    # -log P(the group comes before the rest); the last group and those from place ``top`` on have no factor.
    # O(n) per query besides the integrals of exact ties, O(longest) memory.
    for q in range(len(values)):
        lo, n = offsets[q], offsets[q + 1] - offsets[q]
        tail[n] = -np.inf
        for i in range(n - 1, -1, -1):
            s[i] = scores[order[lo + i]]
            tail[i] = log_add(tail[i + 1], s[i])
        # What a document below receives from all groups above it is e^(s - rest) x pull: kept relative to ``rest``, the
        # log weight of what is below the last group, which only falls, so that nothing overflows.
        value, pull, rest, start = 0.0, 0.0, 0.0, 0
        while start < n:
            stop = start + 1
            grade = grades[order[lo + start]]
            while stop < n and grades[order[lo + stop]] == grade:
                stop += 1
            counts = stop < n and (top == 0 or start < top)
            if not counts:
                stop = n
            for i in range(start, stop):
                gradient[order[lo + i]] = pull * math.exp(s[i] - rest) if pull > 0.0 else 0.0
            if not counts:
                break
            if pull > 0.0:
                pull *= math.exp(tail[stop] - rest)
            rest = tail[stop]
            if ties == EXACT and stop - start > 1:
                for i in range(start, stop):
                    tail[i] = s[i] - rest
                value -= log_before(tail[start:stop], own[start:stop], rate, ratio, sums)
            else:
                value += _stage(s[start:stop], rest, tail[start], ties, own[start:stop])
            share = 0.0  # moving all scores alike changes nothing: what the group loses, the rest gains
            for i in range(start, stop):
                gradient[order[lo + i]] -= own[i]
                share += own[i]
            pull += share
            start = stop
        values[q] = max(value, 0.0)
        for i in range(n):
            gradient[order[lo + i]] *= weight[q]


@kernel()
def _stage(s, rest, whole, ties, own):
    """``-log`` of a group's factor by a formula, and minus its derivatives in ``own``.

    ``whole`` is the log weight of the group and the rest.
    """
    # One document: log(e^s + e^rest) - s. Breslow: m whole - sum s - log m!. Efron: the denominators are
    # e^rest + (1 - place / m) e^group, place = 0..m - 1. ``own`` = 1 - (share of each document in the denominators).
    m = len(s)
    if m == 1:
        own[0] = math.exp(rest - whole)
        return whole - s[0] if whole > s[0] + 1.0 else math.log1p(math.exp(rest - s[0]))
    value = -math.lgamma(m + 1.0)
    if ties == BRESLOW:
        for d in range(m):
            own[d] = 1.0 - m * math.exp(s[d] - whole)
            value += whole - s[d]
        return value
    group = -np.inf
    for d in range(m):
        group = log_add(group, s[d])
    share = 0.0
    for place in range(m):
        left = group + math.log1p(-place / m)
        denominator = log_add(rest, left)
        value += denominator
        share += math.exp(left - denominator)
    for d in range(m):
        own[d] = 1.0 - share * math.exp(s[d] - group)
        value -= s[d]
    return value
