"""Adaptive regularisation of weights: large steps where little was learnt so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palmette._kernels.constants import AROW as RULE
from palmette.registry import register
from palmette.solvers.online import Online


@register("solver")
@dataclass(frozen=True)
class AROW(Online):
    r"""Keep a variance for every weight, and let those with a large one move most.

    Where the prediction :math:`\hat y` differs from the truth y in d labels, with
    :math:`\delta = \phi(x, y) - \phi(x, \hat y)`, the loss :math:`\ell = d - \langle w, \delta\rangle` and the
    variances v (a diagonal covariance)

    .. math:: w_j \leftarrow w_j + \frac{\ell}{\gamma + \sum_k v_k \delta_k^2} v_j \delta_j, \qquad
              \frac{1}{v_j} \leftarrow \frac{1}{v_j} + \frac{\delta_j^2}{\gamma}.

    A variance never grows, so each weight settles, often-seen ones first. A sample weight divides :math:`\gamma`.

    Parameters
    ----------
    variance : float
        Variance of every weight at the start.
    gamma : float
        Larger means smaller steps and slower settling.
    max_iter, tol, random_state, callbacks
        As for :class:`palmette.solvers.online.Online`: epochs, and the mean loss of an epoch below which to stop.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, Adaptive regularization of weight vectors, Machine Learning 91 (2013).

    Examples
    --------
    >>> from palmette import Chain, Perceptron
    >>> X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["D", "N"], ["D", "N"]]
    >>> Perceptron(Chain(), solver="arow").fit(X, Y).predict(X) == Y
    True
    """

    variance: float = 1.0
    gamma: float = 1.0

    averaged: ClassVar[bool] = False
    name: ClassVar[str] = "arow"
    positive: ClassVar = ("max_iter", "variance", "gamma")

    def _variance(self, n_params: int) -> np.ndarray:
        return np.full(n_params, float(self.variance))

    def _rule(self) -> tuple[int, float, bool]:
        return RULE, self.gamma, False
