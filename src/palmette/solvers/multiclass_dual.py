"""The dual of the multiclass hinge, one sample at a time, inside an accelerated proximal method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.block_state import BlockState
from palmette.loops.table import why_not
from palmette.objectives.problem import (
    first_point,
    require_convex,
    require_no_l1,
    require_penalised,
    require_separable,
    require_whole,
)
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from palmette.solvers.block_ascent import Best

NEEDS = "needs Multiclass() and weights of features"
FEW_WEIGHTS = 500  # up to here the bundle method is quick, too
EPOCHS_A_ROUND = 6
PATIENCE = (
    40  # the proximal term is halved after 40, 80, 160, ... rounds: errors of its problems then weigh less
)
IDLE = 0.25  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all


@register("solver")
@dataclass(frozen=True)
class MulticlassDual:
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
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    name = "multiclass_dual"

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter", "check_every"), not_negative=("tol", "random_state"))

    def solve(
        self, problem: Any, w0: np.ndarray | None = None, state: Any = None, targets: np.ndarray | None = None
    ) -> Result:  # fmt: skip
        """Run from ``w0`` (the first centre, 0 by default) or from the dual variables of an earlier result.

        Parameters
        ----------
        w0 : ndarray, optional
            What is returned is not worse.
        state : dict, optional
            Of an earlier result. If the penalty and the targets are the same, the run goes on as if it had not stopped;
            otherwise samples whose target is another one begin anew, the others keep their variables.
        targets : ndarray of int, shape (n_samples,), optional
            Codes of the labels whose scores are subtracted; the true ones by default.
        """
        self._check(problem)
        target = np.asarray(problem.samples.codes if targets is None else targets, np.int64)
        blocks = find(self.name, problem)(problem, target)
        if state is not None and w0 is None and state["active"].belongs_to(problem, target):
            return _Run(self, problem, blocks, **state).go()
        active = blocks.at_target() if state is None else state["active"].copy()
        centre = first_point(problem, state["best"].w if w0 is None and state is not None else w0)
        active.begin(target, problem.regularizer.l2, centre, pull(blocks))
        blocks.refresh(active)
        first = Best(centre, blocks.value(centre) + problem.regularizer.value(centre), -np.inf)
        active.n_oracle = 1.0
        return _Run(self, problem, blocks, active, (), first).go()

    def usable(self, problem: Any, state: Any) -> Any:
        """``state`` if it has dual variables in the shape of ``problem``, else None."""
        active = state.get("active") if isinstance(state, dict) else None
        known = isinstance(active, BlockState) and active.solver == self.name
        return state if known and active.fits(problem) else None

    def _check(self, problem: Any) -> None:
        require_convex(problem, self.name)
        require_separable(problem, self.name)
        require_whole(problem, self.name)
        require_no_l1(problem, self.name)
        require_penalised(problem, self.name)
        obstacle = why_not(self.name, problem, NEEDS)
        if obstacle:
            raise MissingCapability(
                f"{self.name} {obstacle}; solver='bundle' supports every convex loss with l2 > 0"
            )


def suits(problem: Any) -> bool:
    """Whether the dual serves a problem and its steps are not too short, where few weights leave the choice."""
    loop = find(MulticlassDual.name, problem)
    return loop is not None and (len(problem.regularizer.l2) > FEW_WEIGHTS or loop.quick(problem))


def pull(blocks: Any) -> float:
    """Strength of the proximal term relative to l2.

    Steps have the right length if the mean curvature is about ``2 sqrt(a) (values per row / samples)^(1/3)``,
    ``a`` being the mean curvature without it: measured on the Statlog sets for C from 0.01 to 10.
    """
    mean = blocks.mean_curvature
    wanted = 2.0 * np.sqrt(mean) * np.cbrt(blocks.values_a_row / len(blocks.curvature))
    return max(mean / wanted - 1.0, 0.0) if wanted > 0.0 else 0.0


class _Run:
    """Where one run stands."""

    def __init__(
        self, solver: MulticlassDual, problem: Any, blocks: Any, active: Any, history: tuple,
        best: Best,
    ) -> None:  # fmt: skip
        self.solver, self.problem, self.blocks, self.best = solver, problem, blocks, best
        self.state = active.copy()
        self.recorder = Recorder(solver.callbacks, history)
        self._shuffled: np.ndarray | None = None

    def go(self) -> Result:
        """Epoch after epoch, until the gap is closed."""
        solver, state, reason = self.solver, self.state, "max_iter"
        last = state.epoch + solver.max_iter
        while state.epoch < last:
            order = self._order()
            self.blocks.visit(state, order)
            state.epoch += 1
            state.inner += 1
            state.n_oracle += len(order) / self.problem.n_samples
            away = state.w - state.centre
            near = state.gap.sum() <= state.pull * float(state.l2 @ (away * away))
            if near or state.inner == EPOCHS_A_ROUND or state.pull == 0.0:
                self._end_round()
            if state.epoch == last and not self._closed:
                self._compare()
            best = self.best
            stop = self.recorder.record(state.epoch, state.n_oracle, best.primal, best.lower, best.w.copy)
            if self._closed:
                reason = "gap"
                break
            if stop:
                reason = "callback"
                break
        return self._result(reason)

    @property
    def _closed(self) -> bool:
        return self.best.primal - self.best.lower <= self.solver.tol * abs(self.best.primal)

    def _order(self) -> np.ndarray:
        """All samples, or those whose gap matters; in one random order for each round."""
        state = self.state
        if self._shuffled is None or state.inner == 0:
            seeds = [self.solver.random_state, state.rounds]
            self._shuffled = np.random.default_rng(seeds).permutation(len(state.gap))
        if state.epoch % ALL_EVERY == 0 or state.epoch < 2:
            return self._shuffled
        return self._shuffled[(state.gap > IDLE * state.gap.mean())[self._shuffled]]

    def _end_round(self) -> None:
        """Prove a bound, move the centre, and now and then compute the objective."""
        state, blocks = self.state, self.blocks
        # An accelerated proximal point method: centre <- w + step (w - last). Invariant: the masses are feasible for
        # the dual without the proximal term, so ``_bound`` holds for the objective itself; with ``_compare`` it gives
        # the gap that certifies the end, proved once more by the masses alone.
        slope = blocks.slope(state)
        state.note_round(slope, self._cost)
        state.rounds, state.inner = state.rounds + 1, 0
        self._bound(slope)
        if _is_power_of_two(state.rounds) or state.rounds % self.solver.check_every == 0:
            self._compare()
            if self._closed:  # by numbers that visits added up: prove it by the masses alone
                self.best = self.best._replace(lower=-np.inf)
                slope = blocks.refresh(state)
                self._bound(slope)
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
        state.w = blocks.weights(state, slope)

    @property
    def _cost(self) -> float:
        return float(self.problem.samples.weight @ self.state.loss)

    def _bound(self, slope: np.ndarray) -> None:
        """The dual at the masses and at their running mean."""
        state, share = self.state, self.state.trail_share
        lower = self._cost - float(np.sum(slope * slope / (2.0 * state.l2)))
        mean = state.slope / share
        lower = max(lower, state.cost / share - float(np.sum(mean * mean / (2.0 * state.l2))))
        self.best = self.best._replace(lower=max(self.best.lower, lower))

    def _compare(self) -> None:
        """The objective at the current weights and at their running mean."""
        state = self.state
        points = [state.w.copy()] + ([state.mean()] if state.trail_share else [])
        for w in points:
            primal = self.blocks.value(w) + self.problem.regularizer.value(w)
            state.n_oracle += 1
            if primal < self.best.primal:
                self.best = self.best._replace(w=w, found=primal)

    def _result(self, reason: str) -> Result:
        history, best = tuple(self.recorder.history), self.best
        if reason == "max_iter":
            warn_unconverged(
                f"{self.solver.name} stopped after {self.state.epoch} epochs with relative gap "
                f"{history[-1].gap / abs(best.primal):.2e} > tol={self.solver.tol:g}. Increase max_iter, tol or l2."
            )
        end = {"active": self.state, "history": history, "best": best}
        return Result(best.w, history[-1], history, reason == "gap", reason, end)


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
