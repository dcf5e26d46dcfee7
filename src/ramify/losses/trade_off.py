"""Parametric search: the rescaled maximum by maxima of ``f + lambda D`` for chosen ``lambda >= 0``.

Outputs are points (D, s) with ``s = f(y') - f(y)``, and their worth ``G(D) s + margin D`` grows with s. A maximum
``V(lambda)`` of ``s + lambda D`` gives a point, and a line ``V - lambda D`` that no point is above: together the lines
are the upper envelope of all points, and the most that anything under them is worth is a proven upper bound. Nothing
with a smaller loss than the best output (lambda = 0) is worth more than that output, so ``lambda >= 0`` is enough.

The next ``lambda`` of a sample is the slope between two neighbouring points where the bound is highest: either there is
a point above, or the stretch is settled. Samples are searched together, one maximisation of all open ones a round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.data.ragged import gather
from ramify.losses.pieces import TOLERANCE, Spread, most_worth, worth
from ramify.losses.rescaling import RescaledBest
from ramify.losses.weighted import weighted_best

ROUNDS = 60
MOST_LEVELS = 100_000  # beyond, losses count as real numbers
CLOSE = 1e-9  # relative gap below which a maximum is settled
_STEEP = 1e12


class Envelope:
    """The lines and points met so far: arrays (samples, lines), ordered by slope.

    A sample that gets no new line repeats its last one.
    """

    def __init__(self, largest: np.ndarray, spread: Spread) -> None:
        self.largest, self.spread = largest, spread  # of the losses of each sample, and of all
        self.slope, self.height, self.at = (np.empty((len(largest), 0)) for _ in range(3))
        self.exact = np.ones(len(largest), bool)  # whether all maxima of a sample were

    @property
    def unit(self) -> float | None:
        """The unit of all losses."""
        return self.spread.unit

    def add(self, samples: np.ndarray, slope: np.ndarray, height: np.ndarray, at: np.ndarray) -> None:
        """A line for each of some samples, and the loss of the point on it."""
        merged = []
        for array, new in ((self.slope, slope), (self.height, height), (self.at, at)):
            column = array[:, -1].copy() if array.shape[1] else np.empty(len(self.largest))
            column[samples] = new
            merged.append(np.column_stack([array, column]))
        order = np.argsort(merged[0], axis=1, kind="stable")
        self.slope, self.height, self.at = (np.take_along_axis(array, order, axis=1) for array in merged)

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each line gives way to the next, (samples, lines + 1), and its point between, (samples, lines)."""
        n, m = self.slope.shape
        steeper = np.diff(self.slope, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = np.where(steeper > 0.0, np.diff(self.height, axis=1) / steeper, self.at[:, :-1])
        corner = np.empty((n, m + 1))
        corner[:, 0], corner[:, -1] = 0.0, self.largest
        corner[:, 1:-1] = np.clip(meet, 0.0, self.largest[:, None])
        corner = np.maximum.accumulate(corner, axis=1)  # any order is a bound; rounding must not leave a hole
        return corner, np.clip(self.at, corner[:, :-1], corner[:, 1:])

    def bounds(self, rescaling: Any, margin: bool, enough: np.ndarray) -> np.ndarray:
        """Most that anything under the lines is worth: left of the first point, and right of each to the next."""
        corner, at = self.corners()
        left, right = (
            most_worth(rescaling, margin, self.spread, a, b, self.height, self.slope, enough)
            for a, b in ((corner[:, :-1], at), (at, corner[:, 1:]))
        )
        right[:, :-1] = np.maximum(right[:, :-1], left[:, 1:])
        return np.column_stack([left[:, 0], right])

    def is_open(self, rescaling: Any, best: RescaledBest) -> np.ndarray:
        """Whether the bounds are above the values by more than their accuracy; bounds off by rounding are mended."""
        scale = 1.0 + best.values
        rounded = best.upper <= best.values + CLOSE * scale
        best.upper[rounded] = best.values[rounded]
        return best.upper > best.values + self.accuracy(rescaling) * scale

    def accuracy(self, rescaling: Any) -> float:
        """Relative accuracy of bounds."""
        return CLOSE if rescaling.name == "slack" or self.unit is not None else 2.0 * TOLERANCE

    def at_losses(self, samples: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Height of the envelope of some samples at each loss; -inf beyond the largest."""
        room = np.where(losses <= self.largest[samples, None] + 1e-9, np.inf, -np.inf)
        for j in range(self.slope.shape[1]):
            np.minimum(room, self.height[samples, j, None] - self.slope[samples, j, None] * losses, out=room)
        return room

    def chords(self, rescaling: Any, margin: bool) -> tuple[np.ndarray, np.ndarray]:
        """Slopes to ask for between each point and the next, and whether that can tell anything new."""
        corner, at = self.corners()
        value = self.height - self.slope * at
        wide = np.diff(at, axis=1)
        tiny = 1e-12 * (1.0 + self.largest)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = np.where(wide > tiny, -np.diff(value, axis=1) / wide, 0.0)
        # how far the corner stands out above the chord
        middle = corner[:, 1:-1]
        out = self.height[:, :-1] - self.slope[:, :-1] * middle
        out -= value[:, :-1] - chord * (middle - at[:, :-1])
        scale = 1.0 + np.abs(value[:, :-1])
        new = (
            (wide > tiny) & (chord > self.slope[:, :-1]) & (chord < self.slope[:, 1:]) & (out > 1e-11 * scale)
        )
        steep = self._steeper(rescaling, margin, at[:, -1], value[:, -1])
        more = (at[:, -1] < self.largest - tiny[:, 0]) & (steep < _STEEP) & (steep > 0.0)
        return np.column_stack([chord, steep]), np.column_stack([new, more])

    def _steeper(self, rescaling, margin, at, gap) -> np.ndarray:
        """Beyond the last point: the slope at which a slightly larger loss would be worth as much as the point."""
        step = self.largest / 64.0 if self.unit is None else np.full(len(at), self.unit)
        step = np.where(step > 0.0, step, 1.0)
        gain, more = np.split(rescaling.gamma(np.concatenate([at, np.minimum(at + step, self.largest)])), 2)
        more = np.maximum(more, np.finfo(float).tiny ** 0.25)
        secant = np.maximum(gap, 0.0) / step * (1.0 - gain / more) + margin / more
        return np.maximum(secant, 2.0 * self.slope[:, -1])


def search(
    task_loss: Any,
    structure: Any,
    theta: Any,
    true: np.ndarray,
    truth: np.ndarray,
    rescaling: Any,
    margin: bool,
) -> tuple[Envelope, RescaledBest]:
    """The best output met for every sample, with the bound that the envelope proves, and the envelope itself."""
    n = len(theta)
    largest = np.asarray(task_loss.largest(structure, theta, true), float)
    envelope = Envelope(largest, spread_of(task_loss, largest))
    best = RescaledBest(true.copy(), np.zeros(n), np.zeros(n), np.full(n, np.inf))
    samples, weight, accuracy = np.arange(n), np.zeros(n), envelope.accuracy(rescaling)
    for _ in range(ROUNDS):
        _probe(task_loss, structure, theta, true, truth, rescaling, margin, samples, weight, envelope, best)
        bound = envelope.bounds(rescaling, margin, best.values)
        best.upper[:] = np.maximum(bound.max(axis=1), best.values)
        slopes, new = envelope.chords(rescaling, margin)
        hopeful = np.where(new, bound[:, 1:], -np.inf)
        pick = hopeful.argmax(axis=1)
        hope = hopeful[np.arange(n), pick]
        samples = np.flatnonzero(hope > best.values + accuracy * (1.0 + best.values))
        if not len(samples):
            break
        weight = slopes[samples, pick[samples]]
    return envelope, best


def spread_of(task_loss: Any, largest: np.ndarray) -> Spread:
    """Which losses there are, as far as the task loss tells; multiples of a unit if they are not too many."""
    unit = getattr(task_loss, "unit", None)
    if unit is not None and largest.max() / unit > MOST_LEVELS:
        unit = None
    return Spread(unit, getattr(task_loss, "least", 0.0))


def _probe(
    task_loss, structure, theta, true, truth, rescaling, margin, samples, weight, envelope, best
) -> None:
    """Maximise ``f + weight D`` for some samples, and note the points and the lines."""
    part, rows = theta, np.arange(len(true))
    if len(samples) < len(theta) and hasattr(theta, "take"):
        part, rows = theta.take(samples), gather(theta.offsets, samples)[0]
        own = np.arange(len(samples))
    else:  # potentials that cannot be taken apart: the others are asked again, in vain
        own = samples
        everyone = np.zeros(len(theta))
        everyone[samples] = weight
        weight = everyone
    found = weighted_best(task_loss, structure, part, true[rows], weight)
    losses = task_loss.value(structure, part, true[rows], found.codes)[own]
    gaps = structure.score(part, found.codes)[own] - truth[samples]
    weight, exact = weight[own], (found.bounds <= found.values)[own]
    # of an exact maximum the line goes through the point; a sum of other terms would round differently
    height = np.where(exact, gaps + weight * losses, found.bounds[own] - truth[samples])
    envelope.add(samples, weight, height, losses)
    envelope.exact[samples] &= exact
    value = worth(rescaling, margin, losses, gaps)
    wins = value > best.values[samples]
    best.values[samples[wins]], best.losses[samples[wins]] = value[wins], losses[wins]
    winners = gather(theta.offsets, samples[wins])[0]
    best.codes[winners] = found.codes[gather(part.offsets, own[wins])[0]]
