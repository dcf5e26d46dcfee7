"""Probabilities of the ranks of documents in a Plackett-Luce order."""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels.jit import kernel

NEGLIGIBLE = 1e-17


@kernel()
def _distribution(p, skip, dist):
    """Probabilities of 0, 1, ... of independent events, but for the event ``skip``, as far as ``dist`` goes."""
    dist[:] = 0.0
    dist[0] = 1.0
    for d in range(len(p)):
        if d != skip:
            for c in range(len(dist) - 1, 0, -1):
                dist[c] += (dist[c - 1] - dist[c]) * p[d]
            dist[0] *= 1.0 - p[d]


@kernel()
def _without(p, d, dist, rest):
    """``_distribution(p, d, rest)`` from the one with event d, by division where that is stable.

    Upward it is for ``p <= 1/2``, else downward, which needs the whole distribution (of ``len(p) + 1`` numbers).
    """
    last = 0.0
    if p[d] <= 0.5:
        for c in range(len(rest)):
            last = (dist[c] - p[d] * last) / (1.0 - p[d])
            rest[c] = last
    elif len(dist) > len(p):
        for c in range(len(p) - 1, -1, -1):
            last = (dist[c + 1] - (1.0 - p[d]) * last) / p[d]
            if c < len(rest):
                rest[c] = last
    else:
        _distribution(p, d, rest)


@kernel()
def rank_probabilities(scores, offsets, out):
    """Write ``P(document d has rank r)`` to ``out[d, r]`` for the ranks 0..k - 1 that ``out`` has columns for.

    Documents ring like clocks at ``T_d ~ Exp(e^(s_d))``. With N(t) the number of others that have rung,
    ``P = int e^(s_d) e^(-e^(s_d) t) P(N(t) = r) dt``, over ``x = log t`` by the trapezoidal rule, whose error falls
    exponentially in 1 / step: the integrand is analytic and its width is of the order of 1 / sqrt(k).
    """
    out[:] = 0.0
    for q in range(len(offsets) - 1):
        s, result = scores[offsets[q] : offsets[q + 1]], out[offsets[q] : offsets[q + 1]]
        n = len(s)
        k = min(out.shape[1], n)
        if n == 0:
            continue
        step = min(0.25, 0.5 / math.sqrt(k))
        fastest = s.max()
        whole = fastest + math.log(np.exp(s - fastest).sum())
        y, p, rest = np.empty(n), np.empty(n), np.empty(k)
        dist = np.empty(n + 1 if 4 * k > n else k)
        x = math.log(NEGLIGIBLE)
        while True:
            for d in range(n):
                y[d] = math.exp(min(s[d] - whole + x, 700.0))
                p[d] = -math.expm1(-y[d])
            _distribution(p, -1, dist)
            if dist[:k].sum() < NEGLIGIBLE:  # bounds what is still to come: later, at least k have rung
                break
            for d in range(n):
                density = step * y[d] * (1.0 - p[d])
                if density > NEGLIGIBLE * NEGLIGIBLE:
                    _without(p, d, dist, rest)
                    for r in range(k):
                        result[d, r] += density * rest[r]
            x += step
