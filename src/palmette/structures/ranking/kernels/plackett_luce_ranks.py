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
    # P_d(c) = (1 - p_d) P_{d-1}(c) + p_d P_{d-1}(c - 1), in place from the top; O(events x counts). All terms are >= 0.
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
    # dist[c] = (1 - p) rest[c] + p rest[c - 1]. Solved upward, an error is multiplied by p / (1 - p) <= 1 per step,
    # solved downward by (1 - p) / p < 1. O(counts), or O(events x counts) where neither is possible.
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

    By falling scores, the first ``rung`` documents have rung for certain at x, and those from ``begun`` on have not:
    only those in between are looked at. Both numbers only rise. Where they are equal nothing happens before the next
    document begins, so that x goes there at once, counted from its score: however far scores are apart, the
    number of steps is at most of the order of n / step, and no x is too large for a step to change it.
    """
    out[:] = 0.0
    for q in range(len(offsets) - 1):
        s, result = scores[offsets[q] : offsets[q + 1]], out[offsets[q] : offsets[q + 1]]
        n = len(s)
        k = min(out.shape[1], n)
        step = min(0.25, 0.5 / math.sqrt(max(k, 1)))
        first, last = math.log(NEGLIGIBLE / max(n, 1)), math.log(-math.log(NEGLIGIBLE / max(n, 1)))
        order = np.argsort(-s)
        y, p, dist, rest = np.empty(n), np.empty(n), np.empty(n + 1), np.empty(k)
        rung, begun, origin, x = 0, 0, 0.0, 0.0
        # result[d, rung + c] += step y e^{-y} P(c of the others have rung by x), over the m = begun - rung documents in
        # between. O(m k) per point for the distribution, O(m) per document to take it out again (O(m k) where division
        # is not stable). Memory O(n).
        while rung < k:
            if rung == begun:
                origin, x = s[order[begun]], first
            while begun < n and s[order[begun]] - origin + x >= first:
                begun += 1
            while rung < begun and s[order[rung]] - origin + x > last:
                rung += 1
            here, left = begun - rung, k - rung
            if here == 0 or left <= 0:
                continue
            for i in range(here):
                y[i] = math.exp(s[order[rung + i]] - origin + x)
                p[i] = -math.expm1(-y[i])
            ranks = min(left, here)
            now = dist[: here + 1 if 4 * ranks > here else ranks]
            _distribution(p[:here], -1, now)
            # bounds what is still to come: k have rung later
            if left <= here and now[:left].sum() < NEGLIGIBLE:
                break
            for i in range(here):
                density = step * y[i] * (1.0 - p[i])
                if density > NEGLIGIBLE * NEGLIGIBLE:
                    _without(p[:here], i, now, rest[:ranks])
                    for c in range(ranks):
                        result[order[rung + i], rung + c] += density * rest[c]
            x += step
