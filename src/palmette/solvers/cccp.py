"""The concave-convex procedure: a loss ``A - B`` by convex problems in which B is replaced by a tangent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.solver import Result, Step
from palmette.errors import MissingCapability
from palmette.loops.table import find, why_not
from palmette.objectives.linearised import Linearised
from palmette.objectives.problem import check_needs, first_point
from palmette.objectives.risk import Tangent
from palmette.registry import register
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.bundle import Bundle
from palmette.solvers.driver import DOUBTFUL, ESTIMATE, Driven, Recorder, conclude, outcome
from palmette.solvers.frank_wolfe import FrankWolfe
from palmette.solvers.inner_solvers import Inner, MovedTargets, RecycledCuts, Restarted, objective
from palmette.solvers.maxima import INEXACT, silent_inexact
from palmette.solvers.multiclass_dual import FEW_WEIGHTS, NEEDS, MulticlassDual, suits
from palmette.solvers.perceptron import AveragedPerceptron
from palmette.solvers.registry import make_solver
from palmette.solvers.sample_cuts import SampleCuts
from palmette.surrogates.partial import PartialPerceptronLoss

STARTS = ("auto", "convex", "perceptron", "structure", "visits", "zero")
PRECISIONS = ("auto", "gain", "geometric", "fixed")
FEW_EPOCHS = 5  # of the perceptron that finds a start
ROUGHLY = 0.03  # relative gap to which the convex problem of the start is solved
GAIN = 0.1  # a round ends when it has gained this share of what its convex problem may still gain ...
GAIN_BY_SAMPLES = 0.5  # ... where a pass finds a cut of every sample, and so gains more
LEFT = (
    3.0  # times the tolerance: a round that gained little and may gain more is followed by one that is solved
)
UNSOLVED = "inner solver"  # a round gained little, and its convex problem had more to give
NOTHING = 1e-9  # share of the first objective that counts as 0, which a relative decrease never reaches
SCALES = 2.0 ** np.arange(-6, 11)  # tried on a start of which only the direction is known


@register("solver")
@dataclass(frozen=True)
class CCCP(Driven):
    """Minimise ``A(w) - B(w) + penalty`` for a :class:`~palmette.surrogates.Difference` of convex losses.

    In round t the concave part is replaced by its tangent at ``w_t``, which is above it:
    ``-B(w) <= -B(w_t) - <v_t, w - w_t>`` with a subgradient ``v_t``. The convex problem that is left,
    ``A(w) - <v_t, w> + penalty``, is solved from ``w_t`` on, so the objective J never increases. Rounds differ in
    ``v_t`` only: with the bundle method all cuts of A serve in all later rounds (bounds recycling), so early rounds
    need not be solved exactly (adaptive precision). Both can be switched off.

    Parameters
    ----------
    max_iter : int
        Rounds.
    tol : float
        The run stops when a round decreases J by less, relatively; also the relative gap of the convex problems. A run
        whose last convex problem has a gap above ``10 tol`` is not converged (``reason="inner solver"``).
    inner : {"auto", "bundle", "sample_cuts", "dual"}, name of a solver or solver object
        What solves the convex problems: the bundle method; the same with cuts of single samples, which takes fewer
        maxima and more time between them, for structures whose maximum is expensive; or the dual of the multiclass
        hinge (:class:`~palmette.solvers.MulticlassDual`). All keep what they know from round to round. "auto" is the
        dual where it serves and features are scaled, else "sample_cuts" where maxima are exact and the structure says
        that they are expensive (``costly``, such as ``Tracking``), else "frank_wolfe" for partial annotation where that
        has a compiled loop (chains, single labels) and weights are many, else the bundle method. Every other solver of
        the convex part will do ("n_slack", "smo", "pegasos", ...): those of the dual keep their variables, others go
        on from the weights.
    start : {"auto", "convex", "perceptron", "structure", "visits", "zero"} or ndarray of shape (n_params,)
        Where a run without ``w0`` starts: the minimiser of ``A + penalty``, roughly; weights of a few epochs of the
        perceptron that learns from the same annotation, best scaled; weights provided by the structure
        (``first_weights``: ``Ranking``, whose convex solution is 0), best scaled; the mean of the weights after visits
        of all samples, each of which takes a tangent and a cut of its own (two passes; for "sample_cuts" and
        "n_slack"); zero; or the given weights. "auto" is "visits" for partial annotation where cuts are those of
        samples and are kept, "perceptron" for other partial annotation, else "structure" where there is one, else
        "convex".
    recycle : bool
        Whether cuts (or dual variables) of earlier rounds are kept.
    precision : {"auto", "gain", "geometric", "fixed"}
        When a round ends before its problem is solved to the relative gap ``tol``: when it has gained 0.1 of what its
        problem may still gain (0.5 where cuts are those of samples); at the relative gap
        ``max(first_gap * shrink^t, tol)`` of round t (Algorithm 1.1 of Lou and others); or never. "auto" is "gain"
        where cuts are kept, else "fixed", the procedure as usually written.
    first_gap, shrink : float
        Of ``precision="geometric"``.
    max_cuts : int
        Of the bundle method.
    inner_iter : int
        Iterations per round.

    There is no lower bound: ``lower`` and ``gap`` of the result are NaN. ``history`` has a step for each iteration of
    the convex problems, whose objective is above J, and at the end of each round J itself; ``rounds`` tells where.
    """

    max_iter: int = 100
    tol: float = 1e-4
    inner: Any = "auto"
    start: str = "auto"
    recycle: bool = True
    precision: str = "auto"
    first_gap: float = 0.1
    shrink: float = 0.5
    max_cuts: int = 150
    inner_iter: int = 1000
    random_state: int = 0

    name: ClassVar[str] = "cccp"
    needs: ClassVar = ("difference", "separable", "whole")
    positive: ClassVar = ("max_iter", "max_cuts", "inner_iter")
    unit: ClassVar[str] = "rounds"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("start", STARTS), ("precision", PRECISIONS)):
            given = getattr(self, name)
            if not (name == "start" and isinstance(given, np.ndarray)) and given not in choices:
                raise ValueError(f"CCCP: {name} must be one of {', '.join(choices)}, got {given!r}")
        if not (0.0 < self.shrink < 1.0 and self.first_gap > 0.0):
            raise ValueError(
                f"CCCP: first_gap > 0 and 0 < shrink < 1 must hold, got {self.first_gap!r}, {self.shrink!r}"
            )

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: np.ndarray | None = None) -> Result:
        """Minimise from ``w0``, or from ``start``; ``state``, the weights of an earlier result, is another ``w0``."""
        check_needs(problem, self.name, self.needs)
        if isinstance(self.inner, str | Bundle | MulticlassDual) and self.inner != "linear_program":
            check_needs(problem, self.name, ("l2",))
        convex = problem.with_surrogate(problem.surrogate.convex_part)
        concave = problem.with_surrogate(problem.surrogate.concave_part)
        inner = self._inner(convex)
        enough = partial(self._enough, GAIN_BY_SAMPLES if has_sample_cuts(inner) else GAIN)
        rounds = _Rounds(convex, concave, inner, Recorder(self.callbacks), enough)
        n_rounds, least = 0, 0.0
        last = False  # whether the next round is solved to tol, since the last one gained little
        try:
            rounds.begin(*self._first(problem, w0 if state is None else state, inner))
            reason = "callback" if rounds.stopped else ""
            while not reason:
                before = rounds.value
                rounds.next(last)
                n_rounds += 1
                least = least or NOTHING * abs(rounds.value)
                little = max(self.tol * abs(rounds.value), least)
                if rounds.stopped:
                    reason = "callback"
                elif before - rounds.value <= little and (last or not rounds.left > LEFT * little):
                    unsolved = rounds.left > DOUBTFUL * little
                    reason = UNSOLVED if unsolved else ESTIMATE + "relative decrease over 1 round"
                elif n_rounds == self.max_iter:
                    reason = "max_iter"
                last = before - rounds.value <= little
        except KeyboardInterrupt as stop:
            if rounds.recorder.history:
                stop.result = self._result(problem, rounds, "interrupted", n_rounds)  # type: ignore[attr-defined]
            raise
        return self._result(problem, rounds, reason, n_rounds)

    def _result(self, problem: Any, rounds: _Rounds, reason: str, n_rounds: int) -> Result:
        ends = tuple(rounds.ends)
        return conclude(self, problem, rounds.w, rounds.recorder, reason, rounds.w, ends, n_rounds)

    def _enough(self, gain: float, n_rounds: int, first: float, step: Step) -> bool:
        """Whether a round that began at the value ``first`` may end."""
        precision = self.precision if self.precision != "auto" else "gain" if self.recycle else "fixed"
        if precision == "gain":
            return first - step.primal >= gain * (step.primal - step.lower)
        gap = max(self.first_gap * self.shrink**n_rounds, self.tol)
        return precision == "geometric" and step.gap <= gap * abs(step.primal)

    def remedy(self, problem: Any, reason: str) -> str:
        """What helps a run that did not converge."""
        if reason == UNSOLVED:
            return "Increase inner_iter or tol, or use inner='bundle'."
        return "Increase max_iter or tol."

    def _inner(self, convex: Any) -> Inner:
        if isinstance(self.inner, str):
            if self.inner == "dual" and (obstacle := why_not(MulticlassDual.name, convex, NEEDS)):
                raise MissingCapability(f"cccp: inner='dual' {obstacle}; use inner='bundle'")
            if self.inner == "dual" or (self.inner == "auto" and suits(convex)):
                solver = MulticlassDual(self.inner_iter, self.tol, random_state=self.random_state)
                return MovedTargets(solver, self.recycle)
            few = convex.structure.costly and convex.structure.exact and convex.regularizer.quadratic
            if (self.inner == "auto" and few) or self.inner == "sample_cuts":
                return Restarted(SampleCuts(self.inner_iter, self.tol), self.recycle)
            if self.inner == "bundle" or (self.inner == "auto" and not visits_suit(convex)):
                return RecycledCuts(Bundle(self.inner_iter, self.tol, self.max_cuts), self.recycle)
        inner = FrankWolfe.name if isinstance(self.inner, str) and self.inner == "auto" else self.inner
        solver = make_solver(
            inner, tol=self.tol, max_iter=self.inner_iter, random_state=self.random_state, callbacks=()
        )
        kinds: tuple[tuple[type, Any], ...] = ((Bundle, RecycledCuts), (MulticlassDual, MovedTargets))
        kind = next((way for known, way in kinds if isinstance(solver, known)), Restarted)
        return kind(solver, self.recycle)

    def _first(
        self, problem: Any, w0: np.ndarray | None, inner: Inner
    ) -> tuple[np.ndarray, bool] | tuple[np.ndarray, bool, float]:
        """Where to start, whether the convex problem is solved from there before the first tangent, and the passes that
        were a part of the work of the rounds."""
        w0 = self.start if w0 is None and isinstance(self.start, np.ndarray) else w0
        if w0 is not None:
            return first_point(problem, w0), False
        known = problem.structure.can("first_weights")
        start, visits = self.start, self.recycle and has_sample_cuts(inner)
        if start == "auto":
            partly = problem.samples.annotation is not None
            start = ("visits" if visits else "perceptron") if partly else "structure" if known else "convex"
        if start == "visits":
            if not visits:
                raise MissingCapability(
                    "cccp: start='visits' finds cuts of samples: use inner='sample_cuts' and recycle=True"
                )
            order = np.random.default_rng(self.random_state).permutation(problem.n_samples)
            convex, concave = problem.surrogate.convex_part, problem.surrogate.concave_part
            return inner.visit(problem.with_surrogate(convex), concave, order), False, 2.0  # type: ignore[attr-defined]
        if start == "perceptron":
            # The convex part compares with one output among those that agree, which may be far from the truth.
            first = AveragedPerceptron(FEW_EPOCHS, random_state=self.random_state)
            none = ElasticNet(*np.zeros((2, problem.n_params)))  # perceptrons have no penalty
            with silent_inexact():
                found = first.solve(problem.with_surrogate(PartialPerceptronLoss(), none))
                return best_scale_of_difference(problem, found.w), False
        if start != "structure":
            return np.zeros(problem.n_params), start == "convex"
        if not known:
            raise MissingCapability(
                f"start='structure': {type(problem.structure).__name__} provides no first weights; use start='convex'"
            )
        found = problem.structure.first_weights(problem.scorer, problem.samples)
        return best_scale_of_difference(problem, found), False


class _Rounds:
    """Where the rounds of one call stand, and what they cost.

    Attributes
    ----------
    w : ndarray
        The present weights.
    value : float
        The objective ``A - B + penalty`` there.
    left : float
        What the convex problem of the last round may still gain, as far as that is known; NaN where maxima are inexact.
    ends : list of int
        Places in the history where a tangent was taken.
    """

    def __init__(self, convex: Any, concave: Any, inner: Inner, recorder: Recorder, enough: Any) -> None:
        self.convex, self.concave, self.inner, self.recorder = convex, concave, inner, recorder
        self.enough = enough  # whether a round may end before its problem is solved
        self.n_rounds = 0
        self.n_iter, self.n_oracle = 0, 0.0
        self.stopped = False
        self.ends: list[int] = []
        self.w = np.zeros(convex.n_params)
        samples = convex.samples  # without a concave part, targets are the true outputs
        self.tangent = Tangent(0.0, np.zeros_like(self.w), samples.codes, np.ones(len(samples.weight)))
        self.value, self.left = np.inf, np.nan
        self._convex_value: float | None = None  # of A + penalty at the current weights

    def begin(self, w: np.ndarray, solve_convex: bool, n_oracle: float = 0.0) -> None:
        """Start at ``w``, or at the minimiser of the convex problem that is found from there."""
        self.w, self.n_oracle = w, n_oracle
        if solve_convex:
            self._minimise(lambda step: step.gap <= ROUGHLY * abs(step.primal))
        self._tangent()

    def next(self, whole: bool = False) -> None:
        """One round; a ``whole`` one does not end early."""
        first = (
            [] if self._convex_value is None else [self._convex_value - float(self.tangent.slope @ self.w)]
        )

        def enough(step: Step) -> bool:
            if not first:
                first.append(step.primal)
            return not whole and self.enough(self.n_rounds, first[0], step)

        # Up to a constant the convex problem lies above J and touches it at the current weights, so J falls by at least
        # what the problem gains. There is no bound on J: the run ends where a round gains little.
        before = self.w, self.value, self.tangent, self._convex_value
        self._minimise(enough)
        self.n_rounds += 1
        self._tangent()
        if self.value > before[1]:  # by rounding, or since maxima are approximate, so that tangents are none
            self.w, self.value, self.tangent, self._convex_value = before
            self.recorder.history[-1] = self.recorder.history[-1]._replace(primal=self.value)

    def _tangent(self) -> None:
        """The tangent of the concave part at the present weights, and with its value the objective."""
        self.tangent = self.concave.tangent(self.w)
        self.n_oracle += 1
        if self._convex_value is not None:
            self.value = self._convex_value - self.tangent.value
            last = self.recorder.history[-1]
            self.recorder.history[-1] = last._replace(primal=self.value, n_oracle=self.n_oracle)
            self.ends.append(len(self.recorder.history) - 1)

    def _minimise(self, enough: Callable[[Step], bool]) -> None:
        n_iter, n_oracle = self.n_iter, self.n_oracle

        def callback(step: Step, weights: Callable[[], np.ndarray]) -> bool:
            self.n_iter, self.n_oracle = n_iter + step.n_iter, n_oracle + step.n_oracle
            self.stopped = self.recorder.record(self.n_iter, self.n_oracle, step.primal, np.nan, weights)
            return self.stopped or enough(step)

        callback.sees_weights = True  # type: ignore[attr-defined]
        callback.ends_at = enough  # type: ignore[attr-defined]
        problem = Linearised(self.convex, self.tangent)
        known = (
            None if self._convex_value is None else self._convex_value - float(self.tangent.slope @ self.w)
        )
        with silent_inexact():  # the end of a round claims nothing
            result, stop = outcome(self.inner.solve, problem, self.w, known, callback)
        if stop is not None:
            if known is None or result.primal <= known:  # then it is no worse for the loss itself
                self.w = result.w
            raise stop
        self.left = np.nan if result.reason == INEXACT else result.gap
        self.w, self._convex_value = result.w, result.primal + float(self.tangent.slope @ result.w)


def has_sample_cuts(inner: Inner) -> bool:
    """Whether rounds are solved by cuts of single samples."""
    return isinstance(inner, Restarted) and inner.has_cuts


def visits_suit(convex: Any) -> bool:
    """Whether compiled visits of samples solve the rounds of partial annotation before the bundle method does."""
    if convex.samples.annotation is None or not convex.regularizer.quadratic:
        return False
    loop = find(FrankWolfe.name, convex)
    return loop is not None and loop.compiled and len(convex.regularizer.l2) > FEW_WEIGHTS


def best_scale(problem: Any, direction: np.ndarray) -> np.ndarray:
    """Multiple of ``direction`` with the least objective among powers of two."""
    values = [objective(problem, scale * direction) for scale in SCALES]
    return SCALES[int(np.argmin(values))] * direction


def best_scale_of_difference(problem: Any, direction: np.ndarray) -> np.ndarray:
    """The same for a difference ``A - B`` of maxima over outputs, from a few values."""
    # B is a maximum of linear functions, so that it is linear along a ray, where A - B + penalty is convex: once it
    # rises it never falls. Bisection by the sign of neighbours' difference.
    value = cache(lambda k: objective(problem, SCALES[k] * direction))
    low, high = 0, len(SCALES) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if value(middle) <= value(middle + 1) else (middle + 1, high)
    return SCALES[low] * direction
