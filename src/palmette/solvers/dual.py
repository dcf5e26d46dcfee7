"""Dual ascent for the log loss of chains: few passes, no step size, and a certificate that comes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops import find, table
from palmette.loops.dual_ascent import DualVariables
from palmette.objectives.problem import first_point, name_of, require_convex, require_separable, require_whole
from palmette.registry import register
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged

SINGLE_FROM = 1e-5  # the coarsest tol that floats are good enough for: their certificates end near 1e-6
IDLE = 0.5  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all


@register("solver")
@dataclass(frozen=True)
class DualAscent:
    r"""Block-coordinate ascent in the dual of a chain CRF with L2 (and L1).

    A sample's dual variables are marginals ``mu_i`` (see ``structures.chain.loops.dual_state``). A visit
    computes its marginals ``p`` under the current weights and moves there by the share

        ``gamma = min(1, gap_i l2 / (c_i |E_p psi - E_mu psi|^2))``,  ``gap_i = log Z_i - <theta_i, mu_i> - h_i``,

    which maximises the bound ``sum_i c_i h_i - R*(z)`` exactly, ``h_i <= H(mu_i)`` being the mean of entropies of the
    marginals met so far. The bound never decreases, needs no step size, and is the certificate; convergence is linear.
    Samples with small gaps are visited every third epoch only. ``primal`` in the history is the bound plus the gaps
    met during the epoch; the objective itself is computed when these promise that ``tol`` is reached.

    Parameters
    ----------
    precision : {"auto", "single", "double"}
        Of marginals and weights; sums, certificate and result are double. "auto": single where ``tol >= 1e-5``, which
        is all that "single" can prove.
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
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter",), not_negative=("tol", "random_state"))
        check_precision(self)

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise ``problem``, from the marginals under ``w0`` if given, or on from an earlier result's ``state``."""
        check_problem(problem, "dual")
        run = self._start(problem, w0) if state is None else state["run"].copy()
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        epoch = 0 if state is None else state["epoch"]
        n_oracle = 0.0 if state is None else state["n_oracle"]
        lower = -np.inf if state is None else state["lower"]
        last, reason = epoch + self.max_iter, ""
        while not reason:
            order = self._order(run, epoch)
            out_of_range = run.visit(order)
            epoch += 1
            n_oracle += len(order) / problem.n_samples
            lower = max(lower, run.estimate())
            missing = float(run.weight @ run.gap)
            promising = missing <= 1.5 * self.tol * abs(lower + missing)
            if promising:
                w, lower = run.refresh()
                n_oracle += 1
                primal = problem.value(w) + problem.regularizer.value(w)
                lower = min(lower, primal)  # which rounding may exceed
                missing = primal - lower
            stop = recorder.record(epoch, n_oracle, lower + missing, lower, run.weights)
            if out_of_range:
                reason = "out of range"
            elif promising and missing <= self.tol * abs(primal):
                reason = "gap"
            elif stop:
                reason = "callback"
            elif epoch == last:
                reason = "max_iter"
        history = tuple(recorder.history)
        state = {"run": run, "history": history, "epoch": epoch, "n_oracle": n_oracle, "lower": lower}
        if not promising:  # the state stays as it is: a resumed run goes on as if it had not stopped
            w, lower = run.refresh(keep=False)
            primal = problem.value(w) + problem.regularizer.value(w)
            lower = min(lower, primal)
            recorder.history[-1] = recorder.history[-1]._replace(
                n_oracle=n_oracle + 1, primal=primal, lower=lower
            )
            if reason == "max_iter" and primal - lower <= self.tol * abs(primal):
                reason = "gap"
        return self._result(w, recorder, reason, state)

    def _start(self, problem: Any, w0: np.ndarray | None) -> DualVariables:
        single = self.precision == "single" or (self.precision == "auto" and self.tol >= SINGLE_FROM)
        start = find("dual", problem)(problem, np.float32 if single else np.float64)
        if w0 is not None:
            start.start_from(first_point(problem, w0))
        return start

    def _order(self, run: DualVariables, epoch: int) -> np.ndarray:
        # Visits never lower the dual, in any order. Small gaps wait, and every third epoch measures all of them again.
        order = np.random.default_rng([self.random_state, epoch]).permutation(len(run.gap))
        gap = run.gap[order]
        if epoch % ALL_EVERY == 0 or not np.all(np.isfinite(gap)):
            return order
        return order[gap > IDLE * gap.mean()]

    def _result(self, w: np.ndarray, recorder: Recorder, reason: str, state: dict) -> Result:
        step = recorder.history[-1]
        if reason in ("max_iter", "out of range"):
            remedy = (
                "Increase max_iter or tol."
                if reason == "max_iter"
                else "Scores leave the range of scaled products: use solver='lbfgs', or scale the features."
            )
            warn_unconverged(
                f"dual ascent stopped after {step.n_iter} epochs ({reason}) at objective {step.primal:.6g} with gap "
                f"{step.gap:.3g} (tol={self.tol:g}). {remedy}"
            )
        return Result(w, step, tuple(recorder.history), reason == "gap", reason, state)


def check_precision(solver: Any) -> None:
    """Refuse a precision that does not exist, or one in which ``tol`` cannot be proven."""
    if solver.precision not in ("auto", "single", "double"):
        raise ValueError(f"precision must be 'auto', 'single' or 'double', got {solver.precision!r}")
    if solver.precision == "single" and solver.tol < SINGLE_FROM:
        raise ValueError(
            f"{type(solver).__name__}: precision='single' proves no gap below {SINGLE_FROM:g}, got tol={solver.tol!r}: "
            "use precision='double' or 'auto', or a larger tol"
        )


def check_problem(problem: Any, solver: str) -> None:
    """Refuse what dual ascent cannot solve."""
    require_convex(problem, solver)
    require_separable(problem, solver)
    require_whole(problem, solver)
    refusal = why_not(problem)
    if refusal:
        others = "'lbfgs' or 'stochastic'" if problem.smooth else "'bundle', 'frank_wolfe' or 'stochastic'"
        raise MissingCapability(f"{solver} {refusal}: use solver={others}")


def why_not(problem: Any) -> str:
    """Why dual ascent does not support a problem; empty if it does."""
    given = getattr(problem.structure, "chain", problem.structure)  # as the user wrote it
    served = f"supports the log loss of chains of order 1, not {name_of(problem)} on {given!r:.80}"
    return table.why_not("dual", problem, served)
