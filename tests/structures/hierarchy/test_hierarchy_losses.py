"""Losses of paths and of sets of paths against their definitions, on all pairs of outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from palmette import SSVM, Chain, Hierarchy
from palmette.errors import MissingCapability
from palmette.losses import (
    CommonPath,
    FirstMistakes,
    SymmetricDifference,
    ZeroOne,
    rescaled_best,
    resolve_rescaling,
)
from palmette.structures import HierarchyTables
from palmette.testing import HierarchyReference

TREE = {"a": {"p": ["u", "v"], "q": []}, "b": ["r"], "c": []}
WEIGHTS = {("a",): 3.0, "a.p.u": 0.5, "b": 0.0}
MODES = list(itertools.product((False, True), repeat=2))


def setting(inner_ends: bool, multi_label: bool):
    structure = Hierarchy(TREE, inner_ends=inner_ends, multi_label=multi_label)
    nodes = structure.nodes.nodes
    outputs = HierarchyReference(nodes, inner_ends, multi_label).outputs(None, 0)
    return structure, nodes, outputs


def weight_of(node, weights):
    return weights.get(node, weights.get(".".join(node), 1.0))


def common_path(nodes, true, answer, _):
    one, other = ([n for n, code in zip(nodes, y) if code] for y in (true, answer))
    return max(len(one), len(other)) - len(set(one) & set(other))


def symmetric_difference(nodes, true, answer, weights):
    return sum(weight_of(n, weights) for n, a, b in zip(nodes, true, answer) if a != b)


def first_mistakes(nodes, true, answer, weights):
    one, other = ({n for n, code in zip(nodes, y) if code} for y in (true, answer))
    return sum(
        weight_of(n, weights) for n in one ^ other if len(n) == 1 or (n[:-1] in one and n[:-1] in other)
    )


def zero_one(nodes, true, answer, _):
    return float(true != answer)


LOSSES = [
    (CommonPath(), common_path, {}), (SymmetricDifference(), symmetric_difference, {}),
    (SymmetricDifference(WEIGHTS), symmetric_difference, WEIGHTS), (FirstMistakes(), first_mistakes, {}),
    (FirstMistakes(WEIGHTS), first_mistakes, WEIGHTS), (ZeroOne(), zero_one, {}),
]  # fmt: skip


@pytest.mark.parametrize("inner_ends, multi_label", MODES)
@pytest.mark.parametrize(
    "loss, definition, weights", LOSSES, ids=lambda each: getattr(each, "__name__", None)
)
def test_losses_are_their_definitions_and_their_maxima_exact(
    loss, definition, weights, inner_ends, multi_label
):
    structure, nodes, outputs = setting(inner_ends, multi_label)
    if multi_label and isinstance(loss, CommonPath):
        with pytest.raises(MissingCapability, match="first_mistakes"):
            loss.bind(structure, nodes)
        return
    bound = loss.bind(structure, nodes)
    rng = np.random.default_rng(0)
    pairs = list(itertools.product(outputs, repeat=2))
    some = pairs if len(pairs) < 200 else [pairs[k] for k in rng.permutation(len(pairs))[:200]]
    theta = HierarchyTables.of(np.zeros((len(some), len(nodes))))
    true, answer = (np.array(each, np.int32).ravel() for each in zip(*some))
    expected = [definition(nodes, *pair, weights) for pair in some]
    assert bound.value(structure, theta, true, answer) == pytest.approx(expected, abs=1e-12)
    # max_y f(y) + D(true, y), and the largest loss
    truths = [outputs[k] for k in rng.integers(len(outputs), size=5)]
    theta = HierarchyTables.of(rng.normal(size=(5, len(nodes))))
    codes = np.array(truths, np.int32).ravel()
    found = bound.augmented_best(structure, theta, codes)
    every = np.array(outputs)
    costs = np.array([[definition(nodes, y, other, weights) for other in outputs] for y in truths])
    assert found.values == pytest.approx((theta.node @ every.T + costs).max(axis=1))
    assert np.all(bound.largest(structure, theta, codes) >= costs.max(axis=1) - 1e-9)
    # Multiples of the unit, none between 0 and the least.
    if getattr(bound, "unit", None):
        assert np.allclose(costs / bound.unit, np.rint(costs / bound.unit))
        assert costs[costs > 1e-12].min() >= bound.least - 1e-12


@pytest.mark.parametrize("loss", [CommonPath(), SymmetricDifference(WEIGHTS), FirstMistakes()], ids=str)
@pytest.mark.parametrize("margin", [True, False])
def test_rescaled_maxima_are_exact(loss, margin):
    """``max_y D (f(y) - f(true)) + D`` by search and by all paths."""
    structure, nodes, outputs = setting(False, False)
    bound, rng = loss.bind(structure, nodes), np.random.default_rng(3)
    theta = HierarchyTables.of(rng.normal(size=(6, len(nodes))))
    true = np.array([outputs[k] for k in rng.integers(len(outputs), size=6)], np.int32)
    found = rescaled_best(bound, structure, theta, true.ravel(), resolve_rescaling("slack"), margin=margin)
    every, zero = np.array(outputs, np.int32), HierarchyTables.of(np.zeros((len(outputs), len(nodes))))
    for s in range(6):
        costs = bound.value(structure, zero, np.tile(true[s], len(outputs)), every.ravel())
        gaps = (every - true[s]) @ theta.node[s]
        best = (costs * gaps + margin * costs).max()
        assert found.values[s] == pytest.approx(max(best, 0.0))
        assert found.upper[s] == pytest.approx(found.values[s], abs=1e-6)


@pytest.mark.parametrize("inner_ends, multi_label", MODES)
def test_normalised_losses_are_multiples_in_the_unit_interval(inner_ends, multi_label):
    structure, nodes, outputs = setting(inner_ends, multi_label)
    pairs = list(itertools.product(outputs[::2], outputs[:40]))
    theta = HierarchyTables.of(np.zeros((len(pairs), len(nodes))))
    true, answer = (np.array(each, np.int32).ravel() for each in zip(*pairs))
    for kind in (CommonPath, SymmetricDifference, FirstMistakes):
        if kind is CommonPath and multi_label:
            continue
        plain, scaled = (
            kind(normalize=normalize).bind(structure, nodes).value(structure, theta, true, answer)
            for normalize in (False, True)
        )
        assert scaled.max() <= 1.0 + 1e-12
        assert np.allclose(plain, scaled * (plain.max() / scaled.max()))
    whole = CommonPath(True).bind(Hierarchy(["a.x", "b.y"]), (("a",), ("a", "x"), ("b",), ("b", "y")))
    two = HierarchyTables.of(np.zeros((1, 4)))
    assert whole.value(None, two, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])).tolist() == [1.0]


def test_outputs_that_agree_with_a_prefix_cost_nothing():
    structure, nodes, outputs = setting(False, False)
    known = np.array([1, -1, -1, -1, -1, 0, 0, 0], np.int32)
    every = np.array(outputs, np.int32)
    theta = HierarchyTables.of(np.zeros((len(outputs), len(nodes))))
    agrees = every[:, 0] == 1
    for loss in (CommonPath(), SymmetricDifference(), FirstMistakes(), ZeroOne()):
        found = loss.bind(structure, nodes).value(
            structure, theta, np.tile(known, len(outputs)), every.ravel()
        )
        assert np.all(found[agrees] == 0.0)
        assert np.all(found[~agrees] > 0.0)


def test_levels_that_a_truth_may_have_cost_nothing():
    """Of "c" it is not known whether a level 3 follows: nodes of levels 2 and 3 may be right."""
    structure, nodes, outputs = setting(False, False)
    known = np.array([0, 0, -1, 0, 0, 0, 0, 1], np.int32)
    theta = HierarchyTables.of(np.zeros((len(outputs), len(nodes))))
    found = (
        CommonPath()
        .bind(structure, nodes)
        .value(structure, theta, np.tile(known, len(outputs)), np.array(outputs, np.int32).ravel())
    )
    assert found.tolist() == [float(not y[7]) for y in outputs]


def test_a_known_node_has_its_parents():
    structure, nodes, outputs = setting(False, False)
    theta = HierarchyTables.of(np.zeros((len(outputs), len(nodes))))
    every = np.array(outputs, np.int32).ravel()
    for loss in (CommonPath(), SymmetricDifference(), FirstMistakes()):
        child, both = (
            loss.bind(structure, nodes).value(structure, theta, np.tile(known, len(outputs)), every)
            for known in ([-1, -1, -1, -1, 1, 0, -1, 0], [1, -1, -1, -1, 1, 0, -1, 0])
        )
        assert child.tolist() == both.tolist() and child.max() > 0.0


@pytest.mark.parametrize(
    "loss, words",
    [
        (SymmetricDifference([1.0]), "one number for each of the 3 levels"),
        (SymmetricDifference({"a.z": 1.0}), "weights name 'a.z', which is no node"),
        (FirstMistakes({"a": -1.0}), r"the weight of \('a',\) is -1; it must be finite and at least 0"),
    ],
)
def test_weights_that_are_none(loss, words):
    structure, nodes, _ = setting(False, False)
    with pytest.raises(ValueError, match=words):
        loss.bind(structure, nodes)


def test_losses_and_structures_that_do_not_fit():
    with pytest.raises(MissingCapability, match="no augmented maximum on Chain"):
        CommonPath().bind(Chain(), ("a",))
    with pytest.raises(MissingCapability, match="'symmetric_difference'"):
        SSVM(Hierarchy(), task_loss="hamming").fit([[0.0], [1.0]], ["a", "b"])
