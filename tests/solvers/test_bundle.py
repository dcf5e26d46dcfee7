"""The bundle method: optima of smooth and other losses, exact gaps, bounded memory, runs that go on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from toy_problems import BinaryLogistic, MulticlassHinge, MulticlassLogistic, make, objective, penalty

from palmette.errors import MissingCapability
from palmette.solvers.bundle import Bundle
from palmette.solvers.cutting_planes import OneSlack
from palmette.solvers.lbfgs import LBFGS

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_hinge_is_convex_with_these_subgradients(seed):
    rng = np.random.default_rng(seed)
    problem = make(MulticlassHinge, rng)
    w, u = rng.normal(size=(2, problem.n_params))
    value, gradient = problem.loss(w)
    assert problem.loss(u)[0] >= value + gradient @ (u - w) - 1e-9


@given(seed=seeds, l2=st.sampled_from([0.1, 1.0, 10.0]))
def test_hinge_against_an_interior_point_method(seed, l2):
    problem = make(MulticlassHinge, np.random.default_rng(seed), n=25, n_features=4, l2=l2)
    result, optimum = Bundle(tol=1e-6).solve(problem), problem.optimum()
    assert result.converged and result.reason == "gap" and result.gap <= 1e-6 * result.primal
    assert result.lower <= optimum * (1 + 1e-7) and result.primal >= optimum * (1 - 1e-7)
    assert result.primal == pytest.approx(optimum, rel=2e-6)
    assert result.primal == pytest.approx(objective(problem, result.w), rel=1e-12)


@pytest.mark.parametrize("solver", [Bundle(tol=1e-6), OneSlack(tol=1e-6)], ids=lambda s: s.name)
@pytest.mark.parametrize("scale", [1e-8, 1e5, 1e8])
def test_a_column_in_other_units_is_another_penalty(rng, solver, scale):
    """``x * scale`` with ``l2`` is ``x`` with ``l2 / scale^2``: the optimum is proved at both."""
    problem = make(MulticlassHinge, rng, n=40, n_features=4)
    problem.X /= np.abs(problem.X).max(axis=0)
    own = np.where(np.arange(12) < 3, 1.0 / scale**2, 1.0)
    plain = MulticlassHinge(problem.X.copy(), problem.y, l2=own)
    problem.X[:, 0] *= scale
    results = [solver.solve(p) for p in (plain, problem)]
    assert all(r.converged and 0.0 <= r.gap <= 1e-6 * r.primal for r in results)
    assert results[0].primal == pytest.approx(results[1].primal, rel=2e-6)
    # what the column may gain is bounded by the problem with hardly any penalty on it, or without the column
    near = MulticlassHinge(
        plain.X * [scale >= 1.0, 1.0, 1.0, 1.0], problem.y, l2=np.clip(own, 1e-9, 1.0)
    ).optimum()
    assert results[1].primal == pytest.approx(near, rel=1e-4)


@pytest.mark.parametrize("kind", [BinaryLogistic, MulticlassLogistic])
def test_smooth_losses_have_the_optimum_of_lbfgs(rng, kind):
    problem = make(kind, rng, l2=rng.uniform(0.5, 2.0, 6 if kind is BinaryLogistic else 18))
    result, reference = Bundle(tol=1e-7).solve(problem), LBFGS(tol=0.0).solve(problem)
    assert result.primal == pytest.approx(reference.primal, rel=1e-7)
    assert result.lower <= reference.primal * (1 + 1e-12)


def test_history_and_counts(rng):
    problem = make(MulticlassHinge, rng)
    result = Bundle(tol=1e-5).solve(problem)
    primals, lowers = [s.primal for s in result.history], [s.lower for s in result.history]
    assert primals == sorted(primals, reverse=True) and lowers == sorted(lowers)
    assert result.step == result.history[-1] and result.step.n_oracle == result.step.n_iter == problem.n_calls
    assert problem.n_calls <= 100


def test_memory_is_bounded(rng):
    """With room for a quarter of the cuts the run needs more of them, and ends at the same optimum."""
    problem = make(MulticlassHinge, rng, n=100, n_features=10, l2=1.0)
    free = Bundle(tol=1e-4).solve(problem)
    tight = Bundle(tol=1e-4, max_cuts=max(free.step.n_iter // 4, 2)).solve(problem)
    assert len(tight.state.pool) <= free.step.n_iter // 4
    assert tight.converged and tight.primal == pytest.approx(free.primal, rel=2e-4)


def test_tol_zero_ends_at_machine_precision(rng):
    result = Bundle(tol=0.0, max_iter=2000).solve(make(MulticlassHinge, rng, n=20, n_features=3))
    assert result.converged and result.reason in ("estimate: machine precision", "gap")
    assert abs(result.gap) <= 1e-12 * result.primal


def test_max_iter_warns_with_gap_and_remedy(rng):
    problem = make(MulticlassHinge, rng)
    with pytest.warns(
        ConvergenceWarning,
        match=r"bundle stopped after 3 iterations \(max_iter\).* with relative gap .* Increase",
    ):
        result = Bundle(max_iter=3, tol=1e-9).solve(problem)
    assert not result.converged and result.reason == "max_iter" and result.step.n_iter == 3


def test_callback_stops(rng):
    result = Bundle(callbacks=[lambda step: step.n_iter == 4]).solve(make(MulticlassHinge, rng))
    assert result.reason == "callback" and not result.converged and result.step.n_iter == 4
    assert result.primal == result.history[-1].primal


def test_start_near_the_optimum_helps(rng):
    problem = make(MulticlassLogistic, rng, l2=0.1)
    cold = Bundle(tol=1e-5).solve(problem)
    warm = Bundle(tol=1e-5).solve(problem, w0=cold.w)
    assert warm.step.n_iter < cold.step.n_iter and warm.history[0].primal == pytest.approx(cold.primal)


@pytest.mark.parametrize("l1", [0.0, 3.0])
def test_ten_and_ten_iterations_are_twenty(rng, l1):
    problem = make(MulticlassHinge, rng, n=100, n_features=10, l2=0.1, l1=l1)
    ten = Bundle(max_iter=10, tol=0.0, max_cuts=8)
    with pytest.warns(ConvergenceWarning):
        first = ten.solve(problem)
        stored = pickle.dumps(first.state)
        second = ten.solve(problem, state=pickle.loads(stored))
        again = ten.solve(problem, state=first.state)
        twenty = Bundle(max_iter=20, tol=0.0, max_cuts=8).solve(problem)
    for result in (second, again):
        np.testing.assert_array_equal(result.w, twenty.w)
        steps = [s[3:] for s in result.history], [s[3:] for s in twenty.history]
        assert steps[0][10:] == steps[1][10:] and steps[0][:9] == steps[1][:9]
        assert l1 or steps[0][9] == steps[1][9], "with L1, the tenth is that of the point with exact zeros"
        assert [s.n_iter for s in result.history] == list(range(1, 21))
    assert pickle.dumps(first.state) == stored, "a state that has been resumed is unchanged"


def test_bad_input(rng):
    with pytest.raises(
        MissingCapability, match="weight 0 has none; penalise it or use solver='linear_program'"
    ):
        Bundle().solve(make(MulticlassHinge, rng, l2=0.0, l1=1.0))
    l2 = np.ones(18)
    l2[5] = 0.0
    with pytest.raises(
        MissingCapability, match=r"l2 > 0 on every weight for MulticlassHinge, whose weight 5 has none"
    ):
        Bundle().solve(make(MulticlassHinge, rng, l2=l2))
    for name, value in (("max_iter", 0), ("tol", -1.0), ("max_cuts", 1)):
        with pytest.raises(ValueError, match=f"Bundle: {name} must be"):
            Bundle(**{name: value})
    problem = make(MulticlassHinge, rng)
    with pytest.raises(ValueError, match=r"w0 has shape \(2,\)"):
        Bundle().solve(problem, w0=np.zeros(2))
    state = Bundle().solve(problem).state
    problem.regularizer = penalty(18, 2.0, 0.0)
    with pytest.raises(ValueError, match=r"other weights or penalties.*w0=result\.w"):
        Bundle().solve(problem, state=state)
