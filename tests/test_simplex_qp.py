"""The small QP over the simplex: optimal by its own certificate, and as good as an interior point method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.objectives.simplex_qp import simplex_qp
from toy_problems import clarabel_minimum


@st.composite
def programs(draw, exponents):
    """Gram matrices of full or low rank, with ties, duplicates and unlike scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, rank = draw(st.integers(1, 25)), draw(st.integers(1, 12))
    G = rng.normal(size=(n, rank))
    shape = draw(st.sampled_from(["plain", "integers", "duplicates", "common part", "unlike rows"]))
    if shape == "integers":
        G = np.round(G)
    elif shape == "duplicates":
        G = G[rng.integers(0, n, n)]
    elif shape == "common part":
        G = G[0] + 1e-4 * G
    elif shape == "unlike rows":
        G *= 10.0 ** rng.integers(-2, 3, size=(n, 1))
    b = rng.normal(size=n) * 10.0 ** draw(exponents)
    if draw(st.booleans()):
        b = np.round(b)
    G *= 10.0 ** draw(exponents)
    start = rng.random(n) * (rng.random(n) < 0.5) if draw(st.booleans()) else None
    return G @ G.T, b, start


def scale(Q, b):
    return np.abs(b).max() + Q.diagonal().max()


@given(programs(st.integers(-8, 8)))
def test_solution_is_optimal_by_its_certificate(program):
    Q, b, start = program
    a, value, gap = simplex_qp(Q, b, start)
    assert np.all(a >= 0.0) and a.sum() == pytest.approx(1.0, abs=1e-13)
    assert value == pytest.approx(b @ a - 0.5 * a @ Q @ a, rel=1e-9, abs=1e-12 * scale(Q, b))
    r = b - Q @ a
    assert gap == pytest.approx(r.max() - r @ a, abs=1e-12 * scale(Q, b))
    assert 0.0 <= gap <= 1e-12 * scale(Q, b)


@given(programs(st.integers(-1, 1)))
def test_as_good_as_an_interior_point_method(program):
    Q, b, start = program
    n = len(b)
    constraints = np.vstack([np.ones((1, n)), -np.eye(n)])
    _, value = clarabel_minimum(Q, -b, constraints, np.append(1.0, np.zeros(n)), n_equal=1)
    assert simplex_qp(Q, b, start).value == pytest.approx(-value, rel=1e-7, abs=1e-7 * scale(Q, b))


def test_one_coordinate():
    assert simplex_qp(np.array([[4.0]]), np.array([3.0])) == (np.ones(1), 1.0, 0.0)


def test_without_curvature_the_largest_entry_wins():
    a, value, gap = simplex_qp(np.zeros((4, 4)), np.array([1.0, 3.0, -2.0, 2.0]))
    assert a.tolist() == [0.0, 1.0, 0.0, 0.0] and value == 3.0 and gap == 0.0


def test_nothing_to_choose():
    a, value, gap = simplex_qp(np.zeros((3, 3)), np.zeros(3), np.full(3, 1 / 3))
    assert a.sum() == pytest.approx(1.0) and value == gap == 0.0


def test_all_cuts_equal(rng):
    g = rng.normal(size=5)
    Q = np.full((30, 30), g @ g)
    solution = simplex_qp(Q, np.full(30, 7.0))
    assert solution.value == pytest.approx(7.0 - 0.5 * g @ g) and solution.gap <= 1e-14 * scale(
        Q, np.full(1, 7.0)
    )


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
def test_huge_and_tiny_scales(rng, factor):
    G, b = rng.normal(size=(20, 8)), rng.normal(size=20)
    plain = simplex_qp(G @ G.T, b)
    scaled = simplex_qp(factor * (G @ G.T), factor * b)
    np.testing.assert_allclose(scaled.a, plain.a, atol=1e-9)
    assert scaled.value == pytest.approx(factor * plain.value, rel=1e-9)


def test_a_common_constant_only_shifts_the_value(rng):
    G, b = rng.normal(size=(20, 8)), rng.normal(size=20)
    plain, shifted = simplex_qp(G @ G.T, b), simplex_qp(G @ G.T, b + 1e9)
    np.testing.assert_allclose(shifted.a, plain.a, atol=1e-5)
    assert shifted.value == pytest.approx(plain.value + 1e9, rel=1e-15)


def test_more_cuts_than_dimensions(rng):
    """200 cuts of a problem with 100 weights, one more at a time with a warm start, as a bundle method asks."""
    G, b = rng.normal(size=(200, 100)), rng.normal(size=200)
    Q, a = G @ G.T, np.ones(1)
    value = -np.inf
    for n in range(150, 200):
        solution = simplex_qp(Q[:n, :n], b[:n], np.append(a, np.zeros(n - len(a))))
        assert solution.gap <= 1e-13 * scale(Q, b)
        assert solution.value >= value - 1e-12, "a further cut cannot lower the maximum"
        a, value = solution.a, solution.value
    assert simplex_qp(Q[:199, :199], b[:199]).value == pytest.approx(value, rel=1e-12)


def test_inputs_are_not_changed(rng):
    G, b, start = rng.normal(size=(6, 3)), rng.normal(size=6), np.full(6, 2.0)
    Q = G @ G.T
    copies = Q.copy(), b.copy(), start.copy()
    simplex_qp(Q, b, start)
    for array, copy in zip((Q, b, start), copies):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("Q", "b", "start", "message"),
    [
        (np.zeros((0, 0)), np.zeros(0), None, "n >= 1"),
        (np.zeros((2, 3)), np.zeros(2), None, r"got \(2,\), \(2, 3\)"),
        (np.full((2, 2), np.nan), np.zeros(2), None, "finite Q and b"),
        (np.eye(2), np.array([np.inf, 0.0]), None, "finite Q and b"),
        (np.eye(2), np.zeros(2), np.array([1.0, -1.0]), "start must be 2 finite numbers >= 0"),
        (np.eye(2), np.zeros(2), np.ones(3), "start must be 2 finite numbers >= 0"),
    ],
)
def test_bad_input(Q, b, start, message):
    with pytest.raises(ValueError, match=message):
        simplex_qp(Q, b, start)
