"""Sums of task losses over the paths and subtrees of a tree: the lowest by inference is the lowest of all outputs."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from sklearn.model_selection import KFold

import palmette
from palmette import SORR, SORRCV, Folding, Hierarchy, Ranking
from palmette.errors import MissingCapability
from palmette.losses import CommonPath, FirstMistakes, SymmetricDifference
from palmette.losses.base import resolve_loss
from palmette.outputs import PartLossOutputs, WholeOutputs, output_space
from palmette.registry import revive, stored
from palmette.structures import HierarchyTables
from palmette.testing import HierarchyReference

TREE = {"a": {"p": ["u", "v"], "q": []}, "b": ["r"], "c": []}
MODES = list(itertools.product((False, True), repeat=2))
LOSSES = [
    "common_path", CommonPath(normalize=True), "symmetric_difference", SymmetricDifference([4.0, 2.0, 1.0]),
    SymmetricDifference({"a.p": 0.0, "b": 2.5}), "first_mistakes", FirstMistakes([2.0, 1.0, 0.5]), "zero_one", "auto",
]  # fmt: skip


def truths(inner_ends, multi_label, rng, n=4):
    """A structure, all of its outputs in the order of their codes, and some training outputs."""
    structure, outputs = everything(inner_ends, multi_label)
    return structure, outputs, [outputs[k] for k in rng.integers(len(outputs), size=n)]


@cache
def everything(inner_ends, multi_label):
    structure = Hierarchy(TREE, inner_ends=inner_ends, multi_label=multi_label)
    every = HierarchyReference(structure.nodes.nodes, inner_ends, multi_label).outputs(None, 0)
    codec = structure.make_codec([["a.p.u"]] if multi_label else ["a.p.u"], None, np.empty(0))
    return structure, [codec.decode(codes) for codes in sorted(every)]


def losses_of(structure, loss, codec, true, outputs):
    """All losses, (true, outputs), as learners of structures have them."""
    bound = resolve_loss(loss, structure, codec.classes_)
    pairs = list(itertools.product(true, outputs))
    one, other = (codec.encode_outputs(list(each), []) for each in zip(*pairs))
    theta = HierarchyTables.of(np.zeros((len(pairs), len(codec.classes_))))
    return bound.value(structure.bind(codec.classes_), theta, one, other).reshape(len(true), len(outputs))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("inner_ends, multi_label", MODES)
def test_the_lowest_sum_of_losses_of_all_outputs(loss, inner_ends, multi_label, rng):
    if multi_label and "ommon" in str(loss):
        structure, _, y = truths(inner_ends, multi_label, rng)
        with pytest.raises(MissingCapability, match="use task_loss='first_mistakes'"):
            output_space(structure, loss).fit(y)
        return
    for _ in range(6):
        structure, outputs, y = truths(inner_ends, multi_label, rng)
        a = rng.integers(-8, 9, size=(25, 4)) / 8.0  # sums are exact, so that ties are ties
        space = output_space(structure, loss).fit(y)
        losses = losses_of(structure, loss, space.codec_, y, outputs)
        sums, votes = a @ losses, a @ space.ballots.toarray()
        found = space.pre_images(votes)
        np.testing.assert_allclose(found.values, sums.min(axis=1), atol=1e-12)
        assert found.exact.all()
        np.testing.assert_allclose(space.values(votes, outputs), sums, atol=1e-12)
        np.testing.assert_allclose(space.task_losses(y, outputs[:1] * 4), losses[:, 0])
        if not getattr(loss, "normalize", False):  # thirds are not exact
            assert found.outputs == [outputs[k] for k in sums.argmin(axis=1)]  # of ties the lowest codes


def test_an_output_that_nobody_votes_for():
    """All votes are against: something else is predicted, unless there is nothing else."""
    votes = np.array([[-0.25, -0.5, -0.25]])
    space = output_space(Hierarchy(["a.x", "a.y", "b.z", "c"]), "zero_one").fit(["a.x", "b.z", "c"])
    assert space.pre_images(votes @ space.ballots.toarray()).outputs == ["a.y"]
    space = output_space(Hierarchy(), "zero_one").fit(["a.x", "b.z", "c"])
    assert space.pre_images(votes @ space.ballots.toarray()).outputs == ["c"]  # of two the lowest codes


@pytest.mark.parametrize("loss", ["symmetric_difference", FirstMistakes([1.0, 0.5, 2.0]), "zero_one", "auto"])
def test_learners_predict_score_and_come_back(loss, tmp_path, rng):
    paths = ["a.p.u", "a.p.v", "a.q", "b.r"]
    X = rng.normal(size=(24, 3))
    y = [paths[k] for k in rng.integers(4, size=24)]
    structure = Hierarchy(TREE, inner_ends=True)
    model = SORR(structure, kernel="linear", l2=0.5, fit_intercept=True, task_loss=loss).fit(X, y)
    found = model.pre_images(X)
    assert found.exact.all()
    every = truths(True, False, rng)[1]
    table = losses_of(structure, loss, model.space_.codec_, y, every)
    np.testing.assert_allclose(found.values, (model.coefficients(X) @ table).min(axis=1), atol=1e-10)
    of_predictions = [table[i, every.index(path)] for i, path in enumerate(model.predict(X))]
    assert model.score(X, y) == pytest.approx(1.0 - np.mean(of_predictions))
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.predict(X) == model.predict(X) and again.score(X, y) == model.score(X, y)


@pytest.mark.parametrize(
    "space", [PartLossOutputs(Hierarchy(TREE), "first_mistakes"), WholeOutputs(Hierarchy(TREE))]
)
def test_spaces_of_losses_are_outputs_of_learners(space, tmp_path, rng):
    X, y = rng.normal(size=(4, 2)), ["a.q", "c", "a.p.u", "c"]
    model = SORR(space, kernel="linear").fit(X, y)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.predict(X) == model.predict(X)
    named = SORR(Hierarchy(TREE), kernel="linear", task_loss=getattr(space, "task_loss", "zero_one")).fit(
        X, y
    )
    assert named.predict(X) == model.predict(X)


@pytest.mark.parametrize("loss", ["first_mistakes", "zero_one"])
def test_searches_score_by_the_task_loss(loss, rng):
    paths = ["a.p.u", "a.p.v", "a.q", "b.r"]
    X = rng.normal(size=(24, 3))
    y = [paths[k] for k in (X @ rng.normal(size=(3, 4))).argmax(axis=1)]
    cv, options = KFold(3), {"fit_intercept": True, "task_loss": loss}
    search = SORRCV(Hierarchy(TREE), kernels=["linear"], l2s=[10.0, 0.1], cv=cv, **options).fit(X, y)
    for k, l2 in enumerate((10.0, 0.1)):
        for fold, (train, test) in enumerate(cv.split(X)):
            model = SORR(Hierarchy(TREE), kernel="linear", l2=l2, **options)
            model.fit(X[train], [y[i] for i in train])
            expected = model.score(X[test], [y[i] for i in test])
            assert search.cv_scores_[0, k, fold] == pytest.approx(expected)


def test_damaged_files_of_whole_outputs_are_refused():
    structure = Hierarchy(TREE)
    header, arrays = stored(output_space(structure, "zero_one").fit(["a.q", "c"]))
    again = revive("output", header, arrays, {"output": structure})
    assert again.pre_images(np.array([[0.0, 1.0]])).outputs == ["a.q"]
    for damaged, message in (
        (arrays["kept.seen_"][:, 1:], "expected 8 codes"),
        (1 - arrays["kept.seen_"], "y.0."),
    ):
        with pytest.raises(ValueError, match=message):
            revive("output", header, {**arrays, "kept.seen_": damaged}, {"output": structure})


def test_other_structures_say_what_to_give_instead():
    for structure, y in ((Folding(), ["((....))"]), (Ranking(), [[2, 1, 0]])):
        X = ["GGAAAACC"] if isinstance(structure, Folding) else [np.eye(3)]
        with pytest.raises(
            MissingCapability, match="cannot be the output of a regression: give a kernel of outputs"
        ):
            output_space(structure).fit(y, X)
        with pytest.raises(
            MissingCapability, match=f"^{type(structure).__name__} with task_loss='zero_one': it has"
        ):
            output_space(structure, "zero_one").fit(y, X)
    with pytest.raises(MissingCapability, match="use task_loss='common_path'"):
        output_space(Hierarchy(), "hamming").fit(["a.x"])
