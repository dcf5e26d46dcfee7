"""Exact sums of eight graphs of a shape at once: against the junction tree in logarithms, which is enumerated."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.inference import FactorGraph, junction_sums
from palmette.inference.factor_graph import Topology
from palmette.inference.junction_sums import exact_sums
from palmette.inference.junction_tree import JunctionTree


@st.composite
def topologies(draw):
    """Any shape and arity, variables with one state, without factors, and components among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    while math.prod(cards) > 2000:
        cards.pop()
    arities = draw(st.lists(st.integers(2, 4), max_size=9))
    scopes = [tuple(rng.permutation(len(cards))[:arity].tolist()) for arity in arities if arity <= len(cards)]
    return Topology.from_scopes(cards, scopes)


def some(topology, rng, n, scale=2.0):
    """Graphs of a shape, with tables that factors share in every second one."""
    out = []
    for k in range(n):
        start = topology.table_ptr[:-1] if k % 2 else np.zeros(topology.n_factors, np.int64)
        size = topology.table_ptr[-1] if k % 2 else topology.table_sizes.max(initial=0)
        out.append(
            FactorGraph(
                topology,
                scale * rng.normal(size=topology.unary_ptr[-1]),
                scale * rng.normal(size=size),
                start,
            )
        )
    return out


def agree(found, expected):
    assert found.exact and found.log_z == pytest.approx(expected.log_z, rel=1e-12, abs=1e-11)
    np.testing.assert_allclose(found.unary, expected.unary, atol=1e-12)
    np.testing.assert_allclose(found.factor, expected.factor, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(topologies(), st.integers(0, 10**6), st.sampled_from([1, 3, 8, 11]), st.sampled_from([2, 8, 256]))
def test_sums_are_those_in_logarithms(topology, seed, n, max_block):
    graphs = some(topology, np.random.default_rng(seed), n)
    tree = JunctionTree.of(topology)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(junction_sums, "_MAX_BLOCK", max_block)  # cliques in many blocks, too
        for found, graph in zip(exact_sums(tree, graphs), graphs, strict=True):
            agree(found, tree.sum(graph))


def grid(side, n_states):
    place = np.arange(side**2).reshape(side, side)
    pairs = [*zip(place[:, :-1].ravel(), place[:, 1:].ravel()), *zip(place[:-1].ravel(), place[1:].ravel())]
    return Topology.from_scopes([n_states] * side**2, pairs)


def test_what_a_graph_gets_does_not_depend_on_the_others():
    topology = grid(3, 3)
    tree, graphs = JunctionTree.of(topology), some(topology, np.random.default_rng(0), 13)
    for together, graph in zip(exact_sums(tree, graphs), graphs):
        (alone,) = exact_sums(tree, [graph])
        assert together.log_z == alone.log_z
        np.testing.assert_array_equal(together.unary, alone.unary)
        np.testing.assert_array_equal(together.factor, alone.factor)


@pytest.mark.parametrize("scale", [3.0, 20.0, 300.0])
def test_where_probabilities_underflow_nothing_is_answered_or_all_is_right(scale):
    topology = grid(6, 2)
    tree, graphs = JunctionTree.of(topology), some(topology, np.random.default_rng(1), 8, scale)
    for found, graph in zip(exact_sums(tree, graphs), graphs):
        assert scale == 20.0 or (found is None) == (scale == 300.0)
        if found is not None:
            agree(found, tree.sum(graph))


def test_forbidden_states_are_left_to_logarithms():
    topology = grid(3, 2)
    graphs = some(topology, np.random.default_rng(2), 3)
    graphs[1].unary[0] = -np.inf
    assert [found is None for found in exact_sums(JunctionTree.of(topology), graphs)] == [False, True, False]


@pytest.mark.parametrize(("n", "n_states"), [(5, 12), (12, 2)])
def test_room_is_what_sums_take(n, n_states):
    cards, pairs = [n_states] * n, list(itertools.combinations(range(n), 2))
    topology = Topology.from_scopes(cards, pairs)
    tree, graphs = JunctionTree.of(topology), some(topology, np.random.default_rng(0), 8)
    exact_sums(tree, graphs[:1])  # what is compiled or imported
    topology.memory.pop("lane_tree")
    tracemalloc.start()
    try:
        exact_sums(tree, graphs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 1.1 * junction_sums.room_needed(tree) + 2e6
