"""The picture of a tree: where nodes stand, and what their colours say."""

from __future__ import annotations

import pytest

from palmette.apps.hierarchies import evaluate_paths
from palmette.plot import HierarchyDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_nodes_stand_at_their_levels_and_show_what_was_found():
    true, found = ["a.x", "a.y", "a.y", "b.z.w"], ["a.x", "a.x", "a.y", "b.q"]
    display = HierarchyDisplay.from_predictions(true, found)
    share = dict(zip(display.nodes, display.points_.get_array().tolist()))
    assert share == {
        ("a",): 1.0, ("a", "x"): 1.0, ("a", "y"): 0.5, ("b",): 1.0, ("b", "z"): 0.0, ("b", "z", "w"): 0.0
    }  # fmt: skip
    places = dict(zip(display.nodes, display.points_.get_offsets().tolist()))
    assert [places[node][0] for node in display.nodes] == [1, 2, 2, 1, 2, 3]
    assert places["a",][1] == pytest.approx((places["a", "x"][1] + places["a", "y"][1]) / 2)
    assert len({places[leaf][1] for leaf in (("a", "x"), ("a", "y"), ("b", "z", "w"))}) == 3
    assert [text.get_text() for text in display.text_] == ["a", "x", "y", "b", "z", "w"]
    same = HierarchyDisplay(evaluate_paths(true, found).nodes)
    assert same.nodes == display.nodes


def test_sets_of_paths_and_bad_nodes():
    display = HierarchyDisplay.from_predictions([["a.x", "b"]], [["b"]], multi_label=True, labels=False)
    assert display.points_.get_array().tolist() == [0.0, 0.0, 1.0]
    for nodes, words in (({}, "is empty"), ({("a", "x"): (1, 1)}, "not its parent")):
        with pytest.raises(ValueError, match=words):
            HierarchyDisplay(nodes)
