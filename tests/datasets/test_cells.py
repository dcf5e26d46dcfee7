"""Simulated cells: the colony, the errors of the segmentation, the links that tell of them, and the images."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from palmette.apps.tracking.lineage_events import events_of
from palmette.datasets import make_cells, stream_cells

ERRORS = {"p_miss": 0.03, "p_false": 0.03, "p_split": 0.04, "p_merge": 0.3}


@pytest.fixture(scope="module")
def clean():
    return make_cells(40, 45, cycle=20, random_state=0)


@pytest.fixture(scope="module")
def faulty():
    return make_cells(40, 45, cycle=20, random_state=0, **ERRORS)


def links_of(lineage):
    """Links as pairs of (frame, id)."""
    nodes = list(zip(lineage.frame.tolist(), lineage.id.tolist()))
    return {(nodes[a], nodes[b]) for a, b in lineage.edges.tolist()}


# ---------------------------------------------------------------------------------------------- the colony


def test_a_seed_gives_one_movie(clean):
    again = make_cells(40, 45, cycle=20, random_state=0)
    for a, b in zip(clean.frames, again.frames):
        np.testing.assert_array_equal(a.position, b.position)
        assert {k: v.tolist() for k, v in a.features.items()} == {
            k: v.tolist() for k, v in b.features.items()
        }
    np.testing.assert_array_equal(clean.lineage.edges, again.lineage.edges)
    other = make_cells(40, 45, cycle=20, random_state=1)
    assert not np.array_equal(clean.frames[0].position, other.frames[0].position)


def test_the_segmentation_does_not_change_the_colony(clean, faulty):
    np.testing.assert_array_equal(clean.cells.frame, faulty.cells.frame)
    np.testing.assert_array_equal(clean.cells.id, faulty.cells.id)
    np.testing.assert_array_equal(clean.cells.edges, faulty.cells.edges)


def test_without_errors_the_lineage_is_that_of_the_cells(clean):
    assert clean.errors == []
    assert len(clean.lineage) == len(clean.cells) == len(clean.matching)
    to_found = dict(clean.matching.tolist())
    assert {(to_found[a], to_found[b]) for a, b in clean.cells.edges.tolist()} == set(
        map(tuple, clean.lineage.edges.tolist())
    )


def test_cells_divide_into_two_leave_and_enter(clean):
    kinds = Counter(event.kind for event in events_of(clean.cells))
    assert min(kinds[kind] for kind in ("move", "divide", "appear", "disappear")) > 10
    assert set(kinds) == {"move", "divide", "appear", "disappear"}
    assert clean.cells.n_children.max() == 2 and clean.cells.n_parents.max() == 1


def test_division_comes_at_an_age():
    movie = make_cells(
        10, 60, cycle=20, cycle_spread=0.1, max_cells=1000, entering=0, speed=1, random_state=0
    )
    ages = [t.end - t.begin + 1 for t in movie.cells.tracks() if t.parent]
    ended = {t.label: t.end - t.begin + 1 for t in movie.cells.tracks() if t.parent}
    divided = [ended[t.parent] for t in movie.cells.tracks() if t.parent in ended]
    assert len(ages) and len(divided) > 20
    assert 18 <= np.median(divided) <= 22 and np.std(divided) < 4


def test_daughters_share_the_mass_and_mothers_are_round_and_bright():
    movie = make_cells(40, 45, cycle=20, noise=0, bleaching=0, shape=(900, 900), random_state=0)
    table = {
        name: np.concatenate([f.features[name] for f in movie.frames]) for name in movie.frames[0].features
    }
    mass = table["area"] * table["intensity"]
    place = np.concatenate([f.position for f in movie.frames])
    inner = ((place > 40) & (place < 860)).all(axis=1)
    children = [[] for _ in range(len(movie.lineage))]
    for a, b in movie.lineage.edges.tolist():
        children[a].append(b)
    mothers = [k for k, after in enumerate(children) if len(after) == 2 and inner[k] and inner[after].all()]
    assert len(mothers) > 20
    ratio = np.array([mass[children[k]].sum() / mass[k] for k in mothers])
    assert np.abs(ratio - 1).max() < 0.3 and abs(ratio.mean() - 1) < 0.08
    centre = np.array([place[children[k]].mean(axis=0) - place[k] for k in mothers])
    assert np.median(np.linalg.norm(centre, axis=1)) < 5
    others = np.setdiff1d(np.arange(len(place)), mothers)
    assert table["intensity"][mothers].mean() > 1.3 * table["intensity"][others].mean()
    assert table["ecc"][mothers].mean() < 0.5 < table["ecc"][others].mean()


def test_cells_do_not_overlap_much(clean):
    for frame in clean.frames:
        half = np.sqrt(frame.features["area"] / np.pi)
        apart = np.linalg.norm(frame.position[:, None] - frame.position[None], axis=2)
        apart[np.diag_indices(len(frame))] = np.inf
        assert (apart / (half[:, None] + half[None])).min() > 0.6


def test_motion_is_persistent_and_as_fast_as_asked():
    quiet = {"cycle": 1000, "entering": 0, "shape": (4000, 4000), "noise": 0, "random_state": 0}
    for persistence in (0.0, 0.9):
        movie = make_cells(100, 30, speed=3, persistence=persistence, **quiet)
        paths = [t.nodes for t in movie.lineage.tracks() if len(t.nodes) == 30]
        place = np.concatenate([f.position for f in movie.frames])
        steps = np.diff(np.array([place[list(nodes)] for nodes in paths]), axis=1)
        turn = (steps[:, 1:] * steps[:, :-1]).mean() / (steps**2).mean()
        assert abs(turn - persistence) < 0.1
        assert 2.3 < steps.std() < 3.3


def test_intensity_bleaches():
    movie = make_cells(50, 30, cycle=1000, bleaching=0.05, random_state=0)
    first, last = (movie.frames[t].features["intensity"].mean() for t in (0, 29))
    assert 0.15 < last / first < 0.35  # exp(-0.05 * 29) = 0.23


def test_a_full_colony_stays_full():
    counts = [len(f.cells) for f in stream_cells(60, 150, max_cells=60, cycle=15, random_state=0)]
    assert 40 < min(counts) and max(counts) <= 70


def test_an_image_may_become_empty():
    movie = make_cells(2, 40, entering=0, speed=20, render=True, p_merge=0.5, p_false=0.1, random_state=0)
    assert len(movie.frames) == 40 and len(movie.frames[-1]) == 0
    assert not movie.masks[-1].any() and movie.images[-1].mean() > 10
    assert (movie.lineage.frame < 39).all() and len(movie.cells)


# ------------------------------------------------------------------------------------- errors of segmentation


def test_every_error_is_told(faulty):
    kinds = Counter(error.kind for error in faulty.errors)
    assert min(kinds[kind] for kind in ("miss", "false", "split", "merge")) > 5
    extra = kinds["false"] + kinds["split"] - kinds["miss"] - kinds["merge"]
    assert len(faulty.lineage) == len(faulty.cells) + extra
    alone = Counter((int(a), int(b)) for a, b in zip(faulty.lineage.frame, faulty.lineage.id))
    assert all((error.frame, own) in alone for error in faulty.errors for own in error.ids)


@pytest.mark.parametrize("seed", range(4))
def test_links_tell_splits_and_merges(seed):
    movie = make_cells(40, 25, cycle=20, random_state=seed, **ERRORS)
    events = events_of(movie.lineage)
    whole = Counter((e.frame, e.kind) for e in movie.errors)
    for t in range(24):
        here = Counter(e.kind for e in events if e.frame == t)
        assert here["split"] == whole[t + 1, "split"] + whole[t, "merge"]
        assert here["merge"] == whole[t, "split"] + whole[t + 1, "merge"]
    parents, children = movie.lineage.n_parents, movie.lineage.n_children
    first, second = movie.lineage.edges.T
    assert not ((children[first] > 1) & (parents[second] > 1)).any()  # a single fate, a unique past
    assert max(parents.max(), children.max()) == 2


def test_fragments_have_one_parent_and_one_child(faulty):
    links = links_of(faulty.lineage)
    for error in faulty.errors:
        if error.kind in ("split", "merge"):
            nodes = {(error.frame, own) for own in error.ids}
            before = {a for a, b in links if b in nodes}
            after = {b for a, b in links if a in nodes}
            assert len(before) == len(after) == (1 if error.kind == "split" else 2)


def test_a_missed_cell_breaks_the_track_or_is_bridged():
    options = {"p_miss": 0.05, "cycle": 20, "random_state": 3}
    broken, bridged = (make_cells(30, 30, bridge=bridge, **options) for bridge in (False, True))
    gaps = [np.diff(movie.lineage.frame[movie.lineage.edges], axis=1) for movie in (broken, bridged)]
    assert gaps[0].max() == 1 and gaps[1].max() == 2
    assert links_of(broken.lineage) < links_of(bridged.lineage)
    wide = bridged.lineage.edges[gaps[1][:, 0] == 2]
    of_cell = {b: int(bridged.cells.id[a]) for a, b in bridged.matching.tolist()}
    missed = {(error.frame, *error.cells) for error in bridged.errors}
    parent = {t.label: t for t in bridged.cells.tracks()}
    assert len(wide) and len(parent)
    same = [(a, b) for a, b in wide.tolist() if of_cell[a] == of_cell[b]]
    assert len(same) > 10
    assert all((bridged.lineage.frame[a] + 1, of_cell[a]) in missed for a, _ in same)


def test_ids_tell_nothing_of_the_cells(clean):
    stays = sum(
        a == b for first in range(44) for a, b in clean.lineage.links(first, first + 1)
    )  # as often as by chance, once a frame
    assert stays < 3 * 44


# ------------------------------------------------------------------------------------------------ the images


def test_images_show_what_was_found():
    movie = make_cells(30, 12, cycle=20, random_state=1, render=True, **ERRORS)
    assert len(movie.masks) == len(movie.images) == len(movie.cell_masks) == 12
    for t, (mask, cells, image) in enumerate(zip(movie.masks, movie.cell_masks, movie.images)):
        assert mask.shape == cells.shape == image.shape == movie.shape
        assert set(np.unique(mask)) - {0} == set(movie.frames[t].ids.tolist())
        assert set(np.unique(cells)) - {0} == set(movie.cells.id[movie.cells.frame == t].tolist())
        assert image[cells > 0].mean() > 2 * image[cells == 0].mean()
        drawn = np.bincount(mask.ravel())[movie.frames[t].ids]
        assert np.corrcoef(drawn, movie.frames[t].features["area"])[0, 1] > 0.9
    np.testing.assert_array_equal(movie.images[3], movie.images[3])
    assert not np.array_equal(
        movie.images[3] - movie.images[3].mean(), movie.images[4] - movie.images[4].mean()
    )
    np.testing.assert_array_equal(movie.masks[2:5][1], movie.masks[3])


def test_frames_stream_as_they_are_made(faulty):
    stream = stream_cells(40, 45, cycle=20, random_state=0, **ERRORS)
    for frame, detections in zip(stream, faulty.frames):
        np.testing.assert_array_equal(frame.detections.position, detections.position)
        assert frame.detections.frame == detections.frame
    assert "masks" not in faulty


def test_measurements_are_those_of_ellipses(clean):
    for frame in clean.frames[::10]:
        f = frame.features
        assert (f["major"] >= f["minor"]).all() and (np.abs(f["orient"]) <= np.pi / 2).all()
        np.testing.assert_allclose(f["ecc"], np.sqrt(1 - (f["minor"] / f["major"]) ** 2))
        assert (frame.boxes[:, :2] <= frame.position).all() and (frame.position <= frame.boxes[:, 2:]).all()
        assert (frame.boxes >= 0).all() and (frame.boxes[:, 2:] <= frame.shape).all()


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"n_cells": 0}, ValueError, "n_cells must be at least 1, got n_cells=0"),
        ({"n_frames": 2.5}, TypeError, "n_frames must be an integer, got n_frames=2.5"),
        ({"p_miss": 1.5}, ValueError, r"p_miss must be in \[0, 1\], got p_miss=1.5"),
        ({"speed": float("nan")}, ValueError, "speed must be a finite number >= 0, got speed=nan"),
        ({"max_cells": 10}, ValueError, "max_cells=10 is below n_cells=50: begin with fewer cells"),
        (
            {"shape": (30, 500)},
            ValueError,
            r"shape=\(30, 500\) must be two numbers of at least 4 \* radius = 40",
        ),
        ({"cycle": 3}, ValueError, "cycle must be a finite number >= 8, got cycle=3"),
    ],
)
def test_options_are_checked_before_any_work(options, error, message):
    with pytest.raises(error, match=message):
        stream_cells(**options)  # not even one frame is asked for
