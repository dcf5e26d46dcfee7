"""Encoded events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.data.batch import Batch
from palmette.structures.tracking.tables import Layout


@dataclass(frozen=True)
class TrackingBatch(Batch):
    """Features of candidate events, one row each, and the cells that they explain."""

    layout: Layout

    def slice(self, start: int, stop: int) -> TrackingBatch:
        """Samples ``start:stop``; features are views of the same memory."""
        part = super().slice(start, stop)
        return TrackingBatch(part.rows, part.offsets, self.layout.slice(start, stop))

    def take(self, samples: np.ndarray) -> TrackingBatch:
        """Copies of the samples of these numbers, in their order."""
        part = super().take(samples)
        return TrackingBatch(part.rows, part.offsets, self.layout.take(samples))

    def without(self, empty: np.ndarray) -> TrackingBatch:
        """The samples for which ``empty`` is false."""
        return self.take(np.flatnonzero(~empty)) if np.any(empty) else self

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        self.layout.check()
        if not np.array_equal(self.offsets, self.layout.offsets):
            raise ValueError("the batch and its layout have different offsets")

    def cell_name(self, sample: int, cell: int) -> str:
        """What a cell is, for messages."""
        before = int(self.layout.n_before[sample])
        if cell < before:
            return f"detection {cell} before (its future)"
        return f"detection {cell - before} after (its past)"
