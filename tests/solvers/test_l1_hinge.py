"""The hinge with L1: optima of an interior point method, its zeros, bounds that hold, solvers that refuse or own up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from m3n_reference import problem_of
from problems import make_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from toy_problems import MulticlassHinge, clarabel_minimum, make, objective, penalty

from palmette import CRF, SSVM, Chain, LossOptions, Multiclass, Ranking
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.objectives.elastic_dual import best_mean
from palmette.regularizers import ElasticNet
from palmette.solvers import Bundle, LinearProgram, Stochastic
from palmette.solvers.stochastic import thinned
from palmette.structures.ranking.codec import ranks_of


def reference(problem):
    """Weights and minimum of the program with a constraint for every output of every sample."""
    structure, p, n = problem.structure, problem.n_params, problem.n_samples
    rescaled = hasattr(
        problem.surrogate, "rescaling"
    )  # by slack: the loss is a factor of the difference of scores
    rows, bounds = [], []
    for s in range(n):
        one = problem.samples.slice(s, s + 1)
        theta, weight = problem.scorer.score(np.zeros(p), one.batch), one.weight[0]
        if isinstance(structure, Ranking):
            true, every = ranks_of(one.codes), itertools.permutations(range(len(one.codes)))
        else:
            true, every = one.codes, itertools.product(range(problem.scorer.n_labels), repeat=len(one.codes))

        def features(codes, theta=theta, one=one):
            out = np.zeros(p)
            problem.scorer.pull_back(structure.count(theta, np.asarray(codes, np.int32)), one.batch, out)
            return out

        of_truth, slack = features(true), np.zeros(n)
        slack[s] = -1.0
        for y in every:
            rival = np.array(y, np.int32)
            loss = float(problem.surrogate.task_loss.value(structure, theta, one.codes, rival)[0])
            moved = weight * (loss if rescaled else 1.0) * (features(rival) - of_truth)
            rows.append(np.concatenate([moved, slack]))
            bounds.append(-weight * loss)
    rows, reg = np.array(rows), problem.regularizer
    # w = plus - minus, neither negative: at the optimum one of them is zero, so that L2 of both is that of w
    A = np.vstack([np.hstack([rows[:, :p], -rows[:, :p], rows[:, p:]]), -np.eye(2 * p, 2 * p + n)])
    curvature = sparse.diags_array(np.concatenate([reg.l2, reg.l2, np.zeros(n)])).tocsc()
    linear = np.concatenate([reg.l1, reg.l1, np.ones(n)])
    x, value = clarabel_minimum(curvature, linear, A, np.append(bounds, np.zeros(2 * p)))
    return x[:p] - x[p : 2 * p], value


def queries(rng, sizes, n_columns):
    """Documents whose grades depend on two of the columns."""
    X = [rng.normal(size=(n, n_columns)) for n in sizes]
    return X, [np.digitize(x[:, 0] - x[:, 1] + 0.3 * rng.normal(size=len(x)), [-0.5, 0.8]) for x in X]


def data(name):
    rng = np.random.default_rng(7)
    if name == "ranking":
        return Ranking(), *queries(rng, [4, 3, 4, 4, 3, 4, 4, 4] * 2, 8)
    X, y = make_chains(16, n_classes=3, n_features=6, mean_length=3, random_state=1)
    X, y = zip(*[(x[:4], labels[:4]) for x, labels in zip(X, y)])
    if name == "multiclass":
        return Multiclass(), np.concatenate(X), np.concatenate(y)
    return Chain(), list(X), list(y)


STRENGTHS = {"multiclass": (0.3, 1.0), "chain": (0.5, 1.0), "ranking": (0.05, 0.3)}


def check_against_reference(model, X, y, tol):
    """Optimum, zeros and bound of a fitted model."""
    result = model.result_
    w, optimum = reference(problem_of(clone(model), X, y))
    assert result.converged and result.reason == "gap" and result.gap <= tol * result.primal
    assert result.lower <= optimum * (1 + 1e-8) and result.primal >= optimum * (1 - 1e-8)
    assert result.primal == pytest.approx(optimum, rel=tol + 1e-8)
    zero = np.abs(w) < 1e-6 * np.abs(w).max()
    assert 0 < np.count_nonzero(zero) < len(w)
    # A gap of tol leaves weights open up to its root: one that is 0 in the optimum may still be tiny.
    assert np.all(model.coef_[np.abs(w) > 1e-3 * np.abs(w).max()] != 0.0)
    assert np.mean(model.coef_[zero] == 0.0) > 0.85
    np.testing.assert_allclose(model.coef_, w, atol=1e-3 * np.abs(w).max())


@pytest.mark.parametrize("solver", ["auto", "one_slack"])
@pytest.mark.parametrize("name", STRENGTHS)
def test_l1_beside_l2_has_the_optimum_and_its_zeros(name, solver):
    (structure, X, y), (l2, l1) = data(name), STRENGTHS[name]
    model = SSVM(structure, l2=l2, l1=l1, tol=1e-7, solver=solver).fit(X, y)
    check_against_reference(model, X, y, 1e-7)


def test_l1_with_slack_rescaling():
    structure, X, y = data("chain")
    model = SSVM(structure, l2=0.5, l1=0.5, loss_options=LossOptions(rescaling="slack"), tol=1e-7).fit(X, y)
    check_against_reference(model, X, y, 1e-7)


@pytest.mark.parametrize("name", STRENGTHS)
def test_l1_alone_is_a_linear_program(name):
    (structure, X, y), (_, l1) = data(name), STRENGTHS[name]
    model = SSVM(structure, l2=0.0, l1=l1, tol=1e-7).fit(X, y)
    check_against_reference(model, X, y, 1e-7)
    assert model.result_.step.n_iter == model.result_.step.n_oracle < 50


def test_sample_weights_count_in_the_linear_program():
    structure, X, y = data("chain")
    weight = np.arange(1.0, 17.0) % 3
    twice = SSVM(structure, l2=0.0, l1=1.0, tol=1e-7)
    one = twice.fit(X, y, sample_weight=weight).objective_
    repeated = [k for k, w in enumerate(weight) for _ in range(int(w))]
    assert one == pytest.approx(twice.fit([X[k] for k in repeated], [y[k] for k in repeated]).objective_)


def test_the_default_tolerance_is_sparse_too():
    """Many columns of noise, where averaged stochastic steps left no zero at all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "a", "b")
    model = SSVM(Multiclass(), l2=0.1, l1=12.0).fit(X, y)  # tol=1e-2
    w, optimum = reference(problem_of(clone(model), X, y))
    assert model.result_.converged and model.objective_ <= optimum * (1 + 1e-2)
    assert np.count_nonzero(model.coef_) == np.count_nonzero(np.abs(w) > 1e-6) == 4 < len(w) == 62


def test_thinning_out_costs_passes_that_are_counted_and_keeps_the_state_usable(rng):
    problem = make(MulticlassHinge, rng, n=60, n_features=20, l1=3.0)
    first = Bundle(tol=1e-2).solve(problem)
    assert first.step.n_oracle == problem.n_calls > first.step.n_iter
    assert first.primal == pytest.approx(objective(problem, first.w), rel=1e-13)
    problem.n_calls = first.step.n_oracle
    again = Bundle(tol=1e-6).solve(problem, state=first.state)
    assert again.converged and again.step.n_oracle == problem.n_calls and again.primal <= first.primal
    assert 0 < np.count_nonzero(first.w == 0.0) and 0 < np.count_nonzero(again.w == 0.0)


# -- the dual over cuts ---------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), p=st.sampled_from([1, 3, 8, 60]),
    l2=st.sampled_from([1e-2, 1.0, 30.0]), l1=st.sampled_from([0.1, 1.0, 5.0]),
)  # fmt: skip
def test_best_mean_is_the_maximum_of_the_dual(seed, n, p, l2, l1):
    """Against the quadratic program over the simplex and a box: ``max <a, b> - |A a + s|^2 / (2 l2), |s| <= l1``."""
    rng = np.random.default_rng(seed)
    G, b = 3.0 * rng.normal(size=(n, p)), 5.0 * rng.random(n)
    reg = ElasticNet(l2 * rng.uniform(0.5, 2.0, p), l1 * rng.uniform(0.5, 2.0, p) * (rng.random(p) < 0.8))
    a, value = best_mean(reg, b, G, np.zeros(n), 1.0)
    assert np.all(a >= 0.0) and a.sum() <= 1.0 + 1e-12
    assert value == pytest.approx(a @ b - reg.dual_value(a @ G), rel=1e-12, abs=1e-13)
    # variables z = A a + s, a, s
    same = np.hstack([np.eye(p), -G.T, -np.eye(p)])
    inside = np.vstack([
        np.hstack([np.zeros((n, p)), -np.eye(n), np.zeros((n, p))]),
        np.hstack([np.zeros((1, p)), np.ones((1, n)), np.zeros((1, p))]),
        np.hstack([np.zeros((p, p)), np.zeros((p, n)), np.eye(p)]),
        np.hstack([np.zeros((p, p)), np.zeros((p, n)), -np.eye(p)]),
    ])  # fmt: skip
    right = np.concatenate([np.zeros(p), np.zeros(n), [1.0], reg.l1, reg.l1])
    P = sparse.diags_array(np.concatenate([1.0 / reg.l2, np.zeros(n + p)])).tocsc()
    q = -np.concatenate([np.zeros(p), b, np.zeros(p)])
    best = -clarabel_minimum(P, q, np.vstack([same, inside]), right, n_equal=p)[1]
    assert value == pytest.approx(best, rel=1e-7, abs=1e-7)


def test_many_weights_with_excess_give_the_same_model_by_products_and_by_factors():
    """Products are kept from point to point where many weights are held: they are those of the weights held now."""
    rng = np.random.default_rng(0)
    rows, reg = rng.normal(size=(4, 200)), penalty(200, 0.5, 1.0)
    model = reg.dual_model(rows)
    for size in (3.0, 5.0, 4.0, 1.0, 0.9, 6.0):
        g = size * rng.normal(size=200)
        held = np.abs(g) > 1.0
        expected = (rows[:, held] / 0.5) @ rows[:, held].T
        root = model.root(g)
        assert root.shape[1] <= 4
        np.testing.assert_allclose(root @ root.T, expected, atol=1e-11 * expected.max())


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["frank_wolfe", "smo", "n_slack", "subgradient", "pegasos"])
def test_solvers_without_l1_name_one_that_takes_it(solver):
    structure, X, y = data("chain")
    with pytest.raises(MissingCapability, match=f"{solver} .*without l1.*use solver='bundle'"):
        SSVM(structure, l1=1.0, solver=solver).fit(X, y)
    with pytest.raises(MissingCapability, match=f"{solver} .*use solver='linear_program', or 'stochastic'"):
        SSVM(structure, l2=0.0, l1=1.0, solver=solver).fit(X, y)


def test_what_the_linear_program_refuses(monkeypatch):
    structure, X, y = data("chain")
    for options, message in (
        ({"l2": 1.0, "l1": 1.0}, "takes l1 alone, and weight 0 has l2: use solver='bundle'"),
        ({"l2": 0.0, "l1": 0.0}, "weight 0 has none: penalise it"),
        ({"l2": 0.0, "l1": 1.0, "l2_edge": 1.0}, "takes l1 alone, and weight 21 has l2"),
    ):
        with pytest.raises(MissingCapability, match=message):
            SSVM(structure, solver="linear_program", **options).fit(X, y)
    with pytest.raises(MissingCapability, match="LogLoss is smooth: use solver='lbfgs'"):
        CRF(structure, l2=0.0, l1=1.0, solver="linear_program").fit(X, y)
    monkeypatch.setattr("palmette.solvers.linear_program.LARGEST", 45)
    with pytest.raises(
        MissingCapability, match=r"up to 45 .* 30 weights and 16 samples: give l2 > 0 .*l2=0.01.*'stochastic'"
    ):
        SSVM(structure, l2=0.0, l1=1.0).fit(X, y)


def test_l2_on_some_blocks_only_is_refused_or_left_to_steps():
    structure, X, y = data("chain")
    with pytest.raises(MissingCapability, match="weight 18 has none; penalise it or use solver='stochastic'"):
        SSVM(structure, l1=1.0, l2_bias=0.0, solver="bundle").fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"stochastic stopped .*\(max_iter\).* tol=0\.01"):
        result = SSVM(structure, l1=1.0, l2_bias=0.0, max_iter=5).fit(X, y).result_
    assert not result.converged and result.lower <= result.primal


def test_no_proof_in_time_warns():
    structure, X, y = data("chain")
    with pytest.warns(
        ConvergenceWarning, match="linear_program stopped after 2 iterations .* with relative gap"
    ):
        result = SSVM(structure, l2=0.0, l1=1.0, solver=LinearProgram(max_iter=2)).fit(X, y).result_
    assert not result.converged and result.reason == "max_iter" and result.lower < result.primal
    stopped = SSVM(structure, l2=0.0, l1=1.0, callbacks=[lambda step: step.n_iter == 3]).fit(X, y).result_
    assert stopped.reason == "callback" and not stopped.converged and stopped.step.n_iter == 3


def test_tol_zero_ends_when_no_cut_is_violated():
    structure, X, y = data("chain")
    result = SSVM(structure, l2=0.0, l1=1.0, tol=0.0).fit(X, y).result_
    assert result.converged and result.reason in ("estimate: machine precision", "gap")
    assert result.gap <= 1e-9 * result.primal


# -- stochastic steps -----------------------------------------------------------------------------------------------


def test_stochastic_steps_have_zeros_and_claim_nothing_they_cannot_prove():
    structure, X, y = data("chain")
    problem = problem_of(SSVM(structure, l2=0.5, l1=1.0), X, y)
    _, optimum = reference(problem)
    with (
        problem.executor,
        pytest.warns(ConvergenceWarning, match="A small decrease is not reliable with a gap.*'bundle'"),
    ):
        result = Stochastic(tol=1e-2).solve(problem)
    value = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
    assert not result.converged and result.reason.startswith("estimate: relative decrease")
    assert np.count_nonzero(result.w == 0.0) > 0
    assert result.primal == pytest.approx(value, rel=1e-12)
    assert result.lower <= optimum <= result.primal * (1 + 1e-9)


def test_stochastic_steps_that_prove_their_gap_converge():
    structure, X, y = data("chain")
    result = SSVM(structure, l2=0.5, l1=1.0, solver=Stochastic(tol=0.9)).fit(X, y).result_
    assert result.converged and result.reason == "gap" and result.gap <= 0.9 * result.primal


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_thinning_never_raises_the_objective(seed):
    rng = np.random.default_rng(seed)
    with make_problem(rng, "dense", surrogate="hinge", l1=1.0) as problem:
        w = rng.normal(size=problem.n_params) * 10.0 ** rng.uniform(-6, 0, problem.n_params)
        before = problem.loss(w)[0] + problem.regularizer.value(w)
        thin, value, passes = thinned(problem, w, before)
        assert value <= before and passes <= 6
        assert value == pytest.approx(problem.loss(thin)[0] + problem.regularizer.value(thin), rel=1e-12)
        assert np.all((thin == w) | (thin == 0.0)) and np.all(
            np.abs(w[thin == 0.0]) <= np.abs(w[thin != 0.0]).min(initial=np.inf)
        )
        zero, *_ = thinned(problem, np.zeros(problem.n_params), problem.loss(np.zeros(problem.n_params))[0])
        assert not zero.any()
