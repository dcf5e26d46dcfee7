r"""How far the risk of output-kernel regression can be above its squared error in training.

S. Giguere, F. Laviolette, M. Marchand and K. Sylla, "Risk bounds and learning algorithms for the regression approach to
structured output prediction" (ICML 2013), as functions of numbers. Outputs are vectors ``Y(y)`` with
``<Y(y), Y(y')> = K_Y(y, y')``, a predictor is a linear map W, its residual ``r = Y(y) - W X(x)``, and its answer the
output whose vector is nearest to ``W X(x)``.

**The loss of an output kernel and the constant c.** The nearest vector is at most as far from ``W X(x)`` as ``Y(y)``
is, so ``|Y(y) - Y(y*)|^2 <= 4 |r|^2``. The left-hand side is ``K(y,y) + K(y*,y*) - 2 K(y,y*)``. For the Dirac kernel
that is twice the 0/1 loss, and for the Hamming kernel of words of one length twice the Hamming distance, where the text
says "identical". Half of it is identical, and gives ``D <= c |r|^2`` with c = 2. This needs a ``K(y, y)`` that
is the same for all outputs. The Hamming kernel of words of all lengths gives ``ab`` and ``abcd`` the distance 2 and
half of the kernel's loss 1: there only the whole bounds the distance, and c = 4. :func:`loss_constant` chooses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.bounds.arguments import check_numbers, log_inverse

E = float(np.e / (np.e - 1.0))
PRINTED_A = 5.0  # a, and the s^2 of the penalty, of Theorem 4 as it is printed
PRINTED_VARIANCE = 2.0 / 3.0


def output_kernel_loss(own: Any, predicted: Any, cross: Any, *, half: bool) -> np.ndarray:
    """``K(y,y) + K(y',y') - 2 K(y,y')``, or half of it.

    Parameters
    ----------
    own, predicted, cross : arrays
        ``K(y, y)``, ``K(y', y')`` and ``K(y, y')``.
    half : bool

    Examples
    --------
    The Dirac kernel at two outputs that differ; the Hamming kernel at ``ab`` and ``abcd``, whose distance is 2.

    >>> float(output_kernel_loss(1, 1, 0, half=True)), float(output_kernel_loss(2, 4, 2, half=True))
    (1.0, 1.0)
    """
    whole = np.asarray(own, float) + np.asarray(predicted, float) - 2.0 * np.asarray(cross, float)
    return 0.5 * whole if half else whole


def loss_constant(norms: Any, tol: float = 1e-9) -> float:
    """The c of ``D <= c |r|^2`` for a kernel that says how many parts outputs share: 2 or 4.

    Parameters
    ----------
    norms : array
        ``K_Y(y, y)`` of the outputs that can be predicted. If all are the same, half of the kernel's loss is D and c is
        2; otherwise only the whole bounds D, and c is 4.
    tol : float
        Relative difference up to which norms count as the same.

    Examples
    --------
    >>> loss_constant([3, 3, 3]), loss_constant([2, 4])
    (2.0, 4.0)
    """
    norms = np.asarray(norms, float).ravel()
    if not len(norms) or not np.all(np.isfinite(norms)) or norms.min() < 0.0:
        raise ValueError("norms must be the numbers K(y, y) >= 0 of at least one output, all finite")
    return 2.0 if np.ptp(norms) <= tol * max(1.0, float(norms.max())) else 4.0


def quadratic_bound(residuals: Any, constant: float = 4.0) -> np.ndarray:
    """Lemma 1: ``D(y, y*) <= c |r|^2`` of every sample.

    Parameters
    ----------
    residuals : array
        ``|r|^2 = |Y(y) - W X(x)|^2``.
    constant : float
        c, of :func:`loss_constant`; the text has 4.

    Examples
    --------
    >>> quadratic_bound([0.25, 1.0], constant=2.0)
    array([0.5, 2. ])
    """
    check_numbers(constant=constant)
    return constant * _residuals(residuals)


def saturated_bound(
    residuals: Any, constant: float = 4.0, a: float = 1.0, largest: float = 1.0
) -> np.ndarray:
    r"""Lemma 2: ``D <= a e/(e-1) (1 - exp(-(c/a) |r|^2))``, which stays bounded where Lemma 1 grows.

    It follows from Lemma 1 and ``u <= e/(e-1) (1 - e^-u)`` on [0, 1] at ``u = D / a``, and so needs
    ``a >= largest``, the largest loss. The text has ``largest = 1`` and c = 4.

    Examples
    --------
    >>> saturated_bound([0.0, 0.1, 100.0], constant=2.0).round(3)
    array([0.   , 0.287, 1.582])
    """
    check_numbers(constant=constant, largest=largest)
    check_numbers(a=a, least=largest)
    return a * E * -np.expm1(-constant / a * _residuals(residuals))


def noise_term(variance: float, dimension: int, constant: float = 2.0) -> float:
    r"""``N_Y (c s^2 - ln(1 + 2 c s^2) / 2)``, what noise of the weights costs in Theorem 4; always above 0.

    >>> round(noise_term(1.0, 3), 3), noise_term(0.01, 3) < 0.002
    (3.586, True)
    """
    check_numbers(variance=variance, constant=constant)
    check_numbers(least=1, dimension=dimension)
    return float(dimension * (constant * variance - 0.5 * np.log1p(2.0 * constant * variance)))


def pac_bayes_bound(
    mean_residual: float, squared_norm: float, *, m: int, dimension: int, delta: float = 0.05, variance: Any = 1.0,
    constant: float = 2.0, largest: float = 1.0, form: str = "derived",
) -> float:  # fmt: skip
    r"""Theorem 4: a bound on the risk that holds for all predictors W at once, with probability ``1 - delta``.

    ``E D <= a e/(e-1) (1 - exp(-T))``, ``a = 1 + 2 c s^2``,

        ``T = c mean_i |r_i|^2 + N_Y (c s^2 - ln(1 + 2 c s^2)/2) + (|W|^2 / (2 s^2) + ln(1/delta)) / m``.

    *Derivation.* Theorem 3 with the loss ``z = c |Y(y) - V X(x)|^2``, the prior ``V ~ N(0, s^2 I)`` and the posterior
    ``N(W, s^2 I)``: ``E_V[-ln E_D e^-z] <= (1/m) (sum_i E_V z_i + KL + ln(1/delta))`` with ``KL = |W|^2 / (2 s^2)``.
    ``V X(x)`` is normal with mean ``W X(x)`` and variance ``s^2 K_X(x,x) = s^2``, so
    ``E_V z_i = c |r_i|^2 + c s^2 N_Y``, and by Jensen's inequality the left-hand side is at least
    ``-ln E_D E_V e^-z = (N_Y/2) ln(1 + 2 c s^2) - ln E_D exp(-c |r|^2 / (1 + 2 c s^2))``.
    Lemma 2 at ``a = 1 + 2 c s^2`` ends it.

    *How it differs from the print.* The text says that s can be chosen so that the two terms of noise cancel. They
    cannot: ``c s^2 > ln(1 + 2 c s^2)/2`` for every s > 0, as Jensen's inequality says, too, and :func:`noise_term`
    stays. A small s makes it small. The input features may be of infinite dimension, since a Gaussian process takes the
    place of V; that of the outputs, ``N_Y``, must be finite.

    Parameters
    ----------
    mean_residual : float
        Mean of ``|r_i|^2`` over the training samples.
    squared_norm : float
        ``|W|^2``, sum of the squares of its singular values.
    m : int
        Training samples.
    dimension : int
        ``N_Y``, dimension of the output vectors.
    delta : float, default=0.05
    variance : float or sequence of float, default=1
        ``s^2``, fixed before the data is seen. Of several the best counts, each with its share of ``delta``.
    constant : float, default=2
        c, of :func:`loss_constant`.
    largest : float, default=1
        Largest loss D, at most a.
    form : {"derived", "printed"}
        ``"printed"`` leaves out the term of noise, and has ``s^2 = 2/3`` in T and a = 5: the formula of the text as
        far as it can be read, which nothing proves. It is for c = 2.

    Notes
    -----
    Assumes that ``K_X(x, x) = 1`` for all inputs; where it is another constant, divide the kernel by it.

    Examples
    --------
    >>> given = dict(m=10_000, dimension=10, delta=0.05)
    >>> round(pac_bayes_bound(0.05, 20.0, variance=0.02, **given), 3)
    0.261
    >>> pac_bayes_bound(0.05, 20.0, variance=1.0, **given) > 1  # vacuous
    True
    """
    check_numbers(least=0.0, mean_residual=mean_residual, squared_norm=squared_norm)
    check_numbers(constant=constant, largest=largest)
    check_numbers(least=1, m=m, dimension=dimension)
    log = log_inverse(delta)
    if form == "printed":
        if constant != 2.0:
            raise ValueError(f"the printed form is for constant=2, got {constant!r}")
        total = 2.0 * mean_residual + (squared_norm / (2.0 * PRINTED_VARIANCE) + log) / m
        return float(PRINTED_A * E * -np.expm1(-total))
    if form != "derived":
        raise ValueError(f"form must be 'derived' or 'printed', got {form!r}")
    variances = np.atleast_1d(variance).tolist()
    if not variances:
        raise ValueError("variance must be a number or several, got none")
    found = []
    for own in variances:
        noise, a = noise_term(own, dimension, constant), 1.0 + 2.0 * constant * own
        if a < largest:
            raise ValueError(
                f"largest={largest!r} exceeds a = 1 + 2 c s^2 = {a:g}: divide the loss by it, or take a variance of at "
                f"least {(largest - 1.0) / (2.0 * constant):g}"
            )
        total = (
            constant * mean_residual + noise + (squared_norm / (2.0 * own) + log + np.log(len(variances))) / m
        )
        found.append(a * E * -np.expm1(-total))
    return float(min(found))


def compression_bound(
    mean_residual: float, k: float, *, m: int, input_bound: float, output_bound: float, delta: float = 0.05,
    constant: float = 2.0, n_tried: int = 1,
) -> float:  # fmt: skip
    r"""Theorem 5: a bound on the risk for all ``W = sum_ij A_ij Y(y_i) X(x_j)'`` with ``|A_ij| <= k / m^2``.

    With probability ``1 - delta``, ``E D <= c (mean_i |r_i|^2 + excess)``,

        ``excess = (b - a) [4/m + sqrt((2 ln 2 + ln(2 sqrt(m) / delta)) / (2 (m - 4)))]``,
        ``b - a = 2 B_Y (1 + k B_X)^2``.

    *Derivation.* The formula is lost in the text; its proof is not. Write ``A_ij = k (q+ - q-)`` with
    ``q+ + q- = 1/m^2``. Then ``|r|^2`` is the mean, over two draws from q, of
    ``<Y(y) - k s Y(y_i) K_X(x_i', x), Y(y) - k t Y(y_j) K_X(x_j', x)>``, which lies in an interval of length
    ``b - a``. Such a pair is made of at most 4 samples, and what the other ``m - 4`` or more say of it is an unbiased
    mean, off by at most ``4 (b - a)/m`` from that of all m. By Pinsker's inequality and Maurer's lemma,
    ``E exp((m - 4) 2 (mean - risk)^2 / (b - a)^2) <= 2 sqrt(m)`` for each pair. The change of measure from the uniform
    distribution of pairs to q costs ``2 KL(q, p) <= 2 ln 2``, and Jensen's inequality gives the excess.

    Parameters
    ----------
    mean_residual : float
        Mean of ``|r_i|^2`` over the training samples.
    k : float
        ``m^2`` times the bound on the entries of A, fixed before the data is seen. SOSC with ``|A|_F <= R`` has
        ``k = m^2 R``.
    m : int
        Training samples, at least 8.
    input_bound, output_bound : float
        ``B_X >= |K_X(x, x')|`` and ``B_Y >= |K_Y(y, y')|`` for all inputs and outputs.
    delta : float, default=0.05
    constant : float, default=2
        c, of :func:`loss_constant`.
    n_tried : int, default=1
        Values of k (or R) of which the best was chosen on the same data: each has its share of ``delta``.

    Examples
    --------
    >>> given = dict(input_bound=1.0, output_bound=1.0, constant=2.0)
    >>> round(compression_bound(0.05, 1.0, m=100_000, **given), 3)
    0.218
    >>> compression_bound(0.05, 100.0, m=100_000, **given) > 1  # vacuous
    True
    """
    check_numbers(least=8, m=m)
    check_numbers(least=0.0, mean_residual=mean_residual, k=k)
    check_numbers(least=1, n_tried=n_tried)
    check_numbers(input_bound=input_bound, output_bound=output_bound, constant=constant)
    length = 2.0 * output_bound * (1.0 + k * input_bound) ** 2
    logs = 2.0 * np.log(2.0) + np.log(2.0 * np.sqrt(m)) + log_inverse(delta) + np.log(n_tried)
    excess = length * (4.0 / m + np.sqrt(logs / (2.0 * (m - 4.0))))
    return float(constant * (mean_residual + excess))


def _residuals(residuals: Any) -> np.ndarray:
    values = np.asarray(residuals, float)
    bad = np.flatnonzero(~(values.ravel() >= 0.0))
    if len(bad):
        raise ValueError(
            f"residuals are squared norms >= 0, but number {bad[0]} is {values.ravel()[bad[0]]:g}"
        )
    return values
