"""Movies of cells: on small tables of the same form, and on the real ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from palmette.datasets import load_fluo, store
from palmette.datasets.fluo_format import Covered, carried_over

MEASURED = "y,x,area,int_mean,int_std,int_min,int_max,int_bg,ecc,major,minor,orient,solidity,extent,perim"


@pytest.fixture
def contents(monkeypatch):
    """What the store returns instead of real files: a dict from source to content, to be filled."""
    given = {}
    monkeypatch.setattr(store, "read", lambda name, sources: {s: given[s] for s in given if s in sources})
    return given


def row(seq, *first):
    return ",".join(
        map(str, [seq, *first, 5.5, 6.5, 30, 110, 2, 100, 120, 100, 0.5, 7, 6, 0.1, 0.9, 0.8, 20, 3, 3, 9, 9])
    )


def test_truth(contents):
    header = f"seq,frame,det_id,label,{MEASURED},y0,x0,y1,x1"
    rows = [row("01", 0, 0, 4), row("01", 2, 1, 4), row("01", 2, 2, 5), row("02", 0, 0, 9)]
    contents["detections"] = "\n".join([header, *rows]).encode()
    contents["links"] = (
        b"seq,frame_from,det_from,frame_to,det_to,label_from,label_to,event\n01,0,0,2,1,4,4,move\n01,0,0,2,2,4,5,move\n"
    )
    contents["counts"] = json.dumps({"01": {"frames": 4, "shape": [40, 60]}}).encode()
    bunch = load_fluo("sim", "01")
    assert [len(each) for each in bunch.frames] == [1, 0, 2, 0] and [each.frame for each in bunch.frames] == [
        0,
        1,
        2,
        3,
    ]
    assert [each.tolist() for each in bunch.labels] == [[4], [], [4, 5], []]
    assert bunch.lineage.links(0, 2) == [(0, 1), (0, 2)]
    first = bunch.frames[0]
    assert first.features["intensity"].tolist() == [10] and first.boxes.tolist() == [[3, 3, 9, 9]]
    assert (
        list(first.features)[:2] == ["area", "intensity"]
        and len(first.features) == 11
        and first.shape == (40, 60)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("yeast",), "name must be one of 'hela', 'sim', got 'yeast'"),
        (("hela", 1), "sequence must be one of '01', '02', got 1"),
        (("hela", "01", "best"), "detections must be one of 'truth', 'auto', got 'best'"),
        (("hela", "02", "auto"), "only movie '01' of 'hela' was segmented automatically"),
        (("sim", "01", "auto"), "only movie '01' of 'hela' was segmented automatically"),
    ],
)
def test_unknown_movies(arguments, message):
    name, *rest = arguments
    with pytest.raises(ValueError, match=message):
        load_fluo(name, *rest[:1], detections=(rest[1:] or ["truth"])[0])


# -- truth of a segmentation -----------------------------------------------------------------------------------------


def one(frame, own, *cells, main=None, overlap=9):
    return Covered(frame, own, cells, (cells[0] if cells else 0) if main is None else main, overlap)


MOVES = {(t + 1, label): (t, label) for t in range(4) for label in (1, 2)}


def test_cells_in_one_detection_merge_and_split():
    found = [one(0, 1, 1), one(0, 2, 2), one(1, 1, 1, 2), one(2, 1, 1, 2), one(3, 1, 1), one(3, 2, 2)]
    assert carried_over(found, MOVES) == [
        ((0, 1), (1, 1)), ((0, 2), (1, 1)), ((1, 1), (2, 1)), ((2, 1), (3, 1)), ((2, 1), (3, 2))
    ]  # fmt: skip


def test_false_detections_have_no_links_and_missed_cells_are_passed_over():
    assert carried_over([one(0, 1, 1), one(1, 5), one(2, 1, 1)], MOVES) == [((0, 1), (2, 1))]


def test_divisions():
    parents = {(1, 2): (0, 1), (1, 3): (0, 1)}
    assert carried_over([one(0, 7, 1), one(1, 8, 2), one(1, 9, 3)], parents) == [
        ((0, 7), (1, 8)),
        ((0, 7), (1, 9)),
    ]
    assert carried_over([one(0, 7, 1), one(1, 8, 2, 3)], parents) == [((0, 7), (1, 8))]


def test_fragments_break_off_go_on_and_join():
    found = [
        one(0, 1, 1), one(1, 1, 1), one(1, 2, main=1), one(2, 1, 1), one(2, 2, main=1), one(3, 1, 1)
    ]  # fmt: skip
    assert carried_over(found, MOVES) == [
        ((0, 1), (1, 1)), ((0, 1), (1, 2)), ((1, 1), (2, 1)), ((1, 2), (2, 2)), ((2, 1), (3, 1)), ((2, 2), (3, 1))
    ]  # fmt: skip


def test_the_largest_piece_of_a_cell_that_nobody_covers_holds_it():
    found = [one(0, 1, 1), one(1, 2, main=1, overlap=3), one(1, 4, main=1, overlap=8), one(2, 1, 1)]
    assert carried_over(found, MOVES) == [
        ((0, 1), (1, 2)),
        ((0, 1), (1, 4)),
        ((1, 2), (2, 1)),
        ((1, 4), (2, 1)),
    ]
    assert carried_over(found[:1] + found[2:], MOVES) == [((0, 1), (1, 4)), ((1, 4), (2, 1))]


# -- real data -------------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["hela", "sim"])
@pytest.mark.parametrize("sequence", ["01", "02"])
def test_real_counts(name, sequence):
    bunch = load_fluo(name, sequence)
    dataset = {"hela": "fluo-n2dl-hela", "sim": "fluo-n2dh-sim"}[name]
    counts = json.loads(store.read(dataset, ["counts"])["counts"])[sequence]
    lineage = bunch.lineage
    assert len(bunch.frames) == counts["frames"] and bunch.frames[0].shape == tuple(counts["shape"])
    assert sum(map(len, bunch.frames)) == len(lineage) == counts["detections"]
    assert len(lineage.edges) == counts["links"]
    assert (lineage.n_children > 1).sum() == counts["divisions"]
    assert lineage.n_children.max() == counts["max_children"] and lineage.n_parents.max() == 1
    gaps = lineage.frame[lineage.edges[:, 1]] - lineage.frame[lineage.edges[:, 0]] - 1
    assert (gaps > 0).sum() == counts["gap_links_parent"] + counts["gap_links_within"]
    assert ((lineage.n_parents == 0) & (lineage.frame > 0)).sum() == counts["appear_after_t0"]
    assert len({int(each) for labels in bunch.labels for each in labels}) == counts["tracks"]
    sizes = [len(each) for each in bunch.frames]
    assert (min(sizes), max(sizes)) == (counts["min_per_frame"], counts["max_per_frame"])


@pytest.mark.data
def test_a_real_segmentation():
    truth, auto = load_fluo("hela", "01"), load_fluo("hela", "01", detections="auto")
    counts = np.bincount(np.concatenate(auto.n_cells))
    assert counts.tolist() == [873, 7808, 266, 13]
    lineage = auto.lineage
    assert len(lineage) == 8960 and len(auto.frames) == 92
    label = {(t, own): k for t, (cells, labels) in enumerate(zip(auto.frames, auto.labels))
             for own, k in zip(cells.ids.tolist(), labels.tolist())}  # fmt: skip
    single = {
        (t, own)
        for t, (cells, n) in enumerate(zip(auto.frames, auto.n_cells))
        for own in cells.ids[n == 1].tolist()
    }
    nodes = list(zip(lineage.frame.tolist(), lineage.id.tolist()))
    found = {(t, label[t, i], label[s, j]) for (t, i), (s, j) in ((nodes[a], nodes[b]) for a, b in lineage.edges)
             if s == t + 1 and (t, i) in single and (s, j) in single}  # fmt: skip
    of_truth = {(t, own): k for t, (cells, labels) in enumerate(zip(truth.frames, truth.labels))
                for own, k in zip(cells.ids.tolist(), labels.tolist())}  # fmt: skip
    named = [of_truth[each] for each in zip(truth.lineage.frame.tolist(), truth.lineage.id.tolist())]
    held = {(t, label[t, own]) for t, own in single}
    expected = {(int(truth.lineage.frame[a]), named[a], named[b]) for a, b in truth.lineage.edges}
    expected = {(t, i, j) for t, i, j in expected if (t, i) in held and (t + 1, j) in held}
    assert found == expected, "detections of one cell each have the true links"
    isolated = (lineage.n_children == 0) & (lineage.n_parents == 0)
    false = {each for each, k in label.items() if k == 0}
    assert len(false) == 873 - 44 and all(isolated[k] for k, node in enumerate(nodes) if node in false)
    assert (lineage.n_parents > 1).sum() > 50 and (lineage.n_children > 1).sum() > 94
