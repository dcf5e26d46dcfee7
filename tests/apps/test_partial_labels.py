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
