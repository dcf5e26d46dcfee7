"""What ``palmette.compat.CRF`` and its metrics answer, beside sklearn-crfsuite: shapes, types, numbers.

The first tests need no other library: they say in our words what sklearn-crfsuite's own tests rely on.
"""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_predict, cross_val_score

from palmette.compat import CRF, metrics, scorers

ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]
DAY = [
    {"sun": 1, "wind": 0.5},
    {"sun": 1, "text": "über".encode()},  # bytes are text in UTF-8
    {"rain": 1, "wind": 0.5},
    {"rain": 0.5, "wind": {"north": True}},
    {"sun": 1},
    {},
    {"rain": 1, "clouds": ["low", "grey"]},
]
MOOD = ["out", "out", "in", "in", "out", "out", "in"]


@pytest.fixture(scope="module")
def peer():
    pytest.importorskip("pycrfsuite")
    return pytest.importorskip("sklearn_crfsuite")


def sentences(seed, lengths):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for length in lengths:
        words = rng.integers(0, 30, length)
        X.append([{"w": f"w{word}", "first": t == 0, "size": word / 30} for t, word in enumerate(words)])
        Y.append(["ABC"[word % 3] for word in words])
    return X, Y


RAGGED = sentences(0, [3, 1, 4, 4, 2, 6, 5, 1, 3, 2, 4, 3])
EQUAL = sentences(1, [4] * 12)


# -- by itself ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("held_out", [False, True])
def test_one_sequence_is_learnt_and_compared_as_an_array(algorithm, held_out, capsys):
    crf = CRF(algorithm, verbose=True)
    assert crf.tagger_ is crf.classes_ is crf.size_ is crf.attributes_ is crf.state_features_ is None
    with pytest.raises(Exception, match="not fitted"):
        crf.predict([DAY])
    crf.fit(
        X=[DAY, DAY], y=[MOOD, MOOD], X_dev=[DAY] if held_out else None, y_dev=[MOOD] if held_out else None
    )
    assert ("support" in capsys.readouterr().out) == held_out
    predicted = crf.predict([DAY])
    assert (predicted == [MOOD]).all() and (
        predicted == MOOD
    ).all()  # a table, so that NumPy compares the labels
    assert crf.score([DAY], [MOOD]) == 1.0 == metrics.sequence_accuracy_score([MOOD], predicted)
    [positions] = crf.predict_marginals([DAY])
    assert len(positions) == len(DAY)
    for position in positions:
        assert isinstance(position, dict) and set(position) == set(crf.classes_) == {"in", "out"}
        assert sum(position.values()) == pytest.approx(1.0, abs=1e-6)
    twin = pickle.loads(pickle.dumps(crf, protocol=pickle.HIGHEST_PROTOCOL))
    assert twin.score([DAY], [MOOD]) == 1.0 and twin.algorithm == algorithm


def test_cross_validation_of_equal_sequences():
    assert cross_val_score(CRF(), [DAY] * 20, [MOOD] * 20, cv=5).mean() == 1.0
    assert cross_val_predict(CRF(), [DAY] * 20, [MOOD] * 20, cv=5).tolist() == [MOOD] * 20


def test_a_table_of_labels_that_are_tuples_has_no_third_axis():
    labels = [("D", 1), ("N", 2)]
    crf = CRF().fit([[["a"], ["b"]]] * 2, [labels] * 2)
    predicted = crf.predict([[["a"], ["b"]]] * 3)
    assert predicted.shape == (3, 2) and predicted[2, 1] == ("N", 2)
    assert crf.predict([[["a"]], [["b"], ["b"]]]).shape == (2,)


def test_whole_sequences_of_other_lengths_are_wrong():
    assert metrics.sequence_accuracy_score([[1, 2], [3]], [[3], [1, 2]]) == 0
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4]], [[1, 2], [4], [4]]) == 2 / 3
    assert metrics.sequence_accuracy_score([], []) == 0
    assert (
        metrics.sequence_accuracy_score([["A", "B"]] * 2, np.array([["A", "B"], ["A", "A"]], object)) == 0.5
    )
    with pytest.raises(ValueError, match="y_true has 1 sequences but y_pred has 2"):
        metrics.sequence_accuracy_score([[1]], [[1], [1]])


def test_the_table_of_verbose_has_its_columns_under_their_names(capsys):
    CRF(max_iterations=2, verbose=True).fit(*RAGGED, *RAGGED)
    lines = capsys.readouterr().out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("label"))
    assert {len(line) for line in lines[head:]} == {len(lines[head])} and len(lines) == head + 4


# -- beside sklearn-crfsuite ----------------------------------------------------------------------------------------


def same(a, b, **tolerance):
    """Two answers: of one type, shape and content."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype == object and a.shape == b.shape
    if isinstance(a, np.ndarray | list):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            same(one, other, **tolerance)
    elif isinstance(a, dict):
        assert list(a) == list(b) and a == pytest.approx(b, **tolerance)
    else:
        assert a == b


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
@pytest.mark.parametrize("data", [RAGGED, EQUAL], ids=["ragged", "equal"])
def test_answers_have_the_same_shapes_types_and_numbers(peer, data, algorithm):
    X, Y = data
    if algorithm == "l2sgd":  # the order must not matter
        X, Y = [X[0]] * 8, [Y[0]] * 8
    ours, theirs = (kind(algorithm, c2=0.1, max_iterations=30).fit(X, Y) for kind in (CRF, peer.CRF))
    asked = [*data[0][:3], [{"w": "new"}], []]
    for inputs in (data[0], asked, asked[:1], asked[3:4], asked[4:], [[], []], [], tuple(asked)):
        same(ours.predict(inputs), theirs.predict(inputs))
        same(ours.predict_marginals(inputs), theirs.predict_marginals(inputs), abs=1e-5)
    for x in asked:
        same(ours.predict_single(x), theirs.predict_single(x))
        same(ours.predict_marginals_single(x), theirs.predict_marginals_single(x), abs=1e-5)
        same(ours.tagger_.tag(x), theirs.tagger_.tag(x))
    assert ours.score(*data) == theirs.score(*data)
    for name in ("classes_", "num_attributes_"):
        same(getattr(ours, name), getattr(theirs, name))
    assert sorted(ours.attributes_) == sorted(theirs.attributes_)
    for name in ("state_features_", "transition_features_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert {type(weight) for weight in found.values()} == {float}
        assert {key for key in found if abs(found[key]) > 1e-5} <= expected.keys() <= found.keys()
        assert {key: found[key] for key in expected} == pytest.approx(expected, abs=2e-5)
    assert type(ours.size_) is type(theirs.size_) is int
    public = {name for name in dir(theirs) if not name.startswith("_")}
    assert public <= set(dir(ours))


@pytest.mark.parametrize("data", [RAGGED, EQUAL], ids=["ragged", "equal"])
def test_metrics_take_what_predict_returns(peer, data):
    from sklearn_crfsuite import metrics as theirs

    X, Y = data
    predicted = CRF(max_iterations=2).fit(X[:6], Y[:6]).predict(X)
    for name in ("flat_precision_score", "flat_recall_score", "flat_f1_score"):
        for options in ({"average": "weighted", "labels": ["A", "B"]}, {"average": "macro"}):
            options["zero_division"] = 0
            found, expected = (getattr(m, name)(Y, predicted, **options) for m in (metrics, theirs))
            assert found == expected
    report = {"labels": ["C", "A"], "digits": 3, "zero_division": 0}
    assert metrics.flat_classification_report(Y, predicted, **report) == theirs.flat_classification_report(
        Y, predicted, **report
    )
    assert metrics.flat_accuracy_score(Y, predicted) == theirs.flat_accuracy_score(Y, predicted)
    if data is RAGGED:  # of sequences of one length sklearn-crfsuite counts positions, not sequences
        assert metrics.sequence_accuracy_score(Y, predicted) == theirs.sequence_accuracy_score(Y, predicted)


def test_a_search_chooses_the_same(peer):
    X, Y = sentences(2, np.random.default_rng(5).integers(1, 7, 60))
    space = {"c1": [0.01, 0.1, 1.0, 3.0], "c2": [0.01, 0.1, 1.0, 3.0]}
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=["A", "B"])
    found = []
    for kind in (CRF, peer.CRF):
        crf = kind(algorithm="lbfgs", max_iterations=50, all_possible_transitions=True)
        search = RandomizedSearchCV(crf, space, cv=3, n_iter=5, scoring=scorer, random_state=0).fit(X, Y)
        flat = cross_val_score(crf, X, Y, cv=3, scoring=scorers.flat_accuracy)
        found.append((search.best_params_, search.cv_results_["mean_test_score"].tolist(), flat.tolist()))
    assert found[0] == found[1]


def test_files_of_joblib_and_temporary_ones(peer, tmp_path):
    for kind in (CRF, peer.CRF):
        crf = kind(max_iterations=5, keep_tempfiles=False).fit(*RAGGED)
        joblib.dump(crf, tmp_path / "model.joblib")
        twin = joblib.load(tmp_path / "model.joblib")
        same(twin.predict(RAGGED[0]), crf.predict(RAGGED[0]))
        assert twin.state_features_ == crf.state_features_ and twin.get_params() == crf.get_params()
