"""The Gram matrix of training rows, within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from palmette._kernels.constants import padded
from palmette.contracts.executor import Executor, State
from palmette.executors.choose import require_shared_memory
from palmette.kernels.products import ProductKernel
from palmette.kernels.rows import Rows, squared_norms

BLOCK = 1024  # rows and columns computed at once
RESIDENT = 0.75  # share of the memory whose rows stay where the matrix does not fit
_LARGEST = 1e30  # of single precision, with room for sums


class Gram:
    """Rows of ``K`` between distinct training rows, in single precision, as compiled loops read them.

    Three ways, the first that fits into ``budget`` bytes:

    * ``"full"``: the whole matrix, four bytes a value;
    * ``"bytes"``: inner products of rows of small integers (binary pixels), one byte each, beside a table of 256
      kernel values;
    * ``"rows"``: some rows stay, the others are computed by blocks when a sample needs them.

    Attributes
    ----------
    n, stride : int
        Rows; and the distance of rows in the flat arrays, padded with zeros.
    gram, small, value, scale : ndarray
        ``K[u, v]`` is ``gram[slot[u] * stride + v]`` or, with bytes, ``scale[u] value[small[...]] scale[v]``.
    slot : ndarray of int64
        Place of every row, -1 while it is nowhere.
    """

    def __init__(self, kernel: Any, rows: Rows, budget: float, executor: Executor, least: int = 1) -> None:
        require_shared_memory(executor, "A Gram matrix", "use Nystroem features")
        self.kernel, self.rows, self.executor = kernel, rows, executor
        self.n = rows.shape[0]
        self.stride = padded(self.n)
        self.gram, self.small = np.empty(0, np.float32), np.empty(0, np.uint8)
        self.value, self.scale = np.zeros(256, np.float32), np.ones(self.n, np.float32)
        self.slot = np.arange(self.n)
        self._whole: Any = None  # rows in single precision, while inner products are computed
        full = 4 * self.n * self.stride
        if full <= budget:
            self.way = "full"
            self.gram = np.zeros(self.n * self.stride, np.float32)
            self._fill(self.gram.reshape(self.n, self.stride), self._values)
        elif self.n * self.stride <= budget and self._numbers_bytes():
            self.way = "bytes"
            self.small = np.zeros(self.n * self.stride, np.uint8)
            self._fill(self.small.reshape(self.n, self.stride), self._products)
        else:
            self._some_rows(budget, least, full)

    def _some_rows(self, budget: float, least: int, full: int) -> None:
        self.way = "rows"
        n_slots = int(budget // (4 * self.stride))
        if n_slots < least:
            raise ValueError(
                f"cache_size={budget / 1e6:g} MB holds {n_slots} rows of the Gram matrix, but the longest sample needs "
                f"{least}: give at least {least * 4 * self.stride / 1e6:.3g} MB (all {self.n} take {full / 1e6:.3g})"
            )
        self._resident = max(0, min(int(RESIDENT * n_slots), n_slots - least))
        self._n_slots = n_slots
        self.slot[self._resident :] = -1
        self.gram = np.zeros(n_slots * self.stride, np.float32)
        self._compute(np.arange(self._resident), 0)

    # -- computing ----------------------------------------------------------------------------------------------

    def _values(self, a: slice, b: slice) -> np.ndarray:
        found = np.asarray(self.kernel.cross(self.rows[a], self.rows[b]), np.float32)
        self._check(found, f"{a.start}-{a.stop - 1} and {b.start}-{b.stop - 1}")
        return found

    def _check(self, values: np.ndarray, where: str) -> None:
        """Refuse values that single precision cannot hold."""
        top = float(np.abs(values).max(initial=0.0))
        if not top < _LARGEST:
            remedy = "" if getattr(self.kernel, "normalize", False) else ", or take normalize=True"
            raise ValueError(
                f"{self.kernel!r} reaches {top:g} between training rows {where}; scale the features{remedy}"
            )

    def _products(self, a: slice, b: slice) -> np.ndarray:
        found = self._whole[a] @ self._whole[b].T
        return np.rint(found, out=found)

    def _fill(self, out: np.ndarray, block: Any) -> None:
        """All pairs of blocks, those below the diagonal as copies."""
        if self.kernel.precomputed:
            self._check(self.rows, f"0-{self.n - 1} and 0-{self.n - 1}")
            out[:, : self.n] = self.rows
            return
        parts = [slice(i, min(i + BLOCK, self.n)) for i in range(0, self.n, BLOCK)]

        pairs = [(a, b) for i, a in enumerate(parts) for b in parts[i:]]
        self.executor.run(_fill_block, self.executor.place(pairs), out, block)
        self._whole = None

    def _numbers_bytes(self) -> bool:
        """Whether inner products are integers below 256; sets their kernel values."""
        if not isinstance(self.kernel, ProductKernel) or sparse.issparse(self.rows):
            return False
        norms = squared_norms(self.rows)
        if norms.max(initial=0.0) > 255 or self.rows.min(initial=0.0) < 0:
            return False
        if not np.array_equal(self.rows, np.rint(self.rows)):
            return False
        value, scale = self.kernel.factors(np.arange(256.0), norms)
        value[int(norms.max()) + 1 :] = 0.0  # never met
        if max(value.max(), scale.max()) > _LARGEST:
            return False
        self.value, self.scale = value.astype(np.float32), scale.astype(np.float32)
        self._whole = self.rows.astype(np.float32)
        return True

    def _compute(self, rows: np.ndarray, first: int) -> None:
        """Some rows, into the slots from ``first`` on."""
        table = self.gram.reshape(-1, self.stride)
        for i in range(0, len(rows), BLOCK):
            some = rows[i : i + BLOCK]
            if self.kernel.precomputed:
                found = self.rows[some]
            else:
                found = self.kernel.cross(self.rows[some], self.rows)
            self._check(found, f"{some[0]}-{some[-1]} and 0-{self.n - 1}")
            table[first + i : first + i + len(some), : self.n] = found
        self.slot[rows] = first + np.arange(len(rows))

    # -- use ----------------------------------------------------------------------------------------------------

    def runs(self, order: np.ndarray, offsets: np.ndarray, unique: np.ndarray) -> Iterator[np.ndarray]:
        """The samples of ``order`` in runs whose rows of the matrix are at hand while the run is visited."""
        if self.way != "rows":
            yield order
            return
        room = self._n_slots - self._resident
        start = 0
        while start < len(order):
            wanted: set[int] = set()
            stop = start
            while stop < len(order):
                rows = unique[offsets[order[stop]] : offsets[order[stop] + 1]]
                more = wanted.union(int(u) for u in rows if u >= self._resident)
                if len(more) > room:
                    break
                wanted, stop = more, stop + 1
            self.slot[self._resident :] = -1
            self._compute(np.array(sorted(wanted), np.int64), self._resident)
            yield order[start:stop]
            start = stop

    def block(self, rows: slice) -> np.ndarray:
        """Rows of the matrix, shape (rows, n)."""
        if self.way == "full":
            return self.gram.reshape(self.n, self.stride)[rows, : self.n]
        if self.way == "bytes":
            own = self.value[self.small.reshape(self.n, self.stride)[rows, : self.n]]
            own *= self.scale[rows, None]
            own *= self.scale
            return own
        if self.kernel.precomputed:
            return np.asarray(self.rows[rows], np.float32)
        return np.asarray(self.kernel.cross(self.rows[rows], self.rows), np.float32)

    def times(self, coef: np.ndarray) -> np.ndarray:
        """``K coef``, shape (n, columns of coef); the same for any number of threads."""
        parts = [slice(i, min(i + BLOCK // 4, self.n)) for i in range(0, self.n, BLOCK // 4)]
        single = coef.astype(np.float32)
        if self.way == "bytes":  # both factors stand outside of the sum
            single = self.scale[:, None] * single
        return np.concatenate(self.executor.run(_rows_times, self.executor.place(parts), self, single))

    def rows_times(self, part: slice, coef: np.ndarray) -> np.ndarray:
        """Some rows of ``K coef``; if inner products are bytes, ``coef`` is multiplied by ``scale`` already."""
        if self.way != "bytes":
            return self.block(part) @ coef
        out = self.value.take(self.small.reshape(self.n, self.stride)[part, : self.n]) @ coef
        out *= self.scale[part, None]
        return out


def _fill_block(
    pair: tuple[slice, slice], _: State, out: np.ndarray, block: Callable[[slice, slice], np.ndarray]
) -> None:
    a, b = pair
    found = block(a, b)
    out[a, b] = found
    if a is not b:
        out[b, a] = found.T


def _rows_times(part: slice, _: State, gram: Gram, coef: np.ndarray) -> np.ndarray:
    return gram.rows_times(part, coef)
