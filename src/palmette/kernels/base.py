"""The base class of kernels, and the conversion of names and functions to kernels."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from palmette.data.checks import check_array, check_finite
from palmette.kernels.definite import check_definite
from palmette.kernels.rows import Rows, as_rows


class Kernel(BaseEstimator):
    """A positive semi-definite function of two rows, or of two objects.

    Subclasses have ``_cross(X, Y)`` and ``_diagonal(X)`` of prepared rows. Before training a kernel is *bound* to the
    training rows (:meth:`bind`): settings such as ``gamma="scale"`` become numbers, and kernels of objects learn their
    features. Calling a kernel evaluates it. ``k1 + k2``, ``k1 * k2``, ``2.0 * k + 1.0`` and ``k ** 3`` are kernels.
    """

    normalize: bool = False
    precomputed: ClassVar[bool] = False
    """Whether rows are kernel values with the training rows, not features."""
    objects: ClassVar[bool] = False
    """Whether it compares objects, such as strings, instead of the rows of a table."""

    called: str = "X"
    """What messages call the objects or rows that are compared."""

    single: bool = True
    """Whether a learner's values may be in single precision where that is exact or good to 1e-6."""

    def bind(self, rows: Rows) -> Self:
        """The same kernel with settings that depend on the training rows as numbers."""
        self.check()
        return self.anew()

    def anew(self) -> Self:
        """A copy with the same settings, and nothing learnt; its messages use the same name."""
        own = clone(self)
        own.called = self.called
        return own

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

    def admit(self, X: Any) -> Any:
        """What a user gave as the inputs of :meth:`bind` and :meth:`prepare`: a table of numbers, or a list."""
        if self.objects:
            from palmette.kernels.objects import as_objects

            return as_objects(X, self.called)
        return as_rows(X, self.called)

    def calling(self, name: str) -> Self:
        """The same kernel, whose messages call what it compares by another name."""
        return self._with("called", name)

    def prepare(self, rows: Rows) -> Rows:
        """Rows as :meth:`cross` takes them."""
        return rows

    def in_double(self) -> Self:
        """The same bound kernel, all of whose values are in double precision."""
        return self._with("single", False)

    def _with(self, attribute: str, value: Any) -> Self:
        """A copy that has another value of an attribute, and so have the kernels that it is made of."""
        own = copy.copy(self)
        setattr(own, attribute, value)
        for name, inner in self.get_params(deep=False).items():
            if isinstance(inner, Kernel):
                setattr(own, name, inner._with(attribute, value))
        return own

    def cross(self, X: Rows, Y: Rows) -> np.ndarray:
        """Values of all pairs of prepared rows, shape (len(X), len(Y)), with ``normalize`` applied."""
        values = self._cross(X, Y)
        if self.normalize:
            values *= inverse_roots(self._diagonal(X))[:, None].astype(values.dtype)
            values *= inverse_roots(self._diagonal(Y)).astype(values.dtype)
        return values

    def diagonal(self, X: Rows) -> np.ndarray:
        """``K(x, x)`` of prepared rows, with ``normalize`` applied."""
        values = self._diagonal(X)
        return (values > 0.0).astype(float) if self.normalize else values

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, X: Rows) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """``K[i, j]`` of the rows of ``X`` with those of ``Y`` (by default with themselves), shape (len(X), len(Y)).

        In double precision. What depends on training rows is taken from ``Y``. Two rows without a table around them, as
        some callers of scikit-learn give them, make one number.
        """
        if not self.objects and np.ndim(X) == 1 == np.ndim(Y):
            return self._pair(X, Y)
        X = self.admit(X)
        Y = X if Y is None else self.admit(Y)
        bound = self.bind(Y).in_double()
        left = bound.prepare(X)
        right = left if Y is X else bound.prepare(Y)
        if left.shape[1:] != right.shape[1:]:
            raise ValueError(f"{self!r}: X has {left.shape[1]} columns, Y has {right.shape[1]}")
        return bound.cross(left, right)

    def _pair(self, x: Any, y: Any) -> Any:
        """The value of one pair of rows, which says nothing about training rows."""
        bound = self.bind(as_rows([y]))
        if bound.get_params() != self.get_params():
            raise ValueError(
                f"{self!r} has settings that depend on all training rows, and is asked for one pair; give gamma as a "
                "number"
            )
        bound = bound.in_double()
        return bound.cross(bound.prepare(as_rows([x])), bound.prepare(as_rows([y])))[0, 0]

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What :meth:`bind` has learnt beside settings, as plain values and arrays for a model file."""
        return {}, {}

    def relearn(self, header: Any, arrays: Any) -> None:
        """Inverse of :meth:`learned`; what comes from a file is checked."""

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """Raise ValueError unless prepared rows of a file can be compared with inputs of so many columns."""
        values = rows.data if sparse.issparse(rows) else check_array(name, rows, (np.float32, np.float64), 2)
        check_finite(name, values)
        if rows.shape[1] != n_columns:
            raise ValueError(f"{name} has {rows.shape[1]} columns, expected {n_columns}")

    def check_definite(self, X: Any) -> None:
        """Raise an error unless the Gram matrix of ``X`` is symmetric and positive semi-definite.

        >>> from palmette.kernels import Custom
        >>> Custom(lambda X, Y: -X @ Y.T).check_definite([[1.0], [2.0]])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        palmette.kernels.definite.NotPositiveSemidefinite: Custom(...) is not positive semi-definite: ...
        """
        X = self.admit(X)
        bound = self.bind(X)
        check_definite(bound, bound.prepare(X))

    def __add__(self, other: Any) -> Kernel:
        from palmette.kernels.combined import Scaled, Sum

        return Scaled(self, constant=float(other)) if isinstance(other, Real) else Sum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        from palmette.kernels.combined import Product, Scaled

        return Scaled(self, float(other)) if isinstance(other, Real) else Product(self, other)

    __radd__, __rmul__ = __add__, __mul__  # kernels are symmetric in their parts

    def __pow__(self, degree: int) -> Kernel:
        from palmette.kernels.combined import Power

        return Power(self, degree)


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
    from palmette.kernels.labels import Dirac, Hamming
    from palmette.kernels.ngrams import NGram
    from palmette.kernels.nystroem import Nystroem
    from palmette.kernels.paths import CommonPath
    from palmette.kernels.products import RBF, Linear, Polynomial

    named: dict[str, type[Kernel]] = {
        "linear": Linear,
        "poly": Polynomial,
        "polynomial": Polynomial,
        "rbf": RBF,
        "precomputed": Precomputed,
        "dirac": Dirac,
        "hamming": Hamming,
        "ngram": NGram,
        "path": CommonPath,
    }
    names, other = sorted(named), "an object of palmette.kernels, or a function of two tables"
    if setting == "output":
        names.remove("precomputed")
        other = "an object of palmette.kernels or palmette.outputs, a structure, or a function of two outputs"
    if isinstance(kernel, str):
        if kernel not in named:
            raise ValueError(f"{setting}={kernel!r} is unknown; choose one of {names}, {other}")
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
    raise TypeError(f"{setting} must be a name, {other}, got {kernel!r}")
