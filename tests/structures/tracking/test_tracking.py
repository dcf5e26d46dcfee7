"""Tracking: every answer against enumeration, learners, partial annotation, files, and what is refused."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, SSVM, UNKNOWN, Chain, Detections, Perceptron, Tracking, load
from palmette.errors import MissingCapability
from palmette.structures import EventKind, EventTables, Lineage, WeightedEvents
from palmette.structures.tracking import programs
from palmette.structures.tracking.cover import (
    LIMIT,
    SampleCover,
    best_covers,
    changed_values,
    touching_covers,
)
from palmette.structures.tracking.tables import Layout
from palmette.structures.tracking.truth import true_codes, true_events
from palmette.testing import TrackingReference, check_structure


class Small(Tracking):
    """All parts go to programs."""

    limit = 0


class Tame(TrackingReference):
    """Without the scores that are too large for the tolerance of linear programs."""

    def instances(self, rng):
        return (own for own in super().instances(rng) if not own.name.startswith("huge"))


def test_every_answer_agrees_with_enumeration():
    report = check_structure(Tracking())
    assert {"best", "worst", "k_best", "max_marginals", "best_contradicting"} <= set(report.checked)


def test_programs_agree_with_enumeration():
    check_structure(Small(), Tame(), n_instances=4, answers=("best", "worst", "best_contradicting"))


# -- covers of many cells, where enumeration ends ---------------------------------------------------------------------


def random_problem(rng, n_before, n_after, spread=1.0):
    """Moves between near cells of a line, appearances, disappearances, divisions."""
    events = [((c,), rng.normal() - 2.0) for c in range(n_before + n_after)]
    for i in range(n_before):
        near = [j for j in range(n_after) if abs(i - j) < 4]
        events += [((i, n_before + j), spread * rng.normal()) for j in near]
        events += [
            ((i, n_before + j, n_before + k), spread * rng.normal() - 1.0)
            for j in near
            for k in near
            if j < k
        ]
    ptr = np.cumsum([0, *(len(cells) for cells, _ in events)])
    cell = np.array([c for cells, _ in events for c in cells], np.int64)
    sizes = (np.array([0, len(events)]), ptr, cell, np.array([n_before + n_after]), np.array([n_before]))
    return np.array([score for _, score in events]), Layout(*sizes, np.zeros(len(events), np.int64))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 14), spread=st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=15)
def test_bounds_and_parts_lose_nothing(seed, n, spread):
    """Dominated and hopeless events are dropped, parts are solved alone: the value is that of the whole program."""
    rng = np.random.default_rng(seed)
    score, layout = random_problem(rng, n, int(rng.integers(1, 15)), spread)
    whole = programs._integer(
        programs.Program(score, layout.ptr, layout.cell, int(layout.n_cells[0]), n), time_limit=None
    )
    for limit in (0, 9, LIMIT):
        chosen, missing = best_covers(score, layout, limit)
        assert missing is None
        assert np.all(np.bincount(layout.cell[np.repeat(chosen, np.diff(layout.ptr))]) == 1)
        assert score[chosen].sum() == pytest.approx(score[whole.chosen].sum(), abs=1e-6)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_touching_and_forced_events(seed):
    """The best cover with some event of a set is the best of those with each of them."""
    rng = np.random.default_rng(seed)
    score, layout = random_problem(rng, 6, 6)
    cover = SampleCover(score, layout, limit=40)
    values = changed_values(score, layout, (), cover.chosen, np.zeros(len(score), bool), limit=40)
    assert values.max() == pytest.approx(cover.value) and np.all(values <= cover.value + 1e-9)
    assert np.all(cover.value - values >= np.minimum(cover.slack, np.inf) - 1e-9)  # the slack bounds the cost
    wanted = rng.random(len(score)) < 0.1
    if wanted.any():
        assert score[cover.touching(wanted)].sum() == pytest.approx(values[wanted].max())


def all_covers(score, layout):
    """Every cover of one sample, by the events at the first cell that is free; best first."""
    cells = [set(layout.cell[a:b].tolist()) for a, b in zip(layout.ptr[:-1], layout.ptr[1:])]
    found, n = [], int(layout.n_cells[0])

    def extend(covered, events):
        if len(covered) == n:
            found.append(events)
            return
        free = min(set(range(n)) - covered)
        for e, own in enumerate(cells):
            if free in own and not own & covered and score[e] > -np.inf:
                extend(covered | own, [*events, e])

    extend(set(), [])
    chosen = np.zeros((len(found), len(cells)), bool)
    for row, events in zip(chosen, found):
        row[events] = True
    values = np.array([score[row].sum() for row in chosen])
    order = np.argsort(-values, kind="stable")
    return chosen[order], values[order]


@given(
    seed=st.integers(0, 2**32 - 1),
    draw=st.sampled_from(["plain", "ties", "zeros", "wide", "forbidden"]),
    limit=st.sampled_from([0, 12, LIMIT]),
)
@settings(max_examples=60)
def test_second_covers_and_wanted_events_agree_with_enumeration(seed, draw, limit):
    """Also events that others dominate: they are in no best cover, but may be in the second best."""
    rng = np.random.default_rng(seed)
    score, layout = random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    if draw == "ties":
        score = rng.integers(-1, 2, len(score)).astype(float)
    elif draw == "zeros":
        score = np.zeros(len(score))
    elif draw == "wide":
        score *= 10.0 ** rng.integers(-3, 4, len(score))
    elif draw == "forbidden":
        score[rng.random(len(score)) < 0.4] = -np.inf
    covers, values = all_covers(score, layout)
    best, missing = best_covers(score, layout, limit)
    assert (missing is None) == bool(len(covers))
    if missing is not None:
        return
    near = 1e-9 * max(1.0, np.abs(score[score > -np.inf]).max())  # the tolerance of linear programs
    assert score[best].sum() == pytest.approx(values[0], abs=near)
    sets = rng.random((3, len(score))) < rng.choice([0.05, 0.3])
    for touch in ((~best,), (sets[0],), (sets[0], ~best), tuple(sets)):
        fit = np.all([(covers & own).any(axis=1) for own in touch], axis=0)
        found, none = touching_covers(score, layout, touch, best, limit)
        assert none[0] == (not fit.any())
        if fit.any():
            assert score[found].sum() == pytest.approx(values[fit][0], abs=1e-9 + near)
            assert (covers == found).all(axis=1)[fit].any()
    for touch in ((), (sets[0],)):
        fit = np.all([(covers & own).any(axis=1) for own in (np.ones(len(score), bool), *touch)], axis=0)
        given = best if not len(touch) or not fit.any() else covers[fit][0]
        changed = changed_values(score, layout, touch, best, given, limit)
        for e, value in enumerate(changed):
            left = values[fit & (covers[:, e] != given[e])]
            assert value == (pytest.approx(left[0], abs=1e-9 + near) if len(left) else -np.inf)


@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=15)
def test_searches_agree_with_programs(seed, spread):
    """Second covers and wanted events where there are many cells, several samples at once."""
    rng = np.random.default_rng(seed)
    drawn = [
        random_problem(rng, int(rng.integers(1, 16)), int(rng.integers(1, 16)), spread) for _ in range(3)
    ]
    score, layout = np.concatenate([own for own, _ in drawn]), joined([own for _, own in drawn])
    best, missing = best_covers(score, layout)
    assert missing is None
    wanted = rng.random(len(score)) < 0.05
    for touch in ((~best,), (wanted,), (wanted, ~best)):
        fast, none = touching_covers(score, layout, touch, best)
        slow, never = touching_covers(score, layout, touch, best, limit=0)
        assert none.tolist() == never.tolist()
        for s in np.flatnonzero(~none):
            own = slice(*layout.offsets[s : s + 2])
            assert score[own][fast[own]].sum() == pytest.approx(score[own][slow[own]].sum(), abs=1e-6)


def joined(layouts):
    """Layouts of single samples as one of a batch."""
    events = np.cumsum([0, *(len(own.kind) for own in layouts)])
    entries = np.cumsum([0, *(len(own.cell) for own in layouts)])
    ptr = np.concatenate([[0], *(own.ptr[1:] + at for own, at in zip(layouts, entries))])
    each = (np.concatenate([getattr(own, name) for own in layouts]) for name in Layout._fields[2:])
    return Layout(events, ptr, *each)


def test_a_cell_with_very_many_events_goes_to_a_program():
    """The cells of an event may be too far apart for the masks of a search, however they are ordered."""
    rng, n = np.random.default_rng(0), 150
    ptr = np.concatenate([np.arange(n + 1), n + 3 * np.arange(1, n - 1)])
    triples = np.stack([np.zeros(n - 2, int), np.arange(1, n - 1), np.arange(2, n)], axis=1)
    cell = np.concatenate([np.arange(n), triples.ravel()])
    whole = np.array([0, len(ptr) - 1]), ptr, cell, np.array([n]), np.array([1]), np.zeros(len(ptr) - 1, int)
    score, layout = np.concatenate([np.full(n, -9.0), rng.random(n - 2)]), Layout(*whole)
    best, missing = best_covers(score, layout)
    assert missing is None and score[best].sum() == pytest.approx(score[n:].max() - 9.0 * (n - 3))
    second, none = touching_covers(score, layout, (~best,), best)
    assert not none[0] and score[second].sum() == pytest.approx(np.sort(score[n:])[-2] - 9.0 * (n - 3))


def test_assignment_is_found_and_right():
    rng = np.random.default_rng(0)
    score, layout = random_problem(rng, 12, 9)
    few = np.diff(layout.ptr) < 3
    kept = np.repeat(few, np.diff(layout.ptr))
    program = programs.Program(
        score[few], np.cumsum([0, *np.diff(layout.ptr)[few]]), layout.cell[kept], 21, 12
    )
    assert programs.is_assignment(program)
    fast, exact = programs.solve(program), programs._integer(program, None)
    assert score[few][fast.chosen].sum() == pytest.approx(score[few][exact.chosen].sum())
    alone = program._replace(score=program.score[21:], ptr=program.ptr[21:] - 21, cell=program.cell[21:])
    assert programs._assigned(alone).chosen is None  # 12 cells cannot all be matched with 9


# -- learning ---------------------------------------------------------------------------------------------------------


def moving(rng, n=12, divides=0.2):
    """Two frames: cells move a little, some divide, one appears and one is gone."""
    early = 100.0 * rng.random((n, 2))
    area = rng.uniform(80.0, 120.0, n)
    links, late, sizes = [], [], []
    for i in range(1, n):
        if rng.random() < divides:
            step = rng.normal(size=2)
            step *= 5.0 / np.linalg.norm(step)
            for sign in (-1.0, 1.0):
                links.append((i, len(late)))
                late.append(early[i] + sign * step)
                sizes.append(area[i] / 2.0)
        else:
            links.append((i, len(late)))
            late.append(early[i] + rng.normal(size=2))
            sizes.append(area[i])
    late.append(100.0 * rng.random(2))
    sizes.append(100.0)
    pair = Detections(early, {"area": area}, frame=0), Detections(late, {"area": sizes}, frame=1)
    return pair, links


@pytest.fixture(scope="module")
def movie():
    rng = np.random.default_rng(1)
    tracking = Tracking(max_distance=15.0)
    X, Y = [], []
    for _ in range(8):
        pair, links = moving(rng)
        candidates = tracking.candidates(pair)
        nodes = [(own.frame, int(k)) for own in pair for k in own.ids]
        lineage = Lineage.from_links(nodes, [((0, a), (1, b)) for a, b in links])
        X.append(candidates)
        Y.append(true_codes(candidates, lineage)[0].tolist())
    return tracking, X, Y


@pytest.mark.parametrize("solver", ["auto", "bundle", "n_slack", "frank_wolfe"])
def test_learns_to_track(movie, solver):
    tracking, X, Y = movie
    model = SSVM(tracking, l2=1.0, solver=solver, tol=1e-2).fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert model.result_.gap <= 1e-2 * model.objective_ + 1e-9


def test_perceptron_l1_and_partial_annotation(movie):
    tracking, X, Y = movie
    assert Perceptron(tracking, random_state=0).fit(X, Y).score(X, Y) > 0.85
    sparse = SSVM(tracking, l1=2.0, l2=0.1, solver="bundle", tol=1e-2).fit(X, Y)
    assert sparse.score(X, Y) > 0.9 and np.mean(sparse.coef_ == 0.0) > 0.3
    rng = np.random.default_rng(0)
    some = []
    for candidates, y in zip(X, Y):
        events = [event for event in candidates.events_of(y) if rng.random() < 0.5]
        some.append(candidates.annotated(events))
    assert any(label is UNKNOWN for y in some for label in y)
    assert SSVM(tracking, l2=1.0, loss="bridge").fit(X, some).score(X, Y) > 0.9


def test_files(movie):
    tracking, X, Y = movie
    model = SSVM(tracking, l2=1.0, tol=0.1).fit(X, Y)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    again = load(file)
    assert again.predict(X) == model.predict(X)
    assert again.encoder_.feature_names == model.encoder_.feature_names
    assert "move: distance" in again.encoder_.feature_names


def test_weighted_events(movie):
    """With weight 0 mistakes of a kind are free; weights of 1 are the Hamming loss; values agree with costs."""
    tracking, X, Y = movie
    theta = EventTables(np.zeros((len(X[0]), 2)), *X[0].layout)
    true = np.array(Y[0])
    other = tracking.best(theta, within=tracking.contradicting(theta, true)).codes
    plain, heavy = (WeightedEvents(w).bind(tracking, (0, 1)) for w in ({}, {"divide": 5.0, "appear": 0.0}))
    assert plain.value(tracking, theta, true, other)[0] == np.sum(true != other)
    weight = np.array([1.0, 5.0, 0.0, 1.0])[theta.kind]
    assert heavy.value(tracking, theta, true, other)[0] == np.sum(weight * (true != other))
    for loss in (plain, heavy):
        cost = loss.cost(theta, true)
        assert tracking.score(theta, other, cost=cost) == pytest.approx(
            loss.value(tracking, theta, true, other)
        )
        best = loss.augmented_best(tracking, theta, true)
        assert best.values[0] <= loss.largest(tracking, theta, true)[0]
    same = [
        SSVM(tracking, l2=1.0, tol=1e-3, task_loss=loss).fit(X, Y).objective_
        for loss in ("hamming", WeightedEvents())
    ]
    assert same[0] == pytest.approx(same[1], rel=2e-3)
    with pytest.raises(ValueError, match="no events 'fly'"):
        SSVM(tracking, task_loss=WeightedEvents({"fly": 1.0})).fit(X, Y)
    with pytest.raises(MissingCapability, match="WeightedEvents has no augmented maximum on Chain"):
        SSVM(Chain(), task_loss=WeightedEvents()).fit([[[1.0]]], [["a"]])


def test_windows_explain_false_detections_and_missed_ones():
    """Over three frames a detection without neighbours is false, and a cell that was missed is linked over the gap."""
    one, two = [10.0, 10.0], [40.0, 40.0]
    frames = (
        Detections([one, two], frame=0), Detections([one, [80.0, 80.0]], frame=1), Detections([one, two], frame=2),
    )  # fmt: skip
    tracking = Tracking(("move", "appear", "disappear", "skip", "false"), max_distance=9.0)
    candidates = tracking.candidates(frames)
    truth = [
        ("move", (0,), (0,), 0), ("move", (0,), (0,), 1), ("skip", (1,), (1,), 0), ("false", (1,), (1,), 1),
    ]  # fmt: skip
    y = candidates.codes(truth).tolist()
    model = SSVM(tracking, l2=0.01, tol=1e-3).fit([candidates], [y])
    assert {tuple(event) for event in candidates.events_of(model.predict([frames])[0])} == set(truth)


def test_own_kinds_of_events():
    def near(pair):
        return pair.before[:, None], pair.after[:, None]

    def nothing(pair, before, after):
        return {}

    tracking = Tracking(
        ["move", "appear", "disappear", EventKind("dies", 1, 1, near, nothing)], max_distance=5.0
    )
    pair = Detections([[0.0, 0.0]]), Detections([[0.0, 1.0]])
    candidates = tracking.candidates(pair)
    model = SSVM(tracking, l2=0.1).fit([candidates], [candidates.codes([("dies", (0,), (0,))])])
    assert candidates.events_of(model.predict([pair])[0])[0].kind == "dies"


# -- the truth --------------------------------------------------------------------------------------------------------


def test_truth_that_the_model_cannot_express_is_named():
    early = Detections([[0.0, 0.0], [20.0, 0.0]], ids=[3, 4], frame=5)
    late = Detections([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0], [90.0, 0.0]], ids=[6, 7, 8, 9], frame=6)
    links = [(3, 6), (3, 7), (3, 8), (4, 9)]
    events, repairs = true_events(links, early, late, ["move", "divide", "appear", "disappear"])
    assert ("divide", (3,), (6, 7), 5) in events and ("appear", (), (8,), 5) in events
    assert [str(own) for own in repairs] == [
        "frame 5, object 3: has 3 children; kept are the two nearest, 6 and 7"
    ]
    candidates = Tracking(max_distance=10.0).candidates((early, late))
    nodes = [(5, 3), (5, 4), *((6, k) for k in (6, 7, 8, 9))]
    lineage = Lineage.from_links(nodes, [((5, a), (6, b)) for a, b in links])
    codes, repairs = true_codes(candidates, lineage)
    assert ("disappear", (4,), (), 5) in candidates.events_of(codes)
    assert "too far" in str(repairs[1]) and "object 4" in str(repairs[1])
    Tracking().check_outputs(codes, np.array([0, len(codes)]), None)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_sums_are_refused_with_the_reason(movie):
    tracking, X, Y = movie
    with pytest.raises(MissingCapability, match="intractable"):
        CRF(tracking).fit(X, Y)


def test_outputs_that_break_the_rules_are_refused(movie):
    tracking, X, Y = movie
    frame, own = X[0].cell_nodes[0]
    with pytest.raises(
        ValueError, match=rf"y\[0\]: the future of object {own} of frame {frame} is explained by 0"
    ):
        SSVM(tracking).fit(X[:1], [[0] * len(X[0])])
    # the last event of the second sample left out: its detection is named wherever the sample stands
    event = X[1].events_of(Y[1])[-1]
    without = [code if k != X[1].place(event) else 0 for k, code in enumerate(Y[1])]
    side, node = ("past", event.after) if event.after else ("future", event.before)
    frame = X[1].frames[1 if event.after else 0].frame
    for order in ((0, 1), (1, 0)):
        x, y = [X[:2][k] for k in order], [[Y[0], without][k] for k in order]
        found = rf"y\[{order.index(1)}\]: the (future|past) of object .* of frame .* by 0 events"
        with pytest.raises(ValueError, match=found) as error:
            SSVM(tracking).fit(x, y)
        assert str(frame) in str(error.value) or str(X[1].frames[0].frame) in str(error.value)
        encoded = SSVM(tracking).encode(x)
        names = [encoded.batch.cell_name(order.index(1), c) for c in range(int(X[1].layout.n_cells[0]))]
        assert f"the {side} of object {node[0]} of frame {frame}" in names
    twice = X[0].annotated([X[0].events_of(Y[0])[0]])
    twice = [1 if label == 0 else label for label in twice]
    with pytest.raises(ValueError, match="explained by"):
        SSVM(tracking).fit(X[:1], [twice])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"events": ["move", "fly"]}, "'fly'; known are move"),
        ({"events": ["move", "move"]}, "'move' twice"),
        ({"events": []}, "events is empty"),
        ({"max_distance": -1.0}, "max_distance must be a number above 0"),
        ({"neighbours": 0}, "neighbours must be a whole number of at least 1"),
        ({"knots": 1.5}, "knots must be a whole number"),
    ],
)
def test_settings_are_checked(movie, arguments, text):
    pair = Detections([[0.0, 0.0]]), Detections([[0.0, 1.0]])
    with pytest.raises(ValueError, match=text):
        SSVM(Tracking(**arguments)).fit([pair], [[1, 0, 0]])


def test_inputs_are_checked():
    with pytest.raises(ValueError, match=r"frame 3, object 8: the feature 'area' is nan"):
        Detections([[0.0, 0.0], [1.0, 1.0]], {"area": [1.0, np.nan]}, ids=[2, 8], frame=3)
    with pytest.raises(ValueError, match="the id 2 occurs 2 times"):
        Detections([[0.0, 0.0], [1.0, 1.0]], ids=[2, 2])
    with pytest.raises(ValueError, match=r"X\[0\]: a sample needs at least two frames"):
        SSVM(Tracking()).fit([[Detections([[0.0, 0.0]])]], [[1]])
    with pytest.raises(TypeError, match="pairs of Detections"):
        SSVM(Tracking()).fit(Detections([[0.0, 0.0]]), [[1]])
    candidates = Tracking().candidates((Detections([[0.0, 0.0]]), Detections([[0.0, 1.0]])))
    with pytest.raises(ValueError, match="is no candidate"):
        candidates.codes([("move", (0,), (7,))])


def test_empty_frames():
    """Frames without detections have nothing to explain; those on one side appear or disappear."""
    empty, some = Detections(np.empty((0, 2))), Detections([[0.0, 0.0], [5.0, 5.0]])
    tracking = Tracking(("move", "appear", "disappear"), max_distance=3.0)
    model = SSVM(tracking, l2=0.1).fit(
        [(some, some), (some, empty)], [tracking.candidates((some, some)).codes(
            [("move", (0,), (0,)), ("move", (1,), (1,))]), [1, 1]],
    )  # fmt: skip
    assert model.predict([(empty, empty), (empty, some), (some, empty)]) == [[], [1, 1], [1, 1]]


def test_potentials_are_checked():
    theta = EventTables(np.zeros((1, 2)), *(np.array(own) for own in ([0, 1], [0, 1], [0], [1], [1], [0])))
    with pytest.raises(ValueError, match="codes must be 0 or 1"):
        Tracking().score(theta, np.array([2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Tracking().best(theta).codes.tolist() == [1]


@pytest.mark.parametrize("largest", [1e7, 1e9, 1e12])
def test_scores_of_very_different_size_lose_no_cover(largest):
    """Half of the events score -largest: what bounds drop must not be what the best cover needs."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        score, layout = random_problem(rng, 8, 7)
        score[rng.random(len(score)) < 0.5] = -largest
        chosen, missing = best_covers(score, layout)
        assert missing is None and np.all(
            np.bincount(layout.cell[np.repeat(chosen, np.diff(layout.ptr))]) == 1
        )


def test_scores_of_any_unit():
    """Tolerances of programs follow the scores."""
    for unit in (1e-12, 1e-6, 1e6):
        for seed in range(5):
            score, layout = random_problem(np.random.default_rng(seed), 9, 9)
            plain, scaled = (best_covers(own, layout, 0)[0] for own in (score, unit * score))
            assert score[plain].sum() == pytest.approx(score[scaled].sum(), abs=1e-5)


def test_time_that_is_over_leaves_a_cover():
    score, layout = random_problem(np.random.default_rng(7), 14, 14)
    rough = SampleCover(score, layout, 1, time_limit=1e-9)
    exact = SampleCover(score, layout, 1)
    assert rough.chosen is not None
    assert rough.value <= exact.value + 1e-9 <= rough.value + rough.lost + 1e-6


def test_splits_are_no_divisions():
    """Fragments that are one again in the next frame are a split, where there are both kinds."""
    early, late = Detections([[0.0, 0.0]], frame=0), Detections([[0.0, 1.0], [1.0, 0.0]], frame=1)
    nodes = [(0, 0), (1, 0), (1, 1), (2, 0)]
    links = [((0, 0), (1, 0)), ((0, 0), (1, 1)), ((1, 0), (2, 0)), ((1, 1), (2, 0))]
    tracking = Tracking(("move", "divide", "split", "merge", "appear", "disappear"), max_distance=5.0)
    candidates = tracking.candidates((early, late))
    for lineage, kind in (
        (Lineage.from_links(nodes, links), "split"),
        (Lineage.from_links(nodes, links[:2]), "divide"),
    ):
        codes, _ = true_codes(candidates, lineage)
        assert [event.kind for event in candidates.events_of(codes)] == [kind]


def test_dimensions_and_areas_are_checked():
    with pytest.raises(ValueError, match="in 2 and in 3 dimensions"):
        Tracking().candidates((Detections([[0.0, 0.0]]), Detections([[0.0, 0.0, 0.0]])))
    flat = Tracking().candidates((Detections([[0.0, 0.0, 0.0]]), Detections([])))
    assert flat.kinds == Tracking().events and len(flat) == 1
    with pytest.raises(ValueError, match="frame 2, object 0: its area is 0"):
        Detections([[0.0, 0.0]], {"area": [0.0]}, frame=2)
    with pytest.raises(ValueError, match="frame must be a whole number"):
        Detections([[0.0, 0.0]], frame=1.5)
