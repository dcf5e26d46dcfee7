"""The dual of the multiclass hinge, one sample at a time, inside an accelerated proximal method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, Result
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.placed_blocks import PlacedBlocks
from palmette.loops.table import why_not
from palmette.objectives.linearised import plain
from palmette.objectives.problem import first_point
from palmette.registry import register
from palmette.solvers.block_ascent import Ascent, Best, belongs
from palmette.solvers.driver import PAUSED, Seeded

NEEDS = "needs Multiclass() and weights of features"
FEW_WEIGHTS = 500  # up to here the bundle method is quick, too
EPOCHS_A_ROUND = 6
# The proximal term is halved after 40, 80, 160, ... rounds: errors of its problems then weigh less.
PATIENCE = 40

IDLE = 0.25  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all


@register("solver")
@dataclass(frozen=True)
class MulticlassDual(Seeded):
    """Minimise ``sum_i max_k [f_k + D(y_i, k)] - f(t_i) + (l2/2)|w|^2`` through its dual.

    ``y_i`` is the true label, a row of the table of costs ``D``; the target ``t_i`` is the true label too (the hinge of
    Crammer and Singer), or another one (a round of the concave-convex procedure for the ramp loss). With a
    distribution ``mu_i`` over labels for each sample the dual is ``sum_i weight_i <mu_i, D(y_i, .)> - |z|^2 / (2 l2)``,
    ``z_k = sum_i weight_i ([t_i = k] - mu_ik) x_i``, and ``w = z / l2`` at the optimum. A visit finds the best
    ``mu_i``, the others being fixed: with ``a_i = weight_i |x_i|^2 / l2`` it is the point of the simplex nearest to
    ``mu_i + (f + D(y_i, .)) / a_i``, found by sorting. Samples with small gaps are visited every third epoch only.

    With a weak penalty these steps are short (``a_i`` is large). So ``pull (l2/2)|w - c|^2`` is added to the objective,
    up to six epochs go to that better conditioned problem, and then the centre ``c`` moves beyond the weights found,
    with the momentum of an accelerated gradient method. The masses stay feasible for the dual of the objective itself,
    which gives the certificate, exact up to the rounding of one pass.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    check_every : int
        Rounds after which the objective is computed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from palmette import SSVM, Multiclass
    >>> X, y = load_iris(return_X_y=True)
    >>> result = SSVM(Multiclass(), l2=1.0, solver=MulticlassDual(tol=1e-4)).fit(X, y).result_
    >>> bool(result.gap <= 1e-4 * result.primal)
    True
    """

    max_iter: int = 10_000
    tol: float = 1e-4
    check_every: int = 2

    name: ClassVar[str] = "multiclass_dual"
    needs: ClassVar = ("convex", "margin_hinge", "separable", "whole", "no_l1", "l2")
    positive: ClassVar = ("max_iter", "check_every")

    def prepare(self, problem: SampledProblem) -> Visits:
        """The compiled visits; scores of the targets of a linearised problem are subtracted, or those of the truth."""
        targets = getattr(problem, "targets", None)
        return Visits(self, plain(problem), targets)

    def begin(self, work: Visits, w0: np.ndarray | None) -> Ascent:
        """All mass on the targets; ``w0`` is the first centre, and what is returned is not worse."""
        return work.anew(work.blocks.begin(work.target), w0)

    def resumed(self, problem: Visits, state: Ascent, w0: np.ndarray | None = None) -> Ascent:
        """Where an earlier run stopped; for other penalties or targets, samples with another target begin anew."""
        active: Any = problem.blocks.place(state.active.copy())
        if w0 is None and active.belongs_to(problem.problem, problem.target):
            return replace(state, active=active)
        return problem.anew(active, state.best.w if w0 is None else w0)

    def step(self, work: Visits, run: Ascent, last: int) -> Progress:
        """An epoch, and perhaps the end of a round."""
        work.epoch(run, last)
        run.count()
        return Progress(run.best.primal, run.best.lower)

    def finish(self, work: Visits, run: Ascent, reason: str) -> Progress | None:
        """After Ctrl-C, the objective at the present weights; the dual variables come back."""
        if reason in ("interrupted", PAUSED):
            work.compare(run)
        if reason != "interrupted":
            run.active = work.blocks.collect(run.active)
        return Progress(run.best.primal, run.best.lower)

    def weights(self, work: Visits, run: Ascent) -> np.ndarray:
        """The best point."""
        return run.best.w.copy()

    def check(self, problem: SampledProblem) -> None:
        """Refuse what has no compiled visits."""
        obstacle = why_not(self.name, plain(problem), NEEDS)
        if obstacle:
            raise MissingCapability(
                f"{self.name} {obstacle}; solver='bundle' supports every convex loss with l2 > 0"
            )

    def solve_warm(
        self, problem: SampledProblem, w0: np.ndarray, state: Any, *, same_samples: bool = False
    ) -> Result:
        """Minimise from given weights, and from dual variables if there are any in the shape of the problem."""
        usable = belongs(state, self) and state.active.fits(problem)
        return self.solve(problem, w0=w0, state=state if usable else None)


def suits(problem: SampledProblem) -> bool:
    """Whether the dual serves a problem and its steps are not too short, where few weights leave the choice."""
    loop = find(MulticlassDual.name, problem)
    return loop is not None and (len(problem.regularizer.l2) > FEW_WEIGHTS or loop.quick(problem))


@dataclass(frozen=True)
class _Compiled:
    """The compiled visits of a problem with these targets."""

    target: np.ndarray

    def __call__(self, problem: SampledProblem) -> Any:
        return find(MulticlassDual.name, problem)(problem, self.target)


class Visits:
    """A problem with its compiled visits, and what a run does beside them."""

    def __init__(self, solver: MulticlassDual, problem: SampledProblem, targets: np.ndarray | None) -> None:
        self.solver, self.problem = solver, problem
        self.target = np.asarray(problem.samples.codes if targets is None else targets, np.int64)
        self.blocks = PlacedBlocks(problem, _Compiled(self.target))
        self._shuffled: np.ndarray | None = None

    def anew(self, active: Any, w0: np.ndarray | None) -> Ascent:
        """The start of a run with these variables, at the centre ``w0``."""
        centre = first_point(self.problem, w0)
        self.blocks.change("anew", active, centre)
        active.n_oracle = 1.0
        value = self.blocks.value(centre) + self.problem.regularizer.value(centre)
        return Ascent(active=active, best=Best(centre, value, -np.inf))

    def epoch(self, run: Ascent, last: int) -> None:
        """Visit samples, and end a round where its problem is solved well enough."""
        state: Any = run.active
        order = self._order(state)
        self.blocks.visit(state, order)
        state.epoch += 1
        state.inner += 1
        state.n_oracle += len(order) / self.problem.n_samples
        away = state.w - state.centre
        near = state.gap.sum() <= state.pull * float(state.l2 @ (away * away))
        if near or state.inner == EPOCHS_A_ROUND or state.pull == 0.0:
            self._end_round(run)
        if state.epoch == last and not self._closed(run):
            self.compare(run)

    def _closed(self, run: Ascent) -> bool:
        return run.best.primal - run.best.lower <= self.solver.tol * abs(run.best.primal)

    def _order(self, state: Any) -> np.ndarray:
        """All samples, or those whose gap matters; in one random order for each round."""
        if self._shuffled is None or state.inner == 0:
            seeds = [self.solver.random_state, state.rounds]
            self._shuffled = np.random.default_rng(seeds).permutation(len(state.gap))
        if state.epoch % ALL_EVERY == 0 or state.epoch < 2:
            return self._shuffled
        return self._shuffled[(state.gap > IDLE * state.gap.mean())[self._shuffled]]

    def _end_round(self, run: Ascent) -> None:
        """Prove a bound, move the centre, and now and then compute the objective."""
        state: Any = run.active  # of the loop's own kind
        blocks = self.blocks
        # An accelerated proximal point method: centre <- w + step (w - last). Invariant: the masses are feasible for
        # the dual without the proximal term, so ``_bound`` holds for the objective itself; with ``_compare`` it gives
        # the gap that certifies the end, proved once more by the masses alone.
        slope = state.total()
        state.note_round(slope, self._cost(state))
        state.rounds, state.inner = state.rounds + 1, 0
        self._bound(run, slope)
        if _is_power_of_two(state.rounds) or state.rounds % self.solver.check_every == 0:
            self.compare(run)
            if self._closed(run):  # by numbers that visits added up: prove it by the masses alone
                run.best = run.best._replace(lower=-np.inf)
                slope = blocks.refresh(state)
                self._bound(run, slope)
        if float((state.l2 * (state.centre - state.w)) @ (state.w - state.last)) > 0.0:
            state.momentum = 1.0
        grown = 0.5 + np.sqrt(0.25 + state.momentum**2)
        root = np.sqrt(1.0 + state.pull)
        step = min((state.momentum - 1.0) / grown, (root - 1.0) / (root + 1.0))
        state.momentum = grown
        state.centre = state.w + step * (state.w - state.last)
        state.last = state.w.copy()
        if state.rounds % PATIENCE == 0 and _is_power_of_two(state.rounds // PATIENCE):
            state.pull, state.momentum = 0.5 * state.pull, 1.0
        state.w = state.weights(slope)

    def _cost(self, state: Any) -> float:
        return float(self.problem.samples.weight @ state.loss)

    def _bound(self, run: Ascent, slope: np.ndarray) -> None:
        """The dual at the masses and at their running mean."""
        state: Any = run.active
        share = state.trail_share
        lower = self._cost(state) - float(np.sum(slope * slope / (2.0 * state.l2)))
        mean = state.slope / share
        lower = max(lower, state.cost / share - float(np.sum(mean * mean / (2.0 * state.l2))))
        run.best = run.best._replace(lower=max(run.best.lower, lower))

    def compare(self, run: Ascent) -> None:
        """The objective at the present weights and at their running mean."""
        state: Any = run.active
        points = [state.w.copy()] + ([state.mean()] if state.trail_share else [])
        for w in points:
            primal = self.blocks.value(w) + self.problem.regularizer.value(w)
            state.n_oracle += 1
            if primal < run.best.primal:
                run.best = run.best._replace(w=w, found=primal)


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
