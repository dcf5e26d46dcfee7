"""Common base of mistake-driven solvers: predict a sample, and update the weights if the prediction is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops.online_pass import OnlineState, online_pass
from palmette.solvers.base import Callback, Recorder, Result, check_settings
from palmette.surrogates.perceptron import PerceptronLoss


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
