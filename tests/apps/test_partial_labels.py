"""Column files with marks for labels that are not known, in Python and on the command line."""

import io
import json

import pytest

from palmette import UNKNOWN, OneOf
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.partial_labels import Marks
from palmette.apps.tagging.tagger import Tagger
from palmette.cli import main
from palmette.errors import DataFileError

TEXT = "the D\ndog ?\nbarks V\n\na D\ncat N\nsleeps N|V\n\ndogs N\nbark V\n\nfoo ?\n"


def read(text):
    return read_columns("-", stream=io.StringIO(text))


def test_marks_become_annotation():
    found = Marks("?", "|").read([read(TEXT)], -1)
    assert found == [["D", UNKNOWN, "V"], ["D", "N", OneOf("N", "V")], ["N", "V"], [UNKNOWN]]
    assert Marks(None, "|").read([read(TEXT)], -1)[0] == ["D", "?", "V"]


@pytest.mark.parametrize("algorithm", ["crf", "ssvm", "perceptron"])
def test_taggers_learn_from_them(algorithm):
    tagger = Tagger.train(read(TEXT), algorithm=algorithm, unknown="?", one_of="|")
    assert sorted(tagger.model.codec_.classes_) == ["D", "N", "V"]
    assert tagger.predict([[("the",), ("cat",), ("barks",)]]) == [["D", "N", "V"]]
    assert tagger.model.annotation_ == (6, 1, 2, 4, 1, 0)


@pytest.mark.parametrize(
    ("text", "marks", "message"),
    [
        (
            "a B-?\nb X\n",
            ("?", None),
            r":1: the label 'B-\?' contains '\?', the mark of unknown",
        ),
        ("b X\na X|\n", (None, "|"), r":2: 'X\|' does not name the possible labels: write A\|B"),
        (
            "b X\na X|?\n",
            ("?", "|"),
            r":2: 'X\|\?' does not name the possible labels: write A\|B, or \? for any",
        ),
        (
            "a X|Y\nb Z\n",
            (None, "|"),
            r":1: .* none of its parts is a label of another token: .*--one-of MARK",
        ),
    ],
)
def test_labels_that_contain_a_mark_are_refused(text, marks, message):
    with pytest.raises(DataFileError, match=message):
        Marks(*marks).read([read(text)], -1)


@pytest.mark.parametrize("marks", [("", None), (None, "a b"), ("a|", "|")])
def test_marks_must_be_told_apart(marks):
    with pytest.raises(ValueError, match="mark"):
        Marks(*marks)


def test_the_command_line_takes_marks(tmp_path, capsys):
    data, model = tmp_path / "partial.txt", tmp_path / "m.palmette"
    data.write_text(TEXT)
    options = ["--unknown", "?", "--one-of", "|", "--model", str(model), "--json"]
    assert main(["train", str(data), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["unknown_labels"], told["one_of_labels"], told["sentences_without_labels"]) == (2, 1, 1)
    assert main(["train", str(data), *options, "--constrained"]) != 0
    assert "need whole spans" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A partially labelled file and a model of it."""
    folder = tmp_path_factory.mktemp("marks")
    data, model = folder / "partial.txt", folder / "m.palmette"
    data.write_text(TEXT)
    assert (
        main(["train", str(data), "--unknown", "?", "--one-of", "|", "--model", str(model), "--l2", "0.1"])
        == 0
    )
    return data, model


def test_marked_labels_do_not_count_in_evaluation(trained, capsys):
    data, model = trained
    assert Tagger.load(model).marks == Marks("?", "|")
    capsys.readouterr()
    assert main(["evaluate", str(data), "--model", str(model), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tokens"], told["correct_tokens"], told["sentences"]) == (7, 7, 3)  # "foo ?" says nothing
    other = data.with_name("other.txt")
    other.write_text(TEXT.replace("?", "_"))
    assert main(["evaluate", str(other), "--model", str(model), "--unknown", "_", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told  # what separates labels is still known


def test_marks_are_told_where_the_model_has_none(tmp_path, capsys):
    file = tmp_path / "both.txt"
    file.write_text("a D D\ndog ? N\nbarks N|V N\nloud A N\n")
    assert main(["evaluate", str(file), "--unknown", "?", "--one-of", "|", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tokens"], told["correct_tokens"]) == (3, 2)
    assert (
        main(["evaluate", str(file), "--unknown", "?", "--one-of", "|", "--report", str(tmp_path / "r.html")])
        == 2
    )
    assert "not all labels are known, and a report needs complete ones" in capsys.readouterr().err


def test_marks_in_held_out_files(trained, tmp_path, capsys):
    data, _ = trained
    held, model = tmp_path / "dev.txt", tmp_path / "m.palmette"
    held.write_text("the D\ncat ?\nbarks N|V\n")  # none of N and V is alone here
    options = [
        "--unknown",
        "?",
        "--one-of",
        "|",
        "--dev",
        str(held),
        "--tune",
        "--model",
        str(model),
        "--json",
    ]
    assert main(["train", str(data), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dev"]["tokens"] == 2 and told["dev"]["accuracy"] == 1.0


def test_explanations_show_marks_as_they_are_written(trained, capsys):
    data, model = trained
    capsys.readouterr()
    assert main(["inspect", str(model), "--why", f"{data}:1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"][0]["true"] == ["D", "?", "V"]
    assert main(["inspect", str(model), "--why", f"{data}:1", "--against-truth"]) == 2
    assert "--against-truth needs the true labels of the sentence" in capsys.readouterr().err


def test_a_forgotten_mark_is_hinted_at(tmp_path, capsys):
    data, model = tmp_path / "partial.txt", str(tmp_path / "m.palmette")
    data.write_text(TEXT)
    assert main(["train", str(data), "--model", model, "--json"]) == 0
    hints = [line for line in capsys.readouterr().err.splitlines() if "--unknown '?'" in line]
    assert len(hints) == 1 and hints[0].startswith("warning: 2 tokens have the label '?'")
    for text, options in ((TEXT, ["--unknown", "?"]), (TEXT.replace("?", "N"), [])):
        data.write_text(text)
        assert main(["train", str(data), "--model", model, "--json", *options]) == 0
        assert "--unknown" not in capsys.readouterr().err
    with pytest.warns(UserWarning, match=r"1 token has the label '\?'.*unknown='\?' in Python"):
        Tagger.train(read("a ?\nb N\n"))
