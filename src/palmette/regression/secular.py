r"""The root of ``|Z(s)| = R`` with ``Z_ij(s) = pull_ij / (push_ij + s)``."""

from __future__ import annotations

import numpy as np

CLOSE = 4e-16  # relative distance of the norm from R at which there is nothing left to gain
MAX_STEPS = 60


def secular_root(pull: np.ndarray, push: np.ndarray, radius: float) -> tuple[float, int]:
    r"""The shift ``s >= 0`` with ``|Z(s)|_F = radius`` (0 if ``|Z(0)|_F`` is not larger), and the number of Newton
    steps.

    ``1/|Z(s)|`` increases and is concave, so Newton's tangents meet ``1/radius`` left of the root: from the left the
    steps never pass it, and convergence is quadratic. The start is a lower bound of the root: of the entries with
    ``push <= t`` alone the norm is at least ``|pull| / (t + s)``, hence ``s >= |pull|_{push <= t} / radius - t`` for
    every ``t``.

    Parameters
    ----------
    pull, push : ndarray of the same shape
        ``push > 0``.
    radius : float
        Above 0.

    >>> round(secular_root(np.array([3.0]), np.array([1.0]), 0.5)[0], 12)
    5.0
    """
    squares, push = pull.ravel() ** 2, push.ravel()
    if not np.any(squares) or np.sqrt(np.sum(squares / push**2)) <= radius:
        return 0.0, 0
    shift = _lower_bound(squares, push, radius)
    low, high = shift, float(np.sqrt(squares.sum())) / radius
    best, closest, n_steps = shift, np.inf, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        inverse = 1.0 / (push + shift)
        terms = squares * inverse**2
        norm = float(np.sqrt(terms.sum()))
        off = abs(norm - radius)
        if off < closest:
            best, closest = shift, off
        if off <= CLOSE * radius:
            break
        low, high = (shift, high) if norm > radius else (low, shift)
        step = (norm - radius) / radius * norm**2 / float(terms @ inverse)
        if abs(step) <= np.spacing(shift):
            break
        shift += step
        if not low < shift <= high:  # by rounding alone
            shift = (low + high) / 2.0
    return best, n_steps


def _lower_bound(squares: np.ndarray, push: np.ndarray, radius: float) -> float:
    """The best of those bounds over all powers of two ``t``."""
    _, exponents = np.frexp(push)  # push < 2^exponent
    first = int(exponents.min())
    below = np.cumsum(np.bincount(exponents - first, squares))
    t = np.ldexp(1.0, first + np.arange(len(below)))
    return float(max(0.0, np.max(np.sqrt(below) / radius - t)))
