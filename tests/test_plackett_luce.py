"""Plackett-Luce likelihood, its ties, samples and estimator, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.surrogates.plackett_luce import TIES, PlackettLuceLoss, uninformative

EPS = np.finfo(float).eps


def order_probability(scores, order, top=None):
    """Of one order, place by place."""
    left, p = list(range(len(scores))), 1.0
    for d in order[:top]:
        weight = np.exp(scores[left] - scores[left].max())
        p *= weight[left.index(d)] / weight.sum()
        left.remove(d)
    return p


def enumerated(scores, grades, top=None):
    """-log of the summed probability of all orders that the grades allow; groups beginning after ``top`` are free."""
    ideal = np.sort(grades)[::-1]
    counts = [g for i, g in enumerate(ideal) if top is None or list(ideal).index(g) < top]
    p = 0.0
    for order in itertools.permutations(range(len(scores))):
        if all(grades[d] == g for d, g in zip(order, counts)):
            p += order_probability(scores, order)
    return -math.log(p)


def one(loss, scores, grades):
    values, gradient = loss.on(np.asarray(scores, float), np.asarray(grades), np.array([0, len(scores)]))
    return values[0], gradient


scores_and_grades = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-5, 5), min_size=n, max_size=n).map(np.array),
        st.lists(st.integers(0, 3), min_size=n, max_size=n).map(np.array),
    )
)


@given(scores_and_grades, st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=60, deadline=None)
def test_exact_is_the_sum_over_all_orders_that_the_grades_allow(data, top):
    scores, grades = data
    value, _ = one(PlackettLuceLoss(top=top), scores, grades)
    assert value == pytest.approx(enumerated(scores, grades, top), rel=1e-12, abs=1e-12)


@given(scores_and_grades, st.sampled_from(TIES), st.sampled_from([None, 1, 2]))
@settings(max_examples=60, deadline=None)
def test_gradient_by_finite_differences(data, ties, top):
    scores, grades = data
    loss, h = PlackettLuceLoss(ties, top), 1e-3
    _, gradient = one(loss, scores, grades)
    for d in range(len(scores)):  # five points: the error is of the order of h^4
        at = [one(loss, scores + np.eye(len(scores))[d] * h * i, grades)[0] for i in (-2, -1, 1, 2)]
        assert gradient[d] == pytest.approx((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h), abs=1e-9)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-12)


@given(scores_and_grades, st.sampled_from(TIES), st.sampled_from([None, 1, 2]), st.integers(0, 999))
@settings(max_examples=100, deadline=None)
def test_convex_and_not_negative(data, ties, top, seed):
    scores, grades = data
    loss = PlackettLuceLoss(ties, top)
    other = scores + np.random.default_rng(seed).normal(size=len(scores)) * 3
    value, gradient = one(loss, scores, grades)
    assert value >= 0.0
    assert one(loss, other, grades)[0] >= value + gradient @ (other - scores) - 1e-12


@given(scores_and_grades, st.sampled_from([None, 1, 2]))
@settings(max_examples=60, deadline=None)
def test_exact_below_efron_below_breslow(data, top):
    scores, grades = data
    exact, efron, breslow = (one(PlackettLuceLoss(ties, top), scores, grades)[0] for ties in TIES)
    assert exact <= efron + 1e-12 and efron <= breslow + 1e-12


@given(scores_and_grades, st.floats(-300, 300))
@settings(max_examples=30, deadline=None)
def test_a_common_shift_changes_nothing(data, shift):
    scores, grades = data
    for ties in TIES:
        value, gradient = one(PlackettLuceLoss(ties), scores, grades)
        moved, same = one(PlackettLuceLoss(ties), scores + shift, grades)
        assert moved == pytest.approx(value, abs=1e-11) and same == pytest.approx(gradient, abs=1e-11)


@pytest.mark.parametrize("ties", TIES)
def test_complete_orders_have_the_probability_place_by_place(ties):
    scores = np.random.default_rng(0).normal(size=7) * 2
    order = np.random.default_rng(1).permutation(7)
    grades = np.empty(7, int)
    grades[order] = np.arange(7)[::-1]
    for top in (None, 1, 3, 7, 100):
        value, _ = one(PlackettLuceLoss(ties, top), scores, grades)
        assert value == pytest.approx(-math.log(order_probability(scores, order, top)), rel=1e-13)


def test_efron_is_exact_where_the_scores_of_a_group_are_equal():
    grades = np.array([2, 1, 1, 0, 2, 1, 0])
    scores = np.array([0.3, -1.0, 2.0])[grades]
    assert one(PlackettLuceLoss("efron"), scores, grades)[0] == pytest.approx(
        one(PlackettLuceLoss(), scores, grades)[0], rel=1e-13
    )


@pytest.mark.parametrize("m", [2, 30, 1000])
@pytest.mark.parametrize("a", [-300.0, -60.0, -20.0, -3.0, 0.0, 3.0, 10.0, 40.0])
def test_large_groups_of_equal_scores_in_closed_form(m, a):
    """P = prod_k k r / (1 + k r) with r = e^a: the first of k equal clocks against one rival, k = m, ..., 1."""
    grades = np.append(np.ones(m, int), 0)
    value, gradient = one(PlackettLuceLoss(), np.append(np.full(m, a), 0.0), grades)
    k = np.arange(1.0, m + 1)
    expected = np.sum(np.logaddexp(0.0, -a - np.log(k)))
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert gradient[-1] == pytest.approx(np.sum(1.0 / (1.0 + k * np.exp(a))), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("ties", TIES)
def test_extreme_scores_stay_finite(ties):
    scores = np.array([900.0, -900.0, 0.0, 5e4, -5e4, 1.0])
    for grades in itertools.product(range(2), repeat=6):
        value, gradient = one(PlackettLuceLoss(ties), scores, grades)
        assert np.isfinite(value) and np.all(np.isfinite(gradient)) and np.all(np.abs(gradient) <= 6)
    assert one(PlackettLuceLoss(ties), [-1000.0, 0.0], [1, 0])[0] == pytest.approx(1000.0)


def test_queries_do_not_touch_each_other_and_weights_multiply_the_gradient():
    rng = np.random.default_rng(3)
    sizes = [4, 1, 6, 3]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores, grades = rng.normal(size=14), rng.integers(0, 3, 14)
    weight = np.array([2.0, 1.0, 0.5, 0.0])
    values, gradient = PlackettLuceLoss().on(scores, grades, offsets, weight)
    for q, (a, b) in enumerate(itertools.pairwise(offsets)):
        value, own = one(PlackettLuceLoss(), scores[a:b], grades[a:b])
        assert values[q] == value
        assert gradient[a:b] == pytest.approx(weight[q] * own, rel=1e-15)


@pytest.mark.parametrize("ties", TIES)
def test_queries_without_an_order_contribute_nothing(ties):
    scores, grades, offsets = np.array([1.0, 2.0, 3.0, -1.0]), np.array([1, 1, 1, 7]), np.array([0, 3, 4])
    values, gradient = PlackettLuceLoss(ties).on(scores, grades, offsets)
    assert not values.any() and not gradient.any()
    assert uninformative(grades, offsets).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "random"}, "ties must be one of 'exact', 'efron', 'breslow', got 'random'"),
        ({"top": 0}, "top must be a number of places of at least 1 or None for all, got 0"),
        ({"top": 1.5}, "top must be a number of places .* got 1.5"),
        ({"top": True}, "top must be a number of places .* got True"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        PlackettLuceLoss(**options)
