r"""Predictions of held-out samples along a path of penalties, without a fit for every fold and penalty.

*Ridge.* With ``G = (K + l2 I)^-1`` of all samples, what a fit without the samples B misses on them is
``(G_BB)^-1 (G rows)_B``. One tridiagonal reduction ``K = Q T Q'`` serves all penalties and folds: with the Cholesky
factor ``T + l2 I = L L'``, bidiagonal, and ``F = L^-1 Q'``, the blocks are ``G_BB = F_B' F_B``. The intercept of a
fit to the other samples T is ``1' G_T rows / (1' G_T 1)``, where ``G_T = G - G_.B (G_BB)^-1 G_B.``: centring inside
each fold. These are identities: only rounding differs from fits.

*Ball.* The coefficients of SOSC involve the outputs' decomposition, which differs from fold to fold. So each fold has
one decomposition of its own kernel and outputs, which serves all multipliers ``b`` and all radii; that too is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from palmette.regression.constrained import BallPath
from palmette.regression.ridge import too_small
from palmette.regression.weighted import Weighted

Fold = tuple[np.ndarray, np.ndarray]  # numbers of training and of held-out samples


class HeldOut(NamedTuple):
    """Predictions of the held-out samples of one fold."""

    votes: np.ndarray  # intercept included, (n, p)
    intercept: np.ndarray  # (p,)


def held_out_ridge(
    gram: np.ndarray,
    rows: np.ndarray,
    l2s: Iterable[float],
    held: Sequence[np.ndarray],
    weight: np.ndarray | None = None,
    fit_intercept: bool = False,
) -> Iterator[list[HeldOut]]:
    """For each penalty the votes for the held-out samples of each fold, from fits to all other samples.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
    rows : ndarray of shape (m, q)
        Outputs as vectors.
    l2s : sequence of float
        Above 0.
    held : sequence of ndarray
        Numbers of the held-out samples of each fold; the others are learnt from.
    weight : ndarray of shape (m,), optional
        At least 0; of samples without weight the votes mean nothing.
    fit_intercept : bool

    Examples
    --------
    >>> gram, rows = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[3.0], [6.0]])
    >>> next(held_out_ridge(gram, rows, [1.0], [np.array([1])]))[0].votes  # 0.5 * 3 / (1 + 1)
    array([[0.75]])
    """
    gram, rows, root, parts = _by_fold(gram, rows, weight, held)
    m, own = (
        len(gram),
        np.column_stack((root[:, None] * rows, root)),
    )  # an intercept asks about a constant output
    diagonal, beside, basis = tridiagonal(gram)
    turned = np.column_stack((basis, basis @ own))
    for l2 in l2s:
        d, e, info = lapack.dpttrf(diagonal + l2, beside)
        if info:
            raise too_small(l2, gram)
        half = turned.copy()
        _divide_by_bidiagonal(half, d, e)
        half, image = half[:, :m], half[:, m:]  # F, and L^-1 Q' rows
        products, found = half.T @ image, []  # G rows
        for b in parts:
            missed, intercept = _solve_block(half[:, b], products[b], l2, gram), np.zeros(rows.shape[1])
            if fit_intercept:
                # 1' G_T rows and 1' G_T 1 of a fit to the other samples T alone
                inner = image[:, -1] @ image - products[b, -1] @ missed
                intercept = inner[:-1] / inner[-1]
            # of a sample without weight nothing is known, and nothing is asked
            scale = np.where(root[b] > 0.0, root[b], 1.0)[:, None]
            off = (missed[:, :-1] - np.outer(missed[:, -1], intercept)) / scale
            found.append(HeldOut(rows[b] - off, intercept))
        yield found


def _by_fold(
    gram: np.ndarray, rows: np.ndarray, weight: np.ndarray | None, held: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Sequence[Any]]:
    """The weighted Gram matrix, rows, roots of weights, and the places of the held-out samples of each fold.

    Folds that hold out every sample once become runs of neighbours, which need not be gathered for each penalty.
    """
    root = np.ones(len(gram)) if weight is None else np.sqrt(weight)
    parts: Sequence[Any] = held
    order = np.concatenate(held)
    if len(order) == len(gram) == len(np.unique(order)):
        ends = np.cumsum([len(b) for b in held])
        parts = [slice(end - len(b), end) for end, b in zip(ends.tolist(), held)]
        gram, rows, root = gram[np.ix_(order, order)], rows[order], root[order]
    return (gram if weight is None else root[:, None] * gram * root), rows, root, parts


def _solve_block(part: np.ndarray, right: np.ndarray, l2: float, gram: np.ndarray) -> np.ndarray:
    """``(F_B' F_B)^-1 right``."""
    try:
        factor = cho_factor(part.T @ part, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise too_small(l2, gram) from None
    return np.asarray(cho_solve(factor, right, check_finite=False))


def tridiagonal(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``d``, ``e`` and ``Q'`` with ``gram = Q T Q'``, T tridiagonal with diagonal ``d`` and ``e`` beside it."""
    m = len(gram)
    if m < 2:
        return gram.diagonal().copy(), np.zeros(0), np.eye(m)
    work = int(lapack.dsytrd_lwork(m, lower=1)[0].real)
    reflectors, d, e, tau, _ = lapack.dsytrd(np.array(gram, order="F"), lower=1, lwork=work, overwrite_a=1)
    basis = np.zeros((m, m))
    basis[0, 0] = 1.0
    work = int(lapack.dorgqr(reflectors[1:, :-1], tau, lwork=-1)[1][0].real)
    basis[1:, 1:] = lapack.dorgqr(reflectors[1:, :-1], tau, lwork=work)[0].T
    return d, e, basis


def _divide_by_bidiagonal(block: np.ndarray, d: np.ndarray, e: np.ndarray) -> None:
    """``block <- L^-1 block`` in place, ``L = (I + subdiagonal e) diag(sqrt(d))``; a recurrence over rows."""
    step = np.empty(block.shape[1])
    for i, factor in enumerate(e.tolist()):
        np.multiply(block[i], factor, out=step)
        block[i + 1] -= step
    block /= np.sqrt(d)[:, None]


def held_out_ball(
    gram: np.ndarray,
    rows: np.ndarray,
    strengths: Sequence[float] | np.ndarray,
    folds: Sequence[Fold],
    weight: np.ndarray | None = None,
    fit_intercept: bool = False,
    metric: np.ndarray | None = None,
    ballots: np.ndarray | None = None,
    radii: bool = False,
    watch: Callable[[int], None] | None = None,
) -> list[list[HeldOut]]:
    """For each multiplier ``b`` the votes of the held-out samples of each fold, as :func:`held_out_ridge` has them.

    With ``radii`` the strengths are radii instead, of the ball that every fold is fitted in. ``folds`` are pairs of the
    numbers of training and of held-out samples. Votes are sums of ``ballots`` (m, p), by default of the rows; ``watch``
    is told the number of each fold that is done.
    """
    weight = np.ones(len(gram)) if weight is None else weight
    ballots = rows if ballots is None else ballots
    found: list[list[HeldOut]] = [[] for _ in strengths]
    for number, (train, held) in enumerate(folds):
        plain = Weighted.of(gram[np.ix_(train, train)], weight[train], fit_intercept)
        path = BallPath(plain.gram, plain.outputs(rows[train]), metric, plain.total)
        own, cross = plain.outputs(ballots[train]), gram[np.ix_(held, train)]
        for votes, strength in zip(found, strengths):
            b = path.multiplier(strength) if radii else strength
            dual, intercept = plain.votes_of(path.solution(b, own), ballots[train])
            votes.append(HeldOut(cross @ dual + intercept, intercept))
        if watch is not None:
            watch(number)
    return found
