"""Linear scores of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.registry import register
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.tables import ChainTables
from palmette.structures.tracking.tables import N_CODES, EventTables


@register("scorer", "events")
@dataclass(frozen=True)
class EventScorer(LinearScorer):
    """Scores of events that happen, ``<w, x_e>``; an event that does not happen scores 0."""

    @classmethod
    def for_columns(cls, n_columns: int) -> EventScorer:
        """One weight per column, for the code 1."""
        ptr, happens = np.arange(n_columns + 1), np.ones(n_columns, np.int32)
        return cls(n_columns, N_CODES, ptr, happens, np.empty(0, np.int64), intercept=False, has_edges=False)

    def score(self, w: np.ndarray, batch: Any) -> EventTables:  # type: ignore[override]
        """Scores of all events of a batch."""
        if isinstance(batch.rows, np.ndarray):  # features of a kernel
            return EventTables(np.stack([np.zeros(len(batch.rows)), batch.rows @ w], axis=1), *batch.layout)
        return EventTables(super().score(w, batch).node, *batch.layout)

    def pull_back(self, counts: EventTables, batch: Any, out: np.ndarray) -> None:  # type: ignore[override]
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        if isinstance(batch.rows, np.ndarray):
            out += counts.node[:, 1] @ batch.rows
            return
        super().pull_back(
            ChainTables(counts.node, np.empty((0, N_CODES, N_CODES)), counts.offsets), batch, out
        )

    def with_columns(self, n_columns: int) -> EventScorer:
        """The same layout for rows of another number of columns."""
        return self.for_columns(n_columns)

    def check_dense(self) -> None:
        """Dense rows will do: every column has one weight."""

    def touched(self, batch: Any) -> np.ndarray:
        """Positions of the weights that the samples of ``batch`` can change, in ascending order."""
        if isinstance(batch.rows, np.ndarray):
            return np.arange(self.n_columns)
        lo, hi = batch.rows.indptr[0], batch.rows.indptr[-1]
        return np.flatnonzero(np.bincount(batch.rows.indices[lo:hi], minlength=self.n_columns))

    def check(self) -> None:
        """Raise ValueError unless this is one weight per column."""
        super().check()
        if self.n_labels != N_CODES or self.intercept or self.has_edges or np.any(self.label != 1):
            raise ValueError("the scorer of events has one weight per feature and nothing else")
