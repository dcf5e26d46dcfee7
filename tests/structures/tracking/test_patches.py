"""Patches of pairs of frames: nothing is lost, truth explains every patch, features are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import SSVM, Detections, Tracking
from palmette.structures.tracking.patches import cut_into_patches


def pair(seed=0, n=12, shape=(40.0, 80.0)):
    """Cells that move a little, two that divide, one that appears and one that disappears."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.0, shape, (n, 2))
    q = np.concatenate([p[:-1] + rng.normal(size=(n - 1, 2)), p[:2] + 2.0, rng.uniform(0.0, shape, (1, 2))])
    features = {"area": rng.uniform(20.0, 40.0, n)}, {"area": rng.uniform(20.0, 40.0, len(q))}
    frames = Detections(p, features[0], shape=shape), Detections(q, features[1], shape=shape)
    found = Tracking(max_distance=15.0).candidates(frames)
    events = [("divide", (k,), (k, n - 1 + k)) for k in (0, 1)]
    events += [("move", (k,), (k,)) for k in range(2, n - 1)]
    events += [("disappear", (n - 1,), ()), ("appear", (), (n + 1,))]
    return found, found.codes(events)


@pytest.mark.parametrize("grid", [(1, 1), (2, 4), (5, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_every_event_and_every_detection_is_in_one_patch(grid, seed):
    found, codes = pair(seed)
    patches = cut_into_patches(found, codes, grid)
    assert len(patches) <= np.prod(grid)
    events = [event for patch in patches for event in patch.candidates.events_of(patch.codes)]
    assert sorted(events) == sorted(found.events_of(codes))
    for k in (0, 1):
        ids = [i for patch in patches for i in patch.candidates.frames[k].ids.tolist()]
        assert sorted(ids) == found.frames[k].ids.tolist()


def test_truth_explains_each_cell_of_a_patch_once():
    found, codes = pair()
    for patch in cut_into_patches(found, codes):
        layout = patch.candidates.layout
        explained = np.concatenate(
            [layout.cell[layout.ptr[e] : layout.ptr[e + 1]] for e in np.flatnonzero(patch.codes)]
        )
        assert sorted(explained.tolist()) == list(range(int(layout.n_cells[0])))


def test_one_tile_is_the_pair_and_features_are_those_of_the_whole():
    found, codes = pair()
    (whole,) = cut_into_patches(found, codes, (1, 1))
    assert whole.candidates.events == found.events
    np.testing.assert_array_equal(whole.codes, codes)
    rows = {event: row for b in found.blocks for event, row in zip(_events(found, b), b.values.tolist())}
    for patch in cut_into_patches(found, codes):
        for block in patch.candidates.blocks:
            for event, row in zip(_events(patch.candidates, block), block.values.tolist()):
                assert rows[event] == row


def _events(candidates, block):
    return [event for event in candidates.events if event.kind == block.kind.name]


def test_a_model_learns_from_patches():
    found, codes = pair()
    patches = cut_into_patches(found, codes)
    model = SSVM(Tracking(max_distance=15.0), l2=0.01)
    model.fit([patch.candidates for patch in patches], [patch.codes for patch in patches])
    for patch in patches:
        assert model.predict([patch.candidates])[0] == patch.codes.tolist()


def test_what_cannot_be_cut_is_refused():
    found, codes = pair()
    with pytest.raises(ValueError, match="numbers of at least 1"):
        cut_into_patches(found, codes, (2,))
    with pytest.raises(ValueError, match="codes and"):
        cut_into_patches(found, codes[:-1])
    some = codes.copy()
    some[np.flatnonzero(codes)[0]] = 0
    with pytest.raises(ValueError, match="no true event explains it"):
        cut_into_patches(found, some)
    twice = codes.copy()
    twice[found.place(("disappear", (2,), ()))] = 1
    with pytest.raises(ValueError, match="another true event explains too"):
        cut_into_patches(found, twice)
    frames = [Detections([[0.0, 0.0]])] * 3
    window = Tracking(max_distance=3.0).candidates(frames)
    with pytest.raises(ValueError, match="only pairs of frames"):
        cut_into_patches(window, np.zeros(len(window), int))
