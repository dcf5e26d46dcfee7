"""Stochastic gradient descent with the settings, steps and stopping rule of CRFsuite's ``l2sgd``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.solver import Callback, Result
from palmette.solvers.driver import Recorder
from palmette.structures.chain.loops import packed as packing

Pass = Callable[[Any, np.ndarray, float, int], float]


@dataclass(frozen=True)
class CRFsuiteSGD:
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
    callbacks: Sequence[Callback] = field(default=())

    def solve(self, problem: Any) -> Result:
        """Minimise from zero.

        Returns
        -------
        Result
            ``primal`` is the objective of the result; the steps before the last have those of their epochs.
            ``state`` lists per epoch what `details` names.
        """
        chains, n = packing.packed(problem, np.float64), problem.n_samples
        l2 = float(problem.regularizer.l2.max(initial=0.0))
        visit = self._visit(problem, chains, l2 / n)
        rng = np.random.default_rng(self.random_state)
        eta, n_oracle = self._calibrate(problem, chains, visit, l2, rng.permutation(n)[: self.samples])
        recorder, packed = Recorder(self.callbacks), chains.zeros()
        values: list[float] = []
        rates: list[tuple[float]] = []
        best, best_value, reason = np.zeros(problem.n_params), math.inf, ""
        while not reason:
            loss = visit(packed, rng.permutation(n), eta, n * len(values))
            w = chains.unpack(packed)
            values.append(_objective(loss, l2, w))
            rates.append((1.0 / (1.0 / eta + (n * len(values) - 1) * l2 / n),))
            if not math.isfinite(values[-1]):
                raise OverflowError(
                    f"l2sgd: the loss of epoch {len(values)} is {values[-1]} at the learning rate {eta:g}; give a "
                    "lower calibration_eta, a larger c2, or smaller feature values"
                )
            if values[-1] < best_value:
                best, best_value = w, values[-1]
            stop = recorder.record(
                len(values), n_oracle + len(values), values[-1], -np.inf, partial(np.copy, w)
            )
            reason = self._reason(values) or ("callback" if stop else "")
        primal = float(problem.loss(best)[0]) + problem.regularizer.value(best)
        recorder.history[-1] = recorder.history[-1]._replace(primal=primal)
        history = tuple(recorder.history)
        return Result(best, history[-1], history, reason == "relative decrease", reason, rates)

    def _visit(self, problem: Any, chains: Any, decay: float) -> Pass:
        """One epoch from packed weights, which it changes, on the samples of an order; returns the losses met."""
        from palmette.structures.chain.kernels.packed_sgd import sgd_pass

        batch, codes = problem.samples.batch, problem.samples.codes
        return lambda packed, order, eta, n_steps: sgd_pass(
            chains.inputs, packed, chains.base, chains.mask, chains.edge_mask, batch.offsets, codes, order,
            chains.n_labels, chains.width, float(eta), decay, int(n_steps),
        )  # fmt: skip

    def _calibrate(
        self, problem: Any, chains: Any, visit: Pass, l2: float, order: np.ndarray
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

    def _reason(self, values: list[float]) -> str:
        k = len(values)
        if k > self.period and values[-1 - self.period] - values[-1] < self.delta * values[-1]:
            return "relative decrease"
        return "max_iter" if k >= self.max_iter else ""


def _objective(loss: float, l2: float, w: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # a trial may go too far
        return loss + 0.5 * l2 * float(w @ w)
