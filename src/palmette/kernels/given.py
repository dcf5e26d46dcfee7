"""Kernels that users bring: functions, Gram matrices, and transformations of rows before another kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from palmette.data.checks import check_array, check_codes
from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.images import Blurred, Directions, ImageMap
from palmette.kernels.rows import Rows, as_rows
from palmette.registry import register

PAIRS = (
    "It seems to compare two rows, f(x, y): write Custom(lambda X, Y: np.array([[f(x, y) for y in Y] for x in X])); "
    "for objects Custom(f, of='pairs')"
)
_AT_ONCE = 32  # rows whose kernel with themselves is asked for at once: a square of values for a diagonal


@register("kernel")
class Custom(Kernel):
    """A function of the user's: of two tables, such as those of ``sklearn.metrics.pairwise``, or of objects.

    The Gram matrix of what is trained on is checked: a function that is not positive semi-definite is refused.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns an array of shape (len(X), len(Y)), or for "pairs" a number.
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``.
    of : {"rows", "objects", "pairs"}, default="rows"
        Whether X and Y are two tables, two lists of objects, or two objects.

    Examples
    --------
    >>> Custom(lambda X, Y: np.minimum(X[:, None], Y[None]).sum(-1))([[1.0, 2.0]], [[3.0, 0.5]])
    array([[1.5]])
    >>> Custom(lambda x, y: len(set(x) & set(y)), of="pairs")(["abc"], ["bcd", "a"])
    array([[2., 1.]])
    """

    def __init__(self, function: Any, normalize: bool = False, of: str = "rows") -> None:
        self.function = function
        self.normalize = normalize
        self.of = of

    @property
    def objects(self) -> bool:  # type: ignore[override]
        """Unless it compares rows."""
        return self.of != "rows"

    @property
    def savable(self) -> bool:
        """Never."""
        return False

    def check(self) -> None:
        """Refuse what cannot be called."""
        super().check()
        if not callable(self.function):
            raise TypeError(f"Custom: function must be callable, got {self.function!r}")
        if self.of not in ("rows", "objects", "pairs"):
            raise ValueError(f"Custom: of must be 'rows', 'objects' or 'pairs', got {self.of!r}")

    def prepare(self, rows: Any) -> Rows:
        """Rows as they are; objects as an array that can be indexed."""
        if not self.objects:
            return rows
        held = np.empty(len(rows), object)
        held[:] = rows
        return held

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """Objects can be anything."""
        if not self.objects:
            super().check_support(name, rows, n_columns)

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        if self.of == "pairs":
            each = (self.function(x, y) for x in X for y in Y)
            return np.fromiter(each, float, len(X) * len(Y)).reshape(len(X), len(Y))
        try:
            found = np.array(self.function(*map(list, (X, Y)) if self.objects else (X, Y)), dtype=float)
        except (TypeError, ValueError) as error:
            if self._is_of_pairs(X, Y):
                raise ValueError(f"{self!r} cannot compare two tables: {error}. {PAIRS}") from error
            raise
        if found.shape != (X.shape[0], Y.shape[0]) and self._is_of_pairs(X, Y):
            raise ValueError(f"{self!r} made an array of shape {found.shape} of two tables. {PAIRS}")
        if found.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"{self!r} returned an array of shape {found.shape} for {X.shape[0]} and {Y.shape[0]} {self.of}"
            )
        return found

    def _is_of_pairs(self, X: Rows, Y: Rows) -> bool:
        """Whether the function makes one number of two rows."""
        try:
            return not self.objects and np.ndim(float(self.function(X[0], Y[0]))) == 0
        except Exception:
            return False

    def _diagonal(self, X: Rows) -> np.ndarray:
        if self.of == "pairs":
            return np.array([self.function(x, x) for x in X], float)
        parts = [X[i : i + _AT_ONCE] for i in range(0, X.shape[0], _AT_ONCE)]
        return np.concatenate([np.empty(0), *(np.diagonal(self._cross(part, part)) for part in parts)])


@register("kernel")
class Precomputed(Kernel):
    """Kernel values given instead of features, as ``kernel="precomputed"`` in scikit-learn.

    The table of a training sample has a row for each of its positions and a column for each position of *all* training
    samples, in their order; that of a sample to predict likewise, columns being training positions. ``GridSearchCV``
    and the like choose among the columns too where samples are rows of one table (``Multiclass``), and cannot where
    they are sequences.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> SSVM(Multiclass(), kernel=Precomputed()).fit(x @ x.T, ["a", "b"]).predict(x @ x.T).tolist()
    ['a', 'b']
    """

    precomputed: ClassVar[bool] = True

    def __init__(self, normalize: bool = False) -> None:
        self.normalize = normalize

    def check(self) -> None:
        """Norms of rows to predict are not known, so nothing can be normalised."""
        if self.normalize:
            raise ValueError("Precomputed: normalize the values yourself, normalize=True is not possible")

    def take(self, rows: Rows, chosen: np.ndarray) -> Rows:
        """The Gram matrix of some training rows."""
        return rows[chosen][:, chosen]

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """Numbers of columns."""
        check_codes(name, check_array(name, rows, np.int64, 2), n_columns)
        if rows.shape[1] != 1:
            raise ValueError(f"{name} has {rows.shape[1]} columns, expected 1")

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        return np.array(as_dense(X), float)  # the columns are Y already


@register("kernel")
class Transformed(Kernel):
    """A kernel of transformed rows, ``K(f(x), f(y))``: pictures blurred before they are compared, say.

    Parameters
    ----------
    function : callable
        ``function(X)`` returns a table with as many rows as ``X``: :class:`Blurred` and :class:`Directions` are for
        rows that are images.
    kernel : kernel, name or function
        What compares the transformed rows; its ``gamma="scale"`` is that of transformed training rows.

    Examples
    --------
    >>> from palmette.kernels import Linear
    >>> Transformed(np.sqrt, Linear())([[4.0]], [[9.0]])
    array([[6.]])
    """

    def __init__(self, function: Any, kernel: Any) -> None:
        self.function = function
        self.kernel = kernel

    @property
    def savable(self) -> bool:
        """If the function is one of this package, and the inner kernel can be saved."""
        return type(self.function) in (Blurred, Directions) and resolve_kernel(self.kernel).savable

    def check(self) -> None:
        """Refuse what cannot be called."""
        if not callable(self.function):
            raise TypeError(f"Transformed: function must be callable, got {self.function!r}")
        inner = resolve_kernel(self.kernel)
        if not isinstance(inner, Kernel) or inner.precomputed:
            raise TypeError(
                f"Transformed needs a kernel of rows to apply after the function, got {self.kernel!r}"
            )
        inner.check()

    def bind(self, rows: Rows) -> Self:
        """The same with the inner kernel bound to the transformed rows."""
        self.check()
        inner = resolve_kernel(self.kernel).bind(self._moved(rows))
        return self.anew().set_params(kernel=inner)

    @property
    def surely_definite(self) -> bool:
        """If the inner kernel is."""
        return self.kernel.surely_definite

    def prepare(self, rows: Rows) -> Rows:
        """Transformed rows, as the inner kernel takes them."""
        return self.kernel.prepare(self._moved(rows))

    def cross(self, X: Rows, Y: Rows) -> np.ndarray:
        """Values of the inner kernel."""
        return self.kernel.cross(X, Y)

    def diagonal(self, X: Rows) -> np.ndarray:
        """Values of the inner kernel."""
        return self.kernel.diagonal(X)

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """As the inner kernel, of transformed rows."""
        own = self.function
        n_columns = own.columns_out(n_columns) if isinstance(own, ImageMap) else rows.shape[1]
        self.kernel.check_support(name, rows, n_columns)

    def _moved(self, rows: Rows) -> Rows:
        moved = as_rows(self.function(rows))
        if moved.shape[0] != rows.shape[0]:
            raise ValueError(f"{self!r}: the function made {moved.shape[0]} rows of {rows.shape[0]}")
        return moved


def as_dense(X: Any) -> np.ndarray:
    """Sparse rows as an array."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)
