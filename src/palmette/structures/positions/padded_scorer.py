"""Linear scores of many rows with the same weights: a dense row of weights for each column, read eight at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from palmette._kernels.constants import LANES, padded
from palmette.data.batch import Batch, SparseRows
from palmette.structures.positions.tables import ChainTables

if TYPE_CHECKING:
    from palmette.structures.positions.linear_scorer import LinearScorer

_WIDEST = 64  # labels; a column of many labels has weights for few of them
_COLUMNS_A_ROW = 4  # writing a column takes about as long as a dense row saves at four of its occurrences
_MOST_WEIGHTS = 2**23  # 64 MB


@dataclass(frozen=True)
class PaddedScorer:
    """What a :class:`LinearScorer` scores at certain weights, faster: the same sums of the same numbers.

    Parameters
    ----------
    scorer : LinearScorer
    rows : ndarray of float64, shape (n_columns * width,)
        Weights by column and label, 0 where there is none; ``width`` is the number of labels, padded.
    """

    scorer: LinearScorer
    rows: np.ndarray

    @classmethod
    def of(cls, scorer: LinearScorer, w: np.ndarray) -> PaddedScorer:
        """Write the rows of weights."""
        from palmette._kernels.padded_rows import spread_weights

        width = padded(scorer.n_labels)
        rows = np.zeros(scorer.n_columns * width)
        spread_weights(scorer.ptr, scorer.label, w, width, rows)
        return cls(scorer, rows)

    def score(self, w: np.ndarray, batch: Batch) -> ChainTables:
        """Potentials of a batch at the weights that the rows were made from."""
        from palmette._kernels.padded_rows import score_padded_rows

        scorer, rows = self.scorer, batch.rows
        assert isinstance(rows, SparseRows)
        n, k = len(rows), scorer.n_labels
        flat = np.empty(n * k + LANES)  # the last row is written with its padding
        bias = np.zeros(padded(k))
        if scorer.intercept:
            bias[:k] = w[scorer.blocks["bias"]]
        score_padded_rows(rows.indptr, rows.indices, rows.values, self.rows, bias, k, flat)
        return ChainTables(flat[: n * k].reshape(n, k), scorer.edge_table(w), batch.offsets)


def pays(scorer: LinearScorer, n_rows: int) -> bool:
    """Whether so many rows are scored faster with padded rows of weights, which take time and memory to write."""
    n_columns, k = scorer.n_columns, scorer.n_labels
    fits = k <= _WIDEST and n_columns * padded(k) <= _MOST_WEIGHTS
    return bool(len(scorer.ptr)) and fits and n_columns <= _COLUMNS_A_ROW * n_rows
