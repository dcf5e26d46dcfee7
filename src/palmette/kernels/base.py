"""The base class of kernels, and the conversion of names and functions to kernels."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from palmette.kernels.rows import Rows, as_rows


class Kernel(BaseEstimator):
    """A positive semi-definite function of two rows.

    Subclasses have ``_cross(X, Y)`` and ``_diagonal(X)`` of prepared rows. Before training a kernel is *bound* to the
    training rows (:meth:`bind`): settings such as ``gamma="scale"`` become numbers. Calling a kernel evaluates it.
    """

    normalize: bool = False
    precomputed: ClassVar[bool] = False
    """Whether rows are kernel values with the training rows, not features."""

    def bind(self, rows: Rows) -> Self:
        """The same kernel with settings that depend on the training rows as numbers."""
        self.check()
        return clone(self)

    def check(self) -> None:
        """Refuse settings that make no sense."""
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(
                f"{type(self).__name__}: normalize must be True or False, got {self.normalize!r}"
            )

    @property
    def savable(self) -> bool:
        """Whether a model file can hold the kernel: functions of the user's it cannot."""
        return True

    @property
    def surely_definite(self) -> bool:
        """Whether the settings alone prove that every Gram matrix is positive semi-definite."""
        return False

    def prepare(self, rows: Rows) -> Rows:
        """Rows as :meth:`cross` takes them."""
        return rows

    def cross(self, X: Rows, Y: Rows) -> np.ndarray:
        """Values of all pairs of prepared rows, shape (len(X), len(Y)), with ``normalize`` applied."""
        values = self._cross(X, Y)
        if self.normalize:
            values *= inverse_roots(self._diagonal(X))[:, None].astype(values.dtype)
            values *= inverse_roots(self._diagonal(Y)).astype(values.dtype)
        return values

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, X: Rows) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """``K[i, j]`` of the rows of ``X`` with those of ``Y`` (by default with themselves), shape (len(X), len(Y)).

        What depends on training rows is taken from ``Y``.
        """
        X = as_rows(X)
        Y = X if Y is None else as_rows(Y)
        bound = self.bind(Y)
        X, Y = bound.prepare(X), bound.prepare(Y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"{self!r}: X has {X.shape[1]} columns, Y has {Y.shape[1]}")
        return bound.cross(X, Y)


def inverse_roots(diagonal: np.ndarray) -> np.ndarray:
    """``diagonal^-1/2``; 0 for rows that are 0 in feature space."""
    diagonal = np.maximum(np.asarray(diagonal, float), 0.0)
    return np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0.0)


def resolve_kernel(kernel: Any, setting: str = "kernel") -> Any:
    """A kernel for what the user gave as ``setting``: an object of this package, a function of two tables, or a name.

    >>> resolve_kernel("rbf"), resolve_kernel("poly")
    (RBF(), Polynomial())
    """
    from palmette.kernels.given import Custom, Precomputed
    from palmette.kernels.nystroem import Nystroem
    from palmette.kernels.products import RBF, Linear, Polynomial

    named = {
        "linear": Linear,
        "poly": Polynomial,
        "polynomial": Polynomial,
        "rbf": RBF,
        "precomputed": Precomputed,
    }
    if isinstance(kernel, str):
        if kernel not in named:
            raise ValueError(
                f"{setting}={kernel!r} is unknown; choose one of {sorted(named)}, an object of palmette.kernels, or a "
                "function of two tables"
            )
        return named[kernel]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel | Nystroem):
        raise TypeError(
            f"{setting} must be an object, got the class {kernel.__name__}: write {kernel.__name__}()"
        )
    if isinstance(kernel, Kernel | Nystroem):
        return kernel
    if hasattr(kernel, "fit") and hasattr(kernel, "transform"):
        return Nystroem(kernel)
    if callable(kernel):
        return Custom(kernel)
    raise TypeError(
        f"{setting} must be an object of palmette.kernels, a name, or a function of two tables, got {kernel!r}"
    )
