"""One epoch of Pegasos: a compiled loop where there is one, a generic one elsewhere."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from palmette._kernels.constants import SMALLEST_SCALE
from palmette.contracts.executor import State
from palmette.contracts.problem import SampledProblem
from palmette.loops.table import Loop, find


class Epoch(NamedTuple):
    """What an epoch leaves behind.

    Every sample is visited once, so the sum of the cuts of their losses, each at the weights when it was visited, is
    a cut of the data term: ``loss(w) >= offset + <gradient, w>``. It costs nothing.
    """

    w: np.ndarray
    total: np.ndarray  # sum of the weights after each step
    offset: float
    gradient: np.ndarray


class Pace(NamedTuple):
    """Samples per step, steps that were taken before, and the most that ``sum_j l2_j w_j^2`` may be."""

    batch: int
    n_steps: int
    limit: float


class Stretch(NamedTuple):
    """The steps up to the sample at ``end`` of the order, where the weights had to be multiplied out."""

    end: int
    w: np.ndarray
    total: np.ndarray
    offset: float


class Stretches(Protocol):
    """A loop of the table for Pegasos."""

    def run(self, w: np.ndarray, order: np.ndarray, begin: int, pace: Pace, gradient: np.ndarray) -> Stretch:
        """Visit the samples ``order[begin:]``, as far as the common scale allows; adds to ``gradient``."""


def run_epoch(
    problem: SampledProblem, w: np.ndarray, order: np.ndarray, batch: int, n_steps: int, limit: float
) -> Epoch:
    """Visit the samples of ``order`` in mini-batches, where they are.

    Step ``t = n_steps + 1, ...`` is ``w <- (1 - 1/t) w - (1/t) (n / batch) (gradient of the batch) / l2``; then ``w``
    is shrunk to ``sum_j l2_j w_j^2 <= limit``.
    """
    order = np.asarray(order, np.int64)
    return problem.in_sequence(_epoch, w, order, Pace(int(batch), int(n_steps), float(limit)))


def _epoch(problem: SampledProblem, state: State, w: np.ndarray, order: np.ndarray, pace: Pace) -> Epoch:
    stretches: Stretches = (find("pegasos", problem) or GenericStretches)(problem)
    total, gradient, offset, end = np.zeros_like(w), np.zeros_like(w), 0.0, 0
    while end < len(order):
        end, w, own, cost = stretches.run(w, order, end, pace, gradient)
        total += own
        offset += cost
    return Epoch(w, total, offset, gradient)


class GenericStretches(Loop):
    """The same steps through one-sample shards; a step touches the weights of its samples only."""

    def run(self, w: np.ndarray, order: np.ndarray, begin: int, pace: Pace, gradient: np.ndarray) -> Stretch:
        """Visit the samples ``order[begin:]``, as far as the common scale allows; adds to ``gradient``."""
        problem, (batch, n_steps, limit) = self.problem, pace
        l2, scorer, weight = problem.regularizer.l2, problem.scorer, problem.samples.weight
        v, point = w.copy(), w.copy()  # ``point`` is ``scale * v`` where the present samples look
        drift, fresh = np.zeros_like(w), np.zeros_like(w)
        scale, area, offset, norm = 1.0, 0.0, 0.0, float(np.dot(l2 * w, w))
        end = begin
        while end < len(order) and scale >= SMALLEST_SCALE:
            visited = order[end : end + batch]
            touched = []
            for i in visited:
                at = scorer.touched(problem.samples.batch.slice(i, i + 1))
                point[at] = scale * v[at]
                value, counts, inputs = problem.sample_loss(int(i), point)
                scorer.pull_back(counts, inputs, fresh)
                offset += weight[i] * value
                touched.append(at[fresh[at] != 0.0])
            at = np.unique(np.concatenate(touched))
            own = fresh[at]
            fresh[at] = 0.0
            offset -= float(own @ (scale * v[at]))
            gradient[at] += own
            rate = 1.0 / (n_steps + 1.0 + end // batch)
            scale *= 1.0 - rate
            change = -rate * len(order) / (len(visited) * scale) * own / l2[at]
            norm += float(np.dot(l2[at] * change, 2.0 * v[at] + change))
            v[at] += change
            drift[at] += area * change
            if scale * scale * norm > limit:
                scale = float(np.sqrt(limit / norm))
            area += scale
            end += len(visited)
        return Stretch(end, scale * v, area * v - drift, offset)
