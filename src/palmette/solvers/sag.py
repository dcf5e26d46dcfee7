"""Stochastic average gradient with non-uniform sampling for the log loss of chains."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.objectives.certificate import CutPool
from palmette.objectives.sag_state import SagState
from palmette.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from palmette.solvers.dual import check_precision, check_problem, first_state

CHECK_EVERY = 10  # epochs, at most, between two evaluations of the objective
PATIENCE = 10  # epochs without a better dual value before the steps are halved
CUTS = 4  # kept for the bound; the newest dual point is nearly all of it


@dataclass
class SagRun:
    """Where a run stands."""

    table: SagState
    pool: CutPool
    epoch: int = 0
    n_oracle: float = 0.0
    highest: float = -np.inf  # dual value of the stored marginals so far, up to rounding
    since: int = 0  # the epoch of that


@dataclass(frozen=True)
class SAG:
    r"""Stochastic average gradient (SAG) for a chain CRF with L2 (and L1), samples drawn by their curvature.

    The last gradient ``g_i`` of every sample is stored. A visit replaces one and steps along their mean,

        ``w <- soft(w - eta (sum_i c_i g_i + l2 w), eta l1)``,  ``eta = 1/(2 m L_max + 2 l2) + 1/(2 m L_mean + 2 l2)``,

    where m counts the samples met, the l2 of eta is the larger of those of features and transitions, and ``L_i``
    estimates the Lipschitz constant of ``c_i g_i``: it is halved, then doubled until
    ``f_i(w - g_i / L_i) <= f_i(w) - |g_i|^2 / (2 L_i)``, and tested again only after 1, 2, 4, ... visits as long as it
    was large enough. Half of the visits go to samples drawn evenly, half in proportion to ``L_i``. Weights that a
    sample does not touch catch up when they are next met, with L1 too (``kernels.packed_sag``). After
    M. Schmidt and others, "Non-uniform stochastic average gradient method for training conditional random
    fields" (2015); here the penalty counts in full from the first visit on.

    No step size is set by hand. Every step is a mean of w and of ``z / l2``, z a sum of bounded gradients, so that
    weights stay bounded whatever the estimates are; and where these were too small, so that w went in circles (ten
    epochs without a better dual value), all later steps are halved.

    The stored marginals are a point of the dual (as in :class:`~palmette.solvers.DualAscent`), so every check has a
    tight lower bound: the best mean of their cut and of those at the weights checked. Between checks ``primal`` in the
    history is the sum of the losses met last plus the penalty, an estimate.

    Parameters
    ----------
    precision : {"auto", "single", "double"}
        Of marginals and weights; sums over samples, certificate and result are double. "auto": single where
        ``tol >= 1e-5``, which is all that "single" can prove.
    max_iter : int
        Epochs, each of as many visits as there are samples.
    tol : float
        Relative suboptimality wanted, proven.
    random_state : int
        Draws the samples.
    """

    precision: str = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter",), not_negative=("tol", "random_state"))
        check_precision(self)

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise ``problem`` from ``w0`` (zero by default), or go on from an earlier result's ``state``."""
        check_problem(problem, "sag")
        if problem.structure.rules is not None:  # its weights are scaled, and so would be what says "never"
            raise MissingCapability(
                "sag cannot forbid labels (allowed=): use solver='dual', 'lbfgs' or 'stochastic'"
            )
        run = self._start(problem, w0) if state is None else _copied(state["run"])
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        table, last, reason = run.table, run.epoch + self.max_iter, ""
        while not reason:
            order = self._order(table, run.epoch)
            n_trials = table.visit(order)
            run.epoch += 1
            run.n_oracle += (len(order) + n_trials) / problem.n_samples
            w = table.chains.unpack(table.w)
            primal = float(table.weight @ np.nan_to_num(table.loss)) + problem.regularizer.value(w)
            value = _beware(run)
            promising = primal - value <= 1.5 * self.tol * abs(primal)
            checked = promising or run.epoch % CHECK_EVERY == 0
            if checked:
                primal = _certify(problem, run, w, keep=run.epoch % CHECK_EVERY == 0)
            stop = recorder.record(run.epoch, run.n_oracle, primal, run.pool.best, lambda: w)  # noqa: B023
            if checked and primal - run.pool.best <= self.tol * abs(primal):
                reason = "gap"
            elif stop:
                reason = "callback"
            elif run.epoch == last:
                reason = "max_iter"
        state = {"run": run, "history": tuple(recorder.history)}
        if not checked:
            final = replace(run, pool=copy.deepcopy(run.pool))  # a resumed run goes on without this check
            primal = _certify(problem, final, w, keep=False)
            recorder.history[-1] = recorder.history[-1]._replace(
                n_oracle=final.n_oracle, primal=primal, lower=final.pool.best
            )
            if reason == "max_iter" and primal - final.pool.best <= self.tol * abs(primal):
                reason = "gap"
        return self._result(w, recorder, reason, state)

    def _start(self, problem: Any, w0: np.ndarray | None) -> SagRun:
        table = first_state(SagState, self, problem, w0)
        return SagRun(table, CutPool(problem.regularizer, CUTS), n_oracle=0.0 if w0 is None else 1.0)

    def _order(self, table: SagState, epoch: int) -> np.ndarray:
        """All samples in the first epoch; then half drawn evenly and half by Lipschitz estimates.

        They are drawn independently of each other: in random order without repetition the sums lag behind evenly, and
        the method oscillates with these steps.
        """
        rng = np.random.default_rng([self.random_state, epoch])
        there = np.flatnonzero(table.weight > 0.0)
        shares = table.weight[there] * table.lipschitz[there]
        if epoch == 0 or not shares.any():
            return rng.permutation(there)
        half = len(there) // 2
        even = rng.choice(there, half)
        return rng.permutation(np.append(even, rng.choice(there, len(there) - half, p=shares / shares.sum())))

    def _result(self, w: np.ndarray, recorder: Recorder, reason: str, state: dict) -> Result:
        step = recorder.history[-1]
        if reason == "max_iter":
            warn_unconverged(
                f"sag stopped after {step.n_iter} epochs at objective {step.primal:.6g} with gap {step.gap:.3g} "
                f"(tol={self.tol:g}). Increase max_iter or tol."
            )
        return Result(w, step, tuple(recorder.history), reason == "gap", reason, state)


def _beware(run: SagRun) -> float:
    """Halve the steps when the dual value has not grown for a while; returns that value."""
    value = run.table.estimate()
    if value > run.highest:
        run.highest, run.since = value, run.epoch
    elif run.epoch - run.since >= PATIENCE:
        run.table.caution, run.since = 2.0 * run.table.caution, run.epoch
    return value


def _certify(problem: Any, run: SagRun, w: np.ndarray, keep: bool) -> float:
    """The objective at ``w``; the cuts there and of the stored marginals go to the pool, and its bound is renewed."""
    value, gradient = problem.loss(w)
    run.n_oracle += 1
    run.pool.add(value, gradient, w)
    entropy, z = run.table.cut(keep)
    run.pool.add(entropy, -z, np.zeros(len(z)))
    run.pool.lower_bound()
    return value + problem.regularizer.value(w)


def _copied(run: SagRun) -> SagRun:
    return replace(run, table=run.table.copy(), pool=copy.deepcopy(run.pool))
