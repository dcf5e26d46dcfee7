"""The 1-slack cutting-plane algorithm for structured SVMs."""

from __future__ import annotations

from dataclasses import dataclass

from palmette.registry import register
from palmette.solvers.bundle import Bundle


@register("solver")
@dataclass(frozen=True)
class OneSlack(Bundle):
    """One slack for all samples (Joachims, Finley and Yu, 2009), for ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``.

    The working set holds constraints ``slack >= b_k + <g_k, w>`` on the sum of the losses. An iteration finds the one
    that is violated most at ``w``, which is the cut of the loss there, and goes to the minimiser ``w`` of
    ``slack + penalty`` under all of them, whose value is the lower bound. What the new constraint violates is the gap,
    so that the algorithm's own criterion, a violation of at most ``tol``, is the certificate.

    This is the bundle method without its caution: :class:`Bundle` takes the next cut only 0.3 of the way to the
    minimiser and needs fewer of them. Parameters are those of :class:`Bundle`.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], ["a", "a", "b"]
    >>> SSVM(Multiclass(), solver="one_slack").fit(X, y).result_.reason
    'gap'
    """

    name = "one_slack"
    caution = 1.0
