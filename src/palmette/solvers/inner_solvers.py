"""What solves the convex problems of the concave-convex procedure, and keeps from round to round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from palmette.contracts.solver import Callback, Result
from palmette.objectives.linearised import Linearised
from palmette.objectives.problem import bounded_loss
from palmette.solvers.block_ascent import Best, BlockAscent
from palmette.solvers.bundle import Bundle
from palmette.solvers.multiclass_dual import MulticlassDual
from palmette.solvers.n_slack import NSlack


class Inner(Protocol):
    """Minimises convex problems that differ in a linear term only, one after the other."""

    def solve(self, problem: Linearised, w: np.ndarray, value: float | None, callback: Callback) -> Result:
        """The minimiser of ``problem``, started at ``w``, where its objective is ``value`` (None: unknown), and never
        worse than that. A true answer of ``callback`` to a step ends the run early."""


class RecycledCuts:
    """The bundle method on all rounds: every cut of A that was ever taken serves in the later ones.

    Parameters
    ----------
    bundle : Bundle
    recycle : bool
        False forgets the cuts after each round, to see what they are worth.
    """

    def __init__(self, bundle: Bundle, recycle: bool = True) -> None:
        self.bundle, self.recycle = bundle, recycle
        self._state: Any = None
        self._slope = np.zeros(0)

    def solve(self, problem: Linearised, w: np.ndarray, value: float | None, callback: Callback) -> Result:
        """Minimise from ``w`` on."""
        bundle = self.bundle.told(callback)
        if self._state is None or value is None or not self.recycle:
            result = bundle.solve(problem, w0=w)
        else:
            state = bundle.moved(problem, self._state, problem.slope - self._slope, w, value)
            result = bundle.solve(problem, state=state)
        self._state, self._slope = result.state, problem.slope
        return result


class MovedTargets:
    """The dual of the multiclass hinge on all rounds: samples whose best label stays keep their dual variables.

    The tangent of ``max_k f_k - f(y)`` at the current weights is ``f(best label there) - f(y)``, so that the convex
    problem is a hinge which subtracts the score of that label.
    """

    def __init__(self, solver: MulticlassDual, recycle: bool = True) -> None:
        self.solver, self.recycle = solver, recycle
        self._state: Any = None

    def solve(self, problem: Linearised, w: np.ndarray, value: float | None, callback: Callback) -> Result:
        """Minimise from ``w`` on."""
        solver = replace(self.solver, callbacks=(*self.solver.callbacks, callback))
        result = solver.solve(problem, w0=w, state=self._state if self.recycle else None)
        self._state = result.state
        return result


class Restarted:
    """Any other solver, anew in every round: from the present weights, or from the dual variables of the last round.

    Distributions over outputs are dual variables of every round, since only the linear term changes. Where it prefers
    another output than before, that one takes over the mass: the weights change by what other outputs had.
    """

    def __init__(self, solver: Any, recycle: bool = True) -> None:
        self.solver, self.recycle = solver, recycle
        self._state: Any = None
        self._targets = np.zeros(0)

    def solve(self, problem: Linearised, w: np.ndarray, value: float | None, callback: Callback) -> Result:
        """Minimise from ``w`` on; a solver that came out worse is overruled."""
        solver = replace(self.solver, callbacks=(*self.solver.callbacks, callback))
        if isinstance(solver, BlockAscent):
            result = solver.solve(problem, state=self._begun(solver, problem, w, value))
            self._state, self._targets = result.state, problem.targets
        else:
            result = solver.solve(problem, w0=w)
        if value is None and self.has_cuts:
            return result  # it has seen the value, or nothing is known of it
        value = objective(problem, w) if value is None else value
        if result.primal <= value:
            return result
        return replace(result, w=w, step=result.step._replace(primal=value))

    @property
    def has_cuts(self) -> bool:
        """Whether dual variables are masses of cuts of single samples."""
        return isinstance(self.solver, NSlack)

    def visit(self, convex: Any, concave: Any, order: np.ndarray) -> np.ndarray:
        """Visit each sample once, with a tangent of its own; what was found serves in all rounds."""
        self._state, self._targets = self.solver.visited(convex, concave, order)
        return self._state.best.w.copy()

    def _begun(self, solver: BlockAscent, problem: Linearised, w: np.ndarray, value: float | None) -> Any:
        """Where a round begins; the value of the present weights is known from the round before."""
        if self._state is None or not self.recycle:
            return solver.started(problem, w) if isinstance(solver, NSlack) else None
        run = solver.restart(problem, self._state, self._targets)
        if value is not None:
            run.best = Best(w.copy(), value, -np.inf)
        return run


def objective(problem: Any, w: np.ndarray) -> float:
    """Value of a problem at ``w``, penalty included."""
    value, _, slack = bounded_loss(problem, w)
    return float(value + slack + problem.regularizer.value(w))
