r"""How far the error of a max-margin Markov network can be above its margin loss in training.

Theorem 6.1 of B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks" (NIPS 2003), as functions. The loss of
an input with ``l`` labels is the share of wrong ones, ``L = (1/l) Dt(y*)``, and its gamma-margin loss

    ``L^g = (1/l) max { Dt(y) : y is the best of some z with |z(y') - f(y')| <= gamma Dt(y') for all y' }``

is the worst loss of any predictor whose scores are within ``gamma`` a wrong label of the model's
(:func:`palmette.inspection.margin_loss`).
With probability ``1 - delta`` over ``m`` training samples, for all weights with ``|w| <= norm``,

    ``E L <= E_S L^g + sqrt((K/m) (R^2 norm^2 q^2 / gamma^2 (ln m + ln l + ln q + ln k) + ln(1/delta)))``.

======== ==================================================================================================
``R``    largest Euclidean norm of a difference of edge features, ``f(x, t_i, t_j) - f(x, y_i, y_j)``; at most twice
         the largest norm of edge features. Features of nodes count as edges with one end.
``q``    largest number of edges at a node, those with one end included
``l, k`` labels of a sample (at most) and values of a label
======== ==================================================================================================

**The constant.** The paper says that some ``K`` exists. Here is one, :data:`CONSTANT` = 3456 for ``delta <= 1/2``.

1. If ``g`` has scores within ``gamma/2`` a wrong label of ``f`` then ``L(f) <= L^{g/2}(g) <= L^g(f)``. So, by the usual
   second sample and exchange of pairs (Hoeffding's inequality on losses in [0, 1]),
   ``P(some f: E L > E_S L^g + eps) <= 2 N exp(-m eps^2 / 8)`` with ``N`` predictors that cover all others on ``2m``
   samples to ``gamma/2`` a wrong label.
2. Only edges with a wrong end have a difference of features that is not 0, at most ``q`` for each wrong label. So it is
   enough to cover the numbers ``w . (f(x, t_i, t_j) - f(x, y_i, y_j))`` to ``gamma / (2 q)``: at most ``l q k^2 / 2`` a
   sample, ``n = m l q k^2`` on the two.
3. T. Zhang, "Covering number bounds of certain regularized linear function classes" (JMLR 2, 2002, Theorem 4):
   linear functions with ``|w| <= a`` on n points with norms up to b are covered to e by N functions,
   ``ln N <= 36 (a b / e)^2 ln(2 ceil(4 a b / e + 2) n + 1)``. With ``rho = R norm q / gamma``, ``a b / e = 2 rho``:
   ``ln N <= 144 rho^2 ln(2 ceil(8 rho + 2) n + 1)``. This is :func:`covering_bound`.
4. ``ln(2 ceil(8 rho + 2) n + 1) <= 2 T + ln(16 rho + 7)`` with ``T = ln m + ln l + ln q + ln k``. Where the theorem
   says less than 1, ``m > 3456 (rho^2 T + ln 2)``, so ``16 rho + 7 <= m`` and the logarithm is at most ``3 T``;
   elsewhere it holds since no loss exceeds 1. ``8 * 144 * 3 = 3456``, and ``8 ln(2/delta) <= 16 ln(1/delta)``.
5. Parts that join up to c labels ("easily extends" in the text) have ``k^c`` values, so ``n = m l q k^c``, the
   logarithm is at most ``(c + 1) T``, and ``K = 1152 (c + 1)``. ``q`` then counts all parts at a node.

They are worst-case bounds. Below 1 they need thousands of samples even for ``rho = 1``, and so say in which direction
and how fast a change of margin, norm or sample size works, not how large the error will be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.bounds.arguments import check_numbers, log_inverse

CONSTANT = 3456.0
"""A valid ``K`` of Theorem 6.1 for ``delta <= 1/2``, of networks of label pairs."""


def max_margin_bound(
    norm: float, gamma: float, *, m: int, r_edge: float, q: int, l: int, k: int, delta: float = 0.05,
    arity: int = 2, constant: float | None = None,
) -> float:  # fmt: skip
    r"""By how much the loss per label can exceed that with margin in training, with probability ``1 - delta`` (6.1).

    ``sqrt((K/m) (R^2 norm^2 q^2 / gamma^2 (ln m + ln l + ln q + ln k) + ln(1/delta)))``

    Parameters
    ----------
    norm : float
        Bound on ``|w|``, fixed before the data is seen.
    gamma : float
        Margin per label of the loss in training.
    m : int
        Training samples, at least 2.
    r_edge : float
        ``R`` above.
    q, l, k : int
        Most edges at a node, most labels of a sample, values of a label.
    delta : float, default=0.05
        At most 1/2.
    arity : int, default=2
        Most labels that a part joins; more than 2 for cliques.
    constant : float, optional
        ``K``; by default ``1152 (arity + 1)``, which is 3456 for pairs.

    Examples
    --------
    >>> given = dict(r_edge=1.0, q=2, l=8, k=26)
    >>> round(max_margin_bound(1.0, 1.0, m=10**6, **given), 3)
    0.534
    >>> max_margin_bound(1.0, 2.0, m=10**6, **given) < max_margin_bound(1.0, 1.0, m=10**6, **given)
    True
    """
    rho = _ratio(norm, gamma, m, r_edge, q, l, k, delta, arity)
    constant = CONSTANT * (arity + 1) / 3.0 if constant is None else constant
    check_numbers(constant=constant)
    logs = np.log(m) + np.log(l) + np.log(q) + np.log(k)
    return float(np.sqrt(constant / m * (rho**2 * logs - np.log(delta))))


def covering_bound(
    norm: float, gamma: float, *, m: int, r_edge: float, q: int, l: int, k: int, delta: float = 0.05, arity: int = 2
) -> float:  # fmt: skip
    r"""The same before its terms are gathered into one constant: never above :func:`max_margin_bound` below 1.

    ``sqrt((8/m) (144 rho^2 ln(2 ceil(8 rho + 2) m l q k^arity + 1) + ln(2/delta)))``, ``rho = R norm q / gamma``.

    Examples
    --------
    >>> round(covering_bound(1.0, 1.0, m=10**6, r_edge=1.0, q=2, l=8, k=26), 3)
    0.351
    """
    rho = _ratio(norm, gamma, m, r_edge, q, l, k, delta, arity)
    points = float(m) * l * q * float(k) ** arity
    cover = 144.0 * rho**2 * np.log(2.0 * np.ceil(8.0 * rho + 2.0) * points + 1.0)
    return float(np.sqrt(8.0 / m * (cover + np.log(2.0 / delta))))


def _ratio(
    norm: Any, gamma: Any, m: Any, r_edge: Any, q: Any, l: Any, k: Any, delta: Any, arity: Any
) -> float:
    """``rho``, after a look at every argument."""
    check_numbers(norm=norm, gamma=gamma, r_edge=r_edge)
    check_numbers(least=2, m=m, k=k, arity=arity)
    check_numbers(least=1, q=q, l=l)
    log_inverse(delta, at_most_half=True)
    return float(r_edge) * float(norm) * q / float(gamma)
