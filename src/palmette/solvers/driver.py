"""One driver for all solvers: refusals, clock, history, callbacks, stop reasons, warnings, resuming, Ctrl-C.

A solver is a dataclass of settings that derives from :class:`Driven`. It declares as data what it needs of a problem,
and contributes

* ``begin(problem, w0)``, the :class:`RunState` of a new run, and ``resumed(problem, state)``, a copy to go on from;
* ``step(problem, run, last)``, which takes one step, counts it in ``run.n_iter`` and says what came of it;
* ``weights(problem, run)``, the weights that would be returned now.

The words are one rule for all. A gap of at most ``tol`` times the objective is proven convergence (``"gap"``). An
estimate of the solver makes a run converged (``"estimate: ..."``) where the gap is at most ``10 tol`` times the
objective, or where no bound exists. Everything else is not converged, and a warning names the remedy.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from operator import ge, gt
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.contracts.problem import Problem
from palmette.contracts.solver import Callback, Progress, Result, RunState, Step
from palmette.errors import MissingCapability, warn_caller
from palmette.objectives.problem import check_needs, first_point
from palmette.solvers.maxima import INEXACT, NOT_KNOWN, REMEDY

DOUBTFUL = 10.0  # times tol: the gap beyond which an estimate does not make a run converged
ROUNDING = 1e-13  # relative gap below which values cannot be told apart
ESTIMATE = "estimate: "
PAUSED = "paused"  # for `finish`: by Ctrl-C, but between two steps
ASKED = ("callback", "interrupted", PAUSED)  # what the user did: nothing to warn of


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

    def correct(self, primal: float, lower: float, n_oracle: float) -> None:
        """Replace numbers of the last step."""
        self.history[-1] = self.history[-1]._replace(primal=primal, lower=lower, n_oracle=n_oracle)


class _Limits:
    """Settings that every solver has, each in its own place among the others."""

    max_iter: int
    tol: float


@dataclass(frozen=True)
class Driven(_Limits):
    """Base of all solvers; see the module for what a subclass contributes."""

    name: ClassVar[str]
    # keys of palmette.objectives.problem.NEEDS, in the order of refusals
    needs: ClassVar[tuple[str, ...]] = ()
    takes_start: ClassVar[bool] = True  # whether a run may start from given weights
    positive: ClassVar[tuple[str, ...]] = ("max_iter",)  # settings > 0
    not_negative: ClassVar[tuple[str, ...]] = ("tol",)  # settings >= 0
    unit: ClassVar[str] = "iterations"  # what max_iter counts
    rounding: ClassVar[float] = ROUNDING  # the smallest relative gap that can be hoped for
    quiet: ClassVar[bool] = False  # whether a run that is not converged goes without a warning

    callbacks: Sequence[Callback] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for names, wanted, holds in ((self.positive, "> 0", gt), (self.not_negative, ">= 0", ge)):
            for name in names:
                value = getattr(self, name)
                if not (isinstance(value, Real) and holds(value, 0)):
                    raise ValueError(
                        f"{type(self).__name__}: {name} must be a number {wanted}, got {value!r}"
                    )

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: Any = None) -> Result:
        """Minimise ``problem`` from ``w0``, or go on from the ``state`` of an earlier result, which stays as it is.

        Returns
        -------
        Result
            With the best point met. A ``KeyboardInterrupt`` has the result so far as its attribute ``result``.
        """
        check_needs(problem, self.name, self.needs)
        if not self.takes_start and w0 is not None and np.any(w0):
            raise MissingCapability(
                f"{self.name} cannot start from given weights, only from the state of an earlier result; use "
                "solver='bundle' or 'stochastic' for that"
            )
        self.check(problem)
        return drive(self, problem, w0, state)

    def solve_warm(self, problem: Any, w0: np.ndarray, state: Any, *, same_samples: bool = False) -> Result:
        """Minimise from the weights of an earlier fit, or from what its ``state`` (None: lost) still tells.

        ``same_samples`` says that the samples are known to be those of that fit.
        """
        return self.solve(problem, w0=w0)

    def check(self, problem: Any) -> None:
        """Refuse what the declared needs do not say."""

    def prepare(self, problem: Any) -> Any:
        """What the steps work on: the problem, or a view of it in other coordinates (``inward``, ``outward``)."""
        return problem

    def begin(self, problem: Any, w0: np.ndarray | None) -> Any:
        """The state of a new run."""
        raise NotImplementedError

    def resumed(self, problem: Any, state: Any, w0: np.ndarray | None = None) -> Any:
        """A copy of the state of an earlier run, to go on from."""
        return state.copy()

    def step(self, problem: Any, run: Any, last: int) -> Progress:
        """One step; ``last`` is the number of the last one that may be taken."""
        raise NotImplementedError

    def weights(self, problem: Any, run: Any) -> np.ndarray:
        """The weights that would be returned now."""
        raise NotImplementedError

    def ends(self, problem: Any, run: Any) -> bool:
        """Whether only better maxima of the loss would close the gap, and there are none."""
        return False

    def finish(self, problem: Any, run: Any, reason: str) -> Progress | None:
        """A last look at what is returned, where that is worth a pass; a resumed run goes on as if there was none.

        An ``"interrupted"`` run is in the middle of a step; one that Ctrl-C ended between two is ``"paused"`` here.
        """
        return None

    def remedy(self, problem: Any, reason: str) -> str:
        """What helps a run that did not converge."""
        return "Increase max_iter, tol or l2."


@dataclass(frozen=True)
class Seeded(Driven):
    """Base of solvers that visit the samples in random order, epoch by epoch."""

    not_negative: ClassVar[tuple[str, ...]] = ("tol", "random_state")
    unit: ClassVar[str] = "epochs"

    random_state: int = field(default=0, kw_only=True)


def same_problem(problem: Problem, regularizer: Any, and_same: bool = True, what: str = "") -> None:
    """Refuse a state that belongs to another problem."""
    if not (and_same and problem.regularizer.same_as(regularizer)):
        raise ValueError(
            f"this state belongs to a problem with other weights or penalties{what}; start from its point instead: "
            "solve(problem, w0=result.w)"
        )


def drive(solver: Any, problem: Any, w0: np.ndarray | None, state: Any) -> Result:
    """Step after step, until a reason to stop."""
    work = solver.prepare(problem)
    outward = getattr(work, "outward", lambda w: w)
    if w0 is not None and work is not problem and hasattr(work, "inward"):
        w0 = work.inward(first_point(problem, w0))
    run = solver.begin(work, w0) if state is None else solver.resumed(work, state, w0)
    recorder = Recorder(solver.callbacks, run.history)
    run.history = recorder.history  # which steps may look at
    reason, last = "", run.n_iter + solver.max_iter
    whole = False  # whether the state is one to go on from

    def weights() -> np.ndarray:
        return outward(solver.weights(work, run))

    try:
        while not reason:
            whole = False
            with interrupts_held() as interrupted:
                done = solver.step(work, run, last)
            whole = True
            stop_asked = _told(recorder, run, done, weights)
            if interrupted():
                raise KeyboardInterrupt
            reason = _reason(solver, work, run, done, stop_asked, last)
        whole = False
        _corrected(recorder, run, solver.finish(work, run, reason))
        run.history = tuple(recorder.history)
    except KeyboardInterrupt as stop:
        if not recorder.history:
            recorder.history.append(Step(0, run.n_oracle, 0.0, np.nan, np.nan))
        _corrected(recorder, run, solver.finish(work, run, PAUSED if whole else "interrupted"))
        run.history = tuple(recorder.history)
        state = run if whole else None
        stop.result = conclude(solver, problem, weights(), recorder, "interrupted", state)  # type: ignore[attr-defined]
        raise
    return conclude(solver, problem, weights(), recorder, reason, run)


@contextlib.contextmanager
def interrupts_held() -> Iterator[Callable[[], bool]]:
    """A context in which the first Ctrl-C only takes note, so that a step ends whole; the second one does not wait.

    It gives a function that says whether there was one. Other handlers of SIGINT than Python's own stay as they are.
    """
    given, seen = signal.getsignal(signal.SIGINT), 0
    if given is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, frame: Any) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: seen > 0
    finally:
        signal.signal(signal.SIGINT, given)


def _corrected(recorder: Recorder, run: RunState, final: Progress | None) -> None:
    """Replace the numbers of the last step by those of a last look."""
    if final is not None:
        n_oracle = run.n_oracle + final.passes
        recorder.correct(primal=float(final.primal), lower=float(final.lower), n_oracle=n_oracle)


def outcome(run: Callable[..., Result], *args: Any) -> tuple[Result, KeyboardInterrupt | None]:
    """The result of a run; with the interrupt that ended it, to be raised again once the result is kept."""
    try:
        return run(*args), None
    except KeyboardInterrupt as stop:
        result = getattr(stop, "result", None)
        if result is None:  # before the first step
            raise
        return result, stop


def _told(recorder: Recorder, run: RunState, done: Progress, weights: Callable[[], np.ndarray]) -> bool:
    """Record a step; one that went nowhere corrects the last entry."""
    history = recorder.history
    if history and history[-1].n_iter == run.n_iter:
        recorder.correct(n_oracle=run.n_oracle, primal=float(done.primal), lower=float(done.lower))
        return False
    return recorder.record(run.n_iter, run.n_oracle, done.primal, done.lower, weights)


def _reason(solver: Any, work: Any, run: RunState, done: Progress, stop: bool, last: int) -> str:
    """Why to stop after a step; empty to go on."""
    if done.checked and done.primal - done.lower <= solver.tol * abs(done.primal):
        return "gap"
    if done.estimate:
        return ESTIMATE + done.estimate
    if done.failure:
        return done.failure
    if stop:
        return "callback"
    if run.n_iter >= last:
        return "max_iter"
    return INEXACT if solver.ends(work, run) else ""


def conclude(
    solver: Any, problem: Any, w: np.ndarray, recorder: Recorder, reason: str, state: Any,
    rounds: tuple[int, ...] = (), n_rounds: int | None = None,
) -> Result:  # fmt: skip
    """The result of a run that ended by ``reason``, with a warning where it is not converged."""
    history = tuple(recorder.history)
    step = history[-1]
    if step.reaches(solver.tol) and reason not in ASKED:
        reason = "gap"
    elif reason == "gap":  # what the maxima found may lack was added at the end
        reason = INEXACT
    believed = np.isnan(step.gap) or step.reaches(DOUBTFUL * max(solver.tol, solver.rounding))
    converged = reason == "gap" or (reason.startswith(ESTIMATE) and bool(believed))
    if not (converged or solver.quiet or reason in ASKED):
        n = step.n_iter if n_rounds is None else n_rounds
        unit = solver.unit.removesuffix("s") if n == 1 else solver.unit
        bound = "no bound" if np.isnan(step.gap) else f"relative gap {step.gap / abs(step.primal):.2e}"
        remedy = REMEDY if reason == INEXACT else solver.remedy(problem, reason)
        why = f"{reason}; {NOT_KNOWN}" if reason == INEXACT else reason
        warn_unconverged(
            f"{solver.name} stopped after {n} {unit} ({why}) at objective {step.primal:.6g} "
            f"with {bound}, tol={solver.tol:g}. {remedy}"
        )
    return Result(w, step, history, converged, reason, state, rounds=rounds)


def warn_unconverged(message: str) -> None:
    """A ConvergenceWarning that names the line which called the library, however deep inside it arises."""
    warn_caller(message, ConvergenceWarning)
