"""Measures of rankings against their definition, averaged over every order of tied documents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from palmette.metrics import (
    compare,
    mean_average_precision,
    ndcg,
    precision_at,
    reciprocal_rank,
    tally_queries,
)

# ---------------------------------------------------------------------------- definitions, order by order


def dcg_of(grades, k, convention):
    total = 0.0
    for rank, grade in enumerate(grades[:k], 1):
        gain = grade if convention == "linear" else 2**grade - 1
        if convention == "letor":
            total += gain if rank <= 2 else gain / math.log2(rank)
        else:
            total += gain / math.log2(rank + 1)
    return total


def ndcg_of(grades, k, convention):
    best = dcg_of(sorted(grades, reverse=True), k, convention)
    return dcg_of(grades, k, convention) / best if best else 0.0


def average_precision_of(grades):
    hits = [rank for rank, grade in enumerate(grades, 1) if grade >= 1]
    return sum((i + 1) / rank for i, rank in enumerate(hits)) / len(hits) if hits else 0.0


def reciprocal_of(grades):
    return next((1 / rank for rank, grade in enumerate(grades, 1) if grade >= 1), 0.0)


def precision_of(grades, k):
    return sum(grade >= 1 for grade in grades[:k]) / k


def orders(grades, scores):
    """Every order that the scores allow."""
    groups = [
        [g for g, s in zip(grades, scores) if s == value] for value in sorted(set(scores), reverse=True)
    ]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield list(itertools.chain(*parts))


queries = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
    )
)


@settings(max_examples=60, deadline=None)
@given(queries, st.integers(1, 7), st.sampled_from(["letor", "standard", "linear"]))
def test_ties_are_averaged_over_all_their_orders(query, k, convention):
    grades, scores = query
    possible = list(orders(grades, scores))

    def mean(measure):
        return pytest.approx(np.mean([measure(each) for each in possible]), abs=1e-12)

    Y, S = [grades], [scores]
    assert ndcg(Y, S, k, convention=convention) == mean(lambda each: ndcg_of(each, k, convention))
    assert mean_average_precision(Y, S) == mean(average_precision_of)
    assert reciprocal_rank(Y, S) == mean(reciprocal_of)
    assert precision_at(Y, S, k) == mean(lambda each: precision_of(each, k))


@settings(max_examples=60, deadline=None)
@given(queries, st.integers(1, 7))
def test_the_order_of_the_file_is_one_of_them(query, k):
    grades, scores = query
    stable = [g for _, g in sorted(zip(scores, grades), key=lambda pair: -pair[0])]
    Y, S = [grades], [scores]
    assert ndcg(Y, S, k, ties="order") == pytest.approx(ndcg_of(stable, k, "letor"), abs=1e-12)
    assert mean_average_precision(Y, S, ties="order") == pytest.approx(
        average_precision_of(stable), abs=1e-12
    )
    assert reciprocal_rank(Y, S, ties="order") == pytest.approx(reciprocal_of(stable), abs=1e-12)
    assert precision_at(Y, S, k, ties="order") == pytest.approx(precision_of(stable, k), abs=1e-12)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_linear_gains_are_those_of_scikit_learn(rng, k, ties):
    Y = rng.integers(0, 4, (20, 9))
    S = rng.integers(0, 4, Y.shape).astype(float) if ties else rng.normal(size=Y.shape)
    Y[3] = 0  # nothing relevant
    assert ndcg(Y, S, k, convention="linear") == pytest.approx(ndcg_score(Y, S, k=k))
    gains = 2.0**Y - 1
    assert ndcg(Y, S, k, convention="standard") == pytest.approx(ndcg_score(gains, S, k=k))


def test_average_precision_without_ties_is_that_of_scikit_learn(rng):
    Y, S = rng.integers(0, 3, (20, 9)), rng.normal(size=(20, 9))
    Y[:, 0] = 1
    expected = [average_precision_score(y >= 2 if (y >= 2).any() else y >= 1, s) for y, s in zip(Y, S)]
    found = [mean_average_precision([y], [s], relevant=2 if (y >= 2).any() else 1) for y, s in zip(Y, S)]
    np.testing.assert_allclose(found, expected)


def test_several_cuts_and_single_queries_come_from_one_call(rng):
    Y = [rng.integers(0, 3, n) for n in (1, 4, 12)]
    S = [rng.normal(size=len(y)) for y in Y]
    table = ndcg(Y, S, [1, 5, 20], per_query=True)
    assert table.shape == (3, 3)
    for j, k in enumerate((1, 5, 20)):
        np.testing.assert_array_equal(table[:, j], ndcg(Y, S, k, per_query=True))
    np.testing.assert_allclose(ndcg(Y, S, [1, 5, 20]), table.mean(axis=0))
    np.testing.assert_array_equal(table[:, 2], ndcg(Y, S, per_query=True))
    assert precision_at(Y, S, [1, 2], per_query=True).shape == (3, 2)
    assert mean_average_precision(Y, S, per_query=True).shape == (3,)


def test_a_query_without_relevant_documents_scores_0_and_stays_in_the_mean():
    Y, S = [[0, 0], [0, 1]], [[1.0, 2.0], [1.0, 2.0]]
    for measure in (ndcg, mean_average_precision, reciprocal_rank):
        assert measure(Y, S) == 0.5


def test_comparison_of_queries_has_the_standard_error_of_paired_differences(rng):
    a = rng.uniform(size=200)
    b = a + rng.normal(0.05, 0.1, 200)
    found = compare(tally_queries("NDCG@10", b), tally_queries("NDCG@10", a))
    assert found.difference == pytest.approx((b - a).mean())
    assert found.error == pytest.approx((b - a).std(ddof=1) / math.sqrt(200), rel=0.05)
    assert found.low < found.difference - found.error and found.p_value < 1e-3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ndcg([], []), "there are no queries"),
        (lambda: ndcg([[1]], []), "grades of 1 queries but scores of 0"),
        (lambda: ndcg([[1], [1, 0]], [[1.0], [1.0]]), r"query 1: grades have shape \(2,\), scores \(1,\)"),
        (lambda: ndcg([[]], [[]]), "query 0 has no documents"),
        (lambda: ndcg([[0, -1]], [[1, 2]]), "query 0, document 1: the grade is -1, but must be an integer"),
        (lambda: ndcg([[0.5]], [[1]]), "the grade is 0.5"),
        (lambda: ndcg([[-0.5]], [[1]], convention="linear"), "must be a finite number >= 0"),
        (lambda: ndcg([[1]], [[np.nan]]), "query 0, document 0: the score is nan; scores must be finite"),
        (lambda: ndcg([[1]], [[1]], k=0), "k must be a rank of at least 1"),
        (lambda: ndcg([[1]], [[1]], k=[]), "k must be a rank of at least 1"),
        (lambda: ndcg([[1]], [[1]], k=1.5), "k must be a rank of at least 1"),
        (lambda: ndcg([[1]], [[1]], ties="file"), "ties must be 'average' or 'order', got 'file'"),
        (lambda: ndcg([[1]], [[1]], convention="trec"), "convention must be one of 'letor'"),
        (lambda: precision_at([[1]], [[1]], None), "precision_at needs k"),
        (lambda: reciprocal_rank([[1]], [[1]], relevant=0), "relevant must be at least 1"),
        (lambda: tally_queries("x", np.zeros((2, 2))), r"got an array of shape \(2, 2\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
