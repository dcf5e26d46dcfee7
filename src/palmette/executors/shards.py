"""Cutting samples into runs of about equally many rows."""

from __future__ import annotations

import numpy as np

ROWS_A_SHARD = 4096  # fewer rows are not worth a thread
MAX_SHARDS = 8


def cut(offsets: np.ndarray, n_pieces: int) -> list[tuple[int, int]]:
    """Cut samples into runs of about equally many rows; no run is empty.

    >>> cut(np.array([0, 5, 6, 7, 12]), 2)
    [(0, 2), (2, 4)]
    """
    n = len(offsets) - 1
    wanted = offsets[0] + (offsets[-1] - offsets[0]) * np.arange(1, n_pieces) / n_pieces
    inner = np.searchsorted(offsets[:-1], wanted)
    bounds = np.unique(np.concatenate([[0], inner, [n]]))
    return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:])]
