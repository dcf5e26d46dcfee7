"""L-BFGS for smooth losses with L2, and OWL-QN when there is an L1 penalty."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ramify.errors import MissingCapability
from ramify.objectives.certificate import CutPool
from ramify.solvers.base import Callback, Recorder, Result
from ramify.solvers.line_search import Point, strong_wolfe

WINDOW = 10  # iterations over which the relative decrease is measured


@dataclass
class LBFGSState:
    """A point with its value and gradients, and the curvature pairs gathered on the way there."""

    w: np.ndarray
    loss: float
    gradient: np.ndarray  # of the data term
    changes: tuple[np.ndarray, ...] = ()
    gradient_changes: tuple[np.ndarray, ...] = ()
    n_iter: int = 0
    n_oracle: float = 1.0


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS on ``loss(w) + sum_j (l2_j/2) w_j^2 + l1_j |w_j|``; the loss must be smooth.

    Without L1 each step satisfies the strong Wolfe conditions. With L1 it is OWL-QN: the shortest subgradient gives
    the orthant, the step is kept inside it by setting weights that would cross zero to zero.

    The run stops when the proven gap is at most ``tol`` times the objective (``reason="gap"``), or when the objective
    fell by at most that share over ten iterations (``reason="relative decrease over 10 iterations"``).

    Parameters
    ----------
    memory : int
        Curvature pairs kept.
    max_iter : int
    tol : float
        Relative suboptimality wanted; 0 runs until no further decrease is possible.
    callbacks : sequence of callables
    """

    memory: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    callbacks: Sequence[Callback] = field(default=())

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise from ``w0`` (zero by default), or go on from the ``state`` of an earlier result."""
        if not problem.smooth:
            raise MissingCapability(
                f"lbfgs needs a smooth loss, and {type(getattr(problem, 'surrogate', problem)).__name__} is not: "
                "use solver='frank_wolfe', 'bundle' or 'stochastic'"
            )
        reg = problem.regularizer
        pool = CutPool(reg)
        if state is None:
            w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
            current = LBFGSState(w, *problem.loss(w))
        else:
            current, pool.best = state["point"], state["lower"]
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        values = [step.primal for step in recorder.history] or [current.loss + reg.value(current.w)]
        pool.add(current.loss, current.gradient, current.w)
        reason, last = "max_iter", current.n_iter + self.max_iter
        while current.n_iter < last:
            moved = self._step(problem, current)
            if moved is None:
                reason = "no further decrease"
                break
            current = moved
            primal = current.loss + reg.value(current.w)
            values.append(primal)
            pool.add(current.loss, current.gradient, current.w)
            slow = (
                len(values) > WINDOW and 0 <= values[-1 - WINDOW] - primal <= self.tol * abs(primal) and self.tol > 0
            )
            if current.n_iter % WINDOW == 0 or slow or current.n_iter == last:
                pool.lower_bound()
            stop = recorder.record(current.n_iter, current.n_oracle, primal, pool.best)
            if primal - pool.best <= self.tol * abs(primal):
                reason = "gap"
            elif slow:
                reason = f"relative decrease over {WINDOW} iterations"
            elif stop:
                reason = "callback"
            if reason != "max_iter":
                break
        return self._result(problem, current, recorder, pool, reason)

    def _result(self, problem, current, recorder, pool, reason) -> Result:
        primal = current.loss + problem.regularizer.value(current.w)
        lower = pool.lower_bound()
        if recorder.history and recorder.history[-1].n_iter == current.n_iter:
            recorder.history[-1] = recorder.history[-1]._replace(lower=lower)
        else:
            recorder.record(current.n_iter, current.n_oracle, primal, lower)
        history = tuple(recorder.history)
        step = history[-1]
        if reason == "max_iter":
            warnings.warn(
                f"lbfgs stopped after {step.n_iter} iterations at objective {step.primal:.6g} with gap "
                f"{step.gap:.3g} (tol={self.tol:g}). Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        state = {"point": current, "history": history, "lower": lower}
        return Result(current.w, step, history, reason not in ("max_iter", "callback"), reason, state)

    def _step(self, problem: Any, current: LBFGSState) -> LBFGSState | None:
        """One iteration; None if no step decreases the objective any more."""
        reg = problem.regularizer
        steepest = reg.min_norm_subgradient(current.w, current.gradient)
        norm = float(np.linalg.norm(steepest))
        if norm == 0.0:
            return None
        direction = self._direction(current, steepest)
        slope = float(direction @ steepest)
        if not slope < 0:  # rounding has spoilt the curvature pairs: start again from the steepest descent
            current = replace(current, changes=(), gradient_changes=())
            direction, slope = -steepest, -norm * norm
        first = 1.0 if current.changes else min(1.0, 1.0 / norm)
        search = self._orthant_search if reg.has_l1 else self._wolfe_search
        found, n = search(problem, current, direction, slope, first, steepest)
        if found is None:
            if not current.changes:
                return None
            return self._step(problem, replace(current, changes=(), gradient_changes=()))
        w, loss, gradient = found
        change = w - current.w
        gradient_change = gradient - current.gradient + reg.l2_gradient(change)
        changes, gradient_changes = current.changes, current.gradient_changes
        if change @ gradient_change > 1e-14 * float(np.linalg.norm(gradient_change)) ** 2:
            changes = (*changes, change)[-self.memory :]
            gradient_changes = (*gradient_changes, gradient_change)[-self.memory :]
        return LBFGSState(w, loss, gradient, changes, gradient_changes, current.n_iter + 1, current.n_oracle + n)

    def _direction(self, current: LBFGSState, steepest: np.ndarray) -> np.ndarray:
        """Two-loop recursion: minus the inverse Hessian estimate times the gradient."""
        d = -steepest
        pairs = list(zip(current.changes, current.gradient_changes))
        shares = []
        for s, y in reversed(pairs):
            share = float(s @ d) / float(s @ y)
            shares.append(share)
            d -= share * y
        if pairs:
            s, y = pairs[-1]
            d *= float(s @ y) / float(y @ y)
        for (s, y), share in zip(pairs, reversed(shares)):
            d += (share - float(y @ d) / float(s @ y)) * s
        return d

    def _wolfe_search(self, problem, current, direction, slope, first, steepest):
        reg = problem.regularizer

        def at(step: float) -> Point:
            w = current.w + step * direction
            loss, gradient = problem.loss(w)
            whole = gradient + reg.l2_gradient(w)
            return Point(step, loss + reg.l2_value(w), float(whole @ direction), (w, loss, gradient))

        start = Point(0.0, current.loss + reg.l2_value(current.w), slope, None)
        point, n = strong_wolfe(at, start, first)
        return (None if point is None or point.value >= start.value else point.payload), n

    def _orthant_search(self, problem, current, direction, slope, first, steepest):
        reg = problem.regularizer
        penalised = reg.l1 > 0
        direction = np.where(penalised & (direction * steepest >= 0), 0.0, direction)
        orthant = np.where(current.w != 0, np.sign(current.w), -np.sign(steepest))
        start = current.loss + reg.value(current.w)
        step = first
        for n in range(1, 31):
            w = current.w + step * direction
            w[penalised & (w * orthant <= 0)] = 0.0
            loss, gradient = problem.loss(w)
            value = loss + reg.value(w)
            if value < start and value <= start + 1e-4 * float(steepest @ (w - current.w)):
                return (w, loss, gradient), n
            step *= 0.5
        return None, n
