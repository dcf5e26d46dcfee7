"""L-BFGS for smooth losses with L2, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

import numpy as np

from palmette.errors import MissingCapability
from palmette.objectives.certificate import CutPool
from palmette.objectives.packed_diagonal import has_diagonal, hessian_diagonal
from palmette.objectives.problem import (
    Problem,
    first_point,
    name_of,
    require_convex,
    require_separable,
    require_whole,
)
from palmette.solvers.base import Callback, Recorder, Result, Step, warn_unconverged
from palmette.solvers.line_search import Point, strong_wolfe
from palmette.solvers.quasi_newton import InverseHessian

WINDOW = 10  # iterations over which the relative decrease is measured, and between two lower bounds
DOUBTFUL = 0.2  # a relative gap above this makes a slow decrease suspicious
SLOW = f"relative decrease over {WINDOW} iterations"
RESCALE_AT = (10, 20, 40)  # iterations before which a run from zero renews its diagonal guess
_ROUNDING = 1e-6  # relative decrease still promised when no step gives it; losses may be summed in float32


class Place(NamedTuple):
    """A point with everything known about it."""

    w: np.ndarray
    loss: float
    gradient: np.ndarray  # of the data term
    smooth_gradient: np.ndarray  # of the data term and L2
    primal: float


FEW_WEIGHTS = 2000  # up to here a diagonal guess is not worth its passes


@dataclass
class LBFGSState:
    """Where a run stands; plain data."""

    place: Place
    curvature: InverseHessian
    pool: CutPool
    n_iter: int = 0
    n_oracle: int = 1
    warm: bool = False  # started elsewhere than at zero
    history: tuple[Step, ...] = ()


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS on ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``; the loss must be smooth.

    Without L1 each step satisfies the strong Wolfe conditions. With L1 it is OWL-QN: the shortest subgradient
    gives the orthant, and the step stays inside it by setting weights that would cross zero to zero.

    A run stops when the proven gap is at most ``tol`` times the objective (``reason="gap"``; the bound is
    computed every ten iterations and at the end), or, an estimate, when the objective fell by at most that share
    over ten iterations (``"relative decrease over 10 iterations"``; by a thousandth of it while the proven gap is
    above 20 %). When no step decreases the objective any
    more it stops with ``"machine precision"`` if no more than rounding was to be expected, else, not converged,
    with ``"line search"``: the gradient is then wrong or the loss not smooth.

    For the log loss of chains with sparse features the variances of the model,
    ``h_j = sum_i c_i sum_t x_tj^2 p (1 - p)``, give a diagonal guess ``1 / (h + l2 + damping)`` of the inverse
    Hessian, at the price of a pass each time: at a start that is given, or else, where the model
    has to become one first, before the iterations 10, 20 and 40.

    Parameters
    ----------
    memory : int
        Curvature pairs kept.
    precondition : "auto", float > 0 or None
        The damping of the diagonal guess; None goes without it. "auto" is 1 at a start that is given, 20 on the
        way from zero, and None for other problems and up to 2,000 weights. On CoNLL-2000 chunking (l2 = 2) that
        saves two thirds of the passes from a start within 1 % of the optimum, and a third of those from zero to 0.1 %.
    max_iter : int
        Iterations of one call; a resumed run has as many again.
    tol : float
        Relative suboptimality wanted; 0 runs to ``max_iter`` or machine precision.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true answer stops the run.
    """

    memory: int = 10
    max_iter: int = 1000
    tol: float = 1e-4
    precondition: float | str | None = "auto"
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        if self.memory < 1 or self.max_iter < 1 or not self.tol >= 0:
            raise ValueError(
                f"LBFGS needs memory >= 1, max_iter >= 1 and tol >= 0, got memory={self.memory!r}, "
                f"max_iter={self.max_iter!r}, tol={self.tol!r}"
            )
        damping = self.precondition
        if not (damping in (None, "auto") or (isinstance(damping, Real) and damping > 0)):
            raise ValueError(f"LBFGS: precondition must be 'auto', None or a damping > 0, got {damping!r}")

    def solve(
        self, problem: Problem, w0: np.ndarray | None = None, state: LBFGSState | None = None
    ) -> Result:
        """Minimise from ``w0`` (zero by default), or go on from the ``state`` of an earlier result.

        Returns
        -------
        Result
            With the best point met. ``state`` is not changed: the same one may be resumed again.
        """
        self._check(problem)
        run = self._resumed(problem, state) if state is not None else self._begun(problem, w0)
        recorder = Recorder(self.callbacks, run.history)
        last = run.n_iter + self.max_iter
        reason = "gap" if state is None and self._proven(run, run.pool.lower_bound()) else ""
        while not reason:
            place, reason = self._iterate(problem, run)
            if place is None:
                break
            run.place = place
            run.n_iter += 1
            run.pool.add(place.loss, place.gradient, place.w)
            slow = self._slow(recorder.history, run)
            if slow or run.n_iter % WINDOW == 0 or run.n_iter == last:
                run.pool.lower_bound()
            stop = recorder.record(run.n_iter, run.n_oracle, place.primal, run.pool.best, lambda: run.place.w)
            if self._proven(run, run.pool.best):
                reason = "gap"
            elif slow:
                reason = SLOW
            elif stop:
                reason = "callback"
            elif run.n_iter == last:
                reason = "max_iter"
        return self._finished(run, recorder, reason)

    def _check(self, problem: Problem) -> None:
        require_convex(problem, "lbfgs")
        require_separable(problem, "lbfgs")
        require_whole(problem, "lbfgs")
        if not problem.smooth:
            raise MissingCapability(
                f"lbfgs needs a smooth loss, and {name_of(problem)} is not: "
                "use solver='frank_wolfe', 'bundle' or 'stochastic'"
            )
        if isinstance(self.precondition, Real) and not has_diagonal(problem):
            raise MissingCapability(
                f"precondition={self.precondition!r} needs the log loss of plain chains with sparse features, not "
                f"{name_of(problem)}: use precondition='auto' or None"
            )

    def _begun(self, problem: Problem, w0: np.ndarray | None) -> LBFGSState:
        place = _visit(problem, first_point(problem, w0))
        if not np.isfinite(place.primal):
            raise ValueError(f"lbfgs cannot start: the objective is {place.primal} at the first point")
        run = LBFGSState(place, InverseHessian(problem.n_params, self.memory), CutPool(problem.regularizer))
        run.pool.add(place.loss, place.gradient, place.w)
        run.warm = bool(np.any(place.w))
        return run

    def _rescale(self, problem: Problem, run: LBFGSState) -> None:
        """Renew the diagonal guess of the inverse Hessian where the time for that has come."""
        due = run.n_iter == 0 if run.warm else run.n_iter in RESCALE_AT
        small = self.precondition == "auto" and problem.n_params <= FEW_WEIGHTS
        if not due or small or self.precondition is None or not has_diagonal(problem):
            return
        damping = (1.0 if run.warm else 20.0) if self.precondition == "auto" else float(self.precondition)
        run.curvature.rescale(
            1.0 / (hessian_diagonal(problem, run.place.w) + problem.regularizer.l2 + damping)
        )
        run.n_oracle += 1

    def _resumed(self, problem: Problem, state: LBFGSState) -> LBFGSState:
        if not problem.regularizer.same_as(state.pool.regularizer) or self.memory != state.curvature.memory:
            raise ValueError(
                "this state belongs to a problem with other weights or penalties, or to another memory; "
                "start from its point instead: solve(problem, w0=result.w)"
            )
        return copy.deepcopy(state)

    def _proven(self, run: LBFGSState, lower: float) -> bool:
        return run.place.primal - lower <= self.tol * abs(run.place.primal)

    def _slow(self, history: Sequence[Step], run: LBFGSState) -> bool:
        """Whether the objective has all but stopped falling.

        Where the proven gap is still large, as with features of very different scales, a slow decrease proves little:
        then it has to be a thousand times slower.
        """
        if len(history) < WINDOW or self.tol == 0:
            return False
        primal = run.place.primal
        fall = (history[-WINDOW].primal - primal) / abs(primal) if primal else 0.0
        if fall > self.tol:
            return False
        gap = primal - run.pool.lower_bound()
        return not gap > DOUBTFUL * abs(primal) or not np.isfinite(gap) or fall <= 1e-3 * self.tol

    def _iterate(self, problem: Problem, run: LBFGSState) -> tuple[Place | None, str]:
        """The next place, or why there is none."""
        self._rescale(problem, run)
        here, reg = run.place, problem.regularizer
        steepest = reg.min_norm_subgradient(here.w, here.gradient) if reg.has_l1 else here.smooth_gradient
        norm = float(np.linalg.norm(steepest))
        if norm == 0.0:
            return None, "machine precision"
        direction = run.curvature.times(steepest)
        np.negative(direction, out=direction)
        promise = -float(direction @ steepest)
        if len(run.curvature) and not promise > 0.0:  # rounding has spoilt the pairs
            run.curvature.clear()
            direction = -run.curvature.times(steepest)
        search = _orthant_search if reg.has_l1 else _wolfe_search
        while True:
            first = 1.0 if len(run.curvature) else min(1.0, 1.0 / norm)
            place, n_evaluations = search(problem, here, steepest, direction, first)
            run.n_oracle += n_evaluations
            if place is not None:
                run.curvature.update(place.w, here.w, place.smooth_gradient, here.smooth_gradient)
                return place, ""
            if not len(run.curvature):
                promise = min(promise, here.primal - run.pool.lower_bound())
                rounding = promise <= max(self.tol, _ROUNDING) * abs(here.primal)
                return None, "machine precision" if rounding else "line search"
            run.curvature.clear()
            direction = -run.curvature.times(steepest)

    def _finished(self, run: LBFGSState, recorder: Recorder, reason: str) -> Result:
        lower = run.pool.lower_bound()
        history = recorder.history
        if history and history[-1].n_iter == run.n_iter:
            history[-1] = history[-1]._replace(n_oracle=run.n_oracle, lower=lower)
        else:
            recorder.record(run.n_iter, run.n_oracle, run.place.primal, lower, lambda: run.place.w)
        run.history, step = tuple(history), history[-1]
        if reason in ("max_iter", "line search"):
            bound = "no bound" if np.isnan(step.gap) else f"relative gap {step.gap / abs(step.primal):.2e}"
            remedy = "Increase max_iter or tol." if reason == "max_iter" else "Check the gradient."
            iterations = "1 iteration" if run.n_iter == 1 else f"{run.n_iter} iterations"
            warn_unconverged(
                f"lbfgs stopped after {iterations} ({reason}) at objective {step.primal:.6g} with {bound}, "
                f"tol={self.tol:g}. {remedy}"
            )
        converged = reason in ("gap", SLOW, "machine precision")
        return Result(run.place.w, step, run.history, converged, reason, run)


def _visit(problem: Problem, w: np.ndarray) -> Place:
    """Evaluate the objective at ``w``."""
    reg = problem.regularizer
    loss, gradient = problem.loss(w)
    smooth_gradient = reg.l2_gradient(w)
    primal = float(loss) + 0.5 * float(smooth_gradient @ w) + reg.l1_value(w)
    smooth_gradient += gradient
    return Place(w, float(loss), gradient, smooth_gradient, primal)


def _wolfe_search(
    problem: Problem, here: Place, steepest: np.ndarray, direction: np.ndarray, first: float
) -> tuple[Place | None, int]:
    def at(step: float) -> Point:
        place = _visit(problem, here.w + step * direction)
        return Point(step, place.primal, float(place.smooth_gradient @ direction), place)

    start = Point(0.0, here.primal, float(steepest @ direction))
    point, n_evaluations = strong_wolfe(at, start, first)
    return (None if point is None else point.payload), n_evaluations


def _orthant_search(
    problem: Problem, here: Place, steepest: np.ndarray, direction: np.ndarray, first: float
) -> tuple[Place | None, int]:
    """Halve the step until the objective falls enough; penalised weights stay in their orthant."""
    penalised = problem.regularizer.l1 > 0.0
    direction = np.where(penalised & (direction * steepest >= 0.0), 0.0, direction)
    orthant = np.where(here.w != 0.0, np.sign(here.w), -np.sign(steepest))
    step = first
    for n_evaluations in range(1, 31):
        w = here.w + step * direction
        w[penalised & (w * orthant <= 0.0)] = 0.0
        place = _visit(problem, w)
        expected = float(steepest @ (w - here.w))
        if place.primal < here.primal and place.primal <= here.primal + 1e-4 * expected:
            return place, n_evaluations
        step *= 0.5
    return None, n_evaluations
