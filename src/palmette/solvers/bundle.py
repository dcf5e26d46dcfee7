"""Bundle method: cutting planes of the data term, and an exact dual step over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from palmette.contracts.problem import Problem
from palmette.contracts.solver import Callback, Progress
from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import bounded_loss, first_point, refine
from palmette.registry import register
from palmette.solvers.descent_state import DescentState
from palmette.solvers.driver import ESTIMATE, Driven, same_problem
from palmette.solvers.maxima import limited

SHARE = 0.01  # of the gap that the bound over the cuts may lack, with L1


@dataclass(kw_only=True)
class BundleState(DescentState):
    """Where a run stands, ``w`` being where the next cut will be taken; plain data."""

    pool: CutPool
    final: np.ndarray | None = None  # the weights returned, where they are not the best point


@register("solver")
@dataclass(frozen=True)
class Bundle(Driven):
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

    name: ClassVar[str] = "bundle"
    needs: ClassVar = ("convex", "separable", "whole", "l2")
    positive: ClassVar = ("max_iter", "max_cuts")
    # how far from the best point towards the minimiser of the cuts the next cut is taken
    caution: ClassVar[float] = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cuts < 2:
            raise ValueError(f"{type(self).__name__}: max_cuts must be at least 2, got {self.max_cuts!r}")

    def begin(self, problem: Problem, w0: np.ndarray | None) -> BundleState:
        """The state of a new run."""
        w = first_point(problem, w0)
        return BundleState(w=w, pool=CutPool(problem.regularizer, self.max_cuts), best_w=w)

    def resumed(self, problem: Problem, state: BundleState, w0: np.ndarray | None = None) -> BundleState:
        """A copy of the state of an earlier run, to go on from."""
        same_problem(
            problem, state.pool.regularizer, state.pool.size == self.max_cuts, ", or to another max_cuts"
        )
        return state.copy()

    def step(self, problem: Problem, run: BundleState, last: int) -> Progress:
        """Take a cut, and go towards the minimiser of all."""
        run.final = None
        found, slack = self._look(problem, run, run.w)
        if found < run.best:
            run.best, run.best_w, run.slack = found, run.w, slack
        run.n_iter += 1
        run.w = self._next(problem, run)
        near = self._is_near(run.primal, run.pool.best)
        # else the proof is of a point without the zeros
        thin = not near or not problem.regularizer.has_l1 or self._thin_out(problem, run)
        return run.progress._replace(checked=thin, estimate="machine precision" if near and thin else "")

    def finish(self, problem: Problem, run: BundleState, reason: str) -> Progress | None:
        """With L1, a last look at the point with exact zeros, on a copy: a resumed run goes on as if there was none."""
        if not problem.regularizer.has_l1 or reason in ("gap", "interrupted") or reason.startswith(ESTIMATE):
            return None  # where it is there already
        seen = run.copy()
        self._thin_out(problem, seen)
        run.final = seen.best_w
        return seen.progress._replace(passes=seen.n_oracle - run.n_oracle)

    def ends(self, problem: Problem, run: BundleState) -> bool:
        """Whether only better maxima would close the gap; where there are some, the best point is looked at again."""
        if not limited(run.best, run.slack, run.pool.best, self.tol):
            return False
        if not refine(problem):
            return True
        run.w, run.best = run.best_w, np.inf
        return False

    def weights(self, problem: Problem, run: BundleState) -> np.ndarray:
        """The best point, with exact zeros."""
        return run.best_w if run.final is None else run.final

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
        run = BundleState(w=w, pool=state.pool, best_w=w, best=value - state.slack, slack=state.slack)
        run.w = self._next(problem, run)
        return run

    def _is_near(self, primal: float, lower: float) -> bool:
        return primal - lower <= max(self.tol, self.rounding) * abs(primal)

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
