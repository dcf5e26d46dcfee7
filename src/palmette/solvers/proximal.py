"""Accelerated proximal gradient: smooth losses with any penalty that has a proximal step, such as the group lasso."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import Problem
from palmette.contracts.solver import Progress, RunState, Step
from palmette.objectives.certificate import CutPool
from palmette.objectives.problem import first_point
from palmette.registry import register
from palmette.solvers.driver import Driven, same_problem
from palmette.solvers.scaling import ScaledProblem, in_scale

WINDOW = 10  # iterations between two lower bounds; epochs over which pieces are compared
SLOW = f"relative change over {WINDOW} epochs"
_FORGET = 0.95  # factor of the curvature after every step, so that it can follow the loss down
_MARGIN = 1.2  # by which a curvature that was met is exceeded
_ATTEMPTS = 60
_ROUNDING = 1e-13  # relative difference of values that proves nothing
_SMALL = 1e-5  # relative gap or subgradient at which a run that is stuck has arrived


@dataclass(kw_only=True)
class ProximalState(RunState):
    """Where a run stands; plain data."""

    w: np.ndarray
    loss: float
    gradient: np.ndarray  # of the loss
    primal: float
    curvature: float
    pool: CutPool
    steepness: float  # length of the shortest subgradient at the start
    best_w: np.ndarray
    best: float
    last_w: np.ndarray
    last_gradient: np.ndarray
    momentum: float = 1.0
    n_oracle: float = 1


@register("solver")
@dataclass(frozen=True)
class Proximal(Driven):
    """Minimise ``loss(w) + R(w)`` for a smooth loss and any penalty with a proximal step.

    An iteration extrapolates from the last two points, ``v = w + b (w - w_last)``, takes the gradient there,
    extrapolated likewise (exact for quadratics, and one pass over the data per iteration instead of two), and steps
    to ``argmin_z <gradient, z> + (L / 2)|z - v|^2 + R(z)``. Every point visited thus has the exact zeros of the
    penalty. ``L`` follows the curvature met on the way: a step along which the loss bends more is taken again,
    shorter. ``b`` grows as in Nesterov's method and starts again from 0 when the step turns against the movement
    (adaptive restart).

    Real-valued columns are scaled (:mod:`palmette.solvers.scaling`), which changes the iterates, not the objective.

    A run stops when the proven gap is at most ``tol`` times the objective (``reason="gap"``) or, where weights without
    L2 leave no bound, when the shortest subgradient is at most ``tol`` times that of the start (``"subgradient"``);
    bound and subgradient are computed every ten iterations. When no step decreases the objective any more it stops with
    ``"machine precision"`` if it has arrived, else, not converged, with ``"line search"``: the gradient is then wrong.
    The result is the best point met.

    With a ``Decomposition`` every iteration cuts the samples again and takes the values and gradients it needs on
    these pieces. There is no fixed objective then: ``primal`` is that of the epoch, ``gap`` is NaN, and the run stops
    when the mean of five epochs differs from that of the five before by at most ``tol`` times it
    (``"relative change over 10 epochs"``).

    Parameters
    ----------
    max_iter : int
        Iterations of one call; a resumed run has as many again.
    tol : float
        Relative suboptimality to reach.
    random_state : int
        Of the cuts, where there is a ``Decomposition``.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true return value stops the run.
    """

    max_iter: int = 2000
    tol: float = 1e-4
    random_state: int = 0

    name: ClassVar[str] = "proximal"
    needs: ClassVar = ("convex", "smooth")
    not_negative: ClassVar = ("tol", "random_state")
    rounding: ClassVar[float] = _SMALL

    def prepare(self, problem: Any) -> Any:
        """The problem in good coordinates."""
        return in_scale(problem)

    def begin(self, problem: Problem, w0: np.ndarray | None) -> ProximalState:
        """The state of a new run."""
        w = first_point(problem, w0)
        loss, gradient = problem.loss(w)
        primal = loss + problem.regularizer.value(w)
        if not np.isfinite(primal):
            raise ValueError(f"proximal cannot start: the objective is {primal} at the first point")
        pool = CutPool(problem.regularizer)
        if not _cuts(problem):
            pool.add(loss, gradient, w)
        steepness = float(np.linalg.norm(problem.regularizer.min_norm_subgradient(w, gradient)))
        return ProximalState(
            w=w, loss=loss, gradient=gradient, primal=primal, pool=pool, steepness=steepness, best_w=w, best=primal,
            last_w=w, last_gradient=gradient, curvature=steepness or 1.0,  # so that the first step is about one long
        )  # fmt: skip

    def resumed(self, problem: Problem, state: ProximalState, w0: np.ndarray | None = None) -> ProximalState:
        """A copy of the state of an earlier run, to go on from."""
        same_problem(problem, state.pool.regularizer)
        return state.copy()

    def step(self, problem: Problem, run: ProximalState, last: int) -> Progress:
        """One accepted step, or a word on why there is none."""
        in_pieces, estimate, failure = _cuts(problem), "", ""
        if run.n_iter == 0 and not in_pieces and (start := self._reached(problem, run)):
            return start
        if not (self._cut_step(problem, run) if in_pieces else _step(problem, run)):
            if self._near(problem, run):
                estimate = "machine precision"
            else:
                failure = "line search"
            return self._progress(run)._replace(estimate=estimate, failure=failure)
        run.n_iter += 1
        if not in_pieces:
            run.pool.add(run.loss, run.gradient, run.w)
            if run.n_iter % WINDOW == 0 or run.n_iter == last:
                return self._reached(problem, run) or self._progress(run)
        elif _settled([*run.history[1 - WINDOW :], self._progress(run)], self.tol):
            estimate = SLOW
        return self._progress(run)._replace(estimate=estimate)

    def finish(self, problem: Problem, run: ProximalState, reason: str) -> Progress:
        """The bound of all cuts met."""
        run.pool.lower_bound()
        return self._progress(run)

    def weights(self, problem: Problem, run: ProximalState) -> np.ndarray:
        """The best point."""
        return run.best_w

    def remedy(self, problem: Problem, reason: str) -> str:
        """What helps a run that did not converge."""
        return "Check the gradient." if reason == "line search" else "Increase max_iter, tol or l2."

    @staticmethod
    def _progress(run: ProximalState) -> Progress:
        return Progress(run.best, run.pool.best)

    def _reached(self, problem: Problem, run: ProximalState) -> Progress | None:
        """The present point if it is proven, or estimated, to be good enough."""
        gap, left = _distance(problem, run)
        if gap <= self.tol * abs(run.best):
            return self._progress(run)
        estimate = not np.isfinite(gap) and left <= self.tol * run.steepness and run.n_iter > 0
        return self._progress(run)._replace(estimate="subgradient") if estimate else None

    def _near(self, problem: Problem, run: ProximalState) -> bool:
        """Whether no more than rounding was to be gained; with a wrong gradient it is not so."""
        gap, left = _distance(problem, run)
        small = max(self.tol, _SMALL)
        return gap <= small * abs(run.best) or left <= small * run.steepness

    def _cut_step(self, problem: Any, run: ProximalState) -> bool:
        """One step on fresh pieces, with a pass at each end: gradients on other pieces are of no use here."""
        pieces = _in_pieces(problem, self.random_state, run.n_iter)
        momentum, carry = _grown(run.momentum)
        v = run.w + carry * (run.w - run.last_w)
        value, gradient = pieces.loss(v)
        run.n_oracle += 1
        for _ in range(_ATTEMPTS):
            z = problem.regularizer.prox(v - gradient / run.curvature, run.curvature)
            loss, _ = pieces.loss(z)
            run.n_oracle += 1
            step = z - v
            bend = 2.0 * (loss - value - float(gradient @ step))
            if bend <= run.curvature * float(step @ step) + _ROUNDING * abs(value):
                break
            run.curvature *= 2.0
        run.momentum = 1.0 if float(step @ (z - run.w)) < 0.0 else momentum
        run.last_w, run.w = run.w, z
        run.best_w, run.best = z, loss + problem.regularizer.value(z)
        run.curvature *= _FORGET
        return True


def _distance(problem: Problem, run: ProximalState) -> tuple[float, float]:
    """The proven gap of the best point, and the length of the shortest subgradient at the present one."""
    reg = problem.regularizer
    subgradient = reg.min_norm_subgradient(run.w, run.gradient)
    run.pool.prove(run.primal - reg.residual_bound(subgradient))
    return run.best - run.pool.lower_bound(), float(np.linalg.norm(subgradient))


def _grown(momentum: float) -> tuple[float, float]:
    """Nesterov's next momentum, and the share of the last movement that is carried on."""
    grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
    return grown, (momentum - 1.0) / grown


def _step(problem: Problem, run: ProximalState) -> bool:
    """Go on by one accepted step; false where none decreases the objective."""
    reg = problem.regularizer
    # z = prox(v - slope / L, L), one pass per attempt. Accepted if the loss bends by at most L along the move, else L
    # grows beyond the curvature met. ``best`` never rises; false where a step without momentum gains nothing, or no L
    # fits. The end is certified elsewhere: by the subgradient at the point, or by the cuts.
    for _ in range(_ATTEMPTS):
        momentum, carry = _grown(run.momentum)
        v = run.w + carry * (run.w - run.last_w)
        slope = run.gradient + carry * (run.gradient - run.last_gradient)
        z = reg.prox(v - slope / run.curvature, run.curvature)
        loss, gradient = problem.loss(z)
        run.n_oracle += 1
        primal = loss + reg.value(z)
        move = z - run.w
        length = float(move @ move)
        # Both are L |move|^2 for a loss of curvature L; each end of the step shows one of them.
        bend = 2.0 * max(loss - run.loss - run.gradient @ move, run.loss - loss + gradient @ move)
        noise = _ROUNDING * abs(run.primal)
        if not np.isfinite(bend) or bend > run.curvature * length + noise:
            met = bend / length if np.isfinite(bend) else 10.0 * run.curvature
            run.curvature = _MARGIN * max(met, run.curvature)
            continue
        if carry == 0.0 and primal >= run.primal:
            return False
        run.momentum = 1.0 if float((z - v) @ move) < 0.0 else momentum
        run.last_w, run.last_gradient = run.w, run.gradient
        run.w, run.loss, run.gradient, run.primal = z, loss, gradient, primal
        run.curvature *= _FORGET
        if primal < run.best:
            run.best_w, run.best = z, primal
        return True
    return False


def _cuts(problem: Any) -> bool:
    """Whether the samples are cut again in each epoch, so that there is no fixed objective."""
    return getattr(problem, "decomposition", None) is not None


def _in_pieces(problem: Any, seed: int, epoch: int) -> Any:
    """The problem on fresh pieces of its samples."""
    if isinstance(problem, ScaledProblem):
        return ScaledProblem(_in_pieces(problem.given, seed, epoch), problem.factor, problem.centring)
    return problem.cut_anew(seed, epoch)


def _settled(history: Sequence[Step | Progress], tol: float) -> bool:
    """Whether the objectives of the last five epochs are, on average, those of the five before."""
    if len(history) < WINDOW:
        return False
    last = [step.primal for step in history[-WINDOW:]]
    before, after = np.mean(last[: WINDOW // 2]), np.mean(last[WINDOW // 2 :])
    return bool(abs(before - after) <= tol * abs(after))
