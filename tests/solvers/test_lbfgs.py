"""L-BFGS and OWL-QN: optima, certificates, stopping, and runs that go on where they stopped."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from toy_problems import BinaryLogistic, MulticlassHinge, MulticlassLogistic, make, objective, penalty

from palmette.errors import MissingCapability
from palmette.solvers.lbfgs import LBFGS, SLOW
from palmette.solvers.line_search import Point, strong_wolfe
from palmette.solvers.quasi_newton import InverseHessian

seeds = st.integers(0, 2**32 - 1)


def quietly(solver, *args, **kwargs):
    with pytest.warns(ConvergenceWarning):
        return solver.solve(*args, **kwargs)


# ---------------------------------------------------------------------------------------------------- optima


@pytest.mark.parametrize("kind", [BinaryLogistic, MulticlassLogistic])
def test_same_optimum_as_logistic_regression(rng, kind):
    problem = make(kind, rng, n=80, l2=0.5)
    model = LogisticRegression(C=1 / 0.5, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(
        problem.X, problem.y
    )
    result = LBFGS(tol=0.0).solve(problem)
    np.testing.assert_allclose(result.w, model.coef_.T.ravel(), atol=1e-5)
    assert result.primal <= objective(problem, model.coef_.T.ravel()) + 1e-12


@given(seed=seeds, l1=st.sampled_from([0.0, 0.3, 3.0]), l2=st.sampled_from([0.0, 0.01, 1.0]))
def test_stationary_and_certified(seed, l1, l2):
    rng = np.random.default_rng(seed)
    problem = make(MulticlassLogistic, rng, l2=l2 if l1 or l2 else 0.1, l1=l1)
    result = LBFGS(tol=0.0, max_iter=5000).solve(problem)
    assert result.converged
    left = problem.regularizer.min_norm_subgradient(result.w, problem.loss(result.w)[1])
    start = problem.regularizer.min_norm_subgradient(0 * left, problem.loss(0 * left)[1])
    assert np.linalg.norm(left) <= 1e-4 * np.linalg.norm(start)
    assert result.primal == pytest.approx(objective(problem, result.w), rel=1e-12)
    assert result.lower <= result.primal * (1 + 1e-12)
    if l2:
        assert result.gap <= 1e-7 * result.primal


def test_strong_l1_gives_zero_and_weak_l1_a_few_zeros(rng):
    problem = make(BinaryLogistic, rng, n=60, n_features=20, l2=0.0, l1=1.0)
    most = np.abs(problem.loss(np.zeros(20))[1]).max()
    problem.regularizer = penalty(20, 0.0, 1.001 * most)
    zero = LBFGS().solve(problem)
    assert not zero.w.any() and zero.reason == "gap"
    problem.regularizer = penalty(20, 0.0, 0.05 * most)
    some = LBFGS(tol=1e-8).solve(problem)
    assert 0 < np.count_nonzero(some.w == 0.0) < 20


def test_blocks_with_penalties_of_their_own(rng):
    """An unpenalised, an L2 and an L1 block: stationary, sparse only where L1 is, and no bound."""
    l2, l1 = np.repeat([0.0, 1.0, 0.0], 4), np.repeat([0.0, 0.0, 4.0], 4)
    problem = make(BinaryLogistic, rng, n=200, n_features=12, l2=l2, l1=l1)
    result = LBFGS(tol=1e-10).solve(problem)
    left = problem.regularizer.min_norm_subgradient(result.w, problem.loss(result.w)[1])
    assert np.abs(left).max() < 1e-2 and np.count_nonzero(result.w[:8]) == 8
    assert result.reason in (f"estimate: {SLOW}", "estimate: machine precision")
    assert np.isnan(result.gap) and result.lower == -np.inf


def test_huge_and_tiny_gradients(rng):
    for factor in (1e-6, 1e6):
        problem = make(BinaryLogistic, rng, l2=factor**2)
        problem.X *= factor
        result = LBFGS(tol=1e-9).solve(problem)
        assert result.converged and result.gap <= 1e-6 * result.primal


def test_few_evaluations_an_iteration(rng):
    problem = make(MulticlassLogistic, rng, n=300, n_features=30, l2=0.1)
    result = LBFGS(tol=1e-5).solve(problem)
    assert result.step.n_oracle == problem.n_calls <= 1.15 * result.step.n_iter


# -------------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_tol_is_relative_suboptimality(rng, tol, l1):
    problem = make(MulticlassLogistic, rng, n=100, l2=0.3, l1=l1)
    optimum = LBFGS(tol=0.0).solve(problem).primal
    result = LBFGS(tol=tol).solve(problem)
    assert result.converged and result.reason in ("gap", f"estimate: {SLOW}")
    assert result.primal - optimum <= 3 * tol * optimum
    assert result.lower <= optimum * (1 + 1e-12)
    if result.reason == "gap":
        assert result.gap <= tol * result.primal


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_history(rng, l1):
    problem = make(MulticlassLogistic, rng, l2=0.1, l1=l1)
    result = LBFGS(tol=1e-8).solve(problem)
    primals, lowers = [s.primal for s in result.history], [s.lower for s in result.history]
    assert [s.n_iter for s in result.history] == list(range(1, len(result.history) + 1))
    assert primals == sorted(primals, reverse=True) and lowers == sorted(lowers)
    assert lowers[8] >= 0.0 and np.isfinite(result.step.gap)
    assert result.step == result.history[-1] and result.step.n_oracle == problem.n_calls


def test_without_tolerance_it_goes_to_machine_precision(rng):
    problem = make(BinaryLogistic, rng)
    result = LBFGS(tol=0.0).solve(problem)
    assert result.reason in ("estimate: machine precision", "gap") and result.converged
    assert abs(result.gap) <= 1e-13 * result.primal
    assert LBFGS(tol=0.0).solve(problem, w0=result.w).step.n_iter <= 3


def test_max_iter_warns_with_gap_and_remedy(rng):
    problem = make(MulticlassLogistic, rng, l2=0.01)
    with pytest.warns(
        ConvergenceWarning, match=r"lbfgs stopped after 3 iterations \(max_iter\).*gap.*Increase"
    ):
        result = LBFGS(max_iter=3, tol=1e-9).solve(problem)
    assert not result.converged and result.reason == "max_iter" and result.step.n_iter == 3


def test_callback_stops(rng):
    seen = []
    solver = LBFGS(tol=1e-9, callbacks=[lambda step: seen.append(step), lambda step: step.n_iter == 4])
    result = solver.solve(make(MulticlassLogistic, rng, l2=0.01))
    assert result.reason == "callback" and not result.converged and result.step.n_iter == 4
    assert [s.n_iter for s in seen] == [1, 2, 3, 4] and np.isfinite(result.gap)


def test_start_at_the_optimum_is_noticed(rng):
    problem = make(BinaryLogistic, rng)
    w = LBFGS(tol=1e-8).solve(problem).w
    problem.n_calls = 0
    result = LBFGS(tol=1e-4).solve(problem, w0=w)
    assert result.reason == "gap" and result.step.n_iter == 0 and problem.n_calls == 1
    np.testing.assert_array_equal(result.w, w)
    assert result.w is not w


def test_a_wrong_gradient_is_not_called_converged(rng):
    problem = make(BinaryLogistic, rng, l2=1e-3)
    loss = problem.loss
    problem.loss = lambda w: (loss(w)[0], -loss(w)[1])
    with pytest.warns(ConvergenceWarning, match=r"\(line search\).*Check the gradient"):
        result = LBFGS(tol=1e-6).solve(problem, w0=np.full(6, 0.1))
    assert result.reason == "line search" and not result.converged


def test_rounded_values_are_not_taken_for_a_wrong_gradient(rng):
    problem = make(MulticlassLogistic, rng, l2=0.1)
    loss = problem.loss
    problem.loss = lambda w: (float(np.float32(loss(w)[0])), loss(w)[1])
    result = LBFGS(tol=0.0).solve(problem)
    assert result.converged and result.reason in ("estimate: machine precision", "gap")


def test_steps_into_overflow_are_shortened(rng):
    problem = make(BinaryLogistic, rng)
    loss = problem.loss
    problem.loss = lambda w: loss(w) if np.abs(w).max() < 0.3 else (np.nan, np.full(6, np.nan))
    problem.X *= 100.0
    result = quietly(LBFGS(max_iter=5, tol=0.0), problem)
    assert result.primal < objective(problem, np.zeros(6)) and np.all(np.isfinite(result.w))


# -------------------------------------------------------------------------------------------------- resuming


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_ten_and_ten_iterations_are_twenty(rng, l1):
    problem = make(MulticlassLogistic, rng, n=100, n_features=12, l2=0.01, l1=l1)
    ten = LBFGS(max_iter=10, tol=0.0)
    first = quietly(ten, problem)
    stored = pickle.dumps(first.state)
    second = quietly(ten, problem, state=pickle.loads(stored))
    twenty = quietly(LBFGS(max_iter=20, tol=0.0), problem)
    np.testing.assert_array_equal(second.w, twenty.w)
    same = [(s.n_iter, s.n_oracle, s.primal) for s in second.history]
    assert same == [(s.n_iter, s.n_oracle, s.primal) for s in twenty.history]
    assert second.lower == twenty.lower
    again = quietly(ten, problem, state=first.state)
    np.testing.assert_array_equal(again.w, second.w)
    assert pickle.dumps(first.state) == stored, "a state that has been resumed is unchanged"


def test_a_converged_run_goes_on_with_a_smaller_tol(rng):
    problem = make(MulticlassLogistic, rng, l2=0.01)
    rough = LBFGS(tol=1e-2).solve(problem)
    fine = LBFGS(tol=1e-9).solve(problem, state=rough.state)
    assert fine.step.n_iter > rough.step.n_iter and fine.primal < rough.primal
    assert fine.history[: len(rough.history)] == rough.history


def test_a_state_of_another_problem_is_refused(rng):
    problem = make(BinaryLogistic, rng)
    state = LBFGS().solve(problem).state
    problem.regularizer = penalty(6, 2.0, 0.0)
    with pytest.raises(ValueError, match=r"other weights or penalties.*w0=result\.w"):
        LBFGS().solve(problem, state=state)


# ------------------------------------------------------------------------------------------------- bad input


def test_bad_input(rng):
    problem = make(BinaryLogistic, rng)
    with pytest.raises(
        MissingCapability, match=r"lbfgs needs a smooth loss, and MulticlassHinge is not.*'bundle'"
    ):
        LBFGS().solve(make(MulticlassHinge, rng))
    with pytest.raises(ValueError, match=r"w0 has shape \(5,\), but the problem has 6 weights"):
        LBFGS().solve(problem, w0=np.zeros(5))
    with pytest.raises(ValueError, match=r"w0\[2\] is nan"):
        LBFGS().solve(problem, w0=np.array([0.0, 0.0, np.nan, 0.0, 0.0, 0.0]))
    for name, value in (("memory", 0), ("max_iter", 0), ("tol", -1.0), ("tol", np.nan)):
        with pytest.raises(ValueError, match=f"LBFGS: {name} must be a number >"):
            LBFGS(**{name: value})
    problem.X[0, 0] = np.inf
    with (
        pytest.raises(ValueError, match="objective is nan at the first point"),
        np.errstate(invalid="ignore"),
    ):
        LBFGS().solve(problem)


# -------------------------------------------------------------------------------------------------- its parts


@given(seeds)
def test_compact_form_is_the_two_loop_recursion(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 8))
    A = A @ A.T + np.eye(8)
    estimate, pairs, zero = InverseHessian(8, memory=4), [], np.zeros(8)
    for _ in range(rng.integers(1, 10)):
        s = rng.normal(size=8)
        assert estimate.update(s, zero, A @ s, zero)
        pairs = [*pairs, (s, A @ s)][-4:]
    g = rng.normal(size=8)
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), share in zip(pairs, reversed(shares)):
        q += (share - y @ q / (s @ y)) * s
    np.testing.assert_allclose(estimate.times(g), q, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(estimate.times(pairs[-1][1]), pairs[-1][0], rtol=1e-7, atol=1e-9)


def test_without_curvature_the_memory_is_cleared(rng):
    estimate, g = InverseHessian(3, memory=4), rng.normal(size=3)
    one, zero = np.ones(3), np.zeros(3)
    assert estimate.update(one, zero, one, zero) and len(estimate) == 1
    assert not estimate.update(one, zero, zero, one) and len(estimate) == 0
    np.testing.assert_array_equal(estimate.times(g), g)


@given(
    bend=st.sampled_from(
        [lambda t: (t**2, 2 * t), lambda t: (t**4, 4 * t**3), lambda t: (np.cosh(t), np.sinh(t))]
    ),
    minimum=st.floats(1e-3, 30.0),
    step=st.floats(1e-3, 100.0),
)
def test_line_search_meets_the_strong_wolfe_conditions(bend, minimum, step):
    def at(t):
        return Point(t, *map(float, bend(t - minimum)))

    start = at(0.0)
    point, n = strong_wolfe(at, start, step)
    assert point.value <= start.value + 1e-4 * point.step * start.slope
    assert abs(point.slope) <= 0.9 * abs(start.slope) and n <= 20


def test_line_search_without_any_decrease():
    assert strong_wolfe(lambda t: Point(t, 1.0 + t, 1.0), Point(0.0, 1.0, -1.0), 1.0)[0] is None
