"""What every solver takes and returns: a problem, steps, a result with its certificate."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from palmette.contracts.problem import Problem

Callback = Callable[..., Any]


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

    def reaches(self, tol: float) -> bool:
        """Whether the gap is at most ``tol`` times the objective."""
        return bool(self.primal - self.lower <= tol * abs(self.primal))


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
        Whether ``tol`` was reached: proven (``reason="gap"``), or by the solver's documented estimate where the proven
        gap is at most ``10 tol`` times the objective or no bound exists (``reason="estimate: ..."``).
    reason : str
        What stopped the run: ``"gap"``, ``"estimate: relative decrease over 10 iterations"``, ``"max_iter"``,
        ``"callback"``, ``"interrupted"`` (Ctrl-C), ``"inexact maxima"`` (only better maxima of the loss would close the
        gap), ...
    state : object
        Give it back to the same solver (``solve(problem, state=result.state)``) to go on where it stopped. None where
        Ctrl-C came in the middle of a step.
    n_unconverged : int
        Graphs whose messages did not converge at least once, so that their values are less exact than they should be.
    rounds : tuple of int
        Of losses that are not convex: places in ``history`` after which the problem was linearised anew.
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


class Progress(NamedTuple):
    """What a step says of the point that would be returned now.

    Attributes
    ----------
    primal, lower : float
        Its objective, and the bound that is proven.
    estimate : str
        The estimate by which the run has arrived; empty if none says so.
    failure : str
        Why there is no further step, though nothing says that the run has arrived.
    checked : bool
        False where ``lower`` is good enough for the history, but no proof to end with.
    passes : float
        Over the data, which the history counts and a resumed run does not.
    """

    primal: float
    lower: float
    estimate: str = ""
    failure: str = ""
    checked: bool = True
    passes: float = 0.0


@dataclass(kw_only=True)
class RunState:
    """Where a run stands; plain data, which can be pickled."""

    n_iter: int = 0
    n_oracle: float = 0.0
    history: Sequence[Step] = ()

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


class Solver(Protocol):
    """Minimises a problem. Settings are those of the object, which a run does not change.

    Attributes
    ----------
    max_iter : int
        Iterations (epochs, rounds) of one call; a resumed run has as many again.
    tol : float
        Relative suboptimality wanted.
    callbacks : sequence of callables
        Each is called with every :class:`Step`; a true answer stops the run. One that has a true attribute
        ``sees_weights`` is called with the step and a function that returns the weights of that step.
    """

    @property
    def max_iter(self) -> int:
        """Iterations of one call."""

    @property
    def tol(self) -> float:
        """Relative suboptimality wanted."""

    @property
    def callbacks(self) -> Sequence[Callback]:
        """Called with every step."""

    def solve(self, problem: Problem, w0: np.ndarray | None = None, state: Any = None) -> Result:
        """Minimise from ``w0`` (n_params,), or go on from the ``state`` of an earlier result, which stays as it is.

        A ``KeyboardInterrupt`` during a run has the result so far as its attribute ``result``
        (``reason="interrupted"``). Ctrl-C waits for the end of a step, so that its ``state`` is one to go on from;
        pressed twice it does not wait.
        """
