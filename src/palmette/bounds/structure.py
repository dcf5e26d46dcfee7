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

from typing import Any

import numpy as np

from palmette.bounds.arguments import check_numbers, log_inverse


def to_lambda(l2: float, m: int, n: float) -> float:
    """The ``lam`` of these bounds for palmette's ``l2``: ``l2 / (m n)``.

    >>> to_lambda(2.0, m=100, n=20)
    0.001
    """
    check_numbers(l2=l2, m=m, n=n)
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
    check_numbers(size=size, n=n, m=m, lam=lam, d=d, tau=tau, rho=rho, v=v)
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


def lipschitz_stability(lipschitz: float, *, m: int, lam: float, missed: float = 0.0) -> float:
    r"""How much the loss can change when a sample is removed, if it has a Lipschitz constant in the weights.

    ``G^2 / (m lam) + 2 G sqrt(2 missed / lam)`` for weights that minimise ``(1/m) sum_i loss_i + (lam/2) |w|^2`` up to
    ``missed``. It takes the place of Lemma 10 and Corollary 12 where the loss is not one of positions whose scores are
    admissible with a known ``rho``: that of a CRF or an SSVM has ``G = max_y |phi(x, y) - phi(x, true)|``.

    *Proof.* With ``F`` and ``F'`` the objectives with and without the sample, minimised by w and w', strong convexity
    says ``lam |w - w'|^2 <= F(w') - F(w) + F'(w) - F'(w') = (loss(w') - loss(w)) / m <= G |w - w'| / m``, and so
    ``|w - w'| <= G / (m lam)``. Each of two approximate minimisers is at most ``sqrt(2 missed / lam)`` from the exact.

    Parameters
    ----------
    lipschitz : float
        G.
    m : int
    lam : float
    missed : float, default=0
        Gap between the objective and its minimum.

    Examples
    --------
    >>> lipschitz_stability(2.0, m=100, lam=0.1)
    0.4
    """
    check_numbers(lipschitz=lipschitz, lam=lam)
    check_numbers(least=1, m=m)
    check_numbers(least=0.0, missed=missed)
    return float(lipschitz**2 / (m * lam) + 2.0 * lipschitz * np.sqrt(2.0 * missed / lam))


def stability_bound(change: float, *, m: int, gamma: float, delta: float = 0.05) -> float:
    r"""By how much the risk can exceed the training error if no sample matters much (Theorem 13, (27)).

    ``2 change + ((4 m - 2) change + gamma) sqrt(ln(1/delta) / (2 m))`` with probability ``1 - delta``.

    Parameters
    ----------
    change : float
        How much the loss of anything can change when a training sample is removed (``tau`` times
        :func:`stability`, or :func:`lipschitz_stability`).
    m : int
        Training samples.
    gamma : float
        The largest loss: a bound that must hold for the model of any training set.
    delta : float, default=0.05

    Examples
    --------
    >>> round(stability_bound(1e-4, m=10_000, gamma=1.0), 4)
    0.0614
    """
    check_numbers(least=0.0, change=change)
    check_numbers(least=1, m=m)
    check_numbers(gamma=gamma)
    root = np.sqrt(log_inverse(delta) / (2.0 * m))
    return float(2.0 * change + ((4.0 * m - 2.0) * change + gamma) * root)


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
    change = loss_stability(size, tau=tau, n=n, m=m, lam=lam, d=d, rho=rho, v=v, removed="sample")
    return stability_bound(change, m=m, gamma=gamma, delta=delta)


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
    check_numbers(size=size, n=n, m=m, lam=lam, d=d, gamma=gamma, tau=tau, rho=rho, v=v)
    alpha, log = _alpha(size, n), log_inverse(delta)
    if constant is None:
        scale = (tau * rho * v) ** 2
        constant = (2.0 * np.sqrt(2.0) + 2.0 / np.sqrt(m * log)) * scale
        constant += gamma * lam * alpha / (np.sqrt(2.0) * d * n**2)
    return float(constant * d * n**2 * np.sqrt(log) / (lam * alpha * np.sqrt(m)))


def convergence_rate(
    size: float, *, n: float, eps: float, c: float, q: float, kappa: float, beta: float = 1.0
) -> float:
    """The fixed learning rate of :func:`convergence_steps`: ``eta = c eps beta alpha^2 / (q kappa^2 n^2)``.

    Raises ValueError where assumption (14) fails, ``eta c < 1``: steps as long as that do not contract, and nothing is
    known of their end.

    >>> convergence_rate(2, n=20, eps=0.1, c=1.0, q=10.0, kappa=1.0)
    0.0025
    >>> convergence_rate(2, n=20, eps=100.0, c=1.0, q=1.0, kappa=1.0)
    Traceback (most recent call last):
    ...
    ValueError: the step size 25 times the curvature c=1.0 must be below 1, assumption (14): take a smaller eps or beta
    """
    check_numbers(size=size, n=n, eps=eps, c=c, q=q, kappa=kappa, beta=beta)
    _check_convexity(c, q, beta)
    rate = c * eps * beta * _alpha(size, n) ** 2 / (q * kappa**2 * n**2)
    if rate * c >= 1.0:
        raise ValueError(
            f"the step size {rate:g} times the curvature c={c!r} must be below 1, assumption (14): take a smaller "
            "eps or beta"
        )
    return rate


def convergence_steps(
    size: float, *, n: float, a0: float, eps: float, c: float, q: float, kappa: float, beta: float = 1.0
) -> int:
    r"""Stochastic gradient steps after which ``E[g(w) - min g] <= eps`` (Proposition 5).

    (15): ``t >= q kappa^2 n^2 log(q a0 / eps) / (eps beta c^2 alpha^2)``, for the rate :func:`convergence_rate`: pieces
    that are ``alpha`` times smaller need ``alpha^2`` times fewer steps, since their gradients are ``alpha`` times
    shorter.

    *Why.* ``E|w_{t+1} - w*|^2 <= (1 - 2 eta c) E|w_t - w*|^2 + eta^2 kappa^2 (n/alpha)^2``. With this rate the
    second term adds up to at most ``eps beta / q``, and the first falls to ``(eps / q)^2 / a0`` in so many steps; the
    objective is at most ``q/2`` times their sum above its minimum. It needs (14), ``eta c < 1``, which
    :func:`convergence_rate` checks.

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
    check_numbers(a0=a0)
    convergence_rate(size, n=n, eps=eps, c=c, q=q, kappa=kappa, beta=beta)  # assumption (14)
    log = max(float(np.log(q * a0 / eps)), 0.0)  # a start that is near enough needs no step
    return int(np.ceil(q * kappa**2 * n**2 * log / (eps * beta * c**2 * _alpha(size, n) ** 2)))


def _alpha(size: float, n: float) -> float:
    if not 1.0 <= size <= n:
        raise ValueError(f"size must be from 1 to n={n}, the positions of a sample, got {size!r}")
    return n / size


def _check_convexity(c: float, q: float, beta: float) -> None:
    if c > q:
        raise ValueError(
            f"c={c!r} cannot exceed q={q!r}: a gradient changes at least as fast as strong convexity says"
        )
    if beta > 1.0:
        raise ValueError(f"beta must be at most 1, got {beta!r}")
