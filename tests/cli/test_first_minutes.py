"""What new users try first: files of other formats, columns without names, evaluation of the wrong file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import palmette
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.tagger import Tagger

CONLLU = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
THREE = "the DT O\ncat NN B-X\nsat VB O\n\nThe DT O\ncat NN B-X\n\n"
COMMAS = "the,DT,O\ncat,NN,B-X\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    (folder / "x.conllu").write_text(CONLLU)
    (folder / "three.txt").write_text(THREE)
    (folder / "commas.csv").write_text(COMMAS)
    Tagger.train(read_columns(folder / "three.txt")).save(folder / "model")
    return folder


# ------------------------------------------------------------------------------------------------ CoNLL-U


def test_conllu_has_parts_of_speech_by_default(run, folder):
    code, out, _ = run("train", "x.conllu", "--model", "u")
    assert code == 0 and "label       column 3, upos" in out
    assert palmette.load(folder / "u").classes_.tolist() == ["NOUN", "VERB"]
    assert run("train", "x.conllu", "--model", "u", "--label-column", 4)[0] == 0
    assert palmette.load(folder / "u").classes_.tolist() == ["NNS", "VBP"]
    (folder / "more.conllu").write_text(CONLLU.replace("_\n", "_\tX\n"))
    assert "label       column 10\n" in run("train", "more.conllu", "--model", "u", "--label-column", -1)[1]
    text = read_columns(folder / "x.conllu")
    assert Tagger.train(text).label_column == 3 and Tagger.train(text, label_column=-3).label_column == 7
    assert Tagger.train(text, features="pos").label_column == 3


def test_conllu_is_evaluated_with_and_without_a_model(run, folder):
    assert run("train", "x.conllu", "--model", "u")[0] == 0
    (folder / "tagged.conllu").write_text(run("predict", "--model", "u", "x.conllu")[1])
    code, out, err = run("evaluate", "tagged.conllu")
    assert code == 0 and "100.00% (2 of 2 tokens)" in out
    assert "the true label is column 3, the predicted one column 10" in err
    code, out, err = run("evaluate", "x.conllu")
    assert (code, out) == (2, "") and "x.conllu:1: the 10 columns of CoNLL-U have no predicted label" in err


def test_conllu_through_a_pipe_is_told(run, folder):
    assert run("train", "x.conllu", "--model", "u")[0] == 0
    tagged = run("predict", "--model", "u", stdin=CONLLU)[1]
    for piped in (CONLLU, tagged):
        code, out, err = run("evaluate", "-", stdin=piped)
        assert (code, out) == (
            2,
            "",
        ) and "standard input is not read as CoNLL-U: give a file named .conllu" in err
    code, out, _ = run("evaluate", "-", "--label-column", 3, stdin=tagged)
    assert code == 0 and "100.00% (2 of 2 tokens)" in out


# ------------------------------------------------------------------------------------------------ columns


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "commas.csv"],
        ["train", "commas.csv", "--features", "ner"],
        ["train", "commas.csv", "--features", "ner", "--columns", "word,pos,label"],
        ["predict", "--model", "model", "commas.csv"],
        ["evaluate", "--model", "model", "commas.csv"],
        ["evaluate", "commas.csv"],
    ],
)
def test_commas_are_told_how_to_become_columns(run, folder, arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "commas.csv:1" in err and "it seems to have commas: replace them by tabs" in err


def test_columns_that_are_not_read_are_named(run, folder):
    ner = ["train", "three.txt", "--model", "m", "--features", "ner"]
    assert "not read     column 1 (--columns says what they hold" in run(*ner)[1]
    assert "not read     column 1\n" in run(*ner, "--columns", "word,_,label")[1]
    (folder / "four.txt").write_text("the DT O x\ncat NN B-X x\n")
    named = run("train", "four.txt", "--model", "m", "--features", "ner", "--columns", "word,column3,label,_")
    assert named[0] == 0 and "data         1 sentence, 2 tokens" in named[1], named[2]
    assert "not read" not in run(*ner, "--columns", "word,pos,label")[1]
    assert "not read" not in run("train", "three.txt", "--model", "m")[1]


def test_several_columns_may_be_skipped(run, folder):
    (folder / "five.txt").write_text(THREE.replace(" ", " 7 x "))
    options = ["--features", "ner", "--columns", "word,_,_,pos,_,_,label"]
    assert "of word, pos, known, case" in run("train", "five.txt", "--model", "m", *options)[1]


@pytest.mark.parametrize("options", [["--features", "pos"], []])
def test_the_seed_reaches_word_clusters(run, folder, options):
    rng = np.random.default_rng(0)
    sentences = [rng.permutation(60) for _ in range(20)]
    (folder / "many.txt").write_text(
        "\n\n".join(
            "\n".join(f"w{chr(97 + k // 26)}{chr(97 + k % 26)} X{k % 2}" for k in s) for s in sentences
        )
    )
    found = []
    for seed in (0, 0, 1):
        train = ["train", "many.txt", "--model", "m", "--clusters", 5, "--tol", 0.1, *options]
        assert run(*train, "--seed", seed)[0] == 0
        arrays = palmette.load(folder / "m").extra_arrays_
        found.append(next(array for name, array in arrays.items() if name.endswith("labels")))
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


# --------------------------------------------------------------------------------------------- evaluation


def test_two_columns_without_a_common_label_are_not_compared(run, folder):
    code, out, err = run("evaluate", "three.txt")
    assert (code, out) == (2, "") and "three.txt:1: columns 1 and 2, here 'DT' and 'O'" in err
    assert "give --model FILE to predict with, or --label-column 1" in err
    code, out, err = run("evaluate", "three.txt", "--label-column", 1, "--json")
    assert code == 0 and json.loads(out)["accuracy"] == 0.0
    assert "the true label is column 1, the predicted one column 2" in err


def test_labels_that_the_model_does_not_know_are_told_by_line(run, folder):
    (folder / "new.txt").write_text("the DT O\ncat NN B-Y\nsat VB I-Z\n")
    code, out, err = run("evaluate", "--model", "model", "new.txt")
    assert code == 0 and "accuracy" in out
    assert "new.txt:2: 2 tokens have labels that the model does not know and cannot predict: B-Y, I-Z" in err
    code, _, err = run("train", "three.txt", "--model", "m", "--dev", "new.txt")
    assert code == 0 and "new.txt:2: 2 tokens have labels" in err and "--unknown" not in err
    (folder / "part.txt").write_text("the DT O\ncat NN ?\n")
    assert "give --unknown '?'" in run("evaluate", "--model", "model", "part.txt")[2]
    assert "does not know" not in run("evaluate", "--model", "model", "three.txt")[2]


def test_types_of_spans_count_where_encodings_differ(run, folder):
    train = ["train", "three.txt", "--model", "m", "--encoding", "iobes"]
    code, _, err = run(*train, "--dev", "three.txt")
    assert code == 0 and "does not know" not in err
    for told in (run(*train)[1], run("inspect", "m")[1]):
        assert re.search(
            "^spans +learnt in IOBES, predicted in IOB2 as the files have them$", told, re.MULTILINE
        )
    (folder / "new.txt").write_text("the DT O\ncat NN B-Y\nsat VB O\n")
    assert "new.txt:2: 1 token has a label" in run("evaluate", "--model", "m", "new.txt")[2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("a S-X\nb B-X\nc E-X\n", "IOBES"),
        ("a B-X\nb I-X\nc O\n", "IOB2"),
        (
            "a O\nb I-X\nc B-Y\nd I-Y\n",
            "IOB2, but in.txt:2: 'I-X' after 'O' is not valid in IOB2 (--invalid repair corrects)",
        ),
        ("a L-X\nb E-X\nc M-X\n", "the labels ('L-X', 'E-X', 'M-X', ...) are in no span encoding, see "),
        ("a DT\nb NN\n", None),
    ],
)
def test_the_encoding_of_spans_is_told(run, folder, rows, told):
    (folder / "in.txt").write_text(rows)
    code, out, _ = run("train", "in.txt", "--model", "m")
    found = re.search("^spans +(.*)$", out, re.MULTILINE)
    assert code == 0 and (found is None if told is None else found[1].startswith(told))


# ------------------------------------------------------------------------------------------------- words


def test_a_perceptron_ends_with_its_epochs(run, folder):
    (folder / "hard.txt").write_text("a X\nb Y\n\na Y\nb X\n")
    train = ["train", "hard.txt", "--model", "m", "--algorithm", "perceptron", "--max-iter"]
    assert "iterations  3 epochs (its limit)" in run(*train, 3)[1]
    assert "stopped by  its limit of epochs" in run("inspect", "m")[1]
    assert "iterations  1 epoch (its limit)" in run(*train, 1)[1]
    stopped = run("train", "three.txt", "--model", "m", "--algorithm", "perceptron")[1]
    assert "epochs, stopped by estimate" in stopped and "NOT" not in stopped


def test_one_is_not_many(run, folder):
    (folder / "one.uai").write_text("MARKOV\n1\n2\n1\n1 0\n\n2\n0.4 0.6\n")
    _, out, err = run("infer", "one.uai")
    assert "one.uai: 1 variable, 0 tables of more than one of them" in err and "evidence     none" in out
    (folder / "one.uai.evid").write_text("1 0 1\n")
    assert "evidence     1 variable (one.uai.evid)" in run("infer", "one.uai")[1]
    (folder / "one.txt").write_text("a X\nb Y\n")
    assert "learning from 1 sentence\n" in run("train", "one.txt", "--model", "m")[2]


@pytest.mark.parametrize("command", [["predict", "--model", "model", "three.txt"], ["fold", "rna.fa"]])
def test_results_go_where_they_belong_while_a_terminal_shows_progress(folder, command):
    (folder / "rna.fa").write_text(">a\nGGGAAACCC\n")
    terminal, end = os.openpty()
    try:
        called = [sys.executable, "-m", "palmette", *command]
        done = subprocess.run(called, stdout=subprocess.PIPE, stderr=end, cwd=folder, timeout=600, check=True)
    finally:
        os.close(end)
        os.close(terminal)
    assert {"predict": b"cat NN B-X B-X", "fold": b"GGGAAACCC"}[command[0]] in done.stdout


def test_documents_without_blank_lines_come_once_among_the_best_labellings(run, folder):
    best = ["predict", "--model", "model", "--nbest", 2]
    code, out, _ = run(*best, stdin="-DOCSTART- -X-\nthe DT\n-DOCSTART- -X-\n\ncat NN\n")
    lines = [re.sub(r"score .*|\S+$", "", line) for line in out.splitlines()]
    each = ["# nbest = 1 ", "{}", "", "# nbest = 2 ", "{}", ""]
    expected = [
        line.format(word) for word in ("the DT ", "cat NN ") for line in ["-DOCSTART- -X- ", "", *each]
    ]
    assert code == 0 and lines == expected
