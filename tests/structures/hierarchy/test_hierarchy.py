"""Every answer of a hierarchy against enumeration, on given and on random trees; what is read off paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import UNKNOWN, Hierarchy
from palmette.errors import InfeasibleError
from palmette.structures import HierarchyRestriction, HierarchyTables, NodeCost, tree_from_edges
from palmette.structures.hierarchy.tree import Tree, given_tree
from palmette.structures.hierarchy.walk import Walk
from palmette.testing import HierarchyReference, check_structure, check_supervision

TREE = {"a": {"p": ["u", "v"]}, "b": ["r"], "c": []}
MODES = list(itertools.product((False, True), repeat=2))


@pytest.mark.parametrize("inner_ends, multi_label", MODES)
def test_every_answer_is_that_of_enumeration(inner_ends, multi_label):
    structure = Hierarchy(TREE, inner_ends=inner_ends, multi_label=multi_label)
    report = check_structure(structure, n_instances=3 if multi_label == inner_ends else 2)
    assert report.missing == ()


@pytest.mark.parametrize("inner_ends, multi_label", [(False, False), (True, True)])
def test_prefixes_of_paths_questions_and_transfer(inner_ends, multi_label):
    structure = Hierarchy(TREE, inner_ends=inner_ends, multi_label=multi_label)
    assert check_supervision(structure, n_instances=1).missing == ()


@st.composite
def trees(draw):
    """Nodes of a tree, each below an earlier one or at the top."""
    nodes: list[tuple[int, ...]] = []
    for k in range(draw(st.integers(1, 8))):
        above = draw(st.sampled_from([(), *nodes]))
        nodes.append((*above, k))
    return nodes


@settings(max_examples=40, deadline=None)
@given(trees(), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_walks_are_all_outputs_of_any_tree(nodes, inner_ends, multi_label, seed):
    """The number of walks, their maximum and their sum are those of all sets of nodes that are outputs."""
    structure = Hierarchy(nodes, inner_ends=inner_ends, multi_label=multi_label)
    reference = HierarchyReference(structure.nodes.nodes, inner_ends, multi_label)
    theta = HierarchyTables.of(np.random.default_rng(seed).normal(size=(1, len(nodes))))
    outputs = reference.outputs(theta, 0)
    scores = [reference.score(theta, 0, y) for y in outputs]
    assert Walk.over(structure.nodes, inner_ends, multi_label).n_outputs == len(outputs)
    assert tuple(structure.best(theta).codes) == outputs[int(np.argmax(scores))]
    assert structure.log_partition(theta)[0] == pytest.approx(math.log(sum(map(math.exp, scores))))


@settings(max_examples=30, deadline=None)
@given(trees())
def test_a_tree_is_what_its_paths_make(nodes):
    tree = Tree.of(nodes, ordered=False)
    tree.check()
    assert set(tree.nodes) == set(nodes)
    below = [[w for w, other in enumerate(tree.nodes) if other[: len(node)] == node] for node in tree.nodes]
    assert below == [list(range(v, stop)) for v, stop in enumerate(tree.stop.tolist())]
    assert tree.along(np.ones(len(tree))).tolist() == tree.level.tolist()
    parents = {node: node[:-1] or None for node in nodes}  # names of nodes are their paths
    assert len(given_tree(parents, ".")) == len(nodes)


def test_forms_of_a_tree():
    """Nested dicts, parents, edges and paths of one tree."""
    nested = given_tree({"a": {"x": {}, "y": {}}, "b": {}}, ".")
    edges = tree_from_edges([("a", "x"), ("a", "y"), (None, "b")])
    for other in (["a.x", "a.y", "b"], {"a": ["x", "y"], "b": []}, edges, [("a", "x"), ["a", "y"], "b"]):
        assert given_tree(other, ".") == nested
    assert given_tree(["a/x"], "/").nodes == (("a",), ("a", "x"))


@pytest.mark.parametrize(
    "tree, words",
    [
        ({"a": "b", "b": "c", "c": "a"}, "tree has a cycle, from node to parent: 'a' -> 'b' -> 'c' -> 'a'"),
        ({"a": "a"}, "cycle"),
        ([], "has no node; leave it out"),
        ({}, "has no node"),
        ("a.b", "is a str; give nested dicts"),
        (7, "is a int; give nested dicts"),
        (["a..b"], r"tree\[0\] = 'a..b' has no label at level 2"),
        ([()], r"tree\[0\] is an empty path"),
        ([("a", UNKNOWN)], r"tree\[0\] has UNKNOWN in it"),
    ],
)
def test_trees_that_are_none(tree, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Hierarchy(tree).make_codec(["a"], None, np.array([1]))


def test_edges_that_make_no_tree():
    with pytest.raises(
        ValueError, match=r"edges\[1\] = \('b', 'x'\) gives 'x' the parent 'b', and an earlier edge 'a'"
    ):
        tree_from_edges([("a", "x"), ("b", "x")])
    with pytest.raises(ValueError, match=r"edges\[0\] = \('a', 'b', 'c'\) is not a pair"):
        tree_from_edges([("a", "b", "c")])


def test_answers_refuse_what_does_not_fit():
    structure = Hierarchy(TREE)
    theta = HierarchyTables.of(np.zeros((2, 7)))
    with pytest.raises(ValueError, match="expected one for each of 7 nodes"):
        structure.best(HierarchyTables.of(np.zeros((2, 3))))
    with pytest.raises(TypeError, match="theta must be HierarchyTables"):
        structure.best(np.zeros((2, 7)))
    with pytest.raises(ValueError, match="cost has shapes"):
        structure.best(theta, cost=NodeCost(np.zeros((1, 7)), np.zeros(1)))
    with pytest.raises(ValueError, match="cost has values that are not finite"):
        structure.best(theta, cost=NodeCost(np.full((2, 7), np.inf), np.zeros(2)))
    with pytest.raises(TypeError, match=r"within\.node must be an array of bool"):
        structure.best(theta, within=HierarchyRestriction(np.ones((2, 7, 2))))
    with pytest.raises(ValueError, match="sample 1, node 6: its code is 2"):
        structure.score(theta, np.array([0] * 13 + [2]))
    with pytest.raises(ValueError, match="not known before it is fitted"):
        Hierarchy().best(theta)
    both = HierarchyRestriction.fixed(np.array([1, *[-1] * 6, *[-1] * 7]), 7)
    neither = HierarchyRestriction.fixed(np.array([-1, -1, -1, -1, 1, -1, -1, *[-1] * 7]), 7)
    with pytest.raises(InfeasibleError, match="sample 0: no output of the tree"):
        structure.best(theta, within=both & neither)
    with pytest.raises(ValueError, match="k must be an integer"):
        structure.k_best(theta, 0)


def test_many_best_outputs_are_all_outputs():
    structure = Hierarchy(TREE, inner_ends=True, multi_label=True)
    (found,) = structure.k_best(HierarchyTables.of(np.zeros((1, 7))), 10**9)
    assert len(found) == structure.best(HierarchyTables.of(np.zeros((1, 7)))).values.size * 36
    assert len({tuple(codes) for codes, _ in found}) == 36


@settings(max_examples=30, deadline=None)
@given(trees(), st.integers(0, 2**32 - 1))
def test_parts_are_what_regression_counts(nodes, seed):
    """The kernel of parts counts common nodes; the best by parts is the best by votes."""
    rng = np.random.default_rng(seed)
    structure = Hierarchy(nodes, inner_ends=True)
    n = len(nodes)
    draws = structure.sample(HierarchyTables.of(np.zeros((4, n))), random_state=seed)[0]
    rows = structure.part_features(draws, np.arange(5) * n)
    paths = [{node for node, code in zip(structure.nodes.nodes, own) if code} for own in draws.reshape(4, n)]
    common = [[len(a & b) for a in paths] for b in paths]
    assert (rows @ rows.T).toarray().tolist() == common
    gains = rng.normal(size=(4, n))
    found = structure.best_by_parts(None, gains)
    assert np.array_equal(found.codes, structure.best(HierarchyTables.of(gains)).codes)
