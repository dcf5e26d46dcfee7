"""Columns of very different size: the same optimum, proven, in whatever units features come."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from experiments.benchmarks import scaling as BENCHMARK
from palmette import CRF, SSVM, Chain, Encoding, Graph, LossOptions, Multiclass, PlackettLuce, SemiMarkov
from palmette.data.batch import Batch, SparseRows
from palmette.errors import EmptyModelWarning
from palmette.executors.threads import ThreadExecutor
from palmette.objectives.problem import name_of
from palmette.objectives.risk import Risk
from palmette.regularizers import GroupLasso
from palmette.regularizers.elastic import ElasticNet
from palmette.regularizers.grouped import GroupedElasticNet
from palmette.solvers import LBFGS
from palmette.solvers.scaling import ScaledProblem, column_squares, in_scale
from palmette.structures import GraphInput

PROBLEMS = {name: (x, y) for name, x, y in BENCHMARK.problems()}


def chains(name):
    x, y = PROBLEMS[name]
    return list(x), y.tolist()


def learner(loss, **options):
    l1, groups, soft = BENCHMARK.LOSSES[loss]
    options = {"l2": 1.0, "l1": l1, "regularizer": GroupLasso(groups) if groups else None, **options}
    return (
        SSVM(Chain(), loss="soft_hinge", loss_options=LossOptions(temperature=0.2), **options)
        if soft
        else CRF(Chain(), **options)
    )


def risk(model, X, y):
    """The problem that a learner solves."""
    kept = []

    class Looking(LBFGS):
        def solve(self, problem, w0=None, state=None):
            kept.append(problem)
            return super().solve(problem, w0, state)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        model.set_params(solver=Looking(max_iter=1, tol=1e10)).fit(X, y)
    return kept[0]


# ------------------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("name", ["1e3", "1e6", "mixed", "all 1e8", "year"])
@pytest.mark.parametrize("loss", list(BENCHMARK.LOSSES))
def test_the_optimum_is_reached_and_proven_on_columns_of_any_size(loss, name):
    result = learner(loss, tol=1e-4).fit(*chains(name)).result_
    least = BENCHMARK.minimum(*PROBLEMS[name], *BENCHMARK.LOSSES[loss])
    assert result.lower <= least * (1 + 1e-9)
    assert result.primal <= least * (1 + 1e-4)
    assert result.converged and result.reason == "gap"


@pytest.mark.parametrize("c", [1e8, 1e-8])
@pytest.mark.parametrize("loss", ["CRF", "soft hinge"])
def test_equivalent_scales_have_one_optimum(loss, c):
    """``x * c`` with ``l2 * c^2`` for features is the same problem."""
    x, y = chains("unit")
    found = [
        learner(loss, tol=1e-6, l2_node=a * a).fit([a * rows for rows in x], y).objective_ for a in (1.0, c)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("options", [{"l1": 0.5}, {"regularizer": 2.0}], ids=["l1", "groups"])
def test_equivalent_scales_of_penalties_that_are_not_smooth(options):
    """With features alone ``x * c`` is the same problem with ``l2 * c^2``, ``l1 * c`` and groups times c."""
    x, y = PROBLEMS["unit"]

    def objective(c):
        own = {key: c * value for key, value in options.items()}
        if "regularizer" in own:
            own["regularizer"] = GroupLasso(own["regularizer"])
        model = CRF(Multiclass(), l2=c * c, fit_intercept=False, tol=1e-6, **own)
        return model.fit(c * x.reshape(-1, 4), y.ravel()).objective_

    assert objective(1e6) == pytest.approx(objective(1.0), rel=1e-6)
    assert objective(1e-6) == pytest.approx(objective(1.0), rel=1e-6)


@pytest.mark.parametrize("l2", [1.0, 0.0])
@pytest.mark.parametrize("offset", [200.0, 5000.0, 1e6])
def test_a_column_far_from_zero_where_intercepts_have_no_penalty(l2, offset):
    """The intercepts take the offset, so that the optimum does not depend on it."""
    x, y = PROBLEMS["unit"]
    x, y = x.reshape(-1, 4), y.ravel()
    moved = x + np.array([0.0, offset, 0.0, 0.0])
    found = [CRF(Multiclass(), l2=l2, l2_bias=0.0, tol=1e-8).fit(rows, y) for rows in (x, moved)]
    assert found[1].result_.converged
    assert found[1].objective_ == pytest.approx(found[0].objective_, rel=1e-8)
    assert np.array_equal(found[1].predict(moved), found[0].predict(x))


def test_centred_columns_keep_value_and_gradient(rng):
    x, y = PROBLEMS["year"]
    problem = risk(CRF(Chain(), l2=1.0, l2_bias=0.0), list(x), y.tolist())
    scaled = in_scale(problem)
    assert scaled.centring is not None
    v = rng.normal(size=problem.n_params)
    w = scaled.outward(v)
    np.testing.assert_allclose(scaled.inward(w), v, rtol=1e-9, atol=1e-9)
    value, gradient = scaled.loss(v)
    assert value == pytest.approx(problem.loss(w)[0])
    step = 1e-6
    for j in range(problem.n_params):
        e = step * (np.arange(len(v)) == j)
        slope = (scaled.loss(v + e)[0] - scaled.loss(v - e)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-4, abs=1e-2)


def test_l1_alone_is_proven_or_says_what_is_left():
    x, y = PROBLEMS["unit"]
    result = CRF(Multiclass(), l2=0.0, l1=1.0, tol=1e-4).fit(x.reshape(-1, 4), y.ravel()).result_
    assert result.reason == "gap" and result.gap <= 1e-4 * result.primal
    assert type(result.lower) is float and type(result.primal) is float


def test_values_that_overflow_are_refused_with_their_column():
    x, y = PROBLEMS["unit"]
    rows = x.reshape(-1, 4) * np.array([1.0, 1.0, 1e200, 1.0])
    with pytest.raises(ValueError, match=r"column 2 of X has the value -?[0-9.]+e\+200.*scale"):
        CRF(Multiclass()).fit(rows, y.ravel())
    with pytest.raises(ValueError, match=r"'size' of X has the value 1e\+300"):
        CRF(Chain()).fit([[{"size": 1e300}, {"size": 1.0}]], [["a", "b"]])


def test_dicts_with_a_year_and_a_population():
    rng = np.random.default_rng(0)
    x, y = PROBLEMS["year"]
    X = [[{"year": a, "population": b, "seen": rng.choice(["x", "y"])} for a, b in rows] for rows in x]
    result = CRF(Chain(), l2=1.0).fit(X, y.tolist()).result_
    scaled = [
        [{**item, "year": item["year"] / 2000, "population": item["population"] / 1e6} for item in s]
        for s in X
    ]
    again = CRF(Chain(), l2=1.0, tol=1e-8, l2_node=None).fit(scaled, y.tolist())
    assert result.reason == "gap" and result.gap <= 1e-4 * result.primal
    # In other units the penalty is another one; it hardly matters here.
    assert abs(result.primal - again.objective_) <= 0.1 * result.primal


@pytest.mark.parametrize(
    "make",
    [
        lambda c, x, y: (CRF(Multiclass(), l2=1.0), (x.reshape(-1, 4) * c, y.ravel())),
        lambda c, x, y: (
            CRF(Multiclass(), l2=1.0, encoding=Encoding(states="observed")),
            (sparse.csr_array(x.reshape(-1, 4) * c), y.ravel()),
        ),
        lambda c, x, y: (CRF(Chain(), l2=1.0, edge_features="all"), (list(x * c), y.tolist())),
        lambda c, x, y: (CRF(Chain(order=2), l2=1.0), (list(x * c), y.tolist())),
        lambda c, x, y: (CRF(SemiMarkov(2), l2=1.0), (list(x * c), [segments(row) for row in y])),
        lambda c, x, y: (CRF(Graph(), l2=1.0), (graphs(x * c), y.tolist())),
        lambda c, x, y: (PlackettLuce(l2=1.0), (list(x * c), y.tolist())),
    ],
    ids=["multiclass", "sparse", "edge features", "second order", "segments", "graphs", "rankings"],
)
def test_every_layout_of_weights_is_scaled(make):
    """Columns times 1e6 are all but unpenalised: the optimum is that of a small penalty, and it is proven."""
    x, y = PROBLEMS["unit"]
    model, data = make(1e6, x, y)
    result = model.set_params(tol=1e-6).fit(*data).result_
    assert result.reason == "gap" and result.gap <= 1e-6 * result.primal
    column = model.scorer_.weight_columns()
    other, data = make(1.0, x, y)
    problem = risk(other, *data)
    weak = Risk(
        problem.structure, problem.scorer, problem.surrogate, problem.samples,
        ElasticNet(np.where(column >= 0, 1e-12, 1.0), np.zeros(len(column))), ThreadExecutor(1),
    )  # fmt: skip
    assert LBFGS(tol=1e-7).solve(weak).primal == pytest.approx(result.primal, rel=2e-6)


def segments(row):
    """Runs of equal labels, in pieces of at most 2."""
    found, start = [], 0
    for t in range(1, len(row) + 1):
        if t == len(row) or row[t] != row[start] or t - start == 2:
            found.append((start, t, int(row[start])))
            start = t
    return found


def graphs(x):
    """Trees that are no chains, with features on edges."""
    edges = [(max(0, i - 2), i) for i in range(1, x.shape[1])]
    return [GraphInput(rows, edges, rows[1:, :2]) for rows in x]


# ------------------------------------------------------------------------------------------ the coordinates


def test_flags_take_the_path_they_took():
    rng = np.random.default_rng(0)
    flags = [rng.integers(0, 2, (5, 3)).astype(float) for _ in range(6)]
    labels = [rng.integers(0, 2, 5).tolist() for _ in flags]
    problem = risk(CRF(Chain(), l2=1.0), flags, labels)
    assert in_scale(problem) is problem
    names = [[{"w": str(row)} for row in rows] for rows in flags]
    problem = risk(CRF(Chain(), l2=1.0), names, labels)
    assert in_scale(problem) is problem


def test_numbers_beside_names_are_scaled_alone():
    X = [[{"word": "a", "length": 1000.0}, {"word": "b", "length": 3000.0}]]
    problem = in_scale(risk(CRF(Chain(), l2=1.0), X, [["x", "y"]]))
    assert isinstance(problem, ScaledProblem) and name_of(problem) == "LogLoss"
    own = problem.scorer.weight_columns()
    numbers = problem.factor[own == np.argmax(column_squares(problem.samples.batch, np.ones(1))[0])]
    assert np.all(numbers == 2.0**-11)
    assert np.count_nonzero(problem.factor != 1.0) == len(numbers)


def test_value_and_gradient_are_those_of_the_given_problem(rng):
    problem = risk(CRF(Chain(), l2=1.0), *chains("mixed"))
    scaled = in_scale(problem)
    v = rng.normal(size=problem.n_params)
    w = scaled.outward(v)
    assert np.array_equal(scaled.inward(w), v)  # powers of two: nothing is rounded
    value, gradient = scaled.loss(v)
    given_value, given_gradient = problem.loss(w)
    assert value == given_value
    np.testing.assert_array_equal(gradient, scaled.factor * given_gradient)
    assert scaled.regularizer.value(v) == pytest.approx(problem.regularizer.value(w))


def test_variances_follow_the_coordinates():
    """On chains of one position the diagonal is that of the Hessian; numbers and names have their own sizes."""
    x, y = PROBLEMS["year"]
    X = [[{"year": a, "size": b, f"w{i % 50}": 1.0}] for i, (a, b) in enumerate(x.reshape(-1, 2))]
    problem = risk(CRF(Chain(), l2=1.0), X, [[label] for label in y.ravel().tolist()])
    scaled = in_scale(problem)
    v = np.random.default_rng(0).normal(size=problem.n_params)
    own = scaled.diagonal(v)
    numbers = np.flatnonzero(scaled.factor != 1.0)
    assert len(numbers) == 6
    for j in (*numbers, 7, 8):
        step = 1e-5 * (np.arange(len(v)) == j)
        bend = (scaled.loss(v + step)[1][j] - scaled.loss(v - step)[1][j]) / 2e-5
        assert own[j] == pytest.approx(bend, rel=1e-4, abs=1e-6)
    with_guess = LBFGS(tol=1e-6, precondition=20.0).solve(problem)
    without = LBFGS(tol=1e-6, precondition=None).solve(problem)
    assert with_guess.reason == without.reason == "gap"
    assert with_guess.primal == pytest.approx(without.primal, rel=2e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "proximal"])
def test_callbacks_warm_starts_and_states_are_in_the_given_coordinates(solver):
    from palmette.solvers import Proximal

    problem = risk(CRF(Chain(), l2=1.0), *chains("1e6"))
    seen = []

    def look(step, weights):
        seen.append(problem.loss(weights())[0] + problem.regularizer.value(weights()) - step.primal)

    look.sees_weights = True
    kind = LBFGS if solver == "lbfgs" else Proximal
    whole = kind(tol=1e-6, callbacks=[look]).solve(problem)
    assert np.max(np.abs(seen)) <= 1e-9 * whole.primal
    assert problem.loss(whole.w)[0] + problem.regularizer.value(whole.w) == pytest.approx(
        whole.primal, rel=1e-12
    )
    again = kind(tol=1e-6).solve(problem, w0=whole.w)
    assert again.converged and again.history[0].primal <= whole.primal * (1 + 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        part = kind(tol=1e-6, max_iter=5).solve(problem)
    resumed = kind(tol=1e-6).solve(problem, state=part.state)
    assert resumed.primal == pytest.approx(whole.primal, rel=1e-6)


strengths = st.lists(st.floats(0.01, 100.0), min_size=4, max_size=4)


@given(strengths, st.lists(st.integers(-30, 30), min_size=2, max_size=2), st.integers(0, 2**31))
def test_rescaled_penalties(l2, exponents, seed):
    """``R'(v) = R(factor v)``, and ``R'*(-factor g) = R*(-g)``; groups {0, 1} and {2, 3} have one factor each."""
    rng = np.random.default_rng(seed)
    factor = np.exp2(np.repeat(exponents, 2).astype(float))
    v, g, l1 = rng.normal(size=4), 10.0 * rng.normal(size=4), rng.random(4)
    grouped = GroupedElasticNet(np.repeat(l2[::2], 2), l1, [0, 0, 1, 1], rng.random(2))
    for penalty in (ElasticNet(l2, l1), grouped):
        scaled = penalty.rescaled(factor)
        assert scaled.value(v) == pytest.approx(penalty.value(factor * v))
        assert scaled.dual_value(factor * g) == pytest.approx(penalty.dual_value(g), abs=1e-300)


@given(strengths, st.integers(0, 2**31))
def test_a_subgradient_bounds_the_distance_to_the_optimum(l2, seed):
    """For a linear loss the optimum is known: ``min <g, w> + R(w) = -R*(-g)``."""
    rng = np.random.default_rng(seed)
    w, g, l1 = rng.normal(size=4) * rng.integers(0, 2, 4), rng.normal(size=4), rng.random(4)
    grouped = GroupedElasticNet(np.repeat(l2[::2], 2), l1, [0, 0, 1, 1], rng.random(2))
    for penalty in (ElasticNet(l2, np.zeros(4)), ElasticNet(l2, l1), grouped):
        above = g @ w + penalty.value(w) + penalty.dual_value(g)
        assert above <= penalty.residual_bound(penalty.min_norm_subgradient(w, g)) + 1e-9
    assert ElasticNet([0.0], [0.0]).residual_bound(np.ones(1)) == np.inf


def test_squares_of_sparse_and_dense_tables_agree(rng):
    table = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    table[:, 1] = rng.integers(0, 2, 6)
    offsets, weight = np.array([0, 2, 6]), np.array([0.5, 2.0])
    found = sparse.csr_array(table)
    rows = SparseRows(found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data, 4)
    dense = column_squares(Batch(table, offsets), weight)
    np.testing.assert_allclose(column_squares(Batch(rows, offsets), weight)[0], dense[0])
    assert dense[0][1] == 0.0 and np.all(dense[1] == 9.0)


# ------------------------------------------------------------------------------------- what does not converge


def test_an_estimate_that_the_bound_contradicts_is_no_convergence():
    """Huge columns whose labels they separate: nothing is proven, and nothing is claimed."""

    class Flat:
        """A loss that falls for ever, so slowly that values stand still."""

        n_params, smooth, surrogate = 1, True, None
        regularizer = ElasticNet([1e-30], [0.0])

        def loss(self, w):
            return float(1.0 - 1e-9 * np.tanh(1e-3 * w[0])), np.array([-1e-12 / np.cosh(1e-3 * w[0]) ** 2])

    with pytest.warns(ConvergenceWarning, match="relative gap"):
        result = LBFGS(tol=1e-6).solve(Flat())
    assert not result.converged


@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_a_hinge_that_did_not_converge_names_the_columns(structure):
    x, y = PROBLEMS["unit"]
    x = x * np.array([1.0, 1e9, 1.0, 1.0])
    data = (list(x), y.tolist()) if type(structure) is Chain else (x.reshape(-1, 4), y.ravel())
    with pytest.warns(
        ConvergenceWarning, match=r"column 1 \(9.4e\+08\); indicators have 1\).*StandardScaler"
    ):
        model = SSVM(structure, l2=1.0, solver="frank_wolfe", max_iter=3).fit(*data)
    assert not model.result_.converged
