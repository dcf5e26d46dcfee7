"""Learners on hierarchies: what is learnt, what is known in part, model files, and what is refused at the door."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from palmette import (
    CRF,
    CRFCV,
    SSVM,
    SSVMCV,
    UNKNOWN,
    ActiveLearner,
    Hierarchy,
    LossOptions,
    OneOf,
    Perceptron,
    load,
)
from palmette.metrics import hierarchical_f1, hierarchical_scores, level_accuracies
from palmette.structures import HierarchyRestriction

RNG = np.random.default_rng(0)
PATHS = ["a.p.u", "a.p.v", "a.q.w", "b.r.s", "b.r.t"]
CLASS = np.arange(30) % 5
X = 2.0 * np.eye(5)[CLASS] @ RNG.normal(size=(5, 6)) + 0.3 * RNG.normal(size=(30, 6))
Y = [PATHS[k] for k in CLASS]
TUPLES = [tuple(y.split(".")) for y in Y]
SETS = [[PATHS[k], PATHS[(k + 1) % 5]] for k in CLASS]


@pytest.mark.parametrize(
    "model",
    [
        CRF(Hierarchy(), l2=0.1), CRF(Hierarchy(), l2=0.1, kernel="rbf"),
        *(SSVM(Hierarchy(), l2=0.1, task_loss=loss) for loss in
          ("common_path", "symmetric_difference", "first_mistakes", "zero_one")),
        SSVM(Hierarchy(), l2=0.1, loss="ramp"), SSVM(Hierarchy(), l2=0.1, kernel="rbf"),
        SSVM(Hierarchy(), l2=0.1, loss="soft_hinge"),
        SSVM(Hierarchy(), l2=0.5, tol=0.1, task_loss="zero_one", loss_options=LossOptions(rescaling="slack")),
        CRFCV(Hierarchy(), cv=2, l2s=[0.1, 1.0]), SSVMCV(Hierarchy(), cv=2, l2s=[0.1, 1.0]),
    ],
    ids=str,
)  # fmt: skip
def test_learners_learn_paths_in_the_form_given(model):
    assert model.fit(X, Y).predict(X) == Y
    assert model.score(X, Y) == 1.0


def test_a_perceptron_learns_most_paths():
    assert Perceptron(Hierarchy(), random_state=0).fit(X, Y).score(X, Y) > 0.8


def test_a_crf_of_one_level_is_multinomial_logistic_regression():
    """Nodes of one level are labels: the same objective as ``Multiclass``."""
    from palmette import Multiclass

    labels = [y[0] + y[-1] for y in Y]
    flat = CRF(Hierarchy(), l2=1.0, tol=1e-9).fit(X, labels)
    plain = CRF(Multiclass(), l2=1.0, tol=1e-9).fit(X, labels)
    assert flat.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert np.vstack(flat.predict_marginals(X)) == pytest.approx(plain.predict_marginals(X), abs=1e-4)


def test_marginals_are_those_of_nodes_and_fall_along_paths():
    model = CRF(Hierarchy(), l2=1.0).fit(X, Y)
    nodes, chance = list(model.classes_), np.vstack(model.predict_marginals(X))
    top = [v for v, node in enumerate(nodes) if len(node) == 1]
    assert chance[:, top].sum(axis=1) == pytest.approx(1.0)
    for v, node in enumerate(nodes):
        below = [w for w, other in enumerate(nodes) if other[:-1] == node]
        if below:
            assert chance[:, below].sum(axis=1) == pytest.approx(chance[:, v])
    best = model.predict_nbest(X[:2], 99)
    assert [len(found) for found in best] == [5, 5]
    total = sum(np.exp(model.log_proba(X[:1], [y])[0]) for y in PATHS)
    assert total == pytest.approx(1.0)


def test_weights_of_samples_are_repetitions():
    weight = np.arange(30) % 3 + 1.0
    weighted = CRF(Hierarchy(), l2=1.0, tol=1e-9).fit(X, Y, sample_weight=weight)
    repeated = CRF(Hierarchy(), l2=1.0, tol=1e-9).fit(
        np.repeat(X, weight.astype(int), axis=0), [y for y, w in zip(Y, weight) for _ in range(int(w))]
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)


def test_forms_of_inputs_give_one_model():
    dense = CRF(Hierarchy(), l2=1.0).fit(X, Y)
    for other in (sparse.csr_array(X), [row.tolist() for row in X], list(X)):
        model = CRF(Hierarchy(), l2=1.0).fit(other, TUPLES)
        assert model.predict(other) == TUPLES
        assert np.allclose(model.predict_score(other), dense.predict_score(X), atol=1e-3)
    named = [["class=" + y, "bias"] for y in Y]
    assert CRF(Hierarchy(), l2=0.1).fit(named, Y).predict(named) == Y
    with pytest.raises(ValueError, match="needs a table of shape"):
        CRF(Hierarchy()).fit(X[None], Y)


def test_sets_of_paths():
    """Outputs with several paths; the empty set only where outputs may end anywhere."""
    for learner in (CRF, SSVM):
        model = learner(Hierarchy(multi_label=True), l2=0.1).fit(X, SETS)
        assert [set(found) for found in model.predict(X)] == [set(own) for own in SETS]
    some = [own if k % 2 else [] for k, own in enumerate(SETS)]
    with pytest.raises(ValueError, match=r"y\[0\] is an empty set of paths"):
        CRF(Hierarchy(multi_label=True)).fit(X, some)
    model = CRF(Hierarchy(multi_label=True, inner_ends=True), l2=0.1).fit(X, some)
    assert model.structure_.nodes.depth == 3
    assert all(isinstance(found, list) for found in model.predict(X))


def test_paths_that_end_inside_the_tree():
    inside = [y if k % 2 else y[:3] for k, y in enumerate(Y)]
    with pytest.raises(
        ValueError, match=r"y\[0\] = 'a.p' ends inside the tree, where \('a', 'p', 'u'\) goes on"
    ):
        CRF(Hierarchy()).fit(X, inside)
    marks = np.column_stack([X, np.arange(30) % 2])
    model = CRF(Hierarchy(inner_ends=True), l2=0.001).fit(marks, inside)
    assert hierarchical_f1(inside, model.predict(marks)) > 0.95
    assert any(len(found) == 3 for found in model.predict(marks))


def test_classes_without_training_data_can_be_predicted():
    """A class of the tree that no sample has shares the scores of its ancestors; restrictions reach it."""
    model = CRF(Hierarchy([*PATHS, "b.r.z", "c.d"]), l2=1.0).fit(X, Y)
    assert ("b", "r", "z") in list(model.classes_)
    nodes = {node: v for v, node in enumerate(model.classes_)}
    fixed = np.full((30, len(nodes)), -1)
    fixed[:, nodes["b", "r", "z"]] = 1
    assert set(model.predict(X, within=HierarchyRestriction.fixed(fixed.ravel(), len(nodes)))) == {"b.r.z"}
    chance = np.vstack(model.predict_marginals(X))
    mine = [k for k, y in enumerate(Y) if y.startswith("b")]
    assert chance[mine, nodes["b", "r", "z"]].mean() > 2.0 * chance[mine, nodes["c", "d"]].mean()
    same = CRF(Hierarchy(), classes=[*PATHS, "b.r.z", "c.d"], l2=1.0).fit(X, Y)
    assert list(same.classes_) == sorted(model.classes_)


def test_prefixes_teach_what_they_say():
    """A prefix is an output of which levels are open; a model of prefixes knows the first level."""
    part = [y if k < 10 else f"{y[0]}.?" for k, y in enumerate(Y)]
    for model in (
        CRF(Hierarchy(), l2=0.1), SSVM(Hierarchy(), loss="bridge", l2=0.1), Perceptron(Hierarchy(), random_state=0),
    ):  # fmt: skip
        found = model.fit(X, part).predict(X)
        assert level_accuracies(Y, found)[0] == 1.0
        assert model.score(X, part) > 0.95
    assert model.annotation_.unknown > 0
    rows = [[True if code else False for code in own] for own in (np.eye(3, dtype=int)[[0]])]
    with pytest.raises(ValueError, match="the tree is not known"):
        CRF(Hierarchy()).fit(X[:1], rows)
    with pytest.raises(ValueError, match="no known part"):
        CRF(Hierarchy(PATHS)).fit(X[:2], [UNKNOWN, UNKNOWN])


def test_model_files(tmp_path):
    for structure, y in (
        (Hierarchy([*PATHS, "c"]), Y),
        (Hierarchy(multi_label=True), SETS),
        (Hierarchy(), TUPLES),
    ):
        model = CRF(structure, l2=1.0).fit(X, y)
        model.save(tmp_path / "model.palmette")
        again = load(tmp_path / "model.palmette")
        assert again.predict(X) == model.predict(X)
        assert again.structure_.nodes == model.structure_.nodes


def test_a_warm_start_keeps_what_is_known_of_nodes():
    model = CRF(Hierarchy(), l2=1.0, warm_start=True, tol=1e-8).fit(X[:9], Y[:9])
    grown = model.fit(X, [*Y[:-1], "c.new"])
    fresh = CRF(Hierarchy(), l2=1.0, tol=1e-8).fit(X, [*Y[:-1], "c.new"])
    assert grown.objective_ == pytest.approx(fresh.objective_, rel=1e-6)


def test_whole_samples_are_asked_and_answered_by_paths():
    learner = ActiveLearner(
        CRF(Hierarchy(PATHS), l2=0.1), X, "least_confidence", batch_size=6, random_state=0
    )
    while questions := learner.query():
        learner.tell_all(questions, [list(TUPLES[question.sample]) for question in questions])
    assert learner.finish().score(X, TUPLES) == 1.0
    with pytest.raises(ValueError, match="give it, Hierarchy"):
        ActiveLearner(CRF(Hierarchy()), X)


@pytest.mark.parametrize(
    "y, words",
    [
        (["a.x", "a..x"], r"y\[1\] = 'a..x' has no label at level 2"),
        (["a.x", ""], r"y\[1\] = '' is empty"),
        ([("a", "x"), ()], r"y\[1\] is an empty path"),
        ([("a", "x"), ("a", UNKNOWN, "x")], r"y\[1\]\[2\] = 'x' stands below a level that is UNKNOWN"),
        ([("a", "x"), ("a", None)], r"y\[1\]\[1\] = None is no label"),
        ([("a", "x"), ("a", OneOf("x", "y"))], r"y\[1\]\[1\] = OneOf\('x', 'y'\) is no label"),
        ([("a", "x"), 3], r"y\[1\] is 3, a int; a path is"),
        ([("a", "x"), ("a", "z")], r"'z' is no class below \('a',\) \(level 2\), where there are \['x'\]"),
        ([("a", "x"), ("q",)], r"'q' is no class at the top \(level 1\)"),
        ([("a", "x"), ("a", "x", "k")], r"'k' is no class below \('a', 'x'\) \(level 3\), where there is nothing"),
        ([("a", "x"), [True, False, False]], r"y\[1\] ends at \('a',\), inside the tree"),
        ([("a", "x"), [False, True, False]], r"y\[1\] has the node \('a', 'x'\) and not its parent"),
        ([("a", "x"), [True, True, True]], r"y\[1\] has several nodes below the root"),
        ("a.x", "y must hold one entry per sample, got str"),
    ],
)  # fmt: skip
def test_paths_that_are_refused(y, words):
    with pytest.raises((ValueError, TypeError), match=words):
        CRF(Hierarchy(["a.x", "b"])).fit([[0.0], [1.0]], y)


def test_settings_that_are_refused():
    for settings, words in (
        ({"inner_ends": 1}, "inner_ends must be True or False"),
        ({"separator": ""}, "separator must be a string"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            CRF(Hierarchy(**settings)).fit(X, Y)
    with pytest.raises(ValueError, match="both name the classes"):
        CRF(Hierarchy(PATHS), classes=PATHS).fit(X, Y)


def test_true_paths_that_a_model_does_not_know():
    """They are errors of the model in a score, and refused where a probability is asked for."""
    model = CRF(Hierarchy(), l2=0.1).fit(X, Y)
    assert model.score(X[:1], ["a.p.new"]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"y\[0\] is the path \('a', 'p', 'new'\), which is not in the tree"):
        model.log_proba(X[:1], ["a.p.new"])


def test_scores_of_paths():
    true, found = ["a.b.c", "a.d", "e"], ["a.b.x", "a.d.z", "f"]
    scores = hierarchical_scores(true, found)
    assert scores == pytest.approx((4 / 7, 4 / 6, 8 / 13))
    assert hierarchical_scores([["a.b", "c"]], [["a.b"]], multi_label=True).recall == pytest.approx(2 / 3)
    assert hierarchical_scores(["a.?"], ["a.b"]).precision == 1.0
    assert level_accuracies(true, found).tolist() == [2 / 3, 1.0, 0.0]
