"""Dual ascent: its certificate, its optimum, and what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import KINDS, make_problem

from palmette import CRF
from palmette.contracts.solver import Step
from palmette.errors import MissingCapability
from palmette.regularizers import Decomposition
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.bundle import Bundle
from palmette.solvers.dual import PASSES, DualAscent
from palmette.solvers.lbfgs import LBFGS
from palmette.structures import Chain, Multiclass
from palmette.structures.chain.loops.dual_state import DualState


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
        state = DualState(problem, float)
        assert state.refresh()[1] == 0.0
        state.start_from(5.0 * rng.normal(size=problem.n_params))
        assert state.refresh()[1] >= 0.0


@pytest.mark.parametrize("l1", [0.0, 0.2])
@pytest.mark.parametrize("tol", [1e-5, 1e-12])
def test_resumes_bitwise(rng, l1, tol):
    with make_problem(rng, "names") as problem:
        even(problem, l1=l1)

        def at(n):
            return DualAscent(tol=tol, callbacks=[lambda step: step.n_iter == n])

        whole, first = at(9).solve(problem), at(4).solve(problem)
        with pytest.warns(match="after 4 epochs"):
            limited = DualAscent(tol=tol, max_iter=4).solve(problem)
        assert first.reason == whole.reason == "callback" and limited.reason == "max_iter"
        for earlier in (first, first, limited):
            rest = at(9).solve(problem, state=earlier.state)
            np.testing.assert_array_equal(rest.w, whole.w)
            assert rest.step._replace(seconds=0.0) == whole.step._replace(seconds=0.0)
            assert len(rest.history) == len(whole.history)


@pytest.mark.parametrize("l1", [0.0, 1e-3])
@pytest.mark.parametrize(("l2", "tol"), [(1e-3, 1e-4), (0.02, 1e-9)])
def test_a_weak_penalty_is_handed_to_lbfgs_with_the_bound(rng, l2, l1, tol):
    with make_problem(rng, "names") as problem:
        even(problem, l2, l1)
        best = LBFGS(tol=1e-10, max_iter=5000).solve(problem)
        result = DualAscent(tol=tol).solve(problem)
        epochs = result.state.begun
        assert result.reason == "gap" and 0 < epochs < result.step.n_iter == len(result.history)
        primal = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
        assert primal == pytest.approx(result.primal, rel=1e-12) and result.gap <= tol * primal
        lower = np.array([step.lower for step in result.history])
        assert np.all(lower <= best.primal * (1 + 1e-6)) and np.all(
            lower[epochs:] >= lower[epochs - 1] * (1 - 1e-6)
        )
        assert np.all(np.diff([step.n_oracle for step in result.history]) > 0)

        for n in (epochs - 1, epochs, epochs + 1, epochs + 3):
            first = DualAscent(tol=tol, callbacks=[lambda step, n=n: step.n_iter == n]).solve(problem)
            assert first.reason == "callback"
            for state in (first.state, pickle.loads(pickle.dumps(first.state))):
                rest = DualAscent(tol=tol).solve(problem, state=state)
                np.testing.assert_array_equal(rest.w, result.w)
                # A stop is one more look at the cuts, which may prove a last digit more.
                assert rest.lower == pytest.approx(result.lower, rel=1e-12)
                assert rest.step[:2] == result.step[:2] and rest.primal == result.primal


@pytest.mark.parametrize("l2", [1e-3, 1e-5, 1e-7])
def test_bounds_of_tiny_objectives_hold(rng, l2):
    # Where labels follow from features the objective is tiny beside the scores, whose rounding single marginals have.
    labels = [rng.integers(0, 4, 8) for _ in range(150)]
    X = [[[f"f{k}", f"w{rng.integers(200)}"] for k in y] for y in labels]
    Y = [[str(k) for k in y] for y in labels]
    best = CRF(Chain(), l2=l2, solver=LBFGS(tol=1e-7, max_iter=5000)).fit(X, Y).result_
    found = CRF(Chain(), l2=l2, solver=DualAscent(tol=1e-4)).fit(X, Y).result_
    assert found.reason == "gap" and found.lower <= best.primal * (1 + 1e-9)
    assert found.primal <= best.primal * (1 + 1.01e-4)
    with pytest.raises(ValueError, match="precision='single' proves nothing"):
        CRF(Chain(), l2=l2, solver=DualAscent(tol=1e-4, precision="single")).fit(X, Y)


@pytest.mark.parametrize("l2", [1e-5, 1e-7])
def test_a_bound_above_the_objective_is_none(rng, monkeypatch, l2):
    monkeypatch.setattr(DualState, "short_steps", np.inf)  # single marginals where they prove nothing
    labels = [rng.integers(0, 4, 8) for _ in range(150)]
    X = [[[f"f{k}", f"w{rng.integers(200)}"] for k in y] for y in labels]
    Y = [[str(k) for k in y] for y in labels]
    best = CRF(Chain(), l2=l2, solver=LBFGS(tol=1e-7, max_iter=5000)).fit(X, Y).result_
    if l2 == 1e-5:  # ascent meets it, and stops
        with pytest.warns(match=r"rounding of marginals.*Use precision='double'"):
            found = CRF(Chain(), l2=l2, solver=DualAscent(tol=1e-4)).fit(X, Y).result_
        assert not found.converged and found.lower == -np.inf
    else:  # L-BFGS meets it, and goes on without
        found = CRF(Chain(), l2=l2, solver=DualAscent(tol=1e-4)).fit(X, Y).result_
        assert found.converged and found.lower <= best.primal * (1 + 1e-9)
        assert found.primal <= best.primal * (1 + 1.01e-4)


def test_ascent_that_is_fast_goes_on_alone(rng):
    with make_problem(rng, "names") as problem:
        state = DualAscent(tol=1e-6).solve(even(problem, 20.0)).state
        assert state.descent is None and len(state.met) > 1


def test_a_run_that_was_handed_over_names_the_remedy_of_lbfgs(rng):
    with make_problem(rng, "names") as problem:
        even(problem, 1e-3)
        epochs = DualAscent().solve(problem).state.begun
        with pytest.warns(match=f"dual stopped after {epochs + 1} epochs.*Increase max_iter"):
            limited = DualAscent(max_iter=epochs + 1).solve(problem)
        assert not limited.converged and 0.0 <= limited.gap < np.inf


def test_columns_that_need_scaling_are_not_handed_over(rng):
    with make_problem(rng, "arrays") as problem:
        batch = problem.samples.batch
        problem.samples = problem.samples._replace(batch=replace(batch, rows=8.0 * batch.rows))
        with pytest.warns(match=f"after {4 * PASSES} epochs"):
            result = DualAscent(tol=1e-6, max_iter=4 * PASSES).solve(even(problem, 3.2))
        assert result.state.descent is None and result.step.n_oracle > PASSES


def test_refuses_what_it_cannot_do(rng):
    with make_problem(rng, "names", surrogate="hinge") as problem:
        with pytest.raises(MissingCapability, match=r"Hinge on Chain.*use solver='frank_wolfe', 'bundle'"):
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


def test_single_precision_refuses_a_tol_it_cannot_prove(rng):
    with pytest.raises(
        ValueError, match=r"DualAscent: precision='single' proves no gap below 1e-05, got tol="
    ):
        DualAscent(precision="single", tol=1e-8)
    with make_problem(rng, "names") as problem:
        result = DualAscent(precision="single", tol=1e-5, max_iter=5000).solve(even(problem))
        assert result.converged and 0.0 <= result.gap <= 1e-5 * result.primal


def test_rounding_does_not_take_a_gap_below_zero():
    assert Step(1, 1.0, 0.0, 2.0, 2.0 + 1e-15).gap == 0.0


@pytest.mark.parametrize("solver", [DualAscent(), LBFGS(), Bundle()])
def test_solvers_of_whole_samples_refuse_groups_and_pieces(rng, solver):
    with make_problem(rng, "names") as problem:
        even(problem)
        plain, problem.regularizer = problem.regularizer, SimpleNamespace(separable=False)
        with pytest.raises(MissingCapability, match="does not support a group lasso"):
            solver.solve(problem)
        problem.regularizer, problem.decomposition = plain, Decomposition(2.5)
        with pytest.raises(
            MissingCapability, match="does not support Decomposition: use solver='stochastic'"
        ):
            solver.solve(problem)


def test_names_the_kind_of_chain_it_does_not_serve():
    chain = Chain(order=2, allowed="IOB2")
    with pytest.raises(MissingCapability) as caught:
        CRF(chain, solver="dual").fit([[["a"], ["b"], ["c"]]], [["B", "I", "O"]])
    assert "dual keeps marginals of outputs for the log loss, and has none for" in str(caught.value)
    assert str(caught.value).endswith(f"LogLoss on {chain!r}: use solver='lbfgs' or 'stochastic'")


def test_warns_when_it_runs_out_of_epochs(rng):
    with make_problem(rng, "names") as problem, pytest.warns(match="dual stopped after 2 epochs"):
        result = DualAscent(tol=1e-9, max_iter=2).solve(even(problem))
    assert not result.converged and np.isfinite(result.gap)


@pytest.mark.parametrize(
    ("value", "l2", "few", "name"),
    [
        (1.0, 1.0, 2, "dual"),
        (6.0, 1.0, 2, "dual"),
        (8.0, 1.0, 2, "lbfgs"),
        (1.0, 0.01, 2, "dual"),
        (1.0, 1.0, 3, "lbfgs"),  # which are all features that there are
    ],
)
def test_auto_leaves_large_values_and_little_data_to_lbfgs(monkeypatch, value, l2, few, name):
    from palmette import CRF, Chain
    from palmette.estimators import base

    monkeypatch.setattr("palmette.estimators.crf.FEW_WEIGHTS", 0)
    monkeypatch.setattr(DualState, "few_features", few)
    asked = []

    def spy(solver, **settings):
        asked.append(solver)
        return make(solver, **settings)

    make = base.make_solver
    monkeypatch.setattr(base, "make_solver", spy)
    CRF(Chain(), l2=l2).fit([[{"a": value}, {"b": 1.0}], [{"b": 1.0}]], [["x", "y"], ["y"]])
    assert asked == [name]
