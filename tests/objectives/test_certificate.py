"""Penalties and the certificate: bounds that hold for every point, identities, tightness, bounded memory."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from toy_problems import (
    BinaryLogistic,
    MulticlassHinge,
    MulticlassLogistic,
    clarabel_minimum,
    make,
    objective,
    penalty,
)

from palmette.objectives.certificate import CutPool
from palmette.objectives.elastic_dual import best_mean, best_share
from palmette.regularizers import ElasticNet
from palmette.solvers.bundle import Bundle
from palmette.solvers.lbfgs import LBFGS

PENALTIES = {"l2": (0.7, 0.0), "l1 and l2": (0.3, 1.5), "l1": (0.0, 2.0)}
seeds = st.integers(0, 2**32 - 1)


# ------------------------------------------------------------------------------------------------- penalties


def random_penalty(rng, n=6):
    return ElasticNet(rng.uniform(0.1, 2.0, n), rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.7))


def test_penalty_by_definition(rng):
    reg, w = random_penalty(rng), rng.normal(size=6)
    assert reg.l2_value(w) == pytest.approx(sum(l2 / 2 * x * x for l2, x in zip(reg.l2, w)))
    assert reg.l1_value(w) == pytest.approx(sum(l1 * abs(x) for l1, x in zip(reg.l1, w)))
    assert reg.value(w) == pytest.approx(reg.l2_value(w) + reg.l1_value(w))
    np.testing.assert_allclose(reg.l2_gradient(w), reg.l2 * w)


def test_dual_value_is_a_minimum(rng):
    reg, g = random_penalty(rng), 3.0 * rng.normal(size=6)
    lowest = 0.0
    for slope, l2, l1 in zip(g, reg.l2, reg.l1):

        def penalised(x, slope=slope, l2=l2, l1=l1):
            return slope * x + l2 / 2 * x * x + l1 * abs(x)

        lowest += minimize_scalar(penalised, bracket=(-1.0, 1.0)).fun
    assert reg.dual_value(g) == pytest.approx(-lowest, rel=1e-6)
    assert ElasticNet(reg.l2, np.zeros(6)).dual_value(g) == pytest.approx(0.5 * np.sum(g**2 / reg.l2))


def test_dual_value_without_l2():
    reg = penalty(3, 0.0, 1.0)
    assert reg.dual_value(np.array([1.0, -1.0, 0.5])) == 0.0
    assert reg.dual_value(np.array([1.0, -1.001, 0.5])) == np.inf


@given(seeds)
def test_shortest_subgradient(seed):
    """It is a subgradient, and no other is shorter: per coordinate it is the projection of 0 on an interval."""
    rng = np.random.default_rng(seed)
    reg, w, g = random_penalty(rng), np.round(rng.normal(size=6)), rng.normal(size=6)
    found = reg.min_norm_subgradient(w, g)
    low = g + reg.l2 * w + reg.l1 * np.where(w > 0, 1.0, -1.0)
    high = g + reg.l2 * w + reg.l1 * np.where(w < 0, -1.0, 1.0)
    np.testing.assert_allclose(found, np.clip(0.0, low, high), atol=1e-12)


def test_what_a_penalty_says_about_itself():
    mixed = ElasticNet([1.0, 0.0, 0.0], [0.0, 2.0, 0.0])
    assert mixed.has_l1 and not mixed.strongly_convex and mixed.unpenalised.tolist() == [2]
    ridge = penalty(3, 1.0, 0.0)
    assert not ridge.has_l1 and ridge.strongly_convex and not len(ridge.unpenalised)
    assert pickle.loads(pickle.dumps(mixed)).same_as(mixed) and not mixed.same_as(ridge)


@pytest.mark.parametrize(
    ("l2", "l1", "message"),
    [
        ([1.0, -1.0], [0.0, 0.0], r"l2\[1\] is -1.0"),
        ([1.0, 1.0], [np.nan, 0.0], r"l1\[0\] is nan"),
        ([1.0], [0.0, 0.0], "same length, got 1 and 2"),
        (1.0, 0.0, r"one strength per weight, got shape \(\)"),
    ],
)
def test_bad_penalty(l2, l1, message):
    with pytest.raises(ValueError, match=message):
        ElasticNet(l2, l1)


# ---------------------------------------------------------------------------------------------------- bounds


def fill(pool, problem, points):
    for w in points:
        pool.add(*problem.loss(w), w)
    return pool


@pytest.mark.parametrize("kind", [BinaryLogistic, MulticlassLogistic, MulticlassHinge])
@pytest.mark.parametrize("name", PENALTIES)
@given(seed=seeds, size=st.integers(2, 8), n_cuts=st.integers(1, 12))
def test_bound_holds_everywhere_and_never_falls(kind, name, seed, size, n_cuts):
    rng = np.random.default_rng(seed)
    l2, l1 = PENALTIES[name]
    problem = make(kind, rng, n=12, n_features=3, l2=l2, l1=l1)
    pool, bounds = CutPool(problem.regularizer, size), []
    for _ in range(n_cuts):
        fill(pool, problem, [rng.normal(size=problem.n_params) * 10.0 ** rng.uniform(-2, 1)])
        if rng.random() < 0.6:
            bounds.append(pool.lower_bound())
    bounds.append(pool.lower_bound())
    assert len(pool) <= size
    assert bounds == sorted(bounds) and bounds[-1] >= 0.0
    for _ in range(20):
        w = rng.normal(size=problem.n_params) * 10.0 ** rng.uniform(-3, 1)
        assert bounds[-1] <= objective(problem, w) * (1.0 + 1e-12)


@given(seeds)
def test_one_cut_with_l2_is_the_gradient_bound(seed):
    rng = np.random.default_rng(seed)
    problem = make(MulticlassLogistic, rng, l2=rng.uniform(0.5, 2.0, 18))
    reg = problem.regularizer
    near = LBFGS(tol=1e-3).solve(problem).w
    for w, equal in ((near, True), (rng.normal(size=18), False)):
        _, gradient = problem.loss(w)
        bound = np.sum((gradient + reg.l2 * w) ** 2 / (2.0 * reg.l2))
        primal = objective(problem, w)
        gap = primal - fill(CutPool(reg), problem, [w]).lower_bound()
        assert gap <= bound + 1e-12 * primal
        if equal:
            assert gap == pytest.approx(bound, rel=1e-6, abs=1e-12 * primal)


@given(seeds)
def test_one_cut_with_l1_is_the_scaled_entropy(seed):
    rng = np.random.default_rng(seed)
    problem = make(BinaryLogistic, rng, l2=0.0, l1=rng.uniform(0.5, 20.0))
    w = rng.normal(size=6)
    value, gradient = problem.loss(w)
    entropy = problem.entropies(w).sum()
    assert value - gradient @ w == pytest.approx(entropy, rel=1e-8)
    expected = min(1.0, problem.regularizer.l1[0] / np.abs(gradient).max()) * entropy
    assert fill(CutPool(problem.regularizer), problem, [w]).lower_bound() == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", PENALTIES)
@given(seed=seeds)
def test_several_cuts_are_at_least_as_good_as_the_best_scaled_one(name, seed):
    rng = np.random.default_rng(seed)
    l2, l1 = PENALTIES[name]
    problem = make(BinaryLogistic, rng, l2=l2, l1=l1)
    reg, points = problem.regularizer, rng.normal(size=(6, 6)) * 10.0 ** rng.uniform(-2, 0, size=(6, 1))
    together = fill(CutPool(reg), problem, points).lower_bound()
    alone = max(fill(CutPool(reg), problem, [w]).lower_bound() for w in points)
    assert together >= alone * (1.0 - 1e-7)


def test_scaling_one_cut_by_search(rng):
    for _ in range(20):
        reg, offset, g = random_penalty(rng), rng.uniform(0.1, 5.0), 3.0 * rng.normal(size=6)
        share, value = best_share(reg, offset, g)
        values = [s * offset - reg.dual_value(s * g) for s in np.linspace(0.0, 1.0, 2001)]
        assert value >= max(values) - 1e-9 and value == pytest.approx(
            share * offset - reg.dual_value(share * g)
        )


def test_mean_of_cuts_with_l1_alone_against_a_linear_program(rng):
    """There the best bound is a linear program; ours reaches most of the way from one cut to it."""
    problem = make(MulticlassLogistic, rng, n=60, l2=0.0, l1=3.0)
    reg, points = problem.regularizer, []
    problem.loss, record = (lambda w: (points.append(w.copy()), record(w))[1]), problem.loss
    LBFGS(max_iter=200, tol=1e-3).solve(problem)
    points = points[-8:]
    cuts = [record(w) for w in points]
    gradients = np.array([g for _, g in cuts])
    offsets = np.array([value - g @ w for (value, g), w in zip(cuts, points)])
    constraints = np.vstack([gradients.T, -gradients.T, np.ones(8)])
    limits = np.append(np.full(36, 3.0), 1.0)
    best = -linprog(-offsets, A_ub=constraints, b_ub=limits, bounds=(0, None)).fun
    a, value = best_mean(reg, offsets, gradients, np.zeros(8), reach=np.abs(points[-1]).max())
    assert value == pytest.approx(offsets @ a) and reg.dual_value(a @ gradients * (1 - 1e-12)) == 0.0
    assert best * (1 - 1e-2) <= value <= best * (1 + 1e-9)


@pytest.mark.parametrize("kind", [BinaryLogistic, MulticlassLogistic])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_tight_at_the_optimum(rng, kind, l1):
    problem = make(kind, rng, l2=0.5, l1=l1)
    result = LBFGS(tol=0.0).solve(problem)
    assert -1e-12 * result.primal <= result.gap <= 1e-6 * result.primal


def test_many_cuts_beat_the_last_one(rng):
    problem = make(MulticlassLogistic, rng, n=200, n_features=20, l2=0.01)
    result = LBFGS(tol=1e-5).solve(problem)
    alone = fill(CutPool(problem.regularizer), problem, [result.w]).lower_bound()
    assert result.gap < 0.5 * (result.primal - alone)


# ------------------------------------------------------------------------- columns of other scales, digits kept


def scaled_cuts(scale):
    """Cuts met by a run on a hinge, with one feature in units that make it ``scale`` times as large."""
    problem = make(MulticlassHinge, np.random.default_rng(3), n=60, n_features=5)
    problem.X /= np.abs(problem.X).max(axis=0)
    problem.regularizer = penalty(15, np.where(np.arange(15) < 3, 1e-3, 1.0), 0.0)
    points, record = [], problem.loss
    problem.loss = lambda w: (points.append(w.copy()), record(w))[1]
    Bundle(tol=1e-9).solve(problem)
    problem.X[:, 0] *= scale
    for w in points:
        w[:3] /= scale
    return [(*record(w), w) for w in points[5:45]]


def exact_dual(pool, reg):
    """The dual value of the weights of a pool's last bound, in rational arithmetic."""
    mean = [Fraction(0)] * len(reg.l2)
    for a, row in zip(pool.weights, pool._gradients):
        mean = [m + Fraction(float(a)) * Fraction(float(g)) for m, g in zip(mean, row)]
    size = [max(abs(m) - Fraction(float(l1)), Fraction(0)) for m, l1 in zip(mean, reg.l1)]
    conjugate = sum(e * e / (2 * Fraction(float(l2))) for e, l2 in zip(size, reg.l2))
    return float(
        sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(pool.weights, pool._offsets)) - conjugate
    )


def best_dual(cuts, reg):
    """The maximum over means of the cuts, by an interior point method in units of its own."""
    G = np.array([g for _, g, _ in cuts])
    b = np.array([value - g @ w for value, g, w in cuts])
    (n, p), unit = G.shape, np.abs(G).max(axis=0)
    A = np.vstack(
        [np.hstack([np.eye(p), -(G / unit).T]), np.append(np.zeros(p), np.ones(n)), -np.eye(n, n + p, p)]
    )
    P = np.diag(np.append(unit**2 / reg.l2, np.zeros(n)))
    right = np.concatenate([np.zeros(p), [1.0], np.zeros(n)])
    return -clarabel_minimum(P, -np.append(np.zeros(p), b), A, right, n_equal=p)[1]


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e8, 1e10])
def test_bounds_keep_their_digits_whatever_the_scale_of_a_column(scale):
    """Products of gradients are 1e16 times the bound there: made of them, it was 0 at 1e8 and false at 1e6."""
    reg, cuts = penalty(15, 1.0, 0.0), scaled_cuts(scale)
    pool, best = CutPool(reg, 50), best_dual(cuts, reg)
    for value, gradient, w in cuts:
        pool.add(value, gradient, w)
    bound = pool.lower_bound()
    assert bound == pytest.approx(exact_dual(pool, reg), rel=1e-13)
    assert bound == pytest.approx(best, rel=1e-7) and bound > 30.0


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_bounds_with_l1_are_what_their_weights_prove(scale):
    reg, pool = penalty(15, 1.0, 0.5), CutPool(penalty(15, 1.0, 0.5), 50)
    for value, gradient, w in scaled_cuts(scale):
        pool.add(value, gradient, w)
    bound = pool.lower_bound()
    assert bound == pytest.approx(exact_dual(pool, reg), rel=1e-12)
    assert bound > (30.0 if scale < 1e8 else 0.0)


# ------------------------------------------------------------------------------------------- pool of cuts


def test_unpenalised_weights_have_no_bound(rng):
    problem = make(BinaryLogistic, rng, l2=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    pool = fill(CutPool(problem.regularizer), problem, rng.normal(size=(3, 6)))
    assert pool.lower_bound() == -np.inf


def test_an_unpenalised_weight_without_gradient_does_no_harm(rng):
    problem = make(BinaryLogistic, rng, l2=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    problem.X[:, 1] = 0.0
    pool = fill(CutPool(problem.regularizer), problem, rng.normal(size=(3, 6)))
    assert 0.0 <= pool.lower_bound() <= objective(problem, np.zeros(6))


def test_no_cuts_no_bound():
    assert CutPool(penalty(3, 1.0, 0.0)).lower_bound() == -np.inf


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_cuts_of_use_survive_as_their_mean(rng, l1):
    """With room for two cuts the bound still rises to the optimum's neighbourhood, and is never lost."""
    problem = make(MulticlassLogistic, rng, l2=0.5, l1=l1)
    reg, optimum = problem.regularizer, LBFGS(tol=0.0).solve(problem).primal
    pool, w = CutPool(reg, size=2), np.zeros(problem.n_params)
    values = []
    for _ in range(400):
        fill(pool, problem, [w])
        values.append(pool.lower_bound())
        mean = pool.mean_gradient()
        w = 0.0 - (mean - np.clip(mean, -reg.l1, reg.l1)) / reg.l2
        np.testing.assert_array_equal(w, pool.minimiser())
    assert values == sorted(values) and len(pool) == 2
    assert optimum * 0.98 <= values[-1] <= optimum * (1 + 1e-12)


def test_arrays_given_to_the_pool_may_be_reused(rng):
    problem = make(BinaryLogistic, rng)
    pool, other = CutPool(problem.regularizer), CutPool(problem.regularizer)
    for w in rng.normal(size=(4, 6)):
        value, gradient = problem.loss(w)
        other.add(value, gradient, w)
        pool.add(value, gradient, w)
        gradient[:] = np.nan
    assert pool.lower_bound() == other.lower_bound()


def test_a_pool_can_be_pickled_in_the_middle(rng):
    problem = make(BinaryLogistic, rng)
    points = rng.normal(size=(30, 6))
    pool = fill(CutPool(problem.regularizer, 5), problem, points[:10])
    pool.lower_bound()
    again = pickle.loads(pickle.dumps(pool))
    assert fill(again, problem, points[10:]).lower_bound() == fill(pool, problem, points[10:]).lower_bound()


def test_bad_input():
    reg = penalty(2, 1.0, 0.0)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        CutPool(reg, size=1)
    with pytest.raises(ValueError, match="the loss is nan"):
        CutPool(reg).add(np.nan, np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="gradient not finite"):
        CutPool(reg).add(1.0, np.array([np.inf, 0.0]), np.zeros(2))
