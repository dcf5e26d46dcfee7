"""Exact feature maps: the factor of a Gram matrix makes a linear model of a kernel model, for any loss and solver.

With ``K = Phi Phi'`` (Cholesky with pivots, cut where what is left of the diagonal is below 1e-10 of its largest entry)
a kernel model on the training rows is a linear one on the rows of ``Phi``: the scores are ``Phi w`` and the penalty is
``|w|^2``. If ``L`` are the rows of ``Phi`` that belong to the pivots, ``K[:, pivots] = Phi L'``, so that
``phi(x) = K(x, pivots) L'^-1`` maps any row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from palmette.errors import MissingCapability
from palmette.kernels.definite import check_definite
from palmette.kernels.feature_map import FeatureMap
from palmette.kernels.rows import Rows
from palmette.kernels.training_rows import KernelRows

CUT = 1e-10  # relative to the largest entry of the diagonal
MISFIT = 1e-6  # of a factor relative to the matrix: beyond the rounding of kernels in single precision
BYTES_A_PAIR = 16  # the matrix and its factor


class Factor(NamedTuple):
    """``K = features features'``; ``pivots`` are the rows whose features are the lower triangle ``corner``."""

    features: np.ndarray
    pivots: np.ndarray
    corner: np.ndarray


def factorise(gram: np.ndarray) -> Factor:
    """Factor of a positive semi-definite matrix, which is overwritten.

    >>> factor = factorise(np.array([[4.0, 2.0, 4.0], [2.0, 2.0, 2.0], [4.0, 2.0, 4.0]]))
    >>> factor.features @ factor.features.T
    array([[4., 2., 4.],
           [2., 2., 2.],
           [4., 2., 4.]])
    >>> factor.features.shape
    (3, 2)
    """
    probe = np.random.default_rng(0).standard_normal(len(gram))
    image, most = gram @ probe, float(np.abs(gram).sum(axis=1).max(initial=0.0))
    tolerance = CUT * max(float(np.max(np.diag(gram), initial=0.0)), np.finfo(float).tiny)
    lower, order, rank, info = dpstrf(gram, tol=tolerance, lower=1, overwrite_a=1)
    if info < 0:
        raise ValueError(f"argument {-info} of the Cholesky factorisation is invalid")
    order, lower = order - 1, np.tril(lower)[:, :rank]
    features = np.empty_like(lower)
    features[order] = lower
    # Of a matrix with a negative eigenvalue the factorisation leaves out a part without a word.
    left = float(np.linalg.norm(image - features @ (features.T @ probe)))
    share = left / max(most * float(np.linalg.norm(probe)), np.finfo(float).tiny)
    if share > MISFIT:
        raise ValueError(
            f"the Gram matrix of the {len(gram)} distinct training rows is not positive semi-definite: its factor is "
            f"off by {share:.1e} of it. Use another kernel, or add a multiple of the identity to it."
        )
    return Factor(np.ascontiguousarray(features), order[:rank], lower[:rank])


class ExactFactor(FeatureMap):
    """The feature map of an exact factor; its landmarks are the pivots.

    Examples
    --------
    >>> from palmette.kernels import RBF
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> factor, features = ExactFactor.of(RBF(gamma=0.1), x, megabytes=1.0)
    >>> np.allclose(features @ features.T, RBF(gamma=0.1)(x), atol=1e-6)
    True
    >>> np.allclose(factor.map_rows(x), features, atol=1e-6)
    True
    """

    def __init__(self, kernel: Any, landmarks: Any, normalization: np.ndarray) -> None:
        self.kernel_, self.landmarks_, self.normalization_ = kernel, landmarks, normalization

    @classmethod
    def of(cls, kernel: Any, rows: Rows, *, megabytes: float) -> tuple[ExactFactor, np.ndarray]:
        """The map for training rows, and their features; the memory for all pairs is stated before it is taken."""
        own = KernelRows.of(kernel, rows)
        factor = factorise(_gram(own, kernel, megabytes))
        inverse = solve_triangular(factor.corner, np.eye(len(factor.corner)), lower=True).T
        return cls(own.kernel, own.support[factor.pivots], inverse), factor.features[own.unique]


def _gram(rows: KernelRows, kernel: Any, megabytes: float) -> np.ndarray:
    """The Gram matrix in double precision, if it fits and is positive semi-definite."""
    n = rows.prepared.shape[0]
    needed = BYTES_A_PAIR * n**2
    if needed > 1e6 * megabytes:
        raise MissingCapability(
            f"kernel={kernel!r} with this loss needs {needed / 1e6:.2g} MB for {n} distinct rows, and "
            f"cache_size={megabytes:g}: raise cache_size, or use kernel=Nystroem(...)"
        )
    check_definite(rows.kernel, rows.prepared, 0)
    if rows.kernel.precomputed:
        return np.array(rows.prepared, float)
    # in double precision, since the factor would see the rounding of single
    double = rows.prepared.astype(float)
    return np.array(rows.kernel.cross(double, double), float)
