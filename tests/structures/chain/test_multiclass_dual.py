"""The dual of the multiclass hinge: its certificate, other solvers' optima, targets, costs, sparse rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import palmette
from palmette import CRF, SSVM, Chain, Encoding, LossOptions, Multiclass
from palmette.errors import MissingCapability
from palmette.losses import Hamming
from palmette.objectives.linearised import Linearised
from palmette.objectives.risk import Tangent
from palmette.solvers.block_ascent import Ascent
from palmette.solvers.bundle import Bundle
from palmette.solvers.cccp import CCCP
from palmette.solvers.multiclass_dual import MulticlassDual


class Seen(Exception):
    """Thrown once a problem has been seen."""


class Peek:
    """A solver that only looks at its problem."""

    def solve(self, problem, w0=None):
        self.problem = problem
        raise Seen


def problem_of(X, y, sample_weight=None, **options):
    """The training problem that SSVM sets up."""
    peek = Peek()
    with pytest.raises(Seen):
        SSVM(Multiclass(), solver=peek, n_jobs=1, **options).fit(X, y, sample_weight)
    return peek.problem


def draw(rng, n, d, k):
    """Noisy samples of k classes, all of which occur."""
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y], y


def slope_of(problem, targets):
    """Gradient of ``sum_i weight_i (f(target_i) - f(true_i))``."""
    scorer, structure, samples = problem.scorer, problem.structure, problem.samples
    theta = scorer.score(np.zeros(problem.n_params), samples.batch)
    counts = structure.count(theta, np.asarray(targets, np.int32), weight=samples.weight)
    counts = structure.count(theta, samples.codes, weight=-samples.weight, into=counts)
    out = np.zeros(problem.n_params)
    scorer.pull_back(counts, samples.batch, out)
    return out


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 20),
    d=st.integers(1, 6),
    k=st.integers(2, 11),
    l2=st.sampled_from([0.01, 0.3, 4.0]),
    intercept=st.booleans(),
    targets=st.booleans(),
    density=st.sampled_from([None, 0.5]),
)
def test_certificate_holds_against_the_bundle_method(seed, n, d, k, l2, intercept, targets, density):
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n + k, d, k)
    if density is not None:
        X = sparse.csr_array(X * (rng.random(X.shape) < density))
    costs = rng.uniform(0.0, 2.0, (k, k)) * (1 - np.eye(k))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y))
    weight[0] = 1.0
    problem = problem_of(
        X, y, weight, l2=l2, l2_bias=2 * l2, fit_intercept=intercept, task_loss=Hamming(costs)
    )
    aims = rng.integers(0, k, len(y)) if targets else None
    warnings.simplefilter("ignore", ConvergenceWarning)  # bounds hold wherever a run ends
    shifted = problem
    if aims is not None:
        shifted = Linearised(problem, Tangent(0.0, slope_of(problem, aims), aims, np.ones(len(aims))))
    result = MulticlassDual(tol=1e-4, max_iter=30_000 if l2 >= 0.3 else 1500).solve(shifted)
    if l2 >= 0.3:
        assert result.converged and result.gap <= 1e-4 * abs(result.primal) + 1e-12
    value = shifted.loss(result.w)[0] + problem.regularizer.value(result.w)
    np.testing.assert_allclose(result.primal, value, rtol=1e-9, atol=1e-9)
    if aims is None:  # with other targets the loss may be below 0, which the bundle's zero cut does not know
        other = Bundle(tol=1e-3, max_iter=60).solve(problem)
        assert result.lower <= other.primal + 1e-9
        assert other.lower <= result.primal + 1e-9
    points = [result.w + rng.normal(size=len(result.w)) * s for s in (1e-3, 1e-1, 1.0)]
    assert all(shifted.loss(w)[0] + problem.regularizer.value(w) >= result.lower - 1e-9 for w in points)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([1e-3, 0.3, 10.0, 1e30]))
def test_step_is_the_nearest_point_of_the_simplex(seed, k, rate):
    from palmette.structures.chain.kernels.multiclass_dual import simplex_step

    rng = np.random.default_rng(seed)
    g, mass = rng.normal(size=24), np.zeros(24)
    mass[:k] = rng.dirichlet(np.ones(k))
    change, place, value = np.zeros(24), np.zeros(24, np.int64), np.zeros(24)
    simplex_step(g, g[:k].max(), mass, 0, k, rate, change, place, value)
    there = mass[:k] + change[:k]
    assert there.min() >= -1e-12 and abs(there.sum() - 1.0) < 1e-9
    # optimal: where mass is left, the gradient of <g, m> - |m - mass|^2 / (2 rate) is the largest
    gradient = g[:k] - (there - mass[:k]) / rate
    np.testing.assert_allclose(gradient[there > 1e-9], gradient.max(), atol=1e-6 + 1e-6 / rate)


def test_optimum_is_that_of_clarabel_on_every_label_pair():
    clarabel = pytest.importorskip("clarabel")
    rng = np.random.default_rng(3)
    X, y = draw(rng, 25, 3, 4)
    costs = rng.uniform(0.5, 2.0, (4, 4)) * (1 - np.eye(4))
    l2, (n, d), k = 0.7, X.shape, 4
    result = SSVM(
        Multiclass(), l2=l2, fit_intercept=False, task_loss=Hamming(costs), solver=MulticlassDual(tol=1e-7)
    ).fit(X, y)
    # variables: w (d x k), slack (n); slack_i >= D(y, j) + (w_j - w_y) x for every j
    P = sparse.block_diag([l2 * sparse.eye(d * k), sparse.csc_matrix((n, n))], format="csc")
    q = np.concatenate([np.zeros(d * k), np.ones(n)])
    A, b = np.zeros((n * k, d * k + n)), np.zeros(n * k)
    for i in range(n):
        for j in range(k):
            row = i * k + j
            A[row, np.arange(d) * k + j] += X[i]
            A[row, np.arange(d) * k + y[i]] -= X[i]
            A[row, d * k + i] = -1.0
            b[row] = -costs[y[i], j]
    options = clarabel.DefaultSettings()
    options.verbose = False
    found = clarabel.DefaultSolver(
        P, q, sparse.csc_matrix(A), b, [clarabel.NonnegativeConeT(n * k)], options
    ).solve()
    assert result.objective_ == pytest.approx(found.obj_val, rel=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_objective_is_that_of_linear_svc(C):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours = SSVM(
        Multiclass(), C=C, fit_intercept=False, solver="multiclass_dual", tol=1e-6, max_iter=10_000
    ).fit(X, y)
    theirs = LinearSVC(multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-8, max_iter=100_000)
    scores = X @ theirs.fit(X, y).coef_.T
    rows = np.arange(len(y))
    augmented = scores + 1.0
    augmented[rows, y] -= 1.0
    value = np.sum(augmented.max(axis=1) - scores[rows, y]) + np.square(theirs.coef_).sum() / (2 * C)
    assert ours.objective_ == pytest.approx(value, rel=2e-6)


def test_sparse_rows_are_those_of_dense_ones(rng):
    X, y = draw(rng, 60, 7, 3)
    X[rng.random(X.shape) < 0.6] = 0.0
    dense, thin = (
        SSVM(Multiclass(), l2=0.5, solver=MulticlassDual(tol=1e-6)).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-3)
    assert dense.objective_ == pytest.approx(thin.objective_, rel=2e-6)
    # a column that stands in a row twice counts twice
    named = [["a", "a", "b"], ["b"], ["a"], ["c", "b"]] * 3
    doubled = np.array([[2, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 1]] * 3, float)
    labels = ["x", "y", "x", "y"] * 3
    models = [
        SSVM(
            Multiclass(),
            l2=0.5,
            encoding=Encoding(states="all"),
            fit_intercept=False,
            solver=MulticlassDual(tol=1e-6),
        ).fit(rows, labels)
        for rows in (named, doubled)
    ]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=2e-6)


def test_a_resumed_run_is_an_uninterrupted_one(rng):
    X, y = draw(rng, 80, 5, 4)
    problem = problem_of(X, y, l2=0.01)
    whole = MulticlassDual(tol=0.0, max_iter=31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once = whole.solve(problem)
        result = MulticlassDual(tol=0.0, max_iter=9).solve(problem)
        result = MulticlassDual(tol=0.0, max_iter=22).solve(problem, state=result.state)
    np.testing.assert_array_equal(once.state.active.mass, result.state.active.mass)
    assert once.lower == result.lower and len(once.history) == len(result.history)


def test_paths_and_new_targets_keep_their_variables(rng):
    X, y = draw(rng, 300, 5, 4)
    solver = MulticlassDual(tol=1e-3)
    first, second = (problem_of(X, y, C=C) for C in (1.0, 1.3))
    cold = solver.solve(second)
    warm = solver.solve(second, state=solver.solve(first).state)
    assert warm.converged and abs(warm.primal - cold.primal) <= 2e-3 * cold.primal
    assert warm.step.n_oracle < cold.step.n_oracle
    # samples with another target begin there, the others as they were
    state = cold.state.active.copy()
    before, aims = state.mass.reshape(300, -1).copy(), y.copy()
    aims[:7] = (aims[:7] + 1) % 4
    state.begin(aims, second.regularizer.l2, np.zeros(second.n_params), 0.0)
    after = state.mass.reshape(300, -1)
    np.testing.assert_array_equal(after[7:], before[7:])
    np.testing.assert_array_equal(after[:7], np.eye(8)[aims[:7]])


def test_never_worse_than_its_start(rng):
    X, y = draw(rng, 50, 4, 3)
    problem = problem_of(X, y, l2=0.1)
    good = MulticlassDual(tol=1e-7, max_iter=20_000).solve(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = MulticlassDual(tol=0.0, max_iter=1).solve(problem, w0=good.w)
    assert one.primal <= good.primal


def test_rows_of_zeros_and_callbacks(rng):
    X, y = draw(rng, 30, 3, 3)
    X[::3] = 0.0
    problem = problem_of(X, y, l2=0.1, fit_intercept=False)
    result = MulticlassDual(tol=1e-6).solve(problem)
    assert result.converged
    stopped = MulticlassDual(tol=0.0, callbacks=(lambda step: step.n_iter == 3,)).solve(problem)
    assert stopped.reason == "callback" and len(stopped.history) == 3
    with pytest.warns(match="Increase max_iter"):
        MulticlassDual(tol=0.0, max_iter=2).solve(problem)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_default_converges_whatever_the_scale_of_features(sparse_rows):
    X, y = load_wine(return_X_y=True)  # columns up to 1,680, where steps of the dual are too short
    table = sparse.csr_array(X) if sparse_rows else X
    assert SSVM(Multiclass()).fit(table, y).result_.converged
    scaled = SSVM(Multiclass(), warm_start=True).fit((X - X.mean(axis=0)) / X.std(axis=0), y).result_
    assert scaled.converged and isinstance(scaled.state, Ascent)  # of the dual


def test_what_it_does_not_serve_is_refused(rng):
    X, y = draw(rng, 30, 3, 3)
    for options, message in (
        ({"l1": 0.1}, "without l1 for Hinge.*use solver='bundle'"),
        ({"l2_bias": 0.0}, "l2 > 0 on every weight"),
        ({"loss": "soft_hinge"}, "not of SoftHinge"),
    ):
        with pytest.raises(MissingCapability, match=message):
            SSVM(Multiclass(), solver="multiclass_dual", **options).fit(X, y)
    # the solvers that it names instead do serve
    for options, message in (
        (
            {"loss_options": LossOptions(rescaling="slack")},
            "not of RescaledHinge with rescaling='slack'; use solver='bundle'",
        ),
        ({"loss": "ramp"}, "is not convex: use solver='cccp'"),
    ):
        with pytest.raises(MissingCapability, match=message):
            SSVM(Multiclass(), solver="multiclass_dual", **options).fit(X, y)
        other = "bundle" if "loss_options" in options else "cccp"
        assert SSVM(Multiclass(), solver=other, **options).fit(X, y).result_.converged
    with pytest.raises(MissingCapability, match="needs Multiclass"):
        SSVM(Chain(), solver="multiclass_dual").fit([X], [y.tolist()])
    with pytest.raises(MissingCapability, match="states='all'"):
        SSVM(Multiclass(), solver="multiclass_dual").fit([["a"], ["b"]], ["x", "y"])
    with pytest.raises(MissingCapability, match="not of LogLoss"):
        CRF(Multiclass(), solver="multiclass_dual").fit(X, y)
    with pytest.raises(ValueError, match="max_iter must be a number > 0"):
        MulticlassDual(max_iter=0)


def test_ssvm_takes_it_on_its_own_and_warm_starts():
    X, y = load_iris(return_X_y=True)
    model = SSVM(Multiclass(), C=1.0, tol=1e-4, warm_start=True).fit(X, y)
    assert isinstance(model.result_.state, Ascent)
    again = model.set_params(C=1.1).fit(X, y).result_
    cold = SSVM(Multiclass(), C=1.1, tol=1e-4).fit(X, y).result_
    assert again.converged and again.primal == pytest.approx(cold.primal, rel=2e-4)
    assert again.step.n_oracle < cold.step.n_oracle


# -- tables of costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "ramp"])
def test_a_table_of_costs_is_a_task_loss(loss, tmp_path):
    X, y = load_iris(return_X_y=True)
    costs = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 7.0], [1.0, 1.0, 0.0]])
    table, wrapped = (
        SSVM(Multiclass(), C=0.1, loss=loss, task_loss=each).fit(X, y) for each in (costs, Hamming(costs))
    )
    np.testing.assert_array_equal(table.coef_, wrapped.coef_)
    plain = SSVM(Multiclass(), C=0.1, loss=loss).fit(X, y)
    # label 1 taken for 2 is dear, so that it happens less often
    wrong = [int(np.sum(model.predict(X)[y == 1] == 2)) for model in (table, plain)]
    assert wrong[0] <= wrong[1]
    table.save(tmp_path / "m.palmette")
    np.testing.assert_array_equal(palmette.load(tmp_path / "m.palmette").predict(X), table.predict(X))


def test_costs_that_cannot_be_are_named(rng):
    X, y = draw(rng, 20, 2, 3)
    for costs, message in (
        (
            [[0, 1, 1], [-2, 0, 1], [1, 1, 0]],
            r"costs\[1, 0\], of 0 where 1 is true, is -2; it must be finite",
        ),
        ([[0, 1, 1], [1, 0.5, 1], [1, 1, 0]], r"costs\[1, 1\], of 1 where 1 is true, is 0.5; it must be 0"),
        ([[0, 1, 1], [1, 0, 1], [np.nan, 1, 0]], r"costs\[2, 0\], of 0 where 2 is true, is nan"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\), expected \(3, 3\) for 3 classes; .*classes=\["),
    ):
        with pytest.raises(ValueError, match=message):
            SSVM(Multiclass(), task_loss=costs).fit(X, y)
    with pytest.raises(TypeError, match="a name, a table of costs or an object"):
        SSVM(Multiclass(), task_loss=3.0).fit(X, y)


# -- inside the concave-convex procedure -------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), recycle=st.booleans(), weighted=st.booleans())
def test_rounds_with_the_dual_never_raise_the_objective(seed, recycle, weighted):
    rng = np.random.default_rng(seed)
    X, y = draw(rng, 60, 3, 4)
    y[:12] = rng.integers(0, 4, 12)
    weight = rng.choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    problem = problem_of(X, y, weight, loss="ramp", l2=0.1)
    result = CCCP(inner="dual", recycle=recycle, tol=1e-3).solve(problem)
    values = [result.history[place].primal for place in result.rounds]
    assert all(after <= before + 1e-9 * abs(before) for before, after in zip(values, values[1:]))
    # what is reported is the ramp loss itself, though rounds only see hinges with targets
    value = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
    assert result.primal == pytest.approx(value, rel=1e-9)


def test_cccp_takes_the_dual_where_it_serves(rng):
    X, y = draw(rng, 150, 4, 3)
    own = SSVM(Multiclass(), loss="ramp", l2=0.1, tol=1e-4).fit(X, y)
    named = SSVM(Multiclass(), loss="ramp", l2=0.1, solver=CCCP(inner="dual")).fit(X, y)
    given = SSVM(Multiclass(), loss="ramp", l2=0.1, solver=CCCP(inner=MulticlassDual(1000, 1e-4))).fit(X, y)
    assert own.objective_ == named.objective_ == given.objective_
    bundle = SSVM(Multiclass(), loss="ramp", l2=0.1, solver=CCCP(inner="bundle")).fit(X, y)
    assert own.objective_ == pytest.approx(bundle.objective_, rel=0.1)
    with pytest.raises(MissingCapability, match="inner='dual' needs Multiclass"):
        SSVM(Chain(), loss="ramp", solver=CCCP(inner="dual")).fit([X], [y.tolist()])
