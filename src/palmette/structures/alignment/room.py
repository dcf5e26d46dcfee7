"""Memory that fast kernels work in: kept from one call to the next, since new pages cost more than some alignments."""

from __future__ import annotations

import threading

import numpy as np

KEPT = 1 << 26
"""Bytes that each thread keeps at most."""
LINE = 64
_mine = threading.local()


def room(size: int = 0) -> np.ndarray:
    """At least so many bytes, uint8, at the start of a line of the cache; without ``size`` what is there already.

    They hold what the last call in this thread has left there, and are valid until the next call.

    >>> len(room(100)) >= 100, room(100).ctypes.data % LINE
    (True, 0)
    """
    kept: np.ndarray | None = getattr(_mine, "octets", None)
    if kept is None or len(kept) < size:
        whole = np.empty(size + LINE, np.uint8)
        start = -whole.ctypes.data % LINE
        kept = whole[start : start + size]
        if size <= KEPT:
            _mine.octets = kept
    return kept
