"""What SORR and SOSC are given and give back: outputs that are wrong are named by place, memory is asked for first."""

from __future__ import annotations

import numpy as np
import pytest

import palmette
from palmette import SORR, Chain, Graph, Multiclass
from palmette.errors import TooLarge
from palmette.kernels import RBF, Custom, Dirac, Hamming, Joined, Linear, NGram
from palmette.outputs import CandidateOutputs, TaskLossOutputs, output_space
from palmette.outputs.dirac import DiracOutputs

X = np.arange(12.0).reshape(6, 2) % 5
WORDS = ["ab", "ab", "cd", "cd", "ef", "ab"]
TABLES = [np.eye(2)] * 4
PAIRS = [["a", "b"], ["b", "a"]] * 2
ROWS = [[0.0, 1.0]] * 2 + [[1.0, 2.0]] * 4
NO_SEQUENCE = r"y\[2\] must be a string or a sequence of symbols, got int: 3"


def with_bad(outputs, bad):
    return [*outputs[:2], bad, *outputs[3:]]


@pytest.mark.parametrize(
    "output, outputs, bad, message",
    [
        (
            "dirac",
            WORDS,
            {"a": 1},
            r"y\[2\] is not hashable, a dict: \{'a': 1\}; Dirac compares hashable objects",
        ),
        ("hamming", WORDS, 3, NO_SEQUENCE),
        (NGram(1), WORDS, 3, NO_SEQUENCE),
        (NGram(1) + NGram(2), WORDS, 3, NO_SEQUENCE),
        (2.0 * NGram(1, normalize=True) ** 2, WORDS, 3, NO_SEQUENCE),
        (NGram(1) * Dirac(), WORDS, 3, NO_SEQUENCE),
        (RBF(), ROWS, "ab", r"y\[2\] = 'ab' is no row of numbers"),
        (RBF() + Linear(), ROWS, [1.0], r"y\[2\] has 1 numbers, and y\[0\] has 2: .* such as 'hamming'"),
        ("hamming", WORDS, None, r"y\[2\] is None: give it a value, or leave the sample out"),
    ],
)
def test_wrong_outputs_are_named_by_place(output, outputs, bad, message, tmp_path):
    model = SORR(output, kernel="linear").fit(X, outputs)
    model.save(tmp_path / "m.palmette")
    wrong = with_bad(outputs, bad)
    for ask in (model.fit, model.score, palmette.load(tmp_path / "m.palmette").score):
        with pytest.raises((TypeError, ValueError), match=message):
            ask(X, wrong)


@pytest.mark.parametrize(
    "bad, message",
    [
        (3, r"y\[2\] is 3, a int; an output of Chain is a list with a label for each position"),
        (["a"], r"X\[2\] has 2 positions but y\[2\] has 1 labels"),
        (["a", "z"], r"unknown label 'z' at y\[2\]\[1\]"),
    ],
)
def test_wrong_outputs_of_structures_are_named_by_place(bad, message):
    model = SORR(Chain(), kernel=Joined(Linear())).fit(TABLES, PAIRS)
    with pytest.raises((TypeError, ValueError), match=message):
        model.score(TABLES, with_bad(PAIRS, bad))


def test_a_function_judges_outputs_that_the_space_does_not_know():
    model = SORR(Multiclass(), kernel="linear", task_loss=lambda true, found: float(true != found)).fit(
        X, WORDS
    )
    assert model.score(X, ["new"] * 6) == 0.0
    with pytest.raises(ValueError, match=r"unknown label 'new' at y\[0\]; known labels"):
        SORR(Multiclass(), kernel="linear").fit(X, WORDS).score(X, ["new"] * 6)


def test_labels_are_counted_before_anything_is_predicted(monkeypatch):
    model = SORR("dirac", kernel="linear").fit(X, WORDS)
    monkeypatch.setattr(SORR, "pre_images", None)
    with pytest.raises(ValueError, match="y has 2 outputs, but X has 6 samples: one output per sample"):
        model.score(X, WORDS[:2])
    with pytest.raises(ValueError, match="the target y is None"):
        model.score(X, None)


@pytest.mark.parametrize(
    "kernel", [NGram(1) + NGram(2), NGram(1) * Dirac(), 2.0 * NGram(2) ** 2, Hamming() + Dirac()]
)
def test_wrong_inputs_are_named_by_place(kernel, tmp_path):
    model = SORR("dirac", kernel=kernel).fit(WORDS, WORDS)
    model.save(tmp_path / "m.palmette")
    for ask in (model.predict, palmette.load(tmp_path / "m.palmette").predict, lambda x: model.fit(x, WORDS)):
        with pytest.raises(TypeError, match=r"X\[2\] must be a string or a sequence of symbols, got int: 3"):
            ask(with_bad(WORDS, 3))


def test_sequences_of_rows_as_outputs():
    message = r"y\[1\] must be a table, one row for each place, got str: 'ab'"
    with pytest.raises(TypeError, match=message):
        SORR(Joined(Linear()), kernel="linear").fit(X[:2], [np.eye(2), "ab"])
    with pytest.raises(ValueError, match=r"y\[1\] has 3 columns, the first training sequence 2"):
        SORR(Joined(Linear()), kernel="linear").fit(X[:2], [np.eye(2), np.eye(3)])


def test_single_numbers_are_told_how_to_become_rows():
    for output in ("linear", RBF()):
        with pytest.raises(
            ValueError, match=r"y is single numbers, .* of tables: np.reshape\(y, \(-1, 1\)\)"
        ):
            SORR(output, kernel="linear").fit(X, X[:, 0])
    found = SORR("linear", kernel="linear").fit(X, X[:, :1]).predict(X)
    assert found.shape == (6, 1)


def test_real_numbers_as_classes_are_warned_of(recwarn):
    SORR("dirac", kernel="linear").fit(X, [1.0, 2.0, 1.0, 2.0, 1.0, 3.0])
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"y\[1\] = 0.5 is a real number: only equal numbers count as alike"):
        SORR("dirac", kernel="linear").fit(X, [1.0, 0.5, 0.1, 2.0, 1.0, 3.0])


def test_arrays_of_objects_and_strings_of_numpy():
    strings, lists = np.array(WORDS, object), np.empty(6, object)
    lists[:] = [list(word) + ["x"] * (word == "ef") for word in WORDS]
    plain = SORR("dirac", kernel=NGram(1)).fit(WORDS, WORDS)
    for given in (strings, lists, np.array(WORDS)):
        assert plain.predict(given)[:4] == plain.predict(WORDS)[:4]
    assert SORR("dirac", kernel=NGram(1)).fit(lists, WORDS).predict(lists) == plain.predict(WORDS)
    for output in ("dirac", "hamming", NGram(1), Multiclass()):
        texts = [np.str_(word) for word in WORDS]
        assert set(map(type, SORR(output, kernel=NGram(1)).fit(WORDS, texts).predict(WORDS))) == {str}
    found = SORR("hamming", kernel=NGram(1)).fit(WORDS, lists).predict(WORDS)
    assert found.dtype == object and found[0] == ["a", "b"] and len(found[4]) == 3
    rows = (
        SORR("hamming", kernel=NGram(1)).fit(WORDS, np.array([list(word) for word in WORDS])).predict(WORDS)
    )
    assert rows.shape == (6, 2)


def test_memory_of_outputs_is_asked_for_first(monkeypatch):
    asked = []
    kernel = Custom(lambda a, b: asked.append(1) or float(a == b), of="pairs")
    monkeypatch.setenv("PALMETTE_MEMORY", "100")
    with pytest.raises(
        TooLarge, match=r"kernel values of 6 x 6 different outputs: .* limit is 100 bytes .*'dirac'"
    ):
        CandidateOutputs(kernel).fit(list("abcdef"))
    with pytest.raises(TooLarge, match=r"of 20 candidates and 2 different outputs: .* give fewer candidates"):
        CandidateOutputs(kernel, list(range(20))).fit(list("ab"))
    assert len(asked) <= 8  # of two outputs
    with pytest.raises(TooLarge, match="losses of 6 candidates against 6 different outputs"):
        TaskLossOutputs(DiracOutputs(), lambda a, b: asked.append(1)).fit(list("abcdef"))
    assert len(asked) <= 8


def test_graphs_say_which_output_is_none():
    inputs = [(np.eye(2), [(0, 1)])] * 2
    space = output_space(Graph()).fit([["u", "v"], ["v", "v"]], inputs)
    with pytest.raises(TypeError, match=r"y\[1\] is 3, a int; an output of Graph is a list"):
        space.check_given([["u", "v"], 3], inputs)
