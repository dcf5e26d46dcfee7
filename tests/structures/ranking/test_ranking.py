"""Rankings: every answer against enumeration, what users give and get, and learners on queries."""

from __future__ import annotations

import io
import pickle
import warnings
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

import palmette
from palmette import CRF, SSVM, Perceptron, Ranking
from palmette.errors import InfeasibleError, MissingCapability, ModelFileError
from palmette.inspection import NamedWeights, explain
from palmette.kernels import RBF, Nystroem
from palmette.losses import NDCG, MeanAveragePrecision, Pairwise, PrecisionAt
from palmette.metrics import ndcg
from palmette.objectives.risk import Samples
from palmette.structures import RankingCost, RankingRestriction, RankingTables, by_query
from palmette.structures.ranking import augmented_maximum
from palmette.structures.ranking.codec import RankingCodec, grades_of, ranks_of
from palmette.structures.ranking.scorer import RankingScorer
from palmette.structures.ranking.search import assignments
from palmette.surrogates import Hinge, TiedPerceptronLoss
from palmette.testing import check_structure


def queries(seed=0, sizes=(5, 4, 6, 3), n_columns=3):
    """Features and grades that a linear score explains but for some noise."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n_columns)
    X = [rng.normal(size=(n, n_columns)) for n in sizes]
    y = [np.digitize(x @ w + 0.5 * rng.normal(size=len(x)), [-0.3, 0.8]) for x in X]
    for grades in y:
        grades[:2] = 0, 1
    return X, y


# -- answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights", [0.25, "letor", [5, 4, 4, 2, 1, 1], [1] * 6, [32, 16, 8, 4, 2, 1]], ids=str
)
def test_every_answer_against_enumeration(weights):
    """Falling weights, ties of weights, and whole ones, whose ties are decided as documented."""
    report = check_structure(Ranking(weights))
    assert set(report.checked) == {"best", "worst", "best_contradicting", "k_best", "score", "count"}
    assert report.n_cases > 100


def test_a_wrong_tie_rule_is_found(monkeypatch):
    """The check compares outputs, not only values, where sums are exact."""
    from palmette.structures.ranking import search as ranking_search

    monkeypatch.setattr(ranking_search, "preference", lambda score: np.argsort(score, kind="stable"))
    with pytest.raises(AssertionError, match="k_best"):
        check_structure(Ranking([5, 4, 4, 2, 1, 1]), answers=["k_best"])


def test_prediction_is_a_stable_sort():
    """Also where ranks weigh the same, and whatever the weights."""
    theta = RankingTables(np.array([1.0, 3.0, 3.0, 2.0, 1.0]), np.array([0, 5]))
    for weights in (0.25, "letor", "standard", 0.0, [1.0] * 5):
        assert Ranking(weights).best(theta).codes.tolist() == [3, 0, 1, 2, 4]


@settings(max_examples=40)
@given(st.integers(1, 9), st.integers(0, 10**6), st.floats(0.3, 1.0))
def test_assignment_agrees_with_scipy(n, seed, density):
    """Value of the best assignment, with forbidden entries; none where scipy finds none."""
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), -np.inf)
    found = next(assignments(gain, np.zeros(n), 1), None)
    try:
        rows, columns = linear_sum_assignment(gain, maximize=True)
    except ValueError:
        assert found is None
        return
    assert gain[np.arange(n), found[0]].sum() == pytest.approx(gain[rows, columns].sum())


def test_all_assignments_in_order():
    """Murty's partition finds every allowed ranking once, best first."""
    rng = np.random.default_rng(3)
    gain = np.where(rng.random((5, 5)) < 0.8, rng.integers(-3, 4, (5, 5)).astype(float), -np.inf)
    found = list(assignments(gain, np.zeros(5), 200))
    values = {p: sum(gain[d, r] for d, r in enumerate(p)) for p in permutations(range(5))}
    expected = sorted((-v, p) for p, v in values.items() if v > -np.inf)
    assert [(-value, tuple(ranks.tolist())) for ranks, value in found] == expected


def test_k_best_of_many_documents():
    """Exchanges of neighbours and assignments agree where nobody can enumerate."""
    rng = np.random.default_rng(0)
    theta = RankingTables(rng.normal(size=40), np.array([0, 40]))
    structure = Ranking()
    (plain,) = structure.k_best(theta, 12)
    gain = np.multiply.outer(theta.node, structure.weights(40))
    murty = list(assignments(gain, theta.node, 12))
    np.testing.assert_allclose([v for _, v in plain], [v for _, v in murty], rtol=1e-12)
    assert len({codes.tobytes() for codes, _ in plain}) == 12


def test_best_equivalent_is_the_best_of_the_equally_good():
    """By grade, then by score; the grades stay in the codes."""
    rng = np.random.default_rng(0)
    theta = RankingTables(rng.integers(-2, 3, 9).astype(float), np.array([0, 5, 9]))
    grades = [rng.integers(0, 3, 5), rng.integers(0, 3, 4)]
    true = RankingCodec().encode_outputs(grades, [5, 4])
    structure = Ranking()
    found = structure.best_equivalent(theta, true)
    assert np.array_equal(grades_of(found.codes), np.concatenate(grades))
    np.testing.assert_array_equal(found.values, structure.score(theta, found.codes))
    within = RankingRestriction.levels(np.concatenate(grades), theta.offsets)
    np.testing.assert_allclose(found.values, structure.best(theta, within=within).values, rtol=1e-12)
    for loss in (NDCG(), MeanAveragePrecision(), PrecisionAt(2), Pairwise()):
        assert not loss.bind(structure, ()).value(structure, theta, true, found.codes).any()


def test_restrictions_name_what_is_wrong():
    """An infeasible query, and shapes that do not fit."""
    theta = RankingTables(np.zeros(5), np.array([0, 2, 5]))
    allowed = np.ones((5, 3), bool)
    allowed[3] = allowed[4] = [True, False, False]
    for answer in (
        Ranking().best,
        Ranking().worst,
        lambda theta, within: Ranking().k_best(theta, 2, within=within),
    ):
        with pytest.raises(InfeasibleError, match=r"sample 1 \(3 documents\): no ranking satisfies"):
            answer(theta, within=RankingRestriction(allowed))
    with pytest.raises(ValueError, match=r"within.allowed has shape \(5, 2\), expected \(5, at least 3\)"):
        Ranking().best(theta, within=RankingRestriction(allowed[:, :2]))
    with pytest.raises(TypeError, match="cost must be a RankingCost"):
        Ranking().best(theta, cost=theta)
    with pytest.raises(ValueError, match=r"cost.gain has shape \(2,\)"):
        Ranking().best(theta, cost=RankingCost(np.zeros(2), np.ones(3)))
    with pytest.raises(ValueError, match="gain and discount, or neither"):
        Ranking().best(theta, cost=RankingCost(np.zeros(5)))
    with pytest.raises(ValueError, match=r"sample 1, document 1: its rank 0 is taken"):
        Ranking().score(theta, np.array([0, 1, 0, 0, 1]))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("none", "position_weights='none' is unknown"),
        (-1.0, "exponent p"),
        ([1.0, 2.0, 3.0], r"rank 2 has 2\.0, more than rank 1"),
        ([1.0, 0.5, 0.0], r"rank 3 has 0\.0; weights of ranks must be positive"),
        ([1.0, 0.5], "has 2 numbers, but a query has 3 documents"),
        (lambda r: r[:1], r"the function gave shape \(1,\)"),
        (
            0.0,
            r"position_weights=0\.0 are 1 at all ranks 1\.\.3 of the largest query, so that all orders score the same",
        ),
        ([2.0, 2.0, 2.0, 1.0], r"are 2 at all ranks 1\.\.3"),
    ],
)
def test_bad_position_weights(weights, message):
    """Refused before the first step."""
    X, y = queries(sizes=(3, 3))
    with pytest.raises(ValueError, match=message):
        SSVM(Ranking(weights)).fit(X, y)
    with pytest.raises(TypeError, match="a name, a number"):
        Ranking(object()).weights(2)


# -- codes and tables -----------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 2047), min_size=1, max_size=6), min_size=1, max_size=4))
def test_codes_keep_grades_and_an_ideal_order(grades):
    """Grades survive, and the order falls with them, stable as given."""
    lengths = list(map(len, grades))
    codes = RankingCodec().encode_outputs(grades, lengths)
    assert grades_of(codes).tolist() == [g for own in grades for g in own]
    for own, rows in zip(grades, np.split(codes, np.cumsum(lengths)[:-1])):
        order = RankingCodec().decode(rows).tolist()
        assert order == sorted(range(len(own)), key=lambda d: (-own[d], d))
        assert ranks_of(rows)[order].tolist() == list(range(len(own)))


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        ([[0, 1], [0, -1]], ValueError, r"query 1, document 1: y\[1\]\[1\] = -1 is not a grade"),
        ([[0, 1.5], [0, 1]], ValueError, r"query 0, document 1: y\[0\]\[1\] = 1.5 is not a grade"),
        ([[0, 1], [np.nan, 1]], ValueError, r"query 1, document 0: y\[1\]\[0\] = nan is not a grade"),
        ([[0, 4000], [0, 1]], ValueError, r"query 0, document 1: .* from 0 \(not relevant\) to 2047"),
        ([[0, 1, 2], [0, 1]], ValueError, r"query 0: X\[0\] has 2 documents but y\[0\] has 3 grades"),
        ([[0, 1], ["a", "b"]], TypeError, r"y\[1\] must be one number per document"),
        ([[0, 1], [[0], [1]]], TypeError, r"y\[1\] must be one number per document"),
        ([[0, 1], 3], TypeError, r"y\[1\] must be the grades of the documents of query 1, got int"),
        ([[0, 1]], ValueError, "X has 2 samples but y has 1"),
        (None, ValueError, "the target y is None"),
    ],
)
def test_bad_grades(y, kind, message):
    """Errors name query and document, before any work."""
    with pytest.raises(kind, match=message):
        SSVM(Ranking()).fit([np.eye(2), np.eye(2)], y)


def test_queries_that_teach_nothing_are_counted():
    """They stay: the loss of each of their orders is 0, and with ties="best" they teach nothing."""
    X, y = queries()
    more, grades = [*X, X[0][:1], X[0], X[1]], [*y, [2], [0] * 5, [1] * 4]
    kinds = "1 with a single document, 1 without a relevant document, 1 with equal relevance everywhere; .* query 4"
    with pytest.warns(
        UserWarning, match=rf"The loss of 3 of 7 queries is 0 for every order.*{kinds}"
    ) as caught:
        SSVM(Ranking(), C=5.0).fit(more, grades)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"They are kept\.$"):
        Perceptron(Ranking(ties="best")).fit(more, grades)
    theta = RankingTables(np.arange(10.0), np.array([0, 1, 6, 10]))
    flat = RankingCodec().encode_outputs(grades[4:], [1, 5, 4])
    values, counts, _ = TiedPerceptronLoss().evaluate(Ranking(), theta, flat, np.ones(3))
    assert not values.any() and not counts.any()
    for loss in (NDCG(), MeanAveragePrecision(), PrecisionAt(2), Pairwise()):
        fixed = loss.bind(Ranking(), ())
        assert not fixed.value(Ranking(), theta, flat, Ranking().worst(theta).codes).any()
        np.testing.assert_array_equal(
            fixed.augmented_best(Ranking(), theta, flat).values, Ranking().best(theta).values
        )


@pytest.mark.parametrize("loss", [PrecisionAt(6), MeanAveragePrecision(relevant=3)], ids=str)
def test_losses_that_teach_nothing_are_named(loss):
    """All documents are among the first 6, and none is relevant."""
    X, y = queries()
    with pytest.warns(
        UserWarning, match=r"is 0 for every order of all 4 queries.*below the 6 documents of the largest"
    ):
        model = SSVM(Ranking(ties="best"), loss="ramp", task_loss=loss).fit(X, y)
    assert model.objective_ < 1e-6


def test_queries_that_take_long_are_told(monkeypatch):
    """Eight documents of different grades are an assignment; of a sort nothing is said."""
    monkeypatch.setattr(augmented_maximum, "LONG", 0.0)
    X = [np.random.default_rng(0).normal(size=(8, 2))] * 2
    y = [np.arange(8)] * 2
    with pytest.warns(UserWarning, match=r"maxima of 2 of them are linear assignments \(up to 8 documents\)"):
        SSVM(Ranking()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SSVM(Ranking("letor")).fit(X, y)


def test_one_table_for_all_queries_is_refused():
    X, y = queries()
    for table in (np.concatenate(X), sparse.csr_matrix(np.concatenate(X))):
        with pytest.raises(
            ValueError, match=r"table of shape \(18, 3\), but a Ranking needs one.*by_query\(X, y, qid\)"
        ):
            SSVM(Ranking()).fit(table, np.concatenate(y))
    with pytest.raises(ValueError, match="needs one for each query"):
        SSVM(Ranking()).fit(X, y).predict(X[0])


def test_flat_tables_by_query():
    """Arrays, sparse matrices and documents that are dicts; torn queries are refused or joined."""
    X, y, qid = np.arange(10.0).reshape(5, 2), np.array([0, 1, 2, 0, 1]), np.array([7, 7, 3, 3, 3])
    for table in (X, sparse.csr_matrix(X), X.tolist()):
        queries, grades, ids = by_query(table, y, qid)
        dense = [q.toarray() if sparse.issparse(q) else q for q in queries]
        assert [d.tolist() for d in dense] == [X[:2].tolist(), X[2:].tolist()]
        assert ([g.tolist() for g in grades], ids.tolist()) == ([[0, 1], [2, 0, 1]], [7, 3])
    named = [{"a": float(v)} for v in range(5)]
    assert by_query(named, y, qid)[0] == [named[:2], named[2:]]
    torn = np.array(["b", "a", "b", "c", "a"])
    with pytest.raises(
        ValueError, match=r"query 'b' occurs in 2 places, again from row 2 on \(2 of 3 queries do\)"
    ):
        by_query(X, y, torn)
    queries, grades, ids = by_query(X, y, torn, split="merge")
    assert [q[:, 0].tolist() for q in queries] == [[0.0, 4.0], [2.0, 8.0], [6.0]]
    assert ([g.tolist() for g in grades], ids.tolist()) == ([[0, 2], [1, 1], [0]], ["b", "a", "c"])
    assert by_query(X[:0], y[:0], qid[:0])[:2] == ([], [])
    with pytest.raises(ValueError, match=r"qid has shape \(4,\), but X has 5 rows"):
        by_query(X, y, qid[:4])
    with pytest.raises(ValueError, match="split must be"):
        by_query(X, y, qid, split="drop")


# -- scores and learners --------------------------------------------------------------------------------------------


def test_score_and_its_adjoint():
    """``<score(w), counts> = <w, pull_back(counts)>``, dense and sparse."""
    rng = np.random.default_rng(0)
    X, y = queries()
    for tables in (X, [sparse.csr_matrix(x) for x in X]):
        model = SSVM(Ranking()).fit(tables, y)
        batch = model.encode(tables).batch
        scorer, w = model.scorer_, rng.normal(size=3)
        theta = scorer.score(w, batch)
        np.testing.assert_allclose(theta.node, np.concatenate(X) @ w)
        counts, out = RankingTables(rng.normal(size=len(theta.node)), theta.offsets), np.zeros(3)
        scorer.pull_back(counts, batch, out)
        assert theta.dot(counts) == pytest.approx(w @ out)


def test_first_weights_are_best_minus_worst():
    """Means over the orders of equal grades: shuffling the documents of a query changes nothing."""
    X, y = queries()
    structure, rng = Ranking(), np.random.default_rng(1)

    def start(X, y, weight):
        model = SSVM(structure).fit(X, y)
        codes = RankingCodec().encode_outputs(y, [len(x) for x in X])
        samples = Samples(model.encode(X).batch, codes, np.array(weight))
        return structure.first_weights(model.scorer_, samples)

    expected = np.zeros(3)
    for x, grades in zip(X, y):
        orders = list(permutations(range(len(x))))
        quality = [tuple(grades[list(order)]) for order in orders]
        features = np.array([structure.weights(len(x)) @ x[list(order)] for order in orders])
        best, worst = (np.array([q == extreme(quality) for q in quality]) for extreme in (max, min))
        expected += features[best].mean(axis=0) - features[worst].mean(axis=0)
    np.testing.assert_allclose(start(X, y, np.ones(4)), expected / 4)
    mixed = [rng.permutation(len(x)) for x in X]
    np.testing.assert_allclose(
        start([x[p] for x, p in zip(X, mixed)], [g[p] for g, p in zip(y, mixed)], np.ones(4)), expected / 4
    )
    twice = start([*X, X[0]], [*y, y[0]], np.ones(5))
    np.testing.assert_allclose(start(X, y, [2.0, 1.0, 1.0, 1.0]), twice)


@pytest.mark.parametrize(
    "loss", ["ndcg", "map", PrecisionAt(2), "pairwise", NDCG(3, "linear", "standard")], ids=str
)
@pytest.mark.parametrize("structure", [Ranking(), Ranking("letor")], ids=["quarter", "letor"])
def test_hinge_closes_its_gap(loss, structure):
    """The bundle method proves its optimum, and other solvers agree with it."""
    X, y = queries()
    model = SSVM(structure, C=5.0, task_loss=loss, tol=1e-6).fit(X, y)
    assert model.result_.reason == "gap" and model.result_.gap <= 1e-6 * model.objective_ + 1e-12
    other = SSVM(structure, C=5.0, task_loss=loss, tol=1e-2, solver="frank_wolfe").fit(X, y)
    assert model.result_.lower <= other.objective_ + 1e-9 <= model.objective_ * 1.011 + 1e-8


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_hinge_is_convex_and_above_the_loss(seed):
    """The subgradient inequality in the weights, and the bound on the loss of the prediction."""
    from palmette.executors.threads import ThreadExecutor
    from palmette.objectives.risk import Risk
    from palmette.regularizers.elastic import ElasticNet

    rng = np.random.default_rng(seed)
    X, y = queries(seed, (4, 3))
    model = Perceptron(Ranking(), max_iter=1).fit(X, y)
    samples = Samples(model.encode(X).batch, RankingCodec().encode_outputs(y, [4, 3]), np.ones(2))
    loss = NDCG(2).bind(Ranking(), ())
    with ThreadExecutor(1) as executor:
        risk = Risk(
            Ranking(), model.scorer_, Hinge(loss), samples, ElasticNet(np.ones(3), np.zeros(3)), executor
        )
        a, b = rng.normal(size=(2, 3))
        (at_a, slope), (at_b, _) = risk.loss(a), risk.loss(b)
    assert at_b >= at_a + slope @ (b - a) - 1e-9
    theta = model.scorer_.score(a, samples.batch)
    lost = loss.value(Ranking(), theta, samples.codes, Ranking().best(theta).codes)
    assert at_a >= lost.sum() - 1e-9


@pytest.mark.parametrize("ties", ["given", "best"])
@pytest.mark.parametrize("solver", ["perceptron", "passive_aggressive", "arow"])
def test_perceptron_learns(ties, solver):
    """Separable queries are learnt; with ties="best" equally good orders are no mistakes."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 2)) for _ in range(8)]
    y = [(x[:, 0] > np.median(x[:, 0])).astype(int) for x in X]
    model = Perceptron(Ranking(ties=ties), solver=solver, max_iter=100).fit(X, y)
    assert model.score(X, y) > (0.99 if ties == "best" else 0.8)
    if ties == "best" and solver == "perceptron":
        assert model.result_.reason == "estimate: no mistakes"


def test_partial_fit_needs_no_classes():
    """Grades are not declared."""
    X, y = queries()
    model = Perceptron(Ranking(ties="best"))
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.8


def test_crf_names_plackett_luce():
    """The log-partition of rankings is a permanent; whoever needs sums says so before the first step."""
    X, y = queries()
    with pytest.raises(MissingCapability, match=r"LogLoss cannot use Ranking.*permanent.*PlackettLuce"):
        CRF(Ranking()).fit(X, y)
    model = SSVM(Ranking()).fit(X, y)
    with pytest.raises(MissingCapability, match="permanent"):
        model.predict_marginals(X)
    with pytest.raises(MissingCapability, match="permanent"):
        model.log_proba(X, y)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"fit_intercept": True}, ValueError, "adds the same to all documents"),
        ({"classes": [0, 1, 2]}, ValueError, "grades of relevance and no labels"),
        ({"edge_features": True}, ValueError, "edge_features need the edges of a Chain"),
        ({"task_loss": "hamming"}, MissingCapability, "Hamming loss counts wrong labels"),
        ({"structure": Ranking(ties="any")}, ValueError, "ties must be 'given' or 'best'"),
    ],
)
def test_settings_that_rankings_do_not_have(options, kind, message):
    """Named, with a remedy."""
    X, y = queries()
    with pytest.raises(kind, match=message):
        SSVM(**{"structure": Ranking(), **options}).fit(X, y)


def test_what_a_model_answers():
    """Orders, scores by which they are sorted, the n best, and mean NDCG; empty queries stay empty."""
    X, y = queries()
    model = SSVM(Ranking(), C=10.0).fit(X, y)
    scores = model.row_scores(X)
    for order, score, x in zip(model.predict(X), scores, X):
        np.testing.assert_allclose(score, x @ model.coef_)
        assert order.tolist() == np.argsort(-score, kind="stable").tolist()
    assert model.score(X, y) == pytest.approx(ndcg(y, scores))
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    assert model.score(X, y, weight) == pytest.approx(
        np.average(ndcg(y, scores, per_query=True), weights=weight)
    )
    (best, value), (second, lower) = model.predict_nbest(X[:1], 2)[0]
    assert best.tolist() == model.predict(X[:1])[0].tolist() != second.tolist() and value >= lower
    assert value == pytest.approx(model.predict_score(X[:1])[0])
    assert [len(order) for order in model.predict([X[0][:0], X[1]])] == [0, 4]
    assert model.predict([]) == []


@pytest.mark.parametrize(
    ("structure", "loss"),
    [
        (Ranking(), "auto"),
        (Ranking([3.0, 2.0, 1.0, 1.0, 1.0, 1.0], ties="best"), NDCG(2, [0.0, 1.0, 3.0], 0.5)),
        (Ranking("letor"), MeanAveragePrecision(2)),
        (Ranking(np.arange(6, 0, -1)), Pairwise((1,))),
    ],
    ids=["plain", "array", "map", "pairwise"],
)
def test_files_pickles_and_clones(structure, loss):
    """The same predictions and settings, and nothing that runs code."""
    X, y = queries()
    model = SSVM(structure, task_loss=loss).fit(X, y)
    file = io.BytesIO()
    model.save(file)
    for other in (palmette.load(file), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert [o.tolist() for o in other.predict(X)] == [o.tolist() for o in model.predict(X)]
        assert other.score(X, y) == model.score(X, y)
        assert np.array_equal(other.structure.weights(6), structure.weights(6))
    assert palmette.load(file).structure.ties == structure.ties


def test_files_that_do_not_fit():
    """Functions cannot be saved, and a ranking's file holds a ranking."""
    X, y = queries()
    with pytest.raises(TypeError, match=r"position_weights=.*cannot be saved in a model file"):
        SSVM(Ranking(lambda r: 1 / r)).fit(X, y).save(io.BytesIO())
    with pytest.raises(ModelFileError, match="damaged ranking labels"):
        RankingCodec.from_state(["a"])
    with pytest.raises(ValueError, match="one weight per feature"):
        replace(RankingScorer.for_columns(2), intercept=True).check()


def test_features_of_every_kind():
    """Names, sparse tables and mapped rows, with warm starts and encoded inputs."""
    X, y = queries()
    dense = SSVM(Ranking(), l2=1.0, tol=1e-8).fit(X, y)
    thin = [sparse.csr_matrix(x) for x in X]
    named = [[{f"f{j}": float(v) for j, v in enumerate(row)} for row in x] for x in X]
    for inputs in (thin, named):
        model = SSVM(Ranking(), l2=1.0, tol=1e-8).fit(inputs, y)
        assert model.objective_ == pytest.approx(dense.objective_, rel=1e-6)
        assert [o.tolist() for o in model.predict(inputs)] == [o.tolist() for o in dense.predict(X)]
    again = SSVM(Ranking(), l2=1.0, tol=1e-8, warm_start=True).fit(named, y)
    assert again.fit(named, y).objective_ == pytest.approx(dense.objective_, rel=1e-6)
    encoded = SSVM(Ranking()).encode(X)
    assert SSVM(Ranking(), l2=1.0, tol=1e-8).fit(encoded, y).objective_ == pytest.approx(
        dense.objective_, rel=1e-6
    )
    mapped = SSVM(Ranking(), kernel=Nystroem(RBF(0.5), n_components=5)).fit(X, y)
    file = io.BytesIO()
    mapped.save(file)
    assert palmette.load(file).score(X, y) == mapped.score(X, y)


def test_weights_by_name():
    """Weights belong to the one label; there are no labels to explain."""
    X, y = [[{"length": 1.0}, {"title": 2.0}, {"title": 1.0}], [{"title": 1.0}, {}]], [[0, 2, 1], [1, 0]]
    model = SSVM(Ranking(), C=10.0, task_loss="pairwise").fit(X, y)
    assert NamedWeights(model).strongest_features(1)[0][0].feature == "title"
    with pytest.raises(MissingCapability, match="explanations compare labels, and Ranking has none"):
        explain(model, X[0])


def test_threads_do_not_matter():
    """Bitwise the same weights for 1 and 3 threads."""
    X, y = queries(sizes=(30,) * 40)
    one, three = (SSVM(Ranking(), C=0.1, task_loss=NDCG(5), n_jobs=n, tol=1e-3).fit(X, y) for n in (1, 3))
    assert np.array_equal(one.coef_, three.coef_)


def test_weights_count_as_copies():
    """A query of weight 2 is two queries."""
    X, y = queries()
    weighted = SSVM(Ranking(), tol=1e-8).fit(X, y, sample_weight=[2.0, 1.0, 1.0, 1.0])
    doubled = SSVM(Ranking(), tol=1e-8).fit([*X, X[0]], [*y, y[0]])
    assert weighted.objective_ == pytest.approx(doubled.objective_, rel=1e-6)
