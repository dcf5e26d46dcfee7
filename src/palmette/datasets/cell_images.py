"""Label images and intensity images of simulated cells, drawn one frame at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from palmette.datasets.cell_frames import CellFrame

BACKGROUND = 20.0  # intensity where no cell is
GAP = 0.6  # half the width, in pixels, of the cut between fragments


class LazyImages(Sequence[np.ndarray]):
    """Images of a movie, each drawn when it is asked for: a long movie needs the memory of one frame.

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> masks = make_cells(n_cells=3, n_frames=4, render=True, random_state=0).masks
    >>> len(masks), masks[0].shape == masks[-1].shape, masks[0].dtype
    (4, True, dtype('int32'))
    """

    def __init__(self, frames: Sequence[CellFrame], draw: Callable[[CellFrame], np.ndarray]) -> None:
        self._frames, self._draw = frames, draw

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, at: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, at: slice) -> LazyImages: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return LazyImages(self._frames[at], self._draw)
        return self._draw(self._frames[at])

    def __iter__(self) -> Iterator[np.ndarray]:
        return map(self._draw, self._frames)


def true_mask(frame: CellFrame) -> np.ndarray:
    """The real cells with their numbers."""
    row, _, _ = _drawn(frame)
    return np.where(row >= 0, frame.cells[row], 0).astype(np.int32)


def found_mask(frame: CellFrame) -> np.ndarray:
    """The detections with their ids: what was missed is not drawn, cells found as one have one label."""
    row, along, _ = _drawn(frame)
    found = frame.outlines
    first, second = (
        np.zeros(len(frame.cells) + 1, np.int32) for _ in range(2)
    )  # the last entry is the background
    cut = np.full(len(frame.cells) + 1, np.nan)
    ids = np.arange(1, len(found) + 1)
    for column in (0, 1):
        own = found.owner[:, column] >= 0
        beyond = own & (found.cut > 0)
        second[found.owner[beyond, column]] = ids[beyond]
        first[found.owner[own & ~beyond, column]] = ids[own & ~beyond]
        cut[found.owner[beyond, column]] = np.abs(found.cut[beyond]) - 2
    mask = first[row]
    there = ~np.isnan(cut[row])
    half = np.append(frame.colony.semi_axes[:, 0], 1.0)[row]
    offset = (along - cut[row]) * half
    mask = np.where(there & (offset > 0), second[row], mask)
    mask[there & (np.abs(offset) < GAP)] = 0
    for k in np.flatnonzero(found.owner[:, 0] < 0).tolist():
        window, inside, _, _ = _ellipse(found.centre[k], found.axes[k], found.angle[k], mask.shape)
        view = mask[window]
        view[(inside < 1) & (row[window] < 0) & (view == 0)] = k + 1
    return mask.astype(np.int32)


def intensity_image(frame: CellFrame) -> np.ndarray:
    """Cells that are brighter inside than at their rim, false detections as dim spots, background and noise."""
    rng = np.random.default_rng([*frame.seed, frame.detections.frame])
    row, _, depth = _drawn(frame)
    level = np.append(frame.colony.intensity, 0.0)[row] * np.where(row >= 0, 1.15 - 0.3 * depth, 0)
    found = frame.outlines
    for k in np.flatnonzero(found.owner[:, 0] < 0).tolist():
        window, inside, _, _ = _ellipse(found.centre[k], found.axes[k], found.angle[k], row.shape)
        view = level[window]
        spot = found.intensity[k] * np.clip(1.2 - inside, 0, 1)
        np.maximum(view, spot, out=view, where=row[window] < 0)
    faded = level * np.exp(-frame.bleaching * frame.detections.frame)
    texture = 1 + 0.12 * rng.standard_normal(row.shape)
    return (BACKGROUND + faded * texture + 4 * rng.standard_normal(row.shape)).astype(np.float32)


def _drawn(frame: CellFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per pixel: the row of its cell (-1: none), the place along the cell's long axis, and the depth.

    The place goes from -1 to 1, the depth from 0 in the centre to 1 at the outline. A pixel inside several ellipses
    belongs to that in which it is deepest, so cells do not overlap.
    """
    assert frame.detections.shape is not None
    shape = (int(frame.detections.shape[0]), int(frame.detections.shape[1]))
    row, along, depth = np.full(shape, -1), np.zeros(shape), np.ones(shape)
    cells = frame.colony
    axes = cells.semi_axes
    for k in range(len(cells)):
        window, inside, place, _ = _ellipse(cells.position[k], axes[k], cells.angle[k], shape)
        nearer = inside < depth[window]
        row[window][nearer] = k
        along[window][nearer] = place[nearer]
        depth[window][nearer] = inside[nearer]
    return row, along, depth


def _ellipse(
    centre: np.ndarray, axes: np.ndarray, angle: float, shape: tuple[int, ...]
) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray, np.ndarray]:
    """The window around an ellipse, and in it the depth and the places along both axes."""
    low = np.maximum(np.floor(centre - axes[0]), 0).astype(int)
    high = np.minimum(np.ceil(centre + axes[0]).astype(int) + 1, shape)
    y = np.arange(low[0], high[0])[:, None] - centre[0]
    x = np.arange(low[1], high[1])[None, :] - centre[1]
    along = (y * np.cos(angle) + x * np.sin(angle)) / axes[0]
    across = (x * np.cos(angle) - y * np.sin(angle)) / axes[1]
    return (slice(low[0], high[0]), slice(low[1], high[1])), np.hypot(along, across), along, across
