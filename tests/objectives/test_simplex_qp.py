"""The small QP over the simplex: optimal by its own certificate, and as good as an interior point method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_problems import clarabel_minimum

from palmette.objectives.simplex_qp import simplex_qp


@st.composite
def programs(draw, exponents):
    """Rows of full or low rank, with ties, duplicates and unlike scales."""
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
    return G, b, start


def scale(rows, b):
    return np.abs(b).max() + (rows**2).sum(axis=1).max()


@given(programs(st.integers(-8, 8)))
def test_solution_is_optimal_by_its_certificate(program):
    rows, b, start = program
    a, value, gap, mean = simplex_qp(rows, b, start)
    noise = 1e-12 * scale(rows, b)
    assert np.all(a >= 0.0) and a.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(mean, a @ rows, atol=1e-12 * np.abs(rows).max())
    assert value == pytest.approx(b @ a - 0.5 * mean @ mean, rel=1e-9, abs=noise)
    r = b - rows @ (a @ rows)
    assert gap == pytest.approx(r.max() - r @ a, abs=noise)
    assert 0.0 <= gap <= noise


@given(programs(st.integers(-1, 1)))
def test_as_good_as_an_interior_point_method(program):
    rows, b, start = program
    n = len(b)
    constraints = np.vstack([np.ones((1, n)), -np.eye(n)])
    _, value = clarabel_minimum(rows @ rows.T, -b, constraints, np.append(1.0, np.zeros(n)), n_equal=1)
    found = simplex_qp(rows, b, start).value
    assert found == pytest.approx(-value, rel=1e-7, abs=1e-7 * scale(rows, b))


def test_one_coordinate():
    assert simplex_qp(np.array([[2.0]]), np.array([3.0])) == (np.ones(1), 1.0, 0.0, np.full(1, 2.0))


def test_without_curvature_the_largest_entry_wins():
    a, value, gap, _ = simplex_qp(np.zeros((4, 2)), np.array([1.0, 3.0, -2.0, 2.0]))
    assert a.tolist() == [0.0, 1.0, 0.0, 0.0] and value == 3.0 and gap == 0.0


def test_nothing_to_choose():
    a, value, gap, _ = simplex_qp(np.zeros((3, 0)), np.zeros(3), np.full(3, 1 / 3))
    assert a.sum() == pytest.approx(1.0) and value == gap == 0.0


def test_all_cuts_equal(rng):
    g = rng.normal(size=5)
    solution = simplex_qp(np.tile(g, (30, 1)), np.full(30, 7.0))
    assert solution.value == pytest.approx(7.0 - 0.5 * g @ g)
    assert solution.gap <= 1e-14 * scale(g[None], np.full(1, 7.0))


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
def test_huge_and_tiny_scales(rng, factor):
    G, b = rng.normal(size=(20, 8)), rng.normal(size=20)
    plain = simplex_qp(G, b)
    scaled = simplex_qp(np.sqrt(factor) * G, factor * b)
    np.testing.assert_allclose(scaled.a, plain.a, atol=1e-9)
    assert scaled.value == pytest.approx(factor * plain.value, rel=1e-9)


def test_a_common_constant_only_shifts_the_value(rng):
    G, b = rng.normal(size=(20, 8)), rng.normal(size=20)
    plain, shifted = simplex_qp(G, b), simplex_qp(G, b + 1e9)
    np.testing.assert_allclose(shifted.a, plain.a, atol=1e-5)
    assert shifted.value == pytest.approx(plain.value + 1e9, rel=1e-15)


def test_more_cuts_than_dimensions(rng):
    """200 cuts of a problem with 100 weights, one more at a time with a warm start, as a bundle method asks."""
    G, b = rng.normal(size=(200, 100)), rng.normal(size=200)
    a, value = np.ones(1), -np.inf
    for n in range(150, 200):
        solution = simplex_qp(G[:n], b[:n], np.append(a, np.zeros(n - len(a))))
        assert solution.gap <= 1e-13 * scale(G, b)
        assert solution.value >= value - 1e-12, "a further cut cannot lower the maximum"
        a, value = solution.a, solution.value
    assert simplex_qp(G[:199], b[:199]).value == pytest.approx(value, rel=1e-12)


def test_inputs_are_not_changed(rng):
    G, b, start = rng.normal(size=(6, 3)), rng.normal(size=6), np.full(6, 2.0)
    copies = G.copy(), b.copy(), start.copy()
    simplex_qp(G, b, start)
    for array, copy in zip((G, b, start), copies):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("rows", "b", "start", "message"),
    [
        (np.zeros((0, 0)), np.zeros(0), None, "n >= 1"),
        (np.zeros((3, 2)), np.zeros(2), None, r"got \(2,\), \(3, 2\)"),
        (np.full((2, 2), np.nan), np.zeros(2), None, "finite rows and b"),
        (np.eye(2), np.array([np.inf, 0.0]), None, "finite rows and b"),
        (np.eye(2), np.zeros(2), np.array([1.0, -1.0]), "start must be 2 finite numbers >= 0"),
        (np.eye(2), np.zeros(2), np.ones(3), "start must be 2 finite numbers >= 0"),
    ],
)
def test_bad_input(rows, b, start, message):
    with pytest.raises(ValueError, match=message):
        simplex_qp(rows, b, start)
