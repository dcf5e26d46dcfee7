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

import numpy as np

from palmette.data.ragged import gather
from palmette.errors import TooWide
from palmette.losses.levels import LARGEST_TABLE, best_of_levels, table_sizes
from palmette.losses.parametric_search import Envelope
from palmette.losses.rescaled_query import Question, RescaledBest
from palmette.losses.worth_under_line import most_worth

NEXT = (4, 16, 64)  # outputs asked for at a line, the first time, the second time, ...
TRIES = 12  # lines asked for their k best


def close(envelope: Envelope, found: RescaledBest) -> None:
    """Put better outputs, and bounds that meet their values where possible, into what a search found."""
    asked = envelope.asked
    samples = np.flatnonzero(envelope.is_open(found) & envelope.exact)
    if not len(samples):
        return
    if envelope.unit is not None and asked.structure.can("best_by_level"):
        _by_levels(envelope, envelope.unit, found, samples)
        return
    for s in samples.tolist():
        outputs = None
        if hasattr(asked.task_loss, "candidates"):
            own = asked.take(np.array([s]))
            outputs = asked.task_loss.candidates(own.theta, own.true)
        if outputs is not None:
            _look_at(asked, found, s, outputs)
            found.upper[s] = found.values[s]
        elif asked.structure.can("k_best") and hasattr(asked.task_loss, "weighted_cost"):
            _by_k_best(envelope, found, s)


def _by_levels(envelope: Envelope, unit: float, found: RescaledBest, samples: np.ndarray) -> None:
    asked = envelope.asked
    losses = np.arange(np.floor(envelope.largest[samples].max() / unit + 0.5) + 1) * unit
    room = asked.worth(losses, envelope.at_losses(samples, losses)) > found.values[samples, None]
    top = len(losses) - 1 - room[:, ::-1].argmax(axis=1)
    fits = table_sizes(asked, samples, top) <= LARGEST_TABLE
    samples, top = samples[fits], top[fits]
    if not len(samples):
        return
    part = asked.take(samples)
    best = best_of_levels(part, unit, top)
    wins = np.flatnonzero(best.values > found.values[samples])
    codes = best.codes[gather(part.offsets, wins)[0]]
    asked.note(found, samples[wins], codes, best.losses[wins], best.values[wins])
    found.upper[samples] = found.values[samples]


def _by_k_best(envelope: Envelope, found: RescaledBest, s: int) -> None:
    """One sample: list outputs at the line where the bound is highest until the bound meets the best value."""
    asked = envelope.asked
    own = asked.take(np.array([s]))
    slope, height = envelope.slope[s], envelope.height[s].copy()
    times = np.zeros(len(slope), int)
    for _ in range(TRIES):
        bound, line = _tight(envelope, s, height, found.values[s])
        found.upper[s] = max(bound, found.values[s])
        if not envelope.is_open(found)[s] or times[line] == len(NEXT):
            return
        k = NEXT[times[line]]
        times[line] += 1
        cost = own.task_loss.weighted_cost(own.structure, own.theta, own.true, slope[line])
        if cost is None:  # a loss that is not a sum of costs
            return
        try:
            ranked = np.array([codes for codes, _ in own.structure.k_best(own.theta, k, cost=cost)[0]])
        except TooWide:  # a graph whose best labels alone are found exactly, by a graph cut say
            return
        losses, gaps = _look_at(asked, found, s, ranked)
        if len(ranked) < k:  # there are no others
            found.upper[s] = found.values[s]
            return
        height[line] = min(height[line], gaps[-1] + slope[line] * losses[-1])


def _look_at(
    asked: Question, found: RescaledBest, s: int, outputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Losses and gaps of some outputs of a sample; the best is kept."""
    copies = asked.take(np.full(len(outputs), s))
    losses, gaps = copies.place(outputs.ravel())
    values = asked.worth(losses, gaps)
    best = values.argmax()
    if values[best] > found.values[s]:
        asked.note(found, np.array([s]), outputs[best], losses[best], values[best])
    return losses, gaps


def _tight(envelope: Envelope, s: int, height: np.ndarray, enough: float) -> tuple[float, int]:
    """The most that is worth under all lines of a sample at once, and the line where it is."""
    slope, largest = envelope.slope[s], envelope.largest[s]
    one, two = np.triu_indices(len(slope), 1)
    steeper = slope[two] - slope[one]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (height[two] - height[one]) / steeper
    corner = np.unique(np.clip(np.concatenate([[0.0, largest], meet[steeper > 0.0]]), 0.0, largest))
    a, b = (corner[:-1], corner[1:]) if len(corner) > 1 else (corner, corner)
    lowest = (height[:, None] - slope[:, None] * (0.5 * (a + b))).argmin(axis=0)
    bounds = most_worth(
        envelope.asked, envelope.spread, a[None], b[None], height[lowest][None], slope[lowest][None],
        np.array([enough]),
    )[0]  # fmt: skip
    return float(bounds.max()), int(lowest[bounds.argmax()])
