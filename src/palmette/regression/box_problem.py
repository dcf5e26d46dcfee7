r"""The risk of SOSC over a box, in the bases of both kernels: ``|S A - t|^2 / 2`` (times 2), ``|A_ij| <= c_ij``.

``S A = s * (U' A V)`` with ``s_ij = d_j sqrt(l_i / m)``, and ``t_ij = sqrt(l_i / m) (U'V)_ij``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from palmette.regression.spectra import Spectra

LARGEST = 10.0  # matrices of m x m numbers that the blocks of a preconditioner may take
ROUNDING = 1e-12  # of products of orthonormal vectors


@dataclass(frozen=True)
class BoxProblem:
    """What methods for the box share: bases, scales, and the measure of optimality.

    Attributes
    ----------
    outputs, inputs : ndarray of shape (m, r) and (m, k)
        ``U`` and ``V``.
    scale, target : ndarray of shape (r, k)
        ``s`` and ``t``.
    bound : float or ndarray of shape (m, m)
    """

    outputs: np.ndarray
    inputs: np.ndarray
    scale: np.ndarray
    target: np.ndarray
    bound: float | np.ndarray

    @classmethod
    def of(cls, spectra: Spectra, bound: float | np.ndarray, total: float) -> Self:
        """The problem of two decomposed kernels and a number of samples."""
        root = np.sqrt(spectra.l / total)[:, None]
        return cls(spectra.outputs, spectra.inputs, root * spectra.d, root * spectra.overlap, bound)

    @cached_property
    def groups(self) -> list[slice]:
        """Rows of ``Z`` whose products with each other are taken together, as many as fit; none if not one fits.

        Rows for which no sample counts twice, such as the labels of Dirac's kernel, have no such products.
        """
        (m, r), k = self.outputs.shape, self.inputs.shape[1]
        size = int(LARGEST * m * m / max(r * k * k, 1))
        apart = np.abs(self.outputs).T @ np.abs(self.outputs)
        if size and np.all(apart - np.diag(apart.diagonal()) <= ROUNDING):
            size = 1
        return [slice(start, start + size) for start in range(0, r, size)] if size else []

    @property
    def curvature(self) -> float:
        """The largest."""
        return float(np.max(self.scale, initial=0.0)) ** 2

    @property
    def steepest(self) -> float:
        """Norm of the gradient at zero."""
        return size(self.scale * self.target)

    def turned(self, a: np.ndarray) -> np.ndarray:
        """``U' A V`` of (m, m)."""
        return np.asarray(self.outputs.T @ a @ self.inputs)

    def back(self, z: np.ndarray) -> np.ndarray:
        """``U Z V'`` of (r, k)."""
        return np.asarray(self.outputs @ z @ self.inputs.T)

    def clipped(self, a: np.ndarray) -> np.ndarray:
        """The closest point of the box."""
        return np.clip(a, -self.bound, self.bound)

    def off_optimum(self, a: np.ndarray, image: np.ndarray | None = None) -> float:
        """``h |A - clip(A - grad / h)| / |grad(0)|`` of a point of the box, ``h`` the largest curvature.

        ``image`` is ``S A``, if it is known.
        """
        image = self.scale * self.turned(a) if image is None else image
        top = self.curvature
        gradient = self.back(self.scale * (image - self.target))
        return top * size(a - self.clipped(a - gradient / top)) / self.steepest


def size(table: np.ndarray) -> float:
    """Frobenius norm."""
    return float(np.linalg.norm(table))
