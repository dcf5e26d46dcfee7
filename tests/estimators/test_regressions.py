"""SORR, SOSC and their searches: predictions, weights, folds, files and refusals."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import palmette
from palmette import SORR, SORRCV, SOSC, SOSCCV
from palmette.errors import MissingCapability, ModelFileError, TooLarge
from palmette.kernels import (
    RBF,
    Hamming,
    Joined,
    Kernel,
    Linear,
    NGram,
    NotPositiveSemidefinite,
    Nystroem,
    Polynomial,
)
from palmette.outputs import HammingOutputs

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
STRINGS = ["abcab", "abcc", "bcaa", "cabb", "abca", "bbca"]
WORDS = ["ab", "abc", "b", "ca", "abc", "bc"]


def distance(true, found):
    return abs(float(true) - float(found))


def known_loss(true, found):
    return abs({"a": 0.0, "b": 1.0}[true] - {"a": 0.0, "b": 1.0}[found])


def shared(x, y):
    return float(len(set(x) & set(y)))


def named(model):
    """The same name in every process: addresses of functions are not."""
    return re.sub(r" at 0x\w+|\s+", " ", repr(model))[:90]


@parametrize_with_checks([SORR(), SOSC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


MODELS = [
    SORR(l2=0.1),
    SORR(l2=0.1, fit_intercept=True),
    SORR(l2=0.1, fit_intercept=True, decode_intercept=False),
    SORR(kernel=Polynomial(2), C=3.0, task_loss=distance),
    SOSC(R=2.0),
    SOSC(R=2.0, fit_intercept=True),
    SOSC(kernel=Polynomial(2), R=1e6, task_loss=distance),
    SOSC(kernel="linear", R=1e-3, constraint="box", fit_intercept=True),
]


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_votes_are_sums_of_coefficients(model):
    weight = np.arange(len(X)) % 3
    model = clone(model).fit(X[:30], Y[:30], weight[:30])
    a, new = model.coefficients(X), X
    votes = a @ model.space_.ballots.toarray()
    if not model.decode_intercept:
        votes -= model.intercept_
    np.testing.assert_allclose(model.votes(new), votes, atol=1e-8)
    if model.fit_intercept:
        np.testing.assert_allclose(a.sum(axis=1), 1.0)
    found = model.pre_images(X)
    assert found.exact.all() and list(model.predict(X)) == found.outputs
    losses = [distance(a, b) if model.task_loss else float(a != b) for a, b in zip(Y, model.predict(X))]
    assert model.score(X, Y) == pytest.approx(1.0 - np.mean(losses))
    assert model.result_.converged and model.objective_ == model.result_.objective


def test_sorr_is_kernel_ridge_of_indicators():
    model = SORR(kernel=RBF(gamma=0.3), l2=0.2).fit(X, Y)
    peer = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.2).fit(X, np.eye(3)[Y])
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(model.votes(X + 0.1), peer.predict(X + 0.1), atol=1e-10)


@pytest.mark.parametrize(
    "model", [SORR(l2=0.1, fit_intercept=True), SOSC(R=2.0, fit_intercept=True)], ids=named
)
def test_a_weight_of_two_is_a_twin(model):
    weight = np.arange(len(X)) % 3
    twins = np.repeat(np.arange(len(X)), weight)
    kernel = RBF(gamma=0.5)
    one = clone(model).set_params(kernel=kernel).fit(X, Y, weight)
    other = clone(model).set_params(kernel=kernel).fit(X[twins], Y[twins])
    order = [one.space_.outputs_.index(y) for y in other.space_.outputs_]
    np.testing.assert_allclose(one.votes(X)[:, order], other.votes(X), atol=1e-9)
    assert one.objective_ == pytest.approx(other.objective_)


def test_task_losses_take_the_place_of_the_kernel():
    """With the absolute difference a prediction is a weighted median of the votes, not the most frequent output."""
    model = SORR(l2=0.1, task_loss=distance).fit(X, Y)
    a = model.coefficients(X)
    table = np.abs(np.arange(3)[:, None] - Y)
    assert list(model.predict(X)) == list(np.argmin(a @ table.T, axis=1))


def test_sparse_rows_are_dense_rows():
    rows = np.where(X > 2.0, X, 0.0)
    one, other = (SORR(kernel=Polynomial(2)).fit(given, Y) for given in (rows, sparse.csr_matrix(rows)))
    np.testing.assert_allclose(one.votes(rows), other.votes(sparse.coo_matrix(rows)), atol=1e-8)


def test_precomputed_kernels_are_kernels():
    kernel = RBF(gamma=0.5)
    gram = np.array([[np.exp(-0.5 * np.sum((a - b) ** 2)) for b in X] for a in X])
    for learner in (SORR(l2=0.1), SOSC(R=2.0)):
        plain = clone(learner).set_params(kernel=kernel).fit(X, Y)
        given = clone(learner).set_params(kernel="precomputed").fit(gram, Y)
        np.testing.assert_allclose(plain.votes(X[:7]), given.votes(gram[:7]), atol=1e-9)
    search = GridSearchCV(SORR(kernel="precomputed"), {"l2": [0.1, 1.0]}, cv=3).fit(gram, Y)
    also = GridSearchCV(SORR(kernel=kernel), {"l2": [0.1, 1.0]}, cv=3).fit(X, Y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], also.cv_results_["mean_test_score"])


def test_all_landmarks_make_nystroem_exact():
    for learner in (SORR(l2=0.1, fit_intercept=True), SOSC(R=1.0)):
        exact = clone(learner).set_params(kernel=RBF(gamma=0.2)).fit(X, Y)
        close = clone(learner).set_params(kernel=Nystroem(RBF(gamma=0.2), 50)).fit(X, Y)
        np.testing.assert_allclose(exact.votes(X), close.votes(X), atol=1e-5)
        assert close.result_.converged and len(close.support_) == len(np.unique(X, axis=0))
        with pytest.raises(MissingCapability, match="but of landmarks"):
            close.coefficients(X)


def test_nystroem_of_strings(caplog):
    caplog.set_level("INFO", logger="palmette")
    model = SORR("hamming", kernel=Nystroem(NGram(2), 4), l2=0.1, verbose=1).fit(STRINGS, WORDS)
    assert model.support_.shape[0] == 4 and len(model.predict(["abcabc"])) == 1
    assert re.search(r"ended after \d+ steps, objective .*, converged, [\d.]+ s", caplog.messages[-1])


# -- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["task", "squared"])
@pytest.mark.parametrize("fit_intercept, decode", [(False, True), (True, True), (True, False)])
def test_search_scores_are_those_of_fits(scoring, fit_intercept, decode):
    cv, weight = KFold(3, shuffle=True, random_state=1), 1.0 + np.arange(len(X)) % 2
    own = {"fit_intercept": fit_intercept, "decode_intercept": decode}
    l2s, kernels = [1.0, 1e-2], [RBF(gamma=0.5), Polynomial(2, gamma=0.1)]
    model = SORRCV(kernels=kernels, l2s=l2s, cv=cv, scoring=scoring, **own).fit(X, Y, weight)
    for k, kernel in enumerate(kernels):
        for j, l2 in enumerate(l2s):
            for f, (train, held) in enumerate(cv.split(X)):
                plain = SORR(kernel=kernel, l2=l2, **own).fit(X[train], Y[train], weight[train])
                expected = plain.score(X[held], Y[held], weight[held])
                if scoring == "squared":
                    order = [plain.space_.outputs_.index(y) for y in model.space_.outputs_]
                    votes = plain.votes(X[held]) + (0.0 if decode else plain.intercept_)
                    off = np.sum((votes[:, order] - np.eye(3)[Y[held]]) ** 2, axis=1)
                    expected = -weight[held] @ off / weight[held].sum()
                assert model.cv_scores_[k, j, f] == pytest.approx(expected, abs=1e-9)
    means = model.cv_scores_.mean(axis=2)
    assert model.best_score_ == means.max() and model.best_params_["l2"] == model.l2_
    again = SORR(**model.best_params_, **own).fit(X, Y, weight)
    np.testing.assert_allclose(again.votes(X), model.votes(X), atol=1e-10)


def test_search_of_a_radius():
    cv = KFold(3, shuffle=True, random_state=1)
    model = SOSCCV(kernels=[Linear(), RBF(gamma=0.5)], multipliers=[1.0, 1e-3, 1e-6], cv=cv).fit(X, Y)
    assert model.cv_scores_.shape == (2, 3, 3) and model.multipliers_.shape == (2, 3)
    again = SOSC(**model.best_params_).fit(X, Y)
    np.testing.assert_allclose(again.votes(X), model.votes(X), atol=1e-8)
    assert again.result_.multiplier == pytest.approx(model.result_.multiplier, rel=1e-6)
    assert model.best_params_["R"] == model.R_ == model.result_.radius


def test_search_over_radii_is_a_grid_of_fits():
    cv, radii, weight = (
        KFold(3, shuffle=True, random_state=1),
        [1.0, 1e-2, 1e3, 10.0],
        1.0 + np.arange(len(X)) % 2,
    )
    model = SOSCCV(kernels=RBF(gamma=0.5), radii=radii, cv=cv, fit_intercept=True).fit(X, Y, weight)
    assert model.radii_.tolist() == [sorted(radii)] and not hasattr(model, "multipliers_")
    for j, radius in enumerate(sorted(radii)):
        for f, (train, held) in enumerate(cv.split(X)):
            plain = SOSC(kernel=RBF(gamma=0.5), R=radius, fit_intercept=True).fit(
                X[train], Y[train], weight[train]
            )
            assert model.cv_scores_[0, j, f] == pytest.approx(plain.score(X[held], Y[held], weight[held]))
    assert model.best_params_["R"] == model.R_ and model.R_ in radii
    again = SOSC(**model.best_params_, fit_intercept=True).fit(X, Y, weight)
    np.testing.assert_allclose(again.votes(X), model.votes(X), atol=1e-10)
    assert not hasattr(model.set_params(radii=None, multipliers=2).fit(X, Y), "radii_")


@pytest.mark.parametrize("learner", [SORRCV, SOSCCV])
def test_groups_are_held_out_together(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    groups = np.arange(40) // 2
    Y = [f"group {g}" for g in groups]  # of which nothing is known without its own samples
    twins = X[groups * 2] + 1e-3 * rng.normal(size=X.shape)
    alone = learner(kernels=RBF(gamma=5.0), cv=5).fit(twins, Y, groups=groups)
    halves = [
        (np.arange(k, 40, 2), np.arange(1 - k, 40, 2)) for k in range(2)
    ]  # which have a twin of each sample
    mixed = learner(kernels=RBF(gamma=5.0), cv=halves).fit(twins, Y)
    assert alone.best_score_ == 0.0 and mixed.best_score_ > 0.9
    same = learner(kernels=RBF(gamma=5.0), cv=GroupKFold(5)).fit(twins, Y, groups=groups)
    assert same.cv_scores_.shape[2] == 5 and same.best_score_ == 0.0


def test_searches_are_estimators():
    model = clone(SORRCV(kernels=[RBF()], l2s=4, cv=3))
    assert model.get_params()["kernels"][0].get_params() == RBF().get_params()
    assert list(model.fit(X, Y).predict(X)) == list(model.fit(X, Y).predict(X))
    assert model.l2s_.shape == (1, 4) and np.all(np.diff(model.l2s_) < 0.0)
    words = SORRCV("hamming", kernels=NGram(2), l2s=3, cv=2, scoring="squared").fit(STRINGS, WORDS)
    assert words.cv_scores_.shape == (1, 3, 2)


# -- files ------------------------------------------------------------------------------------------------------------

TABLES = [np.arange(4.0 * n).reshape(n, 4) for n in (2, 3, 1, 2, 3, 2)]
SAVED = [
    (SORR(l2=0.1, fit_intercept=True), X, Y, {}),
    (SORR(kernel=Polynomial(2), task_loss=distance), X, Y, {"task_loss": distance}),
    (SORR(kernel=Nystroem("rbf", 10)), X, Y.astype(str), {}),
    (SORR("hamming", kernel=NGram(2, normalize=True) ** 2), STRINGS, WORDS, {}),
    (SORR(Hamming(blank=True), kernel=NGram(2) + 2.0 * NGram(1)), STRINGS, [tuple(w) for w in WORDS], {}),
    (SORR(shared, kernel=Nystroem(NGram(2), 4), C=3.0), STRINGS, WORDS, {"output": shared}),
    (SORR(HammingOutputs(lengths="known"), kernel=Joined("rbf")), TABLES, WORDS, {}),
    (SORR(kernel=lambda A, B: A @ B.T), X, Y, {"kernel": lambda A, B: A @ B.T}),
    (SOSC(R=0.3), sparse.csr_array(X), Y, {}),
    (SOSC(R=1e-3, kernel="linear", constraint="box"), X, list(map(str, Y)), {}),
    (SOSC(NGram(1), kernel=NGram(2), R=0.1), STRINGS, WORDS, {}),
    (SORRCV(kernels=[RBF(), Linear()], l2s=3, cv=KFold(3)), X, Y, {}),
    (SOSCCV(kernels=Linear(), multipliers=3, cv=3), X, Y, {}),
    (SOSCCV(kernels=Linear(), radii=[0.1, 1.0], cv=3), X, Y, {}),
]  # fmt: skip


@pytest.mark.parametrize("model, inputs, outputs, functions", SAVED, ids=[named(case[0]) for case in SAVED])
def test_files_keep_models(model, inputs, outputs, functions):
    model, file = clone(model).fit(inputs, outputs), io.BytesIO()
    model.save(file, extra={"note": 1})
    found = type(model).load(file, **functions)
    # A user's function may round in another way for an equal array elsewhere in memory, as BLAS does.
    by_user = callable(model.kernel) and not isinstance(model.kernel, Kernel)
    rtol, atol = (1e-9, 1e-12) if by_user else (0.0, 0.0)
    np.testing.assert_allclose(found.votes(inputs), model.votes(inputs), rtol=rtol, atol=atol)
    assert type(found.predict(inputs)) is type(model.predict(inputs))
    assert list(found.predict(inputs)) == list(model.predict(inputs)) and found.extra_ == {"note": 1}
    assert found.score(inputs, outputs) == model.score(inputs, outputs)
    np.testing.assert_equal(vars(found.result_), vars(model.result_))
    if not isinstance(model.kernel_, Nystroem):
        np.testing.assert_allclose(found.coefficients(inputs), model.coefficients(inputs), atol=1e-9)
    again = io.BytesIO()
    found.save(again)
    assert palmette.load(again, **functions).dual_coef_.shape == model.dual_coef_.shape


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kernel", ["rbf", Joined("linear"), "precomputed", lambda A, B: A @ B.T], ids=named)
def test_changes_of_the_inputs_after_the_fit_change_nothing(kernel, order):
    given = X @ X.T + 1.0 if kernel == "precomputed" else X
    own = [table.copy(order) for table in TABLES] if isinstance(kernel, Joined) else given.copy(order)
    asked = TABLES if isinstance(kernel, Joined) else given
    model = SORR(kernel=kernel).fit(own, Y[: len(own)])
    votes, coefficients = model.votes(asked), model.coefficients(asked)
    for table in own:
        table[:] = 0.0
    np.testing.assert_array_equal(model.votes(asked), votes)
    np.testing.assert_array_equal(model.coefficients(asked), coefficients)


def test_damaged_files_are_refused():
    from palmette.io import read_model, write_model

    model, file = SOSC(R=0.3).fit(X, Y), io.BytesIO()
    model.save(file)
    kind, header, arrays = read_model(file)
    changes = [
        (header, arrays | {"dual": arrays["dual"][:-1]}),
        (header, arrays | {"dual": np.full_like(arrays["dual"], np.nan)}),
        (header, arrays | {"weight": arrays["weight"][:-1]}),
        (header, {k: v for k, v in arrays.items() if k != "intercept"}),
        (header, arrays | {"support.rows": arrays["support.rows"][:, :2]}),
        (header | {"params": header["params"] | {"R": -1.0}}, arrays),
        (header | {"space": {"kind": "Unknown"}}, arrays),
        ({k: v for k, v in header.items() if k != "result"}, arrays),
    ]
    for own, tables in changes:
        damaged = io.BytesIO()
        write_model(damaged, kind, own, tables)
        with pytest.raises(ModelFileError, match="damaged"):
            palmette.load(damaged)
    with pytest.raises(ModelFileError, match="holds a SOSC, not a SORR"):
        SORR.load(file)
    file = io.BytesIO()
    SORR(kernel=lambda A, B: A @ B.T).fit(X, Y).save(file)
    with pytest.raises(ModelFileError, match="give it again"):
        palmette.load(file)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: SOSC(R=0.0).fit(X, Y), ValueError, "R must be a finite number above 0"),
        (lambda: SOSC(R="1").fit(X, Y), ValueError, "R must be a finite number above 0"),
        (lambda: SOSC(constraint="l1").fit(X, Y), ValueError, "constraint must be 'l2' or 'box'"),
        (lambda: SORR(l2=0.0).fit(X, Y), ValueError, "l2 must be .* got 0.0: a kernel matrix may be singular"),
        (lambda: SORR(l2=-1).fit(X, Y), ValueError, "l2 must be a finite number above 0, got -1$"),
        (lambda: SORR(C=0).fit(X, Y), ValueError, "C must be a finite number above 0, got 0$"),
        (lambda: SORR(l2="1x").fit(X, Y), ValueError, "l2 must be a finite number above 0, got '1x'"),
        (lambda: SORR(l2=1.0, C=1.0).fit(X, Y), ValueError, "give l2 or C, not both"),
        (lambda: SORR(fit_intercept="auto").fit(X, Y), ValueError, "fit_intercept must be True or False"),
        (lambda: SORR(task_loss="hamming").fit(X, Y), TypeError, "losses by name are those of a structure given as"),
        (lambda: SORR(kernel=lambda A, B: -A @ B.T).fit(X, Y), NotPositiveSemidefinite, "not positive semi-definite"),
        (lambda: SORR(kernel=lambda A, B: A[:, :1] - B[:, 0]).fit(X, Y), ValueError, "is not symmetric"),
        (lambda: SORR(kernel="precomputed").fit(X, Y), ValueError, "the square matrix of kernel values"),
        (lambda: SORR().fit(X, Y).predict(X[:, :2]), ValueError, "X has 2 features, but SORR is expecting 4"),
        (lambda: SORR().fit(X, Y[:-1]), ValueError, "y has 49 outputs, but X has 50 samples"),
        (lambda: SORR().fit(X, Y, -np.ones(50)), ValueError, r"sample_weight\[0\] is -1.0"),
        (lambda: SORR(kernel=NGram(4)).fit(STRINGS + ["abc"], WORDS + ["a"]), ValueError, "hence no 4-gram"),
        (lambda: SORR().fit(X, Y).score(X, Y[:-1]), ValueError, "y has 49 outputs, but X has 50 samples"),
        (lambda: SORRCV(l2s=[]).fit(X, Y), ValueError, "l2s must be finite numbers above 0"),
        (lambda: SORRCV(l2s=[1.0, 0.0]).fit(X, Y), ValueError, "l2s must be finite numbers above 0"),
        (lambda: SOSCCV(radii=[1.0, 0.0]).fit(X, Y), ValueError, "radii must be finite numbers above 0"),
        (lambda: SOSCCV(radii=20).fit(X, Y), ValueError, "radii must be a list of numbers above 0, got 20"),
        (lambda: SOSCCV(radii=[1.0], multipliers=5).fit(X, Y), ValueError, "give multipliers or radii, not both"),
        (lambda: SORRCV(scoring="f1").fit(X, Y), ValueError, "scoring must be 'task' or 'squared'"),
        (lambda: SORRCV(kernels=[]).fit(X, Y), ValueError, "kernels is empty"),
        (lambda: SORRCV(kernels=Nystroem()).fit(X, Y), MissingCapability, "use GridSearchCV over SORR"),
        (lambda: SORRCV(cv=ShuffleSplit(2, test_size=5, train_size=9)).fit(X, Y), ValueError, "that learn from all"),
        (lambda: SORRCV(cv=2).fit(X, Y, groups=[1, 2]), ValueError, "groups must have one entry per sample"),
        (lambda: SOSC(kernel=Nystroem(), constraint="box").fit(X, Y), MissingCapability, "Nystroem has none"),
    ],
)  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "make, error, message",
    [
        (
            lambda: SORR(kernel=lambda a, b: float(a @ b)).fit(X, Y),
            ValueError,
            "seems to compare two rows, f.x, y.: write",
        ),
        (
            lambda: SORR(kernel=lambda a, b: np.sum(a * b)).fit(X, Y),
            ValueError,
            "seems to compare two rows, f.x, y.: write",
        ),
        (
            lambda: SORR(kernel=lambda A, B: A @ B.T + np.nan).fit(X, Y),
            ValueError,
            r"of input X\[0\] and input X\[0\] is nan",
        ),
        (
            lambda: SORR(3).fit(X, Y),
            TypeError,
            "output must be a name, .* a structure, or a function of two outputs, got 3",
        ),
        (
            lambda: SORR("foo").fit(X, Y),
            ValueError,
            r"choose one of .*'poly', 'polynomial', 'rbf'\], .* a structure, or",
        ),
        (
            lambda: SORR(kernel=NGram(1)).fit((word for word in STRINGS), WORDS),
            TypeError,
            r"got a generator: give list\(X\)",
        ),
        (
            lambda: SORR(kernel=NGram(1)).fit(set(STRINGS), WORDS),
            TypeError,
            "X must be a list, got a set, which has no order",
        ),
        (
            lambda: SORR(kernel=NGram(1)).fit(dict.fromkeys(STRINGS), WORDS),
            TypeError,
            "X must be a list, got a dict",
        ),
        (
            lambda: SORR(kernel=NGram(1)).fit(STRINGS, WORDS).predict(set(STRINGS)),
            TypeError,
            "X must be a list, got a set",
        ),
        (lambda: SORR().fit(X[:3], {1, 2, 3}), TypeError, "y must be a list, got a set, which has no order"),
        (lambda: SORR().fit(X[:3], {1: 1, 2: 2, 3: 3}), TypeError, "y must be a list, got a dict"),
        (
            lambda: SORR().fit(X[:2], np.ma.array([1, 2], mask=[0, 1])),
            ValueError,
            r"y is a masked array, and its entry \[1\]",
        ),
        (
            lambda: SORR().fit(X[:2], ["a", None]),
            ValueError,
            r"y\[1\] is None: give it a value, or leave the sample out",
        ),
        (lambda: SORR().fit(X[:2], np.array([np.nan, 1.0])), ValueError, r"y\[0\] is missing \(NaN\)"),
        (
            lambda: SORR("linear").fit(X[:2], [[1.0, 2.0], [0.0, np.nan]]),
            ValueError,
            r"y\[1\]\[1\] is missing \(NaN\)",
        ),
        (
            lambda: SORR(task_loss=known_loss).fit(X[:2], ["a", "b"]).score(X[:2], ["a", "z"]),
            ValueError,
            "task_loss cannot compare the true output y.1. = 'z' and the predicted one '.': KeyError: 'z'",
        ),
    ],
)
def test_data_and_functions_that_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("learner", [SORR(l2=2000.0), SOSC(R=1e-3)], ids=named)
def test_the_whole_matrix_of_many_samples_is_looked_at(learner, monkeypatch):
    """Rows that no random subset has: all other values are those of a kernel."""
    monkeypatch.setattr("palmette.kernels.definite.EXACT", 10)
    gram = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=-1))
    learner = clone(learner).set_params(kernel="precomputed")
    chosen = np.random.default_rng(0).choice(50, 10, replace=False)
    i, j = np.setdiff1d(np.arange(50), chosen)[:2]
    for size in (1000.0, 2.0, 0.5):  # found by Lanczos steps, or by the factor alone
        wrong = gram + np.eye(50)
        wrong[i, j] = wrong[j, i] = 2.0 + size
        lowest = np.linalg.eigvalsh(wrong)[0]
        with pytest.raises(NotPositiveSemidefinite, match="Gram matrix of the inputs") as error:
            learner.fit(wrong, Y)
        assert error.value.eigenvalue == pytest.approx(lowest, rel=1e-3)
    wrong = gram.copy()
    wrong[i] += 5.0
    with pytest.raises(ValueError, match=r"is not symmetric: .* for input X\[\d+\] and input"):
        learner.fit(wrong, Y)


def test_coefficients_lie_in_memory_as_in_a_loaded_model():
    for model in (SORR(), SORR(fit_intercept=True), SOSC(), SORR(kernel=Nystroem(n_components=9))):
        assert model.fit(X, Y).dual_coef_.flags.c_contiguous


@pytest.mark.parametrize(
    "model", [SORR(), SOSC(), SORRCV(cv=2), SORR(kernel=Nystroem(n_components=40))], ids=named
)
def test_memory_is_asked_for_first(model, monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "20KB")
    with pytest.raises(TooLarge, match=r"50 samples holds|landmarks"):
        clone(model).fit(X, Y)


@pytest.mark.parametrize(
    "model, remedy",
    [
        (SORR(), r"use kernel=Nystroem\(...\), or fewer samples"),
        (SOSC(constraint="box"), "holds 46 matrices .* use constraint='l2', or fewer samples"),
        (SOSCCV(), r"use GridSearchCV over the plain learner with kernel=Nystroem\(...\)"),
    ],
    ids=named,
)
def test_the_remedy_is_one_that_the_model_takes(model, remedy, monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "20KB")
    with pytest.raises(TooLarge, match=remedy):
        clone(model).fit(X, Y)


def test_an_unfinished_box_is_told():
    with pytest.warns(UserWarning, match="SOSC: the optimality conditions hold to .* after 10 steps"):
        SOSC(R=1e-2, constraint="box", max_iter=10).fit(X, Y)
