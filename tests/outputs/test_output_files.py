"""Kernels of objects and output spaces in model files: what is loaded predicts the same, and damage is found."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import palmette
from palmette import SSVM, Multiclass
from palmette.kernels import (
    RBF,
    Blurred,
    CommonPath,
    Custom,
    Dirac,
    Hamming,
    Joined,
    Linear,
    NGram,
    Nystroem,
)
from palmette.kernels.stored import kernel_from_state, kernel_state, rows_from_state, rows_state
from palmette.outputs import CandidateOutputs, HammingOutputs, PathOutputs, output_space
from palmette.registry import revive, stored

WORDS, NEW = ["abba", "bab", "cab"], ["abab", "xyzab"]
TABLES = [np.arange(12.0).reshape(2, 6), np.ones((3, 6))]


def shared(x, y):
    return float(len(set(x) & set(y)))


def through_json(header):
    return json.loads(json.dumps(header))


@pytest.mark.parametrize(
    "kernel, given, X, new",
    [
        (NGram((1, 2), weights=(0.5, 1.0), binary=True, normalize=True) ** 2, None, WORDS, NEW),
        (NGram((1, 2), idf=True), None, WORDS, NEW),
        (NGram(2, mismatches=1), None, [[1, (2, "a")], [None, 2.5]], [[1, 2.5, None]]),
        (Hamming(blank=True) + 2.0 * Dirac(), None, WORDS, NEW),
        (CommonPath((0.5, 1.0), separator="."), None, ["1.2", "1.3.4"], ["1.2.9"]),
        (Joined(RBF(), Blurred((2, 3))), None, TABLES, [np.eye(6)]),
        (Custom(shared, of="pairs") * Dirac(), Custom(shared, of="pairs") * Dirac(), WORDS, NEW),
        (Custom(shared, of="pairs"), shared, WORDS, NEW),
    ],
    ids=lambda value: type(value).__name__ + repr(value)[:12],
)
def test_bound_kernels_come_back(kernel, given, X, new):
    bound = kernel.bind(kernel.admit(X))
    support = bound.prepare(kernel.admit(X))
    header, arrays = kernel_state(bound)
    shape, own = rows_state(support)
    again = kernel_from_state(through_json(header), arrays, given)
    rows = rows_from_state(through_json(shape), own)
    again.check_support("the support", rows, 0)
    expected = bound.cross(bound.prepare(new), support)
    np.testing.assert_array_equal(again.cross(again.prepare(new), rows), expected)
    np.testing.assert_array_equal(again.diagonal(again.prepare(new)), bound.diagonal(bound.prepare(new)))


@pytest.mark.parametrize(
    "space, y",
    [
        (output_space("dirac"), ["a", ("b", 1), ["c"]]),
        (output_space(Hamming(blank=True)), ["ab", "b"]),
        (HammingOutputs(lengths="known"), [["a", 1], [1, 1]]),
        (CandidateOutputs(Hamming(), lengths="known"), ["ab", "b"]),
        (PathOutputs(CommonPath((0.5, 1.0)), ends="any"), [("a", "b"), ("c",)]),
        (CandidateOutputs(NGram(1), ["ab", "cc"]), ["ab", "b"]),
        (output_space(RBF()), [[0.5, 1.0], [2.0, 1.0]]),
        (output_space(shared), ["ab", "b"]),
        (output_space("hamming", task_loss=lambda true, found: shared(true, found)), ["ab", "ba"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_fitted_spaces_come_back(space, y, rng):
    fitted = space.fit(y, y)
    header, arrays = stored(fitted)
    again = revive("output", through_json(header), arrays, {"output": shared})
    assert type(again) is type(fitted) and again.constant_norm == fitted.constant_norm
    votes = rng.normal(size=(5, fitted.ballots.shape[1]))
    found, expected = (own.pre_images(votes, [y[0]] * 5) for own in (again, fitted))
    assert found.outputs == expected.outputs and found.method == expected.method
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(again.kernel_losses(y, y[::-1]), fitted.kernel_losses(y, y[::-1]))


def test_a_learner_with_a_sum_of_kernels_is_saved(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=20)
    for kernel in (RBF() * Linear() + 1.0, Nystroem(RBF() + Linear(), 10)):
        model = SSVM(Multiclass(), kernel=kernel, tol=0.5).fit(X, y)
        file = io.BytesIO()
        model.save(file)
        np.testing.assert_array_equal(palmette.load(file).predict(X), model.predict(X))


def test_learners_of_rows_refuse_kernels_of_objects():
    for kernel in (NGram(2), Nystroem(NGram(2))):
        with pytest.raises(TypeError, match=r"compares objects, but SSVM learns from rows of numbers"):
            SSVM(Multiclass(), kernel=kernel).fit([[1.0], [2.0]], [0, 1])


def test_nystroem_features_of_objects():
    kernel = NGram(2) ** 2
    features = Nystroem(kernel, 3).fit(WORDS)
    np.testing.assert_allclose(
        features.transform(WORDS) @ features.transform(WORDS).T, kernel(WORDS), atol=1e-9
    )
    assert features.transform(NEW).shape == (2, 3)


def _changed(space, y, change):
    header, arrays = stored(space.fit(y))
    change(header, arrays)
    return lambda: revive("output", header, arrays)


@pytest.mark.parametrize(
    "damaged, message",
    [
        (_changed(output_space("dirac"), ["a"], lambda h, a: h["kept"].pop("outputs_")), "keeps"),
        (
            _changed(output_space("dirac"), ["a"], lambda h, a: h["kept"].update(outputs_={"list": ["b"]})),
            "not those of",
        ),
        (
            _changed(output_space("hamming"), ["a"], lambda h, a: h["kept"].update(longest_=9)),
            "longest_ must be",
        ),
        (
            _changed(
                output_space("hamming"),
                ["a"],
                lambda h, a: h["kernel"]["learned"].update(alphabet=["a", "a"]),
            ),
            "a symbol twice",
        ),
        (
            _changed(PathOutputs(), [("a",)], lambda h, a: a.update({"kept.ends_": np.array([3])})),
            "out of range",
        ),
        (
            _changed(
                PathOutputs(), [("a",)], lambda h, a: a.update({"kernel.learned.parents": np.array([0])})
            ),
            "which comes later",
        ),
        (
            _changed(CandidateOutputs(NGram(1)), ["a"], lambda h, a: h["kernel"].update(name="os")),
            "kind 'os'",
        ),
        (
            _changed(CandidateOutputs(NGram(1)), ["a"], lambda h, a: h["kernel"].update(name="Nystroem")),
            "expected a",
        ),
        (
            _changed(
                CandidateOutputs(NGram(1)),
                ["a"],
                lambda h, a: a.update({"kernel.learned.1": np.array([[7]], np.int32)}),
            ),
            "out of range",
        ),
        (
            _changed(
                output_space("dirac", shared),
                ["a"],
                lambda h, a: a.update({"kept.losses_": np.zeros((1, 2))}),
            ),
            "2 columns for 1 candidates",
        ),
    ],
)
def test_damage_is_found(damaged, message):
    with pytest.raises(ValueError, match=message):
        damaged()
