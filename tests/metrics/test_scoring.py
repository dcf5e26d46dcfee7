"""Cross-validation of structured outputs: predictions of folds put together, scorers by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from palmette import CRF, SSVM, Chain, Graph, Multiclass, Perceptron, PlackettLuce, Ranking, SemiMarkov
from palmette.data import Outputs
from palmette.datasets import make_chains
from palmette.metrics import (
    SCORERS,
    chunk_f1,
    chunk_precision,
    chunk_recall,
    chunk_report,
    get_scorer,
    mean_average_precision,
    ndcg,
    sequence_accuracy,
    token_accuracy,
)

CV = KFold(3, shuffle=True, random_state=0)


def problem(kind, equal=False):
    """Inputs and outputs of a structure, of unequal or of equal lengths."""
    X, Y = make_chains(12, 3, 2, mean_length=5, random_state=0)
    if equal:
        X, Y = [np.resize(x, (3, 2)) for x in X], [(y * 3)[:3] for y in Y]
    if kind == "graph":
        return Graph(), [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X], Y
    if kind == "segments":
        return SemiMarkov(2), X, [[(0, min(2, len(x)), "a")] for x in X]
    if kind == "iob2":
        return SemiMarkov(2), X, [["B-a", *["O"] * (len(x) - 1)] for x in X]
    if kind == "ranking":
        return Ranking(), X, [np.argsort(np.argsort(x[:, 0])).tolist() for x in X]
    return Chain(), X, Y


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("kind", ["chain", "graph", "segments", "iob2", "ranking"])
@pytest.mark.filterwarnings("ignore:The loss of")
def test_cross_val_predict(kind, equal):
    structure, X, Y = problem(kind, equal)
    learner = Perceptron(structure)
    found = cross_val_predict(learner, X, Y, cv=CV)
    assert found.shape == (12,) and found.dtype == object
    for train, test in CV.split(X):
        model = Perceptron(structure).fit([X[i] for i in train], [Y[i] for i in train])
        for i, own in zip(test, model.predict([X[i] for i in test])):
            assert type(found[i]) is type(own) and np.array_equal(found[i], own)


def test_cross_val_predict_by_groups():
    _, X, Y = problem("chain")
    grouped = cross_val_predict(CRF(Chain()), X, Y, cv=GroupKFold(3), groups=np.arange(12) // 2)
    assert [len(y) for y in grouped] == [len(y) for y in Y]


def test_outputs_are_lists():
    _, X, Y = problem("chain")
    model = CRF(Chain()).fit(X, Y)
    found = model.predict(X)
    assert isinstance(found, list) and found == [list(y) for y in found] and [*found, []] == found + [[]]
    assert repr(found) == repr(list(found)) and type(pickle.loads(pickle.dumps(found))) is Outputs
    assert model.predict([]) == [] and np.concatenate([model.predict([]), found]).tolist() == found
    same = Outputs([["a", "b"], ["b", "b"]])
    assert np.array(same).shape == (2, 2) and np.shape(same) == (2, 2)  # NumPy sees what it sees in a list
    assert np.array_equal(same, [["a", "b"], ["b", "b"]]) and np.unique(same).tolist() == ["a", "b"]
    assert np.stack([same, same]).shape == (2, 2, 2)
    assert np.concatenate([same, Outputs([["a"]])]).tolist() == [["a", "b"], ["b", "b"], ["a"]]
    assert np.concatenate([same, same], axis=1).tolist() == [["a", "b"] * 2, ["b", "b"] * 2]
    assert np.concatenate([same, same], None).tolist() == [*"abbb", *"abbb"]
    assert np.concatenate([same, same], axis=0).shape == np.concatenate([same, same], 0).shape == (4,)
    orders = Outputs([np.array([0, 1]), np.array([1, 0])])  # arrays of one length are entries, too
    assert np.concatenate([orders, orders]).shape == (4,)


# -- scorers ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The loss of")
def test_scorers_are_the_measures():
    _, X, Y = problem("chain")
    model = CRF(Chain()).fit(X[:6], Y[:6])
    found = model.predict(X)
    assert get_scorer("token_accuracy")(model, X, Y) == token_accuracy(Y, found) == model.score(X, Y)
    right = [y == p for y, p in zip(Y, found)]
    assert get_scorer("sequence_accuracy")(model, X, Y) == np.mean(right) == sequence_accuracy(Y, found)
    _, X, Y = problem("iob2")
    model = CRF(SemiMarkov(2)).fit(X[:6], Y[:6])
    report = chunk_report(Y, model.predict(X)).overall
    assert report.correct > 0
    for name in ("f1", "precision", "recall"):
        assert get_scorer(f"chunk_{name}")(model, X, Y) == getattr(report, name)
    _, X, Y = problem("ranking")
    model = PlackettLuce().fit(X, Y)
    for name, value in (
        ("ndcg", ndcg(Y, model.row_scores(X))), ("ndcg@2", ndcg(Y, model.row_scores(X), k=2)),
        ("ndcg@10", ndcg(Y, model.row_scores(X), k=10)),
        ("mean_average_precision", mean_average_precision(Y, model.row_scores(X))),
    ):  # fmt: skip
        assert get_scorer(name)(model, X, Y) == value


def test_chunks_as_labels_and_as_segments_are_the_same():
    labels = (
        [["B-a", "I-a", "O", "B-b"], ["O"], ["B-b", "B-a"]],
        [["B-a", "O", "O", "B-b"], ["B-a"], ["B-b", "B-a"]],
    )
    segments = (
        [[(3, 4, "b"), (0, 2, "a")], [], [(0, 1, "b"), (1, 2, "a")]],
        [[(0, 1, "a"), (3, 4, "b")], [(0, 1, "a")], [(0, 1, "b"), (1, 2, "a")]],
    )
    for measure, value in ((chunk_f1, 6 / 9), (chunk_precision, 3 / 5), (chunk_recall, 3 / 4)):
        assert measure(*labels) == measure(*segments) == pytest.approx(value)
    assert chunk_f1([["O"]], [["O"]]) == 0.0 == chunk_f1([[]], [[(0, 1, "a")]])

    class Fixed(BaseEstimator):
        def predict(self, X):
            return segments[1]

    assert get_scorer("sequence_accuracy")(Fixed(), None, segments[0]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="these outputs are segments: leave scoring out"):
        get_scorer("token_accuracy")(Fixed(), None, segments[0])


def test_scorers_in_searches():
    _, X, Y = problem("chain")
    several = {name: get_scorer(name) for name in ("token_accuracy", "sequence_accuracy")}
    found = cross_validate(CRF(Chain()), X, Y, cv=CV, scoring=several)
    np.testing.assert_array_equal(found["test_token_accuracy"], cross_val_score(CRF(Chain()), X, Y, cv=CV))
    search = GridSearchCV(CRF(Chain()), {"l2": [0.1, 1000.0]}, cv=CV, scoring=several, refit="token_accuracy")
    means = [cross_val_score(CRF(Chain(), l2=l2), X, Y, cv=CV).mean() for l2 in (0.1, 1000.0)]
    np.testing.assert_allclose(search.fit(X, Y).cv_results_["mean_test_token_accuracy"], means)
    nested = cross_val_score(
        search, X, Y, cv=CV, scoring=get_scorer("sequence_accuracy"), error_score="raise"
    )
    assert nested.shape == (3,)


@pytest.mark.filterwarnings("ignore:The loss of")
def test_ranking_scorers_look_inside():
    _, X, Y = problem("ranking")
    pipe = make_pipeline(FunctionTransformer(lambda queries: [2.0 * q for q in queries]), SSVM(Ranking()))
    search = GridSearchCV(pipe, {"ssvm__l2": [0.1, 1.0]}, cv=3, scoring=get_scorer("ndcg"))
    scores = cross_val_score(search, X, Y, cv=3, scoring=get_scorer("ndcg@3"), error_score="raise")
    assert scores.min() > 0.5
    plain = SSVM(Ranking()).fit([2.0 * q for q in X], Y)
    assert get_scorer("ndcg")(pipe.fit(X, Y), X, Y) == plain.score([2.0 * q for q in X], Y)
    with pytest.raises(TypeError, match="KFold has no row_scores"):
        get_scorer("ndcg")(KFold(), X, Y)


def test_names_of_scorers():
    assert {"token_accuracy", "sequence_accuracy", "chunk_f1", "ndcg"} <= set(SCORERS)
    for name in SCORERS:
        assert get_scorer(name) is SCORERS[name]
        assert check_scoring(CRF(Chain()), scoring=get_scorer(name)) is SCORERS[name]
        assert repr(pickle.loads(pickle.dumps(SCORERS[name]))) == repr(SCORERS[name])
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 0, 1]
    assert get_scorer("accuracy")(CRF(Multiclass()).fit(X, y), X, y) > 0.5
    for wrong in ("chunk", "ndcg@0", "ndcg@x"):
        with pytest.raises(ValueError, match=rf"scoring='{wrong}' is unknown; .*chunk_f1.*ndcg@k"):
            get_scorer(wrong)
    with pytest.raises(ValueError, match=r"no label marks a chunk .*such as 'DT': use 'token_accuracy'"):
        chunk_f1([["NN", "DT"]], [["NN", "NN"]])
    with pytest.raises(ValueError, match="Y_true has 1 samples, Y_pred has 0"):
        chunk_f1([["O"]], [])


def tagged(form):
    """Inputs and chunk labels of equal lengths, as lists, as lists of arrays or as arrays of two dimensions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3, 2))
    Y = np.array(["B-a", "O"])[(X[:, :, 0] + 0.5 * rng.normal(size=(12, 3)) > 0).astype(int)]
    return {"lists": (list(X), Y.tolist()), "arrays": (list(X), list(Y)), "table": (X, Y)}[form]


SEQUENCE_SCORERS = ["token_accuracy", "sequence_accuracy", "chunk_f1", "chunk_precision", "chunk_recall"]


@pytest.mark.parametrize("name", SEQUENCE_SCORERS)
def test_scores_do_not_depend_on_the_container(name):
    def of(form):
        X, Y = tagged(form)
        return cross_val_score(CRF(Chain()), X, Y, cv=CV, scoring=get_scorer(name), error_score="raise")

    plain = of("lists")
    assert 0.0 < plain.mean() < 1.0
    np.testing.assert_array_equal(of("arrays"), plain)
    np.testing.assert_array_equal(of("table"), plain)


@pytest.mark.parametrize("length", [3, None])
@pytest.mark.parametrize("name", SEQUENCE_SCORERS)
def test_scores_of_the_crfsuite_interface(name, length):
    from palmette.compat import CRF as Compat

    _, Y = tagged("lists")
    Y = [y[: length or 1 + i % 3] for i, y in enumerate(Y)]
    X = [
        [{"label": label if i % 4 else "?", "place": str(t)} for t, label in enumerate(y)]
        for i, y in enumerate(Y)
    ]
    model = Compat(max_iterations=20).fit(X, Y)
    predicted = model.predict(X)
    assert isinstance(predicted, np.ndarray) and predicted.ndim == (2 if length else 1)
    plain = SCORERS[name]._score_func(Y, [list(y) for y in predicted])
    assert get_scorer(name)(model, X, Y) == plain and plain > 0.0
