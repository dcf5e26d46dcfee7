"""Races of exponential clocks: clock d of a group rings at a time ``T_d ~ Exp(w_d)``, a rival's at ``Exp(W)``.

The order in which clocks ring is a Plackett-Luce order with scores ``log w_d``. Given are ``a_d = log w_d - log W``;
time is counted in units of ``1 / W`` on a logarithmic scale, ``x = log(W t)``.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels.jit import kernel

NEGLIGIBLE = 38.0  # exp of minus this is below the rounding of a double
# clocks so slow: within reach of x their probability to have rung is its linear term, to rounding
LATE = -50.0
AGREES = 1e-8  # two trapezoidal sums that agree so far: halving a step at least squares its error


@kernel()
def rung(x, rate, ratio):
    """log of the integrand ``e^(x - e^x) prod_d (1 - e^(-y_d))`` with ``y_d = rate_d e^x``.

    ``ratio[d]`` becomes ``y / (e^y - 1)``, the derivative of log factor d by x; ``ratio[len(rate)]`` its second
    derivative summed over d, with its sign turned.
    """
    now = math.exp(x)
    total, product, curvature = x - now, 1.0, now
    # Factors are multiplied before one logarithm is taken, and moved to ``total`` before the product underflows; no
    # factor alone comes near that, since slower clocks are left to the caller (LATE). For y > 700 the factor is 1 and
    # its derivative 0, to rounding.
    for d in range(len(rate)):
        y = rate[d] * now
        if y > 700.0:
            ratio[d] = 0.0
            continue
        share = -math.expm1(-y)
        ratio[d] = y * (1.0 - share) / share
        curvature += ratio[d] * (y / share - 1.0)
        product *= share
        if product < 1e-200:
            total += math.log(product)
            product = 1.0
    ratio[len(rate)] = curvature
    return total + math.log(product)


@kernel()
def _near_the_mode(rate, n_late, ratio):
    """A point near the maximum of the integrand, which is log-concave in x: Newton steps inside a bracket."""
    lo, hi = 0.0, math.log1p(float(n_late + len(rate)))  # the slope is >= 0 at the first, <= 0 at the second
    x = 0.5 * (lo + hi)
    # Invariant: the mode lies in [lo, hi], since the slope falls in x. A Newton step out of the bracket is replaced by
    # bisection. Half a standard deviation (step^2 curvature < 1/4) is near enough: the sums run over both sides.
    for _ in range(20):
        rung(x, rate, ratio)
        slope = 1.0 + n_late - math.exp(x) + ratio[: len(rate)].sum()
        if slope > 0.0:
            lo = x
        else:
            hi = x
        step = slope / ratio[len(rate)]
        if step * step * ratio[len(rate)] < 0.25:
            break
        x = x + step if lo < x + step < hi else 0.5 * (lo + hi)
    return x


@kernel()
def _march(first, step, rate, n_late, height, ratio, sums):
    """Add the integrand (over ``e^height``) and its products with the ratios at ``first + i step``, i = 0, 1, ..."""
    x, top = first, -np.inf
    # Ends where the integrand is negligible against its largest value so far and against e^height; log-concavity then
    # bounds the rest. O(clocks) per point.
    while True:
        value = rung(x, rate, ratio) + n_late * x - height
        top = max(top, value)
        weight = math.exp(value)
        for d in range(len(rate)):
            sums[d] += weight * ratio[d]
        sums[len(rate)] += weight
        if not (value >= top - NEGLIGIBLE or value >= -NEGLIGIBLE):  # NaN ends it too
            return
        x += step


@kernel()
def log_before(a, expected, rate, ratio, sums):
    """``log P(all clocks of the group ring before the rival's)`` and its derivatives by ``a``.

    ``P = int_0^inf prod_d (1 - e^(-w_d t)) W e^(-W t) dt``, over x by the trapezoidal rule: the integrand is analytic
    and decays on both sides, so the error falls exponentially in 1 / step. The step is halved until two sums agree.

    Parameters
    ----------
    a : (m,) array
        ``log w_d - log W``.
    expected : (m,) array, written
        ``d log P / d a_d``, between 0 and 1.
    rate, ratio, sums : arrays of at least m, m + 1 and m + 1 numbers
        Work space.
    """
    m, n, total = len(a), 0, 0.0
    for d in range(m):
        if a[d] < LATE:  # log(1 - e^(-y)) = x + a
            total += a[d]
        else:
            rate[n] = math.exp(min(a[d], 700.0))
            n += 1
    n_late = m - n
    rate, ratio, sums = rate[:n], ratio[: n + 1], sums[: n + 1]
    middle = _near_the_mode(rate, n_late, ratio)
    height = rung(middle, rate, ratio) + n_late * middle
    step = min(0.45, 0.9 / math.sqrt(ratio[n]))
    sums[:] = 0.0
    _march(middle, step, rate, n_late, height, ratio, sums)
    _march(middle - step, -step, rate, n_late, height, ratio, sums)
    # Invariant: step x sums are the trapezoidal sums. Adding the points in between halves the step; where the rule has
    # converged, the sums double. Halving at least squares the error, so agreement to 1e-8 leaves rounding only.
    # O(clocks x points), nothing allocated.
    while True:
        whole, slopes = sums[n], sums[:n].sum()
        _march(middle + 0.5 * step, step, rate, n_late, height, ratio, sums)
        _march(middle - 0.5 * step, -step, rate, n_late, height, ratio, sums)
        step *= 0.5
        off = abs(sums[n] - 2.0 * whole) + abs(sums[:n].sum() - 2.0 * slopes)
        if not off > AGREES * (sums[n] + sums[:n].sum()):
            break
    n = 0
    for d in range(m):
        expected[d] = 1.0
        if a[d] >= LATE:
            expected[d] = sums[n] / sums[len(rate)]
            n += 1
    return total + height + math.log(step * sums[len(rate)])
