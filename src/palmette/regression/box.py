r"""SOSC with a bound on every coefficient: ``min tr[(I - A K)' K_Y (I - A K)] / m``, ``|A_ij| <= c_ij``.

The alternating direction method of multipliers splits the risk from the box. The step on the risk is a division in the
bases of both kernels, so an ill-conditioned kernel costs it nothing, where projected gradients crawl.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palmette.regression.result import RegressionResult
from palmette.regression.ridge import inner
from palmette.regression.spectra import Spectra

RELAXATION = 1.6
CHECK_EVERY = 10
BALANCE = 3.0  # wanted ratio of the relative residuals of split and gradient, by measurement
UNBALANCED = 3.0  # distance from it, as a factor, at which the penalty moves
RARER = 1.15  # waits between moves of the penalty grow by this, so that they end
Watch = Callable[[int, float], None]  # is told the iteration and what is left of the optimality conditions


def box_constrained(
    gram: np.ndarray,
    rows: np.ndarray,
    bound: float | np.ndarray,
    metric: np.ndarray | None = None,
    total: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 3000,
    watch: Watch | None = None,
) -> tuple[np.ndarray, RegressionResult]:
    """``A`` (m, m) and its certificate.

    Optimality is measured at a point of the box: ``h |A - clip(A - grad / h)| / |grad(0)|``, ``h`` the largest
    curvature.

    Parameters
    ----------
    gram, rows, metric, total
        As for :class:`~palmette.regression.constrained.BallPath`.
    bound : float or ndarray of shape (m, m)
        ``c``, above 0.
    tol : float
        Of the optimality conditions.
    max_iter : int
    watch : callable, optional
    """
    total = float(len(gram) if total is None else total)
    u, l, v, d, overlap = _parts(Spectra.of(gram, rows, metric))
    curvature = l[:, None] * d**2 / total
    slope = l[:, None] * d * overlap / total
    top, steepest = float(curvature.max(initial=0.0)), float(np.linalg.norm(slope))

    def off_optimum(a: np.ndarray) -> float:
        gradient = u @ (curvature * (u.T @ a @ v) - slope) @ v.T
        moved = a - np.clip(a - gradient / top, -bound, bound)
        return top * float(np.linalg.norm(moved)) / steepest

    point = np.zeros(gram.shape)
    if steepest == 0.0:
        return point, _result(gram, rows, metric, total, point, 0.0, 0, tol)
    dual, rho, kkt, n = np.zeros(gram.shape), 1e-3 * top, np.inf, 0
    wait = move = float(CHECK_EVERY)
    while kkt > tol and n < max_iter:
        n += 1
        start = point - dual
        inside = u.T @ start @ v
        free = start + u @ ((slope - curvature * inside) / (curvature + rho)) @ v.T
        last, relaxed = point, RELAXATION * free + (1.0 - RELAXATION) * point
        point = np.clip(relaxed + dual, -bound, bound)
        dual += relaxed - point
        if n % CHECK_EVERY == 0 or n == max_iter:
            kkt = off_optimum(point)
            if watch is not None:
                watch(n, kkt)
        if n >= move:
            factor = _rebalanced(_size(free - point), _size(free), _size(point - last), _size(dual))
            rho, dual, wait = rho * factor, dual / factor, RARER * wait
            move = n + wait
    return point, _result(gram, rows, metric, total, point, kkt, n, tol)


def _rebalanced(apart: float, whole: float, moved: float, dual: float) -> float:
    """By how much to change the penalty so that the relative residuals of split and gradient are balanced."""
    ratio = (apart / max(whole, 1e-300)) / max(BALANCE * moved / max(dual, 1e-300), 1e-300)
    return 1.0 if 1.0 / UNBALANCED <= ratio <= UNBALANCED else float(np.clip(np.sqrt(ratio), 0.2, 5.0))


def _size(table: np.ndarray) -> float:
    return float(np.linalg.norm(table))


def _parts(spectra: Spectra) -> tuple[np.ndarray, ...]:
    return spectra.outputs, spectra.l, spectra.inputs, spectra.d, spectra.overlap


def _result(
    gram: np.ndarray, rows: np.ndarray, metric: np.ndarray | None, total: float, found: np.ndarray, kkt: float,
    n: int, tol: float,
) -> RegressionResult:  # fmt: skip
    residual = rows - gram @ (found.T @ rows)
    return RegressionResult(
        objective=inner(residual, residual, metric) / total,
        kkt=kkt,
        n_steps=n,
        converged=kkt <= tol,
        radius=float(np.abs(found).max(initial=0.0)),
    )
