"""Numbers of models that bounds ask for, and the report of all bounds, on every structure."""

from __future__ import annotations

import json

import numpy as np
import pytest

from palmette import (
    CRF,
    SSVM,
    Alignment,
    Chain,
    Clique,
    Decomposition,
    Folding,
    Graph,
    GraphInput,
    Hierarchy,
    LossOptions,
    Multiclass,
    Perceptron,
    Ranking,
    SemiMarkov,
)
from palmette.bounds import lipschitz_stability
from palmette.cli import main
from palmette.data.annotation import UNKNOWN
from palmette.datasets import make_chains, make_tagging
from palmette.inspection import Bound, BoundsReport
from palmette.inspection.model_sizes import ModelSizes
from palmette.inspection.weight_bounds import BOUNDS
from palmette.kernels import RBF, Nystroem, Polynomial
from palmette.plot import BoundsReportDisplay
from palmette.structures import Agreement

rng = np.random.default_rng(0)
X, Y = make_chains(24, n_classes=3, n_features=4, random_state=0)
ROWS, LABELS = np.concatenate(X), np.concatenate(Y)
NAMES, TAGS = make_tagging(20, random_state=0)
GRAPHS = [
    GraphInput(
        rng.normal(size=(4, 2)), [(0, 1), (1, 2), (2, 3)], edge_features=rng.normal(size=(3, 2)),
        factors=[Clique([0, 1, 2]), Agreement([0, 2, 3], type="all")],
    )
    for _ in range(10)
]  # fmt: skip
GRAPH_LABELS = [["a", "b", "a", "b"], ["b", "a", "c", "a"]] * 5
SEGMENTS = [[(0, 2, "P"), (2, 3, "Q")], [(0, 1, "Q"), (1, 3, "P")]] * 5
SEGMENT_ROWS = [rng.normal(size=(3, 2)) for _ in range(10)]
QUERIES, GRADES = [rng.normal(size=(4, 3)) for _ in range(8)], [[0, 1, 2, 0], [1, 0, 0, 2]] * 4
RNA, FOLDS = ["GGGAAAACCCA", "GCGCAAAAGCGC"] * 3, ["(((....))).", "((((....))))"] * 3
PAIRS, MATCHES = (
    [("ACDE", "ADE"), ("AAKL", "AKL")] * 3,
    [[(0, 0), (2, 1), (3, 2)], [(0, 0), (2, 1), (3, 2)]] * 3,
)

CASES = {
    "chain": (Chain(), X, Y),
    "chain2": (Chain(order=2), X, Y),
    "named": (Chain(), NAMES, TAGS),
    "multiclass": (Multiclass(), ROWS, LABELS),
    "graph": (Graph(), GRAPHS, GRAPH_LABELS),
    "segments": (SemiMarkov(max_length=3), SEGMENT_ROWS, SEGMENTS),
    "ranking": (Ranking(), QUERIES, GRADES),
    "folding": (Folding(), RNA, FOLDS),
    "alignment": (Alignment(), PAIRS, MATCHES),
}


def random_codes(structure, theta, seed):
    """Outputs that are best at random scores of the same shape."""
    draw = np.random.default_rng(seed)
    from dataclasses import fields, replace

    def noisy(value):
        if isinstance(value, tuple):
            return tuple(map(noisy, value))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return value + np.where(np.isfinite(value), draw.normal(scale=3.0, size=value.shape), 0.0)
        return value

    theta = replace(theta, **{own.name: noisy(getattr(theta, own.name)) for own in fields(theta)})
    return structure.best(theta).codes


@pytest.mark.parametrize("case", CASES)
def test_norms_of_parts_bound_the_features_of_every_output(case):
    structure, inputs, outputs = CASES[case]
    model = SSVM(structure, l2=1.0, tol=0.1).fit(inputs, outputs)
    sizes = ModelSizes(model, inputs, outputs)
    structure, scorer, batch = sizes.structure, model.scorer_, sizes.samples.batch
    theta, norms = scorer.score(model.coef_, batch), scorer.part_norms(batch)
    true = sizes.samples.codes
    offsets = structure.output_offsets(batch)
    tight = 0.0
    for seed in range(4):
        codes = true if seed == 0 else random_codes(structure, theta, seed)
        most = structure.score(norms, codes)
        for s in range(len(batch)):
            own, difference = np.zeros(scorer.n_params), np.zeros(scorer.n_params)
            part, alone = batch.slice(s, s + 1), theta.take(np.array([s]))
            places = slice(offsets[s], offsets[s + 1])
            scorer.pull_back(structure.count(alone, codes[places]), part, own)
            scorer.pull_back(structure.count(alone, true[places]), part, difference)
            assert np.linalg.norm(own) <= most[s] + 1e-9 and most[s] <= sizes.norms.whole + 1e-9
            assert np.linalg.norm(own - difference) <= sizes.norms.difference + 1e-9
            tight = max(tight, np.linalg.norm(own) / most[s])
    assert tight > 0.2 and 0.0 < sizes.norms.part <= sizes.norms.whole


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
@pytest.mark.parametrize("case", CASES)
def test_every_learner_on_every_structure(case, learner):
    structure, inputs, outputs = CASES[case]
    if case in ("ranking", "alignment") and learner is CRF:
        pytest.skip("no sums over outputs, or another objective")
    half = len(inputs) // 2
    model = (learner(structure) if learner is Perceptron else learner(structure, l2=1.0)).fit(inputs, outputs)
    report = BoundsReport.from_estimator(
        model, inputs[:half], outputs[:half], inputs[half:], outputs[half:], rho=1.0, printed=True
    )
    assert len(report) == len(BOUNDS) + 1
    for own in report:
        assert isinstance(own, Bound) and own.name
        assert own.applies or (np.isnan(own.value) and len(own.why_not) > 20)
        assert own.verdict != "FAILS"
    for name in ("convex", "ramp"):
        assert report[name].value >= report[name].held_out - 1e-9
    assert report["convex"].value >= report["ramp"].value - 1e-9
    of_labels = case in ("chain", "chain2", "named", "multiclass", "graph")
    assert report["Theorem 6.1"].applies == of_labels
    assert not of_labels or report["before 6.1"].value <= report["Theorem 6.1"].value + 1e-9
    assert report["Theorem 13"].applies == (learner is not Perceptron)
    text = str(report)
    assert "do not apply" in text and max(map(len, text.splitlines())) < 240
    json.dumps(report.to_dict(), default=float)


def test_numbers_of_a_chain():
    model = SSVM(Chain(), l2=1.0).fit(X, Y)
    sizes = ModelSizes(model, X, Y)
    lengths = np.array(list(map(len, Y)))
    assert sizes.m == len(X) and sizes.n_labels == 3
    assert sizes.log_outputs == pytest.approx(lengths.max() * np.log(3.0))
    assert sizes.parts_at == (3, 2)  # its own features, and an edge on each side
    assert ModelSizes(SSVM(Chain(order=2)).fit(X, Y), X, Y).parts_at == (6, 3)
    assert ModelSizes(SSVM(Multiclass()).fit(ROWS, LABELS), ROWS, LABELS).parts_at == (1, 1)
    assert ModelSizes(SSVM(Graph()).fit(GRAPHS, GRAPH_LABELS), GRAPHS, GRAPH_LABELS).parts_at == (5, 3)
    largest = max(np.linalg.norm(np.append(row, 1.0)) for row in ROWS)  # with the intercept
    assert sizes.norms.part == pytest.approx(largest)
    assert sizes.norm == pytest.approx(np.linalg.norm(model.coef_))
    assert sizes.l2 == 1.0 and SSVM(Chain(), l2=1.0, l2_edge=0.5).fit(X, Y).l2_ == 1.0
    assert ModelSizes(SSVM(Chain(), l2=1.0, l2_edge=0.5).fit(X, Y), X, Y).l2 == 0.5
    report = BoundsReport.from_estimator(model, X, Y)
    given = report["Theorem 6.1"].given
    assert given["r_edge"] == pytest.approx(np.sqrt(2.0) * largest) and given["l"] == lengths.max()
    assert (given["q"], given["k"], given["m"]) == (3, 3, len(X))
    assert given["norm"] == 2.0 ** np.ceil(np.log2(sizes.norm)) and given["delta"] < 0.05 / 4


def test_norms_of_kernels_are_those_of_their_feature_space():
    """A linear kernel is the same model as without one; of others the diagonal says how long features are."""
    plain = SSVM(Chain(), l2=1.0, fit_intercept=False).fit(X, Y)
    dual = SSVM(Chain(), l2=1.0, kernel="linear").fit(X, Y)
    a, b = ModelSizes(plain, X, Y), ModelSizes(dual, X, Y)
    # The objective is strongly convex: a gap of g leaves the weights within sqrt(2 g / l2) of the optimum.
    apart = sum(np.sqrt(2.0 * model.result_.gap) for model in (plain, dual))
    assert abs(a.norm - b.norm) <= apart
    assert a.norms.whole == pytest.approx(b.norms.whole) and a.norms.part == pytest.approx(b.norms.part)
    rbf = ModelSizes(SSVM(Chain(), l2=1.0, kernel=RBF(1.0)).fit(X, Y), X, Y)
    assert rbf.norms.part == pytest.approx(1.0)
    smooth = ModelSizes(CRF(Multiclass(), l2=1.0, kernel=Polynomial(2)).fit(ROWS, LABELS), ROWS, LABELS)
    map_ = CRF(Multiclass(), l2=1.0, kernel=Nystroem(Polynomial(2), len(ROWS))).fit(ROWS, LABELS)
    mapped = ModelSizes(map_, ROWS, LABELS)
    assert smooth.norm > 0.0 and smooth.norms.part <= mapped.norms.part * (1 + 1e-6)  # which has an intercept
    for sizes in (a, b):
        report = BoundsReport.from_estimator(sizes.model, X, Y)
        assert report["Theorem 6.1"].applies and report["Theorem 13"].applies


@pytest.mark.parametrize("learner", [CRF, SSVM])
def test_no_sample_changes_a_loss_by_more_than_the_stability(learner):
    few, labels = X[:10], Y[:10]
    model = learner(Chain(), l2=5.0, tol=1e-8).fit(few, labels)
    given = BoundsReport.from_estimator(model, few, labels)["Theorem 13"].given
    assert given["change"] >= lipschitz_stability(given["lipschitz"], m=10, lam=given["lam"])
    before = ModelSizes(model, X, Y).losses(model._surrogate(tuple(model.classes_)))
    for gone in range(3):
        keep = [i for i in range(10) if i != gone]
        less = learner(Chain(), l2=5.0, tol=1e-8, classes=list(model.classes_)).fit(
            [few[i] for i in keep], [labels[i] for i in keep]
        )
        after = ModelSizes(less, X, Y).losses(less._surrogate(tuple(less.classes_)))
        changed = np.abs(after - before).max()
        assert 0.0 < changed <= given["change"]
    assert before.max() <= given["gamma"]


def test_bounds_say_something_where_data_is_plenty():
    """Two classes, one feature of size 1, a strong penalty: the loss of the model is known to a tenth."""
    draw = np.random.default_rng(0)
    rows = draw.choice([-1.0, 1.0], size=(40_000, 1))
    labels = np.where(draw.uniform(size=40_000) < 0.9, rows[:, 0], -rows[:, 0]).astype(int)
    model = CRF(Multiclass(), l2=20_000.0, fit_intercept=False, tol=1e-9).fit(rows[:20_000], labels[:20_000])
    report = BoundsReport.from_estimator(
        model, rows[:20_000], labels[:20_000], rows[20_000:], labels[20_000:], delta=0.1
    )
    found = report["Theorem 13"]
    assert not found.vacuous and found.verdict == "holds" and found.value < found.training + 0.35
    hinge = SSVM(Multiclass(), l2=20_000.0, fit_intercept=False).fit(rows[:20_000], labels[:20_000])
    report = BoundsReport.from_estimator(
        hinge, rows[:20_000], labels[:20_000], rows[20_000:], labels[20_000:]
    )
    assert report["Theorem 1.1"].verdict == "holds"
    assert report["sharper"].value < report["Theorem 1.1"].value
    assert report["Theorem 13"].verdict == "holds"


def test_partial_annotation():
    partly = [[label if t % 3 else UNKNOWN for t, label in enumerate(y)] for y in Y]
    model = SSVM(Chain(), loss="bridge", l2=1.0, tol=1e-2).fit(X, partly)
    report = BoundsReport.from_estimator(model, X, partly, X, Y, printed=True)
    own = report["Theorem 1.1"]
    assert own.applies and own.vacuous and own.training < own.held_out + 1e-9
    assert report["AS PRINTED"].note.startswith("not proven")
    assert "annotated in part" in report["ramp"].why_not
    assert "not convex" in report["Theorem 13"].why_not
    given = BoundsReport.from_estimator(model, X, partly, log_annotations=2.0)["Theorem 1.1"].given
    assert given["log_annotations"] == 2.0


@pytest.mark.parametrize(
    ("model", "name", "reason"),
    [
        (Perceptron(Chain()), "Theorem 13", "Perceptron has no L2 penalty"),
        (SSVM(Chain(), loss="ramp", l2=1.0), "Theorem 13", "is not convex"),
        (SSVM(Chain(), l2=1.0, l2_bias=0.0), "Theorem 13", "some weights have no L2 penalty"),
        (
            CRF(Chain(), l2=1.0, regularizer=Decomposition(size=2), tol=1e-2),
            "Theorem 13",
            "trained on pieces",
        ),
        (SSVM(Chain(), loss_options=LossOptions(rescaling="slack"), l2=1.0), "Theorem 1.1", "rescaled"),
        (CRF(Chain(), l2=1.0), "Theorem 1.1", "hinge"),
        (CRF(Chain(), l2=1.0), "Theorems 4 and 14", "it asks for rho"),
        (SSVM(Chain(), l2=1.0), "Proposition 5", "a loss with a slope"),
        (SSVM(Chain(), l2=1.0, kernel=RBF(), kernel_options=None), "Theorems 4 and 14", "it asks for rho"),
    ],
)
def test_what_does_not_apply_says_why(model, name, reason):
    own = BoundsReport.from_estimator(model.fit(X, Y), X, Y)[name]
    assert not own.applies and reason in own.why_not and own.verdict == "does not apply"


def test_class_weights_are_no_equal_samples():
    model = SSVM(Multiclass(), class_weight="balanced").fit(ROWS, LABELS)
    assert "class_weight" in BoundsReport.from_estimator(model, ROWS, LABELS)["Theorem 13"].why_not


@pytest.mark.filterwarnings("ignore:stochastic stopped")
def test_pieces_have_theorem_14():
    model = CRF(Chain(), l2=1.0, regularizer=Decomposition(size=2), tol=1e-2).fit(X, Y)
    whole = CRF(Chain(), l2=1.0).fit(X, Y)
    cut, uncut = (
        BoundsReport.from_estimator(own, X, Y, rho=1.0)["Theorems 4 and 14"] for own in (model, whole)
    )
    assert cut.given["size"] == 2 and uncut.given["size"] == max(map(len, Y)) == uncut.given["n"]
    assert cut.value < uncut.value


def test_settings_are_used():
    model = SSVM(Chain(), l2=1.0).fit(X, Y)
    report = BoundsReport.from_estimator(model, X, Y, norm=100.0, gamma=3.0, feature_norm=50.0, delta=0.2)
    given = report["Theorem 6.1"].given
    assert (given["norm"], given["gamma"], given["delta"]) == (100.0, 3.0, 0.2)
    assert (
        report["Theorem 1.1"].given["feature_norm"] == 50.0
        and report["Theorem 13"].given["lipschitz"] == 100.0
    )
    assert BoundsReport.from_estimator(model, X, Y, l2=0.5)["Theorem 13"].given["lam"] == 0.5 / len(X)
    steps = [
        BoundsReport.from_estimator(CRF(Chain(), l2=1.0).fit(X, Y), X, Y, eps=e)["Proposition 5"]
        for e in (0.1, 0.01)
    ]
    assert steps[0].value < steps[1].value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 1.0}, "delta must be a probability"),
        ({"norm": 1e-3}, "norm=0.001 is no bound: the weights have norm"),
        ({"gamma": -1.0}, "gamma must be a finite number > 0"),
        ({"X_test": X}, "X_test and y_test go together"),
        ({"feature_norm": 0.0}, "feature_norm must be a finite number > 0, got 0.0"),
        ({"l2": -1.0}, "l2 must be"),
        ({"rho": 0.0}, "rho must be"),
        ({"variances": [0.1, 0.0]}, "variances must be"),
        ({"n_tried": 0}, "n_tried must be"),
    ],
)
def test_refusals(options, message):
    model = SSVM(Chain(), l2=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        BoundsReport.from_estimator(model, X, Y, **options)
    with pytest.raises(KeyError, match="no bound has 'Theorem 99'"):
        BoundsReport.from_estimator(model, X, Y)["Theorem 99"]
    with pytest.raises(TypeError, match="LogisticRegression has no bounds"):
        from sklearn.linear_model import LogisticRegression

        BoundsReport.from_estimator(LogisticRegression(), X, Y)


def test_plot():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    model = SSVM(Chain(), l2=1.0).fit(X, Y)
    display = BoundsReportDisplay.from_estimator(model, X, Y, X, Y, ax=ax)
    assert [own.name for own in display.shown_] == [t.get_text() for t in ax.get_yticklabels()]
    assert ax.get_xscale() == "log" and display.figure_ is ax.figure
    pale = [bar.get_facecolor()[:3] == (0.8, 0.8, 0.8) for bar in display.bars_]
    assert pale == [own.vacuous for own in display.shown_] and any(pale) and not all(pale)
    assert sum(text.get_text() == "vacuous" for text in ax.texts) == sum(pale)
    held = [own.held_out for own in display.shown_]
    assert display.marks_.get_xdata().tolist() == held
    again = BoundsReport.from_estimator(model, X, Y).plot(Figure().subplots())
    assert again.marks_ is None  # nothing is held out


def test_command_line(tmp_path, capsys):
    path, file = tmp_path / "m.palmette", tmp_path / "data.txt"
    lines = ["the D\ncat N\n", "a D\ndog N\nruns V\n", "cats N\nrun V\n"] * 4
    file.write_text("\n".join(lines))
    assert main(["train", str(file), "--model", str(path), "--json"]) == 0
    capsys.readouterr()
    assert main(["bounds", str(path), str(file)]) == 0
    assert "max-margin (M3N, Theorem 6.1)" in capsys.readouterr().out
    assert main(["bounds", str(path), str(file), "--test", str(file), "--json", "--delta", "0.1"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["delta"] == 0.1 and len(record["bounds"]) == len(BOUNDS)
    ramp = next(own for own in record["bounds"] if "ramp" in own["name"])
    assert ramp["value"] >= ramp["held_out"]
    assert main(["bounds", str(path), str(file), "--delta", "2"]) == 2
    assert "delta must be a probability between 0 and 1, got 2.0" in capsys.readouterr().err
    assert main(["bounds", str(path), str(tmp_path / "none.txt")]) == 2


def test_command_line_of_other_tasks(tmp_path, capsys):
    file, path = tmp_path / "rna.fa", str(tmp_path / "m.palmette")
    file.write_text("".join(f">{k}\n{a}\n{b}\n" for k, (a, b) in enumerate(zip(RNA, FOLDS))))
    letor = tmp_path / "letor.txt"
    letor.write_text(
        "".join(f"{g} qid:{q} 1:{x[0]} 2:{x[1]}\n" for q in range(8) for g, x in zip(GRADES[q], QUERIES[q]))
    )
    for task, data in (("folding", file), ("ranking", letor)):
        assert main(["train", str(data), "--task", task, "--model", path, "--max-iter", "3"]) == 0
        capsys.readouterr()
        assert main(["bounds", path, str(data), "--json"]) == 0
        assert any(own["name"].startswith("ramp") for own in json.loads(capsys.readouterr().out)["bounds"])


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_trees_that_are_read_off_the_paths(learner):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), [("a", "x"), ("a", "y"), ("b", "z"), ("b", "w")] * 5
    model = learner(Hierarchy()).fit(X, y)
    report = BoundsReport.from_estimator(model, X, y, X, y)
    convex, ramp = (report[f"{name} bound"] for name in ("convex", "ramp"))
    assert convex.value >= ramp.value >= ramp.held_out > 0.0
