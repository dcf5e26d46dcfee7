"""Encoded events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.data.batch import Batch
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.tracking.tables import Layout


@dataclass(frozen=True)
class TrackingBatch(Batch):
    """Features of candidate events, one row each, and the cells that they explain.

    ``nodes``, of shape (cells of all samples, 2), are frame and id of the detection of each cell, for messages.
    """

    layout: Layout
    nodes: np.ndarray

    def slice(self, start: int, stop: int) -> TrackingBatch:
        """Samples ``start:stop``; features are views of the same memory."""
        part = super().slice(start, stop)
        nodes = self.nodes[slice(*self._cells[[start, stop]])]
        return TrackingBatch(part.rows, part.offsets, self.layout.slice(start, stop), nodes)

    def take(self, samples: np.ndarray) -> TrackingBatch:
        """Copies of the samples of these numbers, in their order."""
        part = super().take(samples)
        places, _ = gather(self._cells, np.asarray(samples, np.int64))
        return TrackingBatch(part.rows, part.offsets, self.layout.take(samples), self.nodes[places])

    def without(self, empty: np.ndarray) -> TrackingBatch:
        """The samples for which ``empty`` is false."""
        return self.take(np.flatnonzero(~empty)) if np.any(empty) else self

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        self.layout.check()
        if not np.array_equal(self.offsets, self.layout.offsets):
            raise ValueError("the batch and its layout have different offsets")
        if self.nodes.shape != (int(self.layout.n_cells.sum()), 2):
            raise ValueError("the batch names other cells than its layout has")

    @property
    def _cells(self) -> np.ndarray:
        """The first cell of each sample among those of all."""
        return offsets_from_lengths(self.layout.n_cells)

    def cell_name(self, sample: int, cell: int) -> str:
        """What a cell is, for messages."""
        frame, own = self.nodes[self._cells[sample] + cell].tolist()
        side = "future" if cell < int(self.layout.n_before[sample]) else "past"
        return f"the {side} of object {own} of frame {frame}"
