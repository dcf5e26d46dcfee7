"""The driver of all solvers: one rule for reasons, warnings, callbacks, resuming and Ctrl-C."""

from __future__ import annotations

import pickle
import signal
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from toy_problems import BinaryLogistic

import palmette.solvers
from palmette.contracts.solver import Progress, RunState
from palmette.objectives.problem import NEEDS
from palmette.solvers.driver import Driven, outcome
from palmette.solvers.registry import HOME, LOSSES, make_solver, serving, solver_class
from palmette.structures import Chain, Multiclass


@dataclass(kw_only=True)
class ScriptState(RunState):
    w: np.ndarray


@dataclass(frozen=True)
class Scripted(Driven):
    """Says what it is told to; its weights are the number of steps taken."""

    script: tuple = ()
    max_iter: int = 5
    tol: float = 0.01
    end: Progress | None = None
    limited: bool = False

    name: ClassVar[str] = "scripted"

    def begin(self, problem, w0):
        return ScriptState(w=np.zeros(2) if w0 is None else np.array(w0))

    def step(self, problem, run, last):
        run.n_iter, run.n_oracle, run.w = run.n_iter + 1, run.n_oracle + 1, run.w + 1.0
        return self.script[min(run.n_iter, len(self.script)) - 1]

    def weights(self, problem, run):
        return run.w

    def ends(self, problem, run):
        return self.limited

    def finish(self, problem, run, reason):
        return self.end


def problem():
    rng = np.random.default_rng(0)
    return BinaryLogistic(rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], 9))


FAR = Progress(1.0, 0.0)


@pytest.mark.parametrize(
    "script, converged, reason",
    [
        ([FAR, Progress(1.0, 0.991)], True, "gap"),
        ([FAR, Progress(1.0, 0.991, estimate="slow")], True, "gap"),
        ([Progress(1.0, 0.9001, estimate="slow")], True, "estimate: slow"),
        ([Progress(1.0, 0.8999, estimate="slow")], False, "estimate: slow"),
        ([Progress(1.0, -np.inf, estimate="slow")], True, "estimate: slow"),
        ([Progress(1.0, np.nan, estimate="slow")], True, "estimate: slow"),
        ([FAR], False, "max_iter"),
        ([Progress(1.0, 0.95)], False, "max_iter"),
        ([FAR, Progress(1.0, 0.0, failure="line search")], False, "line search"),
        ([Progress(1.0, 0.999, checked=False)] * 3 + [Progress(1.0, 0.999)], True, "gap"),
    ],
)
def test_one_rule_for_all(script, converged, reason):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = Scripted(tuple(script)).solve(problem())
    assert (result.converged, result.reason) == (converged, reason)
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(told) == (not converged)
    if told:
        assert f"({reason}) at objective 1" in told[0] and "Increase max_iter" in told[0]
    assert result.step == result.history[-1] and result.w[0] == result.step.n_iter


def test_a_last_look_may_close_the_gap_or_open_it():
    assert Scripted((FAR,), end=Progress(1.0, 0.995, passes=2.0)).solve(problem()).reason == "gap"
    with pytest.warns(ConvergenceWarning, match="maxima of the loss are not known"):
        opened = Scripted((Progress(1.0, 1.0),), end=Progress(1.2, 1.0)).solve(problem())
    assert opened.reason == "inexact maxima" and not opened.converged and opened.primal == 1.2
    counted = Scripted((FAR,), end=Progress(1.0, 0.995, passes=2.0)).solve(problem())
    assert counted.step.n_oracle == 7 and counted.state.n_oracle == 5


def test_inexact_maxima_end_a_run():
    with pytest.warns(ConvergenceWarning, match="scripted stopped after 1 iteration .*make them exact"):
        result = Scripted((FAR,), limited=True).solve(problem())
    assert result.reason == "inexact maxima" and result.step.n_iter == 1


def test_callbacks_see_steps_and_weights_and_may_stop():
    seen = []

    def look(step, weights):
        seen.append((step.n_iter, weights()[0]))

    look.sees_weights = True
    result = Scripted((FAR,), callbacks=(look, lambda step: step.n_iter == 3)).solve(problem())
    assert result.reason == "callback" and not result.converged and seen == [(1, 1.0), (2, 2.0), (3, 3.0)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_resuming_counts_on_and_leaves_the_state_as_it_was():
    first = Scripted((FAR,), max_iter=2).solve(problem())
    stored = pickle.dumps(first.state)
    for _ in range(2):
        rest = Scripted((FAR,), max_iter=2).solve(problem(), state=first.state)
        assert [step.n_iter for step in rest.history] == [1, 2, 3, 4] and rest.w[0] == 4.0
        seconds = [step.seconds for step in rest.history]
        assert seconds == sorted(seconds) and rest.history[:2] == first.history
    assert pickle.dumps(first.state) == stored


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_carries_the_result_so_far(at):
    class Stop(KeyboardInterrupt):
        """As the command line makes of SIGTERM."""

    def interrupt(step):
        if step.n_iter == at:
            raise Stop

    solver = Scripted((FAR,), callbacks=(interrupt,))
    with pytest.raises(Stop) as caught:
        solver.solve(problem())
    result, stop = outcome(solver.solve, problem())
    assert isinstance(stop, Stop) and result.reason == caught.value.result.reason == "interrupted"
    assert result.w[0] == at == result.step.n_iter and not result.converged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rest = Scripted((FAR,), max_iter=5 - at).solve(problem(), state=result.state)
    assert [step.n_iter for step in rest.history] == [1, 2, 3, 4, 5], "it goes on where it was stopped"


def test_an_interrupt_within_a_step_has_no_state():
    class Half(Scripted):
        def step(self, problem, run, last):
            if run.n_iter == 2:
                raise KeyboardInterrupt
            return super().step(problem, run, last)

    result, stop = outcome(Half((FAR,)).solve, problem())
    assert stop is not None and result.step.n_iter == 2 and result.state is None


def test_the_first_signal_waits_for_the_end_of_a_step_and_the_second_does_not():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored

    class Signalled(Scripted):
        def step(self, problem, run, last):
            done = super().step(problem, run, last)
            if run.n_iter == 3:
                for _ in range(n_signals):
                    signal.raise_signal(signal.SIGINT)
                run.w += 10.0
            return done

    try:
        n_signals = 1
        result, stop = outcome(Signalled((FAR,)).solve, problem())
        assert stop is not None and result.w[0] == 13.0 and result.step.n_iter == 3 == result.state.n_iter
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        n_signals = 2
        result, stop = outcome(Signalled((FAR,)).solve, problem())
        assert stop is not None and result.w[0] == 3.0 and result.state is None
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_the_first_step_has_the_start():
    class Stuck(Scripted):
        def step(self, problem, run, last):
            raise KeyboardInterrupt

    result, stop = outcome(Stuck((FAR,)).solve, problem(), np.array([3.0, 4.0]))
    assert stop is not None and result.step.n_iter == 0 and result.w.tolist() == [3.0, 4.0]


def test_settings_are_checked_by_name():
    for name, value in (("max_iter", 0), ("tol", -1.0), ("tol", np.nan), ("tol", "small")):
        with pytest.raises(ValueError, match=f"Scripted: {name} must be a number >"):
            Scripted((FAR,), **{name: value})


def test_needs_are_known_and_solvers_are_exported():
    for name in HOME:
        kind = solver_class(name)
        assert kind.name == name and issubclass(kind, Driven)
        assert set(kind().needs) <= {*NEEDS, "samples"}
        assert kind.__name__ in palmette.solvers.__all__
    for name in palmette.solvers.__all__:
        assert getattr(palmette.solvers, name) is not None


def test_the_solvers_of_a_loss_follow_from_their_needs():
    convex = {"bundle", "n_slack", "one_slack", "pegasos", "stochastic", "subgradient"}
    expected = {
        "log": {"auto", *convex, "dual", "lbfgs", "proximal"},
        "hinge": {"auto", *convex, "frank_wolfe", "linear_program", "multiclass_dual", "smo"},
        "rescaled hinge": {"auto", *convex, "linear_program"},
        "soft_hinge": {"auto", *convex, "lbfgs", "proximal"},
        "ramp": {"auto", "cccp", "pegasos", "stochastic", "subgradient"},
        "perceptron": {"arow", "passive_aggressive", "perceptron", "stochastic"},
        "Plackett-Luce": {"auto", *convex, "lbfgs", "proximal"},
    }
    assert set(expected) == set(LOSSES)
    for loss, names in expected.items():
        assert set(serving(loss, Multiclass())) == names
        assert set(serving(loss, Chain())) == names - {"multiclass_dual"}
    assert set(serving("kernel", Multiclass())) == expected["hinge"] - {"linear_program"} | {
        "kernel_frank_wolfe"
    }
    assert make_solver("bundle", tol=0.1, max_iter=7, random_state=0, callbacks=()).max_iter == 7
