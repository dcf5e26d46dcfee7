"""Bounds of output-kernel regression: lemmas as properties, theorems on problems whose risk is known."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.bounds import (
    compression_bound,
    loss_constant,
    noise_term,
    output_kernel_loss,
    pac_bayes_bound,
    quadratic_bound,
    saturated_bound,
)

positive = st.floats(1e-3, 1e3)
words = st.lists(st.text("ab", min_size=1, max_size=4), min_size=2, max_size=6, unique=True)


def hamming(a, b):
    """Wrong positions, where the longer word has positions of its own."""
    return max(len(a), len(b)) - sum(x == y for x, y in zip(a, b))


def vectors(outputs):
    """Indicators of letters at positions: their inner products are the Hamming kernel."""
    out = np.zeros((len(outputs), 4, 2))
    for row, word in zip(out, outputs):
        row[range(len(word)), ["ab".index(letter) for letter in word]] = 1.0
    return out.reshape(len(outputs), -1)


# ------------------------------------------------------------------------------------------------- lemmas


@settings(max_examples=100, deadline=None)
@given(words, st.integers(0, 2**32 - 1), st.booleans())
def test_lemmas_hold_for_words_of_all_lengths(outputs, seed, one_length):
    outputs = sorted({word[:1] for word in outputs}) if one_length else outputs
    rng, rows = np.random.default_rng(seed), vectors(outputs)
    constant = loss_constant((rows**2).sum(axis=1))
    assert constant == (2.0 if len(set(map(len, outputs))) == 1 else 4.0)
    # Near an output, or between two, where the lemma is tight.
    mix = rng.dirichlet(np.full(len(rows), 0.3), size=20)
    votes = mix @ rows + rng.normal(scale=0.1, size=(20, rows.shape[1]))
    gaps = ((votes[:, None] - rows) ** 2).sum(axis=2)
    distance = np.array([[hamming(a, b) for b in outputs] for a in outputs], float)
    gram, norms = rows @ rows.T, (rows**2).sum(axis=1)
    for half in (True, False):
        own = output_kernel_loss(norms[:, None], norms, gram, half=half)
        if not half or constant == 2.0:
            assert np.all(distance <= own + 1e-9)
        if half and constant == 2.0:
            np.testing.assert_allclose(own, distance, atol=1e-9)
    for true in range(len(outputs)):
        loss = distance[true, gaps.argmin(axis=1)]
        assert np.all(loss <= quadratic_bound(gaps[:, true], constant) + 1e-9)
        for a in (4.0, 10.0):
            bound = saturated_bound(gaps[:, true], constant, a, largest=4.0)
            assert np.all(loss <= bound + 1e-9) and np.all(bound <= a * np.e / (np.e - 1.0))


def test_half_of_the_kernel_loss_is_not_enough_for_unequal_lengths():
    rows = vectors(["ab", "aba"])  # the ab and abcd, with two letters
    middle = rows.mean(axis=0)  # as near to one as to the other: the prediction may be the wrong one
    residual = ((rows[0] - middle) ** 2).sum()
    assert hamming("ab", "aba") == 1 > quadratic_bound(residual, 2.0)
    assert quadratic_bound(residual, 4.0) == 1  # and 4 is tight


def test_lemmas_are_tight():
    # Dirac, at the middle of two outputs: |r|^2 = 1/2 and the loss is 1.
    assert quadratic_bound(0.5, 2.0) == 1.0 == pytest.approx(saturated_bound(0.5, 2.0, a=1.0))


@given(st.floats(1.0, 20.0), st.floats(0.0, 50.0), st.floats(0.0, 50.0))
def test_saturated_bound_grows_and_exceeds_the_loss(a, r, more):
    low, high = saturated_bound([r, r + more], 4.0, a)
    assert low <= high + 1e-12
    assert low >= min(1.0, 4.0 * r) - 1e-9  # any loss in [0, 1] with D <= 4 r


# ----------------------------------------------------------------------------------------------- theorem 4


class Known:
    """Inputs that are unit vectors, outputs with the Dirac kernel, and the probability of every pair."""

    def __init__(self, seed, n_inputs, n_outputs, sharpness):
        rng = np.random.default_rng(seed)
        given_input = rng.dirichlet(np.full(n_outputs, sharpness), size=n_inputs)
        self.pairs = given_input / n_inputs
        self.rng = rng

    def counts(self, m, times):
        """How often each pair occurs in each of many training sets, shape (times, inputs, outputs)."""
        flat = self.rng.multinomial(m, self.pairs.ravel(), size=times)
        return flat.reshape(times, *self.pairs.shape).astype(float)

    @staticmethod
    def residual(weights, pairs):
        """Mean of ``|Y(y) - W X(x)|^2`` over pairs with these probabilities."""
        own = (weights**2).sum(axis=-1, keepdims=True) - 2.0 * weights + 1.0
        return (pairs * own).sum(axis=(-2, -1))

    def risk(self, weights):
        right = np.take_along_axis(
            np.broadcast_to(self.pairs, weights.shape), weights.argmax(axis=-1)[..., None], axis=-1
        )
        return 1.0 - right.sum(axis=(-2, -1))


@pytest.mark.parametrize("l2", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_theorem_4_holds_at_its_confidence(l2, delta):
    problem, m, times = Known(0, 8, 3, 0.2), 4000, 300
    counts = problem.counts(m, times)
    weights = counts / (counts.sum(axis=-1, keepdims=True) + l2)  # ridge regression
    residual, norm = problem.residual(weights, counts / m), (weights**2).sum(axis=(1, 2))
    given_ = {"m": m, "dimension": 3, "delta": delta, "constant": 2.0, "variance": [0.3, 0.1, 0.03, 0.01]}
    bound = np.array([pac_bayes_bound(r, w, **given_) for r, w in zip(residual, norm)])
    assert np.mean(problem.risk(weights) > bound) <= delta
    if l2 < 1000.0:
        assert bound.max() < 1.0  # it says something
    # What is proven before Lemma 2 makes it looser: the saturated residual of one variance.
    own = np.array(
        [
            -np.expm1(-2.0 * r - noise_term(0.1, 3) - (w / 0.2 + np.log(1 / delta)) / m)
            for r, w in zip(residual, norm)
        ]
    )
    gaps = (weights**2).sum(axis=-1, keepdims=True) - 2.0 * weights + 1.0
    true = (problem.pairs * -np.expm1(-2.0 * gaps / (1.0 + 4.0 * 0.1))).sum(axis=(1, 2))
    assert np.mean(true > own) <= delta


@given(st.floats(1e-4, 100.0), st.integers(1, 50), st.sampled_from([2.0, 4.0]))
def test_the_noise_never_cancels(variance, dimension, constant):
    """``E_V z - (-ln E_V e^-z)`` at residual 0, by Jensen's inequality, and by its formula."""
    term = noise_term(variance, dimension, constant)
    assert term > 0.0
    points, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()
    z = constant * variance * points**2
    if constant * variance < 2.0:  # where 64 points are exact enough
        assert term == pytest.approx(
            dimension * (weights @ z + np.log(weights @ np.exp(-z))), rel=1e-6, abs=1e-9
        )


@given(
    r=st.floats(0.0, 2.0), w=st.floats(0.0, 100.0), factor=st.floats(1.01, 10.0), delta=st.floats(1e-6, 0.99),
    variance=st.floats(1e-3, 1.0), form=st.sampled_from(["derived", "printed"]),
)  # fmt: skip
def test_theorem_4_is_monotone(r, w, factor, delta, variance, form):
    given_ = {"m": 100, "dimension": 3, "delta": delta, "variance": variance, "form": form}
    at = pac_bayes_bound(r, w, **given_)
    assert pac_bayes_bound(r * factor, w, **given_) >= at
    assert pac_bayes_bound(r, w * factor, **given_) >= at
    assert pac_bayes_bound(r, w, **given_ | {"delta": delta / factor}) >= at
    assert pac_bayes_bound(r, w, **given_ | {"m": 200}) <= at
    assert pac_bayes_bound(r, w, **given_ | {"dimension": 6}) >= at
    both = pac_bayes_bound(r, w, **given_ | {"variance": [variance, variance]})
    assert both >= at  # twice the same costs a share of delta


def test_printed_form_has_no_noise():
    given_ = {"m": 100, "delta": 0.05, "form": "printed"}
    assert pac_bayes_bound(0.1, 4.0, dimension=1, **given_) == pac_bayes_bound(
        0.1, 4.0, dimension=99, **given_
    )
    total = 0.2 + (3.0 + np.log(20.0)) / 100
    assert pac_bayes_bound(0.1, 4.0, dimension=1, **given_) == pytest.approx(
        5.0 * np.e / (np.e - 1.0) * (1.0 - np.exp(-total))
    )


# ----------------------------------------------------------------------------------------------- theorem 5


@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_theorem_5_holds_at_its_confidence(delta):
    """``A_ij = k / m^2`` where ``x_i = x_j``, else 0: with k = n^2 these are about the probabilities of outputs."""
    problem, m, times = Known(1, 2, 3, 0.1), 200_000, 200
    counts = problem.counts(m, times)
    for k in (4.0, 1.0):
        weights = k / m**2 * counts.sum(axis=-1, keepdims=True) * counts
        residual = problem.residual(weights, counts / m)
        given_ = {"m": m, "input_bound": 1.0, "output_bound": 1.0, "delta": delta, "constant": 2.0}
        bound = np.array([compression_bound(r, k, **given_) for r in residual])
        assert np.mean(2.0 * problem.residual(weights, problem.pairs) > bound) <= delta
        assert np.mean(problem.risk(weights) > bound) <= delta
        assert k == 1.0 or bound.max() < 1.0


def test_maurer_s_lemma():
    """``max_p E exp(n kl(mean, p)) = sum_k C(n, k) (k/n)^k (1 - k/n)^(n-k) <= 2 sqrt(n)``, from n = 4 = 8 - 4 on."""
    for n in (4, 5, 8, 20, 100, 1000):
        k = np.arange(n + 1)
        logs = np.array([lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) for j in k])
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = np.nan_to_num(k * np.log(k / n)) + np.nan_to_num((n - k) * np.log(1.0 - k / n))
        assert np.exp(logs + powers).sum() <= 2.0 * np.sqrt(n)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_the_pairs_of_theorem_5_average_to_the_residual_within_their_range(seed, k):
    """``|r|^2`` is the mean of the products over two draws from q, each between ``-+ B_Y (1 + k B_X)^2``."""
    rng, m = np.random.default_rng(seed), 3
    rows = rng.normal(size=(m + 1, 2))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))  # K_Y(y, y') at most 1
    values = rng.uniform(-1.0, 1.0, m)  # K_X(x_j, x)
    plus = rng.uniform(size=(m, m)) / m**2
    q = np.stack([plus, 1.0 / m**2 - plus])
    signs = np.array([1.0, -1.0])
    predictors = k * signs[:, None, None, None] * rows[:m][None, :, None, :] * values[None, None, :, None]
    gaps = (rows[m] - predictors).reshape(-1, 2)
    products = gaps @ gaps.T
    residual = rows[m] - np.einsum("sij,sijd->d", q, predictors)
    assert q.ravel() @ products @ q.ravel() == pytest.approx(residual @ residual)
    assert np.abs(products).max() <= (1.0 + k) ** 2 + 1e-9


@given(k=positive, factor=st.floats(1.01, 10.0), delta=st.floats(1e-6, 0.9), r=st.floats(0.0, 5.0))
def test_theorem_5_is_monotone(k, factor, delta, r):
    given_ = {"m": 50, "input_bound": 1.0, "output_bound": 2.0, "delta": delta}
    at = compression_bound(r, k, **given_)
    assert compression_bound(r, k * factor, **given_) > at
    assert compression_bound(r, k, **given_ | {"m": 100}) < at
    assert compression_bound(r, k, **given_ | {"delta": delta / factor}) > at
    assert compression_bound(r, k, **given_, n_tried=10) == pytest.approx(
        compression_bound(r, k, **given_ | {"delta": delta / 10})
    )
    assert compression_bound(r + 1.0, k, **given_) == pytest.approx(at + 2.0)


# --------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 7}, "m must be a finite number >= 8, got 7"),
        ({"delta": 1.0}, "delta must be a probability between 0 and 1, got 1.0"),
        ({"delta": 0}, "delta must be"),
        ({"input_bound": np.inf}, "input_bound must be a finite number > 0"),
        ({"output_bound": 0.0}, "output_bound must be"),
        ({"n_tried": 0}, "n_tried must be"),
        ({"k": -1.0}, "k must be a finite number >= 0"),
        ({"mean_residual": np.nan}, "mean_residual must be"),
    ],
)
def test_bad_arguments_of_theorem_5(change, message):
    given_ = {"mean_residual": 0.1, "k": 1.0, "m": 100, "input_bound": 1.0, "output_bound": 1.0}
    with pytest.raises(ValueError, match=message):
        compression_bound(**given_ | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variance": 0.0}, "variance must be a finite number > 0, got 0.0"),
        ({"variance": []}, "variance must be a number or several"),
        ({"dimension": 0}, "dimension must be"),
        ({"largest": 4.0}, "largest=4.0 exceeds a = 1 .* divide the loss"),
        ({"form": "other"}, "form must be 'derived' or 'printed'"),
        ({"form": "printed", "constant": 4.0}, "the printed form is for constant=2"),
        ({"squared_norm": -1.0}, "squared_norm must be"),
        ({"delta": True}, "delta must be"),
    ],
)
def test_bad_arguments_of_theorem_4(change, message):
    given_ = {"mean_residual": 0.1, "squared_norm": 1.0, "m": 100, "dimension": 2, "variance": 0.1}
    with pytest.raises(ValueError, match=message):
        pac_bayes_bound(**given_ | change)


def test_bad_arguments_of_the_lemmas():
    with pytest.raises(ValueError, match="number 1 is -1"):
        quadratic_bound([0.0, -1.0])
    with pytest.raises(ValueError, match="a must be a finite number >= 2"):
        saturated_bound([0.0], a=1.0, largest=2.0)
    with pytest.raises(ValueError, match="K\\(y, y\\) >= 0 of at least one output"):
        loss_constant([])
