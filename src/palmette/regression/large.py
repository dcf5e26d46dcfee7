r"""Ridge regression on the Nystroem features of many samples, by preconditioned conjugate gradients.

A sample has the features ``phi(x) = N' k(x)``, ``k(x)`` its kernel values with M landmarks and ``N = V diag(d)^-1/2``
of the landmarks' Gram matrix ``V diag(d) V'``. The normal equations ``(Phi' Phi + l2 I) W = Phi' rows`` are never
formed: ``Phi`` is visited in blocks of kernel values. If the landmarks are like the samples, ``Phi' Phi`` is close to
``(m / M) diag(d)``, so in these coordinates the preconditioner of FALKON is a diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from palmette.regression.result import RegressionResult
from palmette.regression.ridge import inner

Blocks = Callable[
    [], Iterable[tuple[slice, np.ndarray]]
]  # runs of samples and their kernel values with the landmarks
Watch = Callable[[int, float], None]


def conjugate_ridge(
    blocks: Blocks,
    normalization: np.ndarray,
    rows: np.ndarray,
    l2: float,
    weight: np.ndarray,
    fit_intercept: bool = False,
    metric: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
    watch: Watch | None = None,
) -> tuple[np.ndarray, np.ndarray, RegressionResult]:
    """Coefficients of landmarks (M, q) and intercept (q,) of votes ``k(x)' dual + intercept``, and their certificate.

    Parameters
    ----------
    blocks : callable
        Returns pairs of a slice of samples and their kernel values with the landmarks, shape (n, M), all samples once.
    normalization : ndarray of shape (M, k)
        ``N``, whose columns have the squared lengths ``1 / d``.
    rows : ndarray of shape (m, q)
    l2 : float
        Above 0.
    weight : ndarray of shape (m,)
    fit_intercept : bool
    metric : ndarray of shape (q, q), optional
        For the objective.
    tol : float
        Of the residual of each column, relative to its right-hand side.
    max_iter : int
    watch : callable, optional
        Is told the iteration and the largest relative residual.
    """
    total = float(weight.sum())
    means = np.zeros(normalization.shape[1])
    row_means = np.zeros(rows.shape[1])
    if fit_intercept:
        row_means = weight @ rows / total
        means = normalization.T @ sum(weight[part] @ values for part, values in blocks()) / total
    rows = rows - row_means

    def gathered(function: Callable[[slice, np.ndarray], np.ndarray]) -> np.ndarray:
        """``Phi' diag(w) f`` of values ``f`` of every block, with centred features."""
        found = sum(values.T @ (weight[part, None] * function(part, values)) for part, values in blocks())
        return normalization.T @ found

    def multiplied(w: np.ndarray) -> np.ndarray:
        turned = normalization @ w
        found = gathered(lambda _, values: values @ turned)
        return found - total * np.outer(means, means @ w) + l2 * w

    right = gathered(lambda part, _: rows[part])  # centred rows leave nothing of the features' mean
    scale = total / len(normalization) / np.sum(normalization**2, axis=0) + l2
    w, residual, n_iter, worst = _conjugate_gradients(multiplied, right, scale, tol, max_iter, watch)
    squared = inner(np.sqrt(weight)[:, None] * rows, np.sqrt(weight)[:, None] * rows, metric)
    objective = 0.5 * (squared - inner(w, right + residual, metric))
    kkt = float(np.linalg.norm(residual)) / max(float(np.linalg.norm(right)), 1e-300)
    result = RegressionResult(objective, kkt, n_iter, converged=worst <= tol)
    return normalization @ w, row_means - means @ w, result


def _conjugate_gradients(
    multiplied: Callable[[np.ndarray], np.ndarray], right: np.ndarray, scale: np.ndarray, tol: float, max_iter: int,
    watch: Watch | None,
) -> tuple[np.ndarray, np.ndarray, int, float]:  # fmt: skip
    """Solve for all columns side by side; a column that has arrived stands still."""
    w, residual = np.zeros_like(right), right.copy()
    wanted = np.maximum(np.linalg.norm(right, axis=0), 1e-300)
    ready = residual / scale[:, None]
    direction, power = ready.copy(), np.sum(residual * ready, axis=0)
    n_iter, worst = 0, float(np.max(np.linalg.norm(residual, axis=0) / wanted, initial=0.0))
    while worst > tol and n_iter < max_iter:
        n_iter += 1
        image = multiplied(direction)
        curvature = np.sum(direction * image, axis=0)
        step = np.divide(power, curvature, out=np.zeros_like(power), where=curvature > 0.0)
        w += step * direction
        residual -= step * image
        ready = residual / scale[:, None]
        last, power = power, np.sum(residual * ready, axis=0)
        direction *= np.divide(power, last, out=np.zeros_like(power), where=last > 0.0)
        direction += ready
        worst = float(np.max(np.linalg.norm(residual, axis=0) / wanted, initial=0.0))
        if watch is not None:
            watch(n_iter, worst)
    return w, residual, n_iter, worst
