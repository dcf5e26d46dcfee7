r"""How far the error of a max-margin Markov network can be above its margin loss in training.

Theorem 6.1 of B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks" (NIPS 2003), as functions. The loss of
an input with ``l`` labels is the share of wrong ones, ``L = (1/l) Dt(y*)``, and its gamma-margin loss

    ``L^g = (1/l) max { Dt(y) : y is the best of some z with |z(y') - f(y')| <= gamma Dt(y') for all y' }``

is the worst loss of any predictor whose scores are within ``gamma`` a wrong label of the model's (:func:`margin_loss`).
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

They are worst-case bounds. Below 1 they need thousands of samples even for ``rho = 1``, and so say in which direction
and how fast a change of margin, norm or sample size works, not how large the error will be.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from palmette.errors import MissingCapability

CONSTANT = 3456.0
"""A valid ``K`` of Theorem 6.1 for ``delta <= 1/2``."""


def max_margin_bound(
    norm: float, gamma: float, *, m: int, r_edge: float, q: int, l: int, k: int, delta: float = 0.05,
    constant: float = CONSTANT,
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
    constant : float, default=3456
        ``K``; see the module's docstring.

    Examples
    --------
    >>> given = dict(r_edge=1.0, q=2, l=8, k=26)
    >>> round(max_margin_bound(1.0, 1.0, m=10**6, **given), 3)
    0.534
    >>> max_margin_bound(1.0, 2.0, m=10**6, **given) < max_margin_bound(1.0, 1.0, m=10**6, **given)
    True
    """
    rho = _ratio(norm, gamma, m, r_edge, q, l, k, delta)
    if not (isinstance(constant, Real) and 0.0 < float(constant) < np.inf):
        raise ValueError(f"constant must be a finite number > 0, got {constant!r}")
    logs = np.log(m) + np.log(l) + np.log(q) + np.log(k)
    return float(np.sqrt(constant / m * (rho**2 * logs - np.log(delta))))


def covering_bound(
    norm: float, gamma: float, *, m: int, r_edge: float, q: int, l: int, k: int, delta: float = 0.05
) -> float:  # fmt: skip
    r"""The same before its terms are gathered into one constant: never above :func:`max_margin_bound` below 1.

    ``sqrt((8/m) (144 rho^2 ln(2 ceil(8 rho + 2) m l q k^2 + 1) + ln(2/delta)))``, ``rho = R norm q / gamma``.

    Examples
    --------
    >>> round(covering_bound(1.0, 1.0, m=10**6, r_edge=1.0, q=2, l=8, k=26), 3)
    0.351
    """
    rho = _ratio(norm, gamma, m, r_edge, q, l, k, delta)
    points = float(m) * l * q * k**2
    cover = 144.0 * rho**2 * np.log(2.0 * np.ceil(8.0 * rho + 2.0) * points + 1.0)
    return float(np.sqrt(8.0 / m * (cover + np.log(2.0 / delta))))


def margin_loss(model: Any, X: Any, y: Any, gamma: float) -> np.ndarray:
    """The gamma-margin loss ``L^g`` of every sample: shares of wrong labels, shape (n_samples,).

    Labels y can be made the best by changes of up to ``gamma`` a wrong label if and only if
    ``f(y) + gamma Dt(y) >= max_y' f(y') - gamma Dt(y')``; of these the most wrong ones count. They are found by the
    best score with each number of wrong labels, which takes n^2 labels^2 steps on a chain of n.

    Parameters
    ----------
    model : fitted learner on ``Chain()`` (order 1) or ``Multiclass()``
    X, y
        Inputs and outputs, as for ``fit``.
    gamma : float
        At least 0. With 0 it is the loss of the prediction, the worst one where several are best.

    Examples
    --------
    >>> from palmette import SSVM, Chain
    >>> X = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]]
    >>> Y = [["a", "a", "b"], ["b", "a"]]
    >>> model = SSVM(Chain(), C=10.0).fit(X, Y)
    >>> margin_loss(model, X, Y, 0.1), margin_loss(model, X, Y, 100.0)
    (array([0., 0.]), array([1., 1.]))
    """
    if isinstance(gamma, bool) or not isinstance(gamma, Real) or not 0.0 <= float(gamma) < np.inf:
        raise ValueError(f"gamma must be a finite number >= 0, got {gamma!r}")
    structure = model.structure
    if structure.order != 1 or structure.allowed is not None:
        raise MissingCapability(
            f"margin_loss knows chains of order 1 without forbidden transitions and Multiclass, not {structure!r:.80}"
        )
    theta, codes = _scored(model, X, y)
    return np.array(
        [
            _worst_share(best_by_mistakes(*part), float(gamma))
            for part in zip(*(_split(theta.node, theta), _edges(theta), _split(codes, theta)))
        ]
    )


def best_by_mistakes(node: np.ndarray, edge: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Best score of a chain with exactly 0, 1, ... n labels that differ from ``codes``; -inf where there are none.

    >>> best_by_mistakes(np.array([[1.0, 0.0], [0.0, 3.0]]), np.zeros((1, 2, 2)), np.array([0, 0]))
    array([1., 4., 3.])
    """
    n, n_labels = node.shape
    wrong = np.arange(n_labels) != codes[:, None]
    best = np.full((n + 1, n_labels), -np.inf)
    best[wrong[0].astype(int), np.arange(n_labels)] = node[0]
    for t in range(1, n):
        reach = (best[:, :, None] + edge[min(t - 1, len(edge) - 1)]).max(axis=1) + node[t]
        best = np.where(wrong[t], -np.inf, reach)
        best[1:, wrong[t]] = reach[:-1, wrong[t]]
    return best.max(axis=1)


def _worst_share(best: np.ndarray, gamma: float) -> float:
    mistakes = np.arange(len(best))
    within = best + gamma * mistakes >= (best - gamma * mistakes).max()
    return float(mistakes[within].max() / (len(best) - 1))


def _scored(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Potentials of the samples and the codes of their labels."""
    from palmette.estimators.training import encode_outputs, given_labels

    layout = model.structure.layout
    batch = model._transform(X)
    empty = np.flatnonzero(np.diff(batch.offsets) == 0)
    if len(empty):
        raise ValueError(f"sample {empty[0]} has no positions; leave empty samples out")
    codes = encode_outputs(model.codec_, given_labels(y, layout), batch.offsets, layout)
    return model.scorer_.score(model.coef_, batch), codes


def _split(rows: np.ndarray, theta: Any) -> list[np.ndarray]:
    return np.split(rows, theta.offsets[1:-1])


def _edges(theta: Any) -> list[np.ndarray]:
    if theta.edge_step == 0 or not len(theta.edge):
        return [theta.edge] * len(theta)
    return np.split(theta.edge, (theta.offsets - np.arange(len(theta.offsets)))[1:-1])


def _ratio(norm: Any, gamma: Any, m: Any, r_edge: Any, q: Any, l: Any, k: Any, delta: Any) -> float:
    """``rho``, after a look at every argument."""
    for name, value, least in (
        ("norm", norm, 0.0), ("gamma", gamma, 0.0), ("r_edge", r_edge, 0.0), ("m", m, 2), ("q", q, 1), ("l", l, 1),
        ("k", k, 2),
    ):  # fmt: skip
        known = not isinstance(value, bool) and isinstance(value, Real) and np.isfinite(float(value))
        if not known or (value <= 0.0 if least == 0.0 else value < least):
            raise ValueError(
                f"{name} must be a finite number {'> 0' if least == 0.0 else f'>= {least}'}, got {value!r}"
            )
    if not (isinstance(delta, Real) and 0.0 < float(delta) <= 0.5):
        raise ValueError(f"delta must be a probability above 0 and at most 1/2, got {delta!r}")
    return float(r_edge) * float(norm) * q / float(gamma)
