"""The bounds of structure regularisation: limits, directions, and what they promise held against simulation."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.bounds import (
    convergence_rate,
    convergence_steps,
    lipschitz_stability,
    loss_stability,
    overfit_bound,
    overfit_bound_short,
    sample_loss_stability,
    stability,
    stability_bound,
    to_lambda,
)

positive = st.floats(0.01, 100.0)
settings = st.fixed_dictionaries(
    {
        "n": st.floats(1.0, 100.0),
        "m": st.integers(1, 10**6),
        "lam": st.floats(1e-6, 10.0),
        "d": st.integers(1, 1000),
        "tau": positive,
        "rho": positive,
        "v": positive,
    }
)
shares = st.floats(0.0, 1.0)


def size_of(share, n):
    return min(1.0 + share * (n - 1.0), n)


@given(given_=settings, share=shares, gamma=positive, delta=st.floats(1e-6, 0.99))
def test_formulas(given_, share, gamma, delta):
    """(24), (26), (29) as printed, in terms of alpha."""
    n, m, lam, d, tau, rho, v = (given_[name] for name in ("n", "m", "lam", "d", "tau", "rho", "v"))
    size = size_of(share, n)
    alpha = n / size
    of_piece = d * tau * rho**2 * v**2 * n**2 / (m * lam * alpha**2)
    assert stability(size, **given_, removed="piece") == pytest.approx(of_piece)
    assert stability(size, **given_) == pytest.approx(alpha * of_piece)
    assert loss_stability(size, **given_, removed="piece") == pytest.approx(tau * of_piece)
    assert sample_loss_stability(size, **given_, removed="piece") == pytest.approx(n * tau * of_piece)
    core = d * tau**2 * rho**2 * v**2 * n**2 / (m * lam * alpha)
    long = 2 * core + ((4 * m - 2) * core + gamma) * np.sqrt(np.log(1 / delta) / (2 * m))
    assert overfit_bound(size, **given_, gamma=gamma, delta=delta) == pytest.approx(long)


@given(given_=settings, share=shares, gamma=positive, delta=st.floats(1e-6, 0.99))
def test_short_form_bounds_the_long_one_tightly(given_, share, gamma, delta):
    size = size_of(share, given_["n"])
    long = overfit_bound(size, **given_, gamma=gamma, delta=delta)
    short = overfit_bound_short(size, **given_, gamma=gamma, delta=delta)
    assert long <= short * (1 + 1e-12) and short <= long * (1 + 1 / given_["m"])


@given(given_=settings, shares=st.tuples(shares, shares), gamma=positive)
def test_all_grow_with_the_size_of_pieces(given_, shares, gamma):
    small, large = (size_of(share, given_["n"]) for share in sorted(shares))
    for bound in (stability, loss_stability, sample_loss_stability):
        for removed in ("piece", "sample"):
            assert bound(small, **given_, removed=removed) <= bound(large, **given_, removed=removed) * (
                1 + 1e-12
            )
    for bound in (overfit_bound, overfit_bound_short):
        assert bound(small, **given_, gamma=gamma) <= bound(large, **given_, gamma=gamma) * (1 + 1e-12)


def logistic(w, z):
    return np.logaddexp(0.0, -z * w)


def minimiser(positive_, negative, lam):
    """Of ``positive loss(1) + negative loss(-1) + lam w^2 / 2``, where its slope changes sign."""
    low, high = np.full(len(positive_), -50.0), np.full(len(positive_), 50.0)
    for _ in range(100):
        w = (low + high) / 2
        slope = negative / (1 + np.exp(-w)) - positive_ / (1 + np.exp(w)) + lam * w
        low, high = np.where(slope < 0, w, low), np.where(slope < 0, high, w)
    return w


@pytest.mark.parametrize("lam", [0.1, 1.0])
@pytest.mark.parametrize("m", [20, 400])
def test_the_risk_is_below_the_bound_at_its_confidence(lam, m):
    """Labels z = 1 with probability p, ``loss = ln(1 + exp(-z w))``: minimiser, risk and probability are exact.

    A position with the single feature 1 and ``n = 1``: Lipschitz constant 1, as ``d = tau = rho = v = 1`` say.
    """
    positive_, p, delta = np.arange(m + 1), 0.7, 0.1
    share = positive_ / m
    w = minimiser(share, 1 - share, lam)
    risk = p * logistic(w, 1) + (1 - p) * logistic(w, -1)
    error = share * logistic(w, 1) + (1 - share) * logistic(w, -1)
    logs = np.array([lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) for k in positive_])
    probability = np.exp(logs + positive_ * np.log(p) + (m - positive_) * np.log(1 - p))
    gamma = np.log(2.0) + min(1 / lam, np.sqrt(2 * np.log(2.0) / lam))
    bound = stability_bound(lipschitz_stability(1.0, m=m, lam=lam), m=m, gamma=gamma, delta=delta)
    assert bound == pytest.approx(overfit_bound(1, n=1, m=m, lam=lam, d=1, gamma=gamma, delta=delta))
    assert probability[risk > error + bound].sum() <= delta
    assert np.all(gamma >= logistic(w, -1)) and np.all(gamma >= logistic(w, 1))
    # One sample less, here a positive one: no loss changes by more than the stability says.
    fewer = minimiser(share[1:] - 1 / m, 1 - share[1:], lam)
    for z in (1, -1):
        moved = np.abs(logistic(fewer, z) - logistic(w[1:], z))
        assert 0.0 < moved.max() <= lipschitz_stability(1.0, m=m, lam=lam)


def test_a_gap_of_the_solver_is_paid_for():
    exact = lipschitz_stability(2.0, m=50, lam=0.5)
    assert lipschitz_stability(2.0, m=50, lam=0.5, missed=1e-6) == pytest.approx(exact + 4 * np.sqrt(4e-6))


@given(change=positive, m=st.integers(2, 10**6), gamma=positive, delta=st.floats(1e-6, 0.9))
def test_stability_bound_is_monotone(change, m, gamma, delta):
    at = stability_bound(change, m=m, gamma=gamma, delta=delta)
    assert stability_bound(2 * change, m=m, gamma=gamma, delta=delta) > at
    assert stability_bound(change, m=m, gamma=2 * gamma, delta=delta) > at
    assert stability_bound(change, m=m, gamma=gamma, delta=delta / 2) > at
    # A change that falls as 1 / m makes the bound fall, too.
    assert stability_bound(change / 4, m=4 * m, gamma=gamma, delta=delta) < at


def test_without_cuts_it_is_the_baseline():
    given_ = {"n": 20, "m": 500, "lam": 0.1, "d": 7, "tau": 2.0, "rho": 0.5, "v": 3.0}
    base = 7 * 2.0 * 0.25 * 9.0 * 400 / (500 * 0.1)
    assert stability(20, **given_) == pytest.approx(base) == stability(20, **given_, removed="piece")
    assert stability(1, **given_) == pytest.approx(base / 20)
    assert stability(1, **given_, removed="piece") == pytest.approx(base / 400)


def test_directions():
    given_ = {"n": 20, "m": 500, "lam": 0.1, "d": 7, "gamma": 1.0, "delta": 0.05}
    bound = overfit_bound(5.5, **given_)
    for better in ({"lam": 0.2}, {"m": 1000}, {"delta": 0.1}, {"d": 6}, {"gamma": 0.5}):
        assert overfit_bound(5.5, **(given_ | better)) < bound
    # Without the loss of a position, pieces and penalty are exchangeable, as the paper stresses.
    tiny = given_ | {"gamma": 1e-12}
    assert overfit_bound(10, **(tiny | {"lam": 0.1})) == pytest.approx(
        overfit_bound(20, **(tiny | {"lam": 0.2}))
    )
    assert overfit_bound(5.5, **(given_ | {"m": 10**14})) < 1e-3 * bound


def test_bare_short_form_is_the_paper_s_rate():
    given_ = {"n": 10, "m": 400, "lam": 0.5, "d": 3, "gamma": 1.0, "delta": np.exp(-1.0)}
    assert overfit_bound_short(5, **given_, constant=1) == pytest.approx(3 * 100 / (0.5 * 2 * 20))


def test_penalty_on_palmette_s_scale():
    """The objectives differ by the factor m n, so they have the same minimiser."""
    l2, m, n, loss, norm = 3.0, 50, 12, 7.0, 2.0
    assert to_lambda(l2, m, n) / 2 * norm + loss / (m * n) == pytest.approx((loss + l2 / 2 * norm) / (m * n))


# ----------------------------------------------------------------------------------------------- convergence


@given(share=shares, n=st.floats(1.0, 50.0), beta=st.floats(0.1, 1.0), eps=st.floats(1e-3, 1.0))
def test_pieces_need_quadratically_fewer_steps(share, n, beta, eps):
    given_ = {"n": n, "eps": eps, "c": 0.5, "q": 2.0, "kappa": 1.5, "beta": beta}
    size = size_of(share, n)
    alpha = n / size
    whole, cut = (convergence_steps(s, a0=100.0, **given_) for s in (n, size))
    assert cut <= whole
    assert cut - 1 <= whole / alpha**2 <= cut * (1 + 1e-9) + 1
    assert convergence_rate(size, **given_) == pytest.approx(alpha**2 * convergence_rate(n, **given_))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_steps_are_enough(size):
    """``g(w) = E (w - z)^2 / 2`` with z in {-1, 1}: gradients of at most 2 = kappa size, and c = q = 1."""
    n, eps, kappa, start = 4, 0.05, 2.0 / size, 1.0
    given_ = {"n": n, "eps": eps, "c": 1.0, "q": 1.0, "kappa": kappa}
    steps, rate = convergence_steps(size, a0=start**2, **given_), convergence_rate(size, **given_)
    rng, w = np.random.default_rng(0), np.full(2000, start)
    for _ in range(steps):
        w -= rate * (w - rng.choice([-1.0, 1.0], len(w)))
    assert np.mean(w**2) / 2 <= eps


def test_near_enough_needs_no_step():
    assert convergence_steps(2, n=4, a0=0.01, eps=1.0, c=1.0, q=2.0, kappa=1.0) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0.5}, "size must be from 1 to n=20"),
        ({"size": 21}, "size must be from 1 to n=20"),
        ({"lam": 0.0}, "lam must be a finite number > 0"),
        ({"m": -1}, "m must be a finite number > 0"),
        ({"d": np.inf}, "d must be"),
        ({"delta": 1.0}, "delta must be a probability"),
        ({"gamma": "1"}, "gamma must be"),
    ],
)
def test_bad_arguments(change, message):
    given_ = {"size": 5, "n": 20, "m": 10, "lam": 1.0, "d": 2, "gamma": 1.0, "delta": 0.1} | change
    for bound in (overfit_bound, overfit_bound_short):
        with pytest.raises(ValueError, match=message):
            bound(**given_)


def test_bad_arguments_of_convergence():
    given_ = {"n": 4, "eps": 0.1, "c": 1.0, "q": 2.0, "kappa": 1.0}
    with pytest.raises(ValueError, match="cannot exceed q"):
        convergence_rate(2, **(given_ | {"c": 3.0}))
    with pytest.raises(ValueError, match="beta must be at most 1"):
        convergence_steps(2, a0=1.0, beta=2.0, **given_)
    # assumption (14): eta c = c^2 eps beta alpha^2 / (q kappa^2 n^2) < 1
    for bound in (convergence_rate, convergence_steps):
        start = {"a0": 1.0} if bound is convergence_steps else {}
        bound(2, **start, **(given_ | {"eps": 7.99}))
        with pytest.raises(ValueError, match=r"step size 1 times the curvature c=1.0 .*assumption \(14\)"):
            bound(2, **start, **(given_ | {"eps": 8.0}))
    with pytest.raises(ValueError, match="'sample' or 'piece'"):
        stability(2, n=4, m=1, lam=1.0, d=1, removed="all")
