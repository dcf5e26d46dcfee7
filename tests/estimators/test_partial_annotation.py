"""Learning from outputs of which parts are UNKNOWN or OneOf several labels."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from palmette import (
    CRF,
    CRFCV,
    SSVM,
    UNKNOWN,
    Chain,
    Encoding,
    Graph,
    GraphInput,
    LossOptions,
    Multiclass,
    OneOf,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
    load,
)
from palmette.errors import MissingCapability
from palmette.kernels import RBF
from palmette.solvers import CCCP

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def hidden(rng, outputs, known=0.5, other="a"):
    """Outputs with parts hidden, half of them behind a choice of two."""
    return [
        [t if rng.random() < known else UNKNOWN if rng.random() < 0.5 else OneOf(t, other) for t in y]
        for y in outputs
    ]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in rng.integers(2, 6, 25)]
    W = rng.normal(size=(3, 3))
    Y = [["abc"[k] for k in (x @ W).argmax(axis=1)] for x in X]
    return X, Y, hidden(rng, Y)


def of(structure, X, Y):
    """Inputs and outputs as the structure takes them."""
    if isinstance(structure, Multiclass):
        return np.concatenate(X), [label for y in Y for label in y]
    if isinstance(structure, Graph):
        return [
            GraphInput(x, [(t, t + 1) for t in range(len(x) - 1)] + [(0, len(x) - 1)] * (len(x) > 2))
            for x in X
        ], Y
    if isinstance(structure, SemiMarkov):

        def tags(label):
            if isinstance(label, OneOf):
                return OneOf(*(f"B-{each}" for each in label.labels))
            return label if label is UNKNOWN else f"B-{label}"

        return X, [[tags(label) for label in y] for y in Y]
    return X, Y


LEARNERS = {
    "crf": lambda s: CRF(s, l2=0.1),
    "crf, stochastic": lambda s: CRF(s, l2=0.1, solver="stochastic"),
    "crf, l1": lambda s: CRF(s, l1=0.1),
    "bridge": lambda s: SSVM(s, loss="bridge", l2=0.1),
    "latent": lambda s: SSVM(s, loss="latent", l2=0.1),
    "max": lambda s: SSVM(s, loss="max", l2=0.1),
    "ignoring": lambda s: SSVM(s, loss="bridge", l2=0.1, loss_options=LossOptions(nonnegative="ignore")),
    "soft hinge": lambda s: SSVM(s, loss="soft_hinge", l2=0.1),
    "perceptron": lambda s: Perceptron(s),
}


@pytest.mark.parametrize("structure", [Multiclass(), Chain(), Graph(), SemiMarkov(2)], ids=str)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_on_every_structure(data, structure, name):
    X, Y, partial = data
    inputs, full = of(structure, X, Y)
    _, some = of(structure, X, partial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LEARNERS[name](structure).fit(inputs, some)
    assert model.score(inputs, some) > 0.8
    assert model.score(inputs, full) > 0.75  # though less than half of it was known
    counts = model.annotation_
    assert counts.unknown > 0 and counts.one_of > 0
    assert counts.known + counts.one_of + counts.unknown == sum(map(len, Y))


def test_rankings_with_unknown_grades():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, 3)) for n in rng.integers(2, 6, 30)]
    w = rng.normal(size=3)
    Y = [np.digitize(x @ w, [-0.5, 0.5]).tolist() for x in X]
    partial = [[g if rng.random() < 0.7 else UNKNOWN for g in y] for y in Y]
    for model in (
        PlackettLuce(l2=0.1),
        Perceptron(Ranking()),
        SSVM(Ranking(), loss="bridge", task_loss="zero_one", l2=0.01),
    ):
        assert model.fit(X, partial).score(X, Y) > 0.85
    with pytest.raises(MissingCapability, match=r"compares with complete outputs.*task_loss='zero_one'"):
        SSVM(Ranking(), loss="bridge").fit(X, partial)
    with pytest.raises(
        ValueError, match=r"query 0, document 0: .*general partial order.*NP-hard: give one grade"
    ):
        PlackettLuce().fit(X, [[OneOf(0, 1), *y[1:]] for y in Y])


def test_documents_without_a_grade_do_not_count_for_plackett_luce():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(4, 2)) for _ in range(12)]
    Y = [rng.integers(0, 3, 4).tolist() for _ in X]
    partial = [[*y[:3], UNKNOWN] for y in Y]
    a = PlackettLuce(l2=1.0, tol=1e-8).fit(X, partial)
    b = PlackettLuce(l2=1.0, tol=1e-8).fit([x[:3] for x in X], [y[:3] for y in Y])
    assert a.coef_ == pytest.approx(b.coef_, abs=1e-5)


def test_top_documents_as_grades():
    from palmette.structures import top_k

    assert top_k([3, 1], 5).tolist() == [0, 1, 0, 2, 0]
    with pytest.raises(ValueError, match="must list different documents"):
        top_k([3, 3], 5)


# -- the same as with complete annotation ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: CRF(Chain(), l2=0.3), lambda: Perceptron(Chain())])
def test_complete_annotation_is_learnt_bit_for_bit(data, make):
    X, Y, _ = data
    single = [[OneOf(label) for label in y] for y in Y]
    assert np.array_equal(make().fit(X, Y).coef_, make().fit(X, single).coef_)


def test_the_bridge_of_complete_annotation_is_the_hinge(data):
    X, Y, _ = data
    a, b = (SSVM(Chain(), loss=loss, l2=0.3, tol=1e-3).fit(X, Y) for loss in ("hinge", "bridge"))
    assert np.array_equal(a.coef_, b.coef_)


def test_latent_and_bridge_are_one_loss_where_the_task_loss_counts_annotated_parts(data):
    X, _, partial = data
    a, b = (SSVM(Chain(), loss=loss, l2=0.3).fit(X, partial) for loss in ("latent", "bridge"))
    assert np.array_equal(a.coef_, b.coef_)


def test_unknown_samples_change_nothing(data):
    X, Y, _ = data
    rng = np.random.default_rng(3)
    more = [rng.normal(size=(3, 3)) for _ in range(3)]
    a = CRF(Chain(), l2=0.3, tol=1e-8).fit(X, Y)
    b = CRF(Chain(), l2=0.3, tol=1e-8).fit([*X, *more], [*Y, *[[UNKNOWN] * 3] * 3])
    assert b.annotation_.n_empty == 3
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-5)


# -- compiled loops -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"encoding": Encoding(states="all")}, {"allowed": "IOB2"}, {"share": 0.9}]
)
@pytest.mark.parametrize("learner", ["crf", "perceptron", "perceptron with edge features"])
def test_compiled_loops_take_the_steps_of_generic_ones(monkeypatch, learner, options):
    rng = np.random.default_rng(4)
    labels = ["B", "I", "O"]
    X = [[[f"f{k}" for k in rng.integers(0, 12, 3)] for _ in range(n)] for n in rng.integers(1, 8, 25)]
    Y = [["B"] + [labels[k] for k in rng.integers(0, 2, len(x) - 1)] for x in X]
    share = options.get(
        "share", 0.4
    )  # of known labels; with few others the allowed ones are summed one by one
    partial = [
        [t if rng.random() < share else UNKNOWN if rng.random() < 0.5 else OneOf(t, "B") for t in y]
        for y in Y
    ]
    structure = Chain(allowed=options.get("allowed"))
    own = {name: value for name, value in options.items() if name == "encoding"}

    def fit():
        if learner == "crf":
            return CRF(structure, l2=0.3, tol=1e-7, **own).fit(X, partial)
        edge = "all" if "edge" in learner else None
        return Perceptron(structure, max_iter=4, edge_features=edge, **own).fit(X, partial)

    compiled = fit()
    from palmette.loops.table import CompiledLoop

    seen = []
    for kind in CompiledLoop.__subclasses__():
        monkeypatch.setattr(kind, "accepts", classmethod(lambda cls, problem: seen.append(cls)))
    generic = fit()
    assert seen
    assert generic.coef_ == pytest.approx(compiled.coef_, abs=1e-6)


def test_results_do_not_depend_on_the_number_of_threads(data):
    rng = np.random.default_rng(5)
    X = [[[f"f{k}" for k in rng.integers(0, 30, 3)] for _ in range(20)] for _ in range(300)]
    partial = hidden(rng, [["abc"[k] for k in rng.integers(0, 3, 20)] for _ in X])
    for make in (
        lambda n: CRF(Chain(), l2=1.0, n_jobs=n),
        lambda n: SSVM(Chain(), loss="bridge", l2=5.0, n_jobs=n),
    ):
        assert np.array_equal(make(1).fit(X, partial).coef_, make(2).fit(X, partial).coef_)


# -- the concave-convex procedure -----------------------------------------------------------------------------------


def solved(data, **options):
    X, _, partial = data
    return SSVM(Chain(), loss="bridge", l2=0.3, solver=CCCP(tol=1e-4, **options)).fit(X, partial).result_


def passes_until(result, value):
    """Passes until a round ends with an objective of at most ``value``."""
    return next(result.history[k].n_oracle for k in result.rounds if result.history[k].primal <= value)


def test_recycled_cuts_and_adaptive_precision_save_passes(data):
    """Ways may end in different local optima, so that passes are counted up to the worse of two."""
    both = solved(data)
    for options in ({"precision": "geometric"}, {"recycle": False}, {"precision": "fixed"}):
        assert both.primal <= 1.15 * solved(data, **options).primal
    neither = solved(data, recycle=False, precision="fixed")
    worse = 1.001 * max(both.primal, neither.primal)
    assert passes_until(both, worse) < passes_until(neither, worse)


def test_a_run_may_start_anywhere(data):
    X, _, partial = data
    first = SSVM(Chain(), loss="bridge", l2=0.3).fit(X, partial)
    again = SSVM(Chain(), loss="bridge", l2=0.3, solver=CCCP(start=first.coef_)).fit(X, partial)
    assert again.objective_ <= first.objective_ + 1e-9
    for start in ("zero", "convex", "perceptron"):
        assert (
            SSVM(Chain(), loss="bridge", l2=0.3, solver=CCCP(start=start)).fit(X, partial).score(X, partial)
            > 0.8
        )
    for wrong in ({"start": "nowhere"}, {"precision": "most"}, {"shrink": 2.0}, {"first_gap": 0.0}):
        with pytest.raises(ValueError, match="CCCP: "):
            CCCP(**wrong)


# -- around fit -----------------------------------------------------------------------------------------------------


def test_observed_weights_are_those_of_all_labels_that_are_possible():
    X, y = [[["x"], ["y"]]], [[OneOf("a", "b"), UNKNOWN]]
    model = CRF(Chain(), encoding=Encoding(states="observed"), classes=["a", "b", "c"]).fit(X, y)
    column, label = model.scorer_.coordinates()
    assert {(model.encoder_.feature_names[c], "abc"[k]) for c, k in zip(column, label)} == {
        ("x", "a"),
        ("x", "b"),
    }


def test_models_are_saved_and_loaded(data, tmp_path):
    X, _, partial = data
    model = CRF(Chain(), l2=0.3).fit(X, partial)
    model.save(tmp_path / "m.palmette")
    assert load(tmp_path / "m.palmette").predict(X) == model.predict(X)
    assert pickle.loads(pickle.dumps(OneOf("a", "b"))) == OneOf("b", "a")


def test_penalties_are_chosen_on_partial_annotation(data):
    X, _, partial = data
    assert CRFCV(Chain(), cv=3).fit(X, partial).score(X, partial) > 0.8


def test_epochs_over_batches(data):
    X, Y, partial = data
    model = Perceptron(Chain())
    for _ in range(5):
        model.partial_fit(X, partial, classes=["a", "b", "c"])
    assert model.score(X, Y) > 0.75


def test_weights_of_classes_with_unknown_labels(data):
    X, _, partial = data
    inputs, some = of(Multiclass(), X, partial)
    assert CRF(Multiclass(), class_weight="balanced").fit(inputs, some).score(inputs, some) > 0.7
    assert CRF(Multiclass(), class_weight={"a": 2.0}).fit(inputs, some).score(inputs, some) > 0.7


# -- bad input ------------------------------------------------------------------------------------------------------


def test_bad_annotation_is_refused(data):
    X, Y, partial = data
    with pytest.raises(ValueError, match=r"OneOf\(\) has no labels"):
        OneOf()
    with pytest.raises(ValueError, match="UNKNOWN is not a label"):
        OneOf("a", UNKNOWN)
    with pytest.raises(ValueError, match=r"unknown label 'z' at y\[0\]\[0\]"):
        CRF(Chain(), classes=["a", "b", "c"]).fit(X, [[OneOf("a", "z"), *Y[0][1:]], *Y[1:]])
    with pytest.raises(ValueError, match="no label at all"):
        CRF(Chain()).fit(X, [[UNKNOWN] * len(y) for y in Y])
    with pytest.raises(ValueError, match="no known part"):
        CRF(Chain(), classes=["a", "b"]).fit(X, [[UNKNOWN] * len(y) for y in Y])
    with pytest.raises(MissingCapability, match="loss='hinge' needs complete outputs: use loss='bridge'"):
        SSVM(Chain()).fit(X, partial)
    with pytest.raises(MissingCapability, match="loss='hinge' needs complete outputs: use loss='bridge'"):
        SSVM(Chain(), kernel=RBF(1.0)).fit([np.ones((len(y), 2)) for y in Y], partial)
    with pytest.raises(ValueError, match="loss='max' has the margin 1"):
        SSVM(Chain(), loss="max", task_loss="hamming").fit(X, partial)
    with pytest.raises(MissingCapability, match="rescaling='margin'"):
        SSVM(Chain(), loss="bridge", loss_options=LossOptions(rescaling="slack")).fit(X, partial)
    with pytest.raises(
        MissingCapability, match=r"soft_hinge.* is a sum over parts, got task_loss='zero_one'"
    ):
        SSVM(Chain(), loss="soft_hinge", task_loss="zero_one").fit(X, partial)
    with pytest.raises(ValueError, match="nonnegative must be"):
        LossOptions(nonnegative="never")
    with pytest.raises(MissingCapability, match="convex"):
        CRF(Chain(), solver="dual").fit(X, partial)


def test_annotation_that_no_output_agrees_with():
    X = [[["x"], ["y"]], [["x"], ["y"]]]
    with pytest.raises(ValueError, match=r"y\[1\] contradicts itself or the rules of the structure"):
        CRF(Chain(allowed="IOB2"), classes=["B", "I", "O"]).fit(X, [["B", "I"], [OneOf("O", "I"), "I"]])
    with pytest.raises(ValueError, match=r"y\[0\] contradicts itself or the rules of the structure"):
        SSVM(SemiMarkov(3), loss="bridge").fit(X, [["B-a", OneOf("I-b", "I-c")], ["B-a", UNKNOWN]])
