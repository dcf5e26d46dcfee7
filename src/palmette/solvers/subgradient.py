"""Subgradient method with Polyak's step: its target is adaptive, and never below the lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palmette.contracts.problem import Problem
from palmette.contracts.solver import Progress
from palmette.registry import register
from palmette.solvers.descent_state import Descent, DescentState
from palmette.solvers.nonconvex_start import first_weights

# decrease hoped for in the beginning, relative to the first objective, where there is no bound
FIRST_WISH = 0.3
SHARE = 0.5  # share of it that is enough
PATIENCE = 10  # steps without, after which less is hoped for ...
# ... and the run goes back to the best point, if it is worse by this many times what is hoped for
ASTRAY = 3.0
ROUNDING = 1e-28  # share of a squared gradient along a sphere that may be rounding
MORE, LESS = 1.5, 0.7  # factors of the hope after it came true, and after it did not
VAIN = 0.25  # the latter where a bound made the first hope, and nothing of it came true


@dataclass(kw_only=True)
class SubgradientState(DescentState):
    """Where a run stands; plain data."""

    mean: np.ndarray  # of the points since the average was restarted
    age: int = 0
    wish: float = np.nan  # decrease hoped for
    mark: float = np.inf  # best objective when it was last changed
    misses: int = 0


@register("solver")
@dataclass(frozen=True)
class Subgradient(Descent):
    """Minimise ``J(w) = loss(w) + sum_j (l2_j / 2) w_j^2`` by steps against whole subgradients, of Polyak's length.

    With a subgradient ``g`` of the objective, ``w <- w - (J(w) - target) / |g|^2 g``. The target is that of Nedic and
    Bertsekas (2001): the best objective met minus a decrease hoped for, which grows when half of it comes true and
    shrinks when it does not in 10 steps; a point that is much worse is then left for the best one. It is never below
    the lower bound that the cuts met on the way prove (:class:`~palmette.objectives.certificate.CutPool`), and that is
    what is hoped for in the beginning, so that nothing is tuned and the gap is certified. (The bound alone as the
    target leads nowhere where it is far below the optimum.) Steps are taken in the metric of the penalty,
    ``g_j / l2_j``, unless a ``radius`` is given.

    The result is the best point met: among the iterates, and among averages of the iterates since the last power of
    two, one of which is tried every ``check_every`` iterations. It is never worse than the start.

    Parameters
    ----------
    max_iter : int
        Iterations of one call, each one pass over the data (and one more for every average tried).
    tol : float
        Relative gap at which the run stops (``reason="gap"``). Where there is no bound (a loss that is not convex), or
        it need not be tight (a ``radius``), the run stops when the decrease hoped for is below ``tol`` times the
        objective (``"decrease hoped for"``): an estimate.
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

    name: ClassVar[str] = "subgradient"
    positive: ClassVar = ("max_iter", "check_every")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None and not self.radius > 0:
            raise ValueError(f"Subgradient: radius must be a number > 0, got {self.radius!r}")
        if self.sphere and self.radius is None:
            raise ValueError("Subgradient: sphere=True needs the radius of the sphere, got radius=None")

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Without a radius, steps divide by the penalty."""
        return ("separable", "whole", "no_l1", *(("l2",) if self.radius is None else ()))

    def step(self, problem: Problem, run: SubgradientState, last: int) -> Progress:
        """One step, and now and then a look at the average."""
        stationary = self._iterate(problem, run)
        little = run.wish <= self.tol * abs(run.best) and not self._proves(run)
        hoped = "decrease hoped for" if little else ""
        return run.progress._replace(estimate="stationary point" if stationary else hoped)

    def begin(self, problem: Problem, w0: np.ndarray | None) -> SubgradientState:
        """The state of a new run."""
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

    def _proves(self, run: SubgradientState) -> bool:
        """Whether cuts prove a bound that becomes tight."""
        return run.pool is not None and self.radius is None

    def _target(self, run: SubgradientState, value: float) -> tuple[float, bool]:
        """Objective that the step shall lead to, and whether the run had better go back to the best point."""
        astray, proves = False, self._proves(run)
        if np.isnan(run.wish):
            bounded = np.isfinite(run.lower)
            run.wish, run.mark = value - run.lower if bounded else FIRST_WISH * abs(value), value
        else:
            run.misses += 1
            if run.best <= run.mark - SHARE * run.wish:
                run.wish, run.misses, run.mark = MORE * run.wish, 0, run.best
            elif run.misses == PATIENCE:
                in_vain = proves and not run.best < run.mark
                run.wish, run.misses, run.mark = (VAIN if in_vain else LESS) * run.wish, 0, run.best
                # Steps to a level that exists lead towards it, whatever the objective does on the way.
                astray = not proves and value - run.best > ASTRAY * run.wish
        if proves:  # the gap ends the run: the hope stays above what it asks for
            run.wish = max(run.wish, self.tol * abs(run.best))
        return float(np.fmax(run.best - run.wish, run.lower)), astray
