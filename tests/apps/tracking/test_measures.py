"""Measures of lineages: figures by hand, identities, events, divisions with a tolerance, matching by masks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.apps.tracking.graph_errors import WEIGHTS
from palmette.apps.tracking.lineage_events import Event, Family, event_loss, events_of
from palmette.apps.tracking.matching import match_labels, match_masks, same_detections
from palmette.apps.tracking.measures import Hits, evaluate_lineage
from palmette.datasets import make_cells
from palmette.structures.tracking.lineage import Lineage

# Frame:  0     1     2     3      a cell that divides, and one that moves.
#         1 --- 1 --< 1 --- 1
#                   \ 2 --- 2
#         5 --- 5 --- 5 --- 5
NODES = [(0, 1), (0, 5), (1, 1), (1, 5), (2, 1), (2, 2), (2, 5), (3, 1), (3, 2), (3, 5)]
LINKS = [
    ((0, 1), (1, 1)), ((1, 1), (2, 1)), ((1, 1), (2, 2)), ((2, 1), (3, 1)), ((2, 2), (3, 2)),
    ((0, 5), (1, 5)), ((1, 5), (2, 5)), ((2, 5), (3, 5)),
]  # fmt: skip
TRUE = Lineage.from_links(NODES, LINKS)
WORST = 10 * 10 + 1.5 * 8


def without(*nodes):
    """The truth without some detections and their links."""
    return Lineage.from_links(
        [n for n in NODES if n not in nodes], [(a, b) for a, b in LINKS if a not in nodes and b not in nodes]
    )


def operations(report):
    return {name: getattr(report.errors, name) for name in WEIGHTS if getattr(report.errors, name)}


@st.composite
def lineages(draw, most=5):
    """Random lineages; links lead to the next frame."""
    sizes = draw(st.lists(st.integers(0, most), min_size=1, max_size=4))
    nodes = [(t, i) for t, n in enumerate(sizes) for i in range(n)]
    possible = [(a, b) for a in nodes for b in nodes if b[0] == a[0] + 1]
    links = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return Lineage.from_links(nodes, links)


# ------------------------------------------------------------------------------------------- figures by hand


def test_a_perfect_prediction():
    report = evaluate_lineage(TRUE, TRUE)
    assert report.aogm == 0 and report.tra == report.det == report.lnk == 1
    assert (
        report.links == Hits(8, 8, 8) and report.divisions == Hits(1, 1, 1) and report.tracks == Hits(4, 4, 4)
    )
    assert report.event_loss == 0 and report.complete_tracks == 1
    assert {kind: hits.true for kind, hits in report.events.items() if hits.true} == {"move": 6, "divide": 1}


@pytest.mark.parametrize(
    "predicted, expected, aogm",
    [
        (without((0, 5)), {"fn": 1, "ea": 1}, 11.5),
        (without((3, 1), (3, 2)), {"fn": 2, "ea": 2}, 23.0),
        (without((2, 2)), {"fn": 1, "ea": 2, "ec": 1}, 14.0),  # what was a daughter is a move
        (without(*NODES), {"fn": 10, "ea": 8}, WORST),
        (Lineage.from_links(NODES, []), {"ea": 8}, 12.0),
        (Lineage.from_links([*NODES, (1, 9)], LINKS), {"fp": 1}, 1.0),
        (Lineage.from_links([*NODES, (1, 9)], [*LINKS, ((0, 5), (1, 9))]), {"fp": 1, "ec": 1}, 2.0),
        (Lineage.from_links(NODES, [*LINKS, ((2, 5), (3, 2))]), {"ed": 1, "ec": 2}, 3.0),
        (
            Lineage.from_links(NODES, [*LINKS[:2], ((1, 5), (2, 2)), *LINKS[3:]]),
            {"ed": 1, "ea": 1, "ec": 2},
            4.5,
        ),
    ],
)
def test_operations_by_hand(predicted, expected, aogm):
    report = evaluate_lineage(TRUE, predicted)
    assert operations(report) == expected
    assert report.aogm == aogm
    assert report.tra == pytest.approx(1 - aogm / WORST)
    nodes = sum(WEIGHTS[name] * expected.get(name, 0) for name in ("ns", "fn", "fp"))
    assert report.det == pytest.approx(1 - nodes / 100) and report.lnk == pytest.approx(
        1 - (aogm - nodes) / 12
    )


def test_a_detection_of_two_cells():
    """1 and 5 of frame 1 are found as one: a split, and the four links at them are missing."""
    merged = Lineage.from_links(
        [n for n in NODES if n != (1, 5)],
        [link for link in LINKS if (1, 5) not in link] + [((0, 5), (1, 1)), ((1, 1), (2, 5))],
    )
    pairs = same_detections(TRUE, merged).tolist()
    pairs.append([NODES.index((1, 5)), dict(pairs)[NODES.index((1, 1))]])
    report = evaluate_lineage(TRUE, merged, pairs)
    assert operations(report) == {"ns": 1, "ea": 5}  # no link of the merged detection counts
    assert report.aogm == 5 + 7.5
    assert report.links == Hits(3, 8, 8)


def test_three_cells_in_one_are_two_splits():
    true = Lineage.from_links([(0, 1), (0, 2), (0, 3)], [])
    report = evaluate_lineage(true, Lineage.from_links([(0, 1)], []), [[0, 0], [1, 0], [2, 0]])
    assert operations(report) == {"ns": 2} and report.det == pytest.approx(1 - 10 / 30)


def test_measures_never_fall_below_zero():
    nodes = [(0, i) for i in range(100)]
    report = evaluate_lineage(Lineage.from_links([(0, 1)], []), Lineage.from_links(nodes, []))
    assert report.det == report.tra == 0 and report.aogm == 99 and np.isnan(report.lnk)


def test_an_empty_truth_has_no_measures():
    nothing = Lineage.from_links([], [])
    report = evaluate_lineage(nothing, nothing)
    assert np.isnan([report.tra, report.det, report.lnk, report.links.f1, report.complete_tracks]).all()
    assert report.event_loss == 0 and "-" in report.format()


def test_tracks_are_complete_only_from_end_to_end():
    assert evaluate_lineage(TRUE, without((3, 5))).tracks == Hits(3, 4, 4)
    longer = Lineage.from_links([*NODES, (4, 5)], [*LINKS, ((3, 5), (4, 5))])
    assert evaluate_lineage(TRUE, longer).tracks == Hits(3, 4, 4)
    assert evaluate_lineage(TRUE, without((2, 2), (3, 2))).tracks == Hits(1, 4, 2)


# ------------------------------------------------------------------------------------------------ identities


@given(lineages())
def test_every_lineage_agrees_with_itself(lineage):
    report = evaluate_lineage(lineage, lineage)
    assert report.aogm == 0 and report.event_loss == 0
    assert report.tracks.correct == report.tracks.true == report.tracks.predicted
    assert report.divisions.correct == report.divisions.true
    if len(lineage):
        assert report.tra == 1


@given(lineages(), st.data())
def test_a_removed_detection_costs_itself_and_its_links(lineage, data):
    if not len(lineage):
        return
    node = data.draw(st.integers(0, len(lineage) - 1))
    keep = np.delete(np.arange(len(lineage)), node)
    new = np.full(len(lineage), -1)
    new[keep] = np.arange(len(keep))
    edges = new[lineage.edges]
    report = evaluate_lineage(
        lineage, Lineage(lineage.frame[keep], lineage.id[keep], edges[(edges >= 0).all(axis=1)])
    )
    gone = int((lineage.edges == node).sum())
    assert (report.errors.fn, report.errors.ea, report.errors.fp, report.errors.ed) == (1, gone, 0, 0)
    assert report.aogm == 10 + 1.5 * gone + report.errors.ec


@given(lineages(), lineages())
def test_identities(true, predicted):
    report, back = evaluate_lineage(true, predicted), evaluate_lineage(predicted, true)
    e = report.errors
    assert report.links.correct == len(true.edges) - e.ea == back.links.correct
    assert (e.fn, e.fp) == (back.errors.fp, back.errors.fn) and e.ec == back.errors.ec
    assert report.event_loss == pytest.approx(back.event_loss)
    assert report.event_loss == pytest.approx(
        1 - report.all_events.f1 if report.all_events.true else report.event_loss
    )
    assert report.tracks.correct == back.tracks.correct and report.divisions.correct == back.divisions.correct
    for measure in (report.tra, report.det, report.lnk):
        assert np.isnan(measure) or 0 <= measure <= 1


@given(lineages(), lineages())
def test_equal_ids_are_the_matching_without_one(true, predicted):
    given_pairs = evaluate_lineage(true, predicted, same_detections(true, predicted))
    assert repr(given_pairs.to_dict()) == repr(evaluate_lineage(true, predicted).to_dict())


@given(lineages(), lineages(), st.integers(0, 99))
def test_ids_of_the_prediction_do_not_matter(true, predicted, seed):
    rng = np.random.default_rng(seed)
    other = Lineage(predicted.frame, rng.permutation(len(predicted)) + 1000, predicted.edges)
    report = evaluate_lineage(true, other, same_detections(true, predicted))
    assert report.format() == evaluate_lineage(true, predicted).format()


def test_the_loss_of_a_prediction_grows_with_its_mistakes(rng):
    movie = make_cells(30, 20, cycle=15, random_state=0)
    order = rng.permutation(len(movie.cells.edges))
    reports = [
        evaluate_lineage(
            movie.cells, Lineage(movie.cells.frame, movie.cells.id, movie.cells.edges[order[n:]])
        )
        for n in (0, 10, 50, 200)
    ]
    assert all(a.tra > b.tra and a.event_loss < b.event_loss for a, b in zip(reports, reports[1:]))


def test_segmentation_errors_are_counted():
    movie = make_cells(30, 20, cycle=15, p_miss=0.03, p_false=0.03, p_split=0.03, p_merge=0.3, random_state=0)
    kinds = [error.kind for error in movie.errors]
    errors = evaluate_lineage(movie.cells, movie.lineage, movie.matching).errors
    assert errors.fn == kinds.count("miss") and errors.ns == kinds.count("merge")
    assert errors.fp == kinds.count("false") + kinds.count("split")  # one fragment of two


# ---------------------------------------------------------------------------------------------------- events


def test_events_of_every_kind():
    nodes = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4)]
    links = [
        ((0, 1), (1, 1)), ((0, 2), (1, 1)), ((1, 1), (2, 1)), ((1, 1), (2, 2)),  # found as one, then as two again
        ((0, 3), (1, 2)), ((0, 3), (1, 3)), ((1, 2), (2, 3)), ((1, 3), (2, 3)),  # fragments
    ]  # fmt: skip
    assert events_of(Lineage.from_links(nodes, links)) == [
        Event("appear", 0, (), (4,)),
        Event("disappear", 0, (4,), ()),
        Event("split", 0, (3,), (2, 3)),
        Event("merge", 0, (1, 2), (1,)),
        Event("appear", 1, (), (4,)),
        Event("disappear", 1, (4,), ()),
        Event("split", 1, (1,), (1, 2)),
        Event("merge", 1, (2, 3), (3,)),
    ]


def test_a_cell_divides_after_it_was_in_fragments():
    links = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (4, 6)]
    assert Family(7, links).divisions() == [4]
    assert Family(8, [*links, (7, 3)]).divisions() == []  # another cell came in


def test_daughters_found_as_one_much_later_were_born_all_the_same():
    links = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5), (5, 6), (5, 7)]
    assert Family(8, links).divisions() == [0]
    assert Family(8, links, rejoin=3).divisions() == [5]


@given(lineages(), st.integers(1, 2))
def test_every_detection_has_a_fate_and_a_past(lineage, step):
    lineage = lineage.skipping(step)
    events = events_of(lineage, step)
    pairs = range(lineage.frame.min(), lineage.frame.max() - step + 1) if len(lineage) else range(0)
    for t in pairs:
        here = [e for e in events if e.frame == t]
        assert {i for e in here for i in e.parents} == set(lineage.id[lineage.frame == t].tolist())
        assert {i for e in here for i in e.children} == set(lineage.id[lineage.frame == t + step].tolist())
    links = {(e.frame, a, b) for e in events for a in e.parents for b in e.children}
    assert links == {(t, a, b) for t in pairs for a, b in lineage.links(t, t + step)}
    assert len(set(events)) == len(events)


def test_events_over_several_frames():
    two = TRUE.skipping(2)
    assert [e for e in events_of(two, 2) if e.kind != "move"] == [
        Event("divide", 0, (1,), (1, 2)),
        Event("divide", 1, (1,), (1, 2)),
    ]
    report = evaluate_lineage(two, Lineage(two.frame, two.id, two.edges[1:]), step=2)
    assert report.events["divide"] == Hits(1, 2, 1) and report.event_loss == pytest.approx(3 / 9)
    assert event_loss(events_of(two, 2), events_of(two, 2)) == 0
    with pytest.raises(ValueError, match="step must be at least 1, got step=0"):
        events_of(TRUE, 0)


def test_a_missing_last_frame_is_an_error_too():
    report = evaluate_lineage(TRUE, without((3, 1), (3, 2), (3, 5)))
    assert report.events["disappear"] == Hits(0, 0, 3) and report.events["move"] == Hits(3, 6, 3)


# ------------------------------------------------------------------------------------------------- divisions


def dividing_at(frame, last=6):
    """A cell of id 1 that divides into 2 and 3, which are there from `frame` on."""
    nodes = [(t, 1) for t in range(frame)] + [(t, i) for t in range(frame, last) for i in (2, 3)]
    links = [((t, 1), (t + 1, 1)) for t in range(frame - 1)] + [((frame - 1, 1), (frame, i)) for i in (2, 3)]
    return Lineage.from_links(
        nodes, links + [((t, i), (t + 1, i)) for t in range(frame, last - 1) for i in (2, 3)]
    )


@pytest.mark.parametrize("early, late", [(3, 4), (2, 4), (1, 5)])
def test_divisions_with_a_tolerance(early, late):
    for true, predicted in ((dividing_at(early), dividing_at(late)), (dividing_at(late), dividing_at(early))):
        found = [evaluate_lineage(true, predicted, tolerance=k).divisions.correct for k in range(6)]
        assert found == [int(k >= late - early) for k in range(6)]
    report = evaluate_lineage(true, predicted, tolerance=4)
    assert f"+-{report.tolerance}" in report.format() and report.to_dict()["divisions"]["tolerance"] == 4


def test_a_shifted_division_needs_the_right_daughters():
    late = dividing_at(4)
    wrong = Lineage.from_links(
        [*zip(late.frame.tolist(), late.id.tolist()), (3, 2), (3, 9)],
        [
            ((0, 1), (1, 1)),
            ((1, 1), (2, 1)),
            ((2, 1), (3, 2)),
            ((2, 1), (3, 9)),
            ((3, 2), (4, 2)),
            ((4, 2), (5, 2)),
        ],
    )  # 9 is none of the daughters
    assert evaluate_lineage(late, wrong, tolerance=3).divisions == Hits(0, 1, 1)
    with pytest.raises(ValueError, match="tolerance must be a number of frames >= 0, got tolerance=-1"):
        evaluate_lineage(late, wrong, tolerance=-1)


@given(lineages(), lineages())
def test_a_tolerance_never_takes_divisions_away(true, predicted):
    found = [evaluate_lineage(true, predicted, tolerance=k).divisions for k in range(4)]
    counts = [d.correct for d in found]
    assert counts == sorted(counts) and counts[-1] <= min(found[0].true, found[0].predicted)


# ------------------------------------------------------------------------------------------------- matching


def test_masks_and_the_simulator_agree():
    movie = make_cells(
        20, 12, cycle=15, p_miss=0.05, p_false=0.05, p_split=0.05, p_merge=0.4, render=True, random_state=0
    )
    pairs = match_masks(movie.cells, movie.lineage, movie.cell_masks, iter(movie.masks))
    assert pairs.tolist() == movie.matching.tolist()
    assert match_masks(movie.cells, movie.cells, movie.cell_masks, movie.cell_masks).tolist() == [
        [k, k] for k in range(len(movie.cells))
    ]


@given(st.integers(0, 10_000))
def test_labels_match_by_more_than_half(seed):
    rng = np.random.default_rng(seed)
    true, predicted = rng.integers(0, 4, (2, 4, 5))
    expected = [
        [a, b]
        for a in range(1, 4)
        for b in range(1, 4)
        if ((true == a) & (predicted == b)).sum() > 0.5 * (true == a).sum()
    ]
    assert match_labels(true, predicted).tolist() == expected


@pytest.mark.parametrize(
    "true_masks, predicted_masks, message",
    [
        ([[[1, 0]]], [[[1, 0]], [[1, 0]]], "the truth has no mask of frame 1"),
        ([[[1, 0]], [[1, 0]]], [[[1, 0]]], "the prediction has no mask of frame 1"),
        ([[[1, 3]], [[1, 0]]], [[[1, 0]], [[1, 0]]], "frame 0: the mask of the truth has the label 3"),
        (
            [[[1, 0]], [[1, 0]]],
            [[[1, 0]], [[0, 0]]],
            "frame 1: detection 1 of the prediction is not in its mask",
        ),
        (
            [[[1, 0]], [[1, 0]]],
            [[[1, 0]], [[1, 0, 0]]],
            r"frame 1: label images must have one shape, got \(1, 2\)",
        ),
        ([[[1, 0]]], [[[1, 0]]], "the truth has detections in frame 1, but there is no mask of it"),
    ],
)
def test_masks_that_do_not_fit(true_masks, predicted_masks, message):
    lineage = Lineage.from_links([(0, 1), (1, 1)], [])
    with pytest.raises(ValueError, match=message):
        match_masks(lineage, lineage, true_masks, predicted_masks)


@pytest.mark.parametrize(
    "matching, message",
    [
        ([[0, 0], [0, 1]], "the true detection 1 of frame 0 is matched 2 times"),
        ([[0, 2]], r"matching\[0\] joins a detection of frame 0 with one of frame 1"),
        ([[0, 0], [99, 0]], r"matching\[1\] names the true detection 99, but there are 10"),
        ([[0, -1]], r"matching\[0\] names the predicted detection -1, but there are 10"),
    ],
)
def test_a_matching_that_is_none(matching, message):
    with pytest.raises(ValueError, match=message):
        evaluate_lineage(TRUE, TRUE, matching)


# ------------------------------------------------------------------------------------------------ the report


def test_the_report_as_numbers_and_as_text():
    report = evaluate_lineage(TRUE, without((2, 2)))
    facts = report.to_dict()
    assert facts["tra"] == report.tra and facts["operations"] == {
        "ns": 0,
        "fn": 1,
        "fp": 0,
        "ed": 0,
        "ea": 2,
        "ec": 1,
    }
    assert facts["links"]["recall"] == 0.75 and facts["events"]["divide"]["correct"] == 0
    assert f"TRA {report.tra:.4f}" in report.headline() and report.headline().count(",") == 4
    assert str(report) == report.format() and "split" in report.format()


def test_long_movies_are_compared_in_little_memory():
    """No Python object per detection but those of tracks: it took some 1,300 bytes of each, and takes about 250."""
    n, t = 100, 200
    first = np.arange(n * (t - 1))
    edges = np.stack([first, first + n], axis=1)
    frame, own = np.repeat(np.arange(t), n), np.tile(np.arange(n), t)
    rng = np.random.default_rng(0)
    true, predicted = (Lineage(frame, own, edges[rng.random(len(edges)) > 0.01]) for _ in range(2))
    tracemalloc.start()
    report = evaluate_lineage(true, predicted)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.links.f1 > 0.97 and peak < 500 * n * t
