"""Bundle method (BMRM): cutting planes of the data term, an exact dual step over them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ramify.errors import MissingCapability
from ramify.objectives.simplex_qp import simplex_qp
from ramify.solvers.base import Callback, Recorder, Result

IDLE = 20  # a cut without weight for so many iterations is dropped


@dataclass(frozen=True)
class BundleState:
    """The cuts ``loss(w) >= offset_k + <gradient_k, w>``, their dual weights, and the best point met."""

    w: np.ndarray
    best_w: np.ndarray
    best: float = np.inf
    lower: float = -np.inf
    offsets: np.ndarray = field(default_factory=lambda: np.zeros(0))
    gradients: tuple[np.ndarray, ...] = ()
    gram: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    idle: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    n_iter: int = 0

    def with_cut(self, offset: float, gradient: np.ndarray, l2: np.ndarray) -> BundleState:
        """One more cut; the Gram matrix grows by a row."""
        scaled = gradient / l2
        row = np.array([scaled @ g for g in (*self.gradients, gradient)])
        n = len(row)
        gram = np.empty((n, n))
        gram[:-1, :-1] = self.gram
        gram[-1], gram[:, -1] = row, row
        return replace(
            self, offsets=np.append(self.offsets, offset), gradients=(*self.gradients, gradient), gram=gram,
            weights=np.append(self.weights, 0.0), idle=np.append(self.idle, 0),
        )  # fmt: skip

    def without_idle(self) -> BundleState:
        """Drop cuts that have carried no weight for long; the bound does not change by it."""
        idle = np.where(self.weights > 0, 0, self.idle + 1)
        keep = np.flatnonzero(idle < IDLE)
        return replace(
            self, offsets=self.offsets[keep], gradients=tuple(self.gradients[k] for k in keep),
            gram=self.gram[np.ix_(keep, keep)], weights=self.weights[keep], idle=idle[keep],
        )  # fmt: skip


@dataclass(frozen=True)
class Bundle:
    """Minimise ``loss(w) + sum_j (l2_j/2) w_j^2`` by cutting planes; the loss need not be smooth.

    Each iteration adds the cut at the present point and moves to the minimiser of the maximum of all cuts plus the
    penalty, found through its dual: ``max_a <a, offsets> - |sum_k a_k g_k|^2 / (2 l2)`` on the simplex. That dual value
    is the lower bound; the best point met is the result, so the gap is exact at every iteration.

    Parameters
    ----------
    max_iter : int
    tol : float
        Relative gap at which the run stops.
    callbacks : sequence of callables
    """

    max_iter: int = 1000
    tol: float = 1e-4
    callbacks: Sequence[Callback] = field(default=())

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Minimise from ``w0`` (zero by default), or go on from the ``state`` of an earlier result."""
        reg = problem.regularizer
        if reg.has_l1 or not reg.strongly_convex:
            raise MissingCapability(
                "bundle needs l2 > 0 on every weight and no l1; use solver='stochastic' (or 'lbfgs' for smooth losses)"
            )
        if state is None:
            start = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
            current = BundleState(start, start)
        else:
            current = state["bundle"]
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        reason, last = "max_iter", current.n_iter + self.max_iter
        while current.n_iter < last:
            current = self._iterate(problem, current)
            stop = recorder.record(current.n_iter, current.n_iter, current.best, current.lower)
            if current.best - current.lower <= self.tol * abs(current.best):
                reason = "gap"
            elif stop:
                reason = "callback"
            if reason != "max_iter":
                break
        history = tuple(recorder.history)
        if reason == "max_iter":
            warnings.warn(
                f"bundle stopped after {current.n_iter} iterations with relative gap "
                f"{history[-1].gap / abs(current.best):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2.",
                ConvergenceWarning,
                stacklevel=3,
            )
        result_state = {"bundle": current, "history": history}
        return Result(current.best_w, history[-1], history, reason == "gap", reason, result_state)

    @staticmethod
    def _iterate(problem: Any, current: BundleState) -> BundleState:
        reg, w = problem.regularizer, current.w
        value, gradient = problem.loss(w)
        primal = value + reg.value(w)
        if primal < current.best:
            current = replace(current, best=primal, best_w=w)
        current = current.with_cut(value - float(gradient @ w), gradient, reg.l2)
        solution = simplex_qp(current.gram, current.offsets, current.weights)
        mean = np.zeros_like(w)
        for weight, g in zip(solution.a, current.gradients):
            if weight > 0:
                mean += weight * g
        lower = max(current.lower, solution.value)
        current = replace(current, weights=solution.a, w=-mean / reg.l2, lower=lower, n_iter=current.n_iter + 1)
        return current.without_idle()
