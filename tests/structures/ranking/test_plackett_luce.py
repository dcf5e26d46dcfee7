"""Plackett-Luce likelihood, its ties, samples and estimator, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import palmette
from palmette.errors import MissingCapability
from palmette.structures.ranking.plackett_luce import PlackettLuce
from palmette.structures.ranking.plackett_luce_loss import TIES, PlackettLuceLoss

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


@pytest.mark.nojit
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


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 30.0, 200.0])
def test_groups_of_unequal_scores_by_recursion_over_subsets(spread):
    """P(B first) = sum_d P(d first of B and the rest) P(B without d first): no term is negative, so nothing cancels."""
    m = 9
    for seed in range(4):
        scores = np.append(np.random.default_rng(seed).normal(size=m) * spread, 0.0)
        log_p = np.zeros(1 << m)
        for subset in range(1, 1 << m):
            members = [d for d in range(m) if subset >> d & 1]
            whole = np.logaddexp.reduce(scores[[*members, m]])
            log_p[subset] = np.logaddexp.reduce([scores[d] - whole + log_p[subset ^ 1 << d] for d in members])
        value, _ = one(PlackettLuceLoss(), scores, np.append(np.ones(m, int), 0))
        assert value == pytest.approx(-log_p[-1], rel=2e-14, abs=2e-14)


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


# -- the estimator ----------------------------------------------------------------------------------------------------


def queries(n_queries=30, n_columns=4, seed=0, most=9):
    """Queries whose grades follow a linear score with noise, every one with at least two grades."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_columns)
    X, y = [], []
    for n in rng.integers(3, most + 1, n_queries):
        x = rng.normal(size=(n, n_columns))
        grades = np.digitize(x @ truth + rng.gumbel(size=n), [0.0, 1.5])
        grades[x[:, 0].argmax()], grades[x[:, 0].argmin()] = 3, 0
        X.append(x)
        y.append(grades)
    return X, y


def test_pairs_are_logistic_regression_on_differences():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(60, 2, 3)))
    y = [[1, 0] if x[0, 0] - x[1, 0] + rng.logistic() > 0 else [0, 1] for x in X]
    model = PlackettLuce(C=0.5, tol=1e-15).fit(X, y)
    difference = np.array([x[0] - x[1] for x in X])
    logistic = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10).fit(difference, [g[0] for g in y])
    assert model.coef_ == pytest.approx(logistic.coef_[0], abs=1e-6)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("top", [None, 2])
def test_the_optimum_is_certified_and_all_solvers_agree(ties, top):
    X, y = queries()
    best = PlackettLuce(l2=0.5, ties=ties, top=top, tol=1e-9).fit(X, y)
    assert best.result_.converged and 0.0 <= best.result_.gap <= 1e-8 * best.objective_
    expected = -best.log_proba(X, y).sum() + 0.25 * best.coef_ @ best.coef_
    assert best.objective_ == pytest.approx(expected, rel=1e-12)
    for solver in ("bundle", "proximal", "stochastic"):
        result = PlackettLuce(l2=0.5, ties=ties, top=top, solver=solver, tol=1e-4).fit(X, y).result_
        assert result.lower <= best.objective_ * (1 + 1e-12)
        assert best.result_.lower <= result.primal <= best.objective_ * (1 + 1e-3)


def test_first_place_only_is_a_conditional_logit():
    """Where one document is above all others, features of the winners minus expected ones balance the penalty."""
    X, y = queries()
    y = [(grades == 3).astype(int) for grades in y]
    model = PlackettLuce(l2=2.0, top=1, tol=1e-12).fit(X, y)
    chosen = sum(x[grades.argmax()] for x, grades in zip(X, y))
    expected = sum(p @ x for p, x in zip(model.predict_top(X), X))
    assert chosen - expected == pytest.approx(2.0 * model.coef_, abs=1e-4)


@pytest.mark.parametrize("ties", TIES)
def test_weight_two_is_a_duplicate(ties):
    X, y = queries(12)
    weight = np.array([2.0, 0.0] + [1.0] * 10)
    weighted = PlackettLuce(ties=ties, tol=1e-9).fit(X, y, sample_weight=weight)
    doubled = PlackettLuce(ties=ties, tol=1e-9).fit([X[0], *X[:1], *X[2:]], [y[0], *y[:1], *y[2:]])
    assert weighted.objective_ == pytest.approx(doubled.objective_, rel=1e-9)
    assert weighted.coef_ == pytest.approx(doubled.coef_, abs=1e-4)


def test_threads_change_nothing():
    X, y = queries(400, most=60)  # several shards
    one, two = (PlackettLuce(n_jobs=n, max_iter=5, tol=0.1).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_features_of_all_kinds_are_the_same_model():
    from scipy import sparse

    X, y = queries(12)
    names = [[{f"f{j}": v for j, v in enumerate(row)} for row in x.tolist()] for x in X]
    dense = PlackettLuce(l2=1.0, tol=1e-9).fit(X, y)
    for other in ([sparse.csr_matrix(x) for x in X], names):
        model = PlackettLuce(l2=1.0, tol=1e-9).fit(other, y)
        assert model.objective_ == pytest.approx(dense.objective_, rel=1e-9)
        assert all(map(np.array_equal, model.predict(other), dense.predict(X)))


def test_all_orders_have_probability_one_together_and_the_best_is_predicted():
    X, y = queries(12)
    model = PlackettLuce(C=1.0).fit(X, y)
    x = X[0][:4]
    orders = [np.array(order) for order in itertools.permutations(range(4))]
    grades = [3 - np.argsort(order) for order in orders]
    log_p = model.log_proba([x] * 24, grades)
    assert np.exp(log_p).sum() == pytest.approx(1.0, rel=1e-13)
    assert np.array_equal(orders[np.argmax(log_p)], model.predict([x])[0])
    scores = model.row_scores([x])[0]
    assert log_p == pytest.approx([math.log(order_probability(scores, order)) for order in orders])


def test_samples_follow_the_distribution():
    X, y = queries(12)
    model = PlackettLuce(C=1.0).fit(X, y)
    x, n = X[0][:4], 20_000
    drawn = model.sample([x, X[1]], n, random_state=0)
    assert drawn[0].shape == (n, 4) and drawn[1].shape == (n, len(X[1]))
    orders, counts = np.unique(drawn[0], axis=0, return_counts=True)
    expected = n * np.exp(model.log_proba([x] * len(orders), list(3 - np.argsort(orders, axis=1))))
    assert len(orders) == 24
    assert (
        np.sum((counts - expected) ** 2 / expected) < 49.7
    )  # chi-square with 23 degrees of freedom: p = 0.001
    again = model.sample([x, X[1]], n, random_state=0)
    assert all(map(np.array_equal, drawn, again))
    first = np.bincount(drawn[1][:, 0], minlength=len(X[1])) / n
    assert first == pytest.approx(model.predict_top([X[1]])[0], abs=5 * 0.5 / math.sqrt(n))


def ranks_of_two(scores, k):
    """The kernel, with a query before and after that must not matter."""
    from palmette.structures.ranking.kernels.plackett_luce_ranks import rank_probabilities

    n = len(scores)
    found = np.empty((n + 5, k))
    rank_probabilities(
        np.concatenate([[1.0, -1.0], scores, [0.0, 9.0, 1.0]]), np.array([0, 2, n + 2, n + 5]), found
    )
    return found[2:-3]


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=6), st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_probabilities_of_ranks(scores, k):
    scores, n = np.array(scores), len(scores)
    expected = np.zeros((n, max(n, k)))
    for order in itertools.permutations(range(n)):
        expected[list(order), range(n)] += order_probability(scores, order)
    assert ranks_of_two(scores, k) == pytest.approx(expected[:, :k], abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 19, 20, 21, 40, 79, 80])
@pytest.mark.parametrize("spread", [0.0, 3.0, 100.0])
def test_probabilities_of_ranks_add_up(k, spread):
    scores = np.random.default_rng(0).normal(size=80) * spread
    found = ranks_of_two(scores, k)
    assert found.min() >= -1e-14 and found.max() <= 1.0 + 1e-12
    assert found.sum(axis=0) == pytest.approx(np.ones(k), rel=1e-11)
    first = found.sum(axis=1)[np.argsort(scores)]
    assert np.all(np.diff(first) >= -1e-11), "a higher score is among the first more often"
    if k == 80:
        assert first == pytest.approx(np.ones(80), rel=1e-11)
        for few in (1, 3, 30):  # for few ranks another way is taken
            assert ranks_of_two(scores, few) == pytest.approx(found[:, :few], abs=1e-12)


@pytest.mark.parametrize("apart", [1e3, 1e9, 1e17, 1e300])
def test_scores_far_apart_take_no_longer_and_change_nothing(apart):
    """Groups of documents that are far apart come one after the other: each has the probabilities that it has alone."""
    groups = [np.array([0.0, 0.0]), np.array([0.0, 0.0, 0.0]), np.array([0.0])]
    far = np.concatenate([level * apart + group for level, group in zip([1.0, 0.0, -1.0], groups)])
    shuffle = np.random.default_rng(0).permutation(6)
    expected, start = np.zeros((6, 6)), 0
    for group in groups:
        stop = start + len(group)
        expected[start:stop, start:stop] = 1.0 / len(group)
        start = stop
    assert ranks_of_two(far[shuffle], 6) == pytest.approx(expected[shuffle], abs=1e-12)
    assert ranks_of_two(far[shuffle], 3) == pytest.approx(expected[shuffle][:, :3], abs=1e-12)
    near = np.array([0.3, -1.0, 0.5])  # beside others that are far below, whose times are another matter
    both = np.concatenate([near, near - 60.0])
    assert ranks_of_two(both, 6)[:3, :3] == pytest.approx(ranks_of_two(near, 3), abs=1e-12)
    assert ranks_of_two(both, 6)[3:, 3:] == pytest.approx(ranks_of_two(near, 3), abs=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_answers_of_a_model_with_huge_scores():
    X, y = queries(4)
    model = PlackettLuce().fit(X, y)
    model.coef_ = 1e9 * model.coef_
    orders = model.predict(X)
    for marginals, top, order in zip(model.predict_marginals(X), model.predict_top(X, 2), orders):
        assert marginals[order, range(len(order))] == pytest.approx(np.ones(len(order)))
        assert np.flatnonzero(top > 0.5).tolist() == sorted(order[:2])
    model.coef_ = np.full_like(model.coef_, np.inf)
    for answer in (model.predict_marginals, model.predict_top):
        with pytest.raises(ValueError, match=r"sample 0, document 0: its score is .* scale the features"):
            answer(X)


def test_marginals_and_first_places_of_the_model():
    X, y = queries(6)
    model = PlackettLuce().fit(X, y)
    for scores, marginals, top, one in zip(
        model.row_scores(X), model.predict_marginals(X), model.predict_top(X, 2), model.predict_top(X)
    ):
        n = len(scores)
        assert marginals.shape == (n, n)
        assert marginals.sum(axis=0) == pytest.approx(np.ones(n)) == marginals.sum(axis=1)
        assert top == pytest.approx(marginals[:, :2].sum(axis=1))
        assert one == pytest.approx(np.exp(scores) / np.exp(scores).sum())
    assert all(p == pytest.approx(np.ones(len(p))) for p in model.predict_top(X, 100))


def test_the_most_probable_orders():
    X, y = queries(6)
    model = PlackettLuce().fit(X, y)
    x = [X[0][:4], X[1][:1], X[2]]
    found = model.predict_nbest(x, 200)
    assert [len(orders) for orders in found] == [24, 1, 200]
    assert [value for orders in found for _, value in orders[:1]] == pytest.approx(model.predict_score(x))
    for rows, orders in zip(x, found):
        values = [value for _, value in orders]
        grades = [len(order) - 1 - np.argsort(order) for order, _ in orders]
        assert values == pytest.approx(model.log_proba([rows] * len(orders), grades), abs=1e-12)
        assert np.all(np.diff(values) <= 1e-12)
        assert len({tuple(order) for order, _ in orders}) == len(orders)
        assert np.array_equal(orders[0][0], model.predict([rows])[0])


def test_queries_that_teach_nothing_stay_and_are_counted():
    X, y = queries(8)
    more = [*X, X[0][:1], X[1]], [*y, [2], np.ones(len(X[1]), int)]
    with pytest.warns(UserWarning, match="2 of 10 queries"):
        model = PlackettLuce(l2=1.0, tol=1e-9).fit(*more)
    without = PlackettLuce(l2=1.0, tol=1e-9).fit(X, y)
    assert model.coef_ == pytest.approx(without.coef_, abs=1e-6)
    assert np.array_equal(model.log_proba(*more)[-2:], [0.0, 0.0])


def test_empty_queries_have_empty_answers():
    X, y = queries(5)
    model = PlackettLuce().fit(X, y)
    empty = np.empty((0, 4))
    assert [len(order) for order in model.predict([empty, X[0]])] == [0, len(X[0])]
    assert [len(p) for p in model.predict_top([empty, X[0]], 2)] == [0, len(X[0])]
    assert [p.shape for p in model.predict_marginals([empty, X[0][:2]])] == [(0, 0), (2, 2)]
    assert model.predict_score([empty])[0] == 0.0 and len(model.predict_nbest([empty])[0]) == 1
    assert [draws.shape for draws in model.sample([empty, X[0]], 3, 0)] == [(3, 0), (3, len(X[0]))]
    assert model.log_proba([empty, X[0]], [[], y[0]])[0] == 0.0
    # and where there are no others
    assert (
        [order.shape for order in model.predict([empty])]
        == [p.shape for p in model.predict_top([empty])]
        == [(0,)]
    )
    assert [scores.shape for scores in model.row_scores([empty])] == [(0,)]
    assert [p.shape for p in model.predict_marginals([empty])] == [(0, 0)]
    assert [draws.shape for draws in model.sample([empty], 3, 0)] == [(3, 0)]


@pytest.mark.parametrize("options", [{}, {"ties": "efron", "top": 3, "l1": 2.0, "C": 3.0}])
def test_model_files(tmp_path, options):
    X, y = queries(10)
    model = PlackettLuce(**options).fit(X, y)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert type(again) is PlackettLuce and again.get_params() == model.get_params()
    assert np.array_equal(again.coef_, model.coef_) and again.objective_ == model.objective_
    assert np.array_equal(again.log_proba(X, y), model.log_proba(X, y))
    assert all(map(np.array_equal, again.predict(X), model.predict(X)))


def test_sparse_weights_groups_and_warm_starts():
    X, y = queries(20, n_columns=6)
    sparse = PlackettLuce(l1=8.0, tol=1e-8).fit(X, y)
    assert 0 < np.count_nonzero(sparse.coef_) < 6 and sparse.result_.gap <= 1e-6 * sparse.objective_
    groups = palmette.GroupLasso(14.0, by=list("aabbcc"))
    grouped = PlackettLuce(regularizer=groups, tol=1e-6).fit(X, y)
    pairs = grouped.coef_.reshape(3, 2)
    assert np.array_equal(pairs.any(axis=1), pairs.all(axis=1)) and not pairs.all()
    model = clone(sparse).set_params(warm_start=True).fit(X, y)
    assert model.fit(X, y).result_.step.n_iter <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "random"}, "ties must be one of"),
        ({"top": -1}, "top must be a number of places"),
        ({"solver": "frank_wolfe"}, "dual of the hinge, not of PlackettLuceLoss"),
        ({"l2": 1.0, "C": 1.0}, "give l2 or C, not both"),
    ],
)
def test_the_estimator_refuses(options, message):
    with pytest.raises((ValueError, MissingCapability), match=message):
        PlackettLuce(**options).fit(*queries(3))


def test_answers_refuse():
    X, y = queries(3)
    model = PlackettLuce().fit(X, y)
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        model.predict_top(X, 0)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got True"):
        model.predict_nbest(X, True)
    with pytest.raises(ValueError, match=r"n_draws must be an integer of at least 1, got 1\.5"):
        model.sample(X, 1.5)
    with pytest.raises(ValueError, match=r"query 1, document 0: y\[1\]\[0\] = -1 is not a grade"):
        model.log_proba(X, [y[0], [-1] * len(X[1]), y[2]])
    with pytest.raises(ValueError, match=r"X\[0\] has 2 documents but y\[0\] has 3 grades"):
        PlackettLuce().fit([np.eye(2)], [[1, 0, 0]])
    with pytest.raises(ValueError, match="scores must be one finite number per row"):
        PlackettLuceLoss().on(np.array([np.nan, 0.0]), np.array([1, 0]), np.array([0, 2]))
    with pytest.raises(ValueError, match="2 scores need as many grades"):
        PlackettLuceLoss().on(np.zeros(2), np.array([1]), np.array([0, 2]))
