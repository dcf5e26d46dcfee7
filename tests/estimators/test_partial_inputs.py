"""Partial annotation as users give it: arrays of objects, folds, questions that need complete outputs."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict

from palmette import CRF, CRFCV, SSVM, UNKNOWN, Chain, GroupLasso, Multiclass, OneOf, PlackettLuce
from palmette.errors import MissingCapability
from palmette.metrics import ndcg

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in rng.integers(2, 6, 25)]
    Y = [["abc"[k] for k in x.argmax(axis=1)] for x in X]
    hide = lambda t: t if rng.random() < 0.6 else UNKNOWN if rng.random() < 0.5 else OneOf(t, "a")  # noqa: E731
    return X, Y, [[hide(t) for t in y] for y in Y]


def test_arrays_of_objects_are_read_like_lists(data):
    X, _, partial = data
    arrays = np.empty(len(X), object)
    arrays[:] = [np.array(y, object) for y in partial]
    expected = CRF(Chain(), l2=0.3).fit(X, partial)
    found = CRF(Chain(), l2=0.3).fit(X, arrays)
    assert found.annotation_ == expected.annotation_ and found.annotation_.one_of
    assert np.array_equal(found.coef_, expected.coef_)


def test_penalties_of_single_labels_are_chosen_on_partial_annotation(data):
    X, _, partial = data
    rows, some = np.concatenate(X), [label for y in partial for label in y]
    assert CRFCV(Multiclass(), l2s=[0.1, 1.0], cv=3, random_state=0).fit(rows, some).l2_ in (0.1, 1.0)


@pytest.mark.parametrize("first", ["a", UNKNOWN, OneOf("a", "b")])
def test_folds_of_scikit_learn_take_single_labels_that_are_not_known(first):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2))
    y = [first, *["a", UNKNOWN, "b", OneOf("a", "b"), OneOf("b", "a")] * 5, "a", "b", "a", "b"]
    search = GridSearchCV(CRF(Multiclass()), {"l2": [0.1, 1.0]}, cv=3, error_score="raise").fit(rows, y)
    assert search.best_score_ > 0
    assert set(cross_val_predict(CRF(Multiclass()), rows, y, cv=3)) <= {"a", "b"}


def test_marks_stand_before_labels():
    marks = [OneOf("b", "c"), "a", UNKNOWN, OneOf("a", "b"), "b", UNKNOWN]
    assert sorted(marks) == sorted(marks[::-1]) == [
        UNKNOWN, UNKNOWN, OneOf("a", "b"), OneOf("b", "c"), "a", "b",
    ]  # fmt: skip


def test_what_needs_known_outputs_says_so(data):
    X, Y, _ = data
    model = CRF(Chain(), l2=0.3).fit(X, Y)
    for doubtful in (UNKNOWN, OneOf("a", "b")):
        with pytest.raises(
            ValueError, match=r"y\[0\]\[0\] is not known .*needs complete outputs: label this"
        ):
            model.log_proba(X[:1], [[doubtful, *Y[0][1:]]])
    with pytest.raises(ValueError, match=r"no sample .* whose label is known"):
        model.score(X[:1], [[UNKNOWN] * len(Y[0])])
    with pytest.raises(
        TypeError, match=r"y\[1\] must be a sequence .*UNKNOWN; .* give \[UNKNOWN\] \* len\(X\[1\]\)"
    ):
        CRF(Chain()).fit(X[:2], [Y[0], UNKNOWN])
    with pytest.raises(
        TypeError, match=r"OneOf\(\.\.\.\): \['a', 'b'\] is a list and no label; write OneOf\(\*labels\)"
    ):
        OneOf(["a", "b"])


def test_documents_without_a_grade_are_left_out_of_scores():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(6)]
    Y = [rng.permutation(4).tolist() for _ in X]
    partial = [[*y[:3], UNKNOWN] for y in Y[:5]] + [[UNKNOWN] * 4]
    model = PlackettLuce(l2=0.1).fit(X, partial)
    known = ndcg([y[:3] for y in Y[:5]], [scores[:3] for scores in model.row_scores(X[:5])])
    assert model.score(X, partial) == pytest.approx(known)
    assert ndcg(partial[:5], model.row_scores(X[:5])) == pytest.approx(known)
    with pytest.raises(ValueError, match="query 5 has no document with a grade; leave it out"):
        ndcg(partial, model.row_scores(X))


def test_remedies_for_losses_that_are_not_convex(data):
    X, _, partial = data
    with pytest.raises(
        MissingCapability, match="is not convex: leave the GroupLasso out, or annotate all parts"
    ):
        CRF(Chain(), regularizer=GroupLasso(0.1)).fit(X, partial)
    with pytest.raises(MissingCapability, match=r"'bridge'.* is not convex: use solver='cccp'"):
        SSVM(Chain(), loss="bridge", solver="bundle").fit(X, partial)
