"""Ascent in the dual of the structured hinge, one sample after the other: what its solvers share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, Result, RunState, Step
from palmette.errors import MissingCapability
from palmette.loops.block_state import Blocks, BlockState
from palmette.loops.placed_blocks import PlacedBlocks
from palmette.objectives.linearised import plain
from palmette.objectives.problem import refine
from palmette.solvers.driver import Seeded
from palmette.solvers.maxima import limited

IDLE = 0.25  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all
STALE = 1.5  # gaps met during an epoch exceed those of the mean of the weights by about this factor


class Best(NamedTuple):
    """The best point met, its objective, and the best lower bound proved."""

    w: np.ndarray
    found: float  # by the maxima that were found ...
    lower: float
    slack: float = 0.0  # ... and what they may add to it

    @property
    def primal(self) -> float:
        """The objective, from above."""
        return self.found + self.slack


@dataclass(kw_only=True)
class Ascent(RunState):
    """Where a run stands: the dual variables, and the best point they led to."""

    active: BlockState
    best: Best

    @classmethod
    def of(cls, active: BlockState) -> Self:
        """Where a run begins that has these dual variables."""
        return cls(active=active, best=Best(active.w.copy(), np.inf, -np.inf))

    def copy(self) -> Self:
        """An independent copy."""
        return replace(self, active=self.active.copy())

    def count(self) -> None:
        """Take over how far the dual variables are."""
        self.n_iter, self.n_oracle = self.active.epoch, self.active.n_oracle


class Work:
    """A problem, how its samples are visited, and a linear term, which moves the weights and nothing else.

    With ``loss(w) - <slope, w>`` the weights that dual variables imply are those without it plus ``slope / l2``; visits
    and dual value are as before.
    """

    def __init__(self, problem: SampledProblem, blocks: PlacedBlocks) -> None:
        self.problem, self.blocks = problem, blocks
        self.slope: np.ndarray | None = getattr(problem, "slope", None)
        self.targets: np.ndarray | None = getattr(problem, "targets", None)  # the outputs that it prefers

    def follow(self, state: BlockState, before: np.ndarray) -> None:
        """Move the dual variables with the linear term, which preferred the outputs ``before`` until now."""
        self.blocks.change("follow", state, before, self.targets, self.problem.factor)  # type: ignore[attr-defined]

    def refresh(self, state: BlockState) -> None:
        """Compute weights and losses from the dual variables: what visits added up has rounding errors."""
        self.blocks.refresh(state)
        if self.slope is not None:
            state.w = state.w + self.slope / self.problem.regularizer.l2

    def checked(self, state: BlockState, best: Best) -> Best:
        """The better of ``best`` and the present state, by full passes; rounding errors of the weights are removed."""
        # Weak duality: dual value <= optimum <= objective, at any masses and any weights. The dual value is computed
        # from the masses alone, the objective by full passes; gaps met during visits are estimates and certify nothing.
        self.refresh(state)
        lower = max(best.lower, dual_value(self.problem, state))
        points = [state.w.copy(), state.mean()]
        for w in points if state.epoch > 1 else points[:1]:  # after one epoch the mean is the point itself
            best = self.better(w, best)
            state.n_oracle += 1
        return best._replace(lower=lower)

    def better(self, w: np.ndarray, best: Best) -> Best:
        """The point ``w`` if it is better, or the best so far."""
        value, slack = self.blocks.value(w)
        found = value + self.problem.regularizer.value(w)
        if self.slope is not None:
            found -= float(self.slope @ w)
        return best._replace(w=w, found=found, slack=slack) if found < best.found else best


def belongs(state: Any, solver: Any) -> bool:
    """Whether a state holds dual variables of a solver."""
    return isinstance(state, Ascent) and state.active.solver == solver.name


def dual_value(problem: SampledProblem, state: BlockState) -> float:
    """Lower bound on the optimum that the dual variables prove."""
    return float(problem.samples.weight @ state.loss - problem.regularizer.l2_value(state.w))


def _order(seed: int, state: BlockState) -> np.ndarray:
    order = np.random.default_rng([seed, state.epoch]).permutation(len(state.gap))
    if state.epoch % ALL_EVERY == 0 or not np.all(np.isfinite(state.gap)):
        return order
    return order[state.gap[order] > IDLE * state.gap.mean()]


@dataclass(frozen=True)
class BlockAscent(Seeded):
    """Base of the solvers of the dual: a subclass names itself and the visits that serve a problem."""

    max_iter: int = 2000
    tol: float = 1e-4
    check_every: int = 10

    needs: ClassVar = ("convex", "margin_hinge", "separable", "whole", "no_l1", "l2")
    takes_start: ClassVar[bool] = False
    positive: ClassVar = ("max_iter", "check_every")

    def blocks_of(self, problem: SampledProblem) -> Blocks:
        """The fastest visits that serve a problem."""
        raise NotImplementedError

    def prepare(self, problem: SampledProblem) -> Work:
        """The problem with its visits, which happen where the samples are."""
        return Work(problem, PlacedBlocks(plain(problem), replace(self, callbacks=()).blocks_of))

    def begin(self, work: Work, w0: np.ndarray | None) -> Ascent:
        """All mass on the true labelings, or on those that a linear term prefers: ``w = 0`` where its factors are 1."""
        active = work.blocks.begin()
        if work.slope is not None:
            work.follow(active, work.problem.samples.codes)
            work.refresh(active)
        return Ascent.of(active)

    def resumed(self, work: Work, state: Ascent, w0: np.ndarray | None = None) -> Ascent:
        """A copy of the state of an earlier run, to go on from."""
        return replace(state, active=work.blocks.place(state.active.copy()))

    def step(self, work: Work, run: Ascent, last: int) -> Progress:
        """An epoch, and a look at objective and bound where that is worth it."""
        problem, state = work.problem, run.active
        order = _order(self.random_state, state)
        work.blocks.visit(state, order)
        state.epoch += 1
        state.n_oracle += len(order) / problem.n_samples
        state.note()
        dual, gaps = dual_value(problem, state), float(state.gap.sum())
        promising = gaps <= STALE * self.tol * (dual + gaps)
        early = state.epoch & (state.epoch - 1) == 0  # 1, 2, 4, 8, ...
        wishes = [callback.ends_at for callback in self.callbacks if hasattr(callback, "ends_at")]
        if wishes and np.isfinite(run.best.found):  # a look is worth it where it may end the run
            guess = Step(state.epoch, state.n_oracle, 0.0, dual + gaps, dual)
            early = any(wish(guess) for wish in wishes)
        if promising or early or state.epoch % self.check_every == 0:
            run.best = work.checked(state, run.best)
        elif state.epoch == last:
            # on a copy: a resumed run goes on as if it had not been checked
            run.best = work.checked(state.copy(), run.best)
        run.count()
        best = run.best
        closed = best.primal - best.lower <= self.tol * abs(best.primal)
        return Progress(best.primal, max(best.lower, dual), checked=closed)

    def ends(self, work: Work, run: Ascent) -> bool:
        """Whether only better maxima would close the gap; where there are some, the best point is looked at again."""
        best = run.best
        if not limited(best.found, best.slack, best.lower, self.tol):
            return False
        if not refine(work.problem):
            return True
        run.best = work.better(best.w, best._replace(found=np.inf))
        run.active.n_oracle += 1
        return False

    def finish(self, work: Work, run: Ascent, reason: str) -> Progress:
        """What was proven by full passes; the dual variables come back."""
        if reason != "interrupted":
            run.active = work.blocks.collect(run.active)
        return Progress(run.best.primal, run.best.lower)

    def weights(self, work: Work, run: Ascent) -> np.ndarray:
        """The best point."""
        return run.best.w.copy()

    def solve_warm(self, problem: Any, w0: np.ndarray, state: Any, *, same_samples: bool = False) -> Result:
        """Minimise from the dual variables of an earlier fit, which belong to its very samples."""
        if belongs(state, self):
            return self.solve(problem, state=self.restart(problem, state))
        if same_samples:  # along a path "auto" may take another solver than before
            return self.solve(problem)
        raise MissingCapability(
            f"{type(self).__name__} continues from its dual variables, and this model does not have them (it was "
            "loaded, interrupted in the middle of an epoch, or fitted by another solver or with warm_start=False): use "
            "solver='bundle', or fit from scratch"
        )

    def restart(self, problem: Any, state: Ascent, targets: np.ndarray | None = None) -> Ascent:
        """The dual variables of an earlier run as the start of this one; only penalty and linear term may have changed.

        ``targets`` are the outputs that the linear term of the earlier run preferred.
        """
        if not state.active.fits(problem):
            raise MissingCapability(
                f"{self.name} can be warm-started on the same samples only, since its variables belong to them; "
                "use solver='bundle' or 'stochastic' to start from given weights"
            )
        work = self.prepare(problem)
        active = work.blocks.place(state.active.copy())
        if targets is not None:
            work.follow(active, targets)
        work.refresh(active)
        active.restart()
        return Ascent.of(work.blocks.collect(active))
