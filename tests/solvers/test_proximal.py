"""Accelerated proximal gradient: optima against other solvers, certificates, stopping, resuming, pieces."""

from __future__ import annotations

import pickle

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from toy_problems import BinaryLogistic, MulticlassHinge, MulticlassLogistic, make, objective

from palmette.errors import MissingCapability
from palmette.regularizers import Decomposition, GroupedElasticNet
from palmette.solvers import LBFGS, Bundle, Proximal
from palmette.solvers.proximal import SLOW

seeds = st.integers(0, 2**32 - 1)


def with_groups(problem, strength, size=3):
    """The same problem with groups of ``size`` neighbouring weights."""
    n = problem.n_params
    group = np.arange(n) // size
    reg = problem.regularizer
    problem.regularizer = GroupedElasticNet(reg.l2, reg.l1, group, np.full(group[-1] + 1, strength))
    return problem


def cone_minimum(problem):
    """Minimum of a binary logistic problem with groups, by an interior point method on its cone program.

    Variables ``w, t (losses), p, q (exponentials), u (|w_j|), r (group norms)``; per sample ``exp(-t) <= p``,
    ``exp(-m - t) <= q``, ``p + q <= 1`` say ``t >= log(1 + exp(-m))`` for the margin m.
    """
    X, y, reg = problem.X, problem.y, problem.regularizer
    n, k = X.shape
    n_groups = len(reg.strength)
    start = np.cumsum([0, k, n, n, n, k])
    w, t, p, q, u, r = start
    total = r + n_groups
    rows, bounds, cones = [], [], []

    def add(*entries, bound=0.0):
        row = np.zeros(total)
        for place, value in entries:
            row[place] = value
        rows.append(row)
        bounds.append(bound)

    for i in range(n):  # clarabel: A x + s = b with s in the cone
        add((p + i, 1.0), (q + i, 1.0), bound=1.0)
    for j in range(k):
        add((w + j, 1.0), (u + j, -1.0))
        add((w + j, -1.0), (u + j, -1.0))
    cones.append(clarabel.NonnegativeConeT(n + 2 * k))
    for i in range(n):  # (x, y, z) with y exp(x / y) <= z
        add((t + i, 1.0))
        add(bound=1.0)
        add((p + i, -1.0))
        cones.append(clarabel.ExponentialConeT())
        add((t + i, 1.0), *((w + j, y[i] * X[i, j]) for j in range(k)))
        add(bound=1.0)
        add((q + i, -1.0))
        cones.append(clarabel.ExponentialConeT())
    for g in range(n_groups):
        members = np.flatnonzero(reg.group == g)
        add((r + g, -1.0))
        for j in members:
            add((w + j, -1.0))
        cones.append(clarabel.SecondOrderConeT(1 + len(members)))
    quadratic = np.zeros(total)
    quadratic[:k] = reg.l2
    linear = np.zeros(total)
    linear[t : t + n] = 1.0
    linear[u : u + k] = reg.l1
    linear[r:] = reg.strength
    options = clarabel.DefaultSettings()
    options.verbose = False
    P, A = sparse.diags_array(quadratic).tocsc(), sparse.csc_matrix(np.array(rows))
    solver = clarabel.DefaultSolver(P, linear, A, np.array(bounds), cones, options)
    solution = solver.solve()
    return np.array(solution.x)[:k], solution.obj_val


# ---------------------------------------------------------------------------------------------------- optima


@pytest.mark.parametrize(
    ("l2", "l1", "strength"), [(0.5, 0.0, 5.0), (0.1, 0.5, 4.0), (0.0, 0.0, 5.0), (0.0, 0.7, 4.0)]
)
def test_same_optimum_as_a_cone_program(rng, l2, l1, strength):
    problem = make(BinaryLogistic, rng, n=30, n_features=9, l2=l2, l1=l1)
    problem.X /= np.abs(problem.X).mean(axis=0) * [1, 1, 1, 1, 1, 1, 9, 9, 9]
    problem = with_groups(problem, strength)
    w, value = cone_minimum(problem)
    result = Proximal(tol=0.0).solve(problem)
    assert result.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(result.w, w, atol=1e-3)
    assert 0 < np.count_nonzero(problem.regularizer.norms(result.w) == 0.0) < 3  # exact zeros, by groups
    assert result.lower <= value * (1 + 1e-7) and result.gap <= 1e-5 * result.primal


@settings(max_examples=12)
@given(
    seed=seeds,
    l2=st.sampled_from([0.0, 0.05, 1.0]),
    l1=st.sampled_from([0.0, 0.5]),
    strength=st.sampled_from([0.3, 3.0]),
)
def test_stationary_and_certified(seed, l2, l1, strength):
    problem = with_groups(make(MulticlassLogistic, np.random.default_rng(seed), l2=l2, l1=l1), strength)
    result = Proximal(tol=0.0, max_iter=10_000).solve(problem)
    left = problem.regularizer.min_norm_subgradient(result.w, problem.loss(result.w)[1])
    zero = np.zeros(problem.n_params)
    first = problem.regularizer.min_norm_subgradient(zero, problem.loss(zero)[1])
    assert result.converged and np.linalg.norm(left) <= 1e-6 * max(np.linalg.norm(first), 1.0)
    assert result.primal == pytest.approx(objective(problem, result.w), rel=1e-12)
    assert result.lower <= result.primal * (1 + 1e-12)
    assert result.gap <= (1e-7 if l2 else 1e-3) * result.primal


@pytest.mark.parametrize(("l2", "l1"), [(0.3, 0.0), (0.3, 0.8), (0.0, 1.5)])
def test_without_groups_it_agrees_with_lbfgs(rng, l2, l1):
    problem = make(MulticlassLogistic, rng, n=60, l2=l2, l1=l1)
    ours, theirs = Proximal(tol=0.0).solve(problem), LBFGS(tol=0.0).solve(problem)
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
    np.testing.assert_allclose(ours.w, theirs.w, atol=2e-3)


def test_chain_with_groups(rng):
    """On a chain, through Risk: zero in the subgradient at the point, to 1e-6."""
    with make_problem(rng, kind="names", l2=0.0) as problem:
        n = problem.n_params
        group = np.arange(n) % 4
        problem.regularizer = GroupedElasticNet(np.full(n, 0.1), np.full(n, 0.05), group, np.full(4, 0.6))
        result = Proximal(tol=0.0, max_iter=5000).solve(problem)
        left = problem.regularizer.min_norm_subgradient(result.w, problem.loss(result.w)[1])
        assert np.abs(left).max() <= 1e-6 and result.gap <= 1e-8 * result.primal


def test_strong_groups_give_zero_at_once(rng):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.0), 1e6)
    result = Proximal().solve(problem)
    assert not result.w.any() and result.reason == "gap" and result.step.n_iter == 0


def test_huge_and_tiny_gradients(rng):
    for factor in (1e-5, 1e5):
        problem = with_groups(make(BinaryLogistic, rng, n_features=6, l2=factor**2), factor)
        problem.X *= factor
        result = Proximal(tol=1e-6).solve(problem)
        assert result.converged and result.gap <= 1e-5 * result.primal


def test_about_one_pass_an_iteration(rng):
    problem = with_groups(make(MulticlassLogistic, rng, n=300, n_features=30, l2=0.1), 1.0)
    result = Proximal(tol=1e-6).solve(problem)
    assert result.step.n_oracle == problem.n_calls <= 1.3 * result.step.n_iter


# -------------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_tol_is_relative_suboptimality(rng, tol, l2):
    problem = with_groups(make(MulticlassLogistic, rng, n=100, l2=l2), 2.0)
    optimum = Proximal(tol=0.0).solve(problem).primal
    result = Proximal(tol=tol).solve(problem)
    assert result.converged and result.reason in ("gap", "estimate: subgradient")
    assert result.primal - optimum <= 3 * tol * optimum and result.lower <= optimum * (1 + 1e-12)


def test_history(rng):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.1), 0.5)
    result = Proximal(tol=1e-8).solve(problem)
    primals, lowers = [s.primal for s in result.history], [s.lower for s in result.history]
    assert [s.n_iter for s in result.history] == list(range(1, len(result.history) + 1))
    assert primals == sorted(primals, reverse=True) and lowers == sorted(lowers)
    assert result.step == result.history[-1]


def test_max_iter_warns_with_gap_and_remedy(rng):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.01), 0.1)
    with pytest.warns(
        ConvergenceWarning, match=r"proximal stopped after 3 iterations \(max_iter\).*gap.*Increase"
    ):
        result = Proximal(max_iter=3, tol=1e-9).solve(problem)
    assert not result.converged and result.step.n_iter == 3


def test_wrong_gradient_is_noticed(rng):
    class Wrong(BinaryLogistic):
        def loss(self, w):
            value, gradient = super().loss(w)
            return value, -gradient

    problem = with_groups(make(Wrong, rng, n_features=6, l2=0.1), 0.1)
    with pytest.warns(ConvergenceWarning, match=r"\(line search\).*Check the gradient"):
        assert not Proximal().solve(problem).converged


def test_callback_stops(rng):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.01), 0.1)
    result = Proximal(tol=1e-12, callbacks=[lambda step: step.n_iter == 4]).solve(problem)
    assert result.reason == "callback" and not result.converged and np.isfinite(result.gap)


def test_unpenalised_weights_stop_by_the_subgradient(rng):
    problem = make(BinaryLogistic, rng, n=200, n_features=6)
    problem.regularizer = GroupedElasticNet(np.zeros(6), np.zeros(6), [0, 0, 0, 1, 1, 1], [5.0, 0.0])
    result = Proximal(tol=1e-6, max_iter=20_000).solve(problem)
    assert result.reason == "estimate: subgradient" and np.isnan(result.gap)


@pytest.mark.parametrize("stop", [1, 7, 20])
def test_resumed_is_as_if_never_stopped(rng, stop):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.1), 0.5)
    whole = Proximal(tol=1e-8).solve(problem)
    part = Proximal(tol=1e-8, callbacks=[lambda step: step.n_iter == stop]).solve(problem)
    for state in (part.state, pickle.loads(pickle.dumps(part.state)), part.state):
        rest = Proximal(tol=1e-8).solve(problem, state=state)
        np.testing.assert_array_equal(rest.w, whole.w)
        assert [s.primal for s in rest.history] == [s.primal for s in whole.history]


def test_bad_states_and_settings(rng):
    problem = with_groups(make(MulticlassLogistic, rng, l2=0.1), 0.5)
    state = Proximal().solve(problem).state
    with pytest.raises(ValueError, match="other weights or penalties"):
        Proximal().solve(with_groups(make(MulticlassLogistic, rng, l2=0.1), 0.6), state=state)
    with pytest.raises(ValueError, match="w0 has shape"):
        Proximal().solve(problem, w0=np.zeros(3))
    with pytest.raises(MissingCapability, match="proximal needs a smooth loss, and MulticlassHinge is not"):
        Proximal().solve(make(MulticlassHinge, rng))
    with pytest.raises(MissingCapability, match="bundle does not support a group lasso"):
        Bundle().solve(problem)
    for wrong in ({"max_iter": 0}, {"tol": -1.0}, {"tol": np.nan}):
        with pytest.raises(ValueError, match="Proximal"):
            Proximal(**wrong)


# ---------------------------------------------------------------------------------------------------- pieces


def test_pieces_of_one_position_are_the_model_without_edges(rng):
    """With size 1 there is nothing random: the run must reach the optimum of the problem without edges."""
    with make_problem(rng, kind="dense", l2=0.5) as problem:
        n, edge = problem.n_params, problem.scorer.blocks["edge"]
        reg = problem.regularizer = GroupedElasticNet(
            np.full(n, 0.5), np.zeros(n), np.arange(n) % 3, np.full(3, 0.5)
        )
        problem.decomposition = Decomposition(1)
        result = Proximal(tol=1e-7, max_iter=3000).solve(problem)
        assert result.reason == f"estimate: {SLOW}" and np.isnan(result.gap) and not result.w[edge].any()
        starts = np.arange(problem.samples.batch.n_rows + 1)
        weight = np.repeat(problem.samples.weight, problem.samples.batch.lengths)
        batch = type(problem.samples.batch)(problem.samples.batch.rows, starts)
        single = type(problem)(
            problem.structure, problem.scorer, problem.surrogate,
            problem.samples._replace(batch=batch, weight=weight), reg, problem.executor,
        )  # fmt: skip
        left = reg.min_norm_subgradient(result.w, single.loss(result.w)[1])
        assert result.primal == pytest.approx(Proximal(tol=1e-9).solve(single).primal, rel=1e-5)
        assert np.abs(left).max() < 0.05


def test_pieces_are_redrawn_and_repeatable(rng):
    with make_problem(rng, kind="names", l2=0.5) as problem:
        problem.decomposition = Decomposition(1.5)
        first, again, other = (
            Proximal(tol=0.0, max_iter=12, random_state=seed, callbacks=[lambda step: step.n_iter == 12])
            .solve(problem)
            .w
            for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)
