"""L-BFGS and OWL-QN with the settings, steps and stopping rules of CRFsuite."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from palmette.compat.line_searches import DECREASE, SHORTEST, Point, backtracking, more_thuente
from palmette.contracts.solver import Progress, RunState
from palmette.solvers.driver import Driven
from palmette.solvers.quasi_newton import InverseHessian

if TYPE_CHECKING:
    from palmette.contracts.problem import SampledProblem

LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")


class _Place(NamedTuple):
    """A point with its objective, the gradient of the smooth part and the shortest subgradient of the whole."""

    w: np.ndarray
    value: float
    smooth: np.ndarray
    steepest: np.ndarray


@dataclass(kw_only=True)
class LBFGSRun(RunState):
    """Where a run stands; ``details`` lists per iteration what the solver's ``details`` names."""

    place: _Place
    curvature: InverseHessian
    values: list[float]
    details: list[tuple[float, int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class CRFsuiteLBFGS(Driven):
    """Limited-memory BFGS that takes the steps of CRFsuite: same settings, same weights.

    It minimises ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|`` from zero. The first step has length one. With L1
    it is OWL-QN with halved steps, else ``linesearch`` decides. palmette's own ``LBFGS`` proves how far it is from the
    optimum and is the better choice where CRFsuite's iterates do not matter.

    Parameters
    ----------
    memory : int
        Curvature pairs kept.
    max_iter : int
        Iterations; no limit by default.
    epsilon : float
        Stop when ``|gradient| <= epsilon max(1, |w|)``.
    period, delta : int, float
        Stop when ``(objective[k - period] - objective[k]) / objective[k] < delta``.
    linesearch : {"MoreThuente", "Backtracking", "StrongBacktracking"}
    max_linesearch : int
        Trials of one line search; if none succeeds the run ends at the last point.
    callbacks : sequence of callables
        As for all solvers.
    """

    name: ClassVar[str] = "lbfgs"
    tol: ClassVar[float] = 0.0  # type: ignore[misc]  # the rules of CRFsuite are others
    not_negative: ClassVar = ()
    quiet: ClassVar[bool] = True
    details: ClassVar = ("error_norm", "linesearch_trials", "linesearch_step")

    memory: int = 6
    max_iter: int = sys.maxsize
    epsilon: float = 1e-5
    period: int = 10
    delta: float = 1e-5
    linesearch: str = "MoreThuente"
    max_linesearch: int = 20

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> LBFGSRun:
        """The state of a new run."""
        place = _visit(problem, np.zeros(problem.n_params) if w0 is None else np.array(w0, float))
        curvature = InverseHessian(problem.n_params, self.memory)
        return LBFGSRun(place=place, curvature=curvature, values=[place.value], n_oracle=1)

    def step(self, problem: SampledProblem, run: LBFGSRun, last: int) -> Progress:
        """One iteration."""
        here = run.place
        if run.n_iter == 0 and self._flat(here):
            return Progress(here.value, -np.inf, estimate="gradient")
        direction = -run.curvature.times(here.steepest)
        if problem.regularizer.has_l1:
            direction[direction * here.steepest >= 0.0] = 0.0
        step = 1.0 if run.n_iter else 1.0 / float(np.linalg.norm(direction))
        place, step, n_trials = self._search(problem, here, direction, step)
        run.n_oracle += n_trials
        if place is None:
            return Progress(here.value, -np.inf, failure="line search")
        run.curvature.update(place.w, here.w, place.smooth, here.smooth)
        run.place = here = place
        run.n_iter += 1
        run.values.append(here.value)
        run.details.append((float(np.linalg.norm(here.steepest)), n_trials, step))
        return Progress(here.value, -np.inf, estimate=self._estimate(here, run.values))

    def weights(self, problem: SampledProblem, run: LBFGSRun) -> np.ndarray:
        """The present point."""
        return run.place.w.copy()

    def _flat(self, here: _Place) -> bool:
        return float(np.linalg.norm(here.steepest)) <= self.epsilon * max(1.0, float(np.linalg.norm(here.w)))

    def _estimate(self, here: _Place, values: list[float]) -> str:
        k = len(values) - 1
        if self._flat(here):
            return "gradient"
        slow = k >= self.period and values[k - self.period] - here.value < self.delta * here.value
        return "relative decrease" if slow else ""

    def _search(
        self, problem: SampledProblem, here: _Place, direction: np.ndarray, step: float
    ) -> tuple[_Place | None, float, int]:
        """The next place, the step to it and the number of trials."""
        if problem.regularizer.has_l1:
            return self._orthant_search(problem, here, direction, step)
        start = Point(0.0, here.value, float(here.smooth @ direction))
        if start.slope > 0.0:
            return None, step, 0

        def at(step: float) -> Point:
            place = _visit(problem, here.w + step * direction)
            return Point(step, place.value, float(place.smooth @ direction), place)

        if self.linesearch == "MoreThuente":
            point, n_trials = more_thuente(at, start, step, self.max_linesearch)
        else:
            strong = self.linesearch == "StrongBacktracking"
            point, n_trials = backtracking(at, start, step, self.max_linesearch, strong)
        return (None, step, n_trials) if point is None else (point.payload, point.step, n_trials)

    def _orthant_search(
        self, problem: SampledProblem, here: _Place, direction: np.ndarray, step: float
    ) -> tuple[_Place | None, float, int]:
        """Halve the step until the objective falls enough; weights that leave their orthant become zero."""
        orthant = np.where(here.w == 0.0, -here.steepest, here.w)
        for trial in range(1, self.max_linesearch + 1):
            w = here.w + step * direction
            w[w * orthant <= 0.0] = 0.0
            place = _visit(problem, w)
            if place.value <= here.value + DECREASE * float((w - here.w) @ here.steepest):
                return place, step, trial
            if step < SHORTEST:
                break
            step *= 0.5
        return None, step, trial


def _visit(problem: SampledProblem, w: np.ndarray) -> _Place:
    reg = problem.regularizer
    loss, gradient = problem.loss(w)
    smooth = reg.l2_gradient(w) + gradient
    steepest = reg.min_norm_subgradient(w, gradient) if reg.has_l1 else smooth
    return _Place(w, float(loss) + reg.value(w), smooth, steepest)
