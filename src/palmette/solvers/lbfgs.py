"""L-BFGS for smooth losses with L2, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.contracts.problem import Problem, SampledProblem
from palmette.contracts.solver import Progress, RunState, Step
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.objectives.certificate import CutPool, NoBound
from palmette.objectives.elastic_dual import best_share
from palmette.objectives.problem import first_point, is_convex, loosen, name_of, refine
from palmette.registry import register
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.driver import Driven, same_problem
from palmette.solvers.line_search import Point, strong_wolfe
from palmette.solvers.quasi_newton import InverseHessian
from palmette.solvers.scaling import ScaledProblem, in_scale

WINDOW = 10  # iterations over which the relative decrease is measured, and between two lower bounds
PRECISION = "machine precision"
SLOW = f"relative decrease over {WINDOW} iterations"
RESCALE_AT = (10, 20, 40)  # iterations before which a run from zero renews its diagonal guess
SLOWLY = 0.1  # share of tol by which the objective may fall in WINDOW iterations at the end
PATIENCE = 30  # iterations in which what is left to prove must become half
REMEDIES = {"max_iter": "Increase max_iter or tol.", "line search": "Check the gradient."}
LACKING = 1e-2  # share of tol that inexact sums may lack on the way
_INVISIBLE = 1e-12  # relative rise of the objective that may be rounding
_NOISE = 1e-14  # of the first objective
_ROUNDING = 1e-6  # relative decrease still promised when no step gives it; losses may be summed in float32


class Place(NamedTuple):
    """A point with everything known about it."""

    w: np.ndarray
    loss: float
    gradient: np.ndarray  # of the data term
    smooth_gradient: np.ndarray  # of the data term and L2
    primal: float


FEW_WEIGHTS = 2000  # up to here vectors cost little beside passes, and a diagonal guess is not worth its own


@dataclass(kw_only=True)
class LBFGSState(RunState):
    """Where a run stands; plain data."""

    place: Place
    curvature: InverseHessian
    pool: CutPool
    n_oracle: float = 1
    # what was left to prove when it last was half of before, once the decrease is slow, and the iterations since then
    left: float = np.inf
    stale: int = 0
    settled: str = ""  # why the rest goes by the gradient: values can no longer be told apart, or hardly
    noise: float = 0.0  # what rounding may add to values, however small they have become
    warm: bool = False  # started elsewhere than at zero
    loose: bool = False  # sums are found only as accurately as tol needs on the way


@register("solver")
@dataclass(frozen=True)
class LBFGS(Driven):
    """Limited-memory BFGS on ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``; the loss must be smooth.

    Without L1 each step satisfies the strong Wolfe conditions. With L1 it is OWL-QN: the shortest subgradient
    gives the orthant, and the step stays inside it by setting weights that would cross zero to zero.

    Real-valued columns are scaled (:mod:`palmette.solvers.scaling`), which changes the iterates, not the objective.

    A run stops when the proven gap is at most ``tol`` times the objective (``reason="gap"``; the bound of the gradient
    is computed at every iteration, that of the cuts at every tenth). Weights without a penalty leave no bound, nor does
    a loss that is not convex (of partial annotation), of which a stationary point is found; then it
    stops, by an estimate, when the objective fell by at most a tenth of that share over ten iterations (``"relative
    decrease over 10 iterations"``). When no step decreases the objective any more, full steps
    follow for as long as they make the gradient shorter; it stops with ``"machine precision"`` if no more than rounding
    was to be expected, else, not converged, with ``"line search"``: the gradient is then wrong or the loss not smooth.
    A run that ends by an estimate with a proven gap above ``10 tol`` is not converged.

    Inexact sums, on graphs with cycles, may together lack a hundredth of ``tol`` times the objective. They are found as
    accurately as they can be once a line search fails or the objective hardly falls.

    For the log loss of chains with sparse features the variances of the model,
    ``h_j = sum_i c_i sum_t x_tj^2 p (1 - p)``, give a diagonal guess ``1 / (h + l2 + damping)`` of the inverse
    Hessian, at the price of a pass each time: at a start that is given, or else, where the model
    has to become one first, before the iterations 10, 20 and 40.

    Parameters
    ----------
    memory : int, optional
        Curvature pairs kept: by default 10, or 100 up to 2,000 weights, where they cost little and save a third of
        the iterations and more on problems that are badly conditioned.
    precondition : "auto", float > 0 or None
        The damping of the diagonal guess; None goes without it. "auto" is 1 at a start that is given, 20 on the
        way from zero, and None for other problems and up to 2,000 weights. On CoNLL-2000 chunking (l2 = 2) that
        saves two thirds of the passes from a start within 1 % of the optimum, and a third of those from zero to 0.1 %.
    max_iter : int
        Iterations of one call; a resumed run has as many again.
    tol : float
        Relative suboptimality to reach; 0 runs to ``max_iter`` or machine precision.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true return value stops the run.
    """

    memory: int | None = None
    max_iter: int = 1000
    tol: float = 1e-4
    precondition: float | str | None = "auto"

    name: ClassVar[str] = "lbfgs"
    needs: ClassVar = ("separable", "whole", "smooth")
    rounding: ClassVar[float] = _ROUNDING

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None and self.memory < 1:
            raise ValueError(f"LBFGS: memory must be a number > 0 or None, got {self.memory!r}")
        damping = self.precondition
        if not (damping in (None, "auto") or (isinstance(damping, Real) and damping > 0)):
            raise ValueError(f"LBFGS: precondition must be 'auto', None or a damping > 0, got {damping!r}")

    def check(self, problem: SampledProblem) -> None:
        """Refuse a diagonal guess where there is none."""
        if isinstance(self.precondition, Real) and find("diagonal", problem) is None:
            raise MissingCapability(
                f"precondition={self.precondition!r} needs the log loss of plain chains with sparse features, not "
                f"{name_of(problem)}: use precondition='auto' or None"
            )

    def prepare(self, problem: SampledProblem) -> Any:
        """The problem in good coordinates."""
        return in_scale(problem)

    def step(self, problem: Problem, run: LBFGSState, last: int) -> Progress:
        """The next place."""
        if run.n_iter == 0 and run.place.primal - _lower_bound(problem, run) <= self.tol * abs(
            run.place.primal
        ):
            return self._progress(run)  # the start is good enough
        place, reason = self._iterate(problem, run)
        if place is None:
            _lower_bound(problem, run)
            estimate = reason if reason in (SLOW, PRECISION) else ""
            return self._progress(run)._replace(estimate=estimate, failure="" if estimate else reason)
        run.place = place
        run.n_iter += 1
        if run.loose:
            self._loosen(problem, place)
        run.pool.add(place.loss, place.gradient, place.w)
        slow = self._slow(problem, run.history, run)
        _prove(problem, run)
        if slow or run.settled or run.n_iter % WINDOW == 0 or run.n_iter == last:
            run.pool.lower_bound()
        return self._progress(run)._replace(estimate=slow)

    def finish(self, problem: Problem, run: LBFGSState, reason: str) -> Progress:
        """The bound of all cuts met."""
        _lower_bound(problem, run)
        return self._progress(run)

    def weights(self, problem: Problem, run: LBFGSState) -> np.ndarray:
        """The present point, which is the best."""
        return run.place.w

    def remedy(self, problem: Problem, reason: str) -> str:
        """What helps a run that did not converge."""
        return REMEDIES.get(reason, "Scale the features, or increase l2.")

    @staticmethod
    def _progress(run: LBFGSState) -> Progress:
        return Progress(run.place.primal, run.pool.best)

    def _memory(self, problem: Problem) -> int:
        if self.memory is not None:
            return self.memory
        return 100 if problem.n_params <= FEW_WEIGHTS else 10

    def begin(self, problem: Problem, w0: np.ndarray | None) -> LBFGSState:
        """The state of a new run."""
        place = _visit(problem, first_point(problem, w0))
        if not np.isfinite(place.primal):
            raise ValueError(f"lbfgs cannot start: the objective is {place.primal} at the first point")
        curvature = InverseHessian(problem.n_params, self._memory(problem))
        run = LBFGSState(place=place, curvature=curvature, pool=_pool(problem))
        run.pool.add(place.loss, place.gradient, place.w)
        run.warm, run.noise = bool(np.any(place.w)), _NOISE * abs(place.primal)
        run.loose = self._loosen(problem, place)
        return run

    def _loosen(self, problem: Problem, place: Place) -> bool:
        return loosen(problem, LACKING * self.tol * abs(place.primal))

    def _rescale(self, problem: Problem, run: LBFGSState) -> None:
        """Renew the diagonal guess of the inverse Hessian where the time for that has come."""
        due = run.n_iter == 0 if run.warm else run.n_iter in RESCALE_AT
        small = self.precondition == "auto" and problem.n_params <= FEW_WEIGHTS
        if not due or small or self.precondition is None:
            return
        loop = find("diagonal", problem)
        if loop is None:
            return
        damping = (1.0 if run.warm else 20.0) if self.precondition == "auto" else float(self.precondition)
        if getattr(problem, "centring", None) is not None:  # whose variances are not known
            return
        own = problem.diagonal if isinstance(problem, ScaledProblem) else loop(problem)
        run.curvature.rescale(1.0 / (own(run.place.w) + problem.regularizer.l2 + damping))
        run.n_oracle += 1

    def resumed(self, problem: Problem, state: LBFGSState, w0: np.ndarray | None = None) -> LBFGSState:
        """A copy of the state of an earlier run, to go on from."""
        same = self._memory(problem) == state.curvature.memory
        same_problem(problem, state.pool.regularizer, same, ", or to another memory")
        run = state.copy()
        run.loose = run.loose and self._loosen(problem, run.place)
        return run

    def _slow(self, problem: Problem, history: Sequence[Step], run: LBFGSState) -> str:
        """Why to stop if the objective has all but stopped falling, else nothing.

        Where every weight has a penalty the run goes on until a bound proves ``tol``. If the objective falls a thousand
        times slower and the bounds hardly get better, the rest goes by the gradient (:func:`_polish`).
        """
        if run.settled or len(history) < WINDOW or self.tol == 0:
            return ""
        primal = run.place.primal
        fall = (history[-WINDOW].primal - primal) / abs(primal) if primal else 0.0
        if fall > SLOWLY * self.tol or _refined(problem, run):
            return ""
        if len(problem.regularizer.unpenalised) or not is_convex(problem):
            return SLOW
        if problem.n_params <= FEW_WEIGHTS:  # cheap, and it tells the pool which cuts are of use
            run.pool.lower_bound()
        left = min(_residual(problem.regularizer, run.place), primal - run.pool.best)
        run.left, run.stale = (left, 0) if left < 0.5 * run.left else (run.left, run.stale + 1)
        if fall <= 1e-3 * self.tol and run.stale >= PATIENCE:
            run.settled = SLOW
        return ""

    def _iterate(self, problem: Problem, run: LBFGSState) -> tuple[Place | None, str]:
        """The next place, or why there is none."""
        self._rescale(problem, run)
        here, reg = run.place, problem.regularizer
        steepest = reg.min_norm_subgradient(here.w, here.gradient) if reg.has_l1 else here.smooth_gradient
        norm = float(np.linalg.norm(steepest))
        if norm == 0.0:
            return None, PRECISION
        direction = run.curvature.times(steepest)
        np.negative(direction, out=direction)
        promise = -float(direction @ steepest)
        if len(run.curvature) and not promise > 0.0:  # rounding has spoilt the pairs
            run.curvature.clear()
            direction = -run.curvature.times(steepest)
        # Every place that a search accepts lowers the objective. Where no step along -H g does, the pairs are
        # forgotten and -g is tried; where no more than rounding was promised, the rest goes by the gradient. The gap
        # is proven by the subgradient or by the cuts, never by the size of a step.
        search = _orthant_search if reg.has_l1 else _wolfe_search
        while not run.settled:
            first = 1.0 if len(run.curvature) else min(1.0, 1.0 / norm)
            place, n_evaluations = search(problem, here, steepest, direction, first)
            run.n_oracle += n_evaluations
            if place is not None:
                run.curvature.update(place.w, here.w, place.smooth_gradient, here.smooth_gradient)
                return place, ""
            if _refined(problem, run):
                return self._iterate(problem, run)
            if not len(run.curvature):
                promise = min(promise, here.primal - _lower_bound(problem, run))
                rounding = promise <= max(
                    self.tol * abs(here.primal), _ROUNDING * abs(here.primal), run.noise
                )
                return None, PRECISION if rounding else "line search"
            if promise <= max(_ROUNDING * abs(here.primal), run.noise):
                run.settled = PRECISION
            else:
                run.curvature.clear()
                direction = -run.curvature.times(steepest)
        return _polish(problem, run, direction)


def _refined(problem: Problem, run: LBFGSState) -> bool:
    """Whether sums become more accurate, once: the place is then looked at again."""
    if not run.loose:
        return False
    run.loose = False
    if not refine(problem):
        return False
    run.place = _visit(problem, run.place.w)
    run.n_oracle += 1
    run.pool.add(run.place.loss, run.place.gradient, run.place.w)
    return True


def _pool(problem: Problem) -> CutPool:
    return CutPool(problem.regularizer) if is_convex(problem) else NoBound(problem.regularizer)


def _prove(problem: Problem, run: LBFGSState) -> None:
    """Take note of what the subgradient at the current point proves, which costs no pass."""
    run.pool.prove(run.place.primal - _residual(problem.regularizer, run.place))


def _lower_bound(problem: Problem, run: LBFGSState) -> float:
    """The best bound of the subgradients and of the cuts met so far."""
    _prove(problem, run)
    return run.pool.lower_bound()


def _polish(problem: Problem, run: LBFGSState, direction: np.ndarray) -> tuple[Place | None, str]:
    """The next place where values can no longer be told apart: a full step, if the gradient there proves more.

    Weights with a penalty that is small beside their curvature need this: the objective is then flat to all digits long
    before the gradient is so small that it proves the optimum.
    """
    here, reg = run.place, problem.regularizer
    place = _visit(problem, _inside_orthant(reg, here, direction))
    run.n_oracle += 1
    rises = place.primal > here.primal + _INVISIBLE * abs(here.primal)
    if rises or not _residual(reg, place) < _residual(reg, here):
        return None, run.settled
    run.curvature.update(place.w, here.w, place.smooth_gradient, here.smooth_gradient)
    return place, ""


def _residual(reg: ElasticNet, place: Place) -> float:
    """How far the objective at ``place`` is above the optimum at most, by the gradient there."""
    if reg.strongly_convex:
        return reg.residual_bound(reg.min_norm_subgradient(place.w, place.gradient))
    if len(reg.unpenalised):
        return np.inf
    return place.primal - best_share(reg, place.loss - float(place.gradient @ place.w), place.gradient)[1]


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
    step = first
    for n_evaluations in range(1, 31):
        w = _inside_orthant(problem.regularizer, here, direction, step)
        place = _visit(problem, w)
        expected = float(steepest @ (w - here.w))
        if place.primal < here.primal and place.primal <= here.primal + 1e-4 * expected:
            return place, n_evaluations
        step *= 0.5
    return None, n_evaluations


def _inside_orthant(reg: ElasticNet, here: Place, direction: np.ndarray, step: float = 1.0) -> np.ndarray:
    """``here.w + step * direction``; weights with L1 that would cross zero, or go against the gradient, stop there."""
    if not reg.has_l1:
        return here.w + step * direction
    penalised = reg.l1 > 0.0
    steepest = reg.min_norm_subgradient(here.w, here.gradient)
    orthant = np.where(here.w != 0.0, np.sign(here.w), -np.sign(steepest))
    w = here.w + step * np.where(penalised & (direction * steepest >= 0.0), 0.0, direction)
    w[penalised & (w * orthant <= 0.0)] = 0.0
    return w
