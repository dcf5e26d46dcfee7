"""SORR: its normal equations, paths, weights, and held-out predictions against fits without the held-out samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.regression import BallPath, Weighted, held_out_ball, held_out_ridge, ridge, ridge_path
from palmette.regression.held_out import tridiagonal


def problem(m, seed, q=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, 3))
    gram = np.exp(-0.3 * np.sum((x[:, None] - x[None]) ** 2, axis=-1)) + 0.2 * x @ x.T
    return gram, rng.normal(size=(m, q)), rng


def fitted(gram, rows, l2, weight, intercept):
    plain = Weighted.of(gram, weight, intercept)
    return plain.votes_of(ridge(plain.gram, plain.outputs(rows), l2)[0], rows)


@given(st.integers(0, 100), st.floats(-3.0, 2.0), st.booleans())
@settings(max_examples=30)
def test_weights_and_intercept_minimise_the_objective(seed, log_l2, intercept):
    """The gradient of ``sum_i w_i |psi_i - b - W phi_i|^2 / 2 + l2 |W|^2 / 2`` is 0 at the solution."""
    gram, rows, rng = problem(12, seed)
    weight, l2 = rng.integers(0, 4, 12) + 0.5 * (seed % 2), 10.0**log_l2
    weight[0] = 1.0
    dual, constant = fitted(gram, rows, l2, weight.astype(float), intercept)
    residual = weight[:, None] * (rows - gram @ dual - constant)
    np.testing.assert_allclose(gram @ (residual - l2 * dual), 0.0, atol=1e-9)
    if intercept:
        np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-9)
    else:
        assert not constant.any()


@pytest.mark.parametrize("intercept", [False, True])
def test_a_weight_of_two_is_a_twin(intercept):
    gram, rows, rng = problem(9, 1)
    weight = rng.integers(0, 4, 9).astype(float)
    twins = np.repeat(np.arange(9), weight.astype(int))
    dual, constant = fitted(gram, rows, 0.1, weight, intercept)
    other, also = fitted(gram[np.ix_(twins, twins)], rows[twins], 0.1, np.ones(len(twins)), intercept)
    np.testing.assert_allclose(gram @ dual + constant, gram[:, twins] @ other + also, atol=1e-10)


def test_certificate_tells_a_wrong_solution():
    gram, rows, _ = problem(10, 0)
    found, result = ridge(gram, rows, 0.5)
    residual = rows - gram @ found
    expected = 0.5 * np.sum(residual**2) + 0.25 * np.sum(found * (gram @ found))
    assert result.kkt < 1e-12 and result.converged and result.objective == pytest.approx(expected)
    from palmette.regression.ridge import ridge_result

    worse = ridge_result(gram, rows, 1.01 * found, 0.5)
    assert not worse.converged and worse.objective > result.objective


def test_metric_counts_in_the_objective_alone():
    gram, rows, rng = problem(10, 0)
    root = rng.normal(size=(3, 3))
    plain = ridge(gram, rows @ root, 0.5)[1]
    assert ridge(gram, rows, 0.5, root @ root.T)[1].objective == pytest.approx(plain.objective)


def test_path_equals_single_fits():
    gram, rows, _ = problem(20, 2)
    l2s = [1e-3, 0.1, 10.0]
    for l2, found in zip(l2s, ridge_path(gram, rows, l2s)):
        np.testing.assert_allclose(found, ridge(gram, rows, l2)[0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3, 40])
def test_tridiagonal_reduction(m):
    gram = problem(m, 3)[0]
    d, e, basis = tridiagonal(gram)
    middle = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    np.testing.assert_allclose(basis.T @ middle @ basis, gram, atol=1e-13 * m)
    np.testing.assert_allclose(basis @ basis.T, np.eye(m), atol=1e-13)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_ridge_is_refitting(intercept, weighted):
    gram, rows, rng = problem(50, 4)
    weight = rng.integers(0, 4, 50).astype(float) if weighted else np.ones(50)
    held = [*np.array_split(rng.permutation(50), 4), np.array([7]), np.arange(10, 45)]
    l2s = [10.0, 1.0, 0.1]
    path = held_out_ridge(gram, rows, l2s, held, weight if weighted else None, intercept)
    for l2, folds in zip(l2s, path):
        for b, (votes, constant) in zip(held, folds):
            t = np.setdiff1d(np.arange(50), b)
            dual, expected = fitted(gram[np.ix_(t, t)], rows[t], l2, weight[t], intercept)
            known = weight[b] > 0.0
            np.testing.assert_allclose(constant, expected, atol=2e-13)
            np.testing.assert_allclose(
                votes[known], (gram[np.ix_(b, t)] @ dual + expected)[known], atol=2e-13
            )
            assert np.all(np.isfinite(votes))


@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_ball_is_refitting(intercept):
    gram, rows, rng = problem(30, 5)
    held, weight = np.array_split(rng.permutation(30), 3), rng.integers(1, 3, 30).astype(float)
    folds = [(np.setdiff1d(np.arange(30), b), b) for b in held]
    ballots = rng.normal(size=(30, 2))
    found = held_out_ball(gram, rows, [1e-4, 1e-2], folds, weight, intercept, ballots=ballots)
    for b, strength in zip([1e-4, 1e-2], found):
        for (t, h), (votes, _) in zip(folds, strength):
            plain = Weighted.of(gram[np.ix_(t, t)], weight[t], intercept)
            path = BallPath(plain.gram, plain.outputs(rows[t]), total=plain.total)
            a = plain.coefficients_of(path.coefficients(b, plain.inputs(gram[np.ix_(h, t)])))
            np.testing.assert_allclose(votes, a @ ballots[t], atol=1e-10)
            if intercept:
                np.testing.assert_allclose(a.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "solve", [lambda g, r: ridge(g, r, 1e-14), lambda g, r: list(held_out_ridge(g, r, [1e-14], [[0]]))]
)
def test_a_penalty_below_rounding_is_refused(solve):
    x = np.linspace(0.0, 1.0, 30)
    gram = 1e3 * np.exp(-((x[:, None] - x) ** 2))
    with pytest.raises(ValueError, match="l2=1e-14 is too small for a kernel matrix"):
        solve(gram, np.ones((30, 1)))
