"""Common base of mistake-driven solvers: predict a sample, and update the weights if the prediction is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, RunState, Step
from palmette.loops.online_pass import OnlineState, online_pass
from palmette.loops.stochastic_pass import PassState
from palmette.solvers.driver import Seeded

Weights = TypeVar("Weights", PassState, OnlineState)


@dataclass(kw_only=True)
class PassRun(RunState, Generic[Weights]):
    """Where a run of epochs stands, one step a sample: weights and what goes with them from step to step."""

    state: Weights

    @classmethod
    def of(cls, state: Weights, history: Sequence[Step] = (), **own: Any) -> Self:
        """After the epochs of ``state``."""
        return cls(state=state, n_iter=state.epoch, n_oracle=state.epoch, history=history, **own)

    def copy(self) -> Self:
        """An independent copy."""
        return replace(self, state=self.state.copy())

    def count(self) -> None:
        """One more epoch."""
        self.state.epoch += 1
        self.n_iter, self.n_oracle = self.n_iter + 1, self.n_oracle + 1


@dataclass(frozen=True)
class Online(Seeded):
    """Base of the solvers that learn from mistakes, sample by sample in random order.

    With ``delta = counts(true) - counts(predicted)`` a wrong prediction changes the weights by a multiple of
    ``delta``; the subclass says which. A run stops after ``max_iter`` epochs, or when the mean loss of an epoch falls
    below ``tol``. After an epoch without a mistake nothing would change but the average, which is returned as it
    would be at the end. There is no objective to certify, so ``result.gap`` is NaN; ``primal`` in the history is the
    sum of the losses met during the epoch.
    """

    max_iter: int = 10
    tol: float = 0.0

    averaged: ClassVar[Any] = True
    needs: ClassVar = ("mistakes",)
    quiet: ClassVar[bool] = True

    def _rule(self) -> tuple[int, float, bool]:
        """Number of the rule in the kernels, its strength, and whether the margin is the root of the errors."""
        raise NotImplementedError

    def _variance(self, n_params: int) -> np.ndarray:
        return np.empty(0)

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> PassRun[OnlineState]:
        """The state of a new run."""
        w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
        return PassRun.of(OnlineState(w, np.zeros_like(w), self._variance(len(w))))

    def step(self, problem: SampledProblem, run: PassRun[OnlineState], last: int) -> Progress:
        """An epoch."""
        state = run.state
        order = np.random.default_rng([self.random_state, run.n_iter]).permutation(problem.n_samples)
        loss, n_wrong = online_pass(problem, state, order, *self._rule())
        run.count()
        if loss < self.tol * problem.n_samples:
            return Progress(loss, -np.inf, estimate="mean loss")
        if n_wrong > 0:
            return Progress(loss, -np.inf)
        # Further epochs would change nothing but the average: as it would be at the end.
        state.age += (last - run.n_iter) * problem.n_samples
        state.epoch = last
        return Progress(loss, -np.inf, estimate="no mistakes")

    def weights(self, problem: SampledProblem, run: PassRun[OnlineState]) -> np.ndarray:
        """The averaged or the present weights."""
        return run.state.weights(self.averaged)
