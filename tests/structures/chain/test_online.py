"""Passive-aggressive and AROW: their defining properties, and compiled loop and generic driver agree."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import KINDS, make_problem

import palmette
from palmette import CRF, Chain, Encoding, Multiclass, Perceptron
from palmette.datasets import make_tagging
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.online_pass import GenericOnline, OnlineState, online_pass
from palmette.solvers import AROW, PassiveAggressive

RULES = [
    PassiveAggressive(variant=0),
    PassiveAggressive(variant=1, C=0.05),
    PassiveAggressive(variant=2, C=0.3, error_sensitive=False),
    AROW(variance=0.5, gamma=2.0),
]


def new_state(solver, problem, rng=None):
    n = problem.n_params
    w = np.zeros(n) if rng is None else rng.normal(size=n)
    return OnlineState(w, np.zeros(n), solver._variance(n))


def mistaken(problem, w):
    """Numbers of the samples that ``w`` predicts wrongly, with margin, difference of counts and number of errors."""
    for i in range(problem.n_samples):
        value, counts, batch = problem.sample_loss(i, w)
        delta = np.zeros(problem.n_params)
        problem.scorer.pull_back(counts, batch, delta)
        weight = problem.samples.weight[i]
        n_errors = round(np.abs(counts.node).sum() / 2 / weight)
        if n_errors:
            yield i, -value, -delta / weight, n_errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
@pytest.mark.parametrize("solver", RULES)
def test_steps_are_the_same_compiled_and_generic(rng, kind, structure, solver):
    with make_problem(rng, kind, structure, "perceptron") as problem:
        assert find("online", problem).compiled
        one, two = new_state(solver, problem), new_state(solver, problem)
        for _ in range(3):
            order = rng.permutation(problem.n_samples)
            found = online_pass(problem, one, order, *solver._rule())
            expected = GenericOnline(problem).run(two, order, *solver._rule())
            two.age += len(order)
            assert found == (pytest.approx(expected[0], rel=1e-10), expected[1])
        for name in ("w", "drift", "variance", "age"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)
        assert np.any(one.w != 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error_sensitive", [True, False])
def test_an_unclipped_step_meets_the_margin_with_equality(rng, kind, error_sensitive):
    with make_problem(rng, kind, surrogate="perceptron") as problem:
        start = new_state(PassiveAggressive(), problem, rng)
        tried = list(mistaken(problem, start.w))
        assert tried
        for i, margin, delta, n_errors in tried:
            wanted = np.sqrt(n_errors) if error_sensitive else 1.0
            assert margin == pytest.approx(start.w @ delta, abs=1e-10)
            for variant, C in ((0, 1.0), (1, 1e9), (1, 1e-9), (2, 0.7)):
                solver = PassiveAggressive(variant=variant, C=C, error_sensitive=error_sensitive)
                state = start.copy()
                loss, n_wrong = online_pass(problem, state, np.array([i]), *solver._rule())
                step = state.w - start.w
                own = C * problem.samples.weight[i]
                assert n_wrong == 1
                assert loss == pytest.approx(problem.samples.weight[i] * (wanted - margin))
                size = step @ delta / (delta @ delta)
                np.testing.assert_allclose(step, size * delta, atol=1e-10)  # the nearest such point
                if variant == 0 or C == 1e9:
                    assert state.w @ delta == pytest.approx(wanted)
                elif variant == 1:
                    assert size == pytest.approx(own)  # clipped
                else:  # the multiplier of a squared slack is 2 C slack
                    assert size == pytest.approx(2 * own * (wanted - state.w @ delta))


@pytest.mark.parametrize("kind", KINDS)
def test_arow_minimises_its_objective_and_confidence_never_shrinks(rng, kind):
    solver = AROW(variance=0.8, gamma=1.7)
    with make_problem(rng, kind, surrogate="perceptron") as problem:
        state = new_state(solver, problem, rng)
        state.variance[:] = rng.uniform(0.1, 1.0, problem.n_params)
        for i, _, delta, n_errors in mistaken(problem, state.w.copy()):
            after = state.copy()
            online_pass(problem, after, np.array([i]), *solver._rule())
            gamma = solver.gamma / problem.samples.weight[i]
            # w minimises (w - w0)' V^-1 (w - w0) / 2 + (errors - <w, delta>)^2 / (2 gamma): its gradient is zero
            gradient = (after.w - state.w) / state.variance - (n_errors - after.w @ delta) * delta / gamma
            np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
            np.testing.assert_allclose(1 / after.variance, 1 / state.variance + delta**2 / gamma)
        before = state.variance.copy()
        for _ in range(4):
            online_pass(problem, state, np.arange(problem.n_samples), *solver._rule())
            assert np.all(state.variance <= before) and np.all(state.variance > 0)
            before = state.variance.copy()


def test_a_tiny_c_makes_a_perceptron(rng):
    """Every step is then clipped to C, and predictions do not depend on the scale of the weights."""
    from palmette.structures.chain.kernels.online import PERCEPTRON

    with make_problem(rng, "sparse", surrogate="perceptron") as problem:
        one = new_state(PassiveAggressive(), problem)
        two = one.copy()
        C = 2.0**-60
        for _ in range(3):
            online_pass(problem, one, np.arange(problem.n_samples), *PassiveAggressive(C=C)._rule())
            online_pass(problem, two, np.arange(problem.n_samples), PERCEPTRON, 1.0, False)
        np.testing.assert_array_equal(one.w / C, two.w)
        np.testing.assert_array_equal(one.drift / C, two.drift)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), solver=st.sampled_from(RULES))
def test_separable_data_end_without_mistakes(seed, solver):
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 6, (5, 4))
    X = [[[f"w{k}", f"r{rng.integers(3)}"] for k in row] for row in words]
    Y = [["abc"[k % 3] for k in row] for row in words]
    model = Perceptron(Chain(), solver=solver.__class__(**{**vars(solver), "max_iter": 200})).fit(X, Y)
    assert model.result_.reason == "estimate: no mistakes" and model.result_.converged
    assert model.result_.history[-1].primal == 0.0
    assert np.isnan(model.result_.gap)
    if not solver.averaged:
        assert model.score(X, Y) == 1.0


def test_the_average_is_that_of_all_epochs_even_when_idle_ones_are_skipped(rng):
    with make_problem(rng, "names", Multiclass(), "perceptron") as problem:
        solver = PassiveAggressive(max_iter=40, variant=0)
        result = solver.solve(problem)
        w, total, n = np.zeros(problem.n_params), np.zeros(problem.n_params), 1
        state = new_state(solver, problem)
        for epoch in range(40):
            order = np.random.default_rng([0, epoch]).permutation(problem.n_samples)
            for i in order:
                online_pass(problem, state, np.array([i]), *solver._rule())
                w = state.w.copy()
                total, n = total + w, n + 1
        np.testing.assert_allclose(result.w, total / n, atol=1e-9)


def test_a_run_can_be_resumed(rng):
    for solver in RULES:
        with make_problem(rng, "dense", surrogate="perceptron") as problem:
            kind, options = type(solver), vars(solver)
            whole = kind(**{**options, "max_iter": 4}).solve(problem)
            half = kind(**{**options, "max_iter": 2})
            first = half.solve(problem)
            second = half.solve(problem, state=first.state)
            np.testing.assert_array_equal(second.w, whole.w)
            assert [s.primal for s in second.history] == [s.primal for s in whole.history]


def test_stops_below_the_mean_loss_or_by_callback():
    X, Y = make_tagging(60, random_state=0)
    losses = [s.primal for s in Perceptron(Chain(), solver="arow", max_iter=6).fit(X, Y).result_.history]
    bound = losses[1] / len(X) * 1.0001
    model = Perceptron(Chain(), solver=AROW(tol=bound)).fit(X, Y)
    assert model.result_.reason == "estimate: mean loss" and len(model.result_.history) == 2
    model = Perceptron(Chain(), solver="arow", callbacks=[lambda step: step.n_iter == 1]).fit(X, Y)
    assert model.result_.reason == "callback" and model.n_iter_ == 1


@pytest.mark.parametrize("solver", ["passive_aggressive", "arow"])
def test_learners_by_name_learn_and_are_saved(solver):
    X, Y = make_tagging(150, random_state=0)
    model = Perceptron(Chain(), solver=solver).fit(X[:100], Y[:100])
    plain = Perceptron(Chain()).fit(X[:100], Y[:100])
    assert model.score(X[100:], Y[100:]) > plain.score(X[100:], Y[100:]) - 0.05
    file = io.BytesIO()
    model.save(file)
    assert palmette.load(file).predict(X[100:]) == model.predict(X[100:])


def test_solver_objects_are_saved_with_their_settings():
    X, Y = make_tagging(20, random_state=0)
    file = io.BytesIO()
    Perceptron(Chain(), solver=PassiveAggressive(C=0.25, variant=2)).fit(X, Y).save(file)
    assert palmette.load(file).solver == PassiveAggressive(C=0.25, variant=2)


def test_refusals():
    X, Y = make_tagging(20, random_state=0)
    with pytest.raises(MissingCapability, match="Perceptron learner"):
        CRF(Chain(), solver="arow").fit(X, Y)
    with pytest.raises(MissingCapability, match="partial_fit needs solver='perceptron', got 'arow'"):
        Perceptron(Chain(), solver="arow").partial_fit(X, Y, classes=["a"])
    for make, message in [
        (lambda: PassiveAggressive(C=0), "C must be a number > 0, got 0"),
        (lambda: PassiveAggressive(variant=3), "variant must be 0, 1 or 2, got 3"),
        (lambda: AROW(gamma=-1.0), "gamma must be a number > 0"),
        (lambda: AROW(variance=0.0), "variance must be a number > 0"),
        (lambda: AROW(max_iter=0), "max_iter must be a number > 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_labels_without_a_common_weight_are_no_reason_to_divide_by_zero():
    """Two positions of one sample with the same features and different labels: their counts cancel."""
    model = Perceptron(
        Chain(),
        solver=PassiveAggressive(variant=0),
        encoding=Encoding(states="observed", transitions="observed"),
    ).fit([[["x"], ["x"]]], [["a", "b"]])
    assert np.all(np.isfinite(model.coef_))
