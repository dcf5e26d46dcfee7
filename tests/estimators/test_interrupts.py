"""Ctrl-C keeps the best weights so far: the model is fitted, and KeyboardInterrupt is raised again."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from palmette import CRF, CRFCV, SSVM, Chain, Multiclass, Perceptron, PlackettLuce, Ranking
from palmette.datasets import make_chains, make_tagging
from palmette.estimators.base import StructuredEstimator
from palmette.kernels import RBF, Nystroem
from palmette.solvers.driver import outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Interrupt:
    """Raises KeyboardInterrupt at the k-th step, as Ctrl-C does."""

    def __init__(self, k):
        self.k, self.seen = k, 0

    def __call__(self, step):
        self.seen += 1
        if self.seen == self.k:
            raise KeyboardInterrupt


def points(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    return X, (X[:, 0] + rng.normal(size=60) > 0).astype(int) + (X[:, 1] > 0.5)


def chains():
    return make_chains(30, random_state=0)


def queries():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 3)) for _ in range(20)]
    return X, [np.digitize(x[:, 0] + rng.normal(size=5), [-0.5, 0.5]) for x in X]


SMOOTH = ("lbfgs", "proximal", "dual", "bundle", "stochastic", "pegasos")
HINGE = ("bundle", "one_slack", "n_slack", "frank_wolfe", "smo", "subgradient", "pegasos", "stochastic")
LEARNERS = {
    **{f"crf-{name}": (CRF(Chain(), l2=1.0, tol=1e-12, solver=name), chains) for name in SMOOTH},
    **{f"ssvm-{name}": (SSVM(Chain(), l2=1.0, tol=1e-12, solver=name), chains) for name in HINGE},
    "multiclass_dual": (SSVM(Multiclass(), l2=1.0, tol=1e-12, solver="multiclass_dual"), points),
    "linear_program": (SSVM(Multiclass(), l2=0.0, l1=0.5, tol=1e-12, solver="linear_program"), points),
    "kernel": (SSVM(Multiclass(), l2=1.0, tol=1e-12, kernel=RBF(1.0)), points),
    "factored": (SSVM(Multiclass(), l2=1.0, tol=1e-12, kernel=RBF(1.0), loss="ramp"), points),
    "mapped": (CRF(Multiclass(), l2=1.0, tol=1e-12, kernel=Nystroem(RBF(1.0), n_components=20)), points),
    "ramp": (SSVM(Chain(), l2=1.0, tol=1e-12, loss="ramp"), chains),
    "ramp-restarted": (SSVM(Multiclass(), l2=1.0, tol=1e-12, loss="ramp", solver="pegasos"), points),
    "perceptron": (Perceptron(Chain(), max_iter=50), chains),
    "passive_aggressive": (Perceptron(Chain(), max_iter=50, solver="passive_aggressive"), chains),
    "arow": (Perceptron(Chain(), max_iter=50, solver="arow"), chains),
    "plackett-luce": (PlackettLuce(l2=1.0, tol=1e-12), queries),
    "ranking": (SSVM(Ranking(), l2=1.0, tol=1e-12), queries),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupted_fit_keeps_the_best_weights_so_far(name):
    model, data = LEARNERS[name]
    X, y = data()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[Interrupt(3)]).fit(X, y)
    result = model.result_
    assert result.reason == "interrupted" and not result.converged and len(result.history) == 3
    assert np.all(np.isfinite(model.coef_)) and np.any(model.coef_)
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("solver", ["lbfgs", "bundle", "stochastic", "perceptron"])
def test_weights_are_those_of_a_run_that_a_callback_stops(solver):
    X, y = chains()
    learner = Perceptron(Chain()) if solver == "perceptron" else CRF(Chain(), l2=1.0, tol=1e-9, solver=solver)
    stopped = learner.set_params(callbacks=[lambda step: step.n_iter == 3]).fit(X, y).coef_
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(callbacks=[Interrupt(3)]).fit(X, y)
    np.testing.assert_array_equal(learner.coef_, stopped)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("kernel", "factored", "mapped")])
def test_an_interrupted_fit_goes_on_like_one_that_ended_by_max_iter(name):
    model, data = LEARNERS[name]
    X, y = data()
    seen = {}

    def solve(self, solver, problem, start):
        first = replace(solver, callbacks=(), max_iter=3).solve(problem)
        stopped, stop = outcome(replace(solver, callbacks=(Interrupt(3),)).solve, problem)
        assert stop is not None and stopped.state is not None
        short = replace(solver, callbacks=(), max_iter=3)
        seen["rest"] = [short.solve(problem, state=result.state) for result in (first, stopped)]
        return first

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StructuredEstimator, "_solve", solve)
        model.set_params(callbacks=None).fit(X, y)
    first, stopped = seen["rest"]
    if name not in ("ramp", "ranking"):  # whose rounds count iterations of other solvers
        assert first.step.n_iter == stopped.step.n_iter > 3
        np.testing.assert_array_equal(stopped.w, first.w)


def test_a_search_stops_with_the_best_penalty_so_far():
    X, y = chains()
    calls = []

    def scoring(model, X, y):
        calls.append(model.l2)
        if len(calls) == 5:  # two folds: the third penalty
            raise KeyboardInterrupt
        return model.l2 == 1.0

    model = CRFCV(Chain(), l2s=[0.1, 1.0, 10.0], cv=2, scoring=scoring)
    with (
        pytest.warns(UserWarning, match=r"interrupted after 2 penalties. .* l2=1.0; interrupt again"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert calls == [10.0, 10.0, 1.0, 1.0, 0.1]
    assert model.l2_ == 1.0 and model.l2s_.tolist() == [10.0, 1.0] and model.cv_scores_.shape == (2, 2)
    plain = CRF(Chain(), **model.best_params_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_a_search_stops_and_leaves_nothing_before_its_first_penalty():
    X, y = chains()
    model = CRFCV(Chain(), l2s=[0.1, 1.0], cv=2, tol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[Interrupt(2)]).fit(X, y)
    assert model.result_.reason == "interrupted" and model.l2_ in (0.1, 1.0) and model.predict(X)

    class Stopping(Chain):
        """Chains whose inference is interrupted in the search."""

        def best(self, theta, *, cost=None, within=None):
            raise KeyboardInterrupt

    unfitted = CRFCV(Stopping(), l2s=[0.1, 1.0], cv=2)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, y)
    assert not hasattr(unfitted, "coef_")


def test_grid_searches_stop():
    from sklearn.model_selection import GridSearchCV

    X, y = points()
    interrupt = Interrupt(5)

    def callback(step):  # which clones share
        interrupt(step)

    search = GridSearchCV(CRF(Multiclass(), callbacks=[callback]), {"l2": [0.1, 1.0, 10.0]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert interrupt.seen == 5 and not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_the_interface_of_crfsuite_keeps_them_too(algorithm, monkeypatch):
    from palmette.compat import CRF as CRFsuite
    from palmette.compat import training

    interrupt, told = Interrupt(2), training.Keeper.__call__

    def call(self, step, *weights):
        told(self, step, *weights)
        interrupt(step)

    monkeypatch.setattr(training.Keeper, "__call__", call)
    X, y = make_tagging(20, random_state=0)
    crf = CRFsuite(algorithm=algorithm, max_iterations=20)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, y)
    assert len(crf.predict(X)) == len(X) and crf.training_log_.reason == "interrupted"


def test_a_real_signal_leaves_a_fitted_model():
    """SIGINT to the process itself, in the middle of a fit of many iterations."""
    code = """
        import os, signal, threading
        from palmette import CRF, Chain
        from palmette.datasets import make_chains, make_tagging
        X, y = make_chains(50, random_state=0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        seen = []
        def callback(step):
            seen.append(step)
            if step.n_iter == 2:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        model = CRF(Chain(), l2=1e-6, tol=0.0, max_iter=1_000_000, solver="stochastic", callbacks=[callback])
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print(model.result_.reason, model.n_iter_ == len(seen), bool(model.coef_.any()), len(model.predict(X)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == ["interrupted", "True", "True", "50"], done.stderr


def test_dual_variables_of_half_a_visit_prove_nothing(monkeypatch):
    """Ctrl-C may come where mass was added to one labeling and not yet taken from another."""
    from palmette.solvers import kernel_frank_wolfe

    X, y = points()
    optimum = SSVM(Multiclass(), l2=1.0, tol=1e-4, kernel=RBF(1.0)).fit(X, y).objective_
    visit_all = kernel_frank_wolfe.visit_all

    def interrupted(problem, active, *settings):
        visit_all(problem, active, *settings)
        if active.epoch < 2:
            return 0
        active.loss += 10.0
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel_frank_wolfe, "visit_all", interrupted)
    model = SSVM(Multiclass(), l2=1.0, tol=1e-4, kernel=RBF(1.0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.result_.lower <= optimum <= model.objective_
