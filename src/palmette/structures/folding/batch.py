"""Encoded sequences to fold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.ragged import gather
from palmette.structures.folding.layout import N_LETTERS, TABLE_SIZE
from palmette.structures.folding.tables import FoldingTables, squares_of, take_squares


@dataclass(frozen=True)
class FoldingBatch(Batch):
    """Letters and evidence of sequences; a row has its letter as the only feature."""

    letters: np.ndarray
    unpaired: np.ndarray
    pair_scores: np.ndarray | None = None

    @classmethod
    def of(
        cls, letters: np.ndarray, offsets: np.ndarray, unpaired: np.ndarray, pair_scores: np.ndarray | None
    ) -> FoldingBatch:
        """The batch of these letters."""
        rows = SparseRows(np.arange(len(letters) + 1), letters.astype(np.int32), np.empty(0), N_LETTERS)
        return cls(rows, offsets, letters, unpaired, pair_scores)

    def slice(self, start: int, stop: int) -> FoldingBatch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        part = super().slice(start, stop)
        lo, hi = int(self.offsets[start]), int(self.offsets[stop])
        pairs = self.pair_scores
        if pairs is not None:
            squares = squares_of(self.offsets)
            pairs = pairs[squares[start] : squares[stop]]
        return FoldingBatch(part.rows, part.offsets, self.letters[lo:hi], self.unpaired[lo:hi], pairs)

    def take(self, samples: np.ndarray) -> FoldingBatch:
        """Copies of the samples of these numbers, in their order."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        pairs = None if self.pair_scores is None else take_squares(self.pair_scores, self.offsets, samples)
        return FoldingBatch.of(self.letters[rows], offsets, self.unpaired[rows], pairs)

    def without(self, empty: np.ndarray) -> FoldingBatch:
        """The samples for which ``empty`` is false; the others have no rows."""
        return replace(self, offsets=np.concatenate([self.offsets[:1], self.offsets[1:][~empty]]))

    def potentials(self, tables: np.ndarray) -> FoldingTables:
        """The potentials with these scores of loops."""
        return FoldingTables(tables, self.letters, self.offsets, self.unpaired, self.pair_scores)

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        self.potentials(np.zeros(TABLE_SIZE)).check()
