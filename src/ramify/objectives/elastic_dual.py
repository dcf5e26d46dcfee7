"""The dual of the elastic net over means of cuts, where L1 makes it piecewise quadratic.

For cuts ``loss(w) >= b_k + <g_k, w>`` and weights ``a >= 0, sum(a) <= 1`` (the rest goes to ``loss >= 0``)

    ``D(a) = sum_k a_k b_k - sum_j max(|sum_k a_k g_kj| - l1_j, 0)^2 / (2 l2_j)``

is a lower bound on the optimum. Newton steps maximise it: each solves the quadratic that ``D`` is around the
present mean over the simplex, and goes along the line to its solution as far as ``D`` rises.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ramify.objectives.simplex_qp import simplex_qp
from ramify.regularizers.elastic import ElasticNet

_MAX_STEPS = 12
_ENOUGH = 1e-8  # relative to the value: what may be missing to the maximum
_BISECTIONS = 40
_STAND_IN = 1e-3  # L2 lent to weights that have none, as a share of l1 / reach


def best_mean(
    penalty: ElasticNet, offsets: np.ndarray, gradients: np.ndarray, start: np.ndarray, reach: float
) -> tuple[np.ndarray, float]:
    """Weights of a mean of cuts with a high dual value, and that value.

    Parameters
    ----------
    penalty : ElasticNet
        Every weight has a penalty.
    offsets, gradients : ndarray of shape (n_cuts,) and (n_cuts, n_params)
    start : ndarray of shape (n_cuts,)
    reach : float
        A typical largest ``|w_j|``. Weights without L2 demand ``|mean_j| <= l1_j`` exactly; while the mean is
        chosen they pay a small L2 of that scale instead, and the mean is shrunk until the demand is met.

    Examples
    --------
    >>> penalty = ElasticNet(l2=[0.0], l1=[1.0])
    >>> best_mean(penalty, np.array([3.0]), np.array([[2.0]]), np.zeros(1), reach=1.0)
    (array([0.5]), 1.5)
    """
    l2 = penalty.l2
    if not penalty.strongly_convex:
        l2 = np.where(l2 > 0.0, l2, _STAND_IN * penalty.l1 / reach)
    a, mean = _maximise(l2, penalty.l1, offsets, gradients, start)
    share, value = best_share(penalty, float(a @ offsets), mean)
    return share * a, value


def best_share(penalty: ElasticNet, offset: float, gradient: np.ndarray) -> tuple[float, float]:
    """The best multiple ``s`` in [0, 1] of one cut, and its bound ``s offset - R*(-s gradient)``.

    With L1 alone ``s = min(1, min_j l1_j / |g_j|)``.
    """
    size = np.abs(gradient)
    part = np.flatnonzero(size > penalty.l1)
    size, l1, l2 = size[part], penalty.l1[part], penalty.l2[part]
    bare = l2 == 0.0
    most = float((l1[bare] / size[bare]).min(initial=1.0))
    size, l1, l2 = size[~bare], l1[~bare], l2[~bare]

    def excess(share: float) -> np.ndarray:
        return np.maximum(share * size - l1, 0.0)

    share = _last_rise(lambda s: offset - float((excess(s) / l2) @ size), most)
    held = excess(share)
    return share, share * offset - 0.5 * float((held / l2) @ held)


def _maximise(
    l2: np.ndarray, l1: np.ndarray, offsets: np.ndarray, gradients: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Newton steps on ``D``; the weights and the mean gradient they give."""
    b = np.append(offsets, 0.0)  # the zero cut comes last
    a = np.append(start, max(1.0 - start.sum(), 0.0))
    mean = a[:-1] @ gradients
    for _ in range(_MAX_STEPS):
        excess = mean - np.clip(mean, -l1, l1)
        held = np.flatnonzero(excess)
        excess, rows = excess[held], gradients[:, held]
        scaled = rows / l2[held]
        r = b.copy()
        r[:-1] -= scaled @ excess
        value = b @ a - 0.5 * excess @ (excess / l2[held])
        if r.max() - r @ a <= _ENOUGH * abs(value):
            break
        hessian = np.zeros((len(b), len(b)))
        hessian[:-1, :-1] = scaled @ rows.T
        change = simplex_qp(hessian, r + hessian @ a, a).a - a
        along = change[:-1] @ gradients
        step = _step(l2, l1, mean, along, float(change @ b))
        a = np.maximum(a + step * change, 0.0)
        mean += step * along
    return a[:-1], mean


def _step(l2: np.ndarray, l1: np.ndarray, mean: np.ndarray, along: np.ndarray, rise: float) -> float:
    """How far ``D`` rises from ``mean`` towards ``mean + along``."""
    # Coordinates that are within l1 at both ends are so in between, and play no part.
    part = np.flatnonzero((np.abs(mean) > l1) | (np.abs(mean + along) > l1))
    l2, l1, mean, along = l2[part], l1[part], mean[part], along[part]

    def slope(step: float) -> float:
        at = mean + step * along
        return rise - float(((at - np.clip(at, -l1, l1)) / l2) @ along)

    return _last_rise(slope, 1.0)


def _last_rise(slope: Callable[[float], float], most: float) -> float:
    """Where a falling ``slope`` changes sign on [0, most]."""
    if slope(most) >= 0.0:
        return most
    low, high = 0.0, most
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return low
