"""Dual ascent: its certificate, its optimum, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from problems import KINDS, make_problem
from ramify.errors import MissingCapability
from ramify.objectives.dual_state import DualState
from ramify.regularizers.elastic import ElasticNet
from ramify.solvers.dual import DualAscent
from ramify.solvers.lbfgs import LBFGS
from ramify.structures import Chain, Multiclass


def even(problem, l2=0.7, l1=0.0):
    """One strength for all weights: what dual ascent needs of features and intercept."""
    problem.regularizer = ElasticNet(np.full(problem.n_params, l2), np.full(problem.n_params, l1))
    return problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
@pytest.mark.parametrize(("l2", "l1"), [(0.7, 0.0), (20.0, 0.0), (0.5, 0.3)])
def test_reaches_the_optimum_of_lbfgs_with_a_proof(rng, kind, structure, l2, l1):
    with make_problem(rng, kind, structure) as problem:
        even(problem, l2, l1)
        best = LBFGS(tol=1e-10, max_iter=5000).solve(problem)
        result = DualAscent(tol=1e-7, max_iter=20000).solve(problem)
        assert result.converged and result.reason == "gap"
        primal = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
        assert primal == pytest.approx(result.primal, rel=1e-12)
        assert 0.0 <= result.gap <= 1e-7 * primal
        assert result.lower <= best.primal * (1 + 1e-9) and result.primal <= best.primal * (1 + 2e-7)
        np.testing.assert_allclose(result.w, best.w, atol=2e-3)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_bound_never_falls_and_always_holds(rng, precision):
    with make_problem(rng, "names") as problem:
        even(problem)
        best = LBFGS(tol=1e-10).solve(problem)
        result = DualAscent(precision=precision, tol=1e-5, max_iter=5000).solve(problem)
        lower = np.array([step.lower for step in result.history])
        assert np.all(np.diff(lower) >= -1e-6 * abs(best.primal))
        assert np.all(lower <= best.primal * (1 + 1e-6))
        for _ in range(20):
            w = result.w + 0.1 * rng.normal(size=problem.n_params)
            assert problem.loss(w)[0] + problem.regularizer.value(w) >= result.lower - 1e-9


def test_sample_weights_count_as_repetitions(rng):
    with make_problem(rng, "names") as problem:
        even(problem)
        weight = rng.integers(0, 3, problem.n_samples).astype(float)
        problem.samples = problem.samples._replace(weight=weight)
        best = LBFGS(tol=1e-10).solve(problem)
        result = DualAscent(tol=1e-7, max_iter=20000).solve(problem)
        assert result.converged and result.primal == pytest.approx(best.primal, rel=1e-6)


def test_a_start_near_the_optimum_is_used(rng):
    with make_problem(rng, "names") as problem:
        even(problem)
        cold = DualAscent(tol=1e-6, max_iter=20000).solve(problem)
        warm = DualAscent(tol=1e-6, max_iter=20000).solve(problem, w0=cold.w)
        assert warm.converged and warm.step.n_iter < cold.step.n_iter
        anywhere = DualAscent(tol=1e-6, max_iter=20000).solve(problem, w0=rng.normal(size=problem.n_params))
        assert anywhere.primal == pytest.approx(cold.primal, rel=2e-6)


def test_any_start_has_a_dual_value_of_at_least_zero(rng):
    with make_problem(rng, "names") as problem:
        even(problem)
        state = DualState(
            problem.pack(float), problem.samples.codes, problem.samples.weight, (0.7, 0.7), (0.0, 0.0)
        )
        assert state.refresh()[1] == 0.0
        state.start_from(5.0 * rng.normal(size=problem.n_params))
        assert state.refresh()[1] >= 0.0


def test_resumes_where_it_stopped(rng):
    with make_problem(rng, "names") as problem:
        even(problem)

        def at(n):
            return lambda step: step.n_iter == n

        whole = DualAscent(tol=1e-12, callbacks=[at(9)]).solve(problem)
        first = DualAscent(tol=1e-12, callbacks=[at(4)]).solve(problem)
        rest = DualAscent(tol=1e-12, callbacks=[at(9)]).solve(problem, state=first.state)
        assert first.reason == whole.reason == "callback" and rest.step.n_iter == 9
        np.testing.assert_allclose(rest.w, whole.w, atol=1e-12)


def test_refuses_what_it_cannot_do(rng):
    with make_problem(rng, "names", surrogate="hinge") as problem:
        with pytest.raises(MissingCapability, match=r"Hinge on Chain.*lbfgs"):
            DualAscent().solve(even(problem))
    with make_problem(rng, "names") as problem:
        with pytest.raises(MissingCapability, match="l2 > 0"):
            DualAscent().solve(even(problem, l2=0.0, l1=1.0))
        strengths = np.ones(problem.n_params)
        strengths[0] = 2.0
        problem.regularizer = ElasticNet(strengths, np.zeros(problem.n_params))
        with pytest.raises(MissingCapability, match="one l2 and one l1"):
            DualAscent().solve(problem)
    with pytest.raises(ValueError, match="precision must be"):
        DualAscent(precision="half")


def test_warns_when_it_runs_out_of_epochs(rng):
    with make_problem(rng, "names") as problem, pytest.warns(match="dual ascent stopped after 2 epochs"):
        result = DualAscent(tol=1e-9, max_iter=2).solve(even(problem))
    assert not result.converged and np.isfinite(result.gap)
