"""One pass of stochastic steps over the samples: a fused kernel where there is one, a generic driver elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ramify.losses.hamming import PartsLoss
from ramify.scorers.linear import LinearScorer
from ramify.surrogates.hinge import Hinge
from ramify.surrogates.log import LogLoss
from ramify.surrogates.perceptron import PerceptronLoss


@dataclass
class PassState:
    """Weights and what goes with them from step to step; plain data, so that a run can be resumed.

    ``drift`` holds ``sum_s age_s change_s``: the average of the weights since the average was restarted is
    ``w - drift / age``, although each step touches only some weights.
    """

    w: np.ndarray
    squares: np.ndarray
    drift: np.ndarray
    touch_count: np.ndarray  # per weight: number of samples that touch it
    rate: float
    decay: float
    adaptive: bool
    n_steps: int = 0
    age: int = 0
    epoch: int = 0

    @classmethod
    def new(cls, problem: Any, w0: np.ndarray | None, *, adaptive: bool, rate: float = 1.0) -> PassState:
        """Start at ``w0`` (zero by default)."""
        w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
        return cls(w, np.zeros_like(w), np.zeros_like(w), touch_counts(problem), rate, 0.0, adaptive)

    def copy(self) -> PassState:
        """An independent copy."""
        arrays = {
            f.name: getattr(self, f.name).copy() for f in fields(self) if f.name in ("w", "squares", "drift")
        }
        return replace(self, **arrays)

    def restart_average(self) -> None:
        """Average from the present weights on."""
        self.drift[:] = 0.0
        self.age = 0

    def weights(self, averaged: bool) -> np.ndarray:
        """The present or the averaged weights."""
        return self.w - self.drift / self.age if averaged and self.age else self.w.copy()


def is_fused(problem: Any) -> bool:
    """Whether the compiled loop for chains serves this problem, of exactly the classes it was written for."""
    loss = getattr(problem.surrogate, "task_loss", None)
    return (
        vars(type(problem.structure)).get("sequential_kernels") == "chain"
        and type(problem.scorer) is LinearScorer
        and type(problem.surrogate) in (LogLoss, Hinge, PerceptronLoss)
        and (loss is None or type(loss) is PartsLoss)
    )


def loss_table(problem: Any) -> np.ndarray:
    """Cost of each confusion, zero where the surrogate has no task loss."""
    loss = getattr(problem.surrogate, "task_loss", None)
    n = problem.scorer.n_labels
    return np.zeros((n, n)) if loss is None else loss.table


def touch_counts(problem: Any) -> np.ndarray:
    """For every weight the number of samples that touch it."""
    samples, scorer = problem.samples, problem.scorer
    if not is_fused(problem):
        count = np.zeros(problem.n_params)
        for i in range(problem.n_samples):
            count[scorer.touched(samples.batch.slice(i, i + 1))] += 1
        return count
    from ramify._kernels.chain_sample import count_samples_of_columns

    n = scorer.n_columns
    columns = np.zeros(n)
    dense, indptr, indices, *_ = scorer.raw(samples.batch)
    scratch = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count_samples_of_columns(dense, indptr, indices, samples.batch.offsets, *scratch, columns)
    count = np.full(problem.n_params, float(problem.n_samples))
    count[: scorer.n_node] = columns[scorer.coordinates()[0]]
    return count


def stochastic_pass(problem: Any, state: PassState, order: np.ndarray) -> tuple[float, int]:
    """Take one step on each sample of ``order``.

    Returns the sum of the samples' values, each before its step, and the number of samples that called for one.
    """
    run = _fused_pass if is_fused(problem) else generic_pass
    value, n_updates = run(problem, state, np.asarray(order, np.int64))
    state.n_steps += len(order)
    state.age += len(order)
    return value, n_updates


def _fused_pass(problem: Any, state: PassState, order: np.ndarray) -> tuple[float, int]:
    from ramify._kernels import chain_stochastic as kernels

    kinds = {LogLoss: kernels.LOG, Hinge: kernels.HINGE, PerceptronLoss: kernels.PERCEPTRON}
    samples, reg = problem.samples, problem.regularizer
    return kernels.stochastic_pass(
        kinds[type(problem.surrogate)], *problem.scorer.raw(samples.batch), samples.batch.offsets, samples.codes,
        samples.weight, loss_table(problem), problem.scorer.n_columns, order, state.w, state.squares, state.drift,
        state.touch_count, reg.l2, reg.l1, state.rate, state.decay, state.adaptive, state.n_steps, state.age,
    )  # fmt: skip


def generic_pass(problem: Any, state: PassState, order: np.ndarray) -> tuple[float, int]:
    """The same steps through one-sample shards, for structures without a compiled loop."""
    total, n_updates = 0.0, 0
    l2, l1 = problem.regularizer.l2, problem.regularizer.l1
    gradient = np.zeros(problem.n_params)
    for turn, i in enumerate(order):
        value, counts, batch = problem.sample_loss(int(i), state.w)
        total += problem.samples.weight[i] * value
        gradient[:] = 0.0
        problem.scorer.pull_back(counts, batch, gradient)
        n_updates += bool(np.any(counts.node != 0.0))
        at = problem.scorer.touched(batch)
        share = 1.0 / state.touch_count[at]
        step = gradient[at] + share * l2[at] * state.w[at]
        pace = np.full(len(at), state.rate / (1.0 + state.decay * (state.n_steps + turn)))
        if state.adaptive:
            state.squares[at] += step * step
            pace = np.divide(
                pace, np.sqrt(state.squares[at]), out=np.zeros_like(pace), where=state.squares[at] > 0
            )
        fresh = state.w[at] - pace * step
        fresh = np.sign(fresh) * np.maximum(np.abs(fresh) - pace * share * l1[at], 0.0)
        state.drift[at] += (state.age + turn) * (fresh - state.w[at])
        state.w[at] = fresh
    return total, n_updates
