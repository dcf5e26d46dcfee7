"""Files of paths: reading, the command line from training to evaluation, and what is wrong with files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from palmette.apps.hierarchies import PathClassifier, evaluate_paths, read_records
from palmette.apps.hierarchies.learners import make_learner
from palmette.apps.hierarchies.records import Reading
from palmette.cli.app import app
from palmette.errors import DataFileError, ModelFileError

PATHS = ["animal.dog.pug", "animal.cat", "plant.oak", "plant.elm"]
WORDS = ["barks snores", "purrs", "acorns grow tall", "grows leaves"]


def write(folder, name, lines):
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output + str(result.exception or "")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    rng = np.random.default_rng(0)
    rows = [(PATHS[k], np.eye(4)[k] * 3 + rng.normal(size=4) * 0.3) for k in np.arange(24) % 4]
    numbers = write(folder, "numbers.tsv", ["\t".join([y, *map(str, x.round(3))]) for y, x in rows])
    text = write(folder, "text.tsv", ["# comment", *(f"{y}\t{w}" for y, w in zip(PATHS, WORDS))] * 3)
    return folder, numbers, text


def test_train_predict_and_evaluate(files):
    folder, numbers, _ = files
    model = str(folder / "model.palmette")
    code, output = run("train", "--task", "hierarchy", numbers, "--model", model, "--tune", "--folds", "2")
    assert code == 0, output
    code, output = run("evaluate", numbers, "--model", model, "--json")
    record = json.loads(output[output.index("{") :])
    assert code == 0 and record["exact"] == 1.0 and record["levels"] == [1.0, 1.0, 1.0]
    bare = write(folder, "bare.tsv", ["?\t3\t0\t0\t0", "\t0\t0\t3\t0"])
    code, output = run("predict", bare, "--model", model)
    assert code == 0 and output.split()[-2:] == ["animal.dog.pug", "plant.oak"]
    code, output = run("inspect", model)
    assert "7 classes on 3 levels" in output
    assert PathClassifier.load(model).evaluate(read_records(numbers)).exact == 1.0


@pytest.mark.parametrize("features", ["auto", "words", "letters"])
def test_text_by_words_and_by_letters(files, features):
    records = read_records(files[2], Reading(features, ngram=3))
    for algorithm in ("crf", "ssvm", "perceptron"):
        classifier = PathClassifier.train(records, algorithm=algorithm)
        assert classifier.predict(records) == records.y


def test_several_paths_and_a_tree_from_a_file(files):
    folder, *_ = files
    lines = ["a.x|b\t1\t0", "b\t0\t1", "a.x\t1\t1"] * 4
    data = write(folder, "sets.tsv", lines)
    tree = write(folder, "tree.txt", ["a.x", "a.y", "b"])
    model = str(folder / "sets.palmette")
    code, output = run(
        "train",
        "--task",
        "hierarchy",
        data,
        "--model",
        model,
        "--multi-label",
        "--tree",
        tree,
        "--l2",
        "0.01",
    )
    assert code == 0, output
    assert "4 classes on 2 levels" in output
    code, output = run("predict", data, "--model", model)
    assert output.split()[-3:] == ["a.x|b", "b", "a.x"]
    code, output = run("evaluate", data, "--model", model)
    assert code == 0 and "F1 1.0000" in output


def test_evaluation_counts_where_paths_part():
    found = evaluate_paths(["a.x.u", "a.y", "b"], ["a.x.v", "c.y", "b"])
    assert found.exact == pytest.approx(1 / 3)
    assert found.levels.tolist() == [2 / 3, 0.5, 0.0]
    assert [dict(own) for own in found.confusions] == [{("a", "c"): 1}, {}, {("a.x.u", "a.x.v"): 1}]
    assert found.nodes["a",] == (2, 1)
    assert evaluate_paths(["a.?"], ["a.x"]).exact == 1.0


@pytest.mark.parametrize(
    "lines, options, words",
    [
        (["a.b"], {}, ":1: 'a.b' has no tab"),
        ([], {}, "there is no record"),
        (["a..b\t1"], {}, ":1: the path = 'a..b' has no label at level 2"),
        (["\t1"], {}, ":1: the path = '' is empty"),
        (["a\t1\t2", "b\t1"], {}, ":2: 1 numbers, but the first record has 2"),
        (["a\t1", "b\tx"], {"features": "numbers"}, ":2: column 2 is 'x', no finite number"),
        (["a\tx\ty"], {"features": "words"}, ":1: 2 columns after the path"),
    ],
)
def test_files_that_are_refused(tmp_path, lines, options, words):
    with pytest.raises(DataFileError, match=words):
        read_records(write(tmp_path, "bad.tsv", lines), Reading(**options))


def test_settings_and_models_that_are_refused(files):
    folder, numbers, text = files
    for options, words in (
        ({"features": "pixels"}, "features must be one of"), ({"ngram": 0}, "ngram must be"),
        ({"separator": ""}, "separator must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            read_records(numbers, Reading(**options))
    for options, words in (
        ({"algorithm": "tree"}, "learns no paths"), ({"algorithm": "crf", "task_loss": "zero_one"}, "has no option"),
        ({"algorithm": "ssvm", "task_loss": "hinge"}, "task_loss must be one of"), ({"l2": -1.0}, "l2 must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            make_learner(**options)
    classifier = PathClassifier.train(read_records(numbers))
    with pytest.raises(DataFileError, match="3 numbers in a record, the training data had 4"):
        classifier.predict(read_records(write(folder, "narrow.tsv", ["a\t1\t2\t3"])))
    classifier.model.save(folder / "plain.palmette")
    with pytest.raises(ModelFileError, match="is no classifier into a tree"):
        PathClassifier.load(folder / "plain.palmette")
    code, output = run("evaluate", "--task", "hierarchy", text)
    assert code != 0 and "give the --model" in output
