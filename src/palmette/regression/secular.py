r"""The root of ``|Z(s)| = R`` with ``Z_ij(s) = pull_ij / (push_ij + s)``."""

from __future__ import annotations

import numpy as np
from scipy.linalg import norm

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
    if not 0.0 < radius < np.inf:
        raise ValueError(f"the radius must be a finite number above 0, got {radius!r}")
    pull, push = pull.ravel(), push.ravel()
    length = float(norm(pull))
    if length == 0.0 or norm(pull / push) <= radius:
        return 0.0, 0
    unit = length / radius  # the root is at most that; in this unit no radius is too small for squares
    if not np.isfinite(unit):
        raise ValueError(f"the radius {radius!r} is too small for double precision: give a larger one")
    shift, n_steps = _unit_root((pull / length) ** 2, push / unit)
    return shift * unit, n_steps


def _unit_root(squares: np.ndarray, push: np.ndarray) -> tuple[float, int]:
    """The root for pulls whose squares sum to 1, and a radius of 1."""
    shift = _lower_bound(squares, push)
    low, high = shift, 1.0
    best, closest, n_steps = shift, np.inf, 0
    while n_steps < MAX_STEPS:
        n_steps += 1
        inverse = 1.0 / (push + shift)
        terms = squares * inverse**2
        reached = float(np.sqrt(terms.sum()))
        off = abs(reached - 1.0)
        if off < closest:
            best, closest = shift, off
        if off <= CLOSE:
            break
        low, high = (shift, high) if reached > 1.0 else (low, shift)
        step = (reached - 1.0) * reached**2 / float(terms @ inverse)
        if abs(step) <= np.spacing(shift):
            break
        shift += step
        if not low < shift <= high:  # by rounding alone
            shift = (low + high) / 2.0
    return best, n_steps


def _lower_bound(squares: np.ndarray, push: np.ndarray) -> float:
    """The best of those bounds over all powers of two ``t``."""
    _, exponents = np.frexp(push)  # push < 2^exponent
    first = int(exponents.min())
    below = np.cumsum(np.bincount(exponents - first, squares))
    t = np.ldexp(1.0, first + np.arange(len(below)))
    return float(max(0.0, np.max(np.sqrt(below) - t)))
