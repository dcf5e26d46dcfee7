"""One frame of a simulated movie: what was found, what is true, and its images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from palmette.datasets.cell_colony import Cells
from palmette.structures.tracking.detections import Detections


class SegmentationError(NamedTuple):
    """A mistake of the simulated segmentation."""

    frame: int
    kind: str  # "miss", "false", "split" or "merge"
    ids: tuple[int, ...]  # of the detections; none if a cell was missed
    cells: tuple[int, ...]  # numbers of the real cells; none for a false detection


@dataclass
class Outlines:
    """Ellipses that a segmentation found, a row each."""

    centre: np.ndarray
    axes: np.ndarray  # half the long and half the short axis
    angle: np.ndarray  # of the long axis, from the y axis
    area: np.ndarray
    intensity: np.ndarray
    mitosis: np.ndarray
    owner: np.ndarray  # (n, 2): rows of the cells that it shows, -1 for none
    cut: np.ndarray  # 0 if whole, else a fragment: its sign says which one, |cut| - 2 where the cut is

    def __len__(self) -> int:
        return len(self.centre)

    @classmethod
    def of(cls, cells: Cells, rows: np.ndarray) -> Outlines:
        """Whole cells."""
        owner = np.stack([rows, np.full(len(rows), -1)], axis=1)
        return cls(
            cells.position[rows], cells.semi_axes[rows], cells.angle[rows], cells.area[rows], cells.intensity[rows],
            cells.mitosis[rows], owner, np.zeros(len(rows)),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[Outlines]) -> Outlines:
        """All parts, one after the other."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    def take(self, rows: np.ndarray) -> Outlines:
        """Some of the outlines."""
        return Outlines(*(getattr(self, f.name)[rows] for f in fields(self)))


@dataclass(frozen=True)
class CellFrame:
    """A frame of :func:`palmette.datasets.stream_cells`.

    Attributes
    ----------
    detections : Detections
        What was found; ids are 1, 2, ... in random order.
    links : array of int of shape (m, 3)
        A row (frame of the parent, id of the parent, id of the child) per link to an earlier frame.
    cells : array of int of shape (n,)
        Numbers of the real cells.
    parents : array of int of shape (n,)
        The number in the frame before: its own, that of the cell it was born of, or 0 if it entered the image.
    covering : array of int of shape (n,)
        The id of the detection that covers more than half of the cell, 0 if none does.
    errors : list of SegmentationError
    """

    detections: Detections
    links: np.ndarray
    cells: np.ndarray
    parents: np.ndarray
    covering: np.ndarray
    errors: list[SegmentationError]
    colony: Cells = field(repr=False)
    outlines: Outlines = field(repr=False)
    bleaching: float = field(default=0.0, repr=False)
    seed: tuple[int, ...] = field(default=(), repr=False)

    def mask(self) -> np.ndarray:
        """Draw the detections: a label image with their ids, 0 elsewhere."""
        from palmette.datasets.cell_images import found_mask

        return found_mask(self)

    def cell_mask(self) -> np.ndarray:
        """Draw the real cells: a label image with their numbers, 0 elsewhere."""
        from palmette.datasets.cell_images import true_mask

        return true_mask(self)

    def image(self) -> np.ndarray:
        """Draw what a microscope would see: intensities with background and noise, float32."""
        from palmette.datasets.cell_images import intensity_image

        return intensity_image(self)
