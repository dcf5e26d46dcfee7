"""Kernels of sequences of rows: the rows of a sequence, such as the letters of a word, joined to one long row."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from palmette.data.checks import check_whole
from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.given import as_dense
from palmette.kernels.images import Blurred, Directions, ImageMap
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import Rows, as_rows
from palmette.registry import register


@register("kernel")
class Joined(Kernel):
    """A kernel of sequences: their rows one after the other, filled up with zeros to the longest training sequence.

    Places beyond the longest training sequence match nothing; their length stands in one more column, so that norms
    and distances are right.

    Parameters
    ----------
    kernel : kernel, name or function, default="linear"
        What compares the joined rows; its ``gamma="scale"`` is that of joined training rows.
    function : callable, optional
        Of a table of rows, before they are joined: :class:`Blurred` and :class:`Directions` are for rows that are
        images.

    Examples
    --------
    >>> Joined("linear")([[[1.0, 2.0]]], [[[3.0, 0.0], [5.0, 5.0]], [[0.0, 1.0]]])
    array([[3., 2.]])
    """

    objects: ClassVar[bool] = True

    def __init__(self, kernel: Any = "linear", function: Any = None) -> None:
        self.kernel = kernel
        self.function = function

    @property
    def savable(self) -> bool:
        """If the function is one of this package, and the inner kernel can be saved."""
        own = self.function is None or type(self.function) in (Blurred, Directions)
        return own and resolve_kernel(self.kernel).savable

    @property
    def surely_definite(self) -> bool:
        """If the inner kernel is."""
        return resolve_kernel(self.kernel).surely_definite

    def check(self) -> None:
        """Refuse what cannot be called."""
        if self.function is not None and not callable(self.function):
            raise TypeError(f"Joined: function must be callable, got {self.function!r}")
        inner = resolve_kernel(self.kernel)
        if not isinstance(inner, Kernel) or inner.precomputed or inner.objects:
            raise TypeError(f"Joined needs a kernel of rows, got {self.kernel!r}")
        inner.check()

    def bind(self, rows: Any) -> Self:
        """The same with the inner kernel bound to the joined rows."""
        self.check()
        sequences = as_objects(rows, self.called)
        if not sequences:
            raise ValueError(f"{self.called} has no sequences")
        own = self.anew()
        tables = self._tables(sequences)
        own.length_, own.n_columns_ = max(map(len, tables)), tables[0].shape[1]
        joined = own.joined(sequences)
        return own.set_params(kernel=resolve_kernel(self.kernel).bind(joined[:, :-1]))

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Length of the longest training sequence, and columns of its rows."""
        return {"length": self.length_, "n_columns": self.n_columns_}, {}

    def relearn(self, header: Any, arrays: Any) -> None:
        """Length of the longest training sequence, and columns of its rows."""
        self.length_ = check_whole("length", header.get("length"))
        self.n_columns_ = check_whole("n_columns", header.get("n_columns"))

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """As the inner kernel, of joined rows."""
        joined = rows.shape[1]
        if self.function is None or isinstance(self.function, ImageMap):
            width = self.n_columns_ if self.function is None else self.function.columns_out(self.n_columns_)
            joined = self.length_ * width + 1
        self.kernel.check_support(name, rows, joined)

    def joined(self, sequences: list[Any]) -> np.ndarray:
        """One row for every sequence, with the length of what lies beyond in the last column."""
        tables = self._tables(sequences)
        for i, table in enumerate(tables):
            if table.shape[1] != self.n_columns_:
                raise ValueError(
                    f"{self.called}[{i}] has {table.shape[1]} columns, the first training sequence {self.n_columns_}"
                )
        sizes = np.array(list(map(len, tables)))
        flat = np.concatenate([np.empty((0, self.n_columns_)), *tables])
        if self.function is not None:
            moved = as_dense(as_rows(self.function(flat)))
            if len(moved) != len(flat):
                raise ValueError(f"{self!r}: the function made {len(moved)} rows of {len(flat)}")
            flat = moved
        width = flat.shape[1]
        out = np.zeros((len(tables), self.length_ * width + 1))
        for row, size, end in zip(out, sizes, np.cumsum(sizes)):
            own = flat[end - size : end].ravel()
            row[: min(size, self.length_) * width] = own[: self.length_ * width]
            row[-1] = np.linalg.norm(own[self.length_ * width :])
        return out

    def _tables(self, sequences: list[Any]) -> list[np.ndarray]:
        return [_table(table, f"{self.called}[{i}]") for i, table in enumerate(sequences)]

    def prepare(self, rows: Any) -> Rows:
        """Joined rows, as the inner kernel takes them."""
        return self.kernel.prepare(self.joined(as_objects(rows, self.called)))

    def cross(self, X: Rows, Y: Rows) -> np.ndarray:
        """Values of the inner kernel."""
        return self.kernel.cross(X, Y)

    def diagonal(self, X: Rows) -> np.ndarray:
        """Values of the inner kernel."""
        return self.kernel.diagonal(X)


def _table(table: Any, where: str) -> np.ndarray:
    if isinstance(table, str | bytes) or not hasattr(table, "__len__"):
        raise TypeError(
            f"{where} must be a table, one row for each place, got {type(table).__name__}: {table!r:.60}"
        )
    return np.asarray(as_dense(as_rows(table, where)), float)
