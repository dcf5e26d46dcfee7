"""Outputs of structures: the best of all that a structure allows, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from palmette import Chain, Graph, Multiclass
from palmette.contracts.structure import Best
from palmette.errors import MissingCapability
from palmette.losses import Hamming
from palmette.outputs import output_space
from palmette.registry import revive, stored

ALLOWED = {"a": ["a", "b"], "b": ["b", "c"], "c": ["a"]}
ENDS = [pair for label in "abc" for pair in ((None, label), (label, None))]
RULES = [(u, v) for u in ALLOWED for v in ALLOWED[u]] + ENDS
SEQUENCES = [["a", "b", "c"], ["b", "c"], ["a", "a", "b", "c"]]
weights = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3)


def common(x, y):
    return sum(u == v for u, v in zip(x, y))


@given(weights, st.integers(1, 5))
def test_chains_with_forbidden_transitions(a, size):
    space = output_space(Chain(allowed=RULES)).fit(SEQUENCES)
    found = space.pre_images((space.rows.T @ np.array(a))[None], ["x" * size])
    values = {
        y: size - 2.0 * sum(c * common(y, z) for c, z in zip(a, SEQUENCES))
        for y in product("abc", repeat=size)
        if all(v in ALLOWED[u] for u, v in zip(y, y[1:]))
    }
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[tuple(found.outputs[0])] == pytest.approx(min(values.values()), abs=1e-9)
    assert found.exact[0] and found.method == "inference"


@given(weights)
def test_costs_of_confusions_are_minimised_by_inference(a):
    costs = {("a", "b"): 3.0, ("b", "a"): 0.5}
    table = {(u, v): float(u != v) for u in "abc" for v in "abc"} | costs
    space = output_space(Chain(allowed=RULES), task_loss=Hamming(costs)).fit(SEQUENCES)
    found = space.pre_images((space.ballots.T @ np.array(a))[None], ["xxx"])
    values = {
        y: sum(c * sum(table[u, v] for u, v in zip(z, y)) for c, z in zip(a, SEQUENCES))
        for y in product("abc", repeat=3)
        if all(v in ALLOWED[u] for u, v in zip(y, y[1:]))
    }
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[tuple(found.outputs[0])] == pytest.approx(min(values.values()), abs=1e-9)


@given(weights)
def test_one_label_is_a_vote(a):
    y = ["b", "a", "b"]
    space, dirac = output_space(Multiclass()).fit(y), output_space("dirac").fit(y)
    found, expected = (each.pre_images((each.rows.T @ np.array(a))[None], [[0.0]]) for each in (space, dirac))
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    costs = np.array([[0.0, 5.0], [1.0, 0.0]])
    decoded = (
        output_space(Multiclass(), task_loss=costs).fit(y).pre_images((space.rows.T @ np.array(a))[None], [0])
    )
    votes = np.array([a[1], a[0] + a[2]])
    assert decoded.values[0] == pytest.approx((votes @ costs).min(), abs=1e-9)


def test_graphs_are_asked_with_their_edges(rng):
    X = [(rng.normal(size=(3, 2)), [(0, 1), (1, 2)]), (rng.normal(size=(2, 2)), [(0, 1)])]
    y = [["u", "v", "u"], ["v", "v"]]
    space = output_space(Graph()).fit(y, X)
    found = space.pre_images(space.rows.toarray(), X)
    assert found.outputs == y and found.exact.all()
    np.testing.assert_allclose(found.values, [-3.0, -2.0])


def test_a_function_of_outputs_is_tried_on_candidates():
    y = [["a", "b"], ["b", "b"], ["a", "a"]]
    space = output_space(Chain(), task_loss=lambda true, found: float(true != found)).fit(y, y)
    found = space.pre_images(np.array([[0.2, 0.5, 0.3]]))
    assert found.outputs == [["b", "b"]] and found.method == "candidates"


class Pairs(Chain):
    """Names its parts: the labels of both positions, one of which must be "b"."""

    def part_features(self, codes, offsets):
        return sparse.csr_array(np.eye(2)[codes].reshape(len(offsets) - 1, 4))

    def output_offsets(self, sized):
        return 2 * np.arange(len(sized) + 1)

    def best_by_parts(self, sized, gains):
        choices = np.array([[0, 1], [1, 0], [1, 1]])
        values = np.stack([gains[:, u] + gains[:, 2 + v] for u, v in choices], axis=1)
        return Best(choices[values.argmax(axis=1)].ravel(), values.max(axis=1))


@given(weights)
def test_structures_that_name_their_parts(a):
    y = [["a", "b"], ["b", "b"], ["b", "a"]]
    space = output_space(Pairs()).fit(y)
    np.testing.assert_allclose(space.gram(y, y), [[common(u, v) for v in y] for u in y])
    found = space.pre_images((space.rows.T @ np.array(a))[None])
    values = [2.0 - 2.0 * sum(c * common(u, v) for c, v in zip(a, y)) for u in y]
    assert found.values[0] == pytest.approx(min(values), abs=1e-9)
    assert values[y.index(found.outputs[0])] == pytest.approx(min(values), abs=1e-9)
    assert space.constant_norm


@pytest.mark.parametrize("loss", [None, "hamming"])
def test_values_of_given_outputs_are_those_of_pre_images(loss, rng):
    space = output_space(Chain(), loss).fit(SEQUENCES)
    votes = rng.normal(size=(4, space.ballots.shape[1]))
    for size in (2, 5):
        found = space.pre_images(votes, ["x" * size] * 4)
        among = space.best_among(votes, [list(y) for y in product("abc", repeat=size)])
        np.testing.assert_allclose(among.values, found.values)
        assert among.outputs[0][:4] == found.outputs[0][:4]  # beyond the longest training output nobody votes


def test_lengths_of_outputs_may_differ():
    space = output_space(Chain()).fit(SEQUENCES)
    longer = [["a"] * 6, ["c"]]
    np.testing.assert_allclose(
        space.gram(longer, SEQUENCES), [[common(u, v) for v in SEQUENCES] for u in longer]
    )
    np.testing.assert_allclose(space.pairs(longer, SEQUENCES[:2]), [1.0, 0.0])
    np.testing.assert_allclose(space.norms(longer), [6.0, 1.0])


@pytest.mark.parametrize("loss", [None, "hamming"])
def test_structured_spaces_come_back_from_files(loss, rng):
    space = output_space(Chain(allowed=RULES), loss).fit(SEQUENCES)
    header, arrays = stored(space)
    again = revive("output", header, arrays, {"output": Chain(allowed=RULES)})
    votes = rng.normal(size=(4, space.ballots.shape[1]))
    assert again.pre_images(votes, ["xx"] * 4).outputs == space.pre_images(votes, ["xx"] * 4).outputs
    with pytest.raises(ValueError, match="needs it again"):
        revive("output", header, arrays, {"output": "dirac"})


def test_bad_structured_outputs_are_refused():
    with pytest.raises(ValueError, match="need the 1 inputs; none are given"):
        output_space(Chain()).fit(SEQUENCES).pre_images(np.zeros((1, 12)))
    with pytest.raises(ValueError, match=r"X\[0\] has 2 positions but y\[0\] has 3 labels"):
        output_space(Chain()).fit(SEQUENCES, ["xx", "xx", "xxxx"])
    with pytest.raises(MissingCapability, match="is no cost of positions"):
        output_space(Chain(), task_loss="zero_one").fit(SEQUENCES)
    with pytest.raises(MissingCapability, match="no sum over the parts of an output, so that Pairs cannot"):
        output_space(Pairs(), task_loss="hamming").fit(SEQUENCES)
    with pytest.raises(MissingCapability, match="with Pairs, which has no first_besides: give a function"):
        output_space(Pairs(), task_loss="zero_one")


def test_losses_of_confusions_are_those_of_predictions():
    costs = {("a", "b"): 3.0, ("b", "a"): 0.5}
    space = output_space(Chain(), task_loss=Hamming(costs)).fit(SEQUENCES)
    found = space.task_losses([["a", "b", "c"], ["b"], ["a"]], [["b", "a", "a"], ["b"], ["c", "c"]])
    np.testing.assert_allclose(found, [4.5, 0.0, 1.0])
    assert output_space(Chain()).fit(SEQUENCES).task_losses([["a", "b"]], [["c", "b"]]) == [1.0]
