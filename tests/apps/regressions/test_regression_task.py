"""Files of SORR and SOSC on the command line: predictions, scores, facts and bounds; what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import palmette
from palmette import SORR, SOSC
from palmette.apps.regressions.samples import read_samples
from palmette.cli import main
from palmette.inspection import BoundsReport
from palmette.kernels import Joined, NGram

LETTERS = list("abcd")


def strings(n, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(LETTERS, rng.integers(4, 9))) for _ in range(n)]


def write(path, X, y):
    cells = ([x] if isinstance(x, str) else map(repr, map(float, x)) for x in X)
    path.write_text("".join("\t".join([str(b), *a]) + "\n" for a, b in zip(cells, y)))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regressions")
    X, new = strings(40, 0), strings(20, 1)
    write(folder / "train.tsv", X, [x[:3] for x in X])
    write(folder / "test.tsv", new, [x[:3] for x in new])
    model = SORR("hamming", kernel=NGram(2, normalize=True), l2=0.1).fit(X, [x[:3] for x in X])
    model.save(folder / "words")
    points = np.random.default_rng(2).normal(size=(30, 2))
    sides = np.where(points[:, 0] > 0.0, "right", "left")
    write(folder / "points.tsv", points, sides)
    SOSC("dirac", R=0.5).fit(points, sides).save(folder / "sides")
    SOSC("dirac", R=0.5).fit(points, (points[:, 0] > 0.0).astype(int)).save(folder / "numbers")
    tables = [np.eye(len(word)) for word in ("ab", "ba")]
    SORR("hamming", kernel=Joined("linear")).fit(tables, ["ab", "ba"]).save(folder / "tables")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def run(*words):
        code = main(list(words))
        return code, *capsys.readouterr()

    return run


def test_bounds_are_those_of_python(run):
    code, out, _ = run("bounds", "words", "train.tsv", "--test", "test.tsv", "--json")
    model, train, test = palmette.load("words"), read_samples("train.tsv"), read_samples("test.tsv")
    own = BoundsReport.from_estimator(model, *train, *test)
    assert code == 0 and json.loads(out)["bounds"] == json.loads(json.dumps(own.to_dict()["bounds"]))
    told = {"n_tried": 3, "l2": 2.0, "tau": 2.0, "eps": 0.1, "log_annotations": 1.0, "output_dimension": 9}
    words = [word for name, value in told.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    code, out, _ = run(
        "bounds", "words", "train.tsv", "--test", "test.tsv", *words, "--variances", "0.1, 1", "--json"
    )
    own = BoundsReport.from_estimator(model, *train, *test, **told, variances=[0.1, 1.0])
    assert code == 0 and json.loads(out)["bounds"] == json.loads(json.dumps(own.to_dict()["bounds"]))
    code, out, _ = run("bounds", "sides", "points.tsv")
    assert code == 0 and "sample compression (regression, Theorem 5)" in out and "do not apply" not in out


def test_predictions_scores_and_facts(run):
    model, (X, y) = palmette.load("words"), read_samples("test.tsv")
    code, out, _ = run("predict", "--model", "words", "test.tsv")
    assert code == 0 and out.splitlines() == model.predict(X)
    code, out, _ = run("evaluate", "--model", "words", "test.tsv", "--json")
    record = json.loads(out)
    assert record["right"] == np.mean([a == b for a, b in zip(y, model.predict(X))])
    assert record["loss"] == pytest.approx(1.0 - model.score(X, y)) and record["exact"] == 1.0
    assert "20 samples" in run("evaluate", "--model", "words", "test.tsv")[1]
    code, out, _ = run("inspect", "sides")
    assert code == 0 and "OUTPUT, a tab, 2 numbers" in out and "30 inputs" in out
    assert json.loads(run("inspect", "sides", "--json")[1])["support"] == 30


@pytest.mark.parametrize(
    "words, message",
    [
        (["bounds", "words", "test.tsv"], "y has 20 outputs, but the model learnt from 40 samples"),
        (["bounds", "sides", "train.tsv"], "train.tsv:1: 1 numbers behind the output, and the model learnt from 2"),
        (["bounds", "numbers", "points.tsv"], "files hold outputs as texts, and the model predicts"),
        (["bounds", "words", "points.tsv"], "points.tsv:1: 2 columns behind the output, and this model compares texts"),
        (["bounds", "sides", "points.tsv", "--n-tried", "0"], "n_tried must be a finite number >= 1, got 0"),
        (["bounds", "sides", "points.tsv", "--variances", "a"], "--variances must be numbers with commas between"),
        (["predict", "--model", "tables", "test.tsv"], r"X[0] must be"),
        (["evaluate", "test.tsv", "--task", "regression"], "hold no predictions; give the --model"),
        (["train", "train.tsv", "--task", "regression", "--model", "x"], "models that were fitted in Python"),
        (["predict", "--model", "words", "test.tsv", "--task", "ranking"], "a model of --task regression, not of"),
        (["predict", "--model", "words", "empty.tsv"], "there is no sample; a line is OUTPUT, a tab"),
        (["predict", "--model", "words", "plain.tsv"], "plain.tsv:2: 'abc' has no tab"),
        (["predict", "--model", "sides", "words.tsv"], "words.tsv:1: column 3 is 'x', no number"),
        (["predict", "--model", "sides", "far.tsv"], "far.tsv:1: column 2 is 'inf'; write a finite number"),
    ],
)  # fmt: skip
def test_what_is_refused(run, folder, words, message):
    for name, text in (
        ("empty", "\n"), ("plain", "a\tb\nabc\n"), ("words", "a\t1\tx\n"), ("far", "a\tinf\t1\n"),
    ):  # fmt: skip
        (folder / f"{name}.tsv").write_text(text)
    code, _, error = run(*words)
    assert code == 2 and message in error


def test_bounds_are_about_the_data_of_the_training():
    X, y = strings(12, 3), list("ppqq" * 3)
    model = SORR("dirac", kernel=NGram(2)).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[1\] is 'q', and was another output in training: X and y are"):
        BoundsReport.from_estimator(model, X, list("pqpq" * 3), X, y)
    with pytest.raises(ValueError, match="the outputs are not those of the training: X and y are"):
        BoundsReport.from_estimator(model, X, list("ppqr" * 3))


def test_the_empty_text_is_a_sample(run, folder):
    """Every line but blank ones has its prediction, so that the lines of both files belong together."""
    X = strings(20, 3)
    model = SORR("dirac", kernel=NGram(2, short="zero"), l2=0.1).fit(X, [x[0] for x in X])
    model.save(folder / "first")
    (folder / "empty.tsv").write_text("a\tabcab\n\t\n \n\tdcba\n\n")
    code, out, _ = run("predict", "--model", "first", "empty.tsv")
    assert code == 0 and out.splitlines() == model.predict(["abcab", "", "dcba"])
