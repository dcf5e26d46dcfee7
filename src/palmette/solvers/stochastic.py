"""Stochastic (sub)gradient descent: averaged, adaptive (AdaGrad) or with a decaying rate, with L2 and L1."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.contracts.solver import Progress
from palmette.loops.stochastic_pass import DTYPES, PassState, check_choices, stochastic_pass
from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import bounded_loss, is_convex, is_l1_alone, who_takes
from palmette.registry import register
from palmette.solvers.driver import ASKED, Seeded
from palmette.solvers.nonconvex_start import first_weights
from palmette.solvers.online import PassRun

FIRST_EPOCHS = 20  # on the convex part of a loss that is not convex, where no weights are given
HALVINGS = 40  # of the largest weight, after which weights are zero in single precision anyway
RATES = {"adagrad": (0.01, 0.03, 0.1, 0.3, 1.0), "sgd": (0.001, 0.01, 0.1, 1.0)}


@dataclass(kw_only=True)
class StochasticRun(PassRun[PassState]):
    """Where a run stands; plain data."""

    pool: CutPool | None  # None where there is no bound
    primal: float = np.nan  # at the last check, before the first one NaN
    previous: tuple[float, float] = (np.inf, np.inf)  # objectives at the two checks before
    final: np.ndarray | None = None  # the weights returned, where they are not the present ones

    @property
    def lower(self) -> float:
        """Proven bound, NaN where there is none."""
        return np.nan if self.pool is None else self.pool.best

    def copy(self) -> Self:
        """An independent copy."""
        return replace(super().copy(), pool=copy.deepcopy(self.pool))


@register("solver")
@dataclass(frozen=True)
class Stochastic(Seeded):
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
        Relative suboptimality wanted: the run stops when the proven gap, or the relative decrease over two checks
        (``check_every`` epochs apart each), reaches it. The decrease is an estimate: against a proven gap above
        ``10 tol`` the run is not converged.
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

    name: ClassVar[str] = "stochastic"
    needs: ClassVar = ("samples", "separable")
    positive: ClassVar = ("max_iter", "check_every")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self)
        if self.rule not in RATES:
            raise ValueError(f"rule must be one of {sorted(RATES)}, got {self.rule!r}")
        if self.rate != "auto" and not (isinstance(self.rate, Real) and self.rate > 0):
            raise ValueError(f"Stochastic: rate must be a number > 0 or 'auto', got {self.rate!r}")

    def begin(self, problem: Any, w0: np.ndarray | None) -> StochasticRun:
        """The state of a new run."""
        if w0 is None and not is_convex(problem):
            w0 = self._first_weights(problem)
        proves = is_convex(problem) and problem.decomposition is None
        pool = CutPool(problem.regularizer) if proves else None
        return StochasticRun.of(self._start(problem, w0), pool=pool)

    def step(self, problem: Any, run: StochasticRun, last: int) -> Progress:
        """An epoch, and now and then a look at objective and bound."""
        state, epoch = run.state, run.n_iter
        run.final = None
        if self.averaged and epoch & (epoch - 1) == 0:  # 0, 1, 2, 4, 8, ...: start the average afresh
            state.restart_average()
        if problem.decomposition is not None:
            return self._step_on_pieces(problem, run)
        stochastic_pass(problem, state, self._order(problem, epoch), self.parallel)
        run.count()
        slow = False
        if run.n_iter % self.check_every == 0 or run.n_iter == last:
            run.n_oracle += 1
            run.primal = self._look(problem, run)
            slow = abs(run.previous[0] - run.primal) <= self.tol * abs(run.primal)
            run.previous = (run.previous[1], run.primal)
        estimate = f"relative decrease over {2 * self.check_every} epochs" if slow else ""
        return Progress(run.primal, run.lower, estimate=estimate)

    def _step_on_pieces(self, problem: Any, run: StochasticRun) -> Progress:
        """An epoch on random pieces of the samples."""
        pieces = problem.cut_anew(self.random_state, run.n_iter)
        if self.rule == "sgd":
            run.state.decay = 1.0 / pieces.n_samples  # by epochs, however many pieces one has
        value, _ = stochastic_pass(pieces, run.state, self._order(pieces, run.n_iter), self.parallel)
        run.count()
        primal = value + problem.regularizer.value(run.state.w)
        previous = run.history[-1].primal if run.history else np.inf
        same = abs(previous - primal) <= self.tol * abs(primal)
        return Progress(primal, np.nan, estimate="relative change over 1 epoch" if same else "")

    def _look(self, problem: Any, run: StochasticRun) -> float:
        """The objective at the weights that would be returned now; its cut improves the bound."""
        w = run.state.weights(self.averaged)
        value, gradient, slack = bounded_loss(problem, w)
        if run.pool is not None:
            run.pool.add(value, gradient, w)
            run.pool.lower_bound()
        return value + slack + problem.regularizer.value(w)

    def finish(self, problem: Any, run: StochasticRun, reason: str) -> Progress | None:
        """Objective and bound of the last weights; with L1, small weights become zero."""
        if reason == "interrupted":
            return None
        in_pieces = problem.decomposition is not None
        if in_pieces or not (reason in ASKED or np.isnan(run.primal)):
            primal = run.primal
        else:
            primal = self._look(problem, run)
        if not problem.regularizer.has_l1:
            return None if in_pieces else Progress(primal, run.lower)
        w = run.state.weights(self.averaged)
        if in_pieces:  # by the objective on whole samples
            run.final, *_ = thinned(problem, w, problem.loss(w)[0] + problem.regularizer.value(w))
            return None
        run.final, primal, passes = thinned(problem, w, primal)
        return Progress(primal, run.lower, passes=passes)

    def weights(self, problem: Any, run: StochasticRun) -> np.ndarray:
        """The averaged or the present weights."""
        return run.state.weights(self.averaged) if run.final is None else run.final

    def remedy(self, problem: Any, reason: str) -> str:
        """What helps a run that did not converge."""
        other, bounded = who_takes(problem), problem.regularizer.strongly_convex or is_l1_alone(problem)
        proves = is_convex(problem) and problem.decomposition is None and (problem.smooth or bounded)
        if reason == "max_iter":
            known = "Increase max_iter or tol"
            return f"{known}, or {other}." if proves and problem.regularizer.has_l1 else f"{known}."
        known = "A small decrease is not reliable with a gap above 10 tol"
        return f"{known}: {other}." if proves else f"{known}."

    def _first_weights(self, problem: Any) -> np.ndarray:
        """Where descent on a loss that is not convex starts."""
        if problem.structure.can("first_weights") or not hasattr(problem.surrogate, "convex_part"):
            return first_weights(problem, None).w
        first = replace(self, max_iter=FIRST_EPOCHS, check_every=FIRST_EPOCHS, callbacks=())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the minimum itself is not what is wanted
            return first.solve(problem.with_surrogate(problem.surrogate.convex_part)).w

    def _order(self, problem: Any, epoch: int) -> np.ndarray:
        return problem.visits(np.random.default_rng([self.random_state, epoch]))

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
