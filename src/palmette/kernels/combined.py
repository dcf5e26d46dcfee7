"""Kernels made of kernels: sums, products, powers and multiples, as operators write them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.rows import PairedRows, Rows, whole_power
from palmette.registry import register


class Outer(Kernel):
    """A kernel of one kernel's values."""

    kernel: Any

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        _check_inner(self, "kernel")

    @property
    def objects(self) -> bool:  # type: ignore[override]
        """As the inner kernel."""
        return resolve_kernel(self.kernel).objects

    @property
    def savable(self) -> bool:
        """If the inner kernel is."""
        return resolve_kernel(self.kernel).savable

    def bind(self, rows: Any) -> Self:
        """The same of the bound inner kernel."""
        self.check()
        return self.anew().set_params(kernel=resolve_kernel(self.kernel).calling(self.called).bind(rows))

    def prepare(self, rows: Any) -> Rows:
        """As the inner kernel takes them."""
        return self.kernel.prepare(rows)

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """As the inner kernel."""
        self.kernel.check_support(name, rows, n_columns)

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        return self.values(self.kernel.cross(X, Y))

    def _diagonal(self, X: Rows) -> np.ndarray:
        return self.values(self.kernel.diagonal(X))

    def values(self, inner: np.ndarray) -> np.ndarray:
        """Values from those of the inner kernel."""
        raise NotImplementedError


@register("kernel")
class Power(Outer):
    """``K(x, y) = kernel(x, y)^degree``, also written ``kernel ** degree``.

    Examples
    --------
    >>> from palmette.kernels import NGram
    >>> (NGram(2) ** 3)(["abc"])
    array([[8.]])
    """

    def __init__(self, kernel: Any, degree: int = 2, normalize: bool = False) -> None:
        self.kernel = kernel
        self.degree = degree
        self.normalize = normalize

    def check(self) -> None:
        """Other powers than whole ones are not positive semi-definite in general."""
        super().check()
        if not isinstance(self.degree, Integral) or isinstance(self.degree, bool) or self.degree < 1:
            raise ValueError(f"Power: degree must be an integer of at least 1, got {self.degree!r}")

    @property
    def surely_definite(self) -> bool:
        """If the inner kernel is."""
        return resolve_kernel(self.kernel).surely_definite

    def values(self, inner: np.ndarray) -> np.ndarray:
        """Their power."""
        return whole_power(inner, int(self.degree))


@register("kernel")
class Scaled(Outer):
    """``K(x, y) = factor kernel(x, y) + constant``, also written ``factor * kernel + constant``.

    Examples
    --------
    >>> from palmette.kernels import Dirac
    >>> (2.0 * Dirac() + 1.0)(["a"], ["a", "b"])
    array([[3., 1.]])
    """

    def __init__(
        self, kernel: Any, factor: float = 1.0, constant: float = 0.0, normalize: bool = False
    ) -> None:
        self.kernel = kernel
        self.factor = factor
        self.constant = constant
        self.normalize = normalize

    def check(self) -> None:
        """Negative numbers make a kernel that is not positive semi-definite."""
        super().check()
        for name, least in (("factor", "above 0"), ("constant", "of at least 0")):
            value: Any = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
            if not number or value < 0 or (name == "factor" and value == 0):
                raise ValueError(f"Scaled: {name} must be a number {least}, got {value!r}")

    @property
    def surely_definite(self) -> bool:
        """If the inner kernel is."""
        return resolve_kernel(self.kernel).surely_definite

    def values(self, inner: np.ndarray) -> np.ndarray:
        """Multiplied and moved."""
        return inner * inner.dtype.type(self.factor) + inner.dtype.type(self.constant)


class Joint(Kernel):
    """A kernel of the values of two kernels of the same objects."""

    def __init__(self, left: Any, right: Any, normalize: bool = False) -> None:
        self.left = left
        self.right = right
        self.normalize = normalize

    @property
    def parts(self) -> tuple[Any, Any]:
        """Both kernels."""
        return resolve_kernel(self.left, "left"), resolve_kernel(self.right, "right")

    def check(self) -> None:
        """Both parts must compare the same."""
        super().check()
        _check_inner(self, "left")
        _check_inner(self, "right")
        left, right = self.parts
        if left.objects != right.objects:
            raise TypeError(
                f"{type(self).__name__} joins kernels of the same inputs, but {left!r} compares "
                f"{'objects' if left.objects else 'rows'} and {right!r} does not"
            )

    @property
    def objects(self) -> bool:  # type: ignore[override]
        """As both parts."""
        return self.parts[0].objects

    @property
    def savable(self) -> bool:
        """If both parts are."""
        return all(part.savable for part in self.parts)

    @property
    def surely_definite(self) -> bool:
        """If both parts are."""
        return all(part.surely_definite for part in self.parts)

    def bind(self, rows: Any) -> Self:
        """The same of bound parts."""
        self.check()
        left, right = (part.calling(self.called).bind(rows) for part in self.parts)
        return self.anew().set_params(left=left, right=right)

    def prepare(self, rows: Any) -> PairedRows:
        """As each part takes them."""
        return PairedRows(self.left.prepare(rows), self.right.prepare(rows))

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """As each part."""
        if not isinstance(rows, PairedRows) or rows.left.shape[0] != rows.right.shape[0]:
            raise ValueError(f"{name} must have rows for both parts of {type(self).__name__}")
        self.left.check_support(name, rows.left, n_columns)
        self.right.check_support(name, rows.right, n_columns)

    def _cross(self, X: PairedRows, Y: PairedRows) -> np.ndarray:
        return self.values(self.left.cross(X.left, Y.left), self.right.cross(X.right, Y.right))

    def _diagonal(self, X: PairedRows) -> np.ndarray:
        return self.values(self.left.diagonal(X.left), self.right.diagonal(X.right))

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Values from those of both parts."""
        raise NotImplementedError


@register("kernel")
class Sum(Joint):
    """``K(x, y) = left(x, y) + right(x, y)``, also written ``left + right``.

    Examples
    --------
    >>> from palmette.kernels import Dirac, Hamming
    >>> (Hamming() + Dirac())(["ab"], ["ab", "ac"])
    array([[3., 1.]])
    """

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Their sum."""
        return left + right


@register("kernel")
class Product(Joint):
    """``K(x, y) = left(x, y) right(x, y)``, also written ``left * right``.

    Examples
    --------
    >>> from palmette.kernels import Dirac, Hamming
    >>> (Hamming() * Dirac())(["ab"], ["ab", "ac"])
    array([[2., 0.]])
    """

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Their product."""
        return left * right


def _check_inner(outer: Kernel, setting: str) -> None:
    inner = resolve_kernel(getattr(outer, setting), setting)
    if not isinstance(inner, Kernel) or inner.precomputed:
        raise TypeError(
            f"{type(outer).__name__} needs kernels of rows or objects, got {setting}={getattr(outer, setting)!r}"
        )
    inner.check()
