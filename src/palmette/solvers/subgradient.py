"""Subgradient method with Polyak's step: the lower bound as its target, or an adaptive one where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from palmette.objectives.problem import (
    Problem,
    require_no_l1,
    require_penalised,
    require_separable,
    require_whole,
)
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from palmette.solvers.descent_state import DescentState
from palmette.solvers.maxima import INEXACT, warn_inexact
from palmette.solvers.nonconvex_start import first_weights

FIRST_WISH = (
    0.3  # decrease hoped for in the beginning, relative to the first objective, where there is no bound
)
SHARE = 0.5  # share of it that is enough
PATIENCE = 10  # steps without, after which less is hoped for ...
ASTRAY = (
    3.0  # ... and the run goes back to the best point, if it is worse by this many times what is hoped for
)
ROUNDING = 1e-28  # share of a squared gradient along a sphere that may be rounding
MORE, LESS = 1.5, 0.7  # factors of the hope after it came true, and after it did not


@dataclass(kw_only=True)
class SubgradientState(DescentState):
    """Where a run stands; plain data."""

    mean: np.ndarray  # of the points since the average was restarted
    age: int = 0
    wish: float = np.nan  # decrease hoped for
    mark: float = np.inf  # best objective when it was last changed
    misses: int = 0
    n_iter: int = 0


@register("solver")
@dataclass(frozen=True)
class Subgradient:
    """Minimise ``J(w) = loss(w) + sum_j (l2_j / 2) w_j^2`` by steps against whole subgradients, of Polyak's length.

    With a subgradient ``g`` of the objective, ``w <- w - (J(w) - target) / |g|^2 g``. The target is the lower bound
    that the cuts met on the way prove (:class:`~palmette.objectives.certificate.CutPool`), so nothing is tuned and the
    gap is certified. Where there is no such bound (a loss that is not convex) or it need not be tight (a ``radius``),
    the target is that of Nedic and Bertsekas (2001): the best objective met minus a decrease hoped for, which grows
    when half of it comes true and shrinks when it does not in 10 steps; a point that is much worse is then left for
    the best one. Steps are taken in the metric of the penalty, ``g_j / l2_j``, unless a ``radius`` is given.

    The result is the best point met: among the iterates, and among averages of the iterates since the last power of
    two, one of which is tried every ``check_every`` iterations. It is never worse than the start.

    Parameters
    ----------
    max_iter : int
        Iterations of one call, each one pass over the data (and one more for every average tried).
    tol : float
        Relative gap at which the run stops (``reason="gap"``). Where the target is an adaptive one, the run stops when
        the decrease hoped for is below ``tol`` times the objective (``reason="decrease hoped for"``): an estimate.
    radius : float, optional
        Points are projected to ``|w| <= radius``.
    sphere : bool
        Points are projected to ``|w| = radius`` instead, and steps follow the part of the subgradient along the
        sphere. A start at zero is replaced by the direction of steepest descent there.
    averaged : bool
        Whether averages are tried.
    check_every : int
        Iterations between two averages that are tried.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true return value stops the run.

    The ramp loss and other losses that are not convex are minimised directly: ``lower`` and ``gap`` are NaN then, and
    the point found is one that descent no longer improves, not an optimum. Without ``w0`` the run starts at weights
    that the structure knows (``Ranking``), or at a rough minimiser of the convex part.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> from palmette.solvers import Subgradient
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], ["a", "a", "b"]
    >>> result = SSVM(Multiclass(), l2=1.0, solver=Subgradient(tol=1e-3)).fit(X, y).result_
    >>> result.reason, result.gap <= 1e-3 * result.primal
    ('gap', True)
    """

    max_iter: int = 2000
    tol: float = 1e-4
    radius: float | None = None
    sphere: bool = False
    averaged: bool = True
    check_every: int = 10
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        positive = ("max_iter", "check_every") + (() if self.radius is None else ("radius",))
        check_settings(self, positive=positive, not_negative=("tol",))
        if self.sphere and self.radius is None:
            raise ValueError("Subgradient: sphere=True needs the radius of the sphere, got radius=None")

    def solve(
        self, problem: Problem, w0: np.ndarray | None = None, state: SubgradientState | None = None
    ) -> Result:
        """Minimise from ``w0`` (zero by default), or go on from the ``state`` of an earlier result (which is kept)."""
        self._check(problem)
        run = self._start(problem, w0) if state is None else state.resumed(problem)
        recorder = Recorder(self.callbacks, run.history)
        last, reason = run.n_iter + self.max_iter, ""
        while not reason:
            stationary = self._iterate(problem, run)
            stop = recorder.record(run.n_iter, run.n_oracle, run.primal, run.lower, lambda: run.best_w)
            if run.primal - run.lower <= self.tol * abs(run.primal):
                reason = "gap"
            elif stationary:
                reason = "stationary point"
            elif run.wish <= self.tol * abs(run.best):
                reason = "decrease hoped for"
            elif stop:
                reason = "callback"
            elif run.n_iter == last:
                reason = "max_iter"
            elif run.ends(problem, self.tol):
                reason = INEXACT
        run.history = tuple(recorder.history)
        step = run.history[-1]
        if reason == INEXACT:
            warn_inexact("subgradient", f"{run.n_iter} iterations", step, self.tol)
        if reason == "max_iter":
            left = step.gap if np.isfinite(step.gap) else run.wish
            what = "gap" if np.isfinite(step.gap) else "decrease hoped for"
            warn_unconverged(
                f"subgradient stopped after {run.n_iter} iterations at objective {step.primal:.6g} with relative "
                f"{what} {left / abs(step.primal):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2."
            )
        return Result(
            run.best_w, step, run.history, reason not in ("max_iter", "callback", INEXACT), reason, run
        )

    def _check(self, problem: Problem) -> None:
        require_separable(problem, "subgradient")
        require_whole(problem, "subgradient")
        require_no_l1(problem, "subgradient")
        if self.radius is None:
            require_penalised(problem, "subgradient")

    def _start(self, problem: Problem, w0: np.ndarray | None) -> SubgradientState:
        w, n_oracle = first_weights(problem, w0, scaled=not self.sphere)
        if self.sphere and not w.any():
            w, n_oracle = -problem.loss(w)[1], n_oracle + 1
            if not w.any():
                raise ValueError(
                    "Subgradient: the gradient at zero is zero, so that it names no point of the sphere to start from; "
                    "give w0"
                )
        w = self._projected(w)
        return SubgradientState.at(problem, w, n_oracle, mean=np.zeros_like(w))

    def _projected(self, w: np.ndarray) -> np.ndarray:
        if self.radius is None:
            return w
        length = float(np.linalg.norm(w))
        return w * (self.radius / length) if self.sphere or length > self.radius else w

    def _iterate(self, problem: Problem, run: SubgradientState) -> bool:
        """One step, and now and then a look at the average; true at a stationary point."""
        value, gradient = run.look(problem, run.w)
        run.n_iter += 1
        noise = ROUNDING * float(gradient @ gradient)
        if self.sphere:
            gradient -= run.w * (gradient @ run.w / (run.w @ run.w))
        direction = gradient / problem.regularizer.l2 if self.radius is None else gradient
        length = float(gradient @ direction) if gradient @ gradient > noise else 0.0
        target, astray = self._target(run, value)
        if length == 0.0 and not value > run.best:
            return True
        if astray or length == 0.0:
            run.w = run.best_w
            return False
        run.w = self._projected(run.w - (value - target) / length * direction)
        if self.averaged:
            self._average(problem, run)
        return False

    def _average(self, problem: Problem, run: SubgradientState) -> None:
        if run.n_iter & (run.n_iter - 1) == 0:  # 1, 2, 4, 8, ...: start the average afresh
            run.age = 0
        run.age += 1
        run.mean = run.mean + (run.w - run.mean) / run.age
        if run.n_iter % self.check_every == 0:
            run.look(problem, self._projected(run.mean))

    def _target(self, run: SubgradientState, value: float) -> tuple[float, bool]:
        """Objective that the step shall lead to, and whether the run had better go back to the best point."""
        if run.pool is not None and self.radius is None:
            return run.pool.best, False
        astray = False
        if np.isnan(run.wish):
            bounded = np.isfinite(run.lower)
            run.wish, run.mark = value - run.lower if bounded else FIRST_WISH * abs(value), value
        else:
            run.misses += 1
            if run.best <= run.mark - SHARE * run.wish:
                run.wish, run.misses, run.mark = MORE * run.wish, 0, run.best
            elif run.misses == PATIENCE:
                run.wish, run.misses, run.mark = LESS * run.wish, 0, run.best
                astray = value - run.best > ASTRAY * run.wish
        return float(np.fmax(run.best - run.wish, run.lower)), astray
