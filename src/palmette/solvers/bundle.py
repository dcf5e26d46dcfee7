"""Bundle method: cutting planes of the data term, and an exact dual step over them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import (
    Problem,
    bounded_loss,
    first_point,
    refine,
    require_convex,
    require_penalised,
    require_separable,
    require_whole,
)
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, Step, warn_unconverged
from palmette.solvers.maxima import INEXACT, limited, warn_inexact

_ROUNDING = 1e-13  # relative gap below which values cannot be told apart
SHARE = 0.01  # of the gap that the bound over the cuts may lack, with L1
PROVEN = ("gap", "machine precision")


@dataclass
class BundleState:
    """Where a run stands; plain data."""

    w: np.ndarray  # where the next cut will be taken
    pool: CutPool
    best_w: np.ndarray
    best: float = np.inf  # by the maxima that were found ...
    slack: float = 0.0  # ... and what they may add to it
    n_iter: int = 0
    n_oracle: int = 0
    history: tuple[Step, ...] = ()


@register("solver")
@dataclass(frozen=True)
class Bundle:
    """Minimise ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|`` by cutting planes; the loss need not be smooth.

    An iteration takes the cut of the loss at the current point and maximises the dual over all cuts,
    ``max_a <a, offsets> - sum_j max(|m_j| - l1_j, 0)^2 / (2 l2_j)`` with ``m = sum_k a_k g_k``, on the simplex. Its
    value is the lower bound; its solution gives the minimiser ``-soft(m, l1) / l2`` of the cuts and the penalty, where
    ``soft`` takes ``l1`` off the size of each entry and makes smaller ones zero. The next cut is taken on the
    way there from the best point met: 0.3 of it, which needs about a third fewer cuts than all of it for the
    hinge, two thirds fewer for the log loss. The best point is the result, and the gap is exact at every iteration.

    With L1 the run ends at a point with exact zeros: the best one with zeros where the minimiser of the cuts has them,
    which costs one more pass. If that point misses ``tol``, the run goes on.

    Parameters
    ----------
    max_iter : int
        Iterations of one call, each one pass over the data; a resumed run has as many again.
    tol : float
        Relative gap at which the run stops (``reason="gap"``); 0 runs to ``max_iter`` or machine precision.
    max_cuts : int
        Gradients kept in memory. Beyond it the least recently useful cut is dropped, and useful ones are merged
        into their mean, which slows the run down but keeps the bound.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true return value stops the run.
    """

    max_iter: int = 1000
    tol: float = 1e-4
    max_cuts: int = 150
    callbacks: Sequence[Callback] = field(default=())

    name: ClassVar[str] = "bundle"
    # how far from the best point towards the minimiser of the cuts the next cut is taken
    caution: ClassVar[float] = 0.3

    def __post_init__(self) -> None:
        if self.max_iter < 1 or not self.tol >= 0 or self.max_cuts < 2:
            raise ValueError(
                f"{type(self).__name__} needs max_iter >= 1, tol >= 0 and max_cuts >= 2, got "
                f"max_iter={self.max_iter!r}, tol={self.tol!r}, max_cuts={self.max_cuts!r}"
            )

    def solve(
        self, problem: Problem, w0: np.ndarray | None = None, state: BundleState | None = None
    ) -> Result:
        """Minimise from ``w0`` (zero by default), or go on from the ``state`` of an earlier result.

        Returns
        -------
        Result
            With the best point met. ``state`` is not changed: the same one may be resumed again.
        """
        self._check(problem)
        if state is None:
            w = first_point(problem, w0)
            run = BundleState(w, CutPool(problem.regularizer, self.max_cuts), w)
        else:
            run = self._resumed(problem, state)
        recorder = Recorder(self.callbacks, run.history)
        last, reason = run.n_iter + self.max_iter, ""
        while not reason:
            self._iterate(problem, run)
            primal = run.best + run.slack
            stop = recorder.record(run.n_iter, run.n_oracle, primal, run.pool.best, lambda: run.best_w)
            if self._is_near(primal, run.pool.best):
                reason = "gap" if primal - run.pool.best <= self.tol * abs(primal) else "machine precision"
            elif stop:
                reason = "callback"
            elif run.n_iter == last:
                reason = "max_iter"
            elif limited(run.best, run.slack, run.pool.best, self.tol):
                if refine(problem):
                    run.w, run.best = run.best_w, np.inf  # look at it again
                else:
                    reason = INEXACT
            if reason and problem.regularizer.has_l1:
                thin = self._thin_out(problem, run)
                recorder.history[-1] = recorder.history[-1]._replace(
                    n_oracle=run.n_oracle, primal=run.best + run.slack, lower=run.pool.best
                )
                if reason in PROVEN and not thin and not stop and run.n_iter < last:
                    reason = ""  # the proof is of a point without the zeros
                elif reason == "max_iter" and self._is_near(run.best + run.slack, run.pool.best):
                    reason = "gap"
        run.history = tuple(recorder.history)
        step = run.history[-1]
        if reason == INEXACT:
            warn_inexact(self.name, f"{run.n_iter} iterations", step, self.tol)
        if reason == "max_iter":
            warn_unconverged(
                f"{self.name} stopped after {run.n_iter} iterations with relative gap "
                f"{step.gap / abs(step.primal):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2."
            )
        return Result(run.best_w, step, run.history, reason in PROVEN, reason, run)

    def told(self, callback: Callback) -> Bundle:
        """The same settings with one more callback."""
        return replace(self, callbacks=(*self.callbacks, callback))

    def moved(
        self, problem: Problem, state: BundleState, change: np.ndarray, w: np.ndarray, value: float
    ) -> BundleState:
        """The start of a run on ``loss(w) - <change, w>`` from ``w``, where its objective is ``value``, with all cuts
        of an earlier run on ``loss``; `state` is used up."""
        state.pool.shift(change)
        state.pool.lower_bound()
        run = BundleState(w, state.pool, w, value - state.slack, state.slack)
        run.w = self._next(problem, run)
        return run

    def _check(self, problem: Problem) -> None:
        require_convex(problem, self.name)
        require_separable(problem, self.name)
        require_whole(problem, self.name)
        require_penalised(problem, self.name)

    def _resumed(self, problem: Problem, state: BundleState) -> BundleState:
        if not problem.regularizer.same_as(state.pool.regularizer) or state.pool.size != self.max_cuts:
            raise ValueError(
                "this state belongs to a problem with other weights or penalties, or to another max_cuts; "
                "start from its point instead: solve(problem, w0=result.w)"
            )
        return copy.deepcopy(state)

    def _is_near(self, primal: float, lower: float) -> bool:
        return primal - lower <= max(self.tol, _ROUNDING) * abs(primal)

    def _iterate(self, problem: Problem, run: BundleState) -> None:
        found, slack = self._look(problem, run, run.w)
        if found < run.best:
            run.best, run.best_w, run.slack = found, run.w, slack
        run.n_iter += 1
        run.w = self._next(problem, run)

    def _look(self, problem: Problem, run: BundleState, w: np.ndarray) -> tuple[float, float]:
        """The objective found at ``w`` and its slack; its cut improves the bound. One pass."""
        # Invariant: pool.best <= optimum <= best + slack. A cut lies below the convex data term everywhere, so the
        # maximum of the dual over all cuts bounds the optimum from below; the difference certifies the end.
        value, gradient, slack = bounded_loss(problem, w)
        run.n_oracle += 1
        run.pool.add(value, gradient, w)
        found = float(value + problem.regularizer.value(w))
        gap = min(found, run.best) - max(run.pool.best, 0.0)
        run.pool.lower_bound(SHARE * max(gap, 0.0))
        return found, slack

    def _next(self, problem: Problem, run: BundleState) -> np.ndarray:
        """Where the next cut is taken."""
        return run.best_w + self.caution * (run.pool.minimiser() - run.best_w)

    def _thin_out(self, problem: Problem, run: BundleState) -> bool:
        """Go to the best point with zeros where the minimiser of the cuts has them; false if that is no good point.

        It is good if it is no worse or near enough to the bound. Weights that are zero at the optimum are small at the
        best point, but each step towards zero leaves a share of them.
        """
        w = np.where(run.pool.minimiser() == 0.0, 0.0, run.best_w)
        if np.array_equal(w, run.best_w):
            return True
        found, slack = self._look(problem, run, w)
        if found > run.best and not self._is_near(found + slack, run.pool.best):
            return False
        run.best, run.best_w, run.slack = found, w, slack
        return True
