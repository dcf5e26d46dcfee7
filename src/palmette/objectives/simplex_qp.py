"""The small dense QP of bundle methods: a concave quadratic over the probability simplex.

A primal active-set Newton method. On its support the point is stationary; the most violating coordinate
joins, Newton steps go to the stationary point of the new support or to the boundary, where coordinates leave.
Pairwise Frank-Wolfe steps with exact length take over where rounding stops Newton.

The quadratic is given by its rows, ``|a @ rows|^2``, never by their Gram matrix: products of rows lose the digits of
whatever is 1e8 times smaller than the largest entry, orthogonal bases of rows keep half of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtpsv

_EPS = np.finfo(float).eps
# What is left of a row outside the span of others, relative to its length, when it is rounding.
_DEPENDENT = 1e-13


class SimplexSolution(NamedTuple):
    """Weights, their objective, the proven bound on what is missing to the maximum, and the multipliers.

    ``mean`` is ``a @ rows`` as the conditions of optimality have it, with more digits than the product, in which
    rounding of ``a`` is multiplied by the largest rows.
    """

    a: np.ndarray
    value: float
    gap: float
    mean: np.ndarray


def simplex_qp(rows: np.ndarray, b: np.ndarray, start: np.ndarray | None = None) -> SimplexSolution:
    """Maximise ``b.a - |a @ rows|^2 / 2`` over the probability simplex.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        They may depend on each other (equal rows, all zero).
    b : ndarray of shape (n,)
    start : ndarray of shape (n,), optional
        Non-negative weights to start from, such as the solution before a cut was added (with a zero for it).
        They need not sum to one; if all are zero the best single coordinate is the start.

    Returns
    -------
    SimplexSolution
        ``a``, its objective, ``gap = max_k r_k - a.r`` with ``r = b - rows @ mean``: no point of the simplex is
        better by more than that; and ``mean``.

    Examples
    --------
    Two orthogonal gradients of squared lengths 1 and 4: the weights are inverse to them.

    >>> simplex_qp(np.diag([1.0, 2.0]), np.zeros(2)).a
    array([0.8, 0.2])
    """
    rows, b = np.ascontiguousarray(rows, float), np.ascontiguousarray(b, float)
    if b.ndim != 1 or not len(b) or rows.ndim != 2 or len(rows) != len(b):
        raise ValueError(
            f"simplex_qp needs b of shape (n,), n >= 1, and rows of shape (n, m); got {b.shape}, {rows.shape}"
        )
    if not (np.isfinite(rows).all() and np.isfinite(b).all()):
        raise ValueError(
            "simplex_qp needs finite rows and b; a cut with a NaN or infinite gradient has been added"
        )
    level = np.median(b)  # a constant in b changes nothing but the rounding
    b = b - level
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    newton = _ActiveSet(rows, lengths, b, _first_point(lengths, b, start))
    patience = 20 + len(b)
    best_value, best_gap, stalls = -np.inf, np.inf, 0
    # Invariant: ``a`` is on the simplex and its value falls by rounding only. At a stationary point of its support
    # (``settled``) the most violating coordinate enters. gap = max_k r_k - a.r bounds what is missing (concavity) and
    # certifies the end; below 4 x noise it is rounding. O(n m) per iteration besides the factorisation.
    for _ in range(20 * len(b) + 50):
        a, r = newton.a, newton.gradient()
        value, entering = 0.5 * (a @ (b + r)), int(np.argmax(r))
        gap = r[entering] - r @ a
        noise = _EPS * (np.abs(b).max() + lengths.max() * np.sqrt(newton.mean @ newton.mean))
        stalls = 0 if value > best_value + noise or gap < 0.9 * best_gap else stalls + 1
        best_value, best_gap = max(best_value, value), min(best_gap, gap)
        if gap <= 4.0 * noise or stalls > patience:
            break
        if stalls == patience // 2:
            newton.restart(_pairwise_steps(rows, a, r, 4.0 * noise))
        elif newton.settled and a[entering] == 0.0:
            newton.enter(entering, r)
        else:
            newton.step(r)
    a, r = newton.a, newton.gradient()
    value = level + 0.5 * float(a @ (b + r))
    return SimplexSolution(a, value, float(max(r.max() - r @ a, 0.0)), newton.mean)


def _first_point(lengths: np.ndarray, b: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    if start is not None:
        a = np.array(start, float)
        if a.shape != b.shape or not np.isfinite(a).all() or (a < 0.0).any():
            raise ValueError(f"simplex_qp: start must be {len(b)} finite numbers >= 0, got {start!r}")
        if a.any():
            return a / a.sum()
    a = np.zeros(len(b))
    a[np.argmax(b - 0.5 * lengths * lengths)] = 1.0
    return a


class _ActiveSet:
    """A point of the simplex with a QR factorisation of the rows of its support, each with one more entry.

    That entry is the same for all, so that it changes nothing on the simplex, and makes rows independent that are
    affinely independent. A row joins by being made orthogonal to those before it, twice, and when one leaves, those
    that came after it join again. The triangle is packed by columns. All this is free of threaded BLAS: for so little
    work its threads cost more than they give, and much more on a busy machine.

    Attributes
    ----------
    a : ndarray
        The point.
    mean : ndarray
        ``a @ rows``, moved by the same steps as ``a`` but computed on its own: at a stationary point it obeys the
        conditions of optimality to rounding, whatever the rounding of ``a`` times a large row is.
    """

    def __init__(self, rows: np.ndarray, lengths: np.ndarray, b: np.ndarray, a: np.ndarray) -> None:
        n, m = rows.shape
        self.b, self._rows = b, rows
        self._entry = np.median(lengths[lengths > 0.0]) if (lengths > 0.0).any() else 1.0
        self._members, self._size = np.empty(n, np.intp), 0
        self._basis = np.empty((min(n, m + 1), m + 1))
        self._factor = np.empty(n * (n + 1) // 2)
        self.mean = np.zeros(m)
        self.restart(a)

    def restart(self, a: np.ndarray) -> None:
        """Go on from the point ``a``."""
        self.a, self._size, self.settled = a, 0, False
        self._sum()
        self._join(np.flatnonzero(a).tolist())

    def gradient(self) -> np.ndarray:
        """``b - rows @ mean``."""
        return self.b - np.einsum("ij,j->i", self._rows, self.mean)

    def enter(self, k: int, r: np.ndarray) -> None:
        """Let coordinate ``k`` join the support and go to the new stationary point or the boundary."""
        self.settled = False
        if self._join([k]):
            self.step(r)

    def step(self, r: np.ndarray) -> None:
        """Newton step on the support from the gradient ``r``, cut where a coordinate becomes zero."""
        size = self._size
        members = self._members[:size]
        half, ones = (dtpsv(size, self._factor, v, trans=1) for v in (r[members], np.ones(size)))
        half -= (half @ ones) / (ones @ ones) * ones
        change = np.einsum("i,ij->j", half, self._basis[:size, :-1])
        direction = dtpsv(size, self._factor, half)
        length, met = self._move(members, direction, 1.0)
        self.settled = not met
        if met:
            self._sum()
            self._join(self._leave())
        else:
            self.mean = self.mean + length * change

    def _sum(self) -> None:
        support = np.flatnonzero(self.a)
        self.mean = np.einsum("i,ij->j", self.a[support], self._rows[support])

    def _join(self, waiting: list[int]) -> bool:
        """Extend the factorisation by the coordinates given; true if ``a`` stayed where it was.

        Where one depends affinely on those before it, ``a`` moves uphill along the flat line that this
        dependence is, until a coordinate leaves.
        """
        stayed = True
        while waiting:
            waiting = waiting[self._extend(waiting) :]
            if waiting:
                self._slide(waiting[0])
                stayed = False
                waiting = [j for j in self._leave() + waiting if self.a[j] > 0.0]
        return stayed

    def _extend(self, waiting: list[int]) -> int:
        """Extend the factorisation by the first coordinates given, as far as they are independent; how many."""
        p = self._size
        rest = np.column_stack([self._rows[waiting], np.full(len(waiting), self._entry)])
        lengths, half = np.sqrt(np.einsum("ij,ij->i", rest, rest)), np.zeros((len(waiting), p))
        for _ in range(2 if p else 0):
            part = np.einsum("ij,kj->ik", rest, self._basis[:p])
            rest -= np.einsum("ik,kj->ij", part, self._basis[:p])
            half += part
        if len(waiting) == 1:
            pivots = np.sqrt(np.einsum("ij,ij->i", rest, rest))
            basis, triangle = rest / (pivots[0] or 1.0), pivots[None, :]
        else:
            columns, triangle = np.linalg.qr(rest.T)
            basis, pivots = columns.T, np.abs(triangle.diagonal())
        k = int(np.argmin(np.append(pivots > _DEPENDENT * lengths[: len(pivots)], False)))
        k = min(k, len(self._basis) - p)  # no more are independent, whatever rounding says
        for i in range(k):
            start = (p + i) * (p + i + 1) // 2
            self._factor[start : start + p] = half[i]
            self._factor[start + p : start + p + i + 1] = triangle[: i + 1, i]
        self._basis[p : p + k], self._members[p : p + k] = basis[:k], waiting[:k]
        self._size += k
        return k

    def _slide(self, k: int) -> None:
        """Move uphill along the flat line on which coordinate ``k`` depends on the members, until one leaves."""
        p = self._size
        row = np.append(self._rows[k], self._entry)
        weights = dtpsv(p, self._factor, np.einsum("ij,j->i", self._basis[:p], row))
        line, direction = np.append(self._members[:p], k), np.append(-weights / weights.sum(), 1.0)
        if direction @ self.gradient()[line] < 0.0:
            direction = -direction
        self._move(line, direction, np.inf)
        self._sum()

    def _leave(self) -> list[int]:
        """Cut the factor before the first coordinate of weight zero; those after it have to join again."""
        members = self._members[: self._size]
        first = int(np.argmin(self.a[members] > 0.0))
        if self.a[members[first]] > 0.0:
            return []
        self._size = first
        return [int(j) for j in members[first:] if self.a[j] > 0.0]

    def _move(self, line: np.ndarray, direction: np.ndarray, longest: float) -> tuple[float, bool]:
        """Go along ``direction`` to ``longest`` or to the boundary; how far, and whether the boundary was met."""
        here = self.a[line]
        direction[np.argmax(here)] -= direction.sum()  # rounding; stay on the simplex
        falling = direction < 0.0
        limits = np.full(len(line), np.inf)
        with np.errstate(over="ignore"):  # a denormal direction never meets the boundary
            limits[falling] = here[falling] / -direction[falling]
        length = min(longest, limits.min())
        there = np.maximum(here + length * direction, 0.0)
        there[limits <= length] = 0.0
        self.a[line] = there
        self.a /= self.a.sum()
        return length, bool((there == 0.0).any())


def _pairwise_steps(rows: np.ndarray, a: np.ndarray, r: np.ndarray, noise: float) -> np.ndarray:
    """Move weight from the worst supported to the best coordinate by exact steps."""
    a, r = a.copy(), r.copy()
    # Each step is an exact line search along e_up - e_down: the value never falls. O(n m) per step.
    for _ in range(2 * len(a) + 20):
        up, down = int(np.argmax(r)), int(np.argmin(np.where(a > 0.0, r, np.inf)))
        slope = r[up] - r[down]
        if slope <= noise:
            break
        apart = rows[up] - rows[down]
        curvature = apart @ apart
        step = a[down] if slope >= curvature * a[down] else slope / curvature
        a[up] += step
        a[down] -= step
        r -= step * np.einsum("ij,j->i", rows, apart)
    return a
