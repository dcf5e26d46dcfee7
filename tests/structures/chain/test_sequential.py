"""Sequential solvers: compiled loops and the generic driver take the same steps."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from problems import CLASSES, KINDS, make_problem

from palmette.loops import find
from palmette.loops.active_set import ActiveSet
from palmette.loops.hinge_blocks import GenericBlocks
from palmette.loops.stochastic_pass import GenericPass, PassState, stochastic_pass
from palmette.losses import Hamming, ZeroOne
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.frank_wolfe import FrankWolfe
from palmette.solvers.perceptron import AveragedPerceptron
from palmette.solvers.stochastic import Stochastic
from palmette.structures import Chain, Multiclass
from palmette.structures.chain.loops.hinge_blocks import PackedBlocks


def by_column(problem):
    """The penalty of a problem with another strength for each column."""
    scorer, reg = problem.scorer, problem.regularizer
    factor = np.ones(problem.n_params)
    factor[scorer.blocks["node"]] = 1.0 + 0.5 * np.arange(scorer.n_columns)[scorer.coordinates()[0]]
    return ElasticNet(factor * reg.l2, factor * reg.l1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
@pytest.mark.parametrize("surrogate", ["log", "hinge", "perceptron"])
@pytest.mark.parametrize("adaptive", [True, False])
def test_stochastic_steps_are_the_same_compiled_and_generic(rng, kind, structure, surrogate, adaptive):
    with make_problem(rng, kind, structure, surrogate, l1=0.05) as problem:
        problem.regularizer = by_column(problem)
        states = []
        assert find("stochastic", problem).compiled
        for run in (partial(stochastic_pass, problem), GenericPass(problem).run):
            state = PassState.new(problem, None, adaptive=adaptive, rate=0.3)
            state.decay = 0.1
            order = np.arange(problem.n_samples)
            value, updates = run(state, order)
            states.append((value, updates, state))
        (v1, u1, a), (v2, u2, b) = states
        assert v1 == pytest.approx(v2, rel=1e-12) and u1 == u2
        for name in ("w", "drift", "squares"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12)
        assert np.any(a.w != 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), "seen pairs only", Multiclass()])
@pytest.mark.parametrize("gram", [False, True])
def test_frank_wolfe_visits_are_the_same_compiled_and_generic(rng, kind, structure, gram):
    if gram and kind == "names":
        pytest.skip("inner products of rows serve where every column has all labels")
    seen_only = isinstance(structure, str)
    with make_problem(rng, kind, Chain() if seen_only else structure, "hinge") as problem:
        if seen_only:
            words = np.split(problem.samples.codes, problem.samples.batch.offsets[1:-1])
            pairs = {(CLASSES[i], CLASSES[j]) for word in words for i, j in zip(word, word[1:])}
            assert len(pairs) < 9
            problem.structure = Chain(allowed=sorted(pairs)).bind(CLASSES)
        problem.regularizer = by_column(problem)
        one, two = ActiveSet.at_truth(problem, 2), ActiveSet.at_truth(problem, 2)
        compiled, generic = PackedBlocks(problem, gram), GenericBlocks(problem)
        generic.inner = compiled.inner
        for _ in range(3):
            order = rng.permutation(problem.n_samples)
            compiled.visit(one, order)
            generic.visit(two, order)
            np.testing.assert_allclose(one.gap, two.gap, atol=1e-9)
        np.testing.assert_allclose(one.w, two.w, atol=1e-10)
        np.testing.assert_allclose(one.mass, two.mass, atol=1e-10)
        np.testing.assert_allclose(one.loss, two.loss, atol=1e-10)
        for blocks in (compiled, generic):
            fresh = one.copy()
            fresh.w[:], fresh.loss[:] = 0.0, 0.0
            blocks.refresh(fresh)
            np.testing.assert_allclose(fresh.w, one.w, atol=1e-10)
            np.testing.assert_allclose(fresh.loss, one.loss, atol=1e-10)
        assert compiled.value(one.w) == pytest.approx((problem.loss(one.w)[0], 0.0), rel=1e-12)


@pytest.mark.parametrize("loss", [Hamming(), Hamming({"a": 0.25}), ZeroOne()])
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_frank_wolfe_reaches_its_certified_gap(rng, structure, loss):
    with make_problem(rng, "dense", structure, "hinge", loss=loss) as problem:
        result = FrankWolfe(tol=1e-7).solve(problem)
        assert result.converged and result.reason == "gap"
        primal = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
        assert primal == pytest.approx(result.primal, rel=1e-12)
        assert 0 <= result.gap <= 1e-7 * primal * (1 + 1e-9)
        for _ in range(20):  # the lower bound holds everywhere
            w = result.w + rng.normal(size=problem.n_params) * 0.1
            assert problem.loss(w)[0] + problem.regularizer.value(w) >= result.lower - 1e-9


def test_frank_wolfe_resumes_where_it_stopped(rng):
    with make_problem(rng, "dense", surrogate="hinge") as problem:
        stop_at = {3: None}

        def stop(step):
            return step.n_iter in stop_at

        first = FrankWolfe(tol=1e-12, callbacks=[stop]).solve(problem)
        assert first.reason == "callback" and first.step.n_iter == 3
        stop_at = {9: None}
        rest = FrankWolfe(tol=1e-12, callbacks=[stop]).solve(problem, state=first.state)
        whole = FrankWolfe(tol=1e-12, callbacks=[stop]).solve(problem)
        np.testing.assert_allclose(rest.state.active.w, whole.state.active.w, atol=1e-13)


@pytest.mark.parametrize("rule", ["adagrad", "sgd"])
@pytest.mark.filterwarnings("ignore:stochastic stopped")
def test_stochastic_approaches_the_optimum_and_bounds_it(rng, rule):
    from palmette.solvers.lbfgs import LBFGS

    with make_problem(rng, "dense") as problem:
        best = LBFGS(tol=1e-10).solve(problem)
        result = Stochastic(rule=rule, tol=1e-3, max_iter=400).solve(problem)
        assert result.reason != "max_iter"
        assert result.converged == (result.gap <= 0.01 * result.primal)  # an estimate counts only up to there
        assert result.primal <= best.primal * (1.01 if rule == "adagrad" else 1.1)
        assert result.lower <= best.primal + 1e-9 and result.gap >= result.primal - best.primal - 1e-9


def test_stochastic_resumes_bitwise(rng):
    with make_problem(rng, "names") as problem, pytest.warns(match="stochastic stopped"):
        six = Stochastic(rate=0.2, max_iter=6, tol=0.0, check_every=3).solve(problem)
        three = Stochastic(rate=0.2, max_iter=3, tol=0.0, check_every=3).solve(problem)
        again = Stochastic(rate=0.2, max_iter=3, tol=0.0, check_every=3).solve(problem, state=three.state)
        assert np.array_equal(six.w, again.w)


def test_l1_gives_exact_zeros(rng):
    with make_problem(rng, "dense", l1=2.0) as problem, pytest.warns(match="stochastic stopped"):
        result = Stochastic(averaged=False, max_iter=30, tol=0.0, rate=0.1).solve(problem)
        assert np.sum(result.w == 0.0) > problem.n_params / 4


def test_perceptron_finds_a_separator(rng):
    with make_problem(rng, "names", surrogate="perceptron") as problem:
        result = AveragedPerceptron(max_iter=200).solve(problem)
        assert np.isnan(result.gap)
        assert result.reason in ("estimate: no mistakes", "max_iter")


def test_averaged_perceptron_is_the_mean_of_its_steps(rng):
    with make_problem(rng, "dense", surrogate="perceptron", l2=0.0) as problem:
        state = PassState.new(problem, None, adaptive=False)
        visited = []
        for i in range(problem.n_samples):
            stochastic_pass(problem, state, np.array([i]))
            visited.append(state.w.copy())
        np.testing.assert_allclose(state.weights(True), np.mean(visited, axis=0), atol=1e-12)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("surrogate", ["log", "hinge"])
def test_threads_change_nothing(monkeypatch, threads, surrogate):
    from palmette.objectives import risk

    monkeypatch.setattr(risk, "ROWS_A_SHARD", 4)
    monkeypatch.setattr(risk, "ROWS_A_BLOCK", 2)
    outcomes = []
    for t in (1, threads):
        with make_problem(np.random.default_rng(3), "names", surrogate=surrogate, threads=t) as problem:
            w = np.random.default_rng(4).normal(size=problem.n_params)
            outcomes.append(problem.loss(w))
    assert outcomes[0][0] == outcomes[1][0]
    assert np.array_equal(outcomes[0][1], outcomes[1][1])
