"""Common state of descent solvers: the best point, the bound of the cuts, resumable runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from palmette.contracts.problem import Problem
from palmette.contracts.solver import Progress, RunState
from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import bounded_loss, is_convex, refine
from palmette.solvers.driver import Driven, same_problem
from palmette.solvers.maxima import limited


@dataclass(kw_only=True)
class DescentState(RunState):
    """Where a run stands; plain data."""

    w: np.ndarray  # where the next step begins
    pool: CutPool | None  # None where the loss is not convex
    best_w: np.ndarray
    best: float = np.inf  # by the maxima that were found ...
    slack: float = 0.0  # ... and what they may add to it

    @classmethod
    def at(cls, problem: Problem, w: np.ndarray, n_oracle: float, **own: Any) -> Self:
        """Before the first step, at weights that took ``n_oracle`` passes to find."""
        pool = CutPool(problem.regularizer) if is_convex(problem) else None
        return cls(w=w, pool=pool, best_w=w, n_oracle=n_oracle, **own)

    @property
    def primal(self) -> float:
        """Objective of the best point, from above."""
        return self.best + self.slack

    @property
    def progress(self) -> Progress:
        """What is known of the best point."""
        return Progress(self.primal, self.lower)

    @property
    def lower(self) -> float:
        """Proven bound, NaN where the loss is not convex."""
        return np.nan if self.pool is None else self.pool.best

    def look(self, problem: Problem, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and subgradient at ``w``, which may become the best point and gives a cut: one pass."""
        loss, gradient, slack = bounded_loss(problem, w)
        self.n_oracle += 1
        found = float(loss + problem.regularizer.value(w))
        self.cut(loss, gradient, w)
        if found < self.best:
            self.best, self.best_w, self.slack = found, w, slack
        return found, gradient + problem.regularizer.l2_gradient(w)

    def ends(self, problem: Problem, tol: float) -> bool:
        """Whether only better maxima would close the gap, and there are none; else the best point is looked at again
        with better ones."""
        if not limited(self.best, self.slack, self.lower, tol):
            return False
        if not refine(problem):
            return True
        self.best = np.inf
        self.look(problem, self.best_w)
        return False

    def cut(self, loss: float, gradient: np.ndarray, w: np.ndarray) -> None:
        """Take the cut of the data term at ``w`` into the bound."""
        if self.pool is not None:
            self.pool.add(loss, gradient, w)
            self.pool.lower_bound()

    def resumed(self, problem: Problem) -> Self:
        """A copy to go on from."""
        known = problem.regularizer if self.pool is None else self.pool.regularizer
        same_problem(problem, known, len(self.w) == problem.n_params)
        return self.copy()


@dataclass(frozen=True)
class Descent(Driven):
    """Base of solvers that return the best point met and prove a bound by the cuts met on the way."""

    def resumed(self, problem: Problem, state: Any, w0: np.ndarray | None = None) -> Any:
        """A copy of the state of an earlier run, to go on from."""
        return state.resumed(problem)

    def ends(self, problem: Problem, run: Any) -> bool:
        """Whether only better maxima would close the gap, and there are none."""
        return run.ends(problem, self.tol)

    def weights(self, problem: Problem, run: Any) -> np.ndarray:
        """The best point."""
        return run.best_w
