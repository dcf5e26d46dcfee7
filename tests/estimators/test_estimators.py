"""Estimators: what users hold in their hands."""

from __future__ import annotations

import io
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import palmette
from palmette import CRF, SSVM, UNKNOWN, Chain, Encoding, Multiclass, Perceptron, as_sequences
from palmette.datasets import make_chains, make_tagging
from palmette.errors import MissingCapability, ModelFileError
from palmette.losses import Hamming

LEARNERS = [CRF, SSVM, Perceptron]


@pytest.fixture(scope="module")
def chains():
    return make_chains(30, 3, 4, mean_length=6, random_state=0)


@pytest.fixture(scope="module")
def tagging():
    return make_tagging(40, 4, 30, random_state=0)


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, np.array(["x", "y", "z"])[np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)]


# -- identities -----------------------------------------------------------------------------------------------------


def logistic_objective(model, X, y, l2, intercept):
    raw = X @ model.coef_.T + (model.intercept_ if intercept else 0.0)
    top = raw.max(axis=1)
    log_z = top + np.log(np.exp(raw - top[:, None]).sum(axis=1))
    own = raw[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(np.sum(log_z - own) + l2 / 2 * np.sum(model.coef_**2))


@pytest.mark.parametrize("intercept", [True, False])
def test_crf_on_single_labels_is_logistic_regression(items, intercept):
    X, y = items
    l2 = 0.5
    peer = LogisticRegression(C=1 / l2, fit_intercept=intercept, tol=1e-12, max_iter=10000).fit(X, y)
    target = logistic_objective(peer, X, y, l2, intercept)
    as_items = CRF(Multiclass(), l2=l2, l2_bias=0.0, fit_intercept=intercept, tol=1e-12).fit(X, y)
    as_chains = CRF(Chain(), l2=l2, l2_bias=0.0, fit_intercept=intercept, tol=1e-12).fit(
        X[:, None, :], y[:, None]
    )
    assert as_items.objective_ == pytest.approx(target, rel=1e-7)
    assert as_chains.objective_ == pytest.approx(target, rel=1e-7)
    np.testing.assert_allclose(as_items.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert np.array_equal(as_items.predict(X), peer.predict(X))


def test_ssvm_on_single_labels_is_crammer_singer(items):
    X, y = items
    for C in (0.1, 1.0, 10.0):
        peer = LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-10, max_iter=10**6
        ).fit(X, y)
        raw = X @ peer.coef_.T
        code = np.searchsorted(peer.classes_, y)
        own = raw[np.arange(len(y)), code].copy()
        raw += 1.0
        raw[np.arange(len(y)), code] -= 1.0
        target = np.sum(raw.max(axis=1) - own) + np.sum(peer.coef_**2) / (2 * C)
        model = SSVM(Multiclass(), C=C, fit_intercept=False, tol=5e-5).fit(X, y)
        assert model.objective_ == pytest.approx(target, rel=1e-4)


@pytest.mark.parametrize("solver", ["frank_wolfe", "bundle", "stochastic"])
def test_hinge_solvers_agree(chains, solver):
    X, Y = chains
    best = SSVM(Chain(), l2=2.0, tol=1e-8).fit(X, Y).objective_
    model = SSVM(Chain(), l2=2.0, tol=1e-4, solver=solver, max_iter=3000).fit(X, Y)
    assert best - 1e-6 <= model.objective_ <= best * 1.02
    assert model.result_.lower <= best + 1e-6


@pytest.mark.parametrize("solver", ["lbfgs", "bundle", "stochastic"])
def test_log_loss_solvers_agree(chains, solver):
    X, Y = chains
    best = CRF(Chain(), l2=2.0, tol=1e-10).fit(X, Y).objective_
    model = CRF(Chain(), l2=2.0, tol=1e-4, solver=solver, max_iter=3000).fit(X, Y)
    assert best - 1e-6 <= model.objective_ <= best * 1.01
    assert model.result_.lower <= best + 1e-6


@pytest.mark.parametrize("learner", [CRF, SSVM])
def test_weight_two_is_a_duplicate(chains, learner):
    X, Y = chains
    weight = np.ones(len(X))
    weight[::3] = 2.0
    twice = [i for i in range(len(X)) for _ in range(int(weight[i]))]
    weighted = learner(Chain(), l2=20.0, tol=1e-6).fit(X, Y, sample_weight=weight)
    repeated = learner(Chain(), l2=20.0, tol=1e-6).fit([X[i] for i in twice], [Y[i] for i in twice])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_dense_is_sparse(chains, learner):
    X, Y = chains
    dense = learner(Chain()).fit(X, Y)
    thin = learner(Chain()).fit([sparse.csr_matrix(x) for x in X], Y)
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_threads_do_not_change_the_model(tagging, learner):
    X, Y = tagging
    one, two, three = (learner(Chain(), n_jobs=n).fit(X * 20, Y * 20) for n in (1, 2, 3))
    assert np.array_equal(one.coef_, two.coef_) and np.array_equal(one.coef_, three.coef_)
    assert one.predict(X) == three.predict(X)


def test_dicts_and_strings_mean_the_same(tagging):
    X, Y = tagging
    strings = [[[f"{k}:{v}" if isinstance(v, str) else k for k, v in t.items() if v] for t in x] for x in X]
    one, two = CRF(Chain()).fit(X, Y), CRF(Chain()).fit(strings, Y)
    assert one.objective_ == pytest.approx(two.objective_)


def test_l1_is_sparse_and_certified(tagging):
    X, Y = tagging
    dense = CRF(Chain(), l1=0.0, l2=0.1).fit(X, Y)
    thin = CRF(Chain(), l1=1.0, l2=0.0, tol=1e-6).fit(X, Y)
    assert np.mean(thin.coef_ == 0) > np.mean(dense.coef_ == 0) + 0.2
    assert np.isfinite(thin.result_.gap) and thin.result_.gap >= 0


# -- the public face ------------------------------------------------------------------------------------------------


def test_penalty_arguments(items):
    X, y = items
    named = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in X]
    assert CRF(Multiclass()).fit(named, y).objective_ == CRF(Multiclass(), l2=1.0).fit(named, y).objective_
    assert CRF(Multiclass(), C=4.0).fit(X, y).objective_ == CRF(Multiclass(), l2=0.25).fit(X, y).objective_
    with pytest.raises(ValueError, match="give l2 or C, not both"):
        CRF(Multiclass(), l2=1.0, C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="C must be > 0"):
        CRF(Multiclass(), C=0.0).fit(X, y)
    with pytest.raises(ValueError, match="l2_edge must be a finite number"):
        CRF(Multiclass(), l2_edge=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="solver='newton' is unknown"):
        CRF(Multiclass(), solver="newton").fit(X, y)
    with pytest.raises(TypeError, match="structure must be an object"):
        CRF(Chain).fit(X, y)
    with pytest.raises(ValueError, match="loss='ramps' is unknown"):
        SSVM(Multiclass(), loss="ramps").fit(X, y)
    with pytest.raises(TypeError, match="frank_wolfe solves the dual of the hinge"):
        CRF(Multiclass(), solver="frank_wolfe").fit(X, y)


def test_unpenalised_block_has_no_gap(items):
    X, y = items
    assert np.isnan(CRF(Multiclass(), l2_bias=0.0).fit(X, y).result_.gap)
    model = SSVM(Multiclass(), l2_bias=0.0, tol=1e-3).fit(X, y)
    assert np.isnan(model.result_.gap) and model.result_.reason


@pytest.mark.parametrize("learner", LEARNERS)
def test_prediction_shapes(chains, learner):
    X, Y = chains
    model = learner(Chain()).fit(X, Y)
    predicted = model.predict(X)
    assert isinstance(predicted, list) and all(isinstance(p, list) for p in predicted)
    marginals = model.predict_marginals(X)
    assert [m.shape for m in marginals] == [(len(y), 3) for y in Y]
    np.testing.assert_allclose(np.concatenate(marginals).sum(axis=1), 1.0)
    best = model.predict_nbest(X, 3)
    assert [b[0][0] for b in best] == predicted
    assert all(len(b) == min(3, 3 ** len(y)) for b, y in zip(best, Y))
    np.testing.assert_allclose([b[0][1] for b in best], model.predict_score(X))
    assert all(b[i][1] >= b[i + 1][1] for b in best for i in range(len(b) - 1))
    right = sum(p == t for ps, ts in zip(predicted, Y) for p, t in zip(ps, ts))
    assert model.score(X, Y) == right / sum(map(len, Y))
    assert np.all(model.log_proba(X, Y) <= 1e-12)
    total = sum(
        np.exp(model.log_proba([X[0]], [y]))[0] for y, _ in model.predict_nbest([X[0]], 3 ** len(Y[0]))[0]
    )
    assert total == pytest.approx(1.0)


def test_empty_sequences(chains):
    X, Y = chains
    model = CRF(Chain()).fit(X, Y)
    empty = np.zeros((0, 4))
    assert model.predict([X[0], empty, X[1]]) == [model.predict([X[0]])[0], [], model.predict([X[1]])[0]]
    assert model.predict([]) == [] and model.predict([empty]) == [[]]
    assert model.predict_marginals([empty, X[0]])[0].shape == (0, 3)
    assert model.log_proba([empty, X[0]], [[], Y[0]])[0] == 0.0
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence"):
        CRF(Chain()).fit([X[0], empty], [Y[0], []])


def test_multiclass_shapes(items):
    X, y = items
    model = CRF(Multiclass()).fit(X, y)
    assert model.predict(X).shape == y.shape and model.predict_marginals(X).shape == (80, 3)
    assert model.predict_nbest(X[:1], 5)[0][0][0] == model.predict(X)[0]
    assert len(model.predict_nbest(X[:1], 5)[0]) == 3
    assert not hasattr(CRF(Chain()), "predict_proba") and not hasattr(SSVM(Multiclass()), "predict_proba")


def test_any_hashable_labels(chains):
    X, Y = chains
    kinds = [("a", 1), "b", 3.5]
    Y = [[kinds[hash(label) % 3] for label in y] for y in Y]
    model = CRF(Chain(), classes=[*kinds, "never seen"]).fit(X, Y)
    assert {label for y in model.predict(X) for label in y} <= set(kinds)
    assert model.predict_marginals(X)[0].shape[1] == 4
    file = io.BytesIO()
    model.save(file)
    assert palmette.load(file).predict(X) == model.predict(X)


def test_bad_data(chains):
    X, Y = chains
    with pytest.raises(ValueError, match="X has 30 samples but y has 29"):
        CRF(Chain()).fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"sample 2: X.2. has .* positions but y.2. has"):
        CRF(Chain()).fit(X, [*Y[:2], Y[2][:-1], *Y[3:]])
    with pytest.raises(ValueError, match="y has no known part"):
        CRF(Chain(), classes=["a", "b"]).fit(X, [[UNKNOWN] * len(y) for y in Y])
    with pytest.raises(MissingCapability, match=r"UNKNOWN .* loss='hinge' needs complete outputs.*bridge"):
        SSVM(Chain()).fit(X, [Y[0], [UNKNOWN, *Y[1][1:]], *Y[2:]])
    with pytest.raises(ValueError, match=r"unknown label .* at y\[0\]\[\d+\].*classes="):
        CRF(Chain(), classes=["only"]).fit(X, Y)
    bad = [x.copy() for x in X]
    bad[3][0, 2] = np.nan
    with pytest.raises(ValueError, match=r"sample 3, row 0 .*column 2"):
        CRF(Chain()).fit(bad, Y)
    model = CRF(Chain()).fit(X, Y)
    with pytest.raises(ValueError, match="3 columns but the model was fitted on 4"):
        model.predict([x[:, :3] for x in X])
    with pytest.raises(ValueError, match="X has 30 samples but y has 29"):
        model.score(X, Y[:-1])
    with pytest.raises(ValueError, match="sample 0: X"):
        model.score(X, [Y[0][:-1], *Y[1:]])
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1"):
        CRF(Chain()).fit(X, Y, sample_weight=[1.0, -1.0] + [1.0] * 28)
    with pytest.raises(ValueError, match="states='observed' needs sparse or string features"):
        CRF(Chain(), encoding=Encoding(states="observed")).fit(X, Y)


def test_one_array_and_groups(chains):
    X, Y = chains
    groups = np.repeat(np.arange(len(X)), [len(x) for x in X])
    again = as_sequences(np.concatenate(X), [label for y in Y for label in y], groups)
    assert np.array_equal(CRF(Chain()).fit(*again).coef_, CRF(Chain()).fit(X, Y).coef_)


def test_layouts(tagging):
    X, Y = tagging
    seen = CRF(Chain(), encoding=Encoding(transitions="observed")).fit(X, Y)
    full = CRF(Chain(), encoding=Encoding(states="all")).fit(X, Y)
    assert seen.scorer_.n_params < full.scorer_.n_params == full.encoder_.n_columns * 4 + 16
    pairs = {(f, label) for x, y in zip(X, Y) for t, label in zip(x, y) for f in t.items()}
    assert seen.scorer_.n_node == len(pairs)
    steps = {(a, b) for y in Y for a, b in zip(y, y[1:])}
    assert len(seen.scorer_.pairs) == len(steps)
    assert full.transitions_.shape == (4, 4)


@pytest.mark.data
def test_the_weights_of_the_chunking_benchmark():
    from palmette.apps.tagging.default_template import crfsuite_chunking_template
    from palmette.apps.tagging.templates import Template
    from palmette.datasets import load_conll2000
    from palmette.estimators.training import encode_training, layout_weights

    train = load_conll2000("train")
    X = Template.parse(crfsuite_chunking_template()).apply(train.data)
    model = CRF(Chain(), l2=2.0)
    scorer = layout_weights(model, encode_training(X, train.target, model.structure, None, None))
    assert (scorer.n_node, len(scorer.pairs), scorer.n_params) == (452_610, 22 * 22, 453_094)


# -- scikit-learn's machinery ---------------------------------------------------------------------------------------


def test_model_selection(tagging, chains, items):
    X, Y = tagging
    search = GridSearchCV(CRF(Chain()), {"l2": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_["l2"] in (0.1, 1.0) and 0 <= search.best_score_ <= 1
    assert search.predict(X) == search.best_estimator_.predict(X)
    scores = cross_val_score(SSVM(Chain(), tol=1e-2), *chains, cv=3, n_jobs=2)
    assert scores.shape == (3,) and scores.min() > 0.3
    pipe = Pipeline([("scale", StandardScaler()), ("crf", CRF(Multiclass()))]).fit(*items)
    assert pipe.score(*items) > 0.6
    assert clone(CRF(Chain(), l2=3.0)).l2 == 3.0
    assert isinstance(CRF(Chain()).set_params(structure=Multiclass()).structure, Multiclass)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("how", ["pickle", "file", "load"])
def test_round_trips(tagging, learner, how, tmp_path):
    X, Y = tagging
    model = learner(Chain()).fit(X, Y)
    if how == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "m.palmette")
        again = (learner.load if how == "load" else palmette.load)(tmp_path / "m.palmette")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(np.array(again.result_.history), np.array(model.result_.history))
    assert list(again.classes_) == list(model.classes_)
    assert repr(again.get_params()) == repr(model.get_params())


def test_parameters_survive_a_file(items, tmp_path):
    X, y = items
    losses = Hamming({("x", "y"): 2.0, "z": 0.5})
    model = SSVM(
        Multiclass(), task_loss=losses, classes=["x", "y", "z", "w"], callbacks=[lambda s: False]
    ).fit(X, y)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.task_loss == losses and again.classes == ["x", "y", "z", "w"] and again.callbacks is None
    assert again.fit(X, y).objective_ == model.objective_


def test_foreign_and_damaged_files(items, tmp_path):
    model = CRF(Multiclass()).fit(*items)
    path = tmp_path / "m.palmette"
    model.save(path)
    with pytest.raises(ModelFileError, match="holds a CRF, not a SSVM"):
        SSVM.load(path)
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        (tmp_path / "cut.palmette").write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            palmette.load(tmp_path / "cut.palmette")
    model.scorer_ = model.scorer_.__class__(**{**model.scorer_.__dict__, "n_columns": 99})
    model.save(path)
    with pytest.raises(ModelFileError, match="the weights are for 99"):
        palmette.load(path)


def test_partial_fit_learns_new_features_and_batches(tagging):
    X, Y = tagging
    labels = sorted({label for y in Y for label in y})
    model = Perceptron(Chain())
    with pytest.raises(ValueError, match="needs classes="):
        model.partial_fit(X, Y)
    for _ in range(5):
        for start in range(0, 40, 10):
            model.partial_fit(X[start : start + 10], Y[start : start + 10], classes=labels)
    assert model.score(X, Y) > 0.8
    assert model.encoder_.n_columns == CRF(Chain()).fit(X, Y).encoder_.n_columns
    whole = Perceptron(Chain(), max_iter=1).fit(X, Y)
    once = Perceptron(Chain()).partial_fit(X, Y, classes=labels)
    assert np.array_equal(whole.coef_, once.coef_)


def test_partial_fit_goes_on_after_loading(tagging):
    X, Y = tagging
    file = io.BytesIO()
    Perceptron(Chain(), max_iter=1).fit(X[:20], Y[:20]).save(file)
    model = Perceptron.load(file).partial_fit(X, Y)
    assert model.score(X, Y) > 0.5 and model.encoder_.n_columns > Perceptron.load(file).encoder_.n_columns


def test_warm_start_without_dual_variables(tagging):
    X, Y = tagging
    model = SSVM(Chain(), solver="frank_wolfe").fit(X, Y).set_params(warm_start=True)
    with pytest.raises(TypeError, match="does not have them"):
        model.fit(X, Y)


def test_warm_start(tagging):
    X, Y = tagging
    cold = CRF(Chain(), l2=0.3, tol=1e-6).fit(X, Y)
    model = CRF(Chain(), l2=0.5, tol=1e-6, warm_start=True).fit(X, Y)
    model.set_params(l2=0.3).fit(X, Y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert model.n_iter_ < cold.n_iter_
    model.fit(X[:20], Y[:20])  # other features, other numbering
    svm = SSVM(Chain(), l2=0.5, tol=1e-4, warm_start=True, solver="frank_wolfe").fit(X, Y)
    svm.set_params(l2=0.4).fit(X, Y)
    assert svm.objective_ == pytest.approx(SSVM(Chain(), l2=0.4, tol=1e-4).fit(X, Y).objective_, rel=1e-3)
    with pytest.raises(TypeError, match="same samples only"):
        svm.fit(X[:5], Y[:5])


@pytest.mark.parametrize(
    ("learner", "solver"),
    [
        *((CRF, name) for name in ("dual", "lbfgs", "bundle", "stochastic", "proximal")),
        *((SSVM, name) for name in ("frank_wolfe", "bundle", "stochastic")),
    ],
)
def test_warnings_name_the_line_of_the_fit(tagging, learner, solver):
    with pytest.warns(ConvergenceWarning, match=solver) as caught:
        learner(Chain(), solver=solver, tol=1e-12, max_iter=1).fit(*tagging)
    # a run that ends at its start has learnt nothing, which is told too
    assert {warning.filename for warning in caught} == {__file__}
    assert [warning.category for warning in caught].count(ConvergenceWarning) == 1


def test_callbacks_stop_the_run(chains):
    X, Y = chains
    seen = []
    model = CRF(Chain(), callbacks=[lambda step: seen.append(step) or len(seen) == 3]).fit(X, Y)
    assert model.result_.reason == "callback" and len(seen) == 3 and not model.result_.converged


@pytest.mark.parametrize(
    ("learner", "solver"),
    [(CRF, "lbfgs"), (CRF, "bundle"), (SSVM, "frank_wolfe"), (SSVM, "stochastic"), (Perceptron, None)],
)
def test_callbacks_can_see_the_model(chains, learner, solver):
    X, Y = chains

    class Watch:
        sees_model = True

        def __init__(self):
            self.scores = []

        def __call__(self, step, model):
            now, file = model(), io.BytesIO()
            now.save(file)
            self.saved = palmette.load(file)
            assert self.saved.predict(X) == now.predict(X)
            self.scores.append(now.score(X, Y))
            return step.n_iter >= 4

    options = {} if solver is None else {"solver": solver}
    watch = Watch()
    model = learner(Chain(), callbacks=[watch], **options).fit(X, Y)
    assert len(watch.scores) == 4 and watch.scores[-1] == pytest.approx(model.score(X, Y), abs=0.2)
    assert watch.saved.result_.reason == "in training" and not watch.saved.result_.converged


def test_a_solver_object_brings_its_settings_and_hears_the_callbacks(chains):
    from palmette.solvers.stochastic import Stochastic

    seen = []
    model = CRF(Chain(), solver=Stochastic(rule="sgd", max_iter=7, tol=0.0), callbacks=[seen.append])
    with pytest.warns(match="stochastic stopped after 7 epochs"):
        model.fit(*chains)
    assert len(seen) == 7


def test_verbose_logs(chains, caplog):
    with caplog.at_level("INFO", logger="palmette"):
        model = CRF(Chain(), verbose=1).fit(*chains)
    *steps, end = caplog.messages
    assert "objective" in steps[0]
    assert re.fullmatch(
        rf"CRF: ended after {model.n_iter_} iterations?, objective [\d.]+, gap [-+.e\d]+, reason: gap, [\d.]+ s",
        end,
    )
