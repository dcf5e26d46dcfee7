"""Dual ascent for the log loss of chains: few passes, no step size, and a certificate that comes with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ramify.errors import MissingCapability
from ramify.objectives.dual_state import DualState
from ramify.objectives.problem import first_point, name_of, require_separable
from ramify.scorers.linear import LinearScorer
from ramify.solvers.base import Callback, Recorder, Result, check_settings
from ramify.surrogates.log import LogLoss

SINGLE_FROM = 1e-5  # the coarsest tol that floats are good enough for: their certificates end near 1e-6
IDLE = 0.5  # samples whose gap is below this share of the mean wait ...
ALL_EVERY = 3  # ... for the next epoch that visits all


@dataclass(frozen=True)
class DualAscent:
    r"""Block-coordinate ascent in the dual of a chain CRF with L2 (and L1).

    A sample's dual variables are marginals ``mu_i`` (see :class:`ramify.objectives.dual_state.DualState`). A visit
    computes its marginals ``p`` under the present weights and moves there by the share

        ``gamma = min(1, gap_i l2 / (c_i |E_p psi - E_mu psi|^2))``,  ``gap_i = log Z_i - <theta_i, mu_i> - h_i``,

    which maximises the bound ``sum_i c_i h_i - R*(z)`` exactly, ``h_i <= H(mu_i)`` being the mean of entropies of the
    marginals met so far. The bound never falls, needs no step size, and is the certificate; convergence is linear.
    Samples with small gaps are visited every third epoch only. ``primal`` in the history is the bound plus the gaps
    met during the epoch; the objective itself is computed when these promise that ``tol`` is reached.

    Parameters
    ----------
    precision : {"auto", "single", "double"}
        Of marginals and weights; sums, certificate and result are double. "auto": single where ``tol >= 1e-5``.
    max_iter : int
        Epochs.
    tol : float
        Relative suboptimality wanted, proven.
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
        if self.precision not in ("auto", "single", "double"):
            raise ValueError(f"precision must be 'auto', 'single' or 'double', got {self.precision!r}")

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise ``problem``, from the marginals under ``w0`` if given, or on from an earlier result's ``state``."""
        require_separable(problem, "dual")
        reason = why_not(problem)
        if reason:
            raise MissingCapability(f"dual ascent {reason}: use solver='lbfgs' or 'stochastic'")
        run = self._start(problem, w0) if state is None else state["run"]
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        epoch = 0 if state is None else state["epoch"]
        n_oracle = 0.0 if state is None else state["n_oracle"]
        last = epoch + self.max_iter
        w, primal, lower, reason = None, np.nan, -np.inf if state is None else state["lower"], ""
        while not reason:
            order = self._order(run, epoch)
            out_of_range = run.visit(order)
            epoch += 1
            n_oracle += len(order) / problem.n_samples
            lower = max(lower, run.estimate())
            missing = float(run.weight @ run.gap)
            promising = missing <= 1.5 * self.tol * abs(lower + missing)
            if promising or epoch == last:
                w, lower = run.refresh()
                n_oracle += 1
                primal = problem.value(w) + problem.regularizer.value(w)
                missing = primal - lower
            stop = recorder.record(epoch, n_oracle, lower + missing, lower, lambda: run.chains.unpack(run.w))
            if out_of_range:
                reason = "out of range"
            elif w is not None and primal - lower <= self.tol * abs(primal):
                reason = "gap"
            elif stop:
                reason = "callback"
            elif epoch == last:
                reason = "max_iter"
            if not reason:
                w = None
        return self._finished(problem, run, recorder, reason, w, epoch, n_oracle)

    def _start(self, problem: Any, w0: np.ndarray | None) -> DualState:
        single = self.precision == "single" or (self.precision == "auto" and self.tol >= SINGLE_FROM)
        chains = problem.pack(np.float32 if single else np.float64)
        reg, edge = problem.regularizer, problem.scorer.blocks["edge"]
        at_edge = edge.start if edge.stop > edge.start else 0
        strengths = [(float(part[0]), float(part[at_edge])) for part in (reg.l2, reg.l1)]
        run = DualState(chains, problem.samples.codes, problem.samples.weight, *strengths)
        if w0 is not None:
            run.start_from(first_point(problem, w0))
        return run

    def _order(self, run: DualState, epoch: int) -> np.ndarray:
        order = np.random.default_rng([self.random_state, epoch]).permutation(len(run.gap))
        gap = run.gap[order]
        if epoch % ALL_EVERY == 0 or not np.all(np.isfinite(gap)):
            return order
        return order[gap > IDLE * gap.mean()]

    def _finished(self, problem, run, recorder, reason, w, epoch, n_oracle) -> Result:
        if w is None:
            w, lower = run.refresh()
            primal = problem.value(w) + problem.regularizer.value(w)
            recorder.history[-1] = recorder.history[-1]._replace(primal=primal, lower=lower)
        step, history = recorder.history[-1], tuple(recorder.history)
        if reason in ("max_iter", "out of range"):
            remedy = (
                "Increase max_iter or tol."
                if reason == "max_iter"
                else "Scores leave the range of scaled products: use solver='lbfgs', or scale the features."
            )
            warnings.warn(
                f"dual ascent stopped after {epoch} epochs ({reason}) at objective {step.primal:.6g} with gap "
                f"{step.gap:.3g} (tol={self.tol:g}). {remedy}",
                ConvergenceWarning,
                stacklevel=3,
            )
        state = {"run": run, "history": history, "epoch": epoch, "n_oracle": n_oracle, "lower": step.lower}
        return Result(w, step, history, reason == "gap", reason, state)


def why_not(problem: Any) -> str:
    """What keeps dual ascent from serving a problem; empty if it serves."""
    reg, blocks = problem.regularizer, problem.scorer.blocks
    if not (problem.can_pack and type(problem.surrogate) is LogLoss):
        return f"serves the log loss of plain chains, not {name_of(problem)} on {type(problem.structure).__name__}"
    if type(problem.scorer) is not LinearScorer:
        return "has no room for the marginals of edge features"
    for part in (slice(0, blocks["edge"].start), blocks["edge"]):
        for strengths in (reg.l2[part], reg.l1[part]):
            if len(strengths) and not np.all(strengths == strengths[0]):
                return "needs one l2 and one l1 for features and intercept, and one for transitions"
    if not reg.strongly_convex:
        return "needs l2 > 0 on every weight"
    return ""
