"""Trackers: learning from movies, whole and partial lineages, windows, pins, time limits, files, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from palmette import Detections
from palmette.apps.tracking import Pins, Tracker, evaluate_lineage
from palmette.apps.tracking.movies import windows
from palmette.datasets import make_cells
from palmette.errors import ModelFileError
from palmette.structures import EventKind, Lineage
from palmette.structures.tracking import programs
from palmette.structures.tracking.cover import SampleCover
from palmette.structures.tracking.direct import EventScores, explain
from palmette.structures.tracking.tables import conflicting


@pytest.fixture(scope="module")
def movies():
    return [make_cells(n_cells=12, n_frames=12, random_state=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def tracker(movies):
    return Tracker.train([(movies[0].frames, movies[0].lineage)])


def report(movie, tracker, **options):
    return evaluate_lineage(movie.lineage, tracker.track(movie.frames, **options).lineage)


def test_learns_to_track_another_movie(movies, tracker):
    found = report(movies[1], tracker)
    assert found.tra > 0.99 and found.event_loss < 0.05
    assert tracker.repairs == ()
    tracked = tracker.track(iter(movies[1].frames))  # a stream, frame by frame
    assert tracked.lost == 0.0 and len(tracked.lineage) == sum(map(len, movies[1].frames))
    assert sum(tracked.counts.values()) > 0


def test_learns_from_several_movies_and_from_some_links(movies):
    movie, rng = movies[0], np.random.default_rng(0)
    some = Lineage(
        movie.lineage.frame, movie.lineage.id, movie.lineage.edges[rng.random(len(movie.lineage.edges)) < 0.5]
    )
    both = [(movie.frames, movie.lineage), (movies[1].frames, movies[1].lineage)]
    assert report(movies[1], Tracker.train(both)).tra > 0.99
    partial = Tracker.train([(movie.frames, some)], complete=False, max_distance=25.0)
    assert report(movies[1], partial).tra > 0.95
    simple = Tracker.train(both[:1], learner="perceptron", measurements=["area"], random_state=0)
    assert simple.measurements == ("area",) and report(movies[1], simple).tra > 0.9


def test_penalty_chosen_on_runs_of_frames(movies):
    tracker = Tracker.train([(movies[0].frames, movies[0].lineage)], tune=2, tol=0.1)
    assert len(tracker.model.cv_scores_) > 1 and report(movies[1], tracker).tra > 0.95
    held = Tracker.train(
        [(movies[0].frames, movies[0].lineage)],
        tune="dev",
        dev=[(movies[1].frames, movies[1].lineage)],
        tol=0.1,
    )
    assert len(held.model.cv_scores_) > 1


def test_windows_bridge_gaps_and_drop_false_detections():
    made = [make_cells(12, 12, p_miss=0.06, p_false=0.06, bridge=True, random_state=seed) for seed in (3, 4)]
    train = [(made[0].frames, made[0].lineage)]
    pairs, whole = Tracker.train(train), Tracker.train(train, window=4)
    assert {"skip", "false"} <= set(whole.kinds)
    assert report(made[1], whole).links.f1 > report(made[1], pairs).links.f1


@pytest.mark.parametrize("window", [3, 4, 5])
def test_gaps_and_false_detections_are_found_in_every_frame(window):
    """Wherever windows meet, an object that is missed once is linked over the gap, and debris is called false."""
    made = make_cells(10, 12, p_miss=0.06, p_false=0.06, bridge=True, random_state=3)
    way = [Detections([[50.0, 40.0 + 2 * t], [20.0, 20.0]], ids=[1, 2], frame=t) for t in range(9)]
    tracker = Tracker.train([(made.frames, made.lineage)], window=window, measurements=[])
    for t in range(1, 8):
        seen = [frame.take(np.array([1])) if frame.frame == t else frame for frame in way]
        assert (1, 1) in tracker.track(seen).lineage.links(t - 1, t + 1), t
        debris = [
            Detections([*frame.position, [90.0, 90.0]], {}, [1, 2, 3], frame=t) if frame.frame == t else frame
            for frame in way
        ]
        tracked = tracker.track(debris)
        assert tracked.false == ((t, 3),) and len(tracked.lineage) == 18, t


@pytest.mark.parametrize("window", [3, 4, 6])
def test_windows_explain_everything_once_and_score_no_more_than_the_whole(window):
    made = make_cells(10, 14, p_miss=0.08, p_false=0.08, bridge=True, random_state=3)
    tracker = Tracker.train([(made.frames, made.lineage)], window=window)
    tracked, whole = (replace(tracker, window=w).track(made.frames) for w in (window, 14))
    sizes = {kind.name: (kind.n_before, kind.n_after) for kind in tracker.model.structure.kinds}
    n = [len(frame) for frame in made.frames]
    for side, cells in enumerate((sum(n[:-1]), sum(n[1:]))):
        assert sum(sizes[kind][side] * count for kind, count in tracked.counts.items()) == cells
    assert tracked.score <= whole.score + 1e-9
    assert evaluate_lineage(whole.lineage, tracked.lineage).links.f1 > 0.98


def test_pinned_ends_are_not_called_false():
    """A pin may join a frame of a window with one behind it."""
    made = make_cells(10, 12, p_miss=0.06, p_false=0.06, bridge=True, random_state=3)
    tracker = Tracker.train([(made.frames, made.lineage)], window=4, measurements=[], max_distance=40.0)
    way = [Detections([[20.0, 20.0]], frame=t) for t in range(9)]
    for t in range(1, 6):
        spots = {t: [30.0, 50.0], t + 2: [32.0, 52.0]}
        seen = [
            Detections([*f.position, spots[f.frame]], frame=f.frame) if f.frame in spots else f for f in way
        ]
        tracked = tracker.track(seen, pins=Pins(links=[((t, 1), (t + 2, 1))]))
        assert (1, 1) in tracked.lineage.links(t, t + 2) and not tracked.false


def test_windows_share_frames():
    frames = [Detections([[0.0, 0.0]], frame=t) for t in range(5)]
    assert [[f.frame for f in own] for own in windows(frames, 2)] == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert [[f.frame for f in own] for own in windows(frames, 9)] == [[0, 1, 2, 3, 4]]
    assert [[f.frame for f in own] for own in windows(frames[:1], 2)] == [[0]]
    assert [[f.frame for f in own] for own in windows(frames, 3, 2)] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert [[f.frame for f in own] for own in windows(frames, 4, 2)] == [[0, 1, 2, 3], [2, 3, 4]]
    with pytest.raises(ValueError, match="frame 0 comes after frame 1"):
        list(windows([frames[1], frames[0]], 2))


@pytest.mark.parametrize("limit", [1, 14])
def test_the_short_way_finds_what_the_model_predicts(movies, tracker, limit, monkeypatch):
    monkeypatch.setattr(SampleCover.__init__, "__defaults__", (limit, None))
    for pair in zip(movies[1].frames, movies[1].frames[1:]):
        candidates = tracker.candidates(pair)
        score = EventScores(tracker.model)(candidates)
        theta = tracker.model.scorer_.score(
            tracker.model.coef_, tracker.model.encoder_.transform([candidates])
        )
        np.testing.assert_allclose(score, theta.node[:, 1], rtol=0, atol=1e-9)
        found = explain(score, candidates.layout, np.zeros(int(candidates.layout.n_cells[0]), bool))
        assert found.chosen.astype(int).tolist() == tracker.model.predict([candidates])[0]
        one = candidates.layout.cell[: candidates.layout.ptr[1]]  # the cells of the first event
        taken = np.isin(np.arange(int(candidates.layout.n_cells[0])), one)
        rest = explain(score, candidates.layout, taken)
        with_it = np.full(len(score), -1)
        with_it[0] = 1
        forced = np.where(conflicting(candidates.layout, with_it), -np.inf, score)
        assert score[0] + score[rest.chosen].sum() == pytest.approx(
            SampleCover(forced, candidates.layout).value
        )


def test_pins_hold_and_the_rest_is_solved_around_them(movies, tracker):
    movie = movies[1]
    tracked = tracker.track(movie.frames).lineage
    a, b = next((a, b) for a, b in tracked.edges.tolist() if tracked.n_children[a] == 1)
    link = tuple((int(tracked.frame[n]), int(tracked.id[n])) for n in (a, b))
    other = tracker.track(movie.frames, pins=Pins(forbidden=[link])).lineage
    assert link[1][1] not in [j for i, j in other.links(link[0][0], link[1][0]) if i == link[0][1]]
    pinned = tracker.track(movie.frames, pins=Pins(links=[link])).lineage
    assert (link[0][1], link[1][1]) in pinned.links(link[0][0], link[1][0])
    # a neighbour that is a candidate, and not the best
    candidates = tracker.candidates(movie.frames[link[0][0] : link[1][0] + 1])
    near = [
        e
        for e in candidates.events
        if e.kind == "move" and e.before == (link[0][1],) and e.after != (link[1][1],)
    ]
    if near:
        wanted = (link[0], (link[1][0], near[0].after[0]))
        forced = tracker.track(movie.frames, pins=Pins(links=[wanted])).lineage
        assert (wanted[0][1], wanted[1][1]) in forced.links(wanted[0][0], wanted[1][0])
    with pytest.raises(ValueError, match="is no candidate"):
        tracker.track(movie.frames, pins=Pins(links=[((0, 1), (1, 999))]))
    with pytest.raises(ValueError, match="joins no frames"):
        tracker.track(movie.frames, pins=Pins(links=[((70, 1), (71, 1))]))
    with pytest.raises(ValueError, match="pinned and forbidden"):
        Pins(links=[link], forbidden=[link])


def test_time_limit_returns_a_cover_and_a_bound(movies, tracker, monkeypatch):
    """Without any time, parts that need a program are covered greedily; the bound holds."""
    exact = tracker.track(movies[1].frames)
    monkeypatch.setattr("palmette.structures.tracking.cover.LIMIT", 1)
    monkeypatch.setattr(SampleCover.__init__, "__defaults__", (0, None))
    rough = tracker.track(movies[1].frames, time_limit=1e-9)
    assert rough.score <= exact.score + 1e-6 <= rough.score + rough.lost + 1e-5
    with pytest.raises(ValueError, match="time_limit must be above 0"):
        tracker.track(movies[1].frames, time_limit=0.0)


def test_greedy_covers_and_bounds():
    program = programs.Program(
        np.array([3.0, 1.0, 2.5]), np.array([0, 2, 3, 4]), np.array([0, 1, 0, 1]), 2, 1
    )
    assert programs.greedy(program).tolist() == [False, True, True]
    assert programs.upper_bound(program) == 4.0
    assert (
        programs.greedy(program._replace(score=program.score[:1], ptr=np.array([0, 1]), cell=np.array([0])))
        is None
    )


def test_files_and_the_tracker_of_simulated_cells(movies, tracker, tmp_path):
    tracker.save(tmp_path / "t.palmette")
    again = Tracker.load(tmp_path / "t.palmette")
    assert again.measurements == tracker.measurements
    assert np.array_equal(
        again.track(movies[1].frames).lineage.edges, tracker.track(movies[1].frames).lineage.edges
    )
    for measured in ({"area", "intensity", "more"}, {"area"}, set()):
        ready = Tracker.pretrained(measured)
        assert set(ready.measurements) <= measured and report(movies[1], ready).tra > 0.98
    tracker.model.save(tmp_path / "plain.palmette")
    with pytest.raises(ModelFileError, match="is not a tracker"):
        Tracker.load(tmp_path / "plain.palmette")


def test_empty_frames_are_gone_through(movies, tracker):
    frames = list(movies[1].frames[:6])
    frames[3] = Detections(np.empty((0, 2)), frame=3, shape=frames[3].shape)
    tracked = tracker.track(frames)
    assert not np.any(tracked.lineage.frame == 3)
    assert tracked.lineage.links(2, 4) == [] and len(tracked.lineage.links(4, 5)) > 0
    assert len(tracker.track([frames[3]]).lineage) == 0


def test_what_is_refused(movies, tracker):
    movie = movies[0]
    bare = [Detections(own.position, frame=own.frame) for own in movie.frames]
    with pytest.raises(ValueError, match=r"frame 0 has no area, .*which the tracker uses"):
        tracker.track(bare)
    wrong = Lineage.from_links([(0, 1), (1, 999)], [((0, 1), (1, 999))])
    with pytest.raises(ValueError, match="links object 999 of frame 1, which has no detection"):
        Tracker.train([(movie.frames, wrong)])
    with pytest.raises(ValueError, match="at least two frames"):
        Tracker.train([(movie.frames[:1], movie.lineage)])
    with pytest.raises(ValueError, match="no link joins successive frames"):
        Tracker.train([(movie.frames, Lineage(movie.lineage.frame, movie.lineage.id, np.empty((0, 2))))])
    with pytest.raises(ValueError, match="has no penalty"):
        Tracker.train([(movie.frames, movie.lineage)], learner="perceptron", l2=1.0)
    with pytest.raises(ValueError, match="window must be"):
        Tracker.train([(movie.frames, movie.lineage)], window=1)


def test_a_lineage_that_breaks_the_rules_is_mended_and_named():
    frames = [
        Detections([[0.0, 0.0], [50.0, 50.0]], frame=0),
        Detections([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [50.0, 51.0]], frame=1),
    ]
    nodes = [(0, 0), (0, 1), *((1, k) for k in range(4))]
    lineage = Lineage.from_links(nodes, [((0, 0), (1, k)) for k in range(3)] + [((0, 1), (1, 3))])
    tracker = Tracker.train([(frames, lineage)], tol=0.1)
    assert [str(own) for own in tracker.repairs] == [
        "frame 0, object 0: has 3 children; kept are the two nearest, 0 and 1"
    ]


def test_kinds_without_candidates_and_links_over_gaps():
    """One cell per frame has no division to learn from; links that no event takes up are named."""
    one = [Detections([[5.0, 5.0 + t]], frame=t) for t in range(4)]
    lineage = Lineage.from_links([(t, 0) for t in range(4)], [((0, 0), (1, 0)), ((1, 0), (3, 0))])
    tracker = Tracker.train([(one, lineage)], max_distance=20.0)
    assert [str(own) for own in tracker.repairs] == [
        "frame 1, object 0: is linked to object 0 of frame 3 over frames between; learnt as disappear and appear"
    ]
    many = [Detections([[5.0, 5.0], [7.0, 7.0], [9.0, 5.0]], frame=t) for t in range(3)]
    assert len(tracker.track(many).lineage) == 9


def test_false_detections_leave_the_lineage():
    made = make_cells(12, 12, p_false=0.1, random_state=3)
    tracker = Tracker.train([(made.frames, made.lineage)], window=4)
    tracked = tracker.track(made.frames)
    assert len(tracked.false) == tracked.counts["false"] > 0
    assert len(tracked.lineage) + len(tracked.false) == sum(map(len, made.frames))
    assert not set(tracked.false) & set(zip(tracked.lineage.frame.tolist(), tracked.lineage.id.tolist()))


def test_a_tracker_with_an_own_kind_of_events_is_saved_without_it(movies, tmp_path):
    def near(pair):
        return pair.before[:, None], pair.after[:, None]

    def far(pair, before, after):
        return {"distance": pair.apart(pair.a.position[before[:, 0]], pair.b.position[after[:, 0]])}

    events = ["move", "divide", "appear", "disappear", EventKind("debris", 1, 1, near, far)]
    path, own = tmp_path / "own", Tracker.train([(movies[0].frames, movies[0].lineage)], events=events)
    own.save(path)
    with pytest.raises(
        ModelFileError, match=r"uses events=\[move, .*, debris\].*hold no code: give it again"
    ):
        Tracker.load(path)
    with pytest.raises(ModelFileError, match="events are move, appear, but the model knows move, divide"):
        Tracker.load(path, events=["move", "appear"])
    again = Tracker.load(path, events=events)
    assert again.kinds == own.kinds
    assert again.track(movies[1].frames).counts == own.track(movies[1].frames).counts


def test_links_that_contradict_each_other_are_named(movies):
    movie = movies[0]
    early, late = movie.frames[:2]
    a, b = movie.lineage.links(0, 1)[0]
    distance = np.linalg.norm(early.position - late.position[late.place[b]], axis=1)
    other = next(own for own in early.ids[np.argsort(distance)].tolist() if own != a)
    nodes = list(zip(movie.lineage.frame.tolist(), movie.lineage.id.tolist()))
    both = Lineage.from_links(nodes, [((0, a), (1, b)), ((0, other), (1, b))])
    repairs = Tracker.train([(movie.frames, both)], complete=False, max_distance=60.0).repairs
    assert [own.id for own in repairs] == [max(a, other)]
    assert f"its link to object {b} of frame 1 contradicts other links" in str(repairs[0])
    gap = Lineage.from_links(nodes, [((0, a), (2, int(movie.frames[2].ids[0])))])
    with pytest.raises(
        ValueError, match=r"none of the links can be learnt from: frame 0.*over frames between"
    ):
        Tracker.train([(movie.frames, gap)], complete=False, max_distance=60.0)


def test_frames_without_detections_are_told(movies, tracker):
    frames = list(movies[1].frames)
    for t in (0, 5, 6, 11):
        frames[t] = frames[t].take(np.empty(0, int))
    assert tracker.track(frames).empty == (5, 6)
    assert tracker.track(frames[:1]).empty == () and tracker.track([]).empty == ()
