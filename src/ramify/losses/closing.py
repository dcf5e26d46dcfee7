"""What a parametric search leaves open: outputs below the envelope of the points (loss, score) may be worth more.

Three ways to settle it, for the samples concerned only:

levels
    losses that are multiples of a unit, on structures with ``best_by_level``: the best score at every loss that the
    bound leaves room for, by dynamic programming. Exact; left out where its table would be too large.
all candidates
    losses that can list the few outputs of a sample among which the best must be (``candidates``). Exact.
k best
    structures with ``k_best``: the outputs next to the line where the bound is highest. What is not among the k best is
    below a lower line. For losses with ``weighted_cost``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.data.ragged import gather
from ramify.errors import TooWide
from ramify.losses.levels import LARGEST_TABLE, best_of_levels, table_sizes
from ramify.losses.pieces import most_worth, worth
from ramify.losses.rescaling import RescaledBest
from ramify.losses.trade_off import Envelope

NEXT = (4, 16, 64)  # outputs asked for at a line, the first time, the second time, ...
TRIES = 12  # lines asked for their k best


def closed(
    task_loss: Any, structure: Any, theta: Any, true: np.ndarray, truth: np.ndarray, rescaling: Any,
    margin: bool, found: RescaledBest, envelope: Envelope,
) -> RescaledBest:  # fmt: skip
    """The found outputs, or better ones, with bounds that meet their values where possible."""
    open_ = np.flatnonzero(envelope.is_open(rescaling, found) & envelope.exact)
    if not len(open_) or not hasattr(theta, "take"):
        return found
    if envelope.unit is not None and hasattr(structure, "best_by_level"):
        _by_levels(task_loss, structure, theta, true, truth, rescaling, margin, found, envelope, open_)
    else:
        for s in open_.tolist():
            _alone(task_loss, structure, theta, true, truth, rescaling, margin, found, envelope, s)
    return found


def _by_levels(task_loss, structure, theta, true, truth, rescaling, margin, found, envelope, open_) -> None:
    unit = envelope.unit
    losses = np.arange(np.floor(envelope.largest[open_].max() / unit + 0.5) + 1) * unit
    room = envelope.at_losses(open_, losses)
    wanted = rescaling.gamma(losses) * room + margin * losses > found.values[open_, None]
    top = len(losses) - 1 - wanted[:, ::-1].argmax(axis=1)
    fits = table_sizes(theta, open_, top) <= LARGEST_TABLE
    open_, top = open_[fits], top[fits]
    if not len(open_):
        return
    part, rows = theta.take(open_), gather(theta.offsets, open_)[0]
    best = best_of_levels(task_loss, structure, part, true[rows], truth[open_], rescaling, margin, unit, top)
    wins = best.values > found.values[open_]
    better = gather(part.offsets, np.flatnonzero(wins))[0]
    _note(theta, found, open_[wins], best.codes[better], best.values[wins], best.losses[wins])
    found.upper[open_] = found.values[open_]


def _alone(task_loss, structure, theta, true, truth, rescaling, margin, found, envelope, s) -> None:
    """One sample: by all candidates, or by the k best."""
    own, rows = theta.take(np.array([s])), slice(theta.offsets[s], theta.offsets[s + 1])

    def look_at(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Losses and scores of some outputs; the best is kept."""
        copies = theta.take(np.full(len(outputs), s))
        losses = task_loss.value(structure, copies, np.tile(true[rows], len(outputs)), outputs.ravel())
        gaps = structure.score(copies, outputs.ravel()) - truth[s]
        values = worth(rescaling, margin, losses, gaps)
        best = values.argmax()
        if values[best] > found.values[s]:
            _note(theta, found, np.array([s]), outputs[best], values[best], losses[best])
        return losses, gaps

    outputs = task_loss.candidates(own, true[rows]) if hasattr(task_loss, "candidates") else None
    if outputs is not None:
        look_at(outputs)
        found.upper[s] = found.values[s]
        return
    if not (hasattr(structure, "k_best") and hasattr(task_loss, "weighted_cost")):
        return
    slope, height = envelope.slope[s], envelope.height[s].copy()
    asked = np.zeros(len(slope), int)
    for _ in range(TRIES):
        bound, line = _tight(rescaling, margin, envelope, s, slope, height, found.values[s])
        found.upper[s] = max(bound, found.values[s])
        if not envelope.is_open(rescaling, found)[s] or asked[line] == len(NEXT):
            return
        cost = task_loss.weighted_cost(own, true[rows], slope[line])
        if cost is None:  # a loss that is no sum of costs
            return
        k = NEXT[asked[line]]
        asked[line] += 1
        try:
            ranked = np.array([codes for codes, _ in structure.k_best(own, k, cost=cost)[0]])
        except TooWide:  # a graph whose best labels alone are found exactly, by a graph cut say
            return
        losses, gaps = look_at(ranked)
        if len(ranked) < k:  # there are no others
            found.upper[s] = found.values[s]
            return
        height[line] = min(height[line], gaps[-1] + slope[line] * losses[-1])


def _tight(rescaling, margin, envelope, s, slope, height, enough) -> tuple[float, int]:
    """The most that is worth under all lines of a sample at once, and the line where it is."""
    one, two = np.triu_indices(len(slope), 1)
    steeper = slope[two] - slope[one]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (height[two] - height[one]) / steeper
    corner = np.concatenate([[0.0, envelope.largest[s]], meet[steeper > 0.0]])
    corner = np.unique(np.clip(corner, 0.0, envelope.largest[s]))
    a, b = (corner[:-1], corner[1:]) if len(corner) > 1 else (corner, corner)
    lowest = (height[:, None] - slope[:, None] * (0.5 * (a + b))).argmin(axis=0)
    bounds = most_worth(
        rescaling, margin, envelope.spread, a[None], b[None], height[lowest][None], slope[lowest][None],
        np.array([enough]),
    )[0]  # fmt: skip
    return float(bounds.max()), int(lowest[bounds.argmax()])


def _note(theta, found, samples, codes, values, losses) -> None:
    found.codes[gather(theta.offsets, samples)[0]] = codes
    found.values[samples], found.losses[samples] = values, losses
