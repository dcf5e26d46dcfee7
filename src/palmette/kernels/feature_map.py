"""Feature maps of kernels: rows in, features out, whose inner products are kernel values or close to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from palmette.kernels.rows import Rows


class FeatureMap:
    """``phi(x) = K(x, landmarks) normalization``: what every learner with a kernel trains on.

    Attributes
    ----------
    kernel_ : Kernel
        Bound to the training rows.
    landmarks_ : Rows
        Prepared rows, shape (n_landmarks, n_columns); of a precomputed kernel the numbers of columns, (n_landmarks, 1).
    normalization_ : ndarray of shape (n_landmarks, n_features)
    """

    kernel_: Any
    landmarks_: Any
    normalization_: np.ndarray

    def values(self, rows: Rows) -> np.ndarray:
        """Kernel values of rows with the landmarks, shape (n_rows, n_landmarks)."""
        if self.kernel_.precomputed:
            found = rows[:, self.landmarks_[:, 0]]
            return np.asarray(found.toarray() if sparse.issparse(found) else found, float)
        return np.asarray(self.kernel_.cross(self.kernel_.prepare(rows), self.landmarks_), float)

    def map_rows(self, rows: Rows) -> np.ndarray:
        """Features of rows, shape (n_rows, n_features), in double precision."""
        return self.values(rows) @ self.normalization_

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients of the landmarks, (n_landmarks, n), with ``values(x) @ coefficients = phi(x) @ weights``."""
        return self.normalization_ @ weights


class KernelValues(FeatureMap):
    """Kernel values with the landmarks themselves as features."""

    def __init__(self, kernel: Any, landmarks: Any) -> None:
        self.kernel_, self.landmarks_ = kernel, landmarks

    def map_rows(self, rows: Rows) -> np.ndarray:
        """Kernel values of rows with the landmarks."""
        return self.values(rows)
