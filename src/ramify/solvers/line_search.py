"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A step along a line: its length, the value and slope there, and what the caller wants back."""

    step: float
    value: float
    slope: float
    payload: Any


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    step: float,
    *,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    max_evaluations: int = 25,
) -> tuple[Point | None, int]:
    """Find a step with sufficient decrease and a flat enough slope, trying ``step`` first.

    The function is convex along the line, so a point without enough decrease, or rising, is too long and a point
    that still falls steeply is too short; the interval between them shrinks by cubic interpolation.

    Returns
    -------
    point : Point or None
        The step found; the best decrease met if the conditions could not be reached; None if nothing decreases.
    n_evaluations : int
    """
    low, high = start, None  # too short, too long
    best: Point | None = None
    n = 0
    while n < max_evaluations:
        n += 1
        point = at(step)
        enough = point.value <= start.value + decrease * step * start.slope
        if enough and (best is None or point.value < best.value):
            best = point
        if enough and abs(point.slope) <= -curvature * start.slope:
            return point, n
        if enough and point.slope < 0:
            low = point
        else:
            high = point
        if high is None:
            step *= 2.0
            continue
        if high.step - low.step <= 1e-12 * high.step:
            break
        step = _between(low, high)
    return best, n


def _between(low: Point, high: Point) -> float:
    """Minimiser of the cubic through two points and slopes, kept well inside the interval."""
    a, b = low.step, high.step
    d1 = low.slope + high.slope - 3.0 * (low.value - high.value) / (low.step - high.step)
    square = d1 * d1 - low.slope * high.slope
    middle = 0.5 * (a + b)
    if square >= 0.0:
        d2 = square**0.5
        denominator = high.slope - low.slope + 2.0 * d2
        if denominator != 0.0:
            middle = high.step - (high.step - low.step) * (high.slope + d2 - d1) / denominator
    margin = 0.1 * (b - a)
    return min(max(middle, a + margin), b - margin)
