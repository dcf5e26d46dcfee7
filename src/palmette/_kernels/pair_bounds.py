"""Bounds and marginals from the messages of ``pair_lanes``, whose notation this module shares."""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.inlined import inlined
from palmette._kernels.jit import kernel
from palmette._kernels.pair_lanes import size


@inlined
def renewed(run, e, j, to, back, share, rest0, rest1):
    """The sums of ``bound_lanes`` with the message over edge e from variable j to another."""
    c0, one = simd.load(run.b0, j * LANES), simd.splat(run.x, 1.0)
    c1 = simd.exp(simd.sub(simd.splat(run.x, 0.0), simd.load(run.messages, back * LANES)))
    c1 = simd.mul(c1, simd.load(run.b1, j * LANES))
    new0 = simd.log_ratio(simd.add(c0, c1), one)
    new1 = simd.log_ratio(simd.fma(simd.load(run.ratio, e * LANES), c1, c0), one)
    new1 = simd.sub(new1, simd.load(run.messages, to * LANES))
    return simd.fma(share, new0, rest0), simd.fma(share, new1, rest1)


@kernel()
def bound_lanes(p, run, start, stop):
    """What the messages of the variables ``start:stop`` prove about their sum, into ``run.bound``.

    As ``reweighted_bounds.upper_bound``: ``sum_i (log Z_i + own_i log sum_k b_ik exp(1 / own_i sum_f share (new - old
    message)))``; beliefs b are divided by the larger one here, and log Z_i is its logarithm.
    """
    zero, one = simd.splat(run.x, 0.0), simd.splat(run.x, 1.0)
    for v in range(start, stop):
        x = simd.load(run.x, v * LANES)
        simd.store(run.b0, v * LANES, simd.exp(simd.smaller(zero, simd.sub(zero, x))))
        simd.store(run.b1, v * LANES, simd.exp(simd.smaller(zero, x)))
    total = zero
    for v in range(start, stop):
        x = simd.load(run.x, v * LANES)
        rest0, rest1 = zero, zero
        for e in range(p.early_ptr[v], p.early_ptr[v + 1]):
            share = simd.splat(run.x, p.share_late[e])
            rest0, rest1 = renewed(run, e, p.early[e], 2 * e + 1, 2 * e, share, rest0, rest1)
        for k in range(p.late_ptr[v], p.late_ptr[v + 1]):
            e = p.late_edge[k]
            share = simd.splat(run.x, p.share_early[e])
            rest0, rest1 = renewed(run, e, p.late[e], 2 * e, 2 * e + 1, share, rest0, rest1)
        high, own = simd.larger(zero, x), simd.splat(run.x, p.own[v])
        rest0 = simd.sub(rest0, simd.mul(own, high))
        rest1 = simd.fma(own, simd.sub(x, high), rest1)
        peak = simd.larger(rest0, rest1)
        total = simd.add(total, simd.add(simd.add(simd.load(run.level, v * LANES), high), peak))
        if p.own[v] > 1e-12:  # else the largest rest counts
            over = simd.splat(run.x, 1.0 / p.own[v])
            terms = simd.exp(simd.mul(over, simd.sub(rest0, peak)))
            terms = simd.add(terms, simd.exp(simd.mul(over, simd.sub(rest1, peak))))
            total = simd.fma(own, simd.log_ratio(terms, one), total)
    simd.store(run.bound, 0, total)


@inlined
def less_plogp(total, weight, p, one):
    """``total - weight p log p``; nothing at p = 0."""
    return simd.sub(total, simd.mul(simd.mul(weight, p), simd.log_ratio(p, one)))


@kernel()
def fit_marginals(p, run, start, stop):
    """Consistent marginals near the beliefs of the variables ``start:stop``, into ``run.p0``, ``run.p1`` and
    ``run.cells``; ``run.value`` gets their energy plus reweighted entropy, a bound from below.

    Variables have ``p1 = 1 / (1 + e^-x)``, a pair the table with these sums whose odds ratio is r. Where r < 1 the
    states of the later end change places, so r >= 1 below. Let ``d = |p_a - p_b|``, ``low`` the smaller of p_a and p_b
    and ``high`` the smaller of 1 - p_a and 1 - p_b. The smaller of the two cells where states differ is w, the root of
    ``(low - w) (high - w) = r w (w + d)``: ``w = 2 low high / (s + sqrt(s^2 + 4 (r - 1) low high))`` with
    ``s = r d + low + high``, all of whose terms are positive. The other is w + d, and the rest follows by differences.
    """
    n_edges = len(p.early)
    zero, one, four = simd.splat(run.x, 0.0), simd.splat(run.x, 1.0), simd.splat(run.x, 4.0)
    total = zero
    for v in range(start, stop):
        x = simd.load(run.x, v * LANES)
        e = simd.exp(simd.sub(zero, size(x, zero)))
        large = simd.divide(one, simd.add(one, e))
        small = simd.mul(e, large)
        p0, p1 = simd.where_at_least(zero, x, large, small), simd.where_at_least(zero, x, small, large)
        simd.store(run.p0, v * LANES, p0)
        simd.store(run.p1, v * LANES, p1)
        total = simd.add(
            total, simd.fma(p1, simd.load(run.field, v * LANES), simd.load(run.level, v * LANES))
        )
        weight = simd.splat(run.x, p.counting[v])
        total = less_plogp(less_plogp(total, weight, p0, one), weight, p1, one)
    for e in range(p.early_ptr[start], p.early_ptr[stop]):
        r, rho = simd.load(run.ratio, e * LANES), simd.splat(run.x, p.rho[e])
        a0, a1 = simd.load(run.p0, p.early[e] * LANES), simd.load(run.p1, p.early[e] * LANES)
        b0, b1 = simd.load(run.p0, p.late[e] * LANES), simd.load(run.p1, p.late[e] * LANES)
        c0, c1 = simd.where_at_least(r, one, b0, b1), simd.where_at_least(r, one, b1, b0)
        above = simd.where_at_least(r, one, r, simd.divide(one, r))
        # a difference of two numbers near 1 is that of what they lack
        d = simd.where_at_least(simd.add(a1, c1), one, simd.sub(c0, a0), simd.sub(a1, c1))
        low = simd.where_at_least(d, zero, c1, a1)
        high = simd.where_at_least(d, zero, a0, c0)
        apart, both = size(d, zero), simd.mul(low, high)
        s = simd.fma(above, apart, simd.add(low, high))
        root = simd.sqrt(simd.fma(simd.mul(four, both), simd.sub(above, one), simd.mul(s, s)))
        w = simd.divide(simd.add(both, both), simd.add(s, root))
        w = simd.smaller(w, simd.smaller(low, high))  # rounding
        m11, m00 = simd.sub(low, w), simd.sub(high, w)
        m10 = simd.where_at_least(d, zero, simd.add(w, apart), w)
        m01 = simd.where_at_least(d, zero, w, simd.add(w, apart))
        n11, n10 = simd.where_at_least(r, one, m11, m10), simd.where_at_least(r, one, m10, m11)
        n01, n00 = simd.where_at_least(r, one, m01, m00), simd.where_at_least(r, one, m00, m01)
        simd.store(run.cells, e * LANES, n00)
        simd.store(run.cells, (n_edges + e) * LANES, n01)
        simd.store(run.cells, (2 * n_edges + e) * LANES, n10)
        simd.store(run.cells, (3 * n_edges + e) * LANES, n11)
        total = simd.fma(n11, simd.load(run.w, e * LANES), total)
        total = less_plogp(less_plogp(total, rho, m00, one), rho, m01, one)
        total = less_plogp(less_plogp(total, rho, m10, one), rho, m11, one)
    simd.store(run.value, 0, total)
