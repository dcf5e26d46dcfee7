"""Candidates and features of events, which kernels make, against sorting and NumPy (``event_features_by_numpy``)."""

from __future__ import annotations

import event_features_by_numpy as slow
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Detections, Tracking
from palmette.structures.tracking.kernels.near import make_grid, nearest_few
from palmette.structures.tracking.pair import unit_of

EVENTS = ("move", "divide", "appear", "disappear", "merge")


def frame(rng, n, n_axes, names, boxes, shape):
    """So many detections with these measurements."""
    position = rng.random((n, n_axes)) * 10.0
    features = {name: rng.gamma(3.0, 1.0, n) for name in names}
    own = np.concatenate([position - rng.random((n, n_axes)), position + rng.random((n, n_axes))], axis=1)
    return Detections(
        position, features, boxes=own if boxes else None, shape=(10.0,) * n_axes if shape else None
    )


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(0, 25), st.integers(0, 25)).filter(any),
    st.sampled_from([2, 3]),
    st.sets(st.sampled_from(["area", "intensity", "ecc", "orient", "perim", "other"])),
    st.booleans(),
    st.booleans(),
)
def test_events_are_those_of_numpy(seed, sizes, n_axes, names, boxes, shape):
    rng = np.random.default_rng(seed)
    pair = [frame(rng, n, n_axes, sorted(names), boxes, shape) for n in sizes]
    reach = float(rng.choice([1.0, 3.0, 20.0]))
    found = Tracking(EVENTS, max_distance=reach, neighbours=4, division_neighbours=3).candidates(pair)
    true = slow.Slow(*pair, unit_of(tuple(pair)), reach, 4, 3)
    parting, joining = true.with_two(True), true.with_two(False)
    early, late = (np.arange(len(own)) for own in pair)
    none = np.empty((0, 0))
    wanted = [
        (true.before[:, None], true.after[:, None], slow.of_link(true, true.before, true.after)),
        (parting[:, :1], parting[:, 1:], slow.of_three(true, parting[:, 0], parting[:, 1:], True)),
        (none, late[:, None], slow.of_one(true, late, True)),
        (early[:, None], none, slow.of_one(true, early, False)),
        (joining[:, 1:], joining[:, :1], slow.of_three(true, joining[:, 0], joining[:, 1:], False)),
    ]
    for block, (before, after, named) in zip(found.blocks, wanted, strict=True):
        np.testing.assert_array_equal(block.before.reshape(before.shape), before)
        np.testing.assert_array_equal(block.after.reshape(after.shape), after)
        assert block.names == tuple(named)
        for k, (name, values) in enumerate(named.items()):
            np.testing.assert_allclose(block.values[:, k], values, atol=1e-9, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 7), st.sampled_from([0.0, 1.0, 2.5, np.inf]),
    st.sampled_from([0, 1, 3]), st.booleans(),
)  # fmt: skip
def test_the_nearest_are_those_of_sorting(seed, n, most, reach, spread, far_away):
    """Points of small whole numbers, so that many are equally far; of these the lower numbers are nearer."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (n, 3)) * [0, 1, 1] * float(spread)
    if far_away and n:
        points[0] = 1e6
    number = rng.permutation(n)
    grid = make_grid(points, number)
    assert grid.starts[-1] == n and len(grid.starts) - 1 <= max(n // 2, 1)
    place, far = np.empty(n + 1, np.int64), np.empty(n + 1)
    for point in [*points[:5], np.array([0.0, -3.0, 2.0]), np.array([0.0, 1e9, 1.0])]:
        own = int(rng.integers(-1, max(n, 1)))
        apart = np.sqrt(((points - point) ** 2).sum(axis=1))
        order = [k for k in np.lexsort((number, apart)) if apart[k] <= reach and number[k] != own][:most]
        some = nearest_few(grid, point, most, reach, own, place, far)
        assert grid.number[place[:some]].tolist() == number[order].tolist()
        np.testing.assert_allclose(far[:some], apart[order], rtol=1e-12)


def test_positions_whose_squares_overflow():
    """They are too far away from everything to be linked, and all features are finite."""
    pair = Detections([[0.0, 0.0], [1e200, 0.0]]), Detections([[-1e200, 0.0], [1.0, 0.0]])
    moves = Tracking().candidates(pair).blocks[0]
    assert (moves.before.tolist(), moves.after.tolist()) == ([[0]], [[1]])


def test_equal_points():
    """Of equally far ones the first are linked: to two from each, and from two to each."""
    own = Detections([[1.0, 2.0]] * 5)
    moves = Tracking(["move"], max_distance=1.0, neighbours=2).candidates((own, own)).blocks[0]
    pairs = set(zip(moves.before[:, 0].tolist(), moves.after[:, 0].tolist()))
    assert pairs == {(a, b) for a in range(5) for b in range(5) if min(a, b) < 2}
