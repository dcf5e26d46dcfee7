"""Probability of every document to be among the first k of a Plackett-Luce order."""

from __future__ import annotations

import math

import numpy as np

from ramify._kernels.jit import kernel

NEGLIGIBLE = 1e-17


@kernel()
def _fewer(p, skip, dist):
    """``P(fewer than len(dist) of independent events happen)``; the distribution of their number in ``dist``."""
    dist[:] = 0.0
    dist[0] = 1.0
    for d in range(len(p)):
        if d != skip:
            for c in range(len(dist) - 1, 0, -1):
                dist[c] += (dist[c - 1] - dist[c]) * p[d]
            dist[0] *= 1.0 - p[d]
    return dist.sum()


@kernel()
def _fewer_without(p, dist):
    """The same without an event of probability p <= 1/2, from the distribution with it."""
    total = last = 0.0
    for c in range(len(dist)):
        last = (dist[c] - p * last) / (1.0 - p)
        total += last
    return total


@kernel()
def top_probabilities(scores, offsets, k, out):
    """Write ``P(document d is among the first k of its query)``.

    Documents ring like clocks at ``T_d ~ Exp(e^(s_d))``. With N(t) the number of others that have rung,
    ``P = int e^(s_d) e^(-e^(s_d) t) P(N(t) < k) dt``, over ``x = log t`` by the trapezoidal rule, whose error falls
    exponentially in 1 / step: the integrand is analytic and its width is of the order of 1 / sqrt(k).
    """
    step = min(0.25, 0.5 / math.sqrt(k))
    for q in range(len(offsets) - 1):
        s, result = scores[offsets[q] : offsets[q + 1]], out[offsets[q] : offsets[q + 1]]
        n = len(s)
        result[:] = 1.0
        if n <= k:
            continue
        result[:] = 0.0
        fastest = s.max()
        whole = fastest + math.log(np.exp(s - fastest).sum())
        y, p, dist = np.empty(n), np.empty(n), np.empty(k)
        x = math.log(NEGLIGIBLE)
        while True:
            for d in range(n):
                y[d] = math.exp(min(s[d] - whole + x, 700.0))
                p[d] = -math.expm1(-y[d])
            if _fewer(p, -1, dist) < NEGLIGIBLE:
                break
            # Those that are slow are divided out of the distribution; that is exact up to p = 1/2 only. Fast ones,
            # which come last, are left out one at a time.
            for d in range(n):
                if p[d] <= 0.5:
                    result[d] += step * y[d] * (1.0 - p[d]) * _fewer_without(p[d], dist)
            for d in range(n):
                density = y[d] * (1.0 - p[d])
                if p[d] > 0.5 and density > NEGLIGIBLE:
                    result[d] += step * density * _fewer(p, d, dist)
            x += step
        for d in range(n):
            result[d] = min(result[d], 1.0)
