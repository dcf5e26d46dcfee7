"""Memory that fast kernels work in: kept from one call to the next, since new pages cost more than some sums."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

KEPT = 1 << 26
"""Bytes that each thread keeps at most."""
MARGINS = 96
"""Numbers of a row of a triangle beside those of its positions, at most."""
_mine = threading.local()


def room(n: int, triangles: int, like: np.ndarray) -> np.ndarray:
    """A flat array for so many triangles of the pairs of n positions, in the precision of ``like``.

    It holds what the last call in this thread has left there, and is valid until the next call.

    >>> len(room(10, 2, np.empty(0)))
    2030
    """
    size = triangles * (n * (n + 1) // 2 + MARGINS * n)
    kept: dict[Any, np.ndarray] = _mine.__dict__
    name = like.dtype.str
    if name not in kept or len(kept[name]) < size:
        new = np.empty(size, like.dtype)
        if new.nbytes > KEPT:
            return new
        kept[name] = new
    return kept[name][:size]
