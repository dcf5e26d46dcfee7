"""Plots of lineage trees and of tracks on images."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.datasets import make_cells
from palmette.plot import LineageDisplay, OverlayDisplay, plot_lineage, plot_overlay
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture(scope="module")
def movie():
    return make_cells(8, 25, cycle=12, random_state=0, render=True)


# A cell divides twice, another one only moves, a third one appears and ends early.
NODES = [(t, 1) for t in range(3)] + [(t, i) for t in (3, 4) for i in (2, 3)] + [(5, i) for i in (2, 4, 5)]
LINKS = [
    ((0, 1), (1, 1)),
    ((1, 1), (2, 1)),
    ((2, 1), (3, 2)),
    ((2, 1), (3, 3)),
    ((3, 2), (4, 2)),
    ((3, 3), (4, 3)),
]
LINKS += [((4, 2), (5, 2)), ((4, 3), (5, 4)), ((4, 3), (5, 5))]
OTHERS = [(t, 9) for t in range(6)] + [(2, 7), (3, 7)]
TREE = Lineage.from_links(
    NODES + OTHERS, [*LINKS, *(((t, 9), (t + 1, 9)) for t in range(5)), ((2, 7), (3, 7))]
)


# ------------------------------------------------------------------------------------------------- the tree


def test_a_line_for_each_track_and_a_fork_for_each_child(ax):
    display = plot_lineage(TREE, ax=ax)
    tracks = TREE.tracks()
    spans = sorted(tuple(line[:, 1].tolist()) for line in display.lines_.get_segments())
    assert spans == sorted((float(t.begin), float(t.end)) for t in tracks)
    assert len(display.forks_.get_segments()) == sum(t.parent > 0 for t in tracks) == 4
    assert len(display.merges_.get_segments()) == 0
    assert len(set(display.place_.values())) == len(tracks)


def test_parents_lie_between_their_children(movie):
    display = LineageDisplay(movie.lineage)
    for track in display.tracks:
        children = [display.place_[t.label] for t in display.tracks if t.parent == track.label]
        if children:
            assert display.place_[track.label] == pytest.approx(np.mean(children))


def test_families_do_not_interleave_and_large_ones_come_first(movie):
    display = LineageDisplay(movie.lineage)
    spans = [(min(at), max(at)) for at in ([display.place_[k] for k in f] for f in display.families)]
    assert all(a[1] < b[0] for a, b in zip(spans, spans[1:]))
    sizes = [len(family) for family in display.families]
    assert sizes == sorted(sizes, reverse=True)


def test_time_goes_down_or_right(ax):
    down = plot_lineage(TREE, ax=ax)
    assert ax.get_ylim()[0] > ax.get_ylim()[1] and ax.get_ylabel() == "frame"
    ax.clear()
    right = plot_lineage(TREE, ax=ax, direction="right")
    assert ax.get_xlim()[0] < ax.get_xlim()[1] and ax.get_xlabel() == "frame"
    for a, b in zip(down.lines_.get_segments(), right.lines_.get_segments()):
        np.testing.assert_array_equal(a, b[:, ::-1])


def test_values_of_detections_give_colours(ax):
    values = np.arange(len(TREE), dtype=float)
    display = plot_lineage(TREE, values, ax=ax, name="age")
    assert sorted(display.lines_.get_array().tolist()) == values.tolist()
    assert display.figure_.axes[-1].get_ylabel() == "age"
    nodes = dict(zip(zip(TREE.frame.tolist(), TREE.id.tolist()), values))
    assert LineageDisplay(TREE, nodes).values.tolist() == values.tolist()
    lengths = LineageDisplay(TREE, lambda track: len(track.nodes)).values
    assert lengths.tolist() == [len(t.nodes) for k in range(len(TREE)) for t in TREE.tracks() if k in t.nodes]
    assert np.isnan(LineageDisplay(TREE, {}).values).all()
    LineageDisplay(TREE, {}).plot(ax=ax, colorbar=False)  # all grey


def test_merges_are_drawn(ax):
    links = [((0, 1), (1, 1)), ((0, 2), (1, 1)), ((1, 1), (2, 1)), ((1, 1), (2, 2))]
    display = plot_lineage(Lineage.from_links([(0, 1), (0, 2), (1, 1), (2, 1), (2, 2)], links), ax=ax)
    assert len(display.families) == 1
    assert (len(display.forks_.get_segments()), len(display.merges_.get_segments())) == (3, 1)


def test_labels_only_where_there_is_room(ax):
    assert len(plot_lineage(TREE, ax=ax).ax_.texts) == len(TREE.tracks())
    ax.clear()
    assert not plot_lineage(make_cells(60, 3, random_state=0).lineage, ax=ax).ax_.texts
    ax.clear()
    assert not plot_lineage(TREE, ax=ax, labels=False).ax_.texts


@pytest.mark.parametrize("n_cells", [3, 60])
def test_a_new_figure_is_as_large_as_the_tree(n_cells):
    import matplotlib.pyplot as plt

    display = plot_lineage(make_cells(n_cells, 40, cycle=15, random_state=0).lineage)
    width, height = display.figure_.get_size_inches()
    assert width <= 20 and (width > 15) == (n_cells == 60) and height < 7
    plt.close(display.figure_)


def test_short_families_can_be_left_out(ax):
    assert len(plot_lineage(TREE, ax=ax, min_length=3).families) == 2
    with pytest.raises(ValueError, match="no family has min_length=100 detections"):
        LineageDisplay(TREE, min_length=100)


@pytest.mark.parametrize(
    "lineage, values, options, message",
    [
        (TREE, [1.0], {}, r"values has shape \(1,\), expected one number for each of the 18 detections"),
        (TREE, None, {"direction": "up"}, "direction must be 'down' or 'right', got 'up'"),
        (Lineage.from_links([], []), None, {}, "the lineage has no detections"),
    ],
)
def test_a_tree_that_cannot_be_drawn(ax, lineage, values, options, message):
    with pytest.raises(ValueError, match=message):
        plot_lineage(lineage, values, ax=ax, **options)


# ------------------------------------------------------------------------------------------------ the overlay


def test_an_overlay_shows_the_last_frame(movie, ax):
    display = plot_overlay(movie.images[20], movie.frames[:21], movie.lineage, ax=ax)
    frame = movie.frames[20]
    np.testing.assert_allclose(display.points_.get_offsets(), frame.position[:, ::-1])
    assert display.im_.get_array().shape == movie.shape and "frame 20" in ax.get_title()
    label_of = {k: t.label for t in movie.lineage.tracks() for k in t.nodes}
    nodes = np.flatnonzero(movie.lineage.frame == 20)
    assert [text.get_text() for text in display.text_] == [str(label_of[k]) for k in nodes]


@pytest.mark.parametrize("tail", [0, 1, 4])
def test_tails_reach_back_so_many_frames(movie, ax, tail):
    display = plot_overlay(None, movie.frames[:21], movie.lineage, tail=tail, ax=ax)
    assert display.im_ is None
    steps = [end for _, end in display._owners]
    assert set(steps) == set(range(21 - tail, 21))
    place = {tuple(p) for f in movie.frames[20 - tail : 21] for p in f.position.tolist()}
    assert all(tuple(end) in place for path in display.paths for end in path.tolist())


def test_one_frame_has_no_tails_and_no_lineage_no_labels(movie, ax):
    assert plot_overlay(None, movie.frames[3], movie.lineage, ax=ax).paths == []
    display = plot_overlay(None, movie.frames[3], ax=ax)
    assert [text.get_text() for text in display.text_] == [str(i) for i in movie.frames[3].ids]


def test_a_track_keeps_its_colour(movie, ax):
    def colours(t):
        display = plot_overlay(None, movie.frames[: t + 1], movie.lineage, ax=ax)
        return dict(zip(display.labels, map(tuple, display.points_.get_edgecolors().tolist())))

    first, second = colours(5), colours(6)
    common = set(first) & set(second)
    assert len(common) > 4 and all(first[k] == second[k] for k in common)
    assert len(set(first.values())) == len(first)


def test_detections_that_no_track_holds_are_grey(ax):
    frame = Detections([[1.0, 2.0], [5.0, 5.0]], ids=[1, 2], shape=(20, 20))
    display = plot_overlay(None, frame, Lineage.from_links([(0, 1)], []), ax=ax, boxes=True)
    assert [text.get_text() for text in display.text_] == ["1", "?"]
    assert display.points_.get_edgecolors()[1].tolist() == [0.6, 0.6, 0.6, 1.0]


def test_colour_images_boxes_and_empty_frames(movie, ax):
    picture = np.zeros((30, 40, 3))
    display = plot_overlay(picture, Detections(np.empty((0, 2))), ax=ax)
    assert len(display.points_.get_offsets()) == 0 and ax.get_ylim() == (29.5, -0.5)
    plot_overlay(None, movie.frames[0], ax=ax, boxes=True, labels=False)
    assert len(ax.patches) == len(movie.frames[0])


@pytest.mark.parametrize(
    "detections, options, message",
    [
        ([], {}, "there are no detections: give those of one frame"),
        (
            Detections([[1.0, 2.0, 3.0]], frame=4),
            {},
            "frame 4: positions have 3 numbers; an overlay shows two",
        ),
        (Detections([[1.0, 2.0]]), {"tail": -1}, "tail must be a number of frames >= 0, got tail=-1"),
    ],
)
def test_an_overlay_that_cannot_be_drawn(detections, options, message):
    with pytest.raises(ValueError, match=message):
        OverlayDisplay(None, detections, **options)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setattr("palmette.plot.axes.has_matplotlib", lambda: False)
    for draw in (lambda: plot_lineage(TREE), lambda: plot_overlay(None, Detections([[1.0, 2.0]]))):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'palmette\[plot\]'"):
            draw()
