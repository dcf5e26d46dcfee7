"""The quadratic that the conjugate of a penalty is around a mean of cuts: for Newton steps over the cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from palmette.regularizers.elastic import ElasticNet

NEARLY = 1.0 - 1e-9  # share of l1 from which on a weight counts as held
FEW_HELD = 4  # weights for each row, up to which a factor is computed from the weights themselves


class DualModel:
    """Value, gradient and curvature of ``R*(-a @ rows)`` in ``a``, for the elastic net on every weight.

    ``R*(-g) = sum_j e_j^2 / (2 l2_j)`` with the excess ``e`` of ``g``, so that the second derivative is the sum of
    ``rows[:, j] rows[:, j]' / l2_j`` over the weights with excess. Weights at the brink of it count too: they are what
    stopped the last step. Where these are many, their products are kept from point to point, and only weights that
    come or go are summed.

    Parameters
    ----------
    penalty : ElasticNet
        With L2 on every weight that has a gradient.
    rows : ndarray of shape (n, n_params)
    """

    def __init__(self, penalty: ElasticNet, rows: np.ndarray) -> None:
        self.penalty, self.rows = penalty, rows
        self._held = np.zeros(rows.shape[1], bool)
        self._products = np.zeros((len(rows), len(rows)))

    def slope(self, g: np.ndarray) -> tuple[float, np.ndarray]:
        """``R*(-g)`` and its gradient at ``g = a @ rows``."""
        e = self.penalty.excess(g)
        lowest = np.divide(e, self.penalty.l2, out=np.zeros_like(e), where=e != 0.0)
        return 0.5 * float(lowest @ e), self.rows @ lowest

    def root(self, g: np.ndarray) -> np.ndarray:
        """Rows whose products are the second derivative at ``g = a @ rows``."""
        held = (np.abs(g) >= NEARLY * self.penalty.l1) & (self.penalty.l2 > 0.0)
        if np.count_nonzero(held) <= FEW_HELD * len(self.rows):
            return compressed(self._part(held))
        come, go = self._part(held & ~self._held), self._part(self._held & ~held)
        if come.shape[1] + go.shape[1] < np.count_nonzero(held):
            self._products += come @ come.T
            self._products -= go @ go.T
        else:
            part = self._part(held)
            self._products = part @ part.T
        self._held = held
        return root_of(self._products)

    def _part(self, held: np.ndarray) -> np.ndarray:
        at = np.flatnonzero(held)
        return self.rows[:, at] / np.sqrt(self.penalty.l2[at])


def compressed(rows: np.ndarray) -> np.ndarray:
    """Rows with the same products, and no more entries than there are rows: a triangle of QR."""
    n, m = rows.shape
    return rows if m <= n else np.asarray(np.linalg.qr(rows.T, mode="r")).T


def root_of(products: np.ndarray) -> np.ndarray:
    """Rows with these products, by a Cholesky factor with pivots; the matrix may be singular.

    >>> root_of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[1.],
           [2.]])
    """
    from scipy.linalg.lapack import dpstrf

    factor, order, rank, _ = dpstrf(products, lower=1)
    rows = np.empty((len(products), rank))
    rows[order - 1] = np.tril(factor)[:, :rank]
    return rows
