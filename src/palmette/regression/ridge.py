r"""Output-kernel ridge regression (SORR): ``min_W sum_i |psi_i - W phi_i|^2 / 2 + (l2 / 2) |W|^2``.

The solution is ``W = sum_j phi_j e_j'`` with ``E = (K + l2 I)^-1 rows``, whatever the metric of the rows is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from palmette.regression.result import RegressionResult

TOLERANCE = 1e-8  # of the residual of a solution that counts as one


def ridge(
    gram: np.ndarray, rows: np.ndarray, l2: float, metric: np.ndarray | None = None
) -> tuple[np.ndarray, RegressionResult]:
    """``E = (gram + l2 I)^-1 rows``, shape (m, q), by a Cholesky factor, and its certificate.

    >>> E, result = ridge(np.eye(2), np.array([[3.0], [0.0]]), l2=0.5)
    >>> E, result.objective
    (array([[2.],
           [0.]]), 1.5)
    """
    found = shifted_inverse(gram, l2)(rows)
    return found, ridge_result(gram, rows, found, l2, metric)


def shifted_inverse(gram: np.ndarray, l2: float) -> Callable[[np.ndarray], np.ndarray]:
    """The function ``B -> (gram + l2 I)^-1 B``."""
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] += l2
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True)
    except LinAlgError:
        raise too_small(l2, gram) from None
    return lambda b: np.asarray(cho_solve(factor, b))


def too_small(l2: float, gram: np.ndarray) -> ValueError:
    """The error for a penalty that rounding of the Gram matrix swallows."""
    return ValueError(
        f"l2={l2:g} is too small for a kernel matrix whose largest diagonal entry is {gram.diagonal().max():g}: their "
        "sum is not positive definite in double precision. Use a larger l2 (a smaller C), or check that the kernel is "
        "positive semi-definite"
    )


def ridge_path(gram: np.ndarray, rows: np.ndarray, l2s: Iterable[float]) -> Iterator[np.ndarray]:
    """The solutions ``E`` of all penalties from one eigendecomposition; ``m^2 q`` operations each."""
    values, vectors = eigh(gram, driver="evd")
    values, turned = np.maximum(values, 0.0)[:, None], vectors.T @ rows
    for l2 in l2s:
        yield vectors @ (turned / (values + l2))


def ridge_result(
    gram: np.ndarray, rows: np.ndarray, found: np.ndarray, l2: float, metric: np.ndarray | None = None
) -> RegressionResult:
    """Objective and optimality of the solution ``found`` (m, q)."""
    fitted = gram @ found
    residual = rows - fitted
    kkt = float(np.linalg.norm(residual - l2 * found)) / max(float(np.linalg.norm(rows)), 1e-300)
    objective = 0.5 * inner(residual, residual, metric) + 0.5 * l2 * inner(found, fitted, metric)
    return RegressionResult(objective, kkt, converged=kkt <= TOLERANCE)


def inner(a: np.ndarray, b: np.ndarray, metric: np.ndarray | None) -> float:
    """Sum of the inner products of rows, in a metric."""
    return float(np.vdot(a, b if metric is None else b @ metric))
