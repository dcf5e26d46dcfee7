"""The dual of a penalty over means of cuts, where L1 or groups make it more than quadratic.

For cuts ``loss(w) >= b_k + <g_k, w>`` and weights ``a >= 0, sum(a) <= 1`` (the rest goes to ``loss >= 0``)

    ``D(a) = sum_k a_k b_k - R*(-sum_k a_k g_k)``,

with ``R*(-g) = sum_j max(|g_j| - l1_j, 0)^2 / (2 l2_j)`` for the elastic net, is a lower bound on the optimum. Newton
steps maximise it: each solves the quadratic that ``D`` is around the present mean over the simplex, and goes along the
line to its solution as far as ``D`` rises. ``D`` has finitely many quadratic pieces, so that they end: the step from
the piece of the maximum leads to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palmette.objectives.simplex_qp import simplex_qp
from palmette.regularizers.elastic import ElasticNet

_MAX_STEPS = 50  # a few are usual
_ENOUGH = 1e-12  # relative to the value: what may be missing to the maximum
_EPS, _TINY = float(np.finfo(float).eps), 1e-300
_STAND_IN = 1e-3  # L2 lent to weights that have none, as a share of their other penalty / reach


def best_mean(
    penalty: ElasticNet, offsets: np.ndarray, gradients: np.ndarray, start: np.ndarray, reach: float,
    lacking: float = 0.0,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Weights of a mean of cuts with a high dual value, and that value.

    Parameters
    ----------
    penalty : ElasticNet
        Every weight has a penalty.
    offsets, gradients : ndarray of shape (n_cuts,) and (n_cuts, n_params)
    start : ndarray of shape (n_cuts,)
    reach : float
        A typical largest ``|w_j|``. Weights without L2 demand ``|mean_j| <= l1_j`` exactly; while the mean is
        chosen they pay a small L2 of that scale instead, and the mean is shrunk until the demand is met. With L2 on
        every weight the value is the maximum, up to rounding or what may be lacking.
    lacking : float
        Steps end when this little is missing to the maximum.

    Examples
    --------
    >>> penalty = ElasticNet(l2=[0.0], l1=[1.0])
    >>> best_mean(penalty, np.array([3.0]), np.array([[2.0]]), np.zeros(1), reach=1.0)
    (array([0.5]), 1.5)
    """
    stronger = penalty if penalty.strongly_convex else penalty.lend(_STAND_IN / reach)
    a, mean = _maximise(stronger, offsets, gradients, start, lacking)
    share, value = best_share(penalty, float(a @ offsets), mean)
    return share * a, value


def best_share(penalty: ElasticNet, offset: float, gradient: np.ndarray) -> tuple[float, float]:
    """The best multiple ``s`` in [0, 1] of one cut, and its bound ``s offset - R*(-s gradient)``.

    With L1 alone ``s = min(1, min_j l1_j / |g_j|)``.
    """
    part = penalty.exceeded(gradient)
    penalty, gradient = penalty.take(part), gradient[part]
    bare = penalty.l2 == 0.0
    most = penalty.take(bare).largest_share(gradient[bare])
    penalty, gradient = penalty.take(~bare), gradient[~bare]
    share = _last_rise(lambda s: offset - float((penalty.excess(s * gradient) / penalty.l2) @ gradient), most)
    return share, share * offset - penalty.dual_value(share * gradient)


def _maximise(
    penalty: ElasticNet, offsets: np.ndarray, gradients: np.ndarray, start: np.ndarray, lacking: float
) -> tuple[np.ndarray, np.ndarray]:
    """Newton steps on ``D``; the weights and the mean gradient they give."""
    b = np.append(offsets, 0.0)  # the zero cut comes last
    a = np.append(start, max(1.0 - start.sum(), 0.0))
    mean, before, model = a[:-1] @ gradients, -np.inf, penalty.dual_model(gradients)
    for _ in range(_MAX_STEPS):
        conjugate, slope = model.slope(mean)
        r, value = b.copy(), b @ a - conjugate
        r[:-1] -= slope
        if r.max() - r @ a <= max(lacking, _ENOUGH * abs(value)) or value <= before:
            break
        rows = np.pad(model.root(mean), ((0, 1), (0, 0)))
        change = simplex_qp(rows, r + rows @ (a @ rows), a).a - a
        along = change[:-1] @ gradients
        step = _step(penalty, mean, along, float(change @ b))
        a, before = np.maximum(a + step * change, 0.0), value
        mean += step * along
    return a[:-1], a[:-1] @ gradients  # of which the bound is made: not what steps added up


def _step(penalty: ElasticNet, mean: np.ndarray, along: np.ndarray, rise: float) -> float:
    """How far ``D`` rises from ``mean`` towards ``mean + along``."""
    part = penalty.exceeded(mean) | penalty.exceeded(mean + along)
    penalty, mean, along = penalty.take(part), mean[part], along[part]

    def slope(step: float) -> float:
        return rise - float((penalty.excess(mean + step * along) / penalty.l2) @ along)

    return _last_rise(slope, 1.0)


def _last_rise(slope: Callable[[float], float], most: float) -> float:
    """Where a falling ``slope`` changes sign on [0, most]."""
    from scipy.optimize import brentq

    if slope(most) >= 0.0:
        return most
    # the root may be tiny, since a row may be huge: only its relative accuracy counts
    return brentq(slope, 0.0, most, xtol=_TINY, rtol=4.0 * _EPS, maxiter=1000) if slope(0.0) > 0.0 else 0.0
