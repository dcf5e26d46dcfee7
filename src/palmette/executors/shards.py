"""Cutting samples into runs of about equally many rows."""

from __future__ import annotations

import numpy as np

from palmette.data.batch import Batch

ROWS_A_SHARD = 4096  # fewer rows are not worth a thread
MAX_SHARDS = 8
NOWHERE = np.empty(0, np.int64)


def cut(offsets: np.ndarray, n_pieces: int, apart: np.ndarray = NOWHERE) -> list[tuple[int, int]]:
    """Cut samples into runs of about equally many rows, and before each sample of ``apart``; no run is empty.

    >>> cut(np.array([0, 5, 6, 7, 12]), 2), cut(np.array([0, 5, 6, 7, 12]), 2, np.array([1]))
    ([(0, 2), (2, 4)], [(0, 1), (1, 2), (2, 4)])
    """
    n = len(offsets) - 1
    wanted = offsets[0] + (offsets[-1] - offsets[0]) * np.arange(1, n_pieces) / n_pieces
    inner = np.searchsorted(offsets[:-1], wanted)
    bounds = np.unique(np.concatenate([[0], inner, apart, [n]]))
    return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:])]


def blocks(batch: Batch, n_rows: int = ROWS_A_SHARD) -> list[tuple[int, int]]:
    """Runs of samples of about ``n_rows`` rows that may be scored together."""
    return cut(batch.offsets, max(1, batch.n_rows // n_rows), batch.apart)
