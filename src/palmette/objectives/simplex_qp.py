"""The small dense QP of bundle methods: a concave quadratic over the probability simplex.

A primal active-set Newton method. On its support the point is stationary; the most violating coordinate
joins, Newton steps go to the stationary point of the new support or to the boundary, where coordinates leave.
Pairwise Frank-Wolfe steps with exact length take over where rounding stops Newton.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtpsv

_EPS = np.finfo(float).eps
# A pivot this small, relative to its diagonal, is rounding: the coordinate depends affinely on earlier ones.
_DEPENDENT = 1e-13


class SimplexSolution(NamedTuple):
    """Weights, their objective, and the proven bound on what is missing to the maximum."""

    a: np.ndarray
    value: float
    gap: float


def simplex_qp(Q: np.ndarray, b: np.ndarray, start: np.ndarray | None = None) -> SimplexSolution:
    """Maximise ``b.a - a'Qa / 2`` over the probability simplex.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Symmetric positive semi-definite; it may be singular (equal rows, all zero).
    b : ndarray of shape (n,)
    start : ndarray of shape (n,), optional
        Non-negative weights to start from, such as the solution before a cut was added (with a zero for it).
        They need not sum to one; if all are zero the best single coordinate is the start.

    Returns
    -------
    SimplexSolution
        ``a``, its objective, and ``gap = max_k r_k - a.r`` with ``r = b - Qa``: no point of the simplex is
        better by more than that.

    Examples
    --------
    Two orthogonal gradients of squared lengths 1 and 4: the weights are inverse to them.

    >>> simplex_qp(np.diag([1.0, 4.0]), np.zeros(2)).a
    array([0.8, 0.2])
    """
    Q, b = np.ascontiguousarray(Q, float), np.ascontiguousarray(b, float)
    if b.ndim != 1 or not len(b) or Q.shape != (len(b), len(b)):
        raise ValueError(
            f"simplex_qp needs b of shape (n,), n >= 1, and Q of shape (n, n); got {b.shape}, {Q.shape}"
        )
    if not (np.isfinite(Q).all() and np.isfinite(b).all()):
        raise ValueError(
            "simplex_qp needs finite Q and b; a cut with a NaN or infinite gradient has been added"
        )
    level = np.median(b)  # a constant in b changes nothing but the rounding
    b = b - level
    scale = np.abs(b).max() + Q.diagonal().max()
    newton = _ActiveSet(Q, b, _first_point(Q, b, start))
    patience = 20 + len(b)
    best_value, best_gap, stalls = -np.inf, np.inf, 0
    for _ in range(20 * len(b) + 50):
        a, r = newton.a, newton.gradient()
        value, entering = 0.5 * (a @ (b + r)), int(np.argmax(r))
        gap = r[entering] - r @ a
        stalls = 0 if value > best_value + _EPS * scale or gap < 0.9 * best_gap else stalls + 1
        best_value, best_gap = max(best_value, value), min(best_gap, gap)
        if gap <= 4.0 * _EPS * scale or stalls > patience:
            break
        if stalls == patience // 2:
            newton.restart(_pairwise_steps(Q, a, r, 4.0 * _EPS * scale))
        elif newton.settled and a[entering] == 0.0:
            newton.enter(entering, r)
        else:
            newton.step(r)
    a, r = newton.a, newton.gradient()
    return SimplexSolution(a, float(level + 0.5 * a @ (b + r)), float(max(r.max() - r @ a, 0.0)))


def _first_point(Q: np.ndarray, b: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    if start is not None:
        a = np.array(start, float)
        if a.shape != b.shape or not np.isfinite(a).all() or (a < 0.0).any():
            raise ValueError(f"simplex_qp: start must be {len(b)} finite numbers >= 0, got {start!r}")
        if a.any():
            return a / a.sum()
    a = np.zeros(len(b))
    a[np.argmax(b - 0.5 * Q.diagonal())] = 1.0
    return a


class _ActiveSet:
    """A point of the simplex with a Cholesky factor of ``Q + shift`` on its support.

    The constant ``shift`` changes nothing on the simplex and makes the matrix definite wherever coordinates
    are affinely independent. The factor is packed by columns: a coordinate joins by one triangular solve, and
    when one leaves, those that came after it join again. All this is free of threaded BLAS: for so little
    work its threads cost more than they give, and much more on a busy machine.
    """

    def __init__(self, Q: np.ndarray, b: np.ndarray, a: np.ndarray) -> None:
        n, diagonal = len(b), Q.diagonal()
        self.Q, self.b = Q, b
        self._shift = np.median(diagonal[diagonal > 0.0]) if (diagonal > 0.0).any() else 1.0
        self._members, self._size = np.empty(n, np.intp), 0
        self._factor = np.empty(n * (n + 1) // 2)
        self.restart(a)

    def restart(self, a: np.ndarray) -> None:
        """Go on from the point ``a``."""
        self.a, self._size, self.settled = a, 0, False
        self._join(np.flatnonzero(a).tolist())

    def gradient(self) -> np.ndarray:
        """``b - Qa``."""
        rows = np.flatnonzero(self.a)
        return self.b - np.einsum("i,ij->j", self.a[rows], self.Q[rows])

    def enter(self, k: int, r: np.ndarray) -> None:
        """Let coordinate ``k`` join the support and go to the new stationary point or the boundary."""
        self.settled = False
        if self._join([k]):
            self.step(r)

    def step(self, r: np.ndarray) -> None:
        """Newton step on the support from the gradient ``r``, cut where a coordinate becomes zero."""
        members = self._members[: self._size]
        direction, ones = self._solve(r[members]), self._solve(np.ones(self._size))
        direction -= direction.sum() / ones.sum() * ones
        self.settled = not self._move(members, direction, 1.0)
        if not self.settled:
            self._join(self._leave())

    def _solve(self, rhs: np.ndarray) -> np.ndarray:
        return dtpsv(self._size, self._factor, dtpsv(self._size, self._factor, rhs, trans=1))

    def _join(self, waiting: list[int]) -> bool:
        """Extend the factor by the coordinates given; true if ``a`` stayed where it was.

        Where one depends affinely on those before it, ``a`` moves uphill along the flat line that this
        dependence is, until a coordinate leaves.
        """
        stayed = True
        while waiting:
            k, p = waiting[0], self._size
            members, row = self._members[:p], self.Q[k]
            diagonal, column = row[k] + self._shift, row.take(members) + self._shift
            half = dtpsv(p, self._factor, column, trans=1, overwrite_x=1) if p else column
            pivot = diagonal - half @ half
            if pivot > _DEPENDENT * diagonal:
                start = p * (p + 1) // 2
                self._factor[start : start + p] = half
                self._factor[start + p] = math.sqrt(pivot)
                self._members[p] = waiting.pop(0)
                self._size += 1
                continue
            line, weights = np.append(members, k), dtpsv(p, self._factor, half)
            direction = np.append(-weights / weights.sum(), 1.0)
            if direction @ self.gradient()[line] < 0.0:
                direction = -direction
            stayed = False
            self._move(line, direction, np.inf)
            waiting = [j for j in self._leave() + waiting if self.a[j] > 0.0]
        return stayed

    def _leave(self) -> list[int]:
        """Cut the factor before the first coordinate of weight zero; those after it have to join again."""
        members = self._members[: self._size]
        first = int(np.argmin(self.a[members] > 0.0))
        if self.a[members[first]] > 0.0:
            return []
        self._size = first
        return [int(j) for j in members[first:] if self.a[j] > 0.0]

    def _move(self, line: np.ndarray, direction: np.ndarray, longest: float) -> bool:
        """Go along ``direction`` to ``longest`` or to the boundary; true if the boundary was met."""
        here = self.a[line]
        direction[np.argmax(here)] -= direction.sum()  # rounding; stay on the simplex
        falling = direction < 0.0
        limits = np.full(len(line), np.inf)
        limits[falling] = here[falling] / -direction[falling]
        length = min(longest, limits.min())
        there = np.maximum(here + length * direction, 0.0)
        there[limits <= length] = 0.0
        self.a[line] = there
        self.a /= self.a.sum()
        return bool((there == 0.0).any())


def _pairwise_steps(Q: np.ndarray, a: np.ndarray, r: np.ndarray, noise: float) -> np.ndarray:
    """Move weight from the worst supported to the best coordinate by exact steps."""
    a, r = a.copy(), r.copy()
    for _ in range(2 * len(a) + 20):
        up, down = int(np.argmax(r)), int(np.argmin(np.where(a > 0.0, r, np.inf)))
        slope = r[up] - r[down]
        if slope <= noise:
            break
        curvature = Q[up, up] + Q[down, down] - 2.0 * Q[up, down]
        step = a[down] if slope >= curvature * a[down] else slope / curvature
        a[up] += step
        a[down] -= step
        r -= step * (Q[up] - Q[down])
    return a
