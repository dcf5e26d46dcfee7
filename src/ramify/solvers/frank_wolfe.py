"""Block-coordinate pairwise Frank-Wolfe: the dual of the structured hinge, one sample at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ramify.errors import MissingCapability
from ramify.objectives.problem import require_separable, require_whole
from ramify.solvers.active_set import ActiveSet, dual_value
from ramify.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from ramify.solvers.hinge_blocks import blocks_of
from ramify.surrogates.hinge import Hinge

IDLE = 0.5  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all
STALE = 1.5  # gaps met during an epoch exceed those of the mean of the weights by about this factor


class Best(NamedTuple):
    """The best point met, its objective, and the best lower bound proved."""

    w: np.ndarray
    primal: float
    lower: float


@dataclass(frozen=True)
class FrankWolfe:
    """Maximise the dual of ``sum_i hinge_i(w) + sum_j l2_j/2 w_j^2`` block by block.

    With ``mu_i`` a distribution over the outputs of sample i, the dual is
    ``sum_i weight_i E_mu_i[loss] - sum_j (l2_j / 2) w_j^2``. A visit of sample i finds the augmented best output and
    moves mass to the best active output from the worst one by exact steps; samples with small gaps are visited every
    third epoch only. The gap between objective and dual is exact, computed by a full pass when the sum of the
    block gaps seen in an epoch says that it is worth it, and at least every ``check_every`` epochs. The primal point
    is the better of the present weights and the running mean of those of the last epochs.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    """

    max_iter: int = 2000
    tol: float = 1e-4
    check_every: int = 10
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter", "check_every"), not_negative=("tol", "random_state"))

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from the true labelings (``w = 0``), or go on from the ``state`` of an earlier result."""
        check_dual(problem, "frank_wolfe")
        if w0 is not None and np.any(w0):
            raise MissingCapability(
                "frank_wolfe cannot start from given weights, only from the state of an earlier result; "
                "use solver='bundle' or 'stochastic' for that"
            )
        active = ActiveSet.at_truth(problem) if state is None else state["active"].copy()
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        best = Best(active.w.copy(), np.inf, -np.inf) if state is None else state["best"]
        blocks = blocks_of(problem)
        reason = "max_iter"
        last = active.epoch + self.max_iter
        while active.epoch < last:
            order = self._order(active)
            crowded = blocks.visit(active, order)
            active.epoch += 1
            active.n_oracle += len(order) / problem.n_samples
            active.note()
            if crowded:
                active.grow()
            dual, gaps = dual_value(problem, active), float(active.gap.sum())
            promising = gaps <= STALE * self.tol * (dual + gaps)
            early = active.epoch & (active.epoch - 1) == 0  # 1, 2, 4, 8, ...
            if promising or early or active.epoch % self.check_every == 0:
                best = checked(problem, blocks, active, best)
            elif active.epoch == last:
                # on a copy: a resumed run goes on as if it had not been checked
                best = checked(problem, blocks, active.copy(), best)
            lower = max(best.lower, dual)
            stop = recorder.record(active.epoch, active.n_oracle, best.primal, lower, best.w.copy)
            if best.primal - best.lower <= self.tol * abs(best.primal):
                reason = "gap"
                break
            if stop:
                reason = "callback"
                break
        recorder.history[-1] = recorder.history[-1]._replace(primal=best.primal, lower=best.lower)
        history = tuple(recorder.history)
        if reason == "max_iter":
            warn_unconverged(
                f"frank_wolfe stopped after {active.epoch} epochs with relative gap "
                f"{history[-1].gap / abs(best.primal):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2."
            )
        state = {"active": active, "history": history, "best": best}
        return Result(best.w, history[-1], history, reason == "gap", reason, state)

    def _order(self, active: ActiveSet) -> np.ndarray:
        order = np.random.default_rng([self.random_state, active.epoch]).permutation(len(active.gap))
        if active.epoch % ALL_EVERY == 0 or not np.all(np.isfinite(active.gap)):
            return order
        return order[active.gap[order] > IDLE * active.gap.mean()]

    @staticmethod
    def can_restart(state: Any) -> bool:
        """Whether ``state`` is one of this solver's."""
        return isinstance(state, dict) and isinstance(state.get("active"), ActiveSet)

    def restart(self, problem: Any, state: dict) -> dict:
        """The dual variables of an earlier run as the start of this one; only the penalty may have changed."""
        active = state["active"].copy()
        same = active.mass.shape[0] == problem.n_samples and active.path.shape[1] == len(
            problem.samples.codes
        )
        if not same or len(active.w) != problem.n_params:
            raise MissingCapability(
                "frank_wolfe can be warm-started on the same samples only, since its variables belong to them; "
                "use solver='bundle' or 'stochastic' to start from given weights"
            )
        blocks_of(problem).refresh(active)
        active.restart()
        return {"active": active, "history": (), "best": Best(active.w.copy(), np.inf, -np.inf)}


def check_dual(problem: Any, solver: str) -> None:
    """Refuse what has no dual with one distribution a sample."""
    surrogate = getattr(problem, "surrogate", None)
    if not isinstance(surrogate, Hinge):
        raise MissingCapability(
            f"{solver} solves the dual of the hinge, not of {type(surrogate).__name__}; use solver='lbfgs'"
        )
    require_separable(problem, solver)
    require_whole(problem, solver)
    reg = problem.regularizer
    if np.any(reg.l1 > 0) or np.any(reg.l2 <= 0):
        raise MissingCapability(
            f"{solver} needs l2 > 0 on every weight and no l1; use solver='stochastic' for l1 or "
            "unpenalised weights"
        )


def checked(problem: Any, blocks: Any, active: ActiveSet, best: Best) -> Best:
    """The better of ``best`` and the present state, by full passes; rounding errors of the weights are removed."""
    blocks.refresh(active)
    lower = max(best.lower, dual_value(problem, active))
    for w in (active.w.copy(), active.mean()):
        primal = blocks.value(w) + problem.regularizer.value(w)
        active.n_oracle += 1
        if primal < best.primal:
            best = Best(w, primal, lower)
    return best._replace(lower=lower)
