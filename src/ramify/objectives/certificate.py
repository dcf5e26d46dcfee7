"""One certificate for all convex solvers: a lower bound on the optimum from cuts of the data term.

Every (sub)gradient evaluation gives a cut ``loss(w) >= b_k + <g_k, w>`` with ``b_k = loss(w_k) - <g_k, w_k>``, and
losses are non-negative, which is the cut ``b = 0, g = 0``. For any weights ``a`` of a mean of cuts

    ``min_w loss(w) + R(w)  >=  sum_k a_k b_k - R*(sum_k a_k g_k)``,   ``R*(g) = -min_w [<g, w> + R(w)]``.

With one cut and L2 this is the gradient bound ``sum_j G_j^2 / (2 l2_j)`` of the whole gradient G; for the log loss
``b_k`` is the sum of the entropies, so with L1 alone it contains ``s sum_i H(p_i)`` with ``s = min(1, l1/|g|_inf)``.
The best mean of several cuts is much tighter than either.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ramify.objectives.simplex_qp import simplex_qp
from ramify.regularizers.elastic import ElasticNet

_IMPROVEMENTS = 6  # exchange steps when L1 makes the dual piecewise quadratic; every step is a valid bound
_SECTIONS = 12  # evaluations of a one-dimensional search


@dataclass
class CutPool:
    """The cuts that matter, and the best lower bound they have proved so far.

    Parameters
    ----------
    regularizer : ElasticNet
    size : int
        Cuts kept; the ones without weight in the last bound go first, the oldest first among them.
    """

    regularizer: ElasticNet
    size: int = 12
    best: float = -np.inf
    _offsets: list[float] = field(default_factory=lambda: [0.0])  # the zero cut comes first and stays
    _gradients: list[np.ndarray] = field(default_factory=list)
    _weights: np.ndarray = field(default_factory=lambda: np.ones(1))
    _gram: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))

    def add(self, value: float, gradient: np.ndarray, w: np.ndarray) -> None:
        """Take the cut of a loss with this value and (sub)gradient at ``w``."""
        if len(self._gradients) >= self.size:
            self._drop()
        self._offsets.append(float(value - gradient @ w))
        self._gradients.append(gradient)
        self._weights = np.append(self._weights, 0.0)
        n = len(self._offsets)
        gram = np.zeros((n, n))
        gram[:-1, :-1] = self._gram
        if self._quadratic:
            scaled = gradient / self.regularizer.l2
            gram[-1, 1:] = gram[1:, -1] = [scaled @ g for g in self._gradients]
        self._gram = gram

    @property
    def _quadratic(self) -> bool:
        """Whether the Gram matrix describes the dual, exactly (no L1) or as a start (with L1)."""
        return self.regularizer.strongly_convex

    def _drop(self) -> None:
        idle = np.flatnonzero(self._weights[1:] == 0.0)
        k = int(idle[0]) + 1 if len(idle) else 1
        del self._offsets[k], self._gradients[k - 1]
        self._weights = np.delete(self._weights, k)
        self._gram = np.delete(np.delete(self._gram, k, 0), k, 1)

    def lower_bound(self) -> float:
        """Best bound proved so far; -inf where none exists (an unpenalised weight with a gradient)."""
        if self._gradients:
            self.best = max(self.best, self._improved() if self._quadratic else self._scaled_bounds())
        return self.best

    def _improved(self) -> float:
        solution = simplex_qp(self._gram, np.array(self._offsets), self._weights)
        self._weights = solution.a
        if not self.regularizer.has_l1:
            return solution.value
        return self._exchange()

    def _mean(self, a: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = np.zeros_like(self._gradients[0])
        for weight, g in zip(a[1:], self._gradients):
            if weight:
                gradient += weight * g
        return float(a @ self._offsets), gradient

    def _exchange(self) -> float:
        """Maximise the dual with L1 by moving weight between pairs of cuts."""
        reg, a = self.regularizer, self._weights.copy()
        offset, gradient = self._mean(a)
        value = offset - reg.dual_value(gradient)
        for _ in range(_IMPROVEMENTS):
            answer = -np.sign(gradient) * np.maximum(np.abs(gradient) - reg.l1, 0.0) / reg.l2  # argmin over w
            slope = np.array(self._offsets)
            slope[1:] += [g @ answer for g in self._gradients]
            up = int(np.argmax(slope))
            down = int(np.argmin(np.where(a > 0, slope, np.inf)))
            if slope[up] - slope[down] <= 1e-12 * (1.0 + abs(value)):
                break
            d_gradient = self._cut_gradient(up) - self._cut_gradient(down)
            d_offset = self._offsets[up] - self._offsets[down]
            step, found = _search(
                lambda s: offset + s * d_offset - reg.dual_value(gradient + s * d_gradient), float(a[down])
            )
            if found <= value:
                break
            value = found
            a[up] += step
            a[down] -= step
            offset, gradient = offset + step * d_offset, gradient + step * d_gradient
        self._weights = np.maximum(a, 0.0)
        return value

    def _cut_gradient(self, k: int) -> np.ndarray | float:
        return self._gradients[k - 1] if k else 0.0

    def _scaled_bounds(self) -> float:
        """L1 alone on some weights: single cuts and recent means, shrunk towards the zero cut until feasible."""
        reg, free = self.regularizer, self.regularizer.l2 == 0
        best = -np.inf
        n = len(self._gradients)
        means = [np.eye(n + 1)[k] for k in range(1, n + 1)]
        means += [np.r_[np.zeros(n + 1 - m), np.full(m, 1.0 / m)] for m in (2, 4, 8) if m <= n]
        for a in means:
            offset, gradient = self._mean(a)
            bound = np.abs(gradient[free])
            if np.any((bound > 0) & (reg.l1[free] == 0)):
                continue
            ratio = np.divide(reg.l1[free], bound, out=np.ones_like(bound), where=bound > 0)
            most = min(1.0, float(ratio.min(initial=1.0)) * (1.0 - 1e-12))
            _, value = _search(lambda s, o=offset, g=gradient: s * o - reg.dual_value(s * g), most)
            best = max(best, value)
        return best


def _search(concave, most: float) -> tuple[float, float]:
    """Maximise a concave function on [0, most]: golden sections, and the end point itself."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, most
    x1, x2 = high - golden * (high - low), low + golden * (high - low)
    f1, f2 = concave(x1), concave(x2)
    for _ in range(_SECTIONS):
        if f1 < f2:
            low, x1, f1 = x1, x2, f2
            x2 = low + golden * (high - low)
            f2 = concave(x2)
        else:
            high, x2, f2 = x2, x1, f1
            x1 = high - golden * (high - low)
            f1 = concave(x1)
    candidates = [(x1, f1), (x2, f2), (most, concave(most))]
    return max(candidates, key=lambda pair: pair[1])
