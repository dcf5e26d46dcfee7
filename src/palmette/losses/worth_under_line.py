"""How much outputs under a line can be worth: ``max over a <= D <= b of G(D) (height - slope D) + margin D``.

Scores fall along a line (``slope >= 0``). Losses that are multiples of a unit are asked for at those only. Slack
rescaling has closed forms. A function ``G`` is asked at every multiple of the unit; where there is no unit, only that
it does not fall is used: on a short stretch it is at most what it is at the end, and stretches are halved until that is
accurate to ``TOLERANCE``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.losses.rescaled_query import Question

TOLERANCE = 1e-4  # relative accuracy of bounds for functions without a unit
HALVINGS = 14
MOST_LEVELS = 100_000  # beyond, losses count as real numbers
_ROUND = 1e-9  # share of a unit by which a corner may miss a level


class Spread(NamedTuple):
    """Which losses there are: multiples of ``unit`` where there is one, and none between 0 and ``least``."""

    unit: float | None
    least: float = 0.0


def spread_of(task_loss: Any, largest: np.ndarray) -> Spread:
    """Which losses there are, as far as the task loss tells; multiples of a unit if they are not too many."""
    unit = getattr(task_loss, "unit", None)
    if unit is not None and largest.max() / unit > MOST_LEVELS:
        unit = None
    return Spread(unit, getattr(task_loss, "least", 0.0))


def most_worth(
    asked: Question, spread: Spread, a: np.ndarray, b: np.ndarray, height: np.ndarray, slope: np.ndarray,
    enough: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Upper bounds on the worth under each line, -inf where no loss is between ``a`` and ``b``.

    All arrays have the shape (samples, lines). Bounds below ``enough`` (samples,) need not be accurate.
    """
    rescaling, margin = asked.rescaling, asked.margin
    if spread.unit is not None or spread.least <= 0.0:
        return _most_worth(rescaling, margin, spread.unit, a, b, height, slope, enough)
    low = np.maximum(a, spread.least)
    positive = _most_worth(rescaling, margin, None, low, np.maximum(b, low), height, slope, enough)
    zero = np.where(a <= 0.0, rescaling.gamma(np.zeros(1))[0] * height, -np.inf)
    return np.maximum(np.where(b >= spread.least, positive, -np.inf), zero)


def _most_worth(
    rescaling: Any, margin: Any, unit: Any, a: Any, b: Any, height: Any, slope: Any, enough: Any
) -> np.ndarray:
    if rescaling.name == "slack":
        return _slack(margin, unit, a, b, height, slope)
    lines = (a.ravel(), b.ravel(), height.ravel(), slope.ravel())
    if unit is not None:
        return _levels(rescaling, margin, unit, lines).reshape(a.shape)
    sample = np.repeat(np.arange(a.shape[0]), a.shape[1])
    return _halved(rescaling, margin, lines, sample, enough).reshape(a.shape)


def _slack(margin: Any, unit: Any, a: Any, b: Any, height: Any, slope: Any) -> np.ndarray:
    """``D (height + margin - slope D)`` is concave: its peak, or the levels beside it."""
    top = height + margin
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.where(slope > 0.0, top / (2.0 * slope), np.where(top > 0.0, np.inf, 0.0))
    if unit is None:
        at = np.clip(peak, a, b)
        return at * (top - slope * at)
    first, last = _between(a, b, unit)
    at = np.clip(peak / unit, first, np.maximum(last, first))
    below, above = np.floor(at) * unit, np.ceil(at) * unit
    value = np.maximum(below * (top - slope * below), above * (top - slope * above))
    return np.where(last >= first, value, -np.inf)


def _between(a: Any, b: Any, unit: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the first and the last level from a to b."""
    return np.ceil(a / unit - _ROUND), np.floor(b / unit + _ROUND)


def _levels(rescaling: Any, margin: Any, unit: Any, lines: Any) -> np.ndarray:
    """The best level under each line, by looking at all."""
    a, b, height, slope = lines
    first, last = (numbers.astype(np.int64) for numbers in _between(a, b, unit))
    gain = rescaling.gamma(np.arange(last.max() + 1) * unit)
    out = np.full(len(a), -np.inf)
    there = np.flatnonzero(last >= first)
    count = (last - first + 1)[there]
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    level = np.arange(count.sum()) - np.repeat(starts - first[there], count)
    line = np.repeat(there, count)
    loss = level * unit
    value = gain[level] * (height[line] - slope[line] * loss) + margin * loss
    if len(there):
        out[there] = np.maximum.reduceat(value, starts)
    return out


def _halved(rescaling: Any, margin: Any, lines: Any, sample: Any, enough: Any) -> np.ndarray:
    """Bounds by monotony on stretches that are halved where it matters."""
    a, b, height, slope = lines
    out = np.full(len(a), -np.inf)
    enough = enough.copy()  # and raised by what the lines themselves are known to reach
    line = np.arange(len(a))
    for halving in range(HALVINGS + 1):
        u_a, u_b = height[line] - slope[line] * a, height[line] - slope[line] * b
        g_a, g_b = np.split(rescaling.gamma(np.concatenate([a, b])), 2)
        reached = np.maximum(g_a * u_a + margin * a, g_b * u_b + margin * b)
        np.maximum.at(enough, sample[line], reached)
        bound = np.maximum(np.where(u_a >= 0.0, g_b, g_a) * u_a + margin * b, reached)
        wanted = enough[sample[line]]
        loose = (bound > wanted + TOLERANCE * (1.0 + np.abs(wanted))) & (b > a)
        if halving == HALVINGS:
            loose[:] = False
        np.maximum.at(out, line[~loose], bound[~loose])
        if not loose.any():
            break
        middle = 0.5 * (a + b)[loose]
        a, b = np.concatenate([a[loose], middle]), np.concatenate([middle, b[loose]])
        line = np.concatenate([line[loose], line[loose]])
    return out
