"""Dual ascent for the log loss: few passes, no step size, and a certificate that comes with it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, RunState
from palmette.errors import MissingCapability
from palmette.loops import table
from palmette.loops.dual_ascent import PlacedVariables
from palmette.objectives.problem import first_point, name_of, who_serves
from palmette.registry import register
from palmette.solvers.driver import Seeded, same_problem

SINGLE_FROM = 1e-5  # the coarsest tol that floats are good enough for: their certificates end near 1e-6
IDLE = 0.5  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all


@dataclass(kw_only=True)
class DualRun(RunState):
    """Where a run stands: the marginals, and what they proved."""

    variables: Any  # PlacedVariables, and at the end of the run the DualVariables themselves
    belongs_to: tuple[Any, ...] = ()  # penalties, and a digest of the samples: marginals fit no others
    lower: float = -np.inf
    # weights from the marginals alone, where the last epoch promised ``tol``
    refreshed: np.ndarray | None = None


@register("solver")
@dataclass(frozen=True)
class DualAscent(Seeded):
    r"""Block-coordinate ascent in the dual of a CRF with L2 (and L1): on chains, segments and forests.

    A sample's dual variables are marginals ``mu_i``, which a loop of its structure keeps. A visit computes its
    marginals ``p`` under the current weights and moves there by the share

        ``gamma = min(1, gap_i l2 / (c_i |E_p psi - E_mu psi|^2))``,  ``gap_i = log Z_i - <theta_i, mu_i> - h_i``,

    which maximises the bound ``sum_i c_i h_i - R*(z)`` exactly, ``h_i <= H(mu_i)`` being the mean of entropies of the
    marginals met so far. The bound never decreases, needs no step size, and is the certificate; convergence is linear.
    Samples with small gaps are visited every third epoch only. It has no marginals of edge features, of features of
    whole segments, of constrained chains of second order, and of graphs with cycles or types of nodes with labels of
    their own. ``primal`` in the history is the bound plus the gaps met during the epoch; the objective itself is
    computed when these promise that ``tol`` is reached.

    Parameters
    ----------
    precision : {"auto", "single", "double"}
        Of marginals, and of weights on chains of first order; sums, certificate and result are double. "auto": single
        where ``tol >= 1e-5``, which is all that "single" can prove.
    max_iter : int
        Epochs.
    tol : float
        Relative suboptimality to reach, proven.
    random_state : int
        Orders the visits.
    """

    precision: str = "auto"
    max_iter: int = 1000
    tol: float = 1e-4

    name: ClassVar[str] = "dual"
    needs: ClassVar = ("convex", "separable", "whole", "log")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision not in ("auto", "single", "double"):
            raise ValueError(f"precision must be 'auto', 'single' or 'double', got {self.precision!r}")
        if self.precision == "single" and self.tol < SINGLE_FROM:
            raise ValueError(
                f"DualAscent: precision='single' proves no gap below {SINGLE_FROM:g}, got tol={self.tol!r}: use "
                "precision='double' or 'auto', or a larger tol"
            )

    def check(self, problem: SampledProblem) -> None:
        """Refuse what has no marginals to keep."""
        if refusal := why_not(problem):
            raise MissingCapability(f"{self.name} {refusal}: use solver={who_serves(problem)}")

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> DualRun:
        """The marginals under ``w0``."""
        single = self.precision == "single" or (self.precision == "auto" and self.tol >= SINGLE_FROM)
        start = PlacedVariables(problem, np.float32 if single else np.float64)
        if w0 is not None:
            start.ask("start_from", first_point(problem, w0))
        return DualRun(variables=start, belongs_to=(problem.regularizer, _digest(problem)))

    def resumed(self, problem: SampledProblem, state: DualRun, w0: np.ndarray | None = None) -> DualRun:
        """A copy of the state of an earlier run, to go on from."""
        known, digest = state.belongs_to
        same_problem(problem, known, digest == _digest(problem), ", or to other samples")
        return replace(state, variables=PlacedVariables(problem, state=state.variables))

    def step(self, problem: SampledProblem, run: DualRun, last: int) -> Progress:
        """An epoch, and a look at objective and bound where the gaps promise that ``tol`` is reached."""
        state = run.variables
        order = self._order(state, run.n_iter)
        failure = "out of range" if state.ask("visit", order) else ""
        run.n_iter, run.n_oracle = run.n_iter + 1, run.n_oracle + len(order) / problem.n_samples
        run.lower, run.refreshed = max(run.lower, state.ask("estimate")), None
        missing = float(state.weight @ state.gap)
        promising = missing <= 1.5 * self.tol * abs(run.lower + missing)
        if promising:
            run.refreshed, lower = state.ask("refresh")
            run.n_oracle += 1
            primal = self._objective(problem, state, run.refreshed)
            run.lower = min(lower, primal)  # which rounding may exceed
            missing = primal - run.lower
        return Progress(run.lower + missing, run.lower, failure=failure, checked=promising and not failure)

    def finish(self, problem: SampledProblem, run: DualRun, reason: str) -> Progress | None:
        """Objective and bound of the marginals, which come back as they are."""
        if reason == "interrupted":
            return None
        final, state = None, run.variables
        if run.refreshed is None:
            run.refreshed, lower = state.ask("refresh", False)
            primal = self._objective(problem, state, run.refreshed)
            final = Progress(primal, min(lower, primal), passes=1.0)
        run.variables = state.collect()
        return final

    def weights(self, problem: SampledProblem, run: DualRun) -> np.ndarray:
        """The weights that the marginals imply."""
        return run.variables.ask("weights") if run.refreshed is None else run.refreshed

    def remedy(self, problem: SampledProblem, reason: str) -> str:
        """What helps a run that did not converge."""
        if reason == "out of range":
            return "Scores leave the range of scaled products: use solver='lbfgs', or scale the features."
        return "Increase max_iter or tol."

    @staticmethod
    def _objective(problem: SampledProblem, state: PlacedVariables, w: np.ndarray) -> float:
        """The objective at ``w``: by shards where a loop is compiled for them, else by a pass of the visits."""
        value = np.nan if table.find("loss", problem) is not None else state.ask("value", w)
        if np.isnan(value):  # out of range, or none
            value = problem.value(w)
        return float(value) + problem.regularizer.value(w)

    def _order(self, run: PlacedVariables, epoch: int) -> np.ndarray:
        # Visits never lower the dual, in any order. Small gaps wait, and every third epoch measures all of them again.
        order = np.random.default_rng([self.random_state, epoch]).permutation(len(run.gap))
        gap = run.gap[order]
        if epoch % ALL_EVERY == 0 or not np.all(np.isfinite(gap)):
            return order
        return order[gap > IDLE * gap.mean()]


def why_not(problem: SampledProblem) -> str:
    """Why dual ascent does not support a problem; empty if it does."""
    if table.find("dual", problem) is not None:
        return ""
    given = getattr(problem.structure, "chain", problem.structure)  # as the user wrote it
    otherwise = (
        f"keeps marginals of outputs for the log loss, and has none for {name_of(problem)} on {given!r:.80}"
    )
    return table.why_not("dual", problem, otherwise)


def _digest(problem: SampledProblem) -> str:
    """Of what variables are kept for: weights, samples, rows and codes."""
    samples, rows = problem.samples, problem.samples.batch.offsets
    digest = hashlib.sha256(f"{problem.n_params} {problem.n_samples} {len(samples.codes)}".encode())
    for array in (rows, samples.codes, samples.weight):
        digest.update(array.tobytes())
    return digest.hexdigest()
