"""Parametric search: the rescaled maximum by maxima of ``f + lambda D`` for chosen ``lambda >= 0``.

Outputs are points (D, s) with ``s = f(y') - f(y)``, and their worth ``G(D) s + margin D`` grows with s. A maximum
``V(lambda)`` of ``s + lambda D`` gives a point, and a line ``V - lambda D`` that no point is above: together the lines
are the upper envelope of all points, and the most that anything under them is worth is a proven upper bound. Nothing
with a smaller loss than the best output (lambda = 0) is worth more than that output, so ``lambda >= 0`` is enough.

The next ``lambda`` of a sample is the slope between two neighbouring points where the bound is highest: either there is
a point above, or the stretch is settled. Samples are searched together, one maximisation of all open ones per round.
"""

from __future__ import annotations

import numpy as np

from palmette.data.ragged import gather
from palmette.losses.rescaled_query import Question, RescaledBest
from palmette.losses.weighted_maximum import weighted_best
from palmette.losses.worth_under_line import TOLERANCE, most_worth, spread_of

ROUNDS = 60
CLOSE = 1e-9  # relative gap below which a maximum is settled
_STEEP = 1e12


class Envelope:
    """The lines and points met so far: arrays (samples, lines), ordered by slope.

    A sample that gets no new line repeats its last one.
    """

    def __init__(self, asked: Question) -> None:
        self.asked = asked
        self.largest = np.asarray(asked.task_loss.largest(asked.structure, asked.theta, asked.true), float)
        self.spread = spread_of(asked.task_loss, self.largest)
        self.slope, self.height, self.at = (np.empty((len(asked), 0)) for _ in range(3))
        self.exact = np.ones(len(asked), bool)  # whether all maxima of a sample were

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

    def bounds(self, enough: np.ndarray) -> np.ndarray:
        """Most that anything under the lines is worth: left of the first point, and right of each to the next."""
        corner, at = self.corners()
        left, right = (
            most_worth(self.asked, self.spread, a, b, self.height, self.slope, enough)
            for a, b in ((corner[:, :-1], at), (at, corner[:, 1:]))
        )
        right[:, :-1] = np.maximum(right[:, :-1], left[:, 1:])
        return np.column_stack([left[:, 0], right])

    def is_open(self, best: RescaledBest) -> np.ndarray:
        """Whether the bounds are above the values by more than their accuracy; bounds off by rounding are mended."""
        scale = 1.0 + best.values
        rounded = best.upper <= best.values + CLOSE * scale
        best.upper[rounded] = best.values[rounded]
        return best.upper > best.values + self.accuracy * scale

    @property
    def accuracy(self) -> float:
        """Relative accuracy of bounds."""
        return CLOSE if self.asked.rescaling.name == "slack" or self.unit is not None else 2.0 * TOLERANCE

    def at_losses(self, samples: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Height of the envelope of some samples at each loss; -inf beyond the largest."""
        room = np.where(losses <= self.largest[samples, None] + 1e-9, np.inf, -np.inf)
        for j in range(self.slope.shape[1]):
            np.minimum(room, self.height[samples, j, None] - self.slope[samples, j, None] * losses, out=room)
        return room

    def chords(self) -> tuple[np.ndarray, np.ndarray]:
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
        steep = self._steeper(at[:, -1], value[:, -1])
        more = (at[:, -1] < self.largest - tiny[:, 0]) & (steep < _STEEP) & (steep > 0.0)
        return np.column_stack([chord, steep]), np.column_stack([new, more])

    def _steeper(self, at: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Beyond the last point: the slope at which a slightly larger loss would be worth as much as the point."""
        step = self.largest / 64.0 if self.unit is None else np.full(len(at), self.unit)
        step = np.where(step > 0.0, step, 1.0)
        gain, more = np.split(
            self.asked.rescaling.gamma(np.concatenate([at, np.minimum(at + step, self.largest)])), 2
        )
        more = np.maximum(more, np.finfo(float).tiny ** 0.25)
        secant = np.maximum(gap, 0.0) / step * (1.0 - gain / more) + self.asked.margin / more
        return np.maximum(secant, 2.0 * self.slope[:, -1])


def search(asked: Question) -> tuple[Envelope, RescaledBest]:
    """The best output met for every sample, with the bound that the envelope proves, and the envelope itself."""
    n, envelope = len(asked), Envelope(asked)
    best = RescaledBest(asked.true.copy(), np.zeros(n), np.zeros(n), np.full(n, np.inf))
    samples, weight = np.arange(n), np.zeros(n)
    for _ in range(ROUNDS):
        _probe(asked, samples, weight, envelope, best)
        bound = envelope.bounds(best.values)
        best.upper[:] = np.maximum(bound.max(axis=1), best.values)
        slopes, new = envelope.chords()
        hopeful = np.where(new, bound[:, 1:], -np.inf)
        pick = hopeful.argmax(axis=1)
        hope = hopeful[np.arange(n), pick]
        samples = np.flatnonzero(hope > best.values + envelope.accuracy * (1.0 + best.values))
        if not len(samples):
            break
        weight = slopes[samples, pick[samples]]
    return envelope, best


def _probe(
    asked: Question, samples: np.ndarray, weight: np.ndarray, envelope: Envelope, best: RescaledBest
) -> None:
    """Maximise ``f + weight D`` for some samples, and note the points and the lines."""
    part = asked if len(samples) == len(asked) else asked.take(samples)
    found = weighted_best(part.task_loss, part.structure, part.theta, part.true, weight)
    losses, gaps = part.place(found.codes)
    exact = found.bounds <= found.values
    # of an exact maximum the line goes through the point; a sum of other terms would round differently
    height = np.where(exact, gaps + weight * losses, found.bounds - part.truth)
    envelope.add(samples, weight, height, losses)
    envelope.exact[samples] &= exact
    values = asked.worth(losses, gaps)
    wins = values > best.values[samples]
    codes = found.codes[gather(part.offsets, np.flatnonzero(wins))[0]]
    asked.note(best, samples[wins], codes, losses[wins], values[wins])
