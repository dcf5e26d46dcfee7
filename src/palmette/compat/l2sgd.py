"""Stochastic gradient descent with the settings, steps and stopping rule of CRFsuite's ``l2sgd``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from palmette.contracts.executor import State
from palmette.contracts.solver import Progress, RunState
from palmette.solvers.driver import Driven
from palmette.structures.chain.loops import packed as packing

if TYPE_CHECKING:
    from palmette.contracts.problem import SampledProblem

Pass = Callable[[Any, np.ndarray, float, int], float]


class _Work(NamedTuple):
    """What epochs work on."""

    problem: SampledProblem
    chains: Any
    l2: float
    visit: Pass


@dataclass(kw_only=True)
class SGDRun(RunState):
    """Where a run stands; ``details`` lists per epoch what the solver's ``details`` names."""

    eta: float
    rng: np.random.Generator
    packed: Any
    w: np.ndarray
    best_w: np.ndarray
    best: float = math.inf
    details: list[tuple[float]] = field(default_factory=list)


@dataclass(frozen=True)
class CRFsuiteSGD(Driven):
    """One sample, one step, as CRFsuite takes them: only the random order of the samples is another.

    It minimises ``J(w) = sum_i loss_i(w) + (l2 / 2) |w|^2`` over n samples from zero. Step t goes to
    ``w <- (1 - eta_t l2 / n) w - eta_t (gradient of loss_i)``, ``eta_t = 1 / (1 / eta + t l2 / n)``, with the gradient
    at the shrunken weights. ``eta`` is *calibrated*: single epochs on some samples, each from zero, try
    ``eta, rate eta, rate^2 eta, ...`` while that lowers the loss of the zero weights, then ``eta / rate, ...``; the
    lowest objective wins. The objective of an epoch is the sum of the losses that its steps met, plus the penalty at
    its end. The weights at the end of the epoch with the lowest one are the result. palmette's own ``Stochastic``
    proves how far it is from the optimum.

    Parameters
    ----------
    max_iter : int
        Epochs.
    period, delta : int, float
        Stop when ``(objective[k - period] - objective[k]) / objective[k] < delta``.
    eta, rate : float
        The first step size of the calibration, and the factor between two.
    samples, candidates, max_trials : int
        Samples of a trial; trials that lower the loss, in either direction; ``max_trials - 1`` trials in all.
    random_state : int
    callbacks : sequence of callables
        As for all solvers.
    """

    name: ClassVar[str] = "l2sgd"
    tol: ClassVar[float] = 0.0  # type: ignore[misc]  # the rule of CRFsuite is another
    not_negative: ClassVar = ()
    unit: ClassVar[str] = "epochs"
    quiet: ClassVar[bool] = True
    details: ClassVar = ("eta",)  # of the last step of an epoch

    max_iter: int = 1000
    period: int = 10
    delta: float = 1e-6
    eta: float = 0.1
    rate: float = 2.0
    samples: int = 1000
    candidates: int = 10
    max_trials: int = 20
    random_state: int = 0

    def prepare(self, problem: SampledProblem) -> _Work:
        """The packed chains, and the epochs on them."""
        chains = packing.packed(problem, np.float64)
        l2 = float(problem.regularizer.l2.max(initial=0.0))
        return _Work(problem, chains, l2, self._visit(problem, l2 / problem.n_samples))

    def begin(self, work: _Work, w0: np.ndarray | None) -> SGDRun:
        """Zero, and a calibrated step size."""
        problem, rng = work.problem, np.random.default_rng(self.random_state)
        some = rng.permutation(problem.n_samples)[: self.samples]
        eta, n_oracle = self._calibrate(problem, work.chains, work.visit, work.l2, some)
        w = np.zeros(problem.n_params)
        return SGDRun(eta=eta, n_oracle=n_oracle, rng=rng, packed=work.chains.zeros(), w=w, best_w=w)

    def step(self, work: _Work, run: SGDRun, last: int) -> Progress:
        """An epoch."""
        n = work.problem.n_samples
        loss = work.visit(run.packed, run.rng.permutation(n), run.eta, n * run.n_iter)
        run.n_iter, run.n_oracle = run.n_iter + 1, run.n_oracle + 1
        run.w = work.chains.unpack(run.packed)
        value = _objective(loss, work.l2, run.w)
        run.details.append((1.0 / (1.0 / run.eta + (n * run.n_iter - 1) * work.l2 / n),))
        if not math.isfinite(value):
            raise OverflowError(
                f"l2sgd: the loss of epoch {run.n_iter} is {value} at the learning rate {run.eta:g}; give a lower "
                "calibration_eta, a larger c2, or smaller feature values"
            )
        if value < run.best:
            run.best_w, run.best = run.w, value
        then = run.history[-self.period].primal if run.n_iter > self.period else math.inf
        slow = then - value < self.delta * value
        return Progress(value, -np.inf, estimate="relative decrease" if slow else "")

    def finish(self, work: _Work, run: SGDRun, reason: str) -> Progress | None:
        """The objective of the best epoch's weights."""
        run.w = run.best_w
        if reason == "interrupted":
            return None
        primal = float(work.problem.loss(run.w)[0]) + work.problem.regularizer.value(run.w)
        return Progress(primal, -np.inf)

    def weights(self, work: _Work, run: SGDRun) -> np.ndarray:
        """Those of the last epoch; at the end those of the best."""
        return run.w.copy()

    def _visit(self, problem: SampledProblem, decay: float) -> Pass:
        """One epoch from packed weights, which it changes, on the samples of an order; returns the losses met."""

        def visit(packed: Any, order: np.ndarray, eta: float, n_steps: int) -> float:
            after, loss = problem.in_sequence(_epoch, packed, order, float(eta), decay, int(n_steps))
            for part, own in zip(packed, after):
                part[:] = own
            return loss

        return visit

    def _calibrate(
        self, problem: SampledProblem, chains: Any, visit: Pass, l2: float, order: np.ndarray
    ) -> tuple[float, float]:
        """The step size of the best trial, and the passes over the data that the trials took."""
        share = len(order) / problem.n_samples
        at_zero = float(np.diff(problem.samples.batch.offsets)[order].sum() * math.log(chains.n_labels))
        best, best_value = self.eta, math.inf
        eta, left, growing, n_trials = self.eta, self.candidates, True, 0
        while (left > 0 or growing) and n_trials < max(self.max_trials - 1, 1):
            packed = chains.zeros()
            loss = visit(packed, order, eta, 0)
            w = chains.unpack(packed)
            value = _objective(loss, share * l2, w)
            n_trials += 1
            lower = value < at_zero  # false for NaN
            left -= lower
            if value < best_value:
                best, best_value = eta, value
            if not growing:
                eta /= self.rate
            elif lower and left > 0:
                eta *= self.rate
            else:
                growing, left, eta = False, self.candidates, self.eta / self.rate
        return best, share * n_trials


def _epoch(
    problem: Any, state: State, packed: Any, order: np.ndarray, eta: float, decay: float, n_steps: int
) -> tuple[Any, float]:
    from palmette.structures.chain.kernels.packed_sgd import sgd_pass

    chains = packing.packed(problem, np.float64)
    packed = type(packed)(*(part.copy() for part in packed))
    data = chains.view(problem.samples)
    return packed, sgd_pass(data, packed, chains.mask, chains.edge_mask, order, eta, decay, n_steps)


def _objective(loss: float, l2: float, w: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # a trial may go too far
        return loss + 0.5 * l2 * float(w @ w)
