"""``palmette align`` and the task of alignment on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from palmette.apps.aligning.files import read_alignments, write_alignments
from palmette.apps.aligning.records import PairRecord
from palmette.cli import main

A, B = "MKVLAWFGKRDE", "MKVAWFGKRDE"
SEQUENCES = {"a.fa": f">x\n{A}\n", "b.fa": f">y\n{B}\n", "many.fa": f">x\n{A}\n>y\n{B}\n>z\nMKW\n>u\nMW\n"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SEQUENCES.items():
        (tmp_path / name).write_text(text)
    rng = np.random.default_rng(0)
    letters, pairs = np.array(list("ARNDCQEGHILKMFPSTWYV")), []
    for k in range(8):
        a = rng.choice(letters, 20)
        row = np.where(rng.random(20) < 0.85, a, "-")
        pairs.append(PairRecord.from_rows("".join(a), "".join(row), (f"a{k}", f"b{k}")))
    write_alignments("train.afa", pairs)
    return tmp_path


def run(capsys, *arguments, code=0):
    assert main(list(arguments)) == code, capsys.readouterr().err
    found = capsys.readouterr()
    return found.err if code else found.out


def align(capsys, *arguments, **options):
    return run(capsys, "align", *arguments, **options)


def test_two_files(files, capsys):
    lines = align(capsys, "a.fa", "b.fa").splitlines()
    assert lines[0].startswith("# x_y: score ") and "posterior" not in lines[0]
    assert lines[1].split() == ["x", "MKVLAWFGKRDE", "12"] and lines[3].split() == [
        "y",
        "MKV-AWFGKRDE",
        "11",
    ]
    assert "probability" in align(capsys, "a.fa", "b.fa", "--posterior")


def test_many_pairs_of_one_file(files, capsys):
    text = align(capsys, "many.fa", "--width", "5", "--best", "2")
    assert text.count("# x_y:") == text.count("# z_u:") == 1 and text.count("# 2. best: score") == 2


def test_one_sequence_with_all_of_another_file(files, capsys):
    assert [f"# x_{name}:" in align(capsys, "a.fa", "many.fa") for name in "xyzu"] == [True] * 4
    (files / "two.fa").write_text(">p\nMK\n>q\nMK\n")
    assert "two.fa has 2 sequences and many.fa has 4" in align(capsys, "two.fa", "many.fa", code=2)


def test_json(files, capsys):
    found = json.loads(align(capsys, "a.fa", "b.fa", "--json", "--decode", "mea", "--gamma", "0.5"))
    assert found["gamma"] == 0.5 and found["default_matrix"] is True
    pair = found["pairs"][0]
    assert pair["name"] == "x_y" and len(pair["confidence"]) == len(pair["a"]["row"]) == len(pair["b"]["row"])
    assert all(0 < p <= 1 for _, _, p in pair["match_posteriors"])


@pytest.mark.parametrize("name", ["out.afa", "out.paf", "out.fa"])
def test_output_files(name, files, capsys):
    assert "2 pairs, written: " in align(capsys, "many.fa", "-o", name)
    own = {"x": A, "y": B, "z": "MKW", "u": "MW"}
    assert read_alignments(name, sequences=own)[0].rows == ("MKVLAWFGKRDE", "MKV-AWFGKRDE")


def test_matrices_and_constraints(files, capsys):
    (files / "own.txt").write_text("  M K V\nM 5 0 0\nK 0 5 0\nV 0 0 5\n")
    text = align(capsys, "many.fa", "--matrix", "own.txt", "--open", "-1", "--extend", "-0.5", "--free-ends")
    assert "# z_u: score 5, " in text  # M with M, W with W scores the lowest of the matrix, K against a gap
    assert "1 matches" in align(
        capsys, "a.fa", "b.fa", "--constraint", " ".join(["1=1", *(f"a{k}-" for k in range(2, 13))])
    )
    (files / "c.txt").write_text(">z_u\n1=2\n")
    assert "-MKW" in align(capsys, "many.fa", "--constraint", "c.txt").replace(" ", "")


@pytest.mark.parametrize(
    ("name", "kind"), [("out.svg", "blocks"), ("out.svg", "matrix"), ("out.html", "blocks")]
)
def test_plots(name, kind, files, capsys):
    align(capsys, "a.fa", "b.fa", "--plot", name, "--plot-kind", kind)
    text = (files / name).read_text()
    assert ("<svg" in text) == (name == "out.svg") and len(text) > 2000


def test_a_picture_of_each_pair(files, capsys):
    align(capsys, "many.fa", "--plot", "out.html")
    assert {path.name for path in files.glob("*.html")} == {"out.x_y.html", "out.z_u.html"}


def test_train_align_predict_evaluate(files, capsys):
    own = ("train", "--task", "alignment", "train.afa", "-m", "m.palmette")
    out = run(capsys, *own, "--l2", "0.1", "--max-iter", "20", "--dev", "train.afa")
    assert "held out" in out and "8 pairs of " in out
    assert align(capsys, "train.afa", "-m", "m.palmette").count("score") == 8
    predicted = run(capsys, "predict", "train.afa", "-m", "m.palmette")
    assert predicted.count(">") == 16
    report = json.loads(run(capsys, "evaluate", "train.afa", "-m", "m.palmette", "--json"))
    assert report["task"] == "alignment" and report["recall"] > 0.9 and report["pairs"] == 8
    assert "recall" in run(capsys, "evaluate", "train.afa", "-m", "m.palmette", "--decode", "viterbi")
    assert "mea" in run(capsys, "inspect", "m.palmette")
    more = ("--algorithm", "ssvm", "--l2", "1", "--missed", "5", "--max-iter", "5", "--long-gaps")
    assert json.loads(run(capsys, *own, *more, "--json"))["decode"] == "viterbi"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.fa",), "1 sequences cannot be aligned two by two"),
        (("a.fa", "b.fa", "b.fa"), "3 files; give two"),
        (("a.fa", "missing.fa"), "missing.fa"),
        (("a.fa", "b.fa", "--decode", "best"), "--decode must be one of viterbi, mea"),
        (("a.fa", "b.fa", "--format", "paf"), "--format paf says how to write --output"),
        (("a.fa", "b.fa", "-o", "a.fa"), "--output a.fa would replace a.fa"),
        (("a.fa", "b.fa", "--plot", "out.txt"), "pictures are written as .png, .svg, .pdf or .html"),
        (("a.fa", "b.fa", "--plot", "o.html", "--plot-kind", "matrix"), "--plot-kind matrix is a picture"),
        (("a.fa", "b.fa", "--jobs", "0"), "--jobs must be at least 1"),
        (("a.fa", "b.fa", "--constraint", "1=2 2=1"), "cross; leave one out"),
        (("a.fa", "b.fa", "--constraint", "1=2 99=1"), "is outside: the first sequence has 12 letters"),
        (("a.fa", "b.fa", "--params", "x.params", "--open", "-3"), "x.params"),
        (("a.fa", "bad.fa"), "b.fa"),
    ],
)
def test_bad_input(arguments, message, files, capsys):
    (files / "bad.fa").write_text(">y\nMK@L\n")
    text = align(capsys, *arguments, code=2)
    assert message in text or (arguments[1] == "bad.fa" and "character 3 of the sequence ('@')" in text)


def test_letters_outside_of_the_alphabet_name_the_pair_and_position(files, capsys):
    (files / "odd.fa").write_text(">y\nMKÄL\n")
    text = align(capsys, "a.fa", "odd.fa", code=2)
    assert "odd.fa:1: x_y: the pair[1], position 2 (0-based): 'Ä' is no letter" in text


def test_options_that_do_not_go_together(files, capsys):
    run(capsys, "train", "--task", "alignment", "train.afa", "-m", "m.palmette", "--max-iter", "2")
    assert "--open does not go with a model" in align(
        capsys, "many.fa", "-m", "m.palmette", "--open", "-3", code=2
    )
    assert "has no alignment; give rows with gaps" in run(
        capsys, "evaluate", "many.fa", "-m", "m.palmette", code=2
    )
    assert "--tune does not choose" in run(
        capsys, "train", "--task", "alignment", "train.afa", "-m", "n.palmette", "--tune", code=2
    )
