"""One epoch of Pegasos: a compiled loop for packed chains, a generic driver elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.losses.hamming import PartsLoss
from palmette.solvers.stochastic_pass import loss_table
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.perceptron import PerceptronLoss

TINY = 1e-3  # scale at which weights are multiplied out, as in the kernel


class Epoch(NamedTuple):
    """What an epoch leaves behind.

    Every sample is visited once, so the sum of the cuts of their losses, each at the weights when it was visited, is
    a cut of the data term: ``loss(w) >= offset + <gradient, w>``. It costs nothing.
    """

    w: np.ndarray
    total: np.ndarray  # sum of the weights after each step
    offset: float
    gradient: np.ndarray


class _Stretch(NamedTuple):
    """The steps up to the sample at ``end`` of the order, where the weights had to be multiplied out."""

    end: int
    w: np.ndarray
    total: np.ndarray
    offset: float


def run_epoch(
    problem: Any, w: np.ndarray, order: np.ndarray, batch: int, n_steps: int, limit: float
) -> Epoch:
    """Visit the samples of ``order`` in mini-batches.

    Step ``t = n_steps + 1, ...`` is ``w <- (1 - 1/t) w - (1/t) (n / batch) (gradient of the batch) / l2``; then ``w``
    is shrunk to ``sum_j l2_j w_j^2 <= limit``.
    """
    run = _compiled_stretch if is_compiled(problem) else _generic_stretch
    total, gradient, offset, end = np.zeros_like(w), np.zeros_like(w), 0.0, 0
    order = np.asarray(order, np.int64)
    while end < len(order):
        end, w, own, cost = run(problem, w, order, end, int(batch), int(n_steps), float(limit), gradient)
        total += own
        offset += cost
    return Epoch(w, total, offset, gradient)


def is_compiled(problem: Any) -> bool:
    """Whether the compiled loop serves a problem: maxima on chains of order 1 without edge features."""
    surrogate = problem.surrogate
    if type(surrogate) is Difference:
        if type(surrogate.concave_part) is not PerceptronLoss:
            return False
        surrogate = surrogate.convex_part
    loss = getattr(surrogate, "task_loss", None)
    known = (type(surrogate) is Hinge and type(loss) is PartsLoss) or type(surrogate) is PerceptronLoss
    return known and problem.can_pack and type(problem.scorer) is LinearScorer


def _compiled_stretch(
    problem: Any, w: np.ndarray, order: np.ndarray, begin: int, batch: int, n_steps: int, limit: float,
    gradient: np.ndarray,
) -> _Stretch:  # fmt: skip
    from palmette.structures.chain.kernels.packed_pegasos import pegasos_pass

    chains, samples, l2 = problem.pack(np.float64), problem.samples, problem.regularizer.l2
    v, drift, found = chains.pack_weights(w), chains.zeros(), chains.zeros()
    cost = np.zeros((chains.n_labels, chains.width))
    cost[:, : chains.n_labels] = loss_table(problem)
    labels = np.zeros((2, len(samples.codes)), np.int64)
    end, scale, area, offset = pegasos_pass(
        type(problem.surrogate) is Difference, chains.inputs, v, drift, found, chains.pack(l2), chains.base,
        chains.mask, chains.edge_mask, chains.offsets, samples.codes, samples.weight, cost.ravel(), order, begin,
        batch, chains.n_labels, chains.width, n_steps, float(np.dot(l2 * w, w)), limit, labels[0], labels[1],
    )  # fmt: skip
    chains.unpack(found, gradient)
    flat = chains.unpack(v)
    return _Stretch(end, scale * flat, area * flat - chains.unpack(drift), offset)


def _generic_stretch(
    problem: Any, w: np.ndarray, order: np.ndarray, begin: int, batch: int, n_steps: int, limit: float,
    gradient: np.ndarray,
) -> _Stretch:  # fmt: skip
    """The same steps through one-sample shards; a step touches the weights of its samples only."""
    l2, scorer, weight = problem.regularizer.l2, problem.scorer, problem.samples.weight
    v, point = w.copy(), w.copy()  # ``point`` is ``scale * v`` where the present samples look
    drift, fresh = np.zeros_like(w), np.zeros_like(w)
    scale, area, offset, norm = 1.0, 0.0, 0.0, float(np.dot(l2 * w, w))
    end = begin
    while end < len(order) and scale >= TINY:
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
    return _Stretch(end, scale * v, area * v - drift, offset)
