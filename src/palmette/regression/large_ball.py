r"""SOSC on the Nystroem features of many samples, from their moments.

With ``K = Phi Phi'`` both eigendecompositions follow from ``Phi' Phi`` (M x M), ``rows' rows`` (q x q) and ``Phi'
rows``: if ``Phi' Phi = Q diag(d) Q'`` then ``V = Phi Q diag(d)^-1/2``, and the same for outputs. Nothing of size m is
kept.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, norm

from palmette.regression.large import Blocks
from palmette.regression.result import RegressionResult
from palmette.regression.secular import secular_root
from palmette.regression.spectra import above_rounding

TOLERANCE = 1e-6  # moments square the condition of the features


def moments_ball(
    blocks: Blocks,
    normalization: np.ndarray,
    rows: np.ndarray,
    radius: float,
    weight: np.ndarray,
    fit_intercept: bool = False,
    metric: np.ndarray | None = None,
    ballots: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, RegressionResult]:
    """Coefficients of landmarks (M, p) and intercept (p,) of votes, and their certificate.

    As :func:`~palmette.regression.large.conjugate_ridge`; votes are sums of ``ballots`` (m, p), by default of the rows.
    """
    total = float(weight.sum())
    ballots = rows if ballots is None else ballots
    tables = np.column_stack((rows, ballots))
    square, cross, sums = _moments(blocks, normalization, tables, weight)
    own = tables.T @ (weight[:, None] * tables)
    table_means, means = np.zeros(tables.shape[1]), np.zeros(len(square))
    if fit_intercept:
        table_means, means = weight @ tables / total, sums / total
        square = square - total * np.outer(means, means)
        cross = cross - total * np.outer(means, table_means)
        own = own - total * np.outer(table_means, table_means)
    q = rows.shape[1]
    d, turn = above_rounding(*eigh(square, driver="evd"))
    root = _root(metric, q)
    l, output_turn = above_rounding(*eigh(root.T @ own[:q, :q] @ root, driver="evd"))
    turn, output_turn = (
        turn / np.sqrt(d),
        root @ (output_turn / np.sqrt(l)),
    )  # V = Phi turn, U = rows output_turn
    overlap = output_turn.T @ cross[:, :q].T @ turn
    pull, push = l[:, None] * d * overlap, l[:, None] * d**2
    shift, n_steps = secular_root(pull, push, radius)
    core = pull / (push + shift)
    image = output_turn.T @ own[:q]  # U' tables
    weights = (turn * d) @ (core.T @ image)  # Phi' A' tables
    kkt, objective = _certificate(
        square, cross[:, :q], own[:q, :q], weights[:, :q], image[:, :q], core, shift, metric, turn * d
    )
    result = RegressionResult(
        objective / total, kkt, n_steps, kkt <= TOLERANCE, shift / total, float(norm(core.ravel()))
    )
    found = weights[:, q:]
    return normalization @ found, table_means[q:] - means @ found, result


def _moments(
    blocks: Blocks, normalization: np.ndarray, tables: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``Phi' w Phi``, ``Phi' w tables`` and ``Phi' w``."""
    n = len(normalization)
    square, cross, sums = np.zeros((n, n)), np.zeros((n, tables.shape[1])), np.zeros(n)
    for part, values in blocks():
        weighed = weight[part, None] * values
        square += weighed.T @ values
        cross += weighed.T @ tables[part]
        sums += weighed.sum(axis=0)
    return normalization.T @ square @ normalization, normalization.T @ cross, normalization.T @ sums


def _root(metric: np.ndarray | None, q: int) -> np.ndarray:
    if metric is None:
        return np.eye(q)
    values, vectors = above_rounding(*eigh(metric))
    return vectors * np.sqrt(values)


def _certificate(
    square: np.ndarray, cross: np.ndarray, own: np.ndarray, weights: np.ndarray, image: np.ndarray, core: np.ndarray,
    shift: float, metric: np.ndarray | None, basis: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """What is left of the optimality conditions, in the bases of both kernels, and the sum of squared residuals."""
    weighed = image if metric is None else image @ metric
    left = weighed @ (cross - square @ weights).T @ basis - shift * core
    steepest = float(np.linalg.norm(weighed @ cross.T @ basis))
    residual = own - cross.T @ weights - weights.T @ cross + weights.T @ square @ weights
    objective = float(np.trace(residual if metric is None else residual @ metric))
    return float(np.linalg.norm(left)) / max(steepest, 1e-300), objective
