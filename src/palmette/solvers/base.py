"""Common interface of solvers: problem, steps, result with certificate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.errors import warn_caller

Callback = Callable[..., Any]

DOUBTFUL = 0.01  # relative gap beyond which an estimate alone does not make a run converged


class Step(NamedTuple):
    """One entry of a solver's history.

    ``primal`` is the objective of the point that would be returned now, ``lower`` a proven lower bound on the
    optimum (``-inf`` or NaN where there is none) and ``n_oracle`` counts inference calls in passes over the data.
    """

    n_iter: int
    n_oracle: float
    seconds: float
    primal: float
    lower: float

    @property
    def gap(self) -> float:
        """Proven upper bound on the suboptimality, NaN where there is none; rounding does not take it below 0."""
        gap = self.primal - self.lower
        return max(gap, 0.0) if np.isfinite(gap) else float("nan")


@dataclass(frozen=True)
class Result:
    """Outcome of a solver: the weights and their certificate.

    Attributes
    ----------
    w : ndarray of shape (n_params,)
    step : Step
        The last step; ``result.gap``, ``result.primal`` and ``result.lower`` are shorthands.
    history : tuple of Step
    converged : bool
        Whether ``tol`` was reached: by the bound, or by the solver's documented estimate where the proven gap is at
        most 1 % of the objective (or three times ``tol``) or no bound exists.
    reason : str
        What stopped the run: ``"gap"``, ``"relative decrease over 10 iterations"``, ``"max_iter"``,
        ``"callback"``, ``"inexact maxima"`` (only better maxima of the loss would close the gap), ...
    state : object
        Give it back to the same solver (``solve(problem, state=result.state)``) to go on where it stopped.
    n_unconverged : int
        Graphs whose messages did not converge at least once, so that their values are less exact than they should be.
    rounds : tuple of int
        Of losses that are not convex: places in ``history`` after which the problem was linearised again.
    """

    w: np.ndarray = field(repr=False)
    step: Step
    history: tuple[Step, ...] = field(repr=False)
    converged: bool
    reason: str
    state: Any = field(repr=False, default=None)
    n_unconverged: int = 0
    rounds: tuple[int, ...] = ()

    @property
    def primal(self) -> float:
        """Objective at ``w``."""
        return self.step.primal

    @property
    def lower(self) -> float:
        """Proven lower bound on the optimum."""
        return self.step.lower

    @property
    def gap(self) -> float:
        """Proven bound on the suboptimality of ``w`` (NaN where none exists)."""
        return self.step.gap


def check_settings(solver: Any, *, positive: Sequence[str], not_negative: Sequence[str]) -> None:
    """Refuse settings of a solver that are no numbers or out of range."""
    for names, holds, wanted in (
        (positive, lambda v: v > 0, "> 0"),
        (not_negative, lambda v: v >= 0, ">= 0"),
    ):
        for name in names:
            value = getattr(solver, name)
            if not (isinstance(value, Real) and holds(value)):
                raise ValueError(f"{type(solver).__name__}: {name} must be a number {wanted}, got {value!r}")


def contradicted(step: Step, tol: float) -> bool:
    """Whether the proven gap is so large that an estimate which calls ``step`` the end is not to be believed."""
    return step.gap > max(DOUBTFUL, 3.0 * tol) * abs(step.primal)


def warn_unconverged(message: str) -> None:
    """A ConvergenceWarning that names the line which called the library, however deep inside it arises."""
    warn_caller(message, ConvergenceWarning)


class Recorder:
    """Keeps the history, the clock and the callbacks of one run.

    A callback is called with each step. One that has a true attribute ``sees_weights`` is called with the step and a
    function that returns the weights of that step, so that those who do not look do not pay.
    """

    def __init__(self, callbacks: Sequence[Callback] = (), history: Sequence[Step] = ()) -> None:
        self.history: list[Step] = list(history)
        self._callbacks = tuple(callbacks)
        self._start = time.perf_counter() - (self.history[-1].seconds if self.history else 0.0)

    def record(
        self, n_iter: int, n_oracle: float, primal: float, lower: float, weights: Callable[[], np.ndarray]
    ) -> bool:
        """Append a step and tell the callbacks; true if one of them wants to stop."""
        step = Step(n_iter, n_oracle, time.perf_counter() - self._start, float(primal), float(lower))
        self.history.append(step)
        wishes = [
            callback(step, weights) if getattr(callback, "sees_weights", False) else callback(step)
            for callback in self._callbacks
        ]
        return any(map(bool, wishes))
