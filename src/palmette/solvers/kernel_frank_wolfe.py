"""Block-coordinate pairwise Frank-Wolfe in the dual variables of a kernelised hinge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from palmette.contracts.solver import Progress, RunState
from palmette.loops.kernel_visits import visit_all, visits_of
from palmette.objectives.kernel_dual import KernelProblem, KernelState
from palmette.registry import register
from palmette.solvers.driver import ASKED, Seeded


class Certified(NamedTuple):
    """The best point whose objective was computed, and the best lower bound proved."""

    coef: np.ndarray
    linear: np.ndarray
    primal: float
    lower: float

    def weights(self) -> np.ndarray:
        """Coefficients of the distinct rows (and edges), then the weights of transitions."""
        return np.concatenate([self.coef, self.linear])


@dataclass(kw_only=True)
class KernelRun(RunState):
    """Where a run stands: the dual variables, and the best point that was certified."""

    active: KernelState
    best: Certified

    def copy(self) -> Self:
        """An independent copy."""
        return replace(self, active=self.active.copy())


@register("solver")
@dataclass(frozen=True)
class KernelFrankWolfe(Seeded):
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

    name: ClassVar[str] = "kernel_frank_wolfe"
    needs: ClassVar = ("kernel",)
    positive: ClassVar = ("max_iter", "rounds", "steps", "check_every")
    not_negative: ClassVar = ("tol", "skip", "random_state")
    takes_start: ClassVar[bool] = False
    unit: ClassVar[str] = "passes"

    def begin(self, problem: KernelProblem, w0: np.ndarray | None) -> KernelRun:
        """The true labelings: all scores 0."""
        active = KernelState.at_truth(problem)
        return KernelRun(active=active, best=self._start(problem, active))

    def step(self, problem: KernelProblem, run: KernelRun, last: int) -> Progress:
        """A pass over the samples, and a certificate where that is due."""
        active = run.active
        order = self._order(problem, active)
        crowded = visit_all(problem, active, order, self.rounds, self.steps)
        active.epoch += 1
        active.n_oracle += self.rounds * len(order) / problem.n_samples
        if crowded > problem.n_samples // 20:
            active.grow()
        if self._due(active, run.best):
            run.best = certified(problem, active, run.best)
            active.checked = active.epoch
        elif active.epoch == last:
            # on a copy: a resumed run goes on as if it had not been checked
            run.best = certified(problem, active.copy(), run.best)
        run.n_iter, run.n_oracle = active.epoch, active.n_oracle
        return Progress(run.best.primal, run.best.lower)

    def finish(self, problem: KernelProblem, run: KernelRun, reason: str) -> Progress | None:
        """A certificate of the last variables, which stay as they are."""
        if reason not in ASKED or run.active.checked == run.active.epoch:
            return None
        found = certified(problem, run.active.copy(), run.best)
        # in the middle of a visit masses and losses do not belong together, and prove nothing
        run.best = found._replace(lower=run.best.lower) if reason == "interrupted" else found
        return Progress(run.best.primal, run.best.lower)

    def weights(self, problem: KernelProblem, run: KernelRun) -> np.ndarray:
        """The best coefficients that were certified."""
        return run.best.weights()

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
