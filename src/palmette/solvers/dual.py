"""Dual ascent for the log loss: few passes, no step size, and a certificate that comes with it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, RunState
from palmette.data.batch import SparseRows
from palmette.errors import MissingCapability
from palmette.loops import table
from palmette.loops.dual_ascent import PlacedVariables
from palmette.objectives.problem import first_point, name_of, who_serves
from palmette.registry import register
from palmette.solvers.driver import Seeded, same_problem
from palmette.solvers.lbfgs import LBFGS, REMEDIES, LBFGSState
from palmette.solvers.scaling import in_scale

SINGLE_FROM = 1e-5  # the coarsest tol that floats are good enough for: their certificates end near 1e-6
PASSES_LEFT = 40  # of ascent that are too many, at the rate of the last half: L-BFGS needs fewer ...
CLOSE = 0.05  # ... from this relative gap on, where it starts well ...
PASSES = 60  # ... or after so many passes, wherever they have led
ROUNDED = "rounding of marginals"
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
    # passes and gap, when all samples were visited
    met: list[tuple[float, float]] = field(default_factory=list)
    in_scale: bool = True  # whether L-BFGS may take over
    begun: int = 0  # epochs of ascent, once L-BFGS has taken over
    descent: LBFGSState | None = None


@register("solver")
@dataclass(frozen=True)
class DualAscent(Seeded):
    r"""Block-coordinate ascent in the dual of a CRF with L2 (and L1): on chains, segments and forests.

    A sample's dual variables are marginals ``mu_i``, which a loop of its structure keeps. A visit computes its
    marginals ``p`` under the current weights and moves there by the share

        ``gamma = min(1, gap_i l2 / (c_i |E_p psi - E_mu psi|^2))``,  ``gap_i = log Z_i - <theta_i, mu_i> - h_i``,

    which maximises the bound ``sum_i c_i h_i - R*(z)`` exactly, ``h_i <= H(mu_i)`` being the mean of entropies of the
    marginals met so far. The bound never decreases, needs no step size, and is the certificate; convergence is linear.
    Samples with small gaps are visited every third epoch only. With a weak penalty steps are short. Where ascent would
    take more than 40 further passes, L-BFGS takes over, from a relative gap of 5 % or after 60 passes; the bounds of
    both count. (Ascent goes on alone where columns have to be scaled for L-BFGS.)

    There are no marginals of edge features, of features of whole segments, of constrained chains of second order, and
    of graphs with cycles or types of nodes with labels of their own. ``primal`` in the history is the bound plus the
    gaps met during the epoch; the objective itself is computed when these promise that ``tol`` is reached.

    Parameters
    ----------
    precision : {"auto", "single", "double"}
        Of marginals, and of weights on chains of first order; sums, certificate and result are double. "auto": single
        where ``tol >= 1e-5`` and steps are long (``x^2 <= 50 l2``, or ``20 l2``): what rounding takes from the bound of
        single marginals is beyond ``tol`` otherwise.
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
        if self.precision == "single" and not has_long_steps(problem):
            raise ValueError(
                "DualAscent: precision='single' proves nothing where values are large beside the penalty (x^2 / l2): "
                "use precision='auto' or 'double', or a larger l2"
            )

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> DualRun:
        """The marginals under ``w0``."""
        auto = self.precision == "auto" and self.tol >= SINGLE_FROM and has_long_steps(problem)
        single = self.precision == "single" or auto
        start = PlacedVariables(problem, np.float32 if single else np.float64)
        if w0 is not None:
            start.ask("start_from", first_point(problem, w0))
        belongs_to = (problem.regularizer, _digest(problem))
        return DualRun(variables=start, belongs_to=belongs_to, in_scale=in_scale(problem) is problem)

    def resumed(self, problem: SampledProblem, state: DualRun, w0: np.ndarray | None = None) -> DualRun:
        """A copy of the state of an earlier run, to go on from."""
        known, digest = state.belongs_to
        same_problem(problem, known, digest == _digest(problem), ", or to other samples")
        descent = None if state.descent is None else state.descent.copy()
        placed = PlacedVariables(problem, state=state.variables)
        return replace(state, variables=placed, descent=descent, met=list(state.met))

    def step(self, problem: SampledProblem, run: DualRun, last: int) -> Progress:
        """An epoch, and a look at objective and bound where the gaps promise that ``tol`` is reached."""
        if run.descent is not None:
            return self._descend(problem, run, run.descent, last)
        state = run.variables
        order = self._order(state, run.n_iter)
        failure = "out of range" if state.ask("visit", order) else ""
        run.n_iter, run.n_oracle = run.n_iter + 1, run.n_oracle + len(order) / problem.n_samples
        run.lower, run.refreshed = max(run.lower, state.ask("estimate")), None
        primal = run.lower + float(state.weight @ state.gap)
        promising = primal - run.lower <= 1.5 * self.tol * abs(primal)
        if promising:
            run.refreshed, lower = state.ask("refresh")
            run.n_oracle += 1
            primal = self._objective(problem, state, run.refreshed)
            disproved = _disproved(lower, primal)
            failure = failure or disproved
            run.lower = -np.inf if disproved else min(lower, primal)  # which rounding may exceed
        done = Progress(primal, run.lower, failure=failure, checked=promising and not failure)
        if not failure and run.in_scale and len(order) == problem.n_samples and self._is_slow(run, done):
            w, proven = state.ask("refresh")
            run.begun, run.descent = run.n_iter, LBFGS(tol=self.tol).begin(problem, w)
            run.descent.loose = False  # no sum is inexact here
            if not _disproved(proven, run.descent.place.primal):
                run.descent.pool.prove(min(proven, run.descent.place.primal))
            run.n_oracle += 2
        return done

    def _is_slow(self, run: DualRun, done: Progress) -> bool:
        """Whether L-BFGS is sooner at ``tol`` from here, by the rate at which the gap has fallen lately."""
        gap = done.primal - done.lower
        run.met.append((run.n_oracle, gap))
        if len(run.met) == 1 or not np.isfinite(gap) or gap <= self.tol * abs(done.primal):
            return False
        passes, before = run.met[min(bisect_left(run.met, (0.5 * run.n_oracle,)), len(run.met) - 2)]
        rate = np.log(before / gap) / max(run.n_oracle - passes, 1.0)
        left = np.log(gap / (max(self.tol, self.rounding) * abs(done.primal)))
        return left > PASSES_LEFT * rate and (gap <= CLOSE * abs(done.primal) or run.n_oracle >= PASSES)

    def _descend(self, problem: SampledProblem, run: DualRun, descent: LBFGSState, last: int) -> Progress:
        """An iteration of L-BFGS from where ascent has led."""
        passes, descent.history = descent.n_oracle, run.history[run.begun :]
        done = LBFGS(tol=self.tol).step(problem, descent, last - run.begun)
        run.n_iter, run.n_oracle = run.begun + descent.n_iter, run.n_oracle + descent.n_oracle - passes
        if not _disproved(done.lower, done.primal):
            return done
        descent.pool.best = -np.inf  # what ascent told; the cuts prove their own
        return done._replace(lower=descent.pool.lower_bound())

    def finish(self, problem: SampledProblem, run: DualRun, reason: str) -> Progress | None:
        """Objective and bound of the marginals, which come back as they are."""
        if reason == "interrupted":
            return None
        final, state = None, run.variables
        if run.descent is not None:
            final = LBFGS(tol=self.tol).finish(problem, run.descent, reason)
        elif run.refreshed is None:
            run.refreshed, lower = state.ask("refresh", False)
            primal = self._objective(problem, state, run.refreshed)
            lower = -np.inf if _disproved(lower, primal) else min(lower, primal)
            final = Progress(primal, lower, passes=1.0)
        run.variables = state.collect()
        return final

    def weights(self, problem: SampledProblem, run: DualRun) -> np.ndarray:
        """The weights that the marginals imply, or those of L-BFGS."""
        if run.descent is not None:
            return run.descent.place.w
        return run.variables.ask("weights") if run.refreshed is None else run.refreshed

    def remedy(self, problem: SampledProblem, reason: str) -> str:
        """What helps a run that did not converge."""
        if reason == "out of range":
            return "Scores leave the range of scaled products: use solver='lbfgs', or scale the features."
        if reason == ROUNDED:
            return "Use precision='double'."
        return REMEDIES.get(reason, "Increase max_iter or tol.")

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


def has_long_steps(problem: SampledProblem) -> bool:
    """Whether values are small beside the penalty: steps shorten with ``x^2 / l2``."""
    rows = problem.samples.batch.rows
    largest = float(np.abs(rows.values if isinstance(rows, SparseRows) else rows).max(initial=1.0))
    return largest * largest <= table.find("dual", problem).short_steps * float(problem.regularizer.l2.min())


def _disproved(lower: float, primal: float) -> str:
    """Why a bound that exceeds the objective by more than the last digits of single precision is none."""
    return ROUNDED if lower > primal + SINGLE_FROM * abs(primal) else ""


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
