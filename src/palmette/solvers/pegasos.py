"""Pegasos: stochastic subgradient steps of length 1/t in the metric of the penalty, averaged, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Progress
from palmette.loops.pegasos_epoch import run_epoch
from palmette.registry import register
from palmette.solvers.descent_state import Descent, DescentState
from palmette.solvers.driver import Seeded
from palmette.solvers.nonconvex_start import first_weights

FRESH, WARM = 1, 10  # epochs that seem to have passed at the start from zero, and from weights worth keeping


@dataclass(kw_only=True)
class PegasosState(DescentState):
    """Where a run stands; plain data."""

    total: np.ndarray  # sum of the weights of ``age`` steps, those since the average was restarted
    n_steps: int  # the rate of the next step is ``1 / (n_steps + 1)``
    limit: float = np.inf  # of ``sum_j l2_j w_j^2``
    age: int = 0
    previous: float = np.inf  # best objective one check ago


@register("solver")
@dataclass(frozen=True)
class Pegasos(Descent, Seeded):
    """Minimise ``J(w) = sum_i loss_i(w) + sum_j (l2_j / 2) w_j^2`` by steps on few samples at a time.

    Step t on a mini-batch B of the n samples goes against an estimate of the subgradient, in the metric of the penalty:
    ``w <- (1 - 1/t) w - (1/t) (n / |B|) (sum_(i in B) gradient_i) / l2``, after Shalev-Shwartz, Singer, Srebro and
    Cotter (2011). Then ``w`` is shrunk to ``sum_j l2_j w_j^2 <= loss(0)``, where the optimum is known to be. The
    weights have a scale in common, so that a step touches only the weights of its samples; ``t`` starts as if one
    epoch had passed, which spares the far too long first steps. Chains with a hinge, perceptron or ramp loss run in a
    compiled loop.

    Every epoch visits each sample once, so the subgradients met add up to a cut of the whole loss: the lower bound
    (:class:`~palmette.objectives.certificate.CutPool`) costs no further pass. The objective does: the average of the
    weights since the last power-of-two epoch is tried after the epochs 1, 2, 4, 8, ... and every ``check_every``. The
    best point is the result, never worse than the start.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative gap at which the run stops. The error decreases as 1 / epochs: 1e-2 takes tens, 1e-4 thousands.
    batch : int
        Samples per step.
    averaged : bool
        False tries the last weights instead of the average.
    check_every : int
    random_state : int
    callbacks : sequence of callables
        Called with the ``Step`` of every epoch; a true return value stops the run.

    Losses that are not convex (ramp) are minimised directly: ``lower`` and ``gap`` are NaN then, and the run stops when
    the best objective decreases by less than ``tol``, relatively, between checks ``check_every`` epochs apart.

    Examples
    --------
    >>> from palmette import SSVM, Chain
    >>> from palmette.datasets import make_chains
    >>> X, y = make_chains(40, random_state=0)
    >>> result = SSVM(Chain(), C=0.1, solver="pegasos", tol=0.05).fit(X, y).result_
    >>> result.reason, result.gap <= 0.05 * result.primal
    ('gap', True)
    """

    max_iter: int = 200
    tol: float = 1e-4
    batch: int = 1
    averaged: bool = True
    check_every: int = 10

    name: ClassVar[str] = "pegasos"
    needs: ClassVar = ("samples", "separable", "whole", "no_l1", "l2")
    positive: ClassVar = ("max_iter", "batch", "check_every")

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.batch) != self.batch:
            raise ValueError(f"Pegasos: batch must be an integer number of samples, got {self.batch!r}")

    def step(self, problem: SampledProblem, run: PegasosState, last: int) -> Progress:
        """An epoch, and now and then a look at the average."""
        self._epoch(problem, run)
        due = run.n_iter % self.check_every == 0
        if due or run.n_iter & (run.n_iter - 1) == 0:
            self._check(problem, run)
        elif run.n_iter == last:
            # on a copy: a resumed run goes on as if it had not been checked
            seen = run.copy()
            self._check(problem, seen)
            run.best, run.best_w, run.slack = seen.best, seen.best_w, seen.slack
        slow = run.pool is None and due and run.previous - run.best <= self.tol * abs(run.best)
        if due:
            run.previous = run.best
        estimate = f"relative decrease over {self.check_every} epochs" if slow else ""
        return run.progress._replace(estimate=estimate)

    def begin(self, problem: SampledProblem, w0: np.ndarray | None) -> PegasosState:
        """The state of a new run."""
        w, n_oracle = first_weights(problem, w0)
        first = (WARM if w.any() else FRESH) * self._steps_an_epoch(problem)
        run = PegasosState.at(problem, w, n_oracle, total=np.zeros_like(w), n_steps=first)
        run.look(problem, w)
        # The penalty of the optimum is at most its objective, hence that of the start. For convex losses the tangent
        # at the optimum says a bit more: loss(0) >= loss(optimum) + 2 penalty(optimum).
        run.limit = run.best if run.pool is not None and not w.any() else 2.0 * run.best
        return run

    def _steps_an_epoch(self, problem: SampledProblem) -> int:
        return -(-problem.n_samples // int(self.batch))

    def _epoch(self, problem: SampledProblem, run: PegasosState) -> None:
        # An epoch visits every sample once, each at the weights of its turn. The sum of their cuts is a cut of the data
        # term, so epochs prove bounds without further passes; the gap is measured at averages of iterates.
        if run.n_iter & (run.n_iter - 1) == 0:  # 0, 1, 2, 4, 8, ...: start the average afresh
            run.total, run.age = np.zeros_like(run.w), 0
        order = np.random.default_rng([self.random_state, run.n_iter]).permutation(problem.n_samples)
        done = run_epoch(problem, run.w, order, int(self.batch), run.n_steps, run.limit)
        run.w, run.total = done.w, run.total + done.total
        n_steps = self._steps_an_epoch(problem)
        run.n_steps, run.age = run.n_steps + n_steps, run.age + n_steps
        run.n_iter, run.n_oracle = run.n_iter + 1, run.n_oracle + 1
        run.cut(done.offset, done.gradient, np.zeros_like(run.w))

    def _check(self, problem: SampledProblem, run: PegasosState) -> None:
        """Try the average, or the current weights: one pass, which gives a cut too."""
        run.look(problem, run.total / run.age if self.averaged else run.w)
