"""SOSC: the ball against a general convex solver, its certificate, paths, weights; the box by its own conditions."""

from __future__ import annotations

import numpy as np
import pytest
from convex_regression import least_risk
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.regression import BallPath, Weighted, box_constrained
from palmette.regression.anderson import Anderson
from palmette.regression.box_newton import proximal_newton
from palmette.regression.box_problem import BoxProblem
from palmette.regression.secular import secular_root
from palmette.regression.spectra import Spectra

KINDS = ("full", "rank two", "ill-conditioned", "zero rows")


def problem(kind, m, seed, q=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, 2 if kind == "rank two" else 2 * m))
    gram = x @ x.T
    if kind == "ill-conditioned":
        gram = np.exp(-0.02 * np.sum((x[:, None, :2] - x[None, :, :2]) ** 2, axis=-1))
    if kind == "zero rows":
        gram[:2], gram[:, :2] = 0.0, 0.0
    rows = np.eye(q)[rng.integers(0, q, m)] if seed % 2 else rng.normal(size=(m, q))
    root = rng.normal(size=(q, q))
    metric = root @ root.T if seed % 3 == 0 else None
    return gram, rows, metric


def features(rows, metric):
    return rows if metric is None else rows @ np.linalg.cholesky(metric)


def output_gram(rows, metric):
    return features(rows, metric) @ features(rows, metric).T


def coefficients(path, b):
    """``A`` of a path, by its answers to unit vectors."""
    return path.coefficients(b, np.eye(len(path.gram))).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_ball_is_the_optimum_of_a_general_solver(kind, seed):
    gram, rows, metric = problem(kind, 6, seed)
    path = BallPath(gram, rows, metric)
    free = path.at_multiplier(0.0)
    for share in (2.0, 0.3, 0.01):
        radius = share * min(free.radius, 10.0)  # the other solver loses digits where coefficients are large
        found = path.at_radius(radius)
        expected = least_risk(gram, features(rows, metric), radius=radius)
        assert abs(found.objective - expected) <= 1e-8 * max(1.0, expected)
        assert (found.multiplier > 0.0) == (radius < free.radius)


@pytest.mark.parametrize("kind", KINDS[:2] + KINDS[3:])
@pytest.mark.parametrize("q", [2, 5, 30])
@given(seed=st.integers(0, 100), share=st.floats(-6.0, 0.5))
@settings(max_examples=15)
def test_ball_satisfies_its_conditions(kind, q, seed, share):
    gram, rows, metric = problem(kind, 20, seed, q)
    path = BallPath(gram, rows, metric)
    free = path.at_multiplier(0.0)
    radius = free.radius * 10.0**share
    found = path.at_radius(radius)
    a, outputs = coefficients(path, found.multiplier), output_gram(rows, metric)
    slope = -outputs @ (np.eye(20) - a @ gram) @ gram / 20 + found.multiplier * a
    assert np.linalg.norm(slope) <= 1e-10 * np.linalg.norm(outputs @ gram) / 20
    assert found.kkt <= 1e-10 and found.n_steps <= 15
    if radius < free.radius:
        assert abs(found.radius - radius) <= 1e-14 * radius
        np.testing.assert_allclose(np.linalg.norm(a), radius, rtol=1e-12)
    else:
        assert found.multiplier == 0.0
    residual = rows - gram @ path.solution(found.multiplier, rows)
    np.testing.assert_allclose(
        found.objective, np.sum(output_gram(residual, metric).diagonal()) / 20, rtol=1e-9
    )


@given(st.integers(0, 10**6), st.floats(-8.0, 0.0), st.floats(0.0, 20.0))
@settings(max_examples=60)
def test_the_root_takes_few_steps_over_many_scales(seed, share, spread):
    rng = np.random.default_rng(seed)
    push = 10.0 ** rng.uniform(-spread, 0.0, 200)
    pull = rng.normal(size=200) * np.sqrt(push)
    radius = 10.0**share * np.linalg.norm(pull / push)
    shift, n_steps = secular_root(pull, push, radius)
    assert n_steps <= 15
    assert abs(np.linalg.norm(pull / (push + shift)) - radius) <= 1e-14 * radius or shift == 0.0


@pytest.mark.parametrize("radius", [1e-100, 1e-200, 1e-300])
def test_no_radius_is_too_small_for_squares(radius):
    gram, rows, metric = problem("full", 8, 0)
    found = BallPath(gram, rows, metric).at_radius(radius)
    assert found.radius == pytest.approx(radius, rel=1e-12) and found.converged and found.kkt < 1e-12


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 1e-320])
def test_radii_that_no_ball_has(radius):
    gram, rows, metric = problem("full", 8, 0)
    with pytest.raises(
        ValueError, match=r"the radius .*(must be a finite number above 0|too small for double)"
    ):
        BallPath(gram, rows, metric).at_radius(radius)
    with pytest.raises(ValueError, match="the multiplier must be a finite number of at least 0, got -1"):
        BallPath(gram, rows, metric).at_multiplier(-1.0)
    with pytest.raises(ValueError, match="the bound of coefficients must be at least 0"):
        box_constrained(gram, rows, -1.0)


def test_multiplier_and_radius_name_the_same_solution():
    gram, rows, metric = problem("full", 15, 0)
    path = BallPath(gram, rows, metric)
    found = path.at_multiplier(0.7)
    again = path.at_radius(found.radius)
    np.testing.assert_allclose(again.multiplier, 0.7, rtol=1e-10)
    assert again.objective == pytest.approx(found.objective, rel=1e-12)


def test_nothing_to_learn_is_no_error():
    path = BallPath(np.zeros((3, 3)), np.eye(3))
    assert path.at_radius(1.0).radius == 0.0 and path.at_radius(1.0).objective == pytest.approx(1.0)
    assert not box_constrained(np.zeros((3, 3)), np.eye(3), 1.0)[0].any()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("box", [False, True])
def test_a_weight_of_two_is_a_twin(intercept, box):
    gram, rows, _ = problem("full", 7, 1)
    weight = np.array([1.0, 2.0, 1.0, 3.0, 0.0, 1.0, 1.0])
    twins = np.repeat(np.arange(7), weight.astype(int))
    radius = 0.02 if box else 0.3
    found = []
    for own, labels, w in (
        (gram, rows, weight),
        (gram[np.ix_(twins, twins)], rows[twins], np.ones(len(twins))),
    ):
        plain = Weighted.of(own, w, intercept)
        table = plain.outputs(labels)
        if box:
            bound = radius * np.outer(plain.root, plain.root)
            a, result = box_constrained(
                plain.gram, table, bound, total=plain.total, tol=1e-11, max_iter=10**5
            )
            solution = a.T @ table
        else:
            path = BallPath(plain.gram, table, total=plain.total)
            result = path.at_radius(radius)
            solution = path.solution(result.multiplier, table)
        dual, constant = plain.votes_of(solution, labels)
        cross = gram if len(own) == 7 else gram[:, twins]
        found.append((cross @ dual + constant, result.objective))
    (votes, value), (others, other) = found
    assert value == pytest.approx(other, rel=1e-9)
    np.testing.assert_allclose(votes, others, atol=1e-6 if box else 1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [2.0, 0.3, 0.01])
def test_box_is_the_optimum_of_a_general_solver(kind, share):
    gram, rows, metric = problem(kind, 6, 3)
    path = BallPath(gram, rows, metric)
    bound = share * min(np.abs(coefficients(path, 0.0)).max(), 10.0)
    a, found = box_constrained(gram, rows, bound, metric)
    assert found.converged and found.kkt <= 1e-8 and np.abs(a).max() <= bound
    expected = least_risk(gram, features(rows, metric), box=bound)
    assert abs(found.objective - expected) <= 1e-7 * max(1.0, expected)


def test_box_conditions_hold_where_they_are_measured():
    gram, rows, _ = problem("full", 60, 5)
    a, found = box_constrained(gram, rows, 1e-3)
    assert found.converged and found.n_steps <= 3000
    outputs = output_gram(rows, None)
    slope = -outputs @ (np.eye(60) - a @ gram) @ gram / 60
    free = np.abs(a) < 1e-3
    steepest = np.linalg.norm(outputs @ gram) / 60
    assert 0.1 < free.mean() < 0.99  # else the test says nothing
    assert np.linalg.norm(slope[free]) <= 1e-7 * steepest
    assert np.linalg.norm(np.maximum(slope * np.sign(a), 0.0)[~free]) <= 1e-7 * steepest


def test_box_says_when_it_has_not_arrived():
    gram, rows, _ = problem("ill-conditioned", 30, 5)
    _, found = box_constrained(gram, rows, 1e-2, max_iter=5)
    assert not found.converged and found.n_steps == 5 and found.kkt > 1e-8


def hard_gram(kind, rng, m):
    x = rng.normal(size=(m, 4))
    far = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    return {
        "wide": lambda: np.exp(-0.01 * far),
        "very wide": lambda: np.exp(-1e-4 * far),
        "cubes": lambda: (x @ x.T + 1.0) ** 3,
        "low rank": lambda: x @ x.T,
        "narrow": lambda: np.exp(-4.0 * far),
    }[kind]()


@pytest.mark.parametrize("kind", ["wide", "very wide", "cubes", "low rank", "narrow"])
@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("share", [1e-4, 1e-2, 1.0])
def test_box_arrives_on_ill_conditioned_kernels(kind, columns, share):
    rng = np.random.default_rng(7)
    gram = hard_gram(kind, rng, 60)
    rows = np.column_stack([np.eye(4)[rng.integers(0, 4, 60)] for _ in range(columns)])  # Dirac, or Hamming
    bound = share / gram.diagonal().mean()
    a, found = box_constrained(gram, rows, bound)
    assert found.converged and found.n_steps <= 3000 and np.abs(a).max() <= bound
    slope, steepest = (-rows @ rows.T @ (b @ gram) / 60 for b in (np.eye(60) - a @ gram, np.eye(60)))
    top = np.linalg.norm(gram, 2) ** 2 * np.linalg.norm(rows @ rows.T, 2) / 60
    off = a - np.clip(a - slope / top, -bound, bound)
    assert top * np.linalg.norm(off) <= 2e-8 * np.linalg.norm(steepest)


def test_box_arrives_at_three_hundred_samples():
    rng = np.random.default_rng(3)
    gram = hard_gram("wide", rng, 300)
    rows = np.column_stack([np.eye(4)[rng.integers(0, 4, 300)] for _ in range(2)])
    a, found = box_constrained(gram, rows, 1e-2)
    assert found.converged and found.kkt <= 1e-8 and found.n_steps <= 1000 and np.abs(a).max() <= 1e-2
    slope, steepest = (-rows @ (rows.T @ (b @ gram)) / 300 for b in (np.eye(300) - a @ gram, np.eye(300)))
    top = np.linalg.norm(gram, 2) ** 2 * np.linalg.norm(rows, 2) ** 2 / 300
    off = a - np.clip(a - slope / top, -1e-2, 1e-2)
    assert top * np.linalg.norm(off) <= 2e-8 * np.linalg.norm(steepest)
    assert 0.001 < np.mean(np.abs(a) < 1e-2) < 0.999  # else the bounds decide nothing, or everything


def test_newton_finds_the_same_optimum():
    gram, rows, metric = problem("full", 40, 3)
    bound = np.random.default_rng(0).uniform(1e-4, 2e-3, (40, 40))
    _, split = box_constrained(gram, rows, bound, metric, max_iter=600)
    start, early = box_constrained(gram, rows, bound, metric, max_iter=40)
    assert split.converged and early.kkt > 1e-6  # both before the first turn of Newton's method
    own = BoxProblem.of(Spectra.of(gram, rows, metric), bound, 40.0)
    seen = []
    found = proximal_newton(own, start, 1e-8, 3000, lambda *state: seen.append(state))
    assert found.kkt <= 1e-8 and found.kkt == own.off_optimum(found.point) == min(kkt for _, kkt in seen)
    residual = rows - gram @ (found.point.T @ rows)
    assert np.sum(output_gram(residual, metric).diagonal()) / 40 == pytest.approx(split.objective, rel=1e-7)
    for limit in range(1, 9):
        short = proximal_newton(own, start, 1e-8, limit)
        assert short.n_iter <= limit and 1e-8 < short.kkt <= early.kkt


def test_extrapolation_solves_linear_iterations():
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    matrix, memory, x = q @ np.diag(rng.uniform(0.1, 0.9, 6)) @ q.T, Anderson(6), np.zeros((2, 3))
    right = rng.normal(size=6)
    for _ in range(20):
        x = memory.next(x, (right - matrix @ x.ravel()).reshape(2, 3))
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(matrix, right), rtol=1e-8)
    still = Anderson(2)
    for _ in range(3):  # steps that do not change lead on
        x = still.next(np.zeros(2), np.ones(2))
    assert list(x) == [1.0, 1.0]
