"""Nystroem regressions against the same problems in explicit features."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.regression import BallPath, Weighted, conjugate_ridge, moments_ball, ridge


@pytest.fixture
def sample(rng):
    x, z = rng.normal(size=(80, 3)), rng.normal(size=(12, 3))
    rows, weight = rng.normal(size=(80, 4)), rng.integers(0, 3, 80).astype(float)

    def kernel(a, b):
        return np.exp(-0.2 * np.sum((a[:, None] - b[None]) ** 2, axis=-1))

    values, vectors = np.linalg.eigh(kernel(z, z))
    normalization = vectors / np.sqrt(values)
    cross = kernel(x, z)

    def blocks():
        return ((slice(i, i + 13), cross[i : i + 13]) for i in range(0, 80, 13))

    return blocks, normalization, rows, weight, cross


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_conjugate_gradients_reach_the_ridge_of_the_features(sample, intercept, l2):
    blocks, normalization, rows, weight, cross = sample
    seen = []
    dual, constant, result = conjugate_ridge(
        blocks,
        normalization,
        rows,
        l2,
        weight,
        intercept,
        tol=1e-12,
        watch=lambda n, worst: seen.append((n, worst)),
    )
    features = cross @ normalization
    plain = Weighted.of(features @ features.T, weight, intercept)
    found, expected = ridge(plain.gram, plain.outputs(rows), l2)
    other, also = plain.votes_of(found, rows)
    np.testing.assert_allclose(cross @ dual + constant, features @ features.T @ other + also, atol=1e-8)
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)
    assert result.converged and result.n_steps == len(seen) <= 60 and seen[-1][1] <= 1e-12


def test_too_few_iterations_are_told(sample):
    blocks, normalization, rows, weight, _ = sample
    *_, result = conjugate_ridge(blocks, normalization, rows, 1e-3, weight, max_iter=2)
    assert not result.converged and result.n_steps == 2 and result.kkt > 1e-8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("radius", [1e-3, 0.1, 1e6])
@pytest.mark.parametrize("metric", [False, True])
def test_moments_give_the_ball_of_the_features(sample, intercept, radius, metric, rng):
    blocks, normalization, rows, weight, cross = sample
    root = rng.normal(size=(4, 4))
    own = root @ root.T if metric else None
    ballots = rng.normal(size=(80, 2))
    dual, constant, result = moments_ball(
        blocks, normalization, rows, radius, weight, intercept, own, ballots
    )
    features = cross @ normalization
    plain = Weighted.of(features @ features.T, weight, intercept)
    path = BallPath(plain.gram, plain.outputs(rows), own, plain.total)
    expected = path.at_radius(radius)
    other, also = plain.votes_of(path.solution(expected.multiplier, plain.outputs(ballots)), ballots)
    np.testing.assert_allclose(cross @ dual + constant, features @ features.T @ other + also, atol=1e-6)
    assert result.objective == pytest.approx(expected.objective, rel=1e-7)
    assert result.converged and result.radius == pytest.approx(expected.radius, rel=1e-6)
