"""``palmette.compat.CRF`` in the scripts of sklearn-crfsuite's users, without that library."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_predict, cross_val_score

import palmette
from palmette.compat import CRF, metrics, scorers
from palmette.compat.features import zero_names
from palmette.compat.line_searches import CURVATURE, DECREASE, Point, backtracking, more_thuente
from palmette.compat.parameters import CHECKS, DEFAULTS, FEATURES, resolve
from palmette.compat.tagger import Tagger
from palmette.datasets import make_tagging
from palmette.errors import ModelFileError
from palmette.io.model_file import FORMAT

ALGORITHMS = list(DEFAULTS)


@pytest.fixture(scope="module")
def data():
    X, Y = make_tagging(80, random_state=0)
    return X[:60], Y[:60], X[60:], Y[60:]


@pytest.fixture(scope="module")
def fitted(data):
    return CRF(c1=0.1, c2=0.1, max_iterations=60, all_possible_transitions=True).fit(*data)


# -- the interface ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns(data, algorithm):
    X, Y, X_test, Y_test = data
    crf = CRF(algorithm=algorithm, max_iterations=30).fit(X, Y)
    assert crf.score(X, Y) > 0.85 and crf.score(X_test, Y_test) > 0.6
    assert crf.training_log_.iterations[0]["num"] == 1
    assert set(crf.classes_) == {label for labels in Y for label in labels}
    assert crf.classes_ == list(dict.fromkeys(label for labels in Y for label in labels))


def test_predictions_have_the_shapes_of_sklearn_crfsuite(data, fitted):
    _, _, X, _ = data
    predicted = fitted.predict(X)
    assert predicted.dtype == object and predicted.shape == (len(X),)
    assert all(type(labels) is list for labels in predicted)
    assert fitted.predict_single(X[0]) == predicted[0] == fitted.tagger_.tag(X[0])
    assert fitted.predict([]).shape == (0,)
    assert list(fitted.predict([[], X[0]])) == [[], predicted[0]]
    for same in ([X[0]], [X[0], X[0]], [[], []]):
        labels, marginals = fitted.predict(same), fitted.predict_marginals(same)
        assert labels.shape == marginals.shape == (len(same), len(same[0])) and labels.dtype == object
        assert labels.tolist() == [fitted.predict_single(x) for x in same]
        assert marginals.tolist() == [fitted.predict_marginals_single(x) for x in same]

    marginals = fitted.predict_marginals(X)
    assert marginals.shape == (len(X),)
    for position in marginals[0]:
        assert list(position) == fitted.classes_ and sum(position.values()) == pytest.approx(1.0)
    assert fitted.predict_marginals_single(X[0]) == marginals[0] and type(marginals[0]) is list
    tables = fitted.model_.predict_marginals(X[:1])[0]
    np.testing.assert_allclose([list(position.values()) for position in marginals[0]], tables)


def test_what_the_model_consists_of(fitted):
    states, transitions = fitted.state_features_, fitted.transition_features_
    model = fitted.model_
    assert len(states) + len(transitions) == np.count_nonzero(model.coef_) < len(model.coef_)
    assert set(fitted.attributes_) == {name for name, _ in states}
    assert fitted.num_attributes_ == len(fitted.attributes_) == len(set(fitted.attributes_))
    for (a, b), weight in transitions.items():
        i, j = (list(model.codec_.classes_).index(label) for label in (a, b))
        assert weight == model.transitions_[i, j]
    assert fitted.size_ > 8 * len(model.coef_)
    info = fitted.tagger_.info()
    assert info.state_features == states and info.transitions == transitions
    assert info.header["num_attrs"] == str(fitted.num_attributes_)
    assert info.header["size"] == str(fitted.size_)
    assert (info.header["magic"], info.header["type"], info.header["version"]) == (
        "palmette",
        "FOMC",
        str(FORMAT),
    )
    assert list(info.labels) == fitted.classes_ and info.labels[fitted.classes_[1]] == "1"


def test_the_tagger_answers_about_one_sequence(data, fitted, tmp_path, capsys):
    _, _, X, Y = data
    tagger = Tagger(fitted.model_)
    with pytest.raises(ValueError, match="no sequence yet"):
        tagger.tag()
    tagger.set(X[0])
    assert tagger.labels() == fitted.classes_
    assert tagger.tag() == fitted.predict_single(X[0])
    assert tagger.marginal(tagger.labels()[0], 1) == pytest.approx(
        fitted.predict_marginals_single(X[0])[1][tagger.labels()[0]]
    )
    log_proba = fitted.model_.log_proba([X[0]], [Y[0]])[0]
    assert tagger.probability(Y[0]) == pytest.approx(np.exp(log_proba))
    with pytest.raises(ValueError, match="unknown label 'zz'"):
        tagger.marginal("zz", 0)
    with pytest.raises(ValueError, match=r"pos must be in 0\.\."):
        tagger.marginal(tagger.labels()[0], len(X[0]))
    tagger.dump(tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text(encoding="utf-8")
    assert text.count("-->") == len(fitted.state_features_) + len(fitted.transition_features_)
    tagger.dump()
    assert capsys.readouterr().out == text
    tagger.close()
    with pytest.raises(ValueError, match="no sequence yet"):
        tagger.probability(Y[0])


def test_before_fit_there_is_nothing():
    crf = CRF(model_filename="there-is-no-such-file.model")
    for name in ("tagger_", "classes_", "size_", "attributes_", "num_attributes_", "state_features_"):
        assert getattr(crf, name) is None
    assert crf.training_log_ is None and crf.transition_features_ is None
    with pytest.raises(NotFittedError, match="not fitted yet"):
        crf.predict([[{"a": 1}]])


def test_development_data_are_scored_after_every_iteration(data, capsys):
    X, Y, X_dev, Y_dev = data
    crf = CRF(c2=0.1, max_iterations=5, verbose=True).fit(X, Y, X_dev, Y_dev)
    log = crf.training_log_
    assert len(log.iterations) == 5 and log.reason == "max_iter"
    last = log.last_iteration
    assert last["loss"] < log.iterations[0]["loss"]
    assert last["feature_norm"] == pytest.approx(np.linalg.norm(crf.model_.coef_))
    assert last["active_features"] == np.count_nonzero(crf.model_.coef_)
    assert log.featgen_num_features == len(crf.model_.coef_)
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X_dev, Y_dev))
    predicted = crf.predict(X_dev)
    assert last["instance_accuracy_float"] == metrics.sequence_accuracy_score(Y_dev, predicted)
    labels = crf.classes_
    for name, function in (
        ("precision", metrics.flat_precision_score),
        ("recall", metrics.flat_recall_score),
        ("f1", metrics.flat_f1_score),
    ):
        scores = function(Y_dev, predicted, labels=labels, average=None, zero_division=0.0)
        np.testing.assert_allclose([getattr(last["scores"][label], name) or 0 for label in labels], scores)
        assert last[f"avg_{name}"] == pytest.approx(np.mean(scores))
    out = capsys.readouterr().out
    assert out.count("Iter ") == 5 and "support" in out and "stopped after" in out
    assert len(out.splitlines()) == 5 + 3 + len(labels)


def test_a_label_of_development_data_alone_is_a_label_of_the_model(data):
    X, Y, X_dev, Y_dev = data
    Y_dev = [["NEW", *labels[1:]] for labels in Y_dev]
    crf = CRF(max_iterations=3).fit(X, Y, X_dev, Y_dev)
    assert crf.classes_[-1] == "NEW" and "NEW" not in {label for _, label in crf.state_features_}
    assert crf.training_log_.last_iteration["scores"]["NEW"].ref == len(Y_dev)


# -- scikit-learn ---------------------------------------------------------------------------------------------------


def test_parameters_clone_pickle_and_copy(data, fitted):
    X_test = data[2]
    params = fitted.get_params()
    assert params["c1"] == 0.1 and params["algorithm"] is None and len(params) == len(CHECKS) + 5
    fresh = clone(fitted)
    assert fresh.get_params() == params and fresh.tagger_ is None
    fitted.tagger_.tag(X_test[0])
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), copy.copy(fitted)):
        assert twin.predict(X_test).tolist() == fitted.predict(X_test).tolist()
        assert twin.state_features_ == fitted.state_features_
        assert twin.training_log_.last_iteration == fitted.training_log_.last_iteration


def test_the_search_of_the_well_known_tutorial(data):
    X, Y, X_test, Y_test = data
    labels = sorted({label for sentence in Y for label in sentence})
    labels.remove(labels[0])
    crf = CRF(algorithm="lbfgs", max_iterations=20, all_possible_transitions=True)
    space = {"c1": stats.expon(scale=0.5), "c2": stats.expon(scale=0.05)}
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels)
    search = RandomizedSearchCV(crf, space, cv=3, n_iter=3, scoring=scorer, random_state=0).fit(X, Y)
    best = search.best_estimator_
    assert best.c1 == search.best_params_["c1"] and best.size_ > 0
    text = metrics.flat_classification_report(Y_test, best.predict(X_test), labels=labels, digits=3)
    assert "weighted avg" in text


def test_cross_validation_and_scorers(data):
    X, Y, _, _ = data
    crf = CRF(algorithm="ap", max_iterations=5)
    predicted = cross_val_predict(crf, X, Y, cv=3)
    assert [len(labels) for labels in predicted] == [len(labels) for labels in Y]
    flat = cross_val_score(crf, X, Y, cv=3, scoring=scorers.flat_accuracy)
    assert np.mean(flat) == pytest.approx(metrics.flat_accuracy_score(Y, predicted), abs=0.02)
    np.testing.assert_allclose(flat, cross_val_score(crf, X, Y, cv=3))
    grid = GridSearchCV(crf, {"max_iterations": [1, 5]}, cv=2, scoring=scorers.sequence_accuracy).fit(X, Y)
    assert grid.best_score_ > 0


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["lbfgs", "pa"])
def test_a_model_file_is_palmettes_and_needs_no_fit(data, tmp_path, algorithm):
    X, Y, X_test, Y_test = data
    path = tmp_path / "tagger.model"
    crf = CRF(algorithm=algorithm, max_iterations=10, model_filename=str(path)).fit(X, Y)
    assert crf.training_log_.storing_seconds > 0 and crf.size_ == path.stat().st_size
    for other in (CRF(model_filename=str(path)), CRF(model_filename=path)):
        assert other.predict(X_test).tolist() == crf.predict(X_test).tolist()
        assert other.state_features_ == crf.state_features_ and other.classes_ == crf.classes_
    native = palmette.load(path)
    assert native.predict(X_test) == crf.predict(X_test).tolist()
    assert native.score(X_test, Y_test) == pytest.approx(crf.score(X_test, Y_test))
    path.unlink()
    assert crf.predict(X_test).tolist() == other.predict(X_test).tolist()


def test_files_that_cannot_be_used_are_refused(data, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        CRF(model_filename=tmp_path / "no" / "model").fit(*data[:2])
    for content in (b"no model", b"lCRF", b"lCRF" + bytes(60)):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ModelFileError, match="bad"):
            CRF(model_filename=tmp_path / "bad").predict([])


# -- data -----------------------------------------------------------------------------------------------------------


def test_labels_may_be_anything_hashable_and_inputs_arrays(data):
    X, Y, X_test, _ = data
    reference = CRF(max_iterations=10).fit(X, Y)
    codes = {label: i for i, label in enumerate(reference.classes_)}
    expected = [[codes[label] for label in labels] for labels in reference.predict(X_test)]
    in_arrays = [np.array([codes[label] for label in labels]) for labels in Y]
    ragged = np.empty(len(X), object)
    ragged[:] = X
    crf = CRF(max_iterations=10).fit(ragged, in_arrays)
    assert crf.classes_ == list(codes.values()) and all(type(label) is int for label in crf.classes_)
    assert crf.predict(X_test).tolist() == expected
    assert crf.predict_marginals(X_test)[0][0].keys() == set(codes.values())

    as_strings = [np.array(labels) for labels in Y]
    crf = CRF(max_iterations=10).fit(iter(X), (labels for labels in as_strings))
    assert crf.predict(X_test).tolist() == reference.predict(X_test).tolist()
    assert all(type(label) is str for label in crf.classes_)


def test_numeric_arrays_are_features(rng):
    X = [rng.normal(size=(n, 3)) for n in rng.integers(2, 6, 40)]
    Y = [(x[:, 0] > 0).astype(int) for x in X]
    crf = CRF(c2=0.01).fit(X, Y)
    assert crf.score(X, Y) > 0.95 and crf.attributes_ == ["0", "1", "2"]
    assert crf.state_features_["0", 1] > 0 > crf.state_features_["0", 0]
    with pytest.raises(ValueError, match="min_freq=2 counts named features"):
        CRF(min_freq=2).fit(X, Y)


def test_empty_sequences_teach_nothing(data):
    X, Y, _, _ = data
    crf = CRF(max_iterations=5).fit([[], *X, []], [[], *Y, []], [[]], [[]])
    assert crf.state_features_ == CRF(max_iterations=5).fit(X, Y).state_features_


def test_zero_valued_attributes():
    position = {"a": 0, "b": False, "c": 0.0, "d": "0", "e": {"f": 0, "g": {"h": False}}, "i": 1, "j": ["k"]}
    assert zero_names(position) == ["a", "b", "c", "e:f", "e:g:h"]
    assert zero_names(["a", "b"]) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[{"a": 1}]], [["A", "B"]]), ValueError, r"X\[0\] has 1 positions but y\[0\] has 2 labels"),
        (([[{"a": 1}]], [["A"], ["B"]]), ValueError, "X has 1 samples but y has 2"),
        (([[{"a": 1}]], ["A"]), TypeError, r"y\[0\] is the string 'A'"),
        (([[{"a": 1}]], [[["A"]]]), TypeError, r"y\[0\]\[0\] is not hashable"),
        (([[{"a": None}]], [["A"]]), TypeError, r"X\[0\]\[0\].*'a' has the value NoneType"),
        (([[{"a": float("nan")}]], [["A"]]), ValueError, "'a' is nan"),
        (([], []), ValueError, "X is empty"),
        (([[{"a": 1}]], [["A"]], [[{"a": 1}]]), ValueError, "y_dev is None"),
        (([[{"a": 1}]], [["A"]], [[{"a": 1}]], [["A", "A"]]), ValueError, "X_dev and y_dev: sample 0"),
    ],
)
def test_bad_data_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        CRF().fit(*arguments)


# -- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "svm"}, "algorithm='svm' is unknown; choose one of lbfgs, l2sgd, ap, pa, arow"),
        ({"algorithm": "ap", "c1": 0.1}, "algorithm='ap' has no parameter c1"),
        ({"c1": -1}, "c1 must be a finite number >= 0, got -1"),
        ({"c2": "much"}, "c2 must be a finite number >= 0, got 'much'"),
        ({"c2": float("nan")}, "c2 must be"),
        ({"max_iterations": 0}, "max_iterations must be an integer of at least 1, got 0"),
        ({"max_iterations": 2.5}, "max_iterations must be an integer"),
        ({"all_possible_states": "yes"}, "all_possible_states must be True or False, got 'yes'"),
        ({"linesearch": "Golden"}, "linesearch must be one of 'MoreThuente'"),
        ({"algorithm": "pa", "pa_type": 3}, "pa_type must be one of 0, 1, 2, got 3"),
        ({"algorithm": "arow", "gamma": 0}, "gamma must be a finite number > 0, got 0"),
    ],
)
def test_bad_settings_are_refused_before_any_work(settings, message):
    with pytest.raises(ValueError, match=message):
        CRF(**settings).fit(None, None)


def test_a_trainer_class_is_refused(data):
    with pytest.raises(TypeError, match="trainer_cls"):
        CRF(trainer_cls=object).fit(*data[:2])


def test_settings_of_numpy_and_aliases_are_understood():
    assert resolve("Passive-Aggressive", {"c": np.float64(0.5), "averaging": np.bool_(False)}) == (
        "pa",
        FEATURES | DEFAULTS["pa"] | {"c": 0.5, "averaging": False},
    )
    assert resolve(None, {"max_iterations": np.int64(7)})[1]["max_iterations"] == 7


# -- the optimiser --------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(
    centre=st.floats(0.01, 50),
    steepness=st.floats(0.05, 20),
    step=st.floats(1e-3, 100),
    search=st.sampled_from(["more_thuente", "weak", "strong"]),
)
def test_line_searches_end_where_the_wolfe_conditions_hold(centre, steepness, step, search):
    def at(t):
        """A convex function that is quadratic in the middle and linear outside."""
        z = steepness * (t - centre)
        return Point(t, float(np.logaddexp(z, -z)) + 0.01 * z, float(steepness * (np.tanh(z) + 0.01)))

    start = at(0.0)
    if search == "more_thuente":
        point, n_trials = more_thuente(at, start, step, 60)
    else:
        point, n_trials = backtracking(at, start, step, 60, strong=search == "strong")
    if start.slope >= 0.0:
        return
    assert 1 <= n_trials <= 60
    if point is None:  # fixed factors may step to and fro over a narrow minimum
        assert search == "strong" and n_trials == 60
        return
    assert point.value <= start.value + DECREASE * point.step * start.slope
    assert point.slope >= CURVATURE * start.slope
    if search != "weak":
        assert abs(point.slope) <= CURVATURE * abs(start.slope)


def test_a_line_search_that_cannot_succeed_says_so():
    def rising(t):
        return Point(t, 1.0 + t, -1.0)

    assert more_thuente(rising, rising(0.0), 1.0, 20)[0] is None
    assert backtracking(rising, rising(0.0), 1.0, 20, strong=False) == (None, 20)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.5), (0.2, 0.1)])
@pytest.mark.parametrize("linesearch", ["MoreThuente", "Backtracking", "StrongBacktracking"])
def test_lbfgs_reaches_the_certified_optimum(data, c1, c2, linesearch):
    X, Y, _, _ = data
    crf = CRF(c1=c1, c2=c2, linesearch=linesearch, epsilon=1e-7, delta=0.0).fit(X, Y)
    native = palmette.CRF(palmette.Chain(), l2=2 * c2, l1=c1, tol=1e-8)
    native.set_params(encoding__transitions="observed").fit(*_without_zeros(X, Y))
    crf_same = CRF(c1=c1, c2=c2, linesearch=linesearch, epsilon=1e-7, delta=0.0).fit(*_without_zeros(X, Y))
    assert crf_same.model_.objective_ == pytest.approx(native.objective_, rel=1e-6)
    assert crf.model_.objective_ <= crf_same.model_.objective_ * (1 + 1e-6)  # it has more weights


def _without_zeros(X, Y):
    return [[{k: v for k, v in position.items() if v != 0} for position in x] for x in X], Y
