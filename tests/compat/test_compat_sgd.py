"""``algorithm="l2sgd"`` of ``palmette.compat.CRF``: by the definition of its steps, and beside CRFsuite's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from palmette.compat import CRF
from palmette.compat.l2sgd import CRFsuiteSGD
from palmette.compat.training import train
from palmette.datasets import make_tagging

SETTINGS = [
    {},
    {"c2": 0.01},
    {"c2": 20.0},  # the first steps turn the weights around: their length times the penalty is more than 1
    {"c2": 5.0},  # for one sequence exactly 1, which CRFsuite counts as a failure
    {"calibration_eta": 1.0, "calibration_rate": 3.0},
    {"calibration_samples": 3, "calibration_candidates": 2, "calibration_max_trials": 6},
    {"calibration_max_trials": 1},
    {"calibration_candidates": 1},
    {"calibration_eta": 100.0, "calibration_max_trials": 4},
    {"period": 3, "delta": 1e-2},
    {"all_possible_states": True, "all_possible_transitions": True},
]


def one_sequence(seed):
    rng = np.random.default_rng(seed)
    x = [
        {f"f{k}": float(rng.uniform(-1.0, 2.0)) for k in rng.choice(6, 3, False)}
        | {"bias": 1, "word": f"w{rng.integers(3)}"}
        for _ in range(7)
    ]
    return x, ["ABC"[k] for k in rng.integers(0, 3, 7)]


def weights(crf):
    return crf.state_features_ | crf.transition_features_


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_steps_are_those_of_crfsuite_where_all_sequences_are_equal(settings, n):
    """No random order can make a difference there: calibration, every epoch, where it ends, and the weights kept."""
    pytest.importorskip("pycrfsuite")
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    settings = {"algorithm": "l2sgd", "max_iterations": 25} | settings
    for seed in range(2):
        x, y = one_sequence(seed)
        ours, theirs = (
            kind(**settings).fit([x] * n, [y] * n) for kind in (CRF, sklearn_crfsuite.CRF)
        )  # fmt: skip
        found, expected = (
            [entry["loss"] for entry in crf.training_log_.iterations] for crf in (ours, theirs)
        )
        np.testing.assert_allclose(found, expected, atol=2e-6)
        a, b = weights(ours), weights(theirs)
        assert max(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys()) < 2e-6


def reference(problem, l2, eta, orders):
    """Epochs of the steps as they are defined, on whole weight vectors; the objective of each, and the weights."""
    n, w, t, values, points = problem.n_samples, np.zeros(problem.n_params), 0, [], []
    for order in orders:
        met = 0.0
        for i in order:
            length = 1.0 / (1.0 / eta + l2 / n * t)
            w = (1.0 - length * l2 / n) * w
            value, counts, batch = problem.sample_loss(int(i), w)
            gradient = np.zeros(problem.n_params)
            problem.scorer.pull_back(counts, batch, gradient)
            w, met, t = w - length * gradient, met + value, t + 1
        values.append(met + 0.5 * l2 * float(w @ w))
        points.append(w)
    return np.array(values), points


@pytest.mark.parametrize("kind", ["names", "arrays"])
@pytest.mark.parametrize("l2", [0.0, 0.2, 30.0])
def test_the_compiled_loop_takes_the_steps_that_are_documented(monkeypatch, rng, kind, l2):
    X, Y = make_tagging(12, random_state=3)
    if kind == "arrays":
        X = [rng.normal(size=(len(y), 5)) * (rng.random((len(y), 5)) < 0.6) for y in Y]
    seen = []

    def solve(self, problem):
        seen.append((self, problem))
        return original(self, problem)

    original = CRFsuiteSGD.solve
    monkeypatch.setattr(CRFsuiteSGD, "solve", solve)
    crf = CRF("l2sgd", c2=l2 / 2, max_iterations=4, calibration_samples=8, calibration_max_trials=5).fit(X, Y)
    [(solver, problem)] = seen
    shuffled = np.random.default_rng(solver.random_state)
    trial = shuffled.permutation(12)[:8]
    # of the sizes tried: 0.1 and its multiples while they beat zero weights, then its fractions, four in all
    at_zero = sum(len(Y[i]) for i in trial) * math.log(len(crf.classes_))
    tried, eta, growing = {}, 0.1, True
    while len(tried) < 4:
        values, points = reference_on_part(problem, l2, eta, trial)
        tried[eta] = values
        if growing and not values < at_zero:
            growing, eta = False, 0.1
        eta = eta * 2.0 if growing else eta / 2.0
    best = min(tried, key=tried.get)
    values, points = reference(problem, l2, best, [shuffled.permutation(12) for _ in range(4)])
    np.testing.assert_allclose([e["loss"] for e in crf.training_log_.iterations], values, rtol=1e-9)
    kept = points[int(np.argmin(values))]
    np.testing.assert_allclose(crf.model_.coef_, kept, atol=1e-9)
    assert crf.model_.objective_ == pytest.approx(problem.loss(kept)[0] + 0.5 * l2 * kept @ kept, rel=1e-9)
    last = 1.0 / (1.0 / best + l2 / 12 * 47)
    assert crf.training_log_.last_iteration["eta"] == pytest.approx(last)


def reference_on_part(problem, l2, eta, order):
    """One epoch on some samples; their share of the penalty counts."""
    values, points = reference(problem, l2, eta, [order])
    w = points[0]
    return values[0] - 0.5 * l2 * (1.0 - len(order) / problem.n_samples) * float(w @ w), points


@pytest.mark.parametrize("c2", [0.05, 0.5])
def test_it_comes_near_the_optimum(c2):
    X, Y = make_tagging(80, random_state=0)
    best = CRF(c2=c2).fit(X, Y).model_.objective_
    sgd = CRF("l2sgd", c2=c2, max_iterations=400).fit(X, Y)
    assert best <= sgd.model_.objective_ * (1 + 1e-6)
    assert sgd.model_.objective_ == pytest.approx(best, rel=1e-2)
    assert sgd.training_log_.reason in ("estimate: relative decrease", "max_iter")


def test_numbers_that_grow_without_bound_are_an_error():
    X, Y = [[{"a": 1.0}, {"b": 1.0}, {"a": -1.0}]], [["A", "B", "A"]]
    with pytest.raises(OverflowError, match=r"l2sgd: the loss of epoch \d+ is .* calibration_eta"):
        CRF("l2sgd", calibration_eta=1e300).fit(X, Y)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_penalties_are_crfsuites_whatever_palmettes_learners_do(monkeypatch, algorithm):
    """No default of ``palmette.CRF`` reaches the objective."""
    from palmette.compat.parameters import resolve
    from palmette.estimators.base import StructuredEstimator

    X, Y = make_tagging(10, random_state=0)
    settings = resolve(algorithm, {"max_iterations": 3})
    expected = train(*settings, X, Y, None, None, False)[0].coef_

    def regularizer(self, scorer):
        raise AssertionError("the defaults of palmette.CRF were asked for")

    monkeypatch.setattr(StructuredEstimator, "_regularizer", regularizer)
    np.testing.assert_array_equal(train(*settings, X, Y, None, None, False)[0].coef_, expected)
