r"""Regression with a constraint on coefficients (SOSC): ``min tr[(I - A K)' K_Y (I - A K)] / m``, ``|A|_F <= R``.

With ``K = V diag(d) V'``, ``K_Y = U diag(l) U'`` and ``G = U'V`` the solution is ``A = U Z V'``,
``Z_ij = l_i d_j G_ij / (l_i d_j^2 + m b)``: ``b = 0`` if that fits into the ball, else the root of ``|Z|_F = R``.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import norm

from palmette.regression.result import RegressionResult
from palmette.regression.ridge import inner
from palmette.regression.secular import secular_root
from palmette.regression.spectra import Spectra

TOLERANCE = 1e-8  # of the optimality conditions of a solution that counts as one


class BallPath:
    """All solutions of one problem, by radius or by multiplier, from two eigendecompositions.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
    rows : ndarray of shape (m, q)
        Outputs as vectors.
    metric : ndarray of shape (q, q), optional
        ``K_Y = rows metric rows'``.
    total : float, optional
        Number of samples by which the risk is divided; m by default.

    Examples
    --------
    >>> path = BallPath(np.diag([2.0, 1.0]), np.eye(2))
    >>> result = path.at_radius(0.5)
    >>> round(result.radius, 12), bool(result.kkt < 1e-12), result.multiplier > 0
    (0.5, True, True)
    """

    def __init__(
        self, gram: np.ndarray, rows: np.ndarray, metric: np.ndarray | None = None, total: float | None = None
    ) -> None:
        self.gram, self.rows, self.metric = gram, rows, metric
        self.total = float(len(gram) if total is None else total)
        self.spectra = Spectra.of(gram, rows, metric)
        self._pull = self.spectra.l[:, None] * self.spectra.d * self.spectra.overlap
        self._push = self.spectra.l[:, None] * self.spectra.d**2
        self._image = self.spectra.outputs.T @ rows

    def at_radius(self, radius: float) -> RegressionResult:
        """Certificate of the solution with ``|A|_F <= radius``; its multiplier leads to all else."""
        return self._certified(*secular_root(self._pull, self._push, radius))

    def at_multiplier(self, b: float) -> RegressionResult:
        """Certificate of the minimum of ``risk + b |A|_F^2``, b at least 0; its radius is ``result.radius``."""
        if not 0.0 <= b < np.inf:
            raise ValueError(f"the multiplier must be a finite number of at least 0, got {b!r}")
        return self._certified(b * self.total, 0)

    def multiplier(self, radius: float) -> float:
        """``b`` of the solution with ``|A|_F <= radius``, without its certificate."""
        return secular_root(self._pull, self._push, radius)[0] / self.total

    def solution(self, b: float, table: np.ndarray) -> np.ndarray:
        """``A' table`` of the solution with a multiplier, (m, p)."""
        return self.spectra.inputs @ (self._core(b * self.total).T @ (self.spectra.outputs.T @ table))

    def coefficients(self, b: float, inputs: np.ndarray) -> np.ndarray:
        """``a(x) = A k(x)`` of the solution with a multiplier, (n, m), of kernel values (n, m)."""
        return ((inputs @ self.spectra.inputs) @ self._core(b * self.total).T) @ self.spectra.outputs.T

    def _core(self, shift: float) -> np.ndarray:
        """``Z``, shape (r, k)."""
        return self._pull / (self._push + shift)

    def _certified(self, shift: float, n_steps: int) -> RegressionResult:
        core, image = self._core(shift), self.spectra.outputs.T @ self.rows
        residual = self.rows - self.gram @ (self.spectra.inputs @ (core.T @ image))
        weighed = image if self.metric is None else image @ self.metric
        slope = (weighed @ residual.T) @ self.gram  # of the risk, times -total / 2, in the basis of outputs
        steepest = float(np.linalg.norm((weighed @ self.rows.T) @ self.gram))
        kkt = float(np.linalg.norm(slope - shift * (core @ self.spectra.inputs.T))) / max(steepest, 1e-300)
        return RegressionResult(
            objective=inner(residual, residual, self.metric) / self.total,
            kkt=kkt,
            n_steps=n_steps,
            converged=kkt <= TOLERANCE,
            multiplier=shift / self.total,
            radius=float(norm(core.ravel())),  # of a vector, whose squares do not underflow
        )
