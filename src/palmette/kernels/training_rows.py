"""The rows that a kernel compares in training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from palmette.kernels.rows import Rows, distinct


class KernelRows(NamedTuple):
    """A kernel bound to the training rows, and the distinct ones among them.

    Attributes
    ----------
    kernel : Kernel
    support : Rows
        Distinct rows as the kernel takes them; for a precomputed kernel the numbers of columns, shape (n, 1).
    unique : ndarray of int64
        For every row the number of its twin among the distinct ones; a precomputed kernel takes all rows for different.
    prepared : Rows
        What ``kernel.cross`` compares: the support, or the given matrix.
    """

    kernel: Any
    support: Rows
    unique: np.ndarray
    prepared: Rows

    @classmethod
    def of(cls, kernel: Any, rows: Rows) -> KernelRows:
        """Bind a kernel to the rows of training."""
        bound = kernel.bind(rows)
        if bound.precomputed:
            rows = rows.toarray() if sparse.issparse(rows) else rows
            if rows.shape[0] != rows.shape[1]:
                raise ValueError(
                    f"Precomputed: the training samples have {rows.shape[0]} positions, so each row needs as many "
                    f"columns; it has {rows.shape[1]}"
                )
            unique = np.arange(len(rows))
            return cls(bound, unique[:, None], unique, rows)
        first, unique = distinct(rows)
        support = bound.prepare(rows[first])
        return cls(bound, support, unique.astype(np.int64), support)
