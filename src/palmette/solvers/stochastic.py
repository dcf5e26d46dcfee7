"""Stochastic (sub)gradient descent: averaged, adaptive (AdaGrad) or with a decaying rate, with L2 and L1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.contracts.structure import require
from palmette.loops.stochastic_pass import DTYPES, PassState, check_choices, stochastic_pass
from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import bounded_loss, is_convex, is_l1_alone, require_separable, who_takes
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, check_settings, contradicted, warn_unconverged
from palmette.solvers.nonconvex_start import first_weights

FIRST_EPOCHS = 20  # on the convex part of a loss that is not convex, where no weights are given
HALVINGS = 40  # of the largest weight, after which weights are zero in single precision anyway
RATES = {"adagrad": (0.01, 0.03, 0.1, 0.3, 1.0), "sgd": (0.001, 0.01, 0.1, 1.0)}


@register("solver")
@dataclass(frozen=True)
class Stochastic:
    """One sample, one step: good weights after few passes, a bound on what is left at the end.

    At step s on sample i the weights that the sample touches move by ``-rate_s (gradient of loss_i + its share of
    the penalty)``; the penalty of a weight is spread evenly over the samples that touch it, so the expected step is
    that of the whole objective. ``rule="adagrad"`` divides each coordinate by the root of its summed squared
    gradients, ``rule="sgd"`` lets the rate decay as ``rate / (1 + s / n_samples)``. L1 is a proximal step.
    The result is the average of the weights since the last power-of-two epoch. With L1, its small weights are then made
    exactly zero, as many as do not raise the objective, which takes about five passes.

    Parameters
    ----------
    rule : {"adagrad", "sgd"}
    rate : float or "auto"
        ``"auto"`` tries a few rates on up to 500 samples and takes the best.
    averaged : bool
    max_iter : int
        Epochs.
    tol : float
        Relative suboptimality to reach: the run stops when the proven gap, or the relative decrease over two checks
        (``check_every`` epochs apart each), reaches it. With L1, ``converged`` is true only where the gap proves it: a
        slow decrease says little there. Nor is it where the proven gap is above 1 %.
    check_every : int
        Epochs between two full passes, which give objective and bound.
    parallel : {None, "sharded", "lock_free"}
        None visits one sample after the other. "sharded": four parts of the samples at a time, whose weights are
        averaged after each epoch; the result does not depend on the number of threads. "lock_free": all threads
        change the same weights without waiting for each other: fastest, and **not reproducible**.
    precision : {"single", "double"}
        Of the compiled loop; objective and bound are computed in double precision.
    random_state : int

    With a :class:`~palmette.regularizers.Decomposition` each epoch visits random pieces of the samples. Cuts redrawn
    each epoch leave no fixed objective: ``gap`` is NaN, ``primal`` is the loss met during the epoch plus the penalty,
    and the run stops when it changes by less than ``tol``, relatively, from one epoch to the next.

    A loss that is not convex (ramp) is minimised directly: ``lower`` and ``gap`` are NaN then, and the decrease stops
    the run. Without ``w0`` it starts at weights provided by the structure (``Ranking``), or at those that 20 epochs on
    the convex part of the loss lead to.
    """

    rule: str = "adagrad"
    rate: float | str = "auto"
    averaged: bool = True
    max_iter: int = 100
    tol: float = 1e-4
    check_every: int = 5
    parallel: str | None = None
    precision: str = "single"
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        positive = ("max_iter", "check_every") if self.rate == "auto" else ("max_iter", "check_every", "rate")
        check_settings(self, positive=positive, not_negative=("tol", "random_state"))
        check_choices(self)
        if self.rule not in RATES:
            raise ValueError(f"rule must be one of {sorted(RATES)}, got {self.rule!r}")

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise ``problem``; ``state`` of an earlier result goes on where that stopped."""
        require(problem, ("loss", "sample_loss"), user="stochastic", remedy="Choose another solver.")
        require_separable(problem, "stochastic")
        if state is None and w0 is None and not is_convex(problem):
            w0 = self._first_weights(problem)
        current = self._start(problem, w0) if state is None else state["pass"].copy()
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        if problem.decomposition is not None:
            return self._solve_pieces(problem, current, recorder)
        pool = CutPool(problem.regularizer) if is_convex(problem) else None
        lower = (np.nan if pool is None else -np.inf) if state is None else state["lower"]
        previous = (np.inf, np.inf) if state is None else state["previous"]
        n_oracle = 0.0 if state is None else state["n_oracle"]
        epoch, last = current.epoch, current.epoch + self.max_iter
        reason, w, primal = "max_iter", current.weights(self.averaged), np.nan
        while epoch < last:
            if self.averaged and epoch & (epoch - 1) == 0:  # 0, 1, 2, 4, 8, ...: start the average afresh
                current.restart_average()
            stochastic_pass(problem, current, self._order(problem, epoch), self.parallel)
            epoch = current.epoch = epoch + 1
            n_oracle += 1
            checking = epoch % self.check_every == 0 or epoch == last
            if checking:
                w = current.weights(self.averaged)
                value, gradient, slack = bounded_loss(problem, w)
                n_oracle += 1
                primal = value + slack + problem.regularizer.value(w)
                lower = _bound(pool, lower, value, gradient, w)
            stop = recorder.record(epoch, n_oracle, primal, lower, lambda: current.weights(self.averaged))
            if stop:
                reason = "callback"
                break
            if checking:
                if primal - lower <= self.tol * abs(primal):
                    reason = "gap"
                elif abs(previous[0] - primal) <= self.tol * abs(primal):
                    reason = f"relative decrease over {2 * self.check_every} epochs"
                previous = (previous[1], primal)
                if reason != "max_iter":
                    break
        if reason == "callback" or np.isnan(primal):
            w = current.weights(self.averaged)
            value, gradient, slack = bounded_loss(problem, w)
            primal = value + slack + problem.regularizer.value(w)
            lower = _bound(pool, lower, value, gradient, w)
        if problem.regularizer.has_l1:
            w, primal, passes = thinned(problem, w, primal)
            n_oracle += passes
        recorder.history[-1] = recorder.history[-1]._replace(primal=primal, lower=lower, n_oracle=n_oracle)
        return self._result(problem, w, recorder, reason, current, lower, previous, n_oracle)

    def _solve_pieces(self, problem: Any, current: PassState, recorder: Recorder) -> Result:
        """Epochs on random pieces of the samples."""
        epoch, last, reason = current.epoch, current.epoch + self.max_iter, ""
        while not reason:
            if self.averaged and epoch & (epoch - 1) == 0:
                current.restart_average()
            pieces = problem.cut_anew(self.random_state, epoch)
            if self.rule == "sgd":
                current.decay = 1.0 / pieces.n_samples  # by epochs, however many pieces one has
            value, _ = stochastic_pass(pieces, current, self._order(pieces, epoch), self.parallel)
            epoch = current.epoch = epoch + 1
            primal = value + problem.regularizer.value(current.w)
            previous = recorder.history[-1].primal if recorder.history else np.inf
            if recorder.record(epoch, epoch, primal, np.nan, lambda: current.weights(self.averaged)):
                reason = "callback"
            elif abs(previous - primal) <= self.tol * abs(primal):
                reason = "relative change over 1 epoch"
            elif epoch == last:
                reason = "max_iter"
        w = current.weights(self.averaged)
        if problem.regularizer.has_l1:  # by the objective on whole samples
            w, *_ = thinned(problem, w, problem.loss(w)[0] + problem.regularizer.value(w))
        return self._result(problem, w, recorder, reason, current, np.nan, (), epoch)

    def _result(self, problem, w, recorder, reason, current, lower, previous, n_oracle) -> Result:
        step = recorder.history[-1]
        if step.primal - step.lower <= self.tol * abs(step.primal) and reason != "callback":
            reason = "gap"
        thin = problem.regularizer.has_l1
        estimated = reason not in ("max_iter", "callback") and not thin and not contradicted(step, self.tol)
        converged = reason == "gap" or estimated
        if not converged and reason != "callback":
            bound = "" if np.isnan(step.gap) else f" with gap {step.gap:.3g}"
            warn_unconverged(
                f"stochastic stopped after {step.n_iter} epochs at objective {step.primal:.6g}{bound} ({reason}, "
                f"tol={self.tol:g}). {_advice(problem, reason)}."
            )
        history = tuple(recorder.history)
        state = {
            "pass": current, "history": history, "lower": lower, "previous": previous, "n_oracle": n_oracle,
        }  # fmt: skip
        return Result(w, step, history, converged, reason, state)

    def _first_weights(self, problem: Any) -> np.ndarray:
        """Where descent on a loss that is not convex starts."""
        if problem.structure.can("first_weights") or not hasattr(problem.surrogate, "convex_part"):
            return first_weights(problem, None).w
        first = replace(self, max_iter=FIRST_EPOCHS, check_every=FIRST_EPOCHS, callbacks=())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the minimum itself is not what is wanted
            return first.solve(problem.with_surrogate(problem.surrogate.convex_part)).w

    def _order(self, problem: Any, epoch: int) -> np.ndarray:
        return np.random.default_rng([self.random_state, epoch]).permutation(problem.n_samples)

    def _start(self, problem: Any, w0: np.ndarray | None) -> PassState:
        start = PassState.new(problem, w0, adaptive=self.rule == "adagrad", dtype=DTYPES[self.precision])
        decay = 1.0 / problem.n_samples if self.rule == "sgd" else 0.0
        if self.rate != "auto":
            return replace(start, rate=float(self.rate), decay=decay)
        trial = self._order(problem, 0)[:500]
        share = len(trial) / problem.n_samples
        best_rate, best_value = 0.0, np.inf
        for rate in RATES[self.rule]:
            tried = replace(start.copy(), rate=rate, decay=decay)
            stochastic_pass(problem, tried, trial)
            value, _ = stochastic_pass(problem, replace(tried, rate=0.0), trial)  # which stays where it is
            value += share * problem.regularizer.value(tried.w)
            if value < best_value:
                best_rate, best_value = rate, value
        return replace(start, rate=best_rate, decay=decay)


def _advice(problem: Any, reason: str) -> str:
    """What to do about a run that proved nothing."""
    other, bounded = who_takes(problem), problem.regularizer.strongly_convex or is_l1_alone(problem)
    proves = is_convex(problem) and problem.decomposition is None and (problem.smooth or bounded)
    if reason == "max_iter":
        known = "Increase max_iter or tol"
        return f"{known}, or {other}" if proves and problem.regularizer.has_l1 else known
    known = "A small decrease is not reliable with l1, or with a gap above 1 %"
    return f"{known}: {other}" if proves else known


def thinned(problem: Any, w: np.ndarray, primal: float) -> tuple[np.ndarray, float, int]:
    """The weights with small ones zero, as many as the objective ``primal`` does not rise by; that, and the passes.

    The sizes up to which weights become zero are the largest one divided by powers of two, found by bisection.
    """
    size, top = np.abs(w), float(np.abs(w).max(initial=0.0))
    low, high, passes = -1, HALVINGS, 0  # halvings: too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        thin = np.where(size <= top * 0.5**middle, 0.0, w)
        value = primal
        if np.any(thin != w):
            found, _, slack = bounded_loss(problem, thin)
            value = float(found + slack + problem.regularizer.value(thin))
            passes += 1
        if value <= primal:
            w, primal, high = thin, value, middle
        else:
            low = middle
    return w, primal, passes


def _bound(pool: CutPool | None, lower: float, value: float, gradient: np.ndarray, w: np.ndarray) -> float:
    """The best lower bound with one more cut; as it was where there are none."""
    if pool is None:
        return lower
    pool.add(value, gradient, w)
    return max(lower, pool.lower_bound())
