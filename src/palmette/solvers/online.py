"""Common base of mistake-driven solvers: predict a sample, and update the weights if the prediction is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from palmette.errors import MissingCapability
from palmette.solvers.base import Callback, Recorder, Result, Step, check_settings
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.surrogates.perceptron import PerceptronLoss


@dataclass
class OnlineState:
    """Weights and what goes with them from step to step; plain data, so that a run can be resumed.

    The weights before the first step and after each of the steps 1, ..., age - 1 average to ``w - drift / age``.
    """

    w: np.ndarray
    drift: np.ndarray  # sum of (the step's number) x (its change of the weights)
    variance: np.ndarray  # per weight, for AROW; empty for the others
    age: int = 1
    epoch: int = 0
    history: tuple[Step, ...] = ()

    def copy(self) -> OnlineState:
        """An independent copy."""
        return replace(self, w=self.w.copy(), drift=self.drift.copy(), variance=self.variance.copy())

    def weights(self, averaged: bool) -> np.ndarray:
        """The averaged or the present weights."""
        return self.w - self.drift / self.age if averaged else self.w.copy()


@dataclass(frozen=True)
class Online:
    """Base of the solvers that learn from mistakes, sample by sample in random order.

    With ``delta = counts(true) - counts(predicted)`` a wrong prediction changes the weights by a multiple of
    ``delta``; the subclass says which. A run stops after ``max_iter`` epochs, or when the mean loss of an epoch falls
    below ``tol``. After an epoch without a mistake nothing would change but the average, which is returned as it
    would be at the end. There is no objective to certify, so ``result.gap`` is NaN; ``primal`` in the history is the
    sum of the losses met during the epoch.
    """

    max_iter: int = 10
    tol: float = 0.0
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    averaged: ClassVar[Any] = True
    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter",), not_negative=("tol", "random_state"))

    def _rule(self) -> tuple[int, float, bool]:
        """Number of the rule in the kernels, its strength, and whether the margin is the root of the errors."""
        raise NotImplementedError

    def _variance(self, n_params: int) -> np.ndarray:
        return np.empty(0)

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: OnlineState | None = None) -> Result:
        """Run on ``problem`` from ``w0``, or go on from the ``state`` of an earlier result."""
        if not isinstance(problem.surrogate, PerceptronLoss):
            raise MissingCapability(
                f"{self.name} learns from mistakes and minimises no {type(problem.surrogate).__name__}: use it with "
                f"the Perceptron learner, Perceptron(..., solver={self.name!r})"
            )
        if state is None:
            w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
            current = OnlineState(w, np.zeros_like(w), self._variance(len(w)))
        else:
            current = state.copy()
        recorder = Recorder(self.callbacks, current.history)
        last = current.epoch + self.max_iter
        end = current.age + self.max_iter * problem.n_samples
        reason = "max_iter"
        while reason == "max_iter" and current.epoch < last:
            order = np.random.default_rng([self.random_state, current.epoch]).permutation(problem.n_samples)
            loss, n_wrong = online_pass(problem, current, order, *self._rule())
            current.epoch += 1
            stop = recorder.record(
                current.epoch, current.epoch, loss, -np.inf, lambda: current.weights(self.averaged)
            )
            if stop:
                reason = "callback"
            elif loss < self.tol * problem.n_samples:
                reason = "mean loss"
            elif n_wrong == 0:
                reason = "no mistakes"
        current.history = tuple(recorder.history)
        if reason == "no mistakes":
            current.epoch, current.age = last, end
        converged = reason in ("no mistakes", "mean loss")
        w = current.weights(self.averaged)
        return Result(w, current.history[-1], current.history, converged, reason, current)


def online_pass(
    problem: Any, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
) -> tuple[float, int]:
    """Visit each sample of ``order``: the sum of the losses and the number of wrong predictions."""
    settings = rule, float(strength), bool(root_cost)
    after, *found = problem.in_sequence(pass_here, state, np.asarray(order, np.int64), *settings)
    vars(state).update(vars(after))
    return tuple(found)


def pass_here(
    problem: Any, _: Any, state: OnlineState, order: np.ndarray, *settings: Any
) -> tuple[OnlineState, float, int]:
    """Visit each sample of ``order``: where that leads, the sum of the losses and the number of wrong predictions."""
    state = state.copy()
    run = _fused_pass if is_fused(problem) else generic_pass
    loss, n_wrong = run(problem, state, order, *settings)
    state.age += len(order)
    return state, loss, n_wrong


def is_fused(problem: Any) -> bool:
    """Whether the compiled loop for chains serves this problem, of exactly the classes it was written for."""
    structure = problem.structure
    return (
        vars(type(structure)).get("sequential_kernels") == "chain"
        and type(problem.scorer) is LinearScorer
        and getattr(structure, "order", 1) == 1
    )


def _fused_pass(
    problem: Any, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
) -> tuple[float, int]:
    from palmette.structures.chain.kernels.online import online_pass as run

    samples, scorer = problem.samples, problem.scorer
    return run(
        rule, strength, root_cost, *scorer.raw(samples.batch), samples.batch.offsets, samples.codes, samples.weight,
        scorer.n_labels, order, state.w, state.drift, state.variance, state.age,
    )  # fmt: skip


def generic_pass(
    problem: Any, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
) -> tuple[float, int]:
    """The same steps through one-sample shards, for structures without a compiled loop."""
    from palmette.structures.chain.kernels.online import AROW, PERCEPTRON, step_size

    total, n_wrong = 0.0, 0
    for turn, i in enumerate(order):
        weight = problem.samples.weight[i]
        value, counts, batch = problem.sample_loss(int(i), state.w)
        n_errors = 0.5 * float(np.abs(counts.node).sum()) / weight if weight else 0.0
        if n_errors == 0.0:
            continue
        n_wrong += 1
        margin = n_errors if rule == AROW else np.sqrt(n_errors) if root_cost else 1.0
        cost = n_errors / batch.n_rows if rule == PERCEPTRON else value + margin
        total += weight * cost
        delta = np.zeros(problem.n_params)
        problem.scorer.pull_back(counts, batch, delta)
        delta /= -weight
        direction = delta * state.variance if rule == AROW else delta
        norm = float(delta @ direction)
        if norm == 0.0:
            continue
        own = strength / weight if rule == AROW else strength * weight
        change = step_size(rule, cost, norm, own) * direction
        state.w += change
        state.drift += (state.age + turn) * change
        if rule == AROW:
            state.variance /= 1.0 + state.variance * delta**2 / own
    return total, n_wrong
