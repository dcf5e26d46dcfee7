"""``palmette fold`` and the task of folding on the command line."""

from __future__ import annotations

import json

import pytest

from palmette.apps.folding.files import read_records, write_records
from palmette.apps.folding.parameter_files import write_parameters
from palmette.apps.folding.records import RNARecord
from palmette.cli import main
from palmette.structures.folding.brackets import parse_brackets

WEIGHTS = {
    "base_pair_CG": 1.6, "base_pair_AU": 0.7, "helix_stacking_CCGG": 0.4, "hairpin_length_at_least_0": -5.0,
    "hairpin_length_at_least_3": 5.3,
}  # fmt: skip
A, B = "GGGAAAACCCA", "GCGCAAAAGCGC"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_records("seqs.fa", [RNARecord("a", A), RNARecord("b", B)])
    write_records("one.fa", [RNARecord("a", A)])
    write_parameters("own.params", WEIGHTS)
    train = [("a", A, "(((....)))."), ("b", B, "((((....))))"), ("c", "AAAAAAAA", "........")]
    write_records("train.dbn", [RNARecord(n, s, tuple(parse_brackets(t))) for n, s, t in train])
    return tmp_path


def run(capsys, *arguments, code=0):
    assert main(list(arguments)) == code, capsys.readouterr().err
    found = capsys.readouterr()
    return found.err if code else found.out


def fold(capsys, *arguments, **options):
    return run(capsys, "fold", *arguments, "--params", "own.params", **options)


def test_dot_bracket_with_scores(files, capsys):
    lines = fold(capsys, "seqs.fa").splitlines()
    assert lines[:2] == [">a", A] and lines[2].startswith("(((....))). (")
    assert lines[5].startswith("((((....)))) (")


def test_probabilities_and_suboptimal_structures(files, capsys):
    text = fold(
        capsys, "one.fa", "--probabilities", "--suboptimal", "1.5", "--most", "5", "--decode", "viterbi"
    )
    assert "# log-partition" in text and "# 0 9 " in text
    assert 1 < sum(line.endswith(")") and line[0] in "(." for line in text.splitlines()) <= 6


def test_json(files, capsys):
    found = json.loads(fold(capsys, "seqs.fa", "--json", "--decode", "mea", "--gamma", "6"))
    assert found["gamma"] == 6 and [each["name"] for each in found["sequences"]] == ["a", "b"]
    i, j, p = found["sequences"][0]["pair_probabilities"][0]
    assert i < j and 0 < p <= 1


@pytest.mark.parametrize("name", ["out.dbn", "out.ct", "out.bpseq", "out.sto"])
def test_output_files(name, files, capsys):
    assert "2 sequences, written: " in fold(capsys, "seqs.fa", "-o", name)
    assert [record.structure for record in read_records(name)] == ["(((....))).", "((((....))))"]


def test_constraints_and_evidence(files, capsys):
    assert fold(capsys, "one.fa", "--constraint", "xxx........").splitlines()[2].startswith("...........")
    (files / "c.txt").write_text(">b\nxxxxxxxxxxxx\n")
    assert "\n............ (" in fold(capsys, "seqs.fa", "--constraint", "c.txt")
    (files / "e.txt").write_text("".join(f"{t} 9.5\n" for t in range(1, 4)))
    assert fold(capsys, "one.fa", "--evidence", "e.txt", "--slope", "9").splitlines()[2].startswith("...")
    assert (
        fold(capsys, "one.fa", "--evidence", "e.txt", "--evidence-kind", "score").splitlines()[2][:3] == "..."
    )


@pytest.mark.parametrize("kind", ["planar", "circle", "arc", "dots"])
def test_plots(kind, files, capsys):
    fold(capsys, "one.fa", "--plot", "out.svg", "--plot-kind", kind)
    assert (files / "out.svg").read_text().count("<path") > 5


def test_a_picture_of_each_sequence(files, capsys):
    fold(capsys, "seqs.fa", "--plot", "out.png")
    assert {path.name for path in files.glob("*.png")} == {"out.a.png", "out.b.png"}


def test_train_fold_predict_evaluate(files, capsys):
    out = run(
        capsys,
        "train",
        "--task",
        "folding",
        "train.dbn",
        "-m",
        "m.palmette",
        "--l2",
        "0.1",
        "--dev",
        "train.dbn",
    )
    assert "held out" in out and "3 sequences of 31 letters, 7 pairs" in out
    assert run(capsys, "fold", "seqs.fa", "-m", "m.palmette").splitlines()[2].startswith("(((....)))")
    assert run(capsys, "predict", "seqs.fa", "-m", "m.palmette").splitlines()[2] == "(((....)))."
    report = json.loads(run(capsys, "evaluate", "train.dbn", "-m", "m.palmette", "--json"))
    assert report["task"] == "folding" and report["f1"] == 1.0
    assert "gamma" in run(capsys, "inspect", "m.palmette")
    more = (
        "--algorithm",
        "ssvm",
        "--l2",
        "1",
        "--params",
        "own.params",
        "--missed",
        "5",
        "--min-hairpin",
        "2",
    )
    run(capsys, "train", "--task", "folding", "train.dbn", "-m", "s.palmette", *more)
    facts = json.loads(run(capsys, "inspect", "s.palmette", "--json"))
    assert facts["decode"] == "viterbi" and facts["min_hairpin"] == 2


def test_a_beam_says_that_it_is_approximate(files, capsys):
    exact = fold(capsys, "one.fa", "--decode", "viterbi")
    text = fold(capsys, "one.fa", "--beam", "11")
    assert text.splitlines()[:3] == exact.splitlines()[:3]
    assert "# approximate: beam 11" in text and "approximate" not in exact
    found = json.loads(fold(capsys, "one.fa", "--beam", "11", "--json"))
    assert found["beam"] == 11 and found["decode"] == "viterbi" and found["sequences"][0]["approximate"]
    fold(capsys, "one.fa", "--beam", "11", "--plot", "arc.svg", "--plot-kind", "arc")


def test_tune(files, capsys):
    given = ("train", "--task", "folding", "train.dbn", "-m", "m.palmette", "--tune", "--json")
    record = json.loads(run(capsys, *given, "--dev", "train.dbn"))["tuning"]
    assert record["l2"] in [each["l2"] for each in record["curve"]]
    assert "--folds 4 needs at least 4 sequences" in run(capsys, *given, "--folds", "4", code=2)
    assert "exclude each other" in run(capsys, *given, "--l2", "1", code=2)


def test_what_references_have_beyond_the_model_is_said(files, capsys):
    write_records("odd.dbn", [RNARecord("a", "AAAAAAGA", ((0, 7),)), RNARecord("b", A, ((0, 9),))])
    assert main(["train", "--task", "folding", "odd.dbn", "-m", "m.palmette", "--l2", "1"]) == 0
    assert "1 of 2 references have pairs outside of the model" in capsys.readouterr().err
    err = run(
        capsys, "train", "--task", "folding", "odd.dbn", "-m", "m.palmette", "--outside", "error", code=2
    )
    assert "y[0] is no structure of the model" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.fa"], "none.fa: No such file"),
        (["seqs.fa", "--decode", "cyk"], "--decode must be one of viterbi, mea, centroid, got 'cyk'"),
        (["seqs.fa", "--model", "m", "--params", "own.params"], "m: No such file"),
        (["seqs.fa", "--plot", "x.txt"], "pictures are written as .png, .svg or .pdf"),
        (["seqs.fa", "--format", "ct"], "--format ct says how to write --output"),
        (["seqs.fa", "--output", "seqs.fa"], "would replace seqs.fa"),
        (["seqs.fa", "--slope", "2"], "--slope and --intercept say what --evidence means"),
        (["seqs.fa", "--constraint", "xx."], "constrains one sequence, and there are 2"),
        (
            ["one.fa", "--constraint", "xx."],
            "one.fa:1: a: constraint has 3 characters, the sequence 11 letters",
        ),
        (["one.fa", "--constraint", "(.........)"], "are G and A, which may not pair"),
        (["one.fa", "--constraint", "xxxxxxxxxx|"], "no structure satisfies the constraint"),
        (["seqs.fa", "--beam", "0"], "--beam must be at least 1"),
        (["seqs.fa", "--beam", "9", "--decode", "mea"], "--decode mea needs all structures, and --beam 9"),
        (["seqs.fa", "--beam", "9", "--suboptimal", "1"], "--suboptimal needs all structures"),
        (["seqs.fa", "--jobs", "0"], "--jobs must be at least 1"),
        (["seqs.fa", "--gamma", "-1"], "gamma must be a number of at least 0"),
        (["odd.fa"], "odd.fa:1: x: X[0], position 2 (0-based): 'J' is no letter of the alphabet"),
        (["cut.dbn"], "cut.dbn:3: character 1 of the structure: '(' is never closed"),
        (["long.shape.fa", "--evidence", "e.txt"], "position 12 is outside of 'a'"),
    ],
)
def test_bad_input(arguments, message, files, capsys):
    (files / "odd.fa").write_text(">x\nGGJAAACC\n")
    (files / "cut.dbn").write_text(">x\nGGAAC\n(...." + "\n")
    (files / "e.txt").write_text("12 0.5\n")
    (files / "long.shape.fa").write_text(f">a\n{A}\n")
    params = [] if "--model" in arguments else ["--params", "own.params"]
    assert message in run(capsys, "fold", *arguments, *params, code=2)
