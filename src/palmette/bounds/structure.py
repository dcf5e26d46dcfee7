r"""Bounds on stability, overfitting and convergence under structure regularisation.

The theory of X. Sun, "Structure regularization for structured prediction" (NIPS 2014, and its full version), as
functions. ``m`` training samples of ``n`` positions each are cut into pieces of mean size ``n' = size``
(``alpha = n / n'`` pieces per sample; ``size = n`` cuts nothing), and the weights minimise

    ``(1 / (m n)) sum_pieces loss + (lam / 2) |w|^2``.

The penalty of palmette is on another scale: ``sum_i loss_i + (l2 / 2)|w|^2`` has ``lam = l2 / (m n)``
(:func:`to_lambda`). The other quantities are

======== ==================================================================================================
``d``    number of features at a position, each at most ``v`` in size
``tau``  Lipschitz constant of the loss of a position in its score
``rho``  admissibility: scores of a position differ by at most ``rho |w - w'| |x|``
``gamma`` the largest loss of a position
======== ==================================================================================================

They are worst-case bounds. With realistic numbers they are far above any loss, and so say in which direction and how
fast a change of ``size``, ``lam`` or ``m`` works, not how large the error will be.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def to_lambda(l2: float, m: int, n: float) -> float:
    """The ``lam`` of these bounds for palmette's ``l2``: ``l2 / (m n)``.

    >>> to_lambda(2.0, m=100, n=20)
    0.001
    """
    _check(l2=l2, m=m, n=n)
    return l2 / (m * n)


def stability(
    size: float, *, n: float, m: int, lam: float, d: float, tau: float = 1.0, rho: float = 1.0, v: float = 1.0,
    removed: str = "sample",
) -> float:  # fmt: skip
    r"""How much the score of a position can change when something is removed from the training set.

    * ``removed="piece"``, one piece (24): ``Delta <= d tau rho^2 v^2 n^2 / (m lam alpha^2)``;
    * ``removed="sample"``, a whole sample (26): ``Delta <= d tau rho^2 v^2 n^2 / (m lam alpha)``, which is
      ``alpha`` times as much.

    Parameters
    ----------
    size : float
        Mean size of the pieces, from 1 to ``n``.
    n, m, lam, d, tau, rho, v
        See above.
    removed : {"sample", "piece"}

    Examples
    --------
    Pieces of a tenth of the sample make the model 100 times more stable to the removal of a piece, 10 times to
    that of a sample.

    >>> given = dict(n=20, m=1000, lam=0.1, d=10)
    >>> for part in ("piece", "sample"):
    ...     print(round(stability(20, removed=part, **given) / stability(2, removed=part, **given)))
    100
    10
    """
    _check(size=size, n=n, m=m, lam=lam, d=d, tau=tau, rho=rho, v=v)
    alpha = _alpha(size, n)
    if removed not in ("sample", "piece"):
        raise ValueError(f"removed must be 'sample' or 'piece', got {removed!r}")
    return d * tau * rho**2 * v**2 * n**2 / (m * lam * (alpha**2 if removed == "piece" else alpha))


def loss_stability(size: float, *, tau: float = 1.0, **given: Any) -> float:
    """How much the loss of a position can change (Lemma 10): ``tau`` times :func:`stability`, same arguments.

    >>> given = dict(n=20, m=1000, lam=0.1, d=10, tau=3.0)
    >>> loss_stability(2, **given) == 3 * stability(2, **given)
    True
    """
    return tau * stability(size, tau=tau, **given)


def sample_loss_stability(size: float, *, n: float, **given: Any) -> float:
    """How much the loss of a whole sample can change (Lemma 10): ``n`` times :func:`loss_stability`.

    >>> given = dict(n=20, m=1000, lam=0.1, d=10)
    >>> sample_loss_stability(2, **given) == 20 * loss_stability(2, **given)
    True
    """
    return n * loss_stability(size, n=n, **given)


def overfit_bound(
    size: float, *, n: float, m: int, lam: float, d: float, gamma: float, delta: float = 0.05, tau: float = 1.0,
    rho: float = 1.0, v: float = 1.0,
) -> float:  # fmt: skip
    r"""By how much the risk can exceed the training error, with probability ``1 - delta``: (9), which is (29).

    ``2 tau Delta + ((4 m - 2) tau Delta + gamma) sqrt(ln(1 / delta) / (2 m))`` with ``Delta`` the
    :func:`stability` to the removal of a sample, that is

        ``2 B / m + ((4 m - 2) B / m + gamma) sqrt(ln(1 / delta) / (2 m))``,
        ``B = d tau^2 rho^2 v^2 n^2 / (lam alpha)``.

    Examples
    --------
    Smaller pieces, a stronger penalty and more samples all lower it.

    >>> given = dict(n=20, d=10, gamma=1.0)
    >>> whole = overfit_bound(20, m=1000, lam=0.1, **given)
    >>> overfit_bound(5.5, m=1000, lam=0.1, **given) < whole
    True
    >>> overfit_bound(20, m=1000, lam=0.2, **given) < whole
    True
    """
    _check(m=m, gamma=gamma)
    root = np.sqrt(_log(delta) / (2.0 * m))
    change = loss_stability(size, tau=tau, n=n, m=m, lam=lam, d=d, rho=rho, v=v, removed="sample")
    return float(2.0 * change + ((4.0 * m - 2.0) * change + gamma) * root)


def overfit_bound_short(
    size: float, *, n: float, m: int, lam: float, d: float, gamma: float, delta: float = 0.05, tau: float = 1.0,
    rho: float = 1.0, v: float = 1.0, constant: float | None = None,
) -> float:  # fmt: skip
    r"""The short form (30) of :func:`overfit_bound`: ``constant * d n^2 sqrt(ln(1 / delta)) / (lam alpha sqrt(m))``.

    The paper leaves the constant to ``O(...)``. Sorting the terms of (29) gives one with which the short form is an
    upper bound; it is the default::

        (2 sqrt(2) + 2 / sqrt(m ln(1 / delta))) tau^2 rho^2 v^2  +  gamma lam alpha / (sqrt(2) d n^2)

    Its first term is what the paper keeps; the excess over (29) is a share of at most ``1 / (2 m)``.

    Examples
    --------
    >>> given = dict(n=20, m=1000, lam=0.1, d=10, gamma=1.0)
    >>> round(overfit_bound_short(5.5, **given) / overfit_bound(5.5, **given), 3)
    1.0
    >>> overfit_bound_short(20, constant=1, **given) / overfit_bound_short(5, constant=1, **given)
    4.0
    """
    _check(size=size, n=n, m=m, lam=lam, d=d, gamma=gamma, tau=tau, rho=rho, v=v)
    alpha, log = _alpha(size, n), _log(delta)
    if constant is None:
        scale = (tau * rho * v) ** 2
        constant = (2.0 * np.sqrt(2.0) + 2.0 / np.sqrt(m * log)) * scale
        constant += gamma * lam * alpha / (np.sqrt(2.0) * d * n**2)
    return float(constant * d * n**2 * np.sqrt(log) / (lam * alpha * np.sqrt(m)))


def convergence_rate(
    size: float, *, n: float, eps: float, c: float, q: float, kappa: float, beta: float = 1.0
) -> float:
    """The fixed learning rate of :func:`convergence_steps`: ``c eps beta alpha^2 / (q kappa^2 n^2)``.

    >>> convergence_rate(2, n=20, eps=0.1, c=1.0, q=10.0, kappa=1.0)
    0.0025
    """
    _check(size=size, n=n, eps=eps, c=c, q=q, kappa=kappa, beta=beta)
    _check_convexity(c, q, beta)
    return c * eps * beta * _alpha(size, n) ** 2 / (q * kappa**2 * n**2)


def convergence_steps(
    size: float, *, n: float, a0: float, eps: float, c: float, q: float, kappa: float, beta: float = 1.0
) -> int:
    r"""Stochastic gradient steps after which ``E[g(w) - min g] <= eps`` (Proposition 5).

    (15): ``t >= q kappa^2 n^2 log(q a0 / eps) / (eps beta c^2 alpha^2)``, for the rate :func:`convergence_rate`: pieces
    that are ``alpha`` times smaller need ``alpha^2`` times fewer steps, since their gradients are ``alpha`` times
    shorter.

    Parameters
    ----------
    size, n : float
        Mean size of a piece and positions of a sample.
    a0 : float
        ``|w_0 - w*|^2``, squared distance of the start from the minimiser.
    eps : float
        What may be missing to the minimum.
    c, q : float
        Strong convexity and Lipschitz constant of the gradient of the objective, ``c <= q``.
    kappa : float
        Gradients of a piece of k positions are at most ``kappa k`` long.
    beta : float, default=1
        In (0, 1]; the share of the largest rate that is used.

    Examples
    --------
    >>> given = dict(n=20, a0=1.0, eps=0.1, c=1.0, q=10.0, kappa=1.0)
    >>> convergence_steps(20, **given), convergence_steps(2, **given)
    (184207, 1843)
    """
    _check(size=size, n=n, a0=a0, eps=eps, c=c, q=q, kappa=kappa, beta=beta)
    _check_convexity(c, q, beta)
    log = max(float(np.log(q * a0 / eps)), 0.0)  # a start that is near enough needs no step
    return int(np.ceil(q * kappa**2 * n**2 * log / (eps * beta * c**2 * _alpha(size, n) ** 2)))


def _alpha(size: float, n: float) -> float:
    if not 1.0 <= size <= n:
        raise ValueError(f"size must be from 1 to n={n}, the positions of a sample, got {size!r}")
    return n / size


def _log(delta: float) -> float:
    if not (isinstance(delta, Real) and 0.0 < float(delta) < 1.0):
        raise ValueError(f"delta must be a probability between 0 and 1, got {delta!r}")
    return float(-np.log(float(delta)))


def _check(**values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
            raise ValueError(f"{name} must be a finite number > 0, got {value!r}")


def _check_convexity(c: float, q: float, beta: float) -> None:
    if c > q:
        raise ValueError(
            f"c={c!r} cannot exceed q={q!r}: a gradient changes at least as fast as strong convexity says"
        )
    if beta > 1.0:
        raise ValueError(f"beta must be at most 1, got {beta!r}")
