"""Max-margin Markov networks with kernels: the same optimum as with features, certificates, files, refusals."""

from __future__ import annotations

import io
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV

import palmette
from experiments.benchmarks import m3n_ocr as study
from palmette import CRF, SSVM, Chain, Encoding, Graph, GraphInput, KernelOptions, Multiclass
from palmette.datasets import make_chains
from palmette.errors import MissingCapability, ModelFileError
from palmette.estimators.kernel_fit import kernel_problem
from palmette.estimators.training import encode_training
from palmette.executors.threads import ThreadExecutor
from palmette.kernels import (
    RBF,
    Blurred,
    Custom,
    Directions,
    Linear,
    NotPositiveSemidefinite,
    Nystroem,
    Polynomial,
    Precomputed,
    Transformed,
)
from palmette.loops.kernel_visits import GenericVisits, visits_of
from palmette.regularizers import Decomposition
from palmette.solvers import KernelFrankWolfe
from palmette.structures import grid_graph

LABELS = ["a", "b", "c"]


@pytest.fixture
def words():
    """Noisy chains of three labels."""
    rng = np.random.default_rng(3)
    X, Y = make_chains(14, 3, 4, random_state=1)
    X = [x + 0.8 * rng.normal(size=x.shape) for x in X]
    names = sorted({label for labels in Y for label in labels})
    return X, [[LABELS[names.index(label)] for label in labels] for labels in Y]


def fit_linear(X, Y, structure=None, **options):
    options = {"fit_intercept": False, "solver": "bundle", "tol": 1e-7, "n_jobs": 1} | options
    return SSVM(structure or Chain(), **options).fit(X, Y)


def agree(one, two):
    """Whether two models say the same, but for a few labels that are undecided up to the tolerance."""
    return np.mean(np.concatenate(one) == np.concatenate(two)) > 0.97


def squares(x):
    """Features whose inner product is ``(<x, y> + 1)^2``."""
    pairs = [
        x[:, i] * x[:, j] * (1.0 if i == j else 2.0**0.5) for i in range(x.shape[1]) for j in range(i + 1)
    ]
    return np.column_stack([*pairs, 2.0**0.5 * x, np.ones(len(x))])


# -- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2_edge", [2.0, 0.5])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_linear_kernel_is_the_linear_model(words, l2_edge, kind):
    X, Y = words
    reference = fit_linear(X, Y, C=0.5, l2_edge=l2_edge)
    model = SSVM(Chain(), kernel=Linear(), C=0.5, l2_edge=l2_edge, tol=1e-5).fit(list(map(kind, X)), Y)
    assert model.result_.reason == "gap"
    assert model.result_.lower <= reference.objective_ * (1 + 1e-6)
    assert reference.result_.lower <= model.objective_ * (1 + 1e-6)
    assert model.objective_ == pytest.approx(reference.objective_, rel=3e-5)
    assert agree(model.predict(X), reference.predict(X))
    np.testing.assert_allclose(model.transitions_, reference.transitions_, atol=0.02)
    weights = model.support_.T @ model.dual_coef_
    np.testing.assert_allclose(
        weights, reference.coef_[reference.scorer_.blocks["node"]].reshape(4, 3), atol=0.02
    )


def test_transitions_have_a_penalty_of_their_own(words):
    X, Y = words
    two = fit_linear(X, Y, l2=2.0, l2_edge=0.5)
    kernel = SSVM(Chain(), kernel="linear", l2=2.0, l2_edge=0.5, tol=1e-5).fit(X, Y)
    assert kernel.objective_ == pytest.approx(two.objective_, rel=3e-5)


def test_quadratic_kernel_is_the_linear_model_of_products(words):
    X, Y = words
    reference = fit_linear([squares(x) for x in X], Y, C=0.02, l2_edge=25.0)
    model = SSVM(Chain(), kernel=Polynomial(2, gamma=1.0), C=0.02, l2_edge=25.0, tol=1e-4).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-4)
    weights = squares(model.support_.astype(float)).T @ model.dual_coef_
    assert weights.ravel() == pytest.approx(reference.coef_[reference.scorer_.blocks["node"]], abs=0.01)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_single_labels(words, kind):
    X, y = np.concatenate(words[0]), np.concatenate(words[1])
    reference = fit_linear(X, y, Multiclass(), C=0.5)
    model = SSVM(Multiclass(), kernel=Linear(), C=0.5, tol=1e-5).fit(kind(X), y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=3e-5)
    assert np.mean(model.predict(kind(X)) == reference.predict(X)) > 0.97  # all but what is undecided


def test_string_features(words):
    X = [[["w=a", "x"], ["w=b"]], [["w=b", "x"], ["w=a"], ["w=a", "w=b"]]]
    Y = [["a", "b"], ["b", "a", "a"]]
    reference = fit_linear(X, Y, C=1.0, encoding=Encoding(states="all"))
    model = SSVM(Chain(), kernel=Linear(), C=1.0, tol=1e-5).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=3e-5)
    assert model.predict([[["w=a", "unseen"]]]) == reference.predict([[["w=a", "unseen"]]])


def test_weight_two_is_a_duplicate(words):
    X, Y = words
    weight = np.where(np.arange(len(X)) < 5, 2.0, 1.0)
    options = {"kernel": RBF(gamma=0.3), "C": 1.0, "tol": 1e-5}
    weighted = SSVM(Chain(), **options).fit(X, Y, weight)
    doubled = SSVM(Chain(), **options).fit(X + X[:5], Y + Y[:5])
    assert weighted.objective_ == pytest.approx(doubled.objective_, rel=3e-5)
    assert doubled.n_support_ <= sum(map(len, X))  # equal rows are one


@pytest.mark.parametrize("structure", [Chain(order=2), Chain(allowed=[("a", "a"), ("a", "b"), ("b", "a")])])
def test_other_chains_go_through_their_structure(structure):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(6)]
    Y = [list("aaba"), list("abaa"), list("baab"), list("aaaa"), list("abab"), list("baba")]
    reference = fit_linear(X, Y, structure, C=0.5)
    model = SSVM(structure, kernel=Linear(), C=0.5, tol=1e-4).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-4)
    assert agree(model.predict(X), reference.predict(X))


@pytest.mark.parametrize(
    "task_loss", ["zero_one", palmette.losses.Hamming({"a": 2.0})], ids=["zero_one", "costs"]
)
def test_other_losses(words, task_loss):
    X, Y = words
    reference = fit_linear(X, Y, C=0.5, task_loss=task_loss)
    model = SSVM(Chain(), kernel=Linear(), C=0.5, task_loss=task_loss, tol=1e-4).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-4)


# -- the solver -------------------------------------------------------------------------------------------------------


def problem_of(X, Y, executor, **options):
    model = SSVM(Chain(), **({"kernel": RBF(gamma=0.3), "C": 2.0} | options))
    data = encode_training(X, Y, model.structure, None, None)
    return kernel_problem(model, model.kernel, data, executor)[0]


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(3, coef0=0.0, normalize=True)])
@pytest.mark.parametrize("cache_size", [1.0, 0.0035])
def test_compiled_and_generic_visits_take_the_same_steps(kernel, cache_size, rng):
    X = [(rng.random((n, 12)) < 0.5).astype(float) for n in rng.integers(1, 6, 12)]
    Y = [list(rng.choice(LABELS, len(x))) for x in X]
    from palmette.objectives.kernel_dual import KernelState

    with ThreadExecutor(1) as executor:
        problem = problem_of(
            X, Y, executor, kernel=kernel, l2_edge=0.25, kernel_options=KernelOptions(cache_size=cache_size)
        )
        compiled, generic = visits_of(problem), GenericVisits(problem)
        assert compiled.compiled and problem.gram.way == ("full" if cache_size == 1.0 else "bytes")
        one, two = KernelState.at_truth(problem, 6), KernelState.at_truth(problem, 6)
        for epoch in range(4):
            order = np.random.default_rng(epoch).permutation(problem.n_samples)
            assert compiled.visit(one, order, 2, 4) == generic.visit(two, order, 2, 4)
            np.testing.assert_array_equal(np.where(one.mass > 0, one.mass, -1) > 0, two.mass > 0)
            for name in ("mass", "loss", "linear", "table"):
                np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=2e-5)
            np.testing.assert_allclose(one.gap, two.gap, atol=2e-4)
            np.testing.assert_allclose(compiled.hinges(one), generic.hinges(one), atol=1e-5)
        table = one.table.copy()
        one.refresh(problem)
        np.testing.assert_allclose(one.table, table, atol=1e-4)


def test_certificate_holds_at_every_step(words):
    X, Y = words
    best = SSVM(Chain(), kernel=RBF(gamma=0.3), C=5.0, tol=2e-5).fit(X, Y)
    solver = KernelFrankWolfe(check_every=1, tol=1e-4)
    result = SSVM(Chain(), kernel=RBF(gamma=0.3), C=5.0, solver=solver).fit(X, Y).result_
    assert result.converged and result.gap <= 1e-4 * result.primal
    for before, after in zip(result.history, result.history[1:]):
        assert before.lower <= after.lower <= best.objective_ * (1 + 1e-6)
        assert best.result_.lower * (1 - 1e-6) <= after.primal <= before.primal


def test_the_certified_point_is_the_one_returned(words):
    X, Y = words
    model = SSVM(Chain(), kernel=RBF(gamma=0.3), C=5.0, l2_edge=0.1, tol=1e-2).fit(X, Y)
    gram = RBF(gamma=0.3)(model.support_)
    penalty = 0.5 / 5.0 * np.sum(model.dual_coef_ * (gram @ model.dual_coef_))
    penalty += 0.5 / (5.0 * 2.0) * np.sum(model.transitions_**2)
    explicit = SSVM(Chain(), C=5.0).fit(X, Y)  # for its surrogate alone
    hinge = explicit._surrogate(tuple(model.codec_.classes_))
    total = 0.0
    for x, y in zip(X, Y):
        batch = model.encoder_.transform([x])
        theta = model.scorer_.score(model.coef_, batch)
        codes = np.array([model.codec_.classes_.index(label) for label in y], np.int32)
        total += hinge.evaluate(model.structure_, theta, codes, np.ones(1)).values.sum()
    assert total + penalty == pytest.approx(model.objective_, rel=1e-5)


def test_a_resumed_run_is_an_uninterrupted_one(words):
    X, Y = words
    with ThreadExecutor(1) as executor, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        problem = problem_of(X, Y, executor)
        whole = KernelFrankWolfe(max_iter=9, tol=0.0, check_every=4).solve(problem)
        part = KernelFrankWolfe(max_iter=5, tol=0.0, check_every=4).solve(problem)
        again = KernelFrankWolfe(max_iter=4, tol=0.0, check_every=4).solve(problem, state=part.state)
    np.testing.assert_array_equal(whole.state.active.mass, again.state.active.mass)
    assert whole.lower == again.lower and len(again.history) == 9
    assert again.primal <= whole.primal  # the check at the interruption may have found a better point


def test_any_number_of_threads_and_any_cache_give_the_same(words, rng):
    X = [(rng.random((6, 20)) < 0.3).astype(float) for _ in range(20)]
    Y = [list(rng.choice(LABELS, 6)) for _ in X]
    fits = [
        SSVM(
            Chain(),
            kernel=RBF(gamma=0.1),
            tol=1e-3,
            n_jobs=n_jobs,
            kernel_options=KernelOptions(cache_size=size),
        ).fit(X, Y)
        for n_jobs, size in ((1, 10), (2, 10), (1, 0.02), (1, 0.01))
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    for other in fits[2:]:
        assert other.objective_ == pytest.approx(fits[0].objective_, rel=2e-3)
        assert other.result_.lower <= fits[0].objective_ * (1 + 1e-6)


def test_callbacks_see_models_and_stop(words):
    X, Y = words
    seen = []

    def stop(step, model):
        seen.append(model().predict(X))
        return step.n_iter == 3

    stop.sees_model = True
    model = SSVM(Chain(), kernel=RBF(gamma=0.3), callbacks=[stop]).fit(X, Y)
    assert len(seen) == 3 and model.result_.reason == "callback"
    assert model.result_.primal < sum(map(len, X))
    with pytest.warns(ConvergenceWarning, match="kernel_frank_wolfe stopped after 2 passes"):
        SSVM(Chain(), kernel=RBF(gamma=0.3), max_iter=2, tol=1e-6).fit(X, Y)


# -- kernels of the user's, files, search -----------------------------------------------------------------------------


def test_given_functions_and_matrices(words):
    X, Y = words
    reference = SSVM(Chain(), kernel=RBF(gamma=0.3), tol=1e-5).fit(X, Y)
    own = SSVM(Chain(), kernel=lambda a, b: pairwise.rbf_kernel(a, b, gamma=0.3), tol=1e-5).fit(X, Y)
    moved = SSVM(Chain(), kernel=Transformed(lambda x: 2.0 * x, RBF(gamma=0.075)), tol=1e-5).fit(X, Y)
    rows = np.concatenate(X)
    grams = [pairwise.rbf_kernel(x, rows, gamma=0.3) for x in X]
    ready = SSVM(Chain(), kernel=Precomputed(), tol=1e-5).fit(grams, Y)
    for model, inputs in ((own, X), (moved, X), (ready, grams)):
        assert model.objective_ == pytest.approx(reference.objective_, rel=3e-5)
        assert agree(model.predict(inputs), reference.predict(X))
    assert abs(ready.n_support_ - reference.n_support_) <= 3
    with pytest.raises(ValueError, match="so each row needs as many columns; it has 4"):
        SSVM(Chain(), kernel="precomputed").fit(X, Y)


def test_columns_of_a_given_matrix_are_chosen_with_its_rows(words):
    X, y = np.concatenate(words[0]), np.concatenate(words[1])
    grid, options = {"C": [0.1, 1.0]}, {"cv": 3}
    ready = GridSearchCV(SSVM(Multiclass(), kernel=Precomputed(), tol=1e-4), grid, **options)
    ready.fit(pairwise.rbf_kernel(X, gamma=0.3), y)
    plain = GridSearchCV(SSVM(Multiclass(), kernel=RBF(gamma=0.3), tol=1e-4), grid, **options).fit(X, y)
    assert ready.cv_results_["mean_test_score"] == pytest.approx(
        plain.cv_results_["mean_test_score"], abs=0.02
    )


def test_kernels_that_are_none_are_refused(words):
    X, Y = words
    with pytest.raises(NotPositiveSemidefinite, match="most negative eigenvalue"):
        SSVM(Chain(), kernel=lambda a, b: np.tanh(a @ b.T - 1.0)).fit(X, Y)


def test_a_map_leads_to_the_linear_solvers(words):
    X, Y = words
    exact = SSVM(Chain(), kernel=RBF(gamma=0.3), C=2.0, tol=1e-5).fit(X, Y)
    options = {"kernel": Nystroem(RBF(gamma=0.3), 1000), "C": 2.0, "fit_intercept": False, "tol": 1e-6}
    mapped = SSVM(Chain(), solver="bundle", **options).fit(X, Y)
    assert mapped.objective_ == pytest.approx(exact.objective_, rel=1e-3)
    assert agree(mapped.predict(X), exact.predict(X))
    file = io.BytesIO()
    mapped.save(file)
    assert palmette.load(file).predict(X) == mapped.predict(X)
    with pytest.raises(AttributeError, match="fitted without a kernel, or with Nystroem"):
        _ = mapped.support_
    with pytest.raises(TypeError, match="prune drops weights of features, and kernel=RBF"):
        exact.prune()
    tables = Nystroem(RBF(gamma=0.3), 10).fit(X)
    assert CRF(Chain()).fit(tables.transform(X), Y).score(tables.transform(X), Y) > 0.5


PICTURES = [Transformed(Blurred((2, 2), 0.5), RBF()), Transformed(Directions((2, 2), n_directions=3), "poly")]


def test_maps_of_transformed_rows_are_saved(words):
    X, Y = words
    model, file = SSVM(Chain(), kernel=Nystroem(PICTURES[1], 20), tol=0.05).fit(X, Y), io.BytesIO()
    model.save(file)
    assert palmette.load(file).predict(X) == model.predict(X)


@pytest.mark.parametrize("kernel", [Polynomial(2), RBF(), Linear(normalize=True), "rbf", *PICTURES], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_models_survive_files_pickles_and_clones(words, kernel, kind):
    X, Y = list(map(kind, words[0])), words[1]
    model = SSVM(Chain(), kernel=kernel, C=0.5, tol=0.05).fit(X, Y)
    file = io.BytesIO()
    model.save(file)
    loaded = SSVM.load(file)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.predict(X) == model.predict(X)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        assert type(other.kernel) is type(kernel) and other.n_support_ == model.n_support_
    assert clone(loaded).fit(X, Y).objective_ == model.objective_


def test_functions_are_given_again_on_loading(words):
    X, Y = words
    twice = Transformed(lambda x: 2.0 * x, RBF())
    mapped = Nystroem(pairwise.laplacian_kernel, 20)
    for kernel in (
        pairwise.laplacian_kernel,
        Custom(pairwise.laplacian_kernel, normalize=True),
        twice,
        mapped,
    ):
        model, file = SSVM(Chain(), kernel=kernel, tol=1e-2).fit(X, Y), io.BytesIO()
        model.save(file)
        with pytest.raises(ModelFileError, match="model files hold no code: give it again"):
            palmette.load(file)
        loaded = palmette.load(file, kernel=kernel)
        assert loaded.kernel is kernel and loaded.predict(X) == model.predict(X)
    with pytest.raises(ModelFileError, match="uses kernel=Nystroem"):
        palmette.load(file, kernel=pairwise.laplacian_kernel)
    plain = io.BytesIO()
    SSVM(Chain(), kernel=RBF(), tol=1e-2).fit(X, Y).save(plain)
    with pytest.raises(ValueError, match="fitted without kernel"):
        palmette.load(plain, kernel=RBF())


def test_damaged_support_is_refused(words):
    from palmette.io.model_file import read_model, write_model

    X, Y = words
    file, damaged = io.BytesIO(), io.BytesIO()
    SSVM(Chain(), kernel=RBF(), tol=1e-2).fit(X, Y).save(file)
    kind, header, arrays = read_model(file)
    arrays["scorer.rows"] = arrays["scorer.rows"][:-1]
    write_model(damaged, kind, header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        palmette.load(damaged)


def test_settings_are_searched(words):
    X, Y = words
    grid = {"C": [0.1, 1.0], "l2_edge": [1.0, 0.3], "kernel__gamma": [0.1, 0.3]}
    search = GridSearchCV(SSVM(Chain(), kernel=RBF(), classes=LABELS, tol=0.05), grid, cv=2).fit(X, Y)
    assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]
    assert search.best_score_ > 0.3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"l1": 0.1}, "l1=0.1 needs weights of features"),
        ({"regularizer": Decomposition(2.5)}, "regularizer=Decomposition"),
        ({"warm_start": True}, "warm_start=True needs weights"),
        ({"edge_features": ["B"]}, r"edge_features=\['B'\] needs weights"),
        ({"l2_bias": 1.0}, "l2_bias=1.0 needs weights"),
        ({"fit_intercept": True}, "a kernel brings its own constant"),
        ({"encoding": Encoding(states="observed")}, "states='observed' needs weights"),
    ],
)
def test_what_needs_weights_is_refused_by_name(words, options, message):
    X, Y = words
    with pytest.raises(MissingCapability, match=message):
        SSVM(**({"structure": Chain(), "kernel": RBF()} | options)).fit(X, Y)


def test_bad_settings_are_refused_before_any_work(words):
    X, Y = words
    for options, message in (
        ({"l2_edge": 0.0}, "a kernel needs l2_edge > 0, got 0.0"),
        ({"kernel_options": KernelOptions(cache_size=-1)}, "cache_size must be a positive number"),
        ({"l2": 0.0}, "needs l2 > 0"),
        ({"kernel_options": KernelOptions(cache_size=1e-4)}, "the longest sample needs"),
    ):
        with pytest.raises(ValueError, match=message):
            SSVM(Chain(), **({"kernel": RBF()} | options)).fit(X, Y)
    with pytest.raises(MissingCapability, match="kernel_frank_wolfe solves the dual"):
        SSVM(Chain(), solver="kernel_frank_wolfe").fit(X, Y)
    with pytest.raises(TypeError, match="prune"):
        SSVM(Chain(), kernel=RBF(), tol=0.1).fit(X, Y).prune()


@pytest.mark.data
def test_letters_of_the_first_fold():
    data = palmette.datasets.load_ocr_letters(subset=[0, 1])
    train, test = (np.flatnonzero(data.folds == fold) for fold in (0, 1))
    X, Y = [data.data[i] for i in train], [data.target[i] for i in train]
    cubic = Polynomial(3, coef0=0.0, normalize=True)
    model = SSVM(Chain(), kernel=cubic, C=1.0, l2_edge=1 / 3, tol=0.1).fit(X, Y)
    assert model.result_.gap <= 0.1 * model.objective_
    error = 1.0 - model.score([data.data[i] for i in test], [data.target[i] for i in test])
    assert error < 0.13  # a cubic SVM of single letters has 0.18


# -- graphs -----------------------------------------------------------------------------------------------------------


def test_a_chain_as_a_graph_is_the_chain(words):
    X, Y = words
    graphs = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    solver = KernelFrankWolfe(max_iter=6, check_every=1, tol=0.0)
    options = {"kernel": RBF(gamma=0.3), "C": 0.5, "l2_edge": 1.0, "solver": solver}
    with pytest.warns(ConvergenceWarning, match="stopped after 6 passes"):
        chain, graph = SSVM(Chain(), **options).fit(X, Y), SSVM(palmette.Graph(), **options).fit(graphs, Y)
    for name in ("n_oracle", "primal", "lower"):
        mine, theirs = ([getattr(step, name) for step in m.result_.history] for m in (chain, graph))
        np.testing.assert_allclose(mine, theirs, rtol=1e-4)
    assert agree(graph.predict(graphs), chain.predict(X))
    np.testing.assert_allclose(graph.transitions_, chain.transitions_, atol=1e-3)


@pytest.mark.parametrize("features", [False, True])
def test_loops_with_edge_features(features, rng):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    X = [(rng.normal(size=(4, 3)), edges) for _ in range(5)]
    if features:
        X = [(*x, rng.normal(size=(4, 2))) for x in X]
    Y = [list(rng.choice(LABELS, 4)) for _ in X]
    structure = palmette.Graph(symmetric=True)
    reference = fit_linear(X, Y, structure, C=0.3, l2_edge=5 / 3)
    model = SSVM(structure, kernel=Linear(), C=0.3, l2_edge=5 / 3, tol=1e-3).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-3)
    assert model.result_.lower <= reference.objective_ * (1 + 1e-6)
    file = io.BytesIO()
    model.save(file)
    assert palmette.load(file).predict(X) == model.predict(X)


# -- kernels of edges -------------------------------------------------------------------------------------------------


def test_a_constant_edge_kernel_is_the_table(words):
    X, Y = words
    options = {"kernel": RBF(gamma=0.3), "C": 0.1, "l2_edge": 5.0, "tol": 1e-3}
    table = SSVM(Chain(), **options).fit(X, Y)
    constant = SSVM(
        Chain(), kernel_options=KernelOptions(edge_kernel=lambda a, b: np.ones((len(a), len(b)))), **options
    ).fit(X, Y)
    assert constant.objective_ == pytest.approx(table.objective_, rel=2e-3)
    theta = constant.scorer_.score(constant.coef_, constant.encoder_.transform(X))
    np.testing.assert_allclose(theta.edge, np.broadcast_to(table.transitions_, theta.edge.shape), atol=0.02)
    with pytest.raises(AttributeError, match="transitions of its own"):
        _ = constant.transitions_


def test_a_linear_edge_kernel_is_weights_of_edge_features(rng):
    edges = [(0, 1), (1, 2), (2, 0)]
    X = [(rng.normal(size=(3, 3)), edges, rng.normal(size=(3, 2))) for _ in range(8)]
    Y = [list(rng.choice(LABELS, 3)) for _ in X]
    reference = fit_linear(X, Y, palmette.Graph(edge_bias=False), C=0.3, l2_edge=5 / 3)
    model = SSVM(
        palmette.Graph(),
        kernel=Linear(),
        kernel_options=KernelOptions(edge_kernel=Linear()),
        C=0.3,
        l2_edge=5 / 3,
        tol=1e-4,
    ).fit(X, Y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=2e-4)
    assert model.result_.lower <= reference.objective_ * (1 + 1e-6)
    file = io.BytesIO()
    model.save(file)
    assert palmette.load(file).predict(X) == pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)


def test_edge_kernels_of_both_ends(words):
    X, Y = words
    model = SSVM(
        Chain(), kernel=RBF(), kernel_options=KernelOptions(edge_kernel=RBF()), l2_edge="2x", tol=0.05
    ).fit([*X, X[0][:1]], [*Y, Y[0][:1]])
    assert model.result_.reason == "gap" and model.score(X, Y) > 0.9
    assert model.predict([X[0], X[0][:1]])[0] == model.predict(X)[0]
    for options, error, message in (
        ({"kernel": None}, ValueError, "needs a kernel of nodes too"),
        ({"structure": Multiclass()}, MissingCapability, "compares directed edges"),
        ({"kernel_options": KernelOptions(edge_kernel=Precomputed())}, TypeError, "must be a kernel of rows"),
        (
            {"kernel_options": KernelOptions(edge_kernel="cubic")},
            ValueError,
            "edge_kernel='cubic' is unknown",
        ),
        ({"kernel": Nystroem()}, MissingCapability, "edge_kernel does not go with kernel=Nystroem"),
    ):
        items = "structure" in options
        inputs = (np.concatenate(X), np.concatenate(Y)) if items else (X, Y)
        with pytest.raises(error, match=message):
            SSVM(
                **(
                    {
                        "structure": Chain(),
                        "kernel": RBF(),
                        "kernel_options": KernelOptions(edge_kernel=RBF()),
                    }
                    | options
                )
            ).fit(*inputs)


def test_an_edge_kernel_of_nodes_does_not_ignore_types_of_edges(rng):
    edges, types = [[0, 1], [1, 2]], ["near", "far"]
    X, Y = [rng.normal(size=(3, 2)) for _ in range(3)], [list("aba")] * 3
    model = SSVM(palmette.Graph(), kernel=RBF(), kernel_options=KernelOptions(edge_kernel=RBF()), tol=0.1)
    with pytest.raises(MissingCapability, match="X has 2 types of edges: give edge_features"):
        model.fit([palmette.GraphInput(x, edges, edge_types=types) for x in X], Y)
    model.fit([palmette.GraphInput(x, edges, np.ones((2, 1)), edge_types=types) for x in X], Y)
    assert model.scorer_.edge_support.shape[1] == 2  # a column for each type


# -- the study of letters ---------------------------------------------------------------------------------------------


def test_learners_of_the_study_learn(rng):
    pictures = (rng.random((3, 128)) < 0.5).astype(float)
    words = study.Words(
        [pictures[[0, 1]], pictures[[1, 2, 0]], pictures[[2]]], [list("ab"), list("bca"), ["c"]]
    )
    for (learner, kernel), search in study.PLAN.items():
        settings = dict(search.start)
        for stage in search.stages:
            settings |= {name: values[0] for name, values in stage.items()}
        settings |= {name: 1e-3 if name.startswith("l2") else 10.0 for name in settings if name[0] in "lC"}
        point = {"learner": learner, "kernel": kernel}
        model = words.fitted(study.make_learner(learner, kernel, settings, study.FINE), point)
        assert words.errors(model, point) == (0.0, 0.0), point


def test_summary_of_the_study():
    assert len(study.BENCHMARK.points) == len({tuple(point.items()) for point in study.BENCHMARK.points})
    found = {
        "words": 0.5, "inner": 0.1, "settings": {"C": 1.0}, "seconds": 1.0, "gap": 0.01, "n_support": 10,
        "m3n_seconds": 3.0, "svc_seconds": 2.0,
    }  # fmt: skip
    records = [
        point | found | {"letters": (0.2 if point["learner"] == "crf" else 0.1) + 0.01 * point["fold"]}
        for point in study.BENCHMARK.points
        if point["fold"] < 2
    ]
    tables = {table.title: table for table in study.summarise(records)}
    assert ["m3n cubic, one", "<= 10.8", "10.50", "2", "met so far"] in tables["Targets"].rows
    differences = {row[0]: row[1:] for row in tables["Differences, paired over folds"].rows}
    assert differences["m3n linear - crf linear, one"] == ["2", "-10.00 ± 0.00", "-49 %"]
    times = {row[0]: row[1:] for row in tables["Time of the last fit, certificate, support"].rows}
    assert times["m3n cubic, nine"] == ["1.00", "1.00 %", "10", "1.50"]
    matplotlib = pytest.importorskip("matplotlib.figure")
    figure = matplotlib.Figure()
    study.draw(figure, records)
    assert len(figure.axes[0].patches) == len(study.PLAN)


def test_nystroem_maps_the_nodes_of_graphs(rng):
    X = [grid_graph(rng.normal(size=(2, 3, 2))) for _ in range(6)]
    Y = [["ab"[int(v > 0)] for v in graph.nodes[:, 0]] for graph in X]
    rows = np.concatenate([graph.nodes for graph in X])
    kernel = Nystroem(RBF(1.0), n_components=len(rows))  # all landmarks: the kernel itself
    mapped = SSVM(Graph(), kernel=kernel, C=1.0, tol=1e-5).fit(X, Y)
    exact = SSVM(Graph(), kernel=RBF(1.0), C=1.0, tol=1e-5).fit(X, Y)
    assert mapped.predict(X) == exact.predict(X)
    file = io.BytesIO()
    mapped.save(file)
    assert palmette.load(file).predict(X) == mapped.predict(X)
    typed = [GraphInput(graph.nodes, graph.edges, node_types=list("aaabbb")) for graph in X]
    by_type = SSVM(Graph(), kernel=kernel, C=10.0).fit(typed, Y)
    assert by_type.score(typed, Y) > 0.9
