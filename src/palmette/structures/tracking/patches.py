"""Pairs of frames cut into patches, each a small sample of its own: what an annotator is asked at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.structures.tracking.candidates import Block, Candidates


class Patch(NamedTuple):
    """A part of a pair of frames."""

    candidates: Candidates
    codes: np.ndarray  # of its true events: they explain each of its detections once


def cut_into_patches(
    candidates: Candidates, codes: Sequence[Any], grid: Sequence[int] = (2, 4)
) -> list[Patch]:
    """Cut two frames along a grid, without cutting a true event.

    A true event belongs to the tile that holds the mean position of its earlier detections (of its later ones, if it
    has no earlier). A patch has the detections of the events of one tile, so that each detection is in exactly one
    patch, and true events explain it. Candidates are those of the whole pair between detections of the patch, with the
    features that they have there: sizes, densities and borders are those of the frames. Candidates across patches are
    left out; a patch knows that its detections have their future and past in it.

    Parameters
    ----------
    candidates : Candidates
        Of two frames.
    codes : sequence of shape (n_candidates,)
        1 for each true event; they must explain every detection.
    grid : sequence of int
        Tiles along each axis of positions. They are of one size, over the image if its ``shape`` is known, else over
        the detections.

    Returns
    -------
    list of Patch
        In the order of tiles; tiles without events make none.

    Examples
    --------
    >>> from palmette import Detections, Tracking
    >>> early, late = Detections([[0.0, 0.0], [0.0, 9.0]], ids=[1, 2]), Detections([[0.0, 6.0], [0.0, 9.0]], ids=[3, 4])
    >>> found = Tracking(["move", "appear", "disappear"], max_distance=9.0).candidates((early, late))
    >>> true = found.codes([("move", (1,), (3,)), ("move", (2,), (4,))])
    >>> [patch.candidates.events_of(patch.codes) for patch in cut_into_patches(found, true, (1, 2))]
    [[Event(kind='move', before=(1,), after=(3,), frame=0)], [Event(kind='move', before=(2,), after=(4,), frame=0)]]
    """
    if len(candidates.frames) != 2:
        raise ValueError(
            f"only pairs of frames can be cut, this is a window of {len(candidates.frames)}: cut its pairs"
        )
    early, late = candidates.frames
    n_axes = early.position.shape[1]
    if len(grid) != n_axes or min(grid) < 1:
        raise ValueError(
            f"grid={tuple(grid)} must have {n_axes} numbers of at least 1, tiles along each axis"
        )
    true = np.array([code == 1 for code in codes], bool)
    if len(true) != len(candidates):
        raise ValueError(f"there are {len(true)} codes and {len(candidates)} candidates; give one for each")
    places = _Tiles(candidates, grid)
    of_early, of_late = np.full(len(early), -1), np.full(len(late), -1)
    start = 0
    for block in candidates.blocks:
        for k in np.flatnonzero(true[start : start + len(block)]).tolist():
            before, after = block.before[k], block.after[k]
            if np.any(of_early[before] >= 0) or np.any(of_late[after] >= 0):
                event = candidates.events[start + k]
                raise ValueError(f"{tuple(event)} explains a detection that another true event explains too")
            tile = places.of(early.position[before] if len(before) else late.position[after])
            of_early[before], of_late[after] = tile, tile
        start += len(block)
    for frame, own in ((early, of_early), (late, of_late)):
        if np.any(own < 0):
            raise ValueError(
                f"frame {frame.frame}, object {frame.ids[own < 0][0]}: no true event explains it; a patch needs "
                "complete annotation"
            )
    tiles = np.unique(np.concatenate([of_early, of_late])).tolist()
    return [_patch(candidates, true, of_early == tile, of_late == tile) for tile in tiles]


class _Tiles:
    """The grid over two frames."""

    def __init__(self, candidates: Candidates, grid: Sequence[int]) -> None:
        early, late = candidates.frames
        both = np.concatenate([early.position, late.position])
        self.grid = np.array(grid)
        self.low = np.zeros(len(grid)) if early.shape is not None else both.min(axis=0, initial=np.inf)
        high = np.array(early.shape) if early.shape is not None else both.max(axis=0, initial=-np.inf)
        self.size = np.maximum((high - self.low) / self.grid, 1e-12)

    def of(self, positions: np.ndarray) -> int:
        """The tile of the mean of some positions."""
        at = np.floor((positions.mean(axis=0) - self.low) / self.size)
        at = np.clip(at, 0, self.grid - 1).astype(int)
        return int(np.ravel_multi_index(tuple(at.tolist()), tuple(self.grid.tolist())))


def _patch(candidates: Candidates, true: np.ndarray, early: np.ndarray, late: np.ndarray) -> Patch:
    """The candidates between some detections of both frames."""
    place = np.cumsum(early) - 1, np.cumsum(late) - 1
    blocks, codes, start = [], [np.empty(0, np.int32)], 0
    for block in candidates.blocks:
        kept = early[block.before].all(axis=1) & late[block.after].all(axis=1)
        blocks.append(
            Block(
                block.kind, block.step[kept], place[0][block.before[kept]], place[1][block.after[kept]], block.names,
                block.values[kept],
            )
        )  # fmt: skip
        codes.append(true[start : start + len(block)][kept].astype(np.int32))
        start += len(block)
    frames = tuple(
        frame.take(np.flatnonzero(own)) for frame, own in zip(candidates.frames, (early, late), strict=True)
    )
    return Patch(Candidates(frames, tuple(blocks)), np.concatenate(codes))
