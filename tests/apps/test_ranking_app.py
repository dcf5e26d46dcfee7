"""Rankers of LETOR files in Python and from the command line, the pairwise SVM, choices on validation queries."""

from __future__ import annotations

import io
import itertools
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from experiments.benchmarks import ramp_ranking as benchmark
from palmette.apps.ranking import PairwiseSVM, Ranker, evaluate_scores, make_ranker, select
from palmette.apps.ranking.learners import _SOLVERS, ALGORITHMS
from palmette.apps.ranking.pairwise_svm import pairs
from palmette.apps.ranking.ranker import scaled
from palmette.cli import main
from palmette.data import read_letor, write_letor
from palmette.errors import DataFileError, ModelFileError
from palmette.metrics import mean_average_precision, ndcg
from palmette.solvers.registry import HOME

DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def simulated(n, rng, scale=1.0):
    """Queries whose grades follow a linear score with noise, features on scales of their own in every query."""
    w = np.array([1.0, -1.0, 0.5, 0.0])
    X, y = [], []
    for _ in range(n):
        table = rng.normal(size=(rng.integers(5, 12), 4))
        signal = table @ w + rng.normal(0.0, 0.5, len(table))
        X.append(scale * table * rng.uniform(1, 2))
        y.append(np.digitize(signal, [0.5, 1.5]))
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("ranking")
    for name, n, first in (("train", 30, 1), ("dev", 8, 50), ("test", 12, 100)):
        X, y = simulated(n, rng)
        comments = [[f"docid = {name}{i}-{d}" for d in range(len(grades))] for i, grades in enumerate(y)]
        write_letor(folder / f"{name}.txt", X, y, ids=range(first, first + n), comments=comments)
    assert main(["train", f"{folder}/train.txt", "--task", "ranking", "--model", f"{folder}/model"]) == 0
    return folder


def assert_documented(command, record):
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", DOCUMENTATION, re.MULTILINE | re.DOTALL)[1]
    assert not [key for key in record if f"`{key}`" not in section]


# ------------------------------------------------------------------------------------------------ in Python


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rankers_learn_and_come_back_from_their_file(folder, tmp_path, algorithm):
    train, test = (read_letor(folder / f"{name}.txt") for name in ("train", "test"))
    ranker = Ranker.train(train, algorithm=algorithm, reading={"missing": "minimum"})
    scores = ranker.scores(test)
    assert ranker.evaluate(test).ndcg[:, -1].mean() > ndcg(test.y, [0.0 * y for y in test.y], 10) + 0.2
    ranker.save(tmp_path / "m")
    again = Ranker.load(tmp_path / "m")
    assert again.reading == {"missing": "minimum"} and again.n_features == 4
    for a, b in zip(scores, again.scores(test), strict=True):
        np.testing.assert_array_equal(a, b)


def test_scaling_within_queries_forgets_their_units():
    X, _ = simulated(5, np.random.default_rng(1))
    for table, factor in itertools.product(X, (0.01, 100.0)):
        np.testing.assert_allclose(scaled([factor * table - 3], "query")[0], scaled([table], "query")[0])
    assert scaled(X, "none")[0] is X[0]
    np.testing.assert_array_equal(scaled(scaled(X, "query"), "query")[0], scaled(X, "query")[0])
    with pytest.raises(ValueError, match=r"X\[0\] is sparse: .*--scale none"):
        scaled([sparse.csr_array(X[0])], "query")


def test_features_that_a_file_lacks_are_0_and_others_are_refused(folder):
    ranker = Ranker.load(folder / "model")
    narrow = read_letor("-", stream=io.StringIO("1 qid:1 1:1\n0 qid:1 2:1\n"))
    assert ranker.scores(narrow)[0].shape == (2,)
    wide = read_letor("-", stream=io.StringIO("1 qid:1 9:1\n"))
    with pytest.raises(DataFileError, match="<stdin>:1: the file has 9 features, the training data had 4"):
        ranker.scores(wide)


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 qid:1\n0 qid:1\n", "train:1: the documents have no features"),
        ("1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:1\n", "train:1: no query has documents of different grades"),
    ],
)
def test_data_that_teaches_nothing_is_refused(tmp_path, text, message):
    (tmp_path / "train").write_text(text)
    with pytest.raises(DataFileError, match=message):
        Ranker.train(read_letor(tmp_path / "train"))


@pytest.mark.parametrize(
    "algorithm, options, message",
    [
        ("crf", {}, "algorithm='crf' does not rank; choose one of plackett-luce, ramp, ssvm"),
        ("ramp", {"l1": 1.0}, "l1=1.0: ramp has no option l1; it has radius, top, l2"),
        (
            "plackett-luce",
            {"radius": 2.0},
            r"plackett-luce has no option radius.*\(algorithm ramp has radius\)",
        ),
        ("ramp", {"radius": 0.0}, "radius must be a finite number > 0, got 0.0"),
        ("ramp", {"l2": -1.0}, "l2 must be a finite number >= 0, got -1.0"),
        ("ramp", {"top": 0}, "top must be at least 1, got 0"),
        ("ramp", {"n_jobs": 0}, "n_jobs must be a non-zero integer or None, got 0"),
        ("ssvm", {"max_iter": 1.5}, "max_iter must be at least 1, got 1.5"),
        ("ssvm", {"solver": "cccp"}, "solver='cccp' does not support ssvm; choose one of bundle"),
        ("ramp", {"radius": 2.0, "l2": 1.0}, "radius=2 and l2=1.0 exclude each other"),
        ("ramp", {"radius": 2.0, "solver": "cccp"}, "radius=2 and solver=cccp exclude each other"),
    ],
)
def test_bad_options_are_named(algorithm, options, message):
    with pytest.raises(ValueError, match=message):
        make_ranker(algorithm, **options)


@pytest.mark.parametrize("algorithm, solver", [(a, s) for a, solvers in _SOLVERS.items() for s in solvers])
def test_every_solver_offered_serves(algorithm, solver):
    X, y = simulated(6, np.random.default_rng(0))
    assert solver in HOME
    model = make_ranker(algorithm, solver=solver, l2=1.0, tol=0.1, n_jobs=1).fit(X, y)
    assert np.isfinite(model.objective_)


def test_ramp_options_choose_descent_on_a_sphere_or_a_penalty():
    X, y = simulated(10, np.random.default_rng(0))
    sphere = make_ranker("ramp", radius=3.0).fit(X, y)
    assert np.linalg.norm(sphere.coef_) == pytest.approx(3.0) and sphere.result_.converged
    assert np.isnan(sphere.result_.gap)
    penalty = make_ranker("ramp", l2=1.0, top=5)
    assert penalty.solver == "auto" and penalty.task_loss.k == 5


def test_evaluation_is_that_of_the_metrics(rng):
    _, y = simulated(6, rng)
    scores = [rng.integers(0, 3, len(grades)).astype(float) for grades in y]
    found = evaluate_scores(y, scores)
    np.testing.assert_array_equal(found.ndcg[:, 4], ndcg(y, scores, 5, per_query=True))
    record = found.to_dict()
    assert record["map"] == mean_average_precision(y, scores) and record["queries"] == 6
    assert f"{record['ndcg']['10']:.4f}" in found.format() and "NDCG@10" in found.headline()


def test_pairwise_svm_minimises_its_objective(rng):
    X, y = simulated(8, rng)
    D, weights = pairs(X, y, by_query=True)
    assert weights.sum() == pytest.approx(sum(g.min() < g.max() for g in y))
    model = PairwiseSVM(C=2.0).fit(X, y)

    def objective(w):
        return 2.0 * weights @ np.maximum(0, 1 - D @ w) ** 2 + w @ w / 2

    best = objective(model.coef_)
    for _ in range(50):
        assert objective(model.coef_ + rng.normal(0, 0.1, 4)) >= best - 1e-4 * best
    assert len(PairwiseSVM(by_query=False, loss="hinge", C=0.01).fit(X, y).row_scores(X)) == 8
    with pytest.raises(ValueError, match="fewer than two pairs"):
        PairwiseSVM().fit([np.ones((2, 1))], [[1, 1]])


def test_selection_takes_the_best_on_validation_queries_and_the_first_of_equals(rng):
    train, validation = simulated(5, rng), simulated(5, rng)

    class Fixed:
        def __init__(self, setting):
            self.setting = setting

        def fit(self, X, y):
            self.seen = len(X)
            return self

        def row_scores(self, X):
            truth = dict(zip(map(id, validation[0]), validation[1]))
            return [np.sign(self.setting) * truth[id(table)] for table in X]

    found = select(Fixed, [-1, 1, 2], train, validation)
    assert found.setting == 1 and found.model.seen == 5 and set(found.scores) == {-1, 1, 2}
    assert found.scores[1] == ndcg(validation[1], validation[1], 10) and found.all_seconds >= found.seconds


# ------------------------------------------------------------------------------------------ the command line


def test_train_reports_and_writes(run, folder):
    code, out, err = run(
        "train", "train.txt", "--task", "ranking", "-m", "again", "--dev", "dev.txt", "--algorithm", "ramp",
        "--radius", 2, "--json",
    )  # fmt: skip
    assert code == 0, err
    record = json.loads(out)
    assert record["task"] == "ranking" and record["algorithm"] == "ramp" and record["queries"] == 30
    assert record["gap"] is None and record["dev"]["ndcg"]["10"] > 0.7
    assert_documented("train", record)
    code, out, _ = run("train", "train.txt", "--task", "ranking", "-m", "again", "--dev", "dev.txt", "--json")
    usual = json.loads(out)
    assert code == 0 and usual["algorithm"] == "plackett-luce" and usual["converged"]
    assert usual["dev"]["ndcg"]["10"] > 0.7
    assert_documented("evaluate", record["dev"])
    code, out, err = run(
        "train", "train.txt", "dev.txt", "--task", "ranking", "-m", "again", "--algorithm", "ssvm"
    )
    assert code == 0 and "38 queries" in out and "above the optimum" in out and "ssvm, 4 weights" in out


def test_a_collapsed_model_is_not_passed_over_in_silence(run):
    code, out, err = run(
        "train", "train.txt", "--task", "ranking", "-m", "zero", "--algorithm", "plackett-luce", "--l1", 1e6
    )
    assert code == 0 and err.count("weights are 0") == 1
    assert "all weights are 0, so that the model has no order; try a smaller --l1 or --l2" in err
    code, out, _ = run("evaluate", "test.txt", "--model", "zero", "--json")
    queries = read_letor("test.txt")
    assert json.loads(out)["ndcg"]["10"] == pytest.approx(ndcg(queries.y, [0.0 * y for y in queries.y], 10))


def test_evaluate_prints_the_measures(run, folder):
    code, out, _ = run("evaluate", "test.txt", "--model", "model")
    assert code == 0 and re.search(r"^NDCG +0\.\d{4}", out, re.MULTILINE) and "12 queries" in out
    code, out, _ = run("evaluate", "test.txt", "--model", "model", "--json")
    record = json.loads(out)
    expected = Ranker.load(folder / "model").evaluate(read_letor(folder / "test.txt"))
    assert record["map"] == expected.to_dict()["map"] and len(record["ndcg"]) == 10
    assert_documented("evaluate", record)


def test_predict_writes_scores_by_line_or_orders_by_query(run, folder):
    expected = np.concatenate(Ranker.load(folder / "model").scores(read_letor(folder / "test.txt")))
    code, out, _ = run("predict", "--model", "model", "test.txt")
    assert code == 0 and [float(line) for line in out.split()] == expected.tolist()
    text = (folder / "test.txt").read_text()
    assert run("predict", "--model", "model", stdin=text)[1] == out
    code, out, _ = run("predict", "--model", "model", "test.txt", "--orders")
    rows = [line.split("\t") for line in out.splitlines()]
    assert len(rows) == len(expected) and rows[0][:2] == ["100", "1"]
    for query, own in itertools.groupby(rows, key=lambda row: row[0]):
        own = list(own)
        assert [int(row[1]) for row in own] == list(range(1, len(own) + 1))
        assert sorted((float(row[3]) for row in own), reverse=True) == [float(row[3]) for row in own]
        for _, _, line, score, comment in own:
            assert float(score) == expected[int(line) - 1] and text.splitlines()[int(line) - 1].endswith(
                comment
            )
            assert f"qid:{query} " in text.splitlines()[int(line) - 1]


def test_a_model_reads_files_as_it_was_trained(run, folder):
    lines = (folder / "train.txt").read_text().splitlines()
    torn = [*lines[1:], re.sub(r" 2:\S+", " 2:NULL", lines[0])]
    Path("torn.txt").write_text("\n".join(torn) + "\n")
    code, _, err = run("train", "torn.txt", "--task", "ranking", "-m", "torn")
    assert code == 2 and "query 1 comes again" in err and "--split-queries merge" in err
    code, _, err = run("train", "torn.txt", "--task", "ranking", "-m", "torn", "--split-queries", "merge")
    assert code == 2 and "feature 2 is NULL" in err and "--missing minimum" in err
    options = ["--split-queries", "merge", "--missing", "0.5"]
    code, _, err = run("train", "torn.txt", "--task", "ranking", "-m", "torn", *options)
    assert code == 0, err
    code, out, err = run("predict", "--model", "torn", "torn.txt")
    assert code == 0 and len(out.split()) == len(torn)
    queries = read_letor("torn.txt", split="merge", missing=0.5)
    first = Ranker.load("torn").scores(queries)[0]
    assert float(out.split()[-1]) == first[-1], "the line that stands apart has its own score"


def test_inspect_shows_a_ranker(run):
    code, out, _ = run("inspect", "model")
    assert code == 0 and "PlackettLuce(l2=10.0)" in out and "relevance" in out
    assert "scaled to [0, 1] within each query" in out and "labels" not in out
    facts = json.loads(run("inspect", "model", "--json")[1])
    assert_documented("inspect", facts)
    assert facts["task"] == "ranking" and facts["scale"] == "query" and facts["reading"]["missing"] == "error"


@pytest.mark.parametrize("zero_based", [False, True])
def test_inspect_names_features_by_their_numbers_in_the_file(run, zero_based):
    first = 0 if zero_based else 1
    lines = [f"{x > 0:d} qid:{q} {first}:{q % 2} {first + 1}:{x}" for q in range(6) for x in (-2, -1, 1, 2)]
    Path("numbered.txt").write_text("\n".join(lines))
    extra = ["--zero-based"] if zero_based else []
    arguments = ["numbered.txt", "--task", "ranking", "-m", "m", "--algorithm", "plackett-luce", *extra]
    assert run("train", *arguments)[0] == 0
    code, out, _ = run("inspect", "m", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["class"] == "PlackettLuce"
    assert facts["weights"]["positive"][0]["feature"] == f"feature {first + 1}"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["train", "train.txt", "--task", "ranking", "-m", "x", "--order", 1],
            "--order is not an option of --task ranking",
        ),
        (["train", "train.txt", "-m", "x", "--radius", 2], "--radius is not an option of --task tagging"),
        (["train", "train.txt", "--task", "ranking", "-m", "x", "--algorithm", "crf"], "'crf' is not one of"),
        (
            ["train", "train.txt", "-m", "x", "--algorithm", "ramp"],
            "use --task alignment or folding or ranking",
        ),
        (
            ["train", "train.txt", "--task", "ranking", "-m", "x", "--missing", "mean"],
            "--missing takes error, minimum",
        ),
        *(
            (
                ["train", "train.txt", "--task", "ranking", "-m", "x", "--missing", value],
                f"--missing takes error, minimum or a finite number, got '{value}'",
            )
            for value in ("nan", "inf")
        ),
        (
            ["inspect", "model", "--why", "test.txt"],
            "--why is not an option of --task ranking; leave it out: it belongs to --task tagging",
        ),
        (
            ["train", "train.txt", "train.txt", "--task", "ranking", "-m", "x"],
            "query 1 is in train.txt:1 already",
        ),
        (["predict", "-m", "model", "test.txt", "--nbest", 2], "--nbest is not an option of --task ranking"),
        (
            ["predict", "-m", "model", "test.txt", "--marginals"],
            "--marginals is not an option of --task ranking",
        ),
        (
            ["evaluate", "-m", "model", "test.txt", "--label-column", "1"],
            "--label-column is not an option of --task ranking",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    last = err.strip().splitlines()[-1]
    assert code == 2 and not out and last.startswith("error: ") and message in last


def test_taggers_and_rankers_are_not_mistaken_for_each_other(run, folder):
    Path("columns.txt").write_text("the D\ndog N\n\na D\ncat N\n")
    assert run("train", "columns.txt", "-m", "tagger")[0] == 0
    for arguments, remedy in (
        (["train", "train.txt", "-m", "x"], "use --task ranking"),
        (["train", "columns.txt", "--dev", "train.txt", "-m", "x"], "use --task ranking"),
        (["evaluate", "train.txt"], "give a --model of --task ranking"),
        (["evaluate", "-m", "tagger", "train.txt"], "give a --model of --task ranking"),
        (["predict", "-m", "tagger", "train.txt"], "give a --model of --task ranking"),
    ):
        code, out, err = run(*arguments)
        assert code == 2 and not out and not Path("x").exists()
        assert (
            f"train.txt:1: qid:1 is the query of a graded document, and columns of tokens are wanted; {remedy}"
            in err
        )
    code, _, err = run("predict", "-m", "tagger", "columns.txt", "--orders")
    assert (
        code == 2
        and "--orders is not an option of --task tagging; leave it out: it belongs to --task ranking" in err
    )
    with pytest.raises(ModelFileError, match="tagger: this CRF is not a ranker"):
        Ranker.load("tagger")
    ranker = Ranker.load("model")
    ranker.model.save("damaged", extra={"task": "ranking", "n_features": 3, "scale": "query", "reading": {}})
    with pytest.raises(ModelFileError, match="the ranker is damaged"):
        Ranker.load("damaged")


# ------------------------------------------------------------------------------------------- the benchmark


def test_every_learner_of_the_benchmark_ranks(rng):
    X, y = simulated(8, rng)
    learners = {point["learner"] for point in benchmark.points()}
    assert {"ramp", "hinge", "ranking SVM", "Plackett-Luce"} <= learners
    for learner in learners:
        for setting in (benchmark.SETTINGS[learner][0], benchmark.SETTINGS[learner][-1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = benchmark.make(learner, setting).fit(X, y).row_scores(X)
            assert [len(each) for each in scores] == [len(grades) for grades in y], learner


def test_summary_of_the_benchmark():
    value = {"ramp": 0.46, "hinge": 0.2, "ranking SVM": 0.45, "LightGBM": 0.44}
    records = [
        {"fold": fold, "learner": learner, "settings": "", "chosen": "1.0", "validation": v, "seconds": 0.1,
         "all_seconds": 1.0, "ndcg": [[v] * 10] * 4, "average_precision": [v] * 4}
        for learner, v in value.items() for fold in benchmark.FOLDS
    ]  # fmt: skip
    scores, differences, choices, targets = benchmark.summarise(records)
    assert scores.rows[0] == ["ramp", *["0.460"] * 11] and len(choices.rows) == 4
    assert differences.rows[1][:2] == ["against ranking SVM", "+0.0100 +- 0.0000"]
    assert [row[-1] for row in targets.rows] == ["met"] * 5 and not benchmark.missed(records)
    worse = [record | {"seconds": 0.3} if record["learner"] == "ramp" else record for record in records]
    assert benchmark.missed(worse) == ["CPU seconds / LightGBM: 3.0000, wanted <= 2"]
    assert benchmark.targets(benchmark.measured(records[:4])) == [], "a fold is missing"
    benchmark.draw(Figure(), records)
