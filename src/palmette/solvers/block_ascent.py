"""Ascent in the dual of the structured hinge, one sample after the other: what its solvers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops.block_state import Blocks, BlockState
from palmette.objectives.problem import (
    refine,
    require_convex,
    require_no_l1,
    require_penalised,
    require_separable,
    require_whole,
)
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from palmette.solvers.maxima import INEXACT, limited, warn_inexact
from palmette.surrogates.hinge import Hinge

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


def check_dual(problem: Any, solver: str, w0: np.ndarray | None) -> None:
    """Refuse what has no dual with one distribution per sample."""
    require_convex(problem, solver)
    surrogate = getattr(problem, "surrogate", None)
    rescaling = getattr(surrogate, "rescaling", None)
    if rescaling is not None:
        raise MissingCapability(
            f"{solver} solves the dual of the hinge with rescaling='margin', not of {type(surrogate).__name__} with "
            f"rescaling={rescaling.name!r}; use solver='bundle'"
        )
    if not isinstance(surrogate, Hinge):
        raise MissingCapability(
            f"{solver} solves the dual of the hinge, not of {type(surrogate).__name__}; use solver='lbfgs'"
        )
    require_separable(problem, solver)
    require_whole(problem, solver)
    require_no_l1(problem, solver)
    require_penalised(problem, solver)
    if w0 is not None and np.any(w0):
        raise MissingCapability(
            f"{solver} cannot start from given weights, only from the state of an earlier result; "
            "use solver='bundle' or 'stochastic' for that"
        )


def dual_value(problem: Any, state: BlockState) -> float:
    """Lower bound on the optimum that the dual variables prove."""
    return float(problem.samples.weight @ state.loss - problem.regularizer.l2_value(state.w))


def checked(problem: Any, blocks: Blocks, state: BlockState, best: Best) -> Best:
    """The better of ``best`` and the current state, by full passes; rounding errors of the weights are removed."""
    # Weak duality: dual value <= optimum <= objective, at any masses and any weights. The dual value is computed from
    # the masses alone, the objective by full passes; gaps met during visits are estimates and certify nothing.
    blocks.refresh(state)
    lower = max(best.lower, dual_value(problem, state))
    for w in (state.w.copy(), state.mean()):
        best = better(problem, blocks, w, best)
        state.n_oracle += 1
    return best._replace(lower=lower)


def better(problem: Any, blocks: Blocks, w: np.ndarray, best: Best) -> Best:
    """The point ``w`` if it is better, or the best so far."""
    value, slack = blocks.value(w)
    found = value + problem.regularizer.value(w)
    return best._replace(w=w, found=found, slack=slack) if found < best.found else best


def ascend(solver: Any, name: str, problem: Any, blocks: Blocks, start: dict[str, Any]) -> Result:
    """Visit samples until the gap is closed. ``start`` has the dual variables, the history and the best point."""
    state, best = start["active"].copy(), start["best"]
    recorder = Recorder(solver.callbacks, start["history"])
    reason = "max_iter"
    last = state.epoch + solver.max_iter
    while state.epoch < last:
        order = _order(solver.random_state, state)
        blocks.visit(state, order)
        state.epoch += 1
        state.n_oracle += len(order) / problem.n_samples
        state.note()
        dual, gaps = dual_value(problem, state), float(state.gap.sum())
        promising = gaps <= STALE * solver.tol * (dual + gaps)
        early = state.epoch & (state.epoch - 1) == 0  # 1, 2, 4, 8, ...
        if promising or early or state.epoch % solver.check_every == 0:
            best = checked(problem, blocks, state, best)
        elif state.epoch == last:
            # on a copy: a resumed run goes on as if it had not been checked
            best = checked(problem, blocks, state.copy(), best)
        lower = max(best.lower, dual)
        stop = recorder.record(state.epoch, state.n_oracle, best.primal, lower, best.w.copy)
        if best.primal - best.lower <= solver.tol * abs(best.primal):
            reason = "gap"
            break
        if stop:
            reason = "callback"
            break
        if limited(best.found, best.slack, best.lower, solver.tol):
            if not refine(problem):
                reason = INEXACT
                break
            best = better(problem, blocks, best.w, best._replace(found=np.inf))
            state.n_oracle += 1
    recorder.history[-1] = recorder.history[-1]._replace(primal=best.primal, lower=best.lower)
    history = tuple(recorder.history)
    if reason == INEXACT:
        warn_inexact(name, f"{state.epoch} epochs", history[-1], solver.tol)
    if reason == "max_iter":
        warn_unconverged(
            f"{name} stopped after {state.epoch} epochs with relative gap "
            f"{history[-1].gap / abs(best.primal):.2e} > tol={solver.tol:g}. Increase max_iter, tol or l2."
        )
    end = {"active": state, "history": history, "best": best}
    return Result(best.w, history[-1], history, reason == "gap", reason, end)


def first(state: BlockState) -> dict[str, Any]:
    """Where a run begins that has these dual variables."""
    return {"active": state, "history": (), "best": Best(state.w.copy(), np.inf, -np.inf)}


def restarted(name: str, problem: Any, state: BlockState, blocks: Blocks) -> dict[str, Any]:
    """The dual variables of an earlier run as the start of another one; only the penalty may have changed."""
    if not state.fits(problem):
        raise MissingCapability(
            f"{name} can be warm-started on the same samples only, since its variables belong to them; "
            "use solver='bundle' or 'stochastic' to start from given weights"
        )
    state = state.copy()
    blocks.refresh(state)
    state.restart()
    return first(state)


def _order(seed: int, state: BlockState) -> np.ndarray:
    order = np.random.default_rng([seed, state.epoch]).permutation(len(state.gap))
    if state.epoch % ALL_EVERY == 0 or not np.all(np.isfinite(state.gap)):
        return order
    return order[state.gap[order] > IDLE * state.gap.mean()]


@dataclass(frozen=True)
class BlockAscent:
    """Base of the solvers of the dual: a subclass names itself and the visits that serve a problem."""

    max_iter: int = 2000
    tol: float = 1e-4
    check_every: int = 10
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter", "check_every"), not_negative=("tol", "random_state"))

    def blocks_of(self, problem: Any) -> Blocks:
        """The fastest visits that serve a problem."""
        raise NotImplementedError

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from the true labelings (``w = 0``), or go on from the ``state`` of an earlier result."""
        check_dual(problem, self.name, w0)
        blocks = self.blocks_of(problem)
        start = first(blocks.variables.at_truth(problem)) if state is None else state
        return ascend(self, self.name, problem, blocks, start)

    def can_restart(self, state: Any) -> bool:
        """Whether ``state`` is one of this solver's."""
        active = state.get("active") if isinstance(state, dict) else None
        return isinstance(active, BlockState) and active.solver == self.name

    def restart(self, problem: Any, state: dict) -> dict:
        """The dual variables of an earlier run as the start of this one; only the penalty may have changed."""
        return restarted(self.name, problem, state["active"], self.blocks_of(problem))
