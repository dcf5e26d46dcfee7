"""Kernels that are functions of inner products: linear, polynomial, Gaussian."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from palmette.kernels.base import Kernel, inverse_roots
from palmette.kernels.rows import Rows, products, squared_norms, variance, whole_power
from palmette.registry import register

_SMALL = 2.0**24  # integers below this are exact in single precision
_RANGE = 50.0  # exponents of a Gaussian below this lose nothing that matters in single precision


class ProductKernel(Kernel):
    """A kernel whose values follow from ``<x, y>``, ``|x|^2`` and ``|y|^2``.

    Such values are computed by BLAS, in single precision where that is exact or good to 1e-6.
    """

    def values(self, inner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values from inner products (overwritten) and squared norms that broadcast against them."""
        raise NotImplementedError

    def prepare(self, rows: Rows) -> Rows:
        """Rows in the precision of their products."""
        return rows.astype(np.float32 if self.single and self._single(rows) else np.float64)

    def _single(self, rows: Rows) -> bool:
        return True

    def cross(self, X: Rows, Y: Rows) -> np.ndarray:
        """Values of all pairs of prepared rows, shape (len(X), len(Y)), with ``normalize`` applied."""
        x, y = squared_norms(X), squared_norms(Y)
        inner = products(X, Y)
        kind = inner.dtype
        found = self.values(inner, x[:, None].astype(kind), y.astype(kind))
        if self.normalize:
            with np.errstate(invalid="ignore"):  # infinity times 0: as for infinite values
                found *= inverse_roots(self.at_itself(x))[:, None].astype(kind)
                found *= inverse_roots(self.at_itself(y)).astype(kind)
        return found

    def factors(self, inner: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``value`` and ``scale`` with ``K(x, y) = scale(|x|^2) value(<x, y>) scale(|y|^2)``, at these numbers."""
        value = self.values(np.array(inner, float), np.zeros(1), np.zeros(1))
        scale = inverse_roots(self.at_itself(norms)) if self.normalize else np.ones(len(norms))
        return value, scale

    def at_itself(self, norms: np.ndarray) -> np.ndarray:
        """``K(x, x)`` before normalisation, of rows with these squared norms."""
        return self.values(norms.copy(), norms, norms)

    def _diagonal(self, X: Rows) -> np.ndarray:
        return self.at_itself(squared_norms(X))


@register("kernel")
class Linear(ProductKernel):
    """``K(x, y) = <x, y>``; with ``normalize`` the cosine.

    It has no constant: ``Polynomial(degree=1)`` adds one.

    Parameters
    ----------
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]])
    array([[3., 2.]])
    """

    def __init__(self, normalize: bool = False) -> None:
        self.normalize = normalize

    @property
    def surely_definite(self) -> bool:
        """Always."""
        return True

    def values(self, inner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The products themselves."""
        return inner


class ScaledKernel(ProductKernel):
    """A kernel of products with a factor ``gamma``, a positive number or "scale"."""

    gamma: Any

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        gamma = self.gamma
        number = isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 < float(gamma) < np.inf
        if not number and not (isinstance(gamma, str) and gamma == "scale"):
            name = type(self).__name__
            raise ValueError(f"{name}: gamma must be 'scale' or a positive number, got {gamma!r}")

    def bind(self, rows: Rows) -> Self:
        """The same kernel with ``gamma`` as a number."""
        self.check()
        return self.anew().set_params(gamma=number_of(self.gamma, rows))


@register("kernel")
class Polynomial(ScaledKernel):
    """``K(x, y) = (gamma <x, y> + coef0)^degree``, as scikit-learn's ``polynomial_kernel``.

    Parameters
    ----------
    degree : int, default=3
    gamma : "scale" or float, default="scale"
        "scale" is ``1 / (n_features * X.var())`` of the training rows.
    coef0 : float, default=1.0
        At least 0, or the kernel may not be positive semi-definite.
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``. With ``coef0=0`` ``gamma`` then plays no part.

    Examples
    --------
    >>> Polynomial(2, gamma=1.0)([[1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]])
    array([[16.,  9.]])
    >>> Polynomial(3, coef0=0.0, normalize=True)([[1.0, 0.0]], [[2.0, 0.0]]).round(5)
    array([[1.]])
    """

    def __init__(
        self, degree: int = 3, gamma: Any = "scale", coef0: float = 1.0, normalize: bool = False
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.normalize = normalize

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        if not isinstance(self.degree, Integral) or isinstance(self.degree, bool) or self.degree < 1:
            raise ValueError(f"Polynomial: degree must be an integer of at least 1, got {self.degree!r}")
        if not isinstance(self.coef0, Real) or not np.isfinite(float(self.coef0)):
            raise ValueError(f"Polynomial: coef0 must be a finite number, got {self.coef0!r}")

    @property
    def surely_definite(self) -> bool:
        """Sums and products of kernels are kernels."""
        return self.coef0 >= 0.0

    def values(self, inner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The power of the scaled products."""
        inner *= inner.dtype.type(self.gamma)
        inner += inner.dtype.type(self.coef0)
        return whole_power(inner, int(self.degree))


@register("kernel")
class RBF(ScaledKernel):
    """``K(x, y) = exp(-gamma |x - y|^2)``, as scikit-learn's ``rbf_kernel``.

    Parameters
    ----------
    gamma : "scale" or float, default="scale"
        "scale" is ``1 / (n_features * X.var())`` of the training rows.
    normalize : bool, default=False
        Changes nothing: ``K(x, x) = 1`` already.

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0, 1.0]], [[0.0, 1.0], [2.0, 1.0]]).round(3)
    array([[1.   , 0.135]])
    """

    def __init__(self, gamma: Any = "scale", normalize: bool = False) -> None:
        self.gamma = gamma
        self.normalize = normalize

    @property
    def surely_definite(self) -> bool:
        """For every positive gamma."""
        return True

    def _single(self, rows: Rows) -> bool:
        # |x|^2 + |y|^2 - 2 <x, y> cancels: single precision only where it is exact, or far from mattering.
        top = float(squared_norms(rows).max(initial=0.0))
        entries = rows.data if sparse.issparse(rows) else rows
        gamma: Any = self.gamma
        return gamma * top < _RANGE or (top < _SMALL and bool(np.all(entries == np.rint(entries))))

    def factors(self, inner: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``exp(2 gamma <x, y>)`` and ``exp(-gamma |x|^2)``."""
        return np.exp(2.0 * self.gamma * np.asarray(inner, float)), np.exp(-self.gamma * norms)

    def values(self, inner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Distances from products, then the exponential."""
        inner *= inner.dtype.type(2.0)
        inner -= x
        inner -= y
        np.minimum(inner, 0.0, out=inner)
        inner *= inner.dtype.type(self.gamma)
        return np.exp(inner, out=inner)


def number_of(gamma: Any, rows: Rows) -> float:
    """``gamma`` as a number; 1 for "scale" where all entries are equal, as scikit-learn has it."""
    if not isinstance(gamma, str):
        return float(gamma)
    spread = variance(rows) * rows.shape[1]
    return 1.0 / spread if spread > 0.0 else 1.0
