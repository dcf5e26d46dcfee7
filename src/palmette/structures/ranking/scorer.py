"""Linear scores of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.data.batch import Batch
from palmette.registry import register
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.tables import ChainTables
from palmette.structures.ranking.tables import RankingTables


@register("scorer", "ranking")
@dataclass(frozen=True)
class RankingScorer(LinearScorer):
    """Scores of documents, ``s_d = <w, x_d>``: a linear scorer with one label, tables of one number per row."""

    @classmethod
    def for_columns(cls, n_columns: int) -> RankingScorer:
        """One weight per column; an intercept would add the same to every document."""
        empty = np.empty(0, np.int64)
        return cls(n_columns, 1, empty, empty.astype(np.int32), empty, intercept=False, has_edges=False)

    def score(self, w: np.ndarray, batch: Batch) -> RankingTables:  # type: ignore[override]
        """Scores of all documents of a batch."""
        return RankingTables(super().score(w, batch).node.ravel(), batch.offsets)

    def pull_back(self, counts: RankingTables, batch: Batch, out: np.ndarray) -> None:  # type: ignore[override]
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        node = counts.node.reshape(-1, 1)
        super().pull_back(ChainTables(node, np.empty((0, 1, 1)), counts.offsets), batch, out)

    def check(self) -> None:
        """Raise ValueError unless this is one weight per column."""
        super().check()
        if self.n_labels != 1 or self.intercept or self.has_edges or len(self.ptr) or len(self.pairs):
            raise ValueError("the scorer of a ranking has one weight per feature and nothing else")
