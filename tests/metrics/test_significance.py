"""Tallies, bootstrap intervals and tests of significance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from palmette.metrics import (
    Tally,
    bootstrap_interval,
    chunk_report,
    compare,
    pooled,
    tally_accuracy,
    tally_chunks,
    token_accuracy,
)

label = st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y"])
pairs = st.lists(st.lists(st.tuples(label, label), min_size=1, max_size=8), min_size=1, max_size=5)


def simulated(rng, n, p, length=20):
    """A tally of n sentences whose tokens are right with probability p, more alike within a sentence."""
    share = rng.beta(10 * p, 10 * (1 - p), size=n)
    return Tally("accuracy", rng.binomial(length, share), np.full(n, length))


@given(pairs)
def test_tallies_add_up_to_the_scores(data):
    true, predicted = [[a for a, _ in s] for s in data], [[b for _, b in s] for s in data]
    assert tally_accuracy(true, predicted).score == pytest.approx(token_accuracy(true, predicted))
    overall = chunk_report(true, predicted).overall
    for score in ("f1", "precision", "recall"):
        tally = tally_chunks(true, predicted, score)
        assert tally.score == pytest.approx(getattr(overall, score))
        one_by_one = [tally_chunks([t], [p], score) for t, p in zip(true, predicted)]
        assert tally.numerator.tolist() == [int(each.numerator[0]) for each in one_by_one]
        assert tally.denominator.tolist() == [int(each.denominator[0]) for each in one_by_one]


def test_interval_has_the_coverage_it_claims(rng):
    """80 % intervals of a known accuracy: between 72 and 88 % of 200 contain it (4 standard errors wide)."""
    hits = 0
    for _ in range(200):
        interval = bootstrap_interval(simulated(rng, 120, 0.8), level=0.8, n_resamples=300, random_state=rng)
        hits += interval.low <= 0.8 <= interval.high
    assert abs(hits / 200 - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 200)


def test_interval_agrees_with_the_normal_approximation(rng):
    tally = simulated(rng, 1000, 0.9)
    interval = bootstrap_interval(tally)
    error = (tally.numerator / 20).std() / np.sqrt(1000)
    width = 2 * stats.norm.ppf(0.975) * error
    assert interval.high - interval.low == pytest.approx(width, rel=0.1)
    assert interval.low < interval.score == tally.score < interval.high


def test_wider_levels_contain_narrower_ones(rng):
    tally = simulated(rng, 50, 0.7)
    low, high = (bootstrap_interval(tally, level=level) for level in (0.5, 0.99))
    assert high.low < low.low < low.high < high.high


def test_sentences_are_resampled_not_tokens():
    """One long wrong sentence among right ones: the interval reaches from all right to mostly wrong."""
    tally = Tally("accuracy", np.array([0, 10, 10, 10]), np.array([100, 10, 10, 10]))
    interval = bootstrap_interval(tally)
    assert interval.low < 0.1 and interval.high == 1.0


@pytest.mark.parametrize("method", ["bootstrap", "randomization"])
def test_p_values_of_equal_systems_are_uniform(rng, method):
    p_values = [
        compare(
            simulated(rng, 60, 0.8),
            simulated(rng, 60, 0.8),
            method=method,
            n_resamples=200,
            random_state=rng,
        ).p_value
        for _ in range(200)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("method", ["bootstrap", "randomization"])
def test_a_clear_difference_is_significant_and_none_is_not(rng, method):
    worse, better = simulated(rng, 400, 0.8), simulated(rng, 400, 0.9)
    clear = compare(better, worse, method=method)
    assert clear.p_value == 1 / 10_001 and clear.low > 0
    assert clear.difference == pytest.approx(better.score - worse.score)
    mirrored = compare(worse, better, method=method)
    assert mirrored.difference == -clear.difference and mirrored.p_value == clear.p_value
    same = compare(better, better, method=method)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    assert method in str(clear)


def test_randomization_is_the_exact_test_for_few_sentences():
    """All 2^6 exchanges by hand."""
    system = Tally("chunk f1", np.array([4, 6, 2, 8, 4, 2]), np.array([5, 6, 4, 9, 4, 4]))
    baseline = Tally("chunk f1", np.array([4, 4, 2, 6, 2, 0]), np.array([6, 6, 5, 9, 4, 4]))
    extreme = 0
    for code in range(64):
        swap = np.array([code >> k & 1 for k in range(6)], bool)
        ratios = [
            np.where(swap, b.numerator, a.numerator).sum()
            / np.where(swap, b.denominator, a.denominator).sum()
            for a, b in ((system, baseline), (baseline, system))
        ]
        extreme += abs(ratios[0] - ratios[1]) >= abs(system.score - baseline.score) - 1e-12
    found = compare(system, baseline, n_resamples=40_000).p_value
    assert found == pytest.approx(extreme / 64, abs=4 * np.sqrt(0.25 / 40_000))


def test_results_are_deterministic(rng):
    a, b = simulated(rng, 30, 0.7), simulated(rng, 30, 0.75)
    assert bootstrap_interval(a) == bootstrap_interval(a)
    assert compare(a, b) == compare(a, b)
    assert bootstrap_interval(a, random_state=1) != bootstrap_interval(a, random_state=2)


def test_blocks_make_no_difference(rng, monkeypatch):
    tally = simulated(rng, 40, 0.7)
    whole = bootstrap_interval(tally, n_resamples=500)
    monkeypatch.setattr("palmette.metrics.significance._CELLS", 100)
    assert bootstrap_interval(tally, n_resamples=500) == whole


def test_nothing_to_find_scores_zero():
    tally = tally_chunks([["O"], ["O", "O"]], [["O"], ["O", "O"]])
    assert tally.score == 0.0
    assert str(bootstrap_interval(tally)) == "0.00 [0.00, 0.00]"


def test_pooled_runs():
    runs = [
        Tally("word f1", np.array([1, 2]), np.array([2, 2])),
        Tally("word f1", np.array([0, 2]), np.array([2, 4])),
    ]
    both = pooled(runs)
    assert both.numerator.tolist() == [1, 4] and both.denominator.tolist() == [4, 6] and both.score == 0.5
    with pytest.raises(ValueError, match="one score on the same sentences"):
        pooled([runs[0], Tally("accuracy", np.array([1, 2]), np.array([2, 2]))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, "level must be between 0 and 1"),
        ({"n_resamples": 0}, "n_resamples must be at least 1"),
    ],
)
def test_bad_arguments(rng, options, message):
    tally = simulated(rng, 5, 0.5)
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(tally, **options)
    with pytest.raises(ValueError, match=message):
        compare(tally, tally, **options)


def test_what_cannot_be_compared(rng):
    tally = simulated(rng, 5, 0.5)
    with pytest.raises(ValueError, match="accuracy of 5 sentences, the baseline accuracy of 6"):
        compare(tally, simulated(rng, 6, 0.5))
    with pytest.raises(ValueError, match="method must be 'bootstrap' or 'randomization', got 't-test'"):
        compare(tally, tally, method="t-test")
    with pytest.raises(ValueError, match="no sentences to resample"):
        bootstrap_interval(Tally("accuracy", np.array([]), np.array([])))
