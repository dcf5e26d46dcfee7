"""Block-coordinate pairwise Frank-Wolfe in the dual variables of a kernelised hinge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops.kernel_visits import visit_all, visits_of
from palmette.objectives.kernel_dual import KernelProblem, KernelState
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged


class Certified(NamedTuple):
    """The best point whose objective was computed, and the best lower bound proved."""

    coef: np.ndarray
    linear: np.ndarray
    primal: float
    lower: float

    def weights(self) -> np.ndarray:
        """Coefficients of the distinct rows (and edges), then the weights of transitions."""
        return np.concatenate([self.coef, self.linear])


@register("solver")
@dataclass(frozen=True)
class KernelFrankWolfe:
    """Maximise the dual of a kernelised hinge sample by sample (``SSVM(..., kernel=...)``).

    Every sample has a short list of active labelings with their weights. A visit finds the augmented best labeling,
    adds it, and moves weight from the worst to the best active labelings by exact steps that need only the kernel
    values between the sample's own rows; after ``rounds`` of that the scores of all rows follow at once, by multiples
    of rows of the Gram matrix. Scores are kept in single precision; before a certificate they are recomputed from
    the coefficients, and the point returned is one that was certified. The gap is exact for the kernel values in single
    precision, so that a ``tol`` below 1e-6 means little.

    Parameters
    ----------
    max_iter : int
        Passes over the samples.
    tol : float
        Relative duality gap at which the run stops.
    rounds, steps : int
        Maximisations per visit, and steps after each of them.
    skip : float
        Samples whose gap was below this share of the mean are left out, except in every fourth pass.
    check_every : int
        Passes after which a certificate is computed even if the gaps seen do not yet promise ``tol``.
    """

    max_iter: int = 1000
    tol: float = 1e-4
    rounds: int = 2
    steps: int = 16
    skip: float = 0.2
    check_every: int = 16
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        positive = ("max_iter", "rounds", "steps", "check_every")
        check_settings(self, positive=positive, not_negative=("tol", "skip", "random_state"))

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from the true labelings (all scores 0), or go on from the ``state`` of an earlier result."""
        if not isinstance(problem, KernelProblem) or w0 is not None:
            raise MissingCapability(
                "kernel_frank_wolfe solves the dual of SSVM(..., kernel=...), from its start or from the state of an "
                "earlier result; use solver='frank_wolfe' for weights of features"
            )
        if state is None:
            active = KernelState.at_truth(problem)
            best = self._start(problem, active)
        else:
            active, best = state["active"].copy(), state["best"]
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        reason, last = "max_iter", active.epoch + self.max_iter
        while active.epoch < last:
            order = self._order(problem, active)
            crowded = visit_all(problem, active, order, self.rounds, self.steps)
            active.epoch += 1
            active.n_oracle += self.rounds * len(order) / problem.n_samples
            if crowded > problem.n_samples // 20:
                active.grow()
            if self._due(active, best):
                best = certified(problem, active, best)
                active.checked = active.epoch
            elif active.epoch == last:
                # on a copy: a resumed run goes on as if it had not been checked
                best = certified(problem, active.copy(), best)
            stop = recorder.record(active.epoch, active.n_oracle, best.primal, best.lower, best.weights)
            if best.primal - best.lower <= self.tol * abs(best.primal):
                reason = "gap"
                break
            if stop:
                reason = "callback"
                break
        if reason == "callback" and active.checked < active.epoch:
            best = certified(problem, active.copy(), best)
            recorder.history[-1] = recorder.history[-1]._replace(primal=best.primal, lower=best.lower)
        history = tuple(recorder.history)
        if reason == "max_iter":
            warn_unconverged(
                f"kernel_frank_wolfe stopped after {active.epoch} passes with relative gap "
                f"{history[-1].gap / abs(best.primal):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2."
            )
        state = {"active": active, "history": history, "best": best}
        return Result(best.weights(), history[-1], history, reason == "gap", reason, state)

    @staticmethod
    def _start(problem: KernelProblem, active: KernelState) -> Certified:
        """All scores 0: the objective is the sum of the largest losses, the dual 0."""
        primal = float(problem.samples.weight @ visits_of(problem).hinges(active))
        size = problem.gram.n * problem.n_labels
        if problem.edges is not None:
            size += problem.edges.gram.n * problem.n_labels**2
        return Certified(np.zeros(size), active.linear.copy(), primal, 0.0)

    def _order(self, problem: KernelProblem, active: KernelState) -> np.ndarray:
        order = np.random.default_rng([self.random_state, active.epoch]).permutation(problem.n_samples)
        if active.epoch % 4 == 0:
            return order
        kept = order[active.gap[order] >= self.skip * active.gap.mean()]
        return kept if len(kept) else order

    def _due(self, active: KernelState, best: Certified) -> bool:
        waited = active.epoch - active.checked
        # What blocks lacked before their visits is more than what they lack now, by about a quarter.
        promising = float(active.gap.sum()) <= 1.25 * self.tol * abs(best.primal)
        return waited >= self.check_every or (promising and waited >= 2)


def certified(problem: KernelProblem, active: KernelState, best: Certified) -> Certified:
    """The better of ``best`` and the current state, by a full pass over recomputed scores."""
    coef = active.refresh(problem)
    penalty = active.penalty(problem)
    weight = problem.samples.weight
    lower = max(best.lower, float(weight @ active.loss) - penalty)
    primal = float(weight @ visits_of(problem).hinges(active)) + penalty
    active.n_oracle += 1.0
    if primal < best.primal:
        return Certified(coef, active.linear.copy(), primal, lower)
    return best._replace(lower=lower)
