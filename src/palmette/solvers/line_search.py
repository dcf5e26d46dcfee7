"""A line search for the strong Wolfe conditions along a convex function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

_INVISIBLE = 1e-16  # relative decrease that cannot be seen in the value


class Point(NamedTuple):
    """A step along a line: its length, the value and slope there, and what the caller wants back."""

    step: float
    value: float
    slope: float
    payload: Any = None


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    step: float,
    *,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    max_evaluations: int = 30,
) -> tuple[Point | None, int]:
    """Find a step with sufficient decrease and a flat enough slope, trying ``step`` first.

    Along a convex function a step without enough decrease, or to where it rises, is too long; one to where it
    still falls steeply is too short. Short steps grow by the secant of the slopes (2 to 10 times); between a
    short and a long one the minimiser of the cubic through both is tried. A value that is not finite is too long.

    Parameters
    ----------
    at : callable
        ``at(step)`` evaluates the function.
    start : Point
        The point of step 0, with a negative slope.
    step : float

    Returns
    -------
    point : Point or None
        The step found; if rounding hides it, the best decrease met, or None if there was none.
    n_evaluations : int

    Examples
    --------
    >>> def at(t):
    ...     return Point(t, (t - 3.0) ** 2, 2.0 * (t - 3.0))
    >>> point, n_evaluations = strong_wolfe(at, at(0.0), step=1.0, curvature=0.1)
    >>> point.step, n_evaluations
    (3.0, 2)
    """
    short, long = start, None
    best: Point | None = None
    # Invariant: ``short`` is the start, or has enough decrease and still falls; ``long`` has too little decrease or
    # rises again. Once there is a long one, a step that meets the conditions lies between them, and every trial takes a
    # tenth off the interval at least.
    for n in range(1, max_evaluations + 1):
        point = at(step)
        enough = point.value < start.value and point.value <= start.value + decrease * step * start.slope
        if enough and (best is None or point.value < best.value):
            best = point
        if enough and abs(point.slope) <= -curvature * start.slope:
            return point, n
        if enough and point.slope < 0.0:
            step = _beyond(short, point) if long is None else step
            short = point
        else:
            long = point
        if long is not None:
            if -start.slope * long.step <= _INVISIBLE * abs(start.value) or long.step - short.step <= 0.0:
                break
            step = _between(short, long)
    return best, n


def _beyond(before: Point, short: Point) -> float:
    """Where the secant through two falling slopes reaches zero, 2 to 10 times as far as ``short``."""
    rise = short.slope - before.slope
    ahead = short.step - short.slope * (short.step - before.step) / rise if rise > 0.0 else math.inf
    return min(max(ahead, 2.0 * short.step), 10.0 * short.step)


def _between(short: Point, long: Point) -> float:
    """Minimiser of the cubic through two points and slopes, kept well inside the interval."""
    width = long.step - short.step
    inside = short.step + 0.5 * width
    if math.isfinite(long.value) and math.isfinite(long.slope):
        d1 = short.slope + long.slope - 3.0 * (long.value - short.value) / width
        square = d1 * d1 - short.slope * long.slope
        root = math.sqrt(max(square, 0.0))
        denominator = long.slope - short.slope + 2.0 * root
        if square >= 0.0 and denominator > 0.0:
            inside = long.step - width * (long.slope + root - d1) / denominator
    else:
        inside = short.step + 0.1 * width
    return min(max(inside, short.step + 0.1 * width), long.step - 0.1 * width)
