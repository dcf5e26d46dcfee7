"""L1 alone: the hinge as a linear program, by cutting planes of the samples and SciPy's HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from palmette.contracts.executor import State
from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress, RunState
from palmette.errors import MissingCapability
from palmette.objectives.problem import bounded_loss, first_point
from palmette.registry import register
from palmette.solvers.driver import Driven, same_problem

LARGEST = 3_000  # weights and samples together
IDLE = 3  # programs after which a cut that was never tight is dropped
FEASIBLE = 1e-10  # the strictest tolerance that HiGHS takes
VIOLATED = 1e-12  # what a cut must ask for beyond the slack, relative to the loss
ROUNDING = 1e-9  # relative gap that the tolerance of HiGHS may leave


class Cuts:
    """Cuts ``slack_i >= offset_k + <g_k, w>`` of the losses of single samples, as sparse rows."""

    def __init__(self, n_params: int, n_samples: int) -> None:
        self.n_params, self.n_samples = n_params, n_samples
        self.sample, self.offset = np.zeros(0, np.int64), np.zeros(0)
        self.rows = sparse.csr_array((0, n_params))
        self.idle = np.zeros(0, np.int64)  # programs since a cut was tight

    def add(self, sample: list[int], offset: list[float], rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Take cuts with the entries ``(index, value)`` of their gradients."""
        ptr = np.concatenate([[0], np.cumsum([len(index) for index, _ in rows])])
        new = sparse.csr_array(
            (np.concatenate([v for _, v in rows]), np.concatenate([i for i, _ in rows]), ptr),
            shape=(len(rows), self.n_params),
        )
        self.rows = sparse.vstack([self.rows, new], format="csr")
        self.sample, self.offset = np.append(self.sample, sample), np.append(self.offset, offset)
        self.idle = np.append(self.idle, np.zeros(len(rows), np.int64))

    def solve(self, l1: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Minimise ``sum_i slack_i + sum_j l1_j |w_j|`` under the cuts: weights, slacks and masses of the cuts.

        The weights are ``plus - minus`` of two that are not negative. The masses of the cuts of a sample sum to at
        most one.
        """
        from scipy.optimize import linprog

        n = len(self.offset)
        slack = sparse.csr_array((np.ones(n), (np.arange(n), self.sample)), shape=(n, self.n_samples))
        found = linprog(
            np.concatenate([l1, l1, np.ones(self.n_samples)]),
            A_ub=sparse.hstack([self.rows, -self.rows, -slack], format="csc"),
            b_ub=-self.offset,
            bounds=(0, None),
            method="highs",
            options={"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE},
        )
        if found.x is None:
            raise RuntimeError(f"HiGHS did not solve the linear program of {n} cuts: {found.message}")
        plus, minus, slacks = np.split(found.x, [self.n_params, 2 * self.n_params])
        mass = np.maximum(-found.ineqlin.marginals, 0.0)
        self.idle = np.where(mass > 0.0, 0, self.idle + 1)
        return plus - minus, slacks, mass

    def bound(self, mass: np.ndarray, regularizer: Any) -> float:
        """What the masses prove: they are shrunk until they obey the dual constraints, which HiGHS meets roughly."""
        total = np.bincount(self.sample, mass, minlength=self.n_samples)
        mass = mass / np.maximum(total, 1.0)[self.sample]
        return regularizer.largest_share(self.rows.T @ mass) * float(mass @ self.offset)

    def drop_idle(self) -> None:
        """Forget the cuts that have not been tight for long."""
        kept = np.flatnonzero(self.idle < IDLE)
        if len(kept) < len(self.idle):
            self.rows, self.sample = self.rows[kept], self.sample[kept]
            self.offset, self.idle = self.offset[kept], self.idle[kept]


@dataclass(kw_only=True)
class ProgramState(RunState):
    """Where a run stands; plain data."""

    w: np.ndarray  # solution of the last program
    slacks: np.ndarray  # of the samples there
    cuts: Cuts
    regularizer: Any
    best_w: np.ndarray
    best: float = np.inf
    lower: float = 0.0


@register("solver")
@dataclass(frozen=True)
class LinearProgram(Driven):
    """Minimise ``sum_i loss_i(w) + sum_j l1_j |w_j|`` where losses are maxima of linear functions, as the hinge is.

    That is a linear program with a constraint for each output of each sample. An iteration solves it with the
    constraints met so far, of which the optimum is a lower bound, and adds those of the samples at its solution, which
    has exact zeros. The bound is computed from the dual solution, shrunk until it is feasible, so that it holds
    whatever the tolerance of HiGHS.

    A program is solved from scratch each time, and its size grows with weights, samples and iterations: problems with
    more than 3,000 weights and samples together are refused. Digits (650 weights, 1,797 samples) took 18 s of CPU time.

    Parameters
    ----------
    max_iter : int
        Iterations, each one linear program and one pass over the samples.
    tol : float
        Relative gap at which the run stops (``reason="gap"``); 0 runs until no constraint is violated.
    callbacks : sequence of callables
        Called with the ``Step`` of every iteration; a true return value stops the run.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import SSVM, Multiclass
    >>> X, y = np.eye(4)[[0, 1, 2, 3, 0]], ["a", "b", "a", "b", "a"]
    >>> model = SSVM(Multiclass(), l2=0.0, l1=0.5, solver="linear_program").fit(X, y)
    >>> model.result_.reason, bool(np.any(model.coef_ == 0))
    ('gap', True)
    """

    max_iter: int = 300
    tol: float = 1e-4

    name: ClassVar[str] = "linear_program"
    needs: ClassVar = ("samples", "convex", "separable", "whole", "polyhedral", "l1_alone")
    rounding: ClassVar[float] = ROUNDING

    def check(self, problem: SampledProblem) -> None:
        """Refuse what is too large."""
        if problem.n_params + problem.n_samples > LARGEST:
            small = 1e-2 * float(problem.regularizer.l1[0])
            raise MissingCapability(
                f"{self.name} takes up to {LARGEST} weights and samples together, and there are {problem.n_params} "
                f"weights and {problem.n_samples} samples: give l2 > 0 (a small one such as l2={small:g}), for "
                "solver='bundle', or use solver='stochastic', whose bound is loose"
            )

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> ProgramState:
        """The state of a new run."""
        w = first_point(problem, w0)
        cuts, slacks = Cuts(problem.n_params, problem.n_samples), np.full(problem.n_samples, -np.inf)
        return ProgramState(w=w, best_w=w, slacks=slacks, cuts=cuts, regularizer=problem.regularizer)

    def resumed(
        self, problem: SampledProblem, state: ProgramState, w0: np.ndarray | None = None
    ) -> ProgramState:
        """A copy of the state of an earlier run, to go on from."""
        same = state.cuts.n_params == problem.n_params and state.cuts.n_samples == problem.n_samples
        same_problem(problem, state.regularizer, same)
        return state.copy()

    def step(self, problem: SampledProblem, run: ProgramState, last: int) -> Progress:
        """Add the cuts at the present solution, and solve the program anew."""
        loss, violated = _visit(problem, run.cuts, run.w, run.slacks)
        run.n_iter, run.n_oracle = run.n_iter + 1, run.n_oracle + 1
        primal = loss + problem.regularizer.value(run.w)
        if primal < run.best:
            run.best_w, run.best = run.w, primal
        solution, run.slacks, mass = run.cuts.solve(problem.regularizer.l1)
        before, run.lower = run.lower, max(run.lower, run.cuts.bound(mass, problem.regularizer))
        settled = not violated and np.array_equal(run.w, solution)
        if run.lower > before:  # else what was dropped might come back, for ever
            run.cuts.drop_idle()
        run.w = solution
        return Progress(run.best, run.lower, estimate="machine precision" if settled else "")

    def finish(self, problem: SampledProblem, run: ProgramState, reason: str) -> Progress | None:
        """Add what the maxima of the loss may lack."""
        slack = 0.0 if reason == "interrupted" else bounded_loss(problem, run.best_w)[2]
        return Progress(run.best + slack, run.lower) if slack > 0.0 else None

    def weights(self, problem: SampledProblem, run: ProgramState) -> np.ndarray:
        """The best point."""
        return run.best_w.copy()

    def remedy(self, problem: SampledProblem, reason: str) -> str:
        """What helps a run that did not converge."""
        return "Increase max_iter, tol or l1, or give l2 > 0."


def _visit(problem: SampledProblem, cuts: Cuts, w: np.ndarray, slacks: np.ndarray) -> tuple[float, int]:
    """The data term at ``w``, by a pass in which the cuts that ask for more than the slacks are added; their number."""
    total, sample, offset, rows = problem.in_sequence(_violated, w, slacks)
    if rows:
        cuts.add(sample, offset, rows)
    return total, len(rows)


def _violated(
    problem: SampledProblem, state: State, w: np.ndarray, slacks: np.ndarray
) -> tuple[float, list[int], list[float], list[tuple[np.ndarray, np.ndarray]]]:
    """The data term at ``w``; samples, offsets and entries of the cuts that ask for more than the slacks."""
    scratch = np.zeros(problem.n_params)
    total, sample, offset, rows = 0.0, [], [], []
    for s in range(problem.n_samples):
        value, counts, inputs = problem.sample_loss(s, w)
        value *= float(problem.samples.weight[s])
        total += value
        if value > max(slacks[s], 0.0) + VIOLATED * (1.0 + abs(value)):
            problem.scorer.pull_back(counts, inputs, scratch)
            at = np.unique(problem.scorer.touched(inputs))
            at = at[scratch[at] != 0.0]
            entries = scratch[at]
            scratch[at] = 0.0
            sample.append(s)
            offset.append(value - float(entries @ w[at]))
            rows.append((at, entries))
    return total, sample, offset, rows
