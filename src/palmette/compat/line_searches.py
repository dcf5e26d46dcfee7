"""The line searches of CRFsuite's L-BFGS: More-Thuente, and backtracking with the (strong) Wolfe conditions.

They decide at which points the objective is looked at. The same rules lead to the same iterates, so that a model
trained here equals CRFsuite's even where training stops far from the optimum.

References
----------
J. J. More, D. J. Thuente, Line search algorithms with guaranteed sufficient decrease, ACM TOMS 20 (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

DECREASE, CURVATURE = 1e-4, 0.9  # of the Wolfe conditions
SHORTEST, LONGEST = 1e-20, 1e20  # steps
NARROWEST = 1e-16  # relative width of an interval


class Point(NamedTuple):
    """A step along a line, the value and slope there, and whatever the caller wants back."""

    step: float
    value: float
    slope: float
    payload: Any = None


Line = Callable[[float], Point]


def backtracking(
    at: Line, start: Point, step: float, max_trials: int, strong: bool
) -> tuple[Point | None, int]:
    """Shorten a step without enough decrease by 0.5, lengthen one on a steep slope by 2.1.

    Returns
    -------
    point : Point or None
        The first point that satisfies the Wolfe conditions (``strong``: those with an absolute slope).
    n_trials : int

    Examples
    --------
    >>> def at(t):
    ...     return Point(t, (t - 3.0) ** 2, 2.0 * (t - 3.0))
    >>> point, n_trials = backtracking(at, at(0.0), 16.0, 20, strong=False)
    >>> point.step, n_trials
    (4.0, 3)
    """
    for trial in range(1, max_trials + 1):
        point = at(step)
        if not point.value <= start.value + step * DECREASE * start.slope:
            factor = 0.5
        elif point.slope < CURVATURE * start.slope:
            factor = 2.1
        elif strong and point.slope > -CURVATURE * start.slope:
            factor = 0.5
        else:
            return point, trial
        if not SHORTEST <= step <= LONGEST:
            return None, trial
        step *= factor
    return None, max_trials


def more_thuente(at: Line, start: Point, step: float, max_trials: int) -> tuple[Point | None, int]:
    """Find a step with the strong Wolfe conditions by safeguarded cubic and quadratic interpolation.

    Examples
    --------
    >>> def at(t):
    ...     return Point(t, (t - 3.0) ** 2, 2.0 * (t - 3.0))
    >>> point, n_trials = more_thuente(at, at(0.0), 16.0, 20)
    >>> point.step, n_trials
    (3.0, 2)
    """
    least = DECREASE * start.slope
    best = other = start
    bracketed, first_stage, stuck = False, True, False
    width, width_before = LONGEST - SHORTEST, 2.0 * (LONGEST - SHORTEST)
    for trial in range(1, max_trials + 1):
        if bracketed:
            low, high = sorted((best.step, other.step))
        else:
            low, high = best.step, step + 4.0 * (step - best.step)
        step = min(max(step, SHORTEST), LONGEST)
        narrow = bracketed and high - low <= NARROWEST * high
        if (bracketed and (not low < step < high or trial == max_trials or stuck)) or narrow:
            step = best.step  # about to give up: end at the best point met
        point = at(step)
        enough = start.value + step * least
        outside = bracketed and (not low < step < high or stuck)
        too_long = step == LONGEST and point.value <= enough and point.slope <= least
        too_short = step == SHORTEST and (point.value > enough or point.slope >= least)
        if outside or too_long or too_short or narrow or trial == max_trials:
            return None, trial
        if point.value <= enough and abs(point.slope) <= -CURVATURE * start.slope:
            return point, trial
        if first_stage and point.value <= enough and point.slope >= least:
            first_stage = False
        # Before the first such point the search is for a minimum of ``value - step * least``.
        tilt = least if first_stage and enough < point.value <= best.value else 0.0
        new = _next_step(
            _tilted(best, -tilt), _tilted(other, -tilt), _tilted(point, -tilt), bracketed, low, high
        )
        stuck = new is None
        if new is not None:
            best, other = _tilted(new.best, tilt), _tilted(new.other, tilt)
            step, bracketed = new.step, new.bracketed
        if bracketed:
            if 0.66 * width_before <= abs(other.step - best.step):
                step = best.step + 0.5 * (other.step - best.step)
            width_before, width = width, abs(other.step - best.step)
    return None, max_trials


class _Next(NamedTuple):
    best: Point
    other: Point
    step: float
    bracketed: bool


def _tilted(point: Point, slope: float) -> Point:
    return Point(point.step, point.value + point.step * slope, point.slope + slope)


def _next_step(
    best: Point, other: Point, now: Point, bracketed: bool, low: float, high: float
) -> _Next | None:
    """The next trial and the interval around the minimum; None where rounding has spoilt the interval.

    The four cases of More and Thuente, section 4.
    """
    ends = sorted((best.step, other.step))
    if (bracketed and not ends[0] < now.step < ends[1]) or best.slope * (now.step - best.step) >= 0.0:
        return None
    if high < low:
        return None
    opposite = now.slope * math.copysign(1.0, best.slope) < 0.0
    if now.value > best.value:
        bracketed, bounded = True, True
        cubic, quadratic = _cubic(best, now), _quadratic(best, now)
        near = abs(cubic - best.step) < abs(quadratic - best.step)
        step = cubic if near else cubic + 0.5 * (quadratic - cubic)
    elif opposite:
        bracketed, bounded = True, False
        cubic, secant = _cubic(best, now), _secant(best, now)
        step = cubic if abs(cubic - now.step) > abs(secant - now.step) else secant
    elif abs(now.slope) < abs(best.slope):
        bounded = True
        cubic, secant = _cubic_beyond(best, now, low, high), _secant(best, now)
        near = abs(now.step - cubic) < abs(now.step - secant)
        step = cubic if near == bracketed else secant
    else:
        bounded = False
        if bracketed:
            step = _cubic(now, other)
        else:
            step = high if best.step < now.step else low
    if now.value > best.value:
        other = now
    else:
        best, other = now, best if opposite else other
    step = min(max(step, low), high)
    if bracketed and bounded:
        limit = best.step + 0.66 * (other.step - best.step)
        step = min(step, limit) if best.step < other.step else max(step, limit)
    return _Next(best, other, step, bracketed)


def _cubic_terms(u: Point, v: Point) -> tuple[float, float, float, float]:
    """Slope term, its scale, the scaled discriminant and the distance of a cubic through two points."""
    distance = v.step - u.step
    theta = 3.0 * (u.value - v.value) / distance + u.slope + v.slope
    scale = max(abs(theta), abs(u.slope), abs(v.slope))
    square = (theta / scale) ** 2 - (u.slope / scale) * (v.slope / scale)
    return theta, scale, square, distance


def _cubic(u: Point, v: Point) -> float:
    """Minimiser of the cubic with the values and slopes of two points, between them."""
    theta, scale, square, distance = _cubic_terms(u, v)
    root = math.copysign(scale * math.sqrt(max(square, 0.0)), distance)
    return u.step + (root - u.slope + theta) / (2.0 * root - u.slope + v.slope) * distance


def _cubic_beyond(u: Point, v: Point, low: float, high: float) -> float:
    """Minimiser of that cubic beyond ``v``; the limit it runs to where there is none."""
    theta, scale, square, distance = _cubic_terms(u, v)
    root = -math.copysign(scale * math.sqrt(max(square, 0.0)), distance)
    denominator = 2.0 * root - v.slope + u.slope
    ratio = (root - v.slope + theta) / denominator if denominator else 0.0
    if ratio < 0.0 and root != 0.0:
        return v.step - ratio * distance
    return high if distance > 0.0 else low


def _quadratic(u: Point, v: Point) -> float:
    """Minimiser of the parabola with both values and the slope at ``u``."""
    distance = v.step - u.step
    return u.step + u.slope / ((u.value - v.value) / distance + u.slope) / 2.0 * distance


def _secant(u: Point, v: Point) -> float:
    """Where the line through both slopes is zero."""
    return v.step + v.slope / (v.slope - u.slope) * (u.step - v.step)
