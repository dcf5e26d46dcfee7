"""Subgradient method, Pegasos and cutting planes: optima, certificates at every step, direct descent on ramp losses."""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from m3n_reference import dual_optimum, problem_of
from problems import KINDS, make_problem
from sklearn.exceptions import ConvergenceWarning

from palmette import SSVM, Chain, Graph, GraphInput, Multiclass, SemiMarkov
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.pegasos_epoch import run_epoch
from palmette.regularizers import Decomposition, ElasticNet
from palmette.solvers import LBFGS, Bundle, NSlack, OneSlack, Pegasos, Subgradient
from palmette.solvers.block_ascent import dual_value
from palmette.solvers.cccp import CCCP
from palmette.solvers.working_set import WorkingSetBlocks
from palmette.surrogates import Difference, PerceptronLoss

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
SOLVERS = [
    Subgradient(tol=1e-2, max_iter=3000),
    Pegasos(tol=1e-2, max_iter=3000),
    Pegasos(tol=2e-2, max_iter=3000, batch=3, averaged=False),
    OneSlack(tol=1e-6),
    NSlack(tol=1e-6),
]
DIRECT = [Subgradient(tol=1e-3, max_iter=200), Pegasos(tol=1e-3, max_iter=100)]
seeds = st.integers(0, 2**32 - 1)
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
direct_solver = pytest.mark.parametrize("solver", DIRECT, ids=lambda s: type(s).__name__)


def graphs(rng, n=4):
    """Squares with features on nodes and edges."""
    inputs = [GraphInput(np.round(rng.normal(size=(4, 2)), 1), np.array(SQUARE)) for _ in range(n)]
    return inputs, [["abc"[k] for k in rng.integers(0, 3, 4)] for _ in inputs]


def segments(rng, n=5):
    """Sequences cut into segments of one or two positions."""
    X = [np.round(rng.normal(size=(4, 3)), 1) for _ in range(n)]
    cuts = [[(0, 2), (2, 3), (3, 4)], [(0, 1), (1, 3), (3, 4)]]
    return X, [[(a, b, "xy"[rng.integers(2)]) for a, b in cuts[i % 2]] for i in range(n)]


@contextmanager
def problem_of_kind(rng, kind):
    """A small problem with a hinge loss: ``graph``, ``segments``, ``multiclass`` or a chain with features of a kind."""
    if kind == "graph":
        yield problem_of(SSVM(Graph(), l2=1.0, l2_edge=2.0), *graphs(rng))
    elif kind == "segments":
        yield problem_of(SSVM(SemiMarkov(2), l2=1.0), *segments(rng))
    else:
        structure = Multiclass() if kind == "multiclass" else Chain()
        with make_problem(rng, "dense" if kind == "multiclass" else kind, structure, "hinge") as problem:
            yield problem


def ramp(problem):
    return problem.with_surrogate(Difference(problem.surrogate, PerceptronLoss()))


def objective(problem, w):
    return problem.loss(w)[0] + problem.regularizer.value(w)


def quietly(solver, problem, **options):
    """The result of a run that is meant to be too short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solver.solve(problem, **options)


def check_history(result, optimum):
    """Every step brackets the optimum, and neither bound ever gets worse."""
    for step in result.history:
        assert step.lower <= optimum * (1 + 1e-9) and optimum * (1 - 1e-9) <= step.primal
    for before, after in zip(result.history, result.history[1:]):
        assert before.lower <= after.lower + 1e-9 * optimum and after.primal <= before.primal
        assert before.n_oracle < after.n_oracle and before.n_iter < after.n_iter


# -- convex problems --------------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("kind", [*KINDS, "multiclass", "graph", "segments"])
def test_all_solvers_reach_the_optimum_and_prove_it(rng, solver, kind):
    with problem_of_kind(rng, kind) as problem:
        optimum = Bundle(tol=1e-10).solve(problem).primal
        result = solver.solve(problem)
        assert result.converged and result.reason == "gap" and result.gap <= solver.tol * result.primal
        assert result.primal == pytest.approx(objective(problem, result.w), rel=1e-12)
        check_history(result, optimum)


@every_solver
def test_the_optimum_is_that_of_the_quadratic_program(rng, solver):
    with make_problem(rng, "dense", Multiclass(), "hinge") as problem:
        optimum = dual_optimum(problem, "labelings")
        result = solver.solve(problem)
        assert result.lower <= optimum * (1 + 1e-7) and optimum * (1 - 1e-7) <= result.primal
        assert result.primal <= optimum * (1 + 2 * solver.tol)


@given(seed=seeds, kind=st.sampled_from(["dense", "names", "multiclass"]), n=st.integers(1, 6))
@settings(max_examples=15)
def test_runs_of_any_length_bracket_the_optimum(seed, kind, n):
    with problem_of_kind(np.random.default_rng(seed), kind) as problem:
        optimum = Bundle(tol=1e-10).solve(problem).primal
        for solver in SOLVERS:
            result = quietly(replace(solver, max_iter=n), problem)
            check_history(result, optimum)
            assert result.primal <= objective(problem, np.zeros(problem.n_params)) * (1 + 1e-12)


@pytest.mark.parametrize("solver", SOLVERS[:4], ids=lambda s: type(s).__name__)
def test_no_run_ends_worse_than_its_start(rng, solver):
    with problem_of_kind(rng, "dense") as problem:
        best = Bundle(tol=1e-9).solve(problem).w
        for w0 in (best, best + 0.01 * rng.normal(size=best.shape), rng.normal(size=best.shape)):
            result = quietly(replace(solver, max_iter=2, tol=0.0), problem, w0=w0)
            assert result.primal <= objective(problem, w0) * (1 + 1e-12)


@every_solver
def test_a_resumed_run_is_one_that_never_stopped(rng, solver):
    with problem_of_kind(rng, "dense") as problem:
        first = quietly(replace(solver, max_iter=7, tol=0.0), problem)
        stored = pickle.dumps(first.state)
        resumed = quietly(replace(solver, max_iter=13, tol=0.0), problem, state=first.state)
        straight = quietly(replace(solver, max_iter=20, tol=0.0), problem)
        np.testing.assert_array_equal(resumed.w, straight.w)
        assert [s.lower for s in resumed.history[7:]] == [s.lower for s in straight.history[7:]]
        assert resumed.primal == straight.primal
        assert [s.n_iter for s in resumed.history] == list(range(1, 21))
        assert pickle.dumps(first.state) == stored, "a state that has been resumed is unchanged"


@pytest.mark.parametrize("solver", [SOLVERS[0], SOLVERS[1], SOLVERS[4]], ids=lambda s: type(s).__name__)
def test_any_convex_loss_will_do(rng, solver):
    with make_problem(rng, "dense", Chain(), "log") as problem:
        reference = LBFGS(tol=1e-10).solve(problem)
        result = replace(solver, tol=1e-2).solve(problem)
        assert result.reason == "gap" and result.lower <= reference.primal <= result.primal


def test_callbacks_stop_and_short_runs_warn(rng):
    with problem_of_kind(rng, "dense") as problem:
        for solver in SOLVERS:
            stopped = replace(solver, callbacks=(lambda step: step.n_iter == 3,), tol=1e-9).solve(problem)
            assert stopped.reason == "callback" and len(stopped.history) == 3 and not stopped.converged
            with pytest.warns(ConvergenceWarning, match=r"stopped after 2 .*gap.*Increase max_iter"):
                replace(solver, max_iter=2, tol=1e-9).solve(problem)


@pytest.mark.parametrize("name", ["subgradient", "pegasos", "one_slack", "n_slack"])
@pytest.mark.parametrize("kind", ["chain", "multiclass", "graph", "segments"])
def test_estimators_know_them_by_name(rng, name, kind):
    structure = {"chain": Chain(), "multiclass": Multiclass(), "graph": Graph(), "segments": SemiMarkov(2)}[
        kind
    ]
    if kind == "multiclass":
        X, y = rng.normal(size=(12, 3)), ["abc"[k] for k in rng.integers(0, 3, 12)]
    elif kind == "chain":
        X = [rng.normal(size=(3, 2)) for _ in range(6)]
        y = [["ab"[k] for k in rng.integers(0, 2, 3)] for _ in X]
    else:
        X, y = (graphs if kind == "graph" else segments)(rng)
    model = SSVM(structure, l2=2.0, solver=name, tol=0.05, max_iter=2000).fit(X, y)
    assert model.result_.reason == "gap" and len(model.predict(X)) == len(X)


# -- Pegasos ----------------------------------------------------------------------------------------------------------


def plain_epoch(problem, w, order, batch, n_steps, limit):
    """Pegasos as it is written: dense weights, one gradient at a time."""
    l2, total = problem.regularizer.l2, np.zeros_like(w)
    for step, first in enumerate(range(0, len(order), batch)):
        visited, gradient = order[first : first + batch], np.zeros_like(w)
        for i in visited:
            _, counts, inputs = problem.sample_loss(int(i), w)
            problem.scorer.pull_back(counts, inputs, gradient)
        rate = 1.0 / (n_steps + step + 1)
        w = (1 - rate) * w - rate * len(order) / len(visited) * gradient / l2
        w = w * min(1.0, np.sqrt(limit / (l2 @ w**2)))
        total = total + w
    return w, total


@given(
    seed=seeds, kind=st.sampled_from([*KINDS, "multiclass"]), batch=st.integers(1, 9),
    limit=st.sampled_from([1e9, 0.5, 1e-6]), direct=st.booleans(),
)  # fmt: skip
@settings(max_examples=25)
def test_epochs_are_those_of_the_definition(seed, kind, batch, limit, direct):
    """The compiled loop and the generic one, with their scale that is multiplied out when it gets small."""
    rng = np.random.default_rng(seed)
    with problem_of_kind(rng, kind) as problem:
        problem = ramp(problem) if direct else problem
        w, order = rng.normal(size=problem.n_params), rng.permutation(problem.n_samples)
        found = run_epoch(problem, w, order, batch, 5, limit)
        expected = plain_epoch(problem, w, order, batch, 5, limit)
        assert find("pegasos", problem).compiled
        np.testing.assert_allclose(found.w, expected[0], atol=1e-10)
        np.testing.assert_allclose(found.total, expected[1], atol=1e-9)
        with mock.patch("palmette.loops.pegasos_epoch.find", lambda *_: None):
            generic = run_epoch(problem, w, order, batch, 5, limit)
        np.testing.assert_allclose(generic.w, expected[0], atol=1e-10)
        np.testing.assert_allclose(generic.total, expected[1], atol=1e-9)
        if not direct:
            assert generic.offset == pytest.approx(found.offset, abs=1e-9)
            np.testing.assert_allclose(generic.gradient, found.gradient, atol=1e-9)


@given(seed=seeds, kind=st.sampled_from(["dense", "names", "multiclass"]), batch=st.integers(1, 4))
@settings(max_examples=15)
def test_an_epoch_gives_a_cut_of_the_loss(seed, kind, batch):
    rng = np.random.default_rng(seed)
    with problem_of_kind(rng, kind) as problem:
        w, order = rng.normal(size=problem.n_params), rng.permutation(problem.n_samples)
        epoch = run_epoch(problem, w, order, batch, problem.n_samples, 1e9)
        for u in (epoch.w, w, *rng.normal(size=(5, problem.n_params))):
            assert problem.loss(u)[0] >= epoch.offset + epoch.gradient @ u - 1e-9


def test_the_penalty_of_the_optimum_is_within_the_limit(rng):
    for kind in ("dense", "multiclass", "graph"):
        with problem_of_kind(rng, kind) as problem:
            w = Bundle(tol=1e-9).solve(problem).w
            assert 2 * problem.regularizer.value(w) <= problem.loss(np.zeros_like(w))[0] * (1 + 1e-6)


# -- working sets -----------------------------------------------------------------------------------------------------


@given(seed=seeds, n=st.integers(1, 30))
@settings(max_examples=10)
def test_masses_are_distributions_and_imply_the_weights(seed, n):
    with problem_of_kind(np.random.default_rng(seed), "dense") as problem:
        active = quietly(NSlack(tol=0.0, max_iter=n, check_every=1000), problem).state.active
        mass, sample = active.mass[: active.n_constraints], active.sample[: active.n_constraints]
        sums = np.bincount(sample, mass, minlength=problem.n_samples)
        assert mass.min(initial=0.0) >= -1e-15 and sums.max() <= 1 + 1e-12
        w, dual = active.w.copy(), dual_value(problem, active)
        WorkingSetBlocks(problem).refresh(active)
        np.testing.assert_allclose(active.w, w, atol=1e-9)
        assert dual_value(problem, active) == pytest.approx(dual, abs=1e-9)


def test_idle_constraints_are_dropped_and_others_stay(rng):
    with problem_of_kind(rng, "dense") as problem:
        active = quietly(NSlack(tol=0.0, max_iter=40), problem).state.active
        used = active.mass[: active.n_constraints] > 0
        before = (used.sum(), active.w.copy())
        for s in range(problem.n_samples):  # constraints that nobody needs
            active.add(s, -1.0, np.array([s, s + 1]), np.array([0.1, 0.2]))
        active.epoch += 1000
        active.drop_idle()
        assert active.n_constraints == before[0] and np.all(active.mass > 0)
        seen = []
        for s in range(problem.n_samples):
            k = active.head[s]
            while k >= 0:
                assert active.sample[k] == s
                seen.append(k)
                k = active.following[k]
        assert sorted(seen) == list(range(active.n_constraints))
        WorkingSetBlocks(problem).refresh(active)
        np.testing.assert_allclose(active.w, before[1], atol=1e-9)


def test_other_penalties_start_from_the_masses(rng):
    with problem_of_kind(rng, "dense") as problem:
        first = SOLVERS[4].solve(problem)
        problem.regularizer = ElasticNet(1.1 * problem.regularizer.l2, problem.regularizer.l1)
        cold = SOLVERS[4].solve(problem)
        warm = SOLVERS[4].solve(problem, state=SOLVERS[4].restart(problem, first.state))
        assert warm.primal == pytest.approx(cold.primal, rel=2e-6)
        assert warm.step.n_oracle < cold.step.n_oracle


# -- direct descent, radius -------------------------------------------------------------------------------------------


@direct_solver
@pytest.mark.parametrize("kind", ["dense", "names", "multiclass", "graph", "segments"])
def test_the_ramp_loss_is_minimised_directly_and_nothing_is_claimed(rng, solver, kind):
    with problem_of_kind(rng, kind) as problem:
        direct, convex = ramp(problem), Bundle(tol=1e-6).solve(problem)
        result = quietly(solver, direct, w0=convex.w)
        assert result.primal == pytest.approx(objective(direct, result.w), rel=1e-12)
        assert result.primal <= objective(direct, convex.w) <= convex.primal
        assert np.isnan(result.lower) and np.isnan(result.gap) and result.reason != "gap"
        assert quietly(solver, direct).primal <= convex.primal * (1 + 1e-2)


@direct_solver
def test_direct_descent_goes_on_where_it_stopped(rng, solver):
    with problem_of_kind(rng, "dense") as problem:
        direct = ramp(problem)
        short = replace(solver, max_iter=9, tol=-0.0)
        first = quietly(short, direct)
        resumed = quietly(replace(solver, max_iter=11, tol=0.0), direct, state=first.state)
        straight = quietly(replace(solver, max_iter=20, tol=0.0), direct)
        np.testing.assert_array_equal(resumed.w, straight.w)


def test_polyak_steps_descend_where_the_bound_is_far_below_the_optimum():
    X, Y = make_chains(20, n_classes=3, n_features=4, random_state=0)

    def objective(solver):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = SSVM(Chain(), l2=1e-4, solver=solver).fit(X, Y).result_
        return result.primal, result.step.lower

    best, _ = objective(Bundle(max_iter=300))
    reached, lower = objective(Subgradient(max_iter=60))
    assert lower < 0.1 * best
    assert reached < 1.1 * best, "the bound alone as the target stays at 1.2 times the optimum"


@pytest.mark.parametrize("inner", [OneSlack(tol=1e-3), Subgradient(tol=1e-2)], ids=lambda s: type(s).__name__)
def test_rounds_of_the_concave_convex_procedure_take_them(rng, inner):
    with problem_of_kind(rng, "dense") as problem:
        direct, start = ramp(problem), Bundle(tol=1e-6).solve(problem).w
        result = quietly(CCCP(inner=inner, tol=1e-3), direct, w0=start)
        assert result.primal == pytest.approx(objective(direct, result.w), rel=1e-9)
        assert result.primal <= objective(direct, start) * (1 + 1e-12)


@pytest.mark.parametrize("solver", [Bundle(), OneSlack(), NSlack()], ids=lambda s: type(s).__name__)
def test_cutting_planes_need_convex_losses(rng, solver):
    with problem_of_kind(rng, "dense") as problem, pytest.raises(MissingCapability, match="convex"):
        solver.solve(ramp(problem))


@pytest.mark.parametrize("sphere", [False, True])
def test_a_radius_is_another_penalty(rng, sphere):
    """The minimiser under ``l2 + more`` is the one under ``l2`` on the ball through it, and on the sphere."""
    with problem_of_kind(rng, "dense") as problem:
        n = problem.n_params
        problem.regularizer = ElasticNet(np.full(n, 3.0), np.zeros(n))
        w = Bundle(tol=1e-10).solve(problem).w
        problem.regularizer = ElasticNet(np.full(n, 0.5), np.zeros(n))
        radius, optimum = float(np.linalg.norm(w)), objective(problem, w)
        result = quietly(Subgradient(radius=radius, sphere=sphere, max_iter=1500, tol=1e-5), problem)
        length = np.linalg.norm(result.w)
        assert length == pytest.approx(radius) if sphere else length <= radius * (1 + 1e-12)
        assert optimum * (1 - 1e-9) <= result.primal <= optimum * (1 + 5e-3)
        assert result.lower <= optimum


def test_a_radius_makes_up_for_missing_penalties(rng):
    with problem_of_kind(rng, "dense") as problem:
        n = problem.n_params
        problem.regularizer = ElasticNet(np.zeros(n), np.zeros(n))
        result = quietly(Subgradient(radius=2.0, max_iter=200), problem)
        assert np.linalg.norm(result.w) <= 2.0 * (1 + 1e-12) and np.isnan(result.gap)
        assert result.primal < objective(problem, np.zeros(n))


def test_a_sphere_needs_a_point_on_it(rng):
    with problem_of_kind(rng, "dense") as problem:
        flat = problem.with_surrogate(Difference(PerceptronLoss(), PerceptronLoss()))
        flat.regularizer = ElasticNet(np.ones(problem.n_params), np.zeros(problem.n_params))
        with pytest.raises(ValueError, match=r"gradient at zero is zero.*give w0"):
            Subgradient(radius=1.0, sphere=True).solve(flat)
        w0 = rng.normal(size=problem.n_params)
        result = Subgradient(radius=1.0, sphere=True).solve(flat, w0=w0)
        assert result.reason == "estimate: stationary point"
        np.testing.assert_allclose(result.w, w0 / np.linalg.norm(w0))


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bad_settings():
    for kind, options in (
        (Subgradient, {"max_iter": 0}), (Subgradient, {"tol": -1.0}), (Subgradient, {"radius": 0.0}),
        (Subgradient, {"check_every": 0}), (Pegasos, {"batch": 0}), (Pegasos, {"batch": 1.5}),
        (Pegasos, {"max_iter": "many"}), (OneSlack, {"max_cuts": 1}), (NSlack, {"tol": -1.0}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{kind.__name__}.*{next(iter(options))}"):
            kind(**options)
    with pytest.raises(ValueError, match="sphere=True needs the radius"):
        Subgradient(sphere=True)


@every_solver
def test_what_they_cannot_take_is_refused_before_the_first_step(rng, solver):
    with problem_of_kind(rng, "dense") as problem:
        n, sound = problem.n_params, problem.regularizer
        problem.regularizer = ElasticNet(np.ones(n), np.ones(n))
        if not isinstance(solver, OneSlack):
            with pytest.raises(MissingCapability, match=r"without l1 .* weight 0 .*use solver='bundle'"):
                solver.solve(problem)
        problem.regularizer = ElasticNet(np.append(np.ones(n - 1), 0.0), np.zeros(n))
        with pytest.raises(MissingCapability, match=f"weight {n - 1} has none"):
            solver.solve(problem)
        problem.regularizer, problem.decomposition = sound, Decomposition(2)
        with pytest.raises(MissingCapability, match="does not support Decomposition"):
            solver.solve(problem)


class WholeLoss:
    """A problem without losses of single samples."""

    def __init__(self, problem):
        self.loss, self.regularizer = problem.loss, problem.regularizer
        self.n_params, self.smooth = problem.n_params, problem.smooth


def test_states_and_starts_of_other_problems_are_refused(rng):
    with problem_of_kind(rng, "dense") as problem, problem_of_kind(rng, "multiclass") as other:
        for solver in SOLVERS[:4]:
            state = quietly(replace(solver, max_iter=1), problem).state
            with pytest.raises(ValueError, match="belongs to a problem with other weights"):
                solver.solve(other, state=state)
            with pytest.raises(ValueError, match="w0 has shape"):
                solver.solve(problem, w0=np.zeros(1))
        with pytest.raises(MissingCapability, match="n_slack cannot start from given weights"):
            NSlack().solve(problem, w0=np.ones(problem.n_params))
        for solver in (NSlack(), Pegasos()):
            with pytest.raises(MissingCapability, match="sample_loss"):
                solver.solve(WholeLoss(problem))
        assert Subgradient(tol=1e-2).solve(WholeLoss(problem)).reason == "gap"
