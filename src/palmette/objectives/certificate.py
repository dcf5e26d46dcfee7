"""One certificate for all convex solvers: a lower bound on the optimum from cuts of the data term.

Every (sub)gradient evaluation gives a cut ``loss(w) >= b_k + <g_k, w>``, ``b_k = loss(w_k) - <g_k, w_k>``,
and losses are non-negative, which is the cut ``b = 0, g = 0``. For all weights ``a`` of a mean of cuts

    ``min_w loss(w) + R(w)  >=  sum_k a_k b_k - R*(-sum_k a_k g_k)``,   ``R*(-g) = -min_w [<g, w> + R(w)]``.

With one cut and L2 the gap to it is the gradient bound ``sum_j G_j^2 / (2 l2_j)``, G the whole gradient. For
the log loss ``b_k`` is the sum of the entropies, so with L1 alone the scaled cut is ``s sum_i H(p_i)`` with
``s = min(1, l1 / |g|_inf)``. The best mean of several cuts is much tighter than either.

Whatever chose the weights ``a``, the bound is evaluated by this formula, from the vector ``sum_k a_k g_k``.
"""

from __future__ import annotations

import numpy as np

from palmette.objectives.elastic_dual import best_mean, best_share
from palmette.objectives.simplex_qp import SimplexSolution, simplex_qp
from palmette.regularizers.dual_model import root_of
from palmette.regularizers.elastic import ElasticNet

_EPS = np.finfo(float).eps
# Products of cuts serve unless what they may lack is more than this, relative to the bound and to the largest offset.
_LOST, _LOST_OF_OFFSETS = 1e-9, 1e-12


class CutPool:
    """The cuts that matter, and the best lower bound they have proved so far.

    Memory is bounded by ``size`` gradients. When the pool is full, the cut that was least recently added or
    of use in a bound makes room; if it is of use, the mean that proved the bound is kept in its place.

    Parameters
    ----------
    regularizer : ElasticNet
    size : int, default=12
        Number of cuts kept, at least 2.

    Attributes
    ----------
    best : float
        The best bound so far, -inf before the first.
    weights : ndarray of shape (n_cuts,)
        Weights of the cuts in the last bound; what is missing to one is the weight of the zero cut.

    Examples
    --------
    ``loss(w) = |w - 3|`` with ``w^2 / 2``: the optimum is 2.5 at ``w = 1``, and the cut at 0 proves it.

    >>> pool = CutPool(ElasticNet(l2=[1.0], l1=[0.0]))
    >>> pool.add(3.0, np.array([-1.0]), np.zeros(1))
    >>> pool.lower_bound()
    2.5
    """

    def __init__(self, regularizer: ElasticNet, size: int = 12) -> None:
        if size < 2:
            raise ValueError(f"a CutPool needs a size of at least 2, got {size}")
        self.regularizer, self.size = regularizer, size
        self.best = -np.inf
        self.weights = np.zeros(0)
        self._offsets = np.zeros(0)
        self._stamps = np.zeros(0, np.int64)  # when a cut was added or last carried weight
        self._clock = self._solved_at = 0
        self._gradients = np.empty((0, len(regularizer.l2)))  # the first len(weights) rows are in use
        self._gram = np.zeros((0, 0))  # <g_k, g_l / l2>, NaN where not yet computed
        self._mean: np.ndarray | None = None  # sum_k a_k g_k where it is known
        # minimiser under the mean, where it is known better than from it
        self._lowest: np.ndarray | None = None
        self._reach = 1.0  # largest |w_j| of the last point
        self._bounded = True

    def __len__(self) -> int:
        return len(self.weights)

    def add(self, value: float, gradient: np.ndarray, w: np.ndarray) -> None:
        """Take the cut of a data term with this value and (sub)gradient at ``w``; the arrays are copied."""
        with np.errstate(invalid="ignore"):
            offset = float(value - gradient @ w)
        if not np.isfinite(offset):
            raise ValueError(f"the loss is {value} and its gradient not finite; check the data for NaN")
        reg = self.regularizer
        if len(reg.unpenalised) and np.any(gradient[reg.unpenalised]):
            self._bounded = False
        if not reg.strongly_convex:
            self._reach = float(np.abs(w).max(initial=0.0)) or 1.0
        self._clock += 1
        self._store(self._room(), offset, gradient, 0.0)

    def shift(self, change: np.ndarray) -> None:
        """The cuts of ``loss(w) - <change, w>``, which must not be negative either; what was proved is forgotten."""
        self._gradients[: len(self)] -= change
        self._gram[:] = np.nan
        self._mean = self._lowest = None
        self.best = -np.inf

    def lower_bound(self, lacking: float = 0.0) -> float:
        """The best bound proved so far; -inf where none exists (an unpenalised weight with a gradient).

        Parameters
        ----------
        lacking : float
            What may be missing to the best bound that the cuts can prove: with L1 the more, the faster.
        """
        if len(self) and self._bounded:
            value = self._solve_quadratic() if self.regularizer.quadratic else self._solve_piecewise(lacking)
            self._stamps[self.weights > 0.0] = self._solved_at = self._clock
            self.best = max(self.best, float(value))
        return self.best

    def prove(self, bound: float) -> None:
        """Take a bound that was proved in another way."""
        self.best = max(self.best, float(bound))

    def mean_gradient(self) -> np.ndarray:
        """``sum_k a_k g_k`` with the weights of the last bound."""
        if self._mean is None:
            self._mean = self.weights @ self._gradients[: len(self)]
        return self._mean

    def minimiser(self) -> np.ndarray:
        """``argmin_w sum_k a_k (b_k + <g_k, w>) + R(w)`` with the weights of the last bound: ``-soft(mean, l1) / l2``.

        Every weight must have L2. What L1 makes zero is exactly zero.
        """
        if self._lowest is None:
            self._lowest = 0.0 - self.regularizer.excess(self.mean_gradient()) / self.regularizer.l2
        return self._lowest

    def _solve_quadratic(self) -> float:
        self._complete_gram()
        solution = self._over_cuts(root_of(self._gram))
        self._lowest = None
        if self._lost_digits(solution):
            length = np.sqrt(self.regularizer.l2)
            basis, triangle = np.linalg.qr((self._gradients[: len(self)] / length).T)
            solution = self._over_cuts(triangle.T)
            self._lowest = -(basis @ solution.mean) / length
        self.weights, self._mean = solution.a[:-1], None
        return float(self.weights @ self._offsets) - self.regularizer.dual_value(self.mean_gradient())

    def _over_cuts(self, rows: np.ndarray) -> SimplexSolution:
        """The best mean of cuts with gradients of these lengths and products, and the zero cut, which comes last."""
        start = np.append(self.weights, max(1.0 - self.weights.sum(), 0.0))
        return simplex_qp(np.pad(rows, ((0, 1), (0, 0))), np.append(self._offsets, 0.0), start)

    def _lost_digits(self, solution: SimplexSolution) -> bool:
        """Whether products of cuts that cancel each other may have hidden a better mean."""
        rounding = _EPS * float(solution.a[:-1] @ np.sqrt(self._gram.diagonal())) ** 2
        allowed = _LOST * abs(solution.value) + _LOST_OF_OFFSETS * np.abs(self._offsets).max()
        return rounding + solution.gap > allowed

    def _solve_piecewise(self, lacking: float) -> float:
        gradients, reg = self._gradients[: len(self)], self.regularizer
        single = -np.inf
        if not reg.strongly_convex:  # a mean is then chosen roughly, so that one cut alone may be better
            new = np.flatnonzero(self._stamps > self._solved_at)
            single = max((best_share(reg, self._offsets[k], gradients[k])[1] for k in new), default=-np.inf)
        self.weights, value = best_mean(reg, self._offsets, gradients, self.weights, self._reach, lacking)
        self._mean = self._lowest = None
        return max(single, value)

    def _complete_gram(self) -> None:
        """Products of the cuts that are new since the last bound with all cuts, in one matrix product."""
        new = np.flatnonzero(np.isnan(self._gram.diagonal()))
        if len(new):
            rows = self._gradients[: len(self)]
            scaled = rows[new]
            scaled /= self.regularizer.l2
            products = scaled @ rows.T
            self._gram[new] = products
            self._gram[:, new] = products.T

    def _room(self) -> int:
        """The place for a new cut."""
        n = len(self)
        if n < self.size:
            if n == len(self._gradients):
                grown = np.empty((min(max(2 * n, 16), self.size), self._gradients.shape[1]))
                grown[:n] = self._gradients
                self._gradients = grown
            self.weights, self._offsets = np.append(self.weights, 0.0), np.append(self._offsets, 0.0)
            self._stamps = np.append(self._stamps, 0)
            self._gram = np.pad(self._gram, (0, 1), constant_values=np.nan)
            return n
        place = int(np.argmin(self._stamps))
        if self.weights[place] > 0.0:
            offset, gradient = float(self.weights @ self._offsets), self.mean_gradient().copy()
            self.weights[:] = 0.0
            self._store(place, offset, gradient, 1.0)
            place = int(np.argmin(self._stamps))
        return place

    def _store(self, place: int, offset: float, gradient: np.ndarray, weight: float) -> None:
        self._gradients[place], self._offsets[place] = gradient, offset
        self.weights[place], self._stamps[place] = weight, self._clock
        self._gram[place] = self._gram[:, place] = np.nan


class NoBound(CutPool):
    """A pool that proves nothing: cuts of a loss that is not convex do not lie below it."""

    def __init__(self, regularizer: ElasticNet) -> None:
        super().__init__(regularizer)
        self.best = np.nan

    def add(self, value: float, gradient: np.ndarray, w: np.ndarray) -> None:
        """Leave the cut."""

    def prove(self, bound: float) -> None:
        """Leave the bound."""

    def lower_bound(self, lacking: float = 0.0) -> float:
        """NaN: unknown."""
        return self.best
