"""Scores of classes under scikit-learn's names, and the names that structured outputs have instead."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

import palmette
from palmette import (
    CRF,
    SSVM,
    Chain,
    Graph,
    LossOptions,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)
from palmette.data.labels import LabelCodec
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.solvers.registry import HOME, serving

LEARNERS = {
    "CRF": CRF(Multiclass()),
    "hinge": SSVM(Multiclass(), tol=1e-2),
    "ramp": SSVM(Multiclass(), loss="ramp", tol=1e-2),
    "soft hinge": SSVM(Multiclass(), loss="soft_hinge", tol=1e-2),
    "kernel": SSVM(Multiclass(), kernel="rbf", tol=1e-2),
    "kernel CRF": CRF(Multiclass(), kernel="rbf"),
    "perceptron": Perceptron(Multiclass()),
    "arow": Perceptron(Multiclass(), solver="arow"),
}
STRUCTURED = [CRF(Chain()), SSVM(SemiMarkov(2)), Perceptron(Graph()), SSVM(Ranking()), PlackettLuce()]


def names(model):
    return type(model).__name__ + (type(model.structure).__name__ if hasattr(model, "structure") else "")


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0.2, "yes", "no")


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    return X, np.array(["x", "y", "z"])[np.argmax(X + 0.4 * rng.normal(size=X.shape), axis=1)]


@pytest.mark.parametrize("name", LEARNERS)
def test_class_scores_decide(name, binary, three):
    X, y = three
    model = clone(LEARNERS[name]).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (90, 3)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(scores.max(axis=1), model.predict_score(X))
    np.testing.assert_allclose(scores, np.concatenate(model.row_scores(X)))
    X, y = binary
    model = clone(LEARNERS[name]).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (120,) and is_classifier(model)
    np.testing.assert_array_equal(model.classes_[(scores > 0).astype(int)], model.predict(X))
    np.testing.assert_allclose(scores, np.diff(np.stack(model.row_scores(X))[:, 0], axis=1)[:, 0])


@pytest.mark.parametrize("name", LEARNERS)
def test_roc_auc_is_that_of_logistic_regression(name, binary):
    X, y = binary
    peer = roc_auc_score(y, LogisticRegression().fit(X, y).decision_function(X))
    model = clone(LEARNERS[name]).fit(X, y)
    assert roc_auc_score(y, model.decision_function(X)) > peer - 0.01
    assert cross_val_score(model, X, y, cv=2, scoring="roc_auc").min() > 0.9


@pytest.mark.parametrize("name", LEARNERS)
def test_calibration(name, binary, three):
    for X, y in (binary, three):
        p = CalibratedClassifierCV(clone(LEARNERS[name]), cv=2).fit(X, y).predict_proba(X)
        assert p.shape == (len(X), len(set(y)))
        assert np.mean(np.unique(y)[p.argmax(axis=1)] == y) > 0.75


def test_scores_of_the_crf_are_log_odds(binary, three):
    X, y = binary
    model = CRF(Multiclass()).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), np.log(p[:, 1] / p[:, 0]))
    X, y = three
    model = CRF(Multiclass()).fit(X, y)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    scores = model.decision_function(X)
    gaps = model.predict_log_proba(X) - scores
    np.testing.assert_allclose(gaps, gaps[:, :1] * np.ones(3))  # the same number for all classes


def test_meta_estimators(three):
    X, y = three
    scores = cross_val_predict(SSVM(Multiclass(), tol=1e-2), X, y, cv=3, method="decision_function")
    assert scores.shape == (90, 3) and np.mean(np.unique(y)[scores.argmax(axis=1)] == y) > 0.7
    assert OneVsRestClassifier(SSVM(Multiclass(), tol=1e-2)).fit(X, y).score(X, y) > 0.7


# -- declared classes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_declared_classes_changes_no_score(name, binary, three):
    X, y = binary
    model = clone(LEARNERS[name])
    turned = clone(model).set_params(classes=["yes", "no"])
    assert clone(turned).fit(X, y).classes_.tolist() == ["no", "yes"]
    for scoring in ("roc_auc", "neg_log_loss") if hasattr(model, "predict_proba") else ("roc_auc",):
        found, wanted = (cross_val_score(each, X, y, cv=2, scoring=scoring) for each in (turned, model))
        np.testing.assert_array_equal(found, wanted)
    for X, y in (binary, three):
        turned.set_params(classes=sorted(set(y), reverse=True))
        found, wanted = (
            CalibratedClassifierCV(each, cv=2).fit(X, y).predict_proba(X) for each in (turned, model)
        )
        np.testing.assert_array_equal(found, wanted)


def test_the_order_of_declared_classes_of_batches(three):
    X, y = three
    model = Perceptron(Multiclass()).partial_fit(X[:40], y[:40], classes=np.array(["z", "x", "y"]))
    model.partial_fit(X[40:], y[40:], classes=["y", "z", "x"])
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert np.mean(model.classes_[model.decision_function(X).argmax(axis=1)] == y) > 0.7


def test_declared_classes_by_kind_of_label():
    def codes(classes, **options):
        return LabelCodec.from_labels([], classes, **options).classes_

    assert codes([2, "b", 1, "a"], layout="items") == (1, 2, "a", "b")
    assert codes([2j, 1j], layout="items") == (2j, 1j)  # they have no order
    assert codes(["b", "a"]) == ("b", "a")  # structured outputs keep that of the user
    with pytest.raises(ValueError, match=r"classes\[2\] = 'b' equals classes\[0\]"):
        codes(["b", "a", "b"], layout="items")


def test_classes_in_files_and_warm_starts(binary, tmp_path):
    X, y = binary
    model = CRF(Multiclass(), classes=["yes", "no"], warm_start=True, tol=1e-8).fit(X, y)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    # A file whose labels are in another order, as earlier versions kept that of the user.
    other = np.where(y == "no", "yes", "no")
    model.codec_ = LabelCodec(["yes", "no"])
    model.save(tmp_path / "m.palmette")
    old = palmette.load(tmp_path / "m.palmette")
    wanted = old.predict(X)
    assert old.classes_.tolist() == ["yes", "no"] and np.mean(wanted == other) > 0.9
    old.set_params(warm_start=True).fit(X, other)
    assert old.classes_.tolist() == ["no", "yes"] and old.n_iter_ <= 1
    np.testing.assert_array_equal(old.predict(X), wanted)


# -- names that do not exist --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", STRUCTURED, ids=names)
def test_structured_outputs_have_other_names(model):
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=r"has no decision_function: .*predict_score\(X\)"):
        _ = model.decision_function
    instead = (
        "PlackettLuce, the"
        if isinstance(model, SSVM) and isinstance(model.structure, Ranking)
        else "predict_marg"
    )
    with pytest.raises(AttributeError, match=f"has no predict_proba: .*{instead}"):
        _ = model.predict_proba


def test_missing_methods_say_what_to_use():
    for model in (CRF(Chain()), SSVM(Multiclass()), PlackettLuce()):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match=r"Perceptron.*partial_fit.*warm_start.*stochastic"):
            _ = model.partial_fit
    assert hasattr(Perceptron(Chain()), "partial_fit")
    for model in (SSVM(Multiclass()), Perceptron(Multiclass())):
        assert not hasattr(model, "predict_proba") and hasattr(model, "decision_function")
        with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
            _ = model.predict_proba
    # a property that raises keeps its own message, and copies do not stumble
    model = CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match="Multiclass has no transitions"):
        _ = model.transitions_
    with pytest.raises(AttributeError, match="'CRF' object has no attribute 'nonsense'"):
        _ = model.nonsense
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.predict([[1.0]]) == [1]


def test_keywords_of_other_libraries():
    with pytest.raises(TypeError, match=r"'c2': CRFsuite's c2 is l2 = 2 \* c2; palmette.compat.CRF"):
        CRF(Chain(), c2=0.1)
    with pytest.raises(TypeError, match="'c1': CRFsuite's c1 is l1 = c1"):
        CRF(Chain(), l2=1.0, c1=0.1)
    with pytest.raises(TypeError, match="'algorithm': it is chosen by solver="):
        SSVM(Chain(), algorithm="pa")
    with pytest.raises(TypeError, match="'max_iterations': it is max_iter"):
        Perceptron(Chain(), max_iterations=5)
    with pytest.raises(TypeError, match="'c2': Perceptron has no l2"):
        Perceptron(Chain(), c2=0.1)
    with pytest.raises(TypeError, match="'l2_egde': did you mean 'l2_edge'"):
        CRF(Chain(), l2_egde=0.1)
    with pytest.raises(TypeError, match=r"'structure': .*Its parameters are l2, C"):
        PlackettLuce(structure=Ranking())
    with pytest.raises(ValueError, match=r"no parameter 'c2': CRFsuite's c2 is l2 = 2 \* c2"):
        CRF(Chain()).set_params(c2=0.1)
    assert CRF(Chain()).set_params(l2=2.0, structure__order=2).structure.order == 2


def test_keywords_of_a_class_of_your_own():
    class Fixed(CRF):
        def __init__(self, structure, **options):
            super().__init__(structure, **options)

    assert Fixed(Chain(), l2=3.0).l2 == 3.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'c2'"):
        Fixed(Chain(), c2=3.0)


# -- solvers by name ----------------------------------------------------------------------------------------------


def test_an_unknown_solver_names_those_that_serve():
    X, Y = make_chains(4, 2, 2, random_state=0)
    with pytest.raises(
        ValueError, match="solver='newton' is unknown; CRF with Chain takes one of auto, bundle, dual,"
    ):
        CRF(Chain(), solver="newton").fit(X, Y)
    with pytest.raises(
        ValueError, match="SSVM with Chain takes one of auto, cccp, pegasos, stochastic, subgradient,"
    ):
        SSVM(Chain(), solver="newton", loss="ramp").fit(X, Y)
    with pytest.raises(ValueError, match="takes one of auto, bundle, frank_wolfe, kernel_frank_wolfe, "):
        SSVM(Chain(), solver="newton", kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="takes one of arow, passive_aggressive, perceptron, stochastic, or"):
        Perceptron(Chain(), solver="newton").fit(X, Y)
    with pytest.raises(ValueError, match="multiclass_dual"):
        SSVM(Multiclass(), solver="newton").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="solver='newton' is unknown; PlackettLuce with Ranking"):
        PlackettLuce(solver="newton").fit(X, Y)  # before anything else is looked at


KINDS = [
    CRF(Chain(), l2=1.0), SSVM(Chain()), SSVM(Multiclass()), SSVM(Chain(), loss_options=LossOptions(rescaling="slack")),
    SSVM(Chain(), loss="soft_hinge"), SSVM(Chain(), loss="ramp"), SSVM(Ranking()), SSVM(Ranking(ties="best")),
    CRF(SemiMarkov(2)), Perceptron(Chain()), SSVM(Chain(), kernel="rbf"), PlackettLuce(),
]  # fmt: skip


@pytest.mark.parametrize("model", KINDS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_the_solvers_named_are_those_that_serve(model):
    X, Y = make_chains(4, 2, 2, random_state=0)
    kind = type(model.structure)
    if kind is Multiclass:
        X, Y = np.concatenate(X), [label for y in Y for label in y]
    if kind is Ranking:
        Y = [list(range(len(x))) for x in X]
    if kind is SemiMarkov:
        Y = [[(0, 1, "a")] for _ in X]
    served = set()
    for name in ["auto", *HOME]:
        try:
            each = clone(model).set_params(solver=name, max_iter=1, n_jobs=1)
            if hasattr(each, "l2"):  # a penalty that the solver takes
                each.set_params(**({"l2": 0.0, "l1": 1.0} if name == "linear_program" else {"l2": 1.0}))
            each.fit(X, Y)
        except (MissingCapability, ValueError) as error:
            assert isinstance(error, MissingCapability) or name == "auto"
            continue
        served.add(name)
    assert sorted(served) == serving(model._loss_name, model.structure)


# -- weights of classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CRF", "hinge", "ramp", "kernel", "kernel CRF", "perceptron"])
def test_class_weights_are_sample_weights(name, three):
    X, y = three
    own = np.random.default_rng(0).random(len(X))
    table = {"x": 2.0, "z": 0.5}
    weight = np.array([table.get(label, 1.0) for label in y])
    plain = clone(LEARNERS[name])
    weighted = clone(plain).set_params(class_weight=table)
    for given in (None, own):
        expected = plain.fit(X, y, sample_weight=weight if given is None else weight * given)
        found = weighted.fit(X, y, sample_weight=given)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    unweighted = clone(LEARNERS[name]).fit(X, y)
    assert (
        np.abs(unweighted.decision_function(X) - clone(weighted).fit(X, y).decision_function(X)).max() > 1e-3
    )


def test_balanced_classes_weigh_the_same(binary):
    X, y = binary
    balanced = CRF(Multiclass(), class_weight="balanced", l2=0.5, l2_bias=0.0, tol=1e-12).fit(X, y)
    peer = LogisticRegression(C=4.0, class_weight="balanced", tol=1e-10, max_iter=10**4).fit(X, y)
    # two classes share the weights, so that our |w|^2 is half of theirs for the same scores
    np.testing.assert_allclose(balanced.decision_function(X), peer.decision_function(X), atol=1e-4)
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(y == "yes")])
    again = CRF(Multiclass(), class_weight="balanced", l2=0.5, l2_bias=0.0, tol=1e-12)
    again.fit(X, y, sample_weight=1.0 + (y == "yes"))
    repeated = clone(again).fit(X[twice], y[twice])
    np.testing.assert_allclose(again.coef_, repeated.coef_, atol=1e-5)


def test_class_weights_in_a_file_and_in_batches(three, tmp_path):
    X, y = three
    model = CRF(Multiclass(), class_weight={"x": 2.0}).fit(X, y)
    model.save(tmp_path / "m.palmette")
    assert CRF.load(tmp_path / "m.palmette").class_weight == {"x": 2.0}
    parts = [Perceptron(Multiclass(), class_weight=w) for w in ({"x": 2.0, "y": 1.0, "z": 1.0}, None)]
    parts[0].partial_fit(X, y, classes=["x", "y", "z"])
    parts[1].partial_fit(X, y, classes=["x", "y", "z"], sample_weight=1.0 + (y == "x"))
    np.testing.assert_array_equal(parts[0].coef_, parts[1].coef_)
    with pytest.raises(ValueError, match="cannot balance the labels of all"):
        Perceptron(Multiclass(), class_weight="balanced").partial_fit(X, y, classes=["x", "y", "z"])


def test_class_weights_that_are_refused(three):
    X, y = three
    C, Y = make_chains(4, 2, 2, random_state=0)
    for learner in (CRF, SSVM, Perceptron):
        with pytest.raises(MissingCapability, match=r"class_weight=.*Chain.*Hamming.*sample_weight"):
            learner(Chain(), class_weight="balanced").fit(C, Y)
    with pytest.raises(MissingCapability, match="class_weight="):
        CRF(Chain(), class_weight="balanced", kernel="rbf").fit(C, Y)
    with pytest.raises(ValueError, match="class_weight must be 'balanced', a dict"):
        CRF(Multiclass(), class_weight="even").fit(X, y)
    with pytest.raises(
        ValueError, match=r"class_weight must be 'balanced', a dict.*got array\(\[1, 2, 3\]\)"
    ):
        CRF(Multiclass(), class_weight=np.array([1, 2, 3])).fit(X, y)
    with pytest.raises(
        ValueError, match=r"class_weight\['x'\] must be a finite number of at least 0, got -1"
    ):
        CRF(Multiclass(), class_weight={"x": -1}).fit(X, y)
    with pytest.raises(ValueError, match="has 'w', which is not a label of y, and y has"):
        CRF(Multiclass(), class_weight={"x": 1, "y": 1, "w": 2}).fit(X, y)
    CRF(Multiclass(), class_weight={"x": 1, "y": 1, "z": 1, "w": 2}).fit(X, y)  # w may be in other folds
