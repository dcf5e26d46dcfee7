"""The penalty where none is given: what it is, and that predictions do not depend on the unit of columns."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

import palmette
from palmette import CRF, SSVM, Chain, Graph, GraphInput, Multiclass, PlackettLuce, Ranking, SemiMarkov
from palmette.datasets import make_chains, make_tagging
from palmette.estimators.strengths import strength
from palmette.kernels import Linear


def table(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return 5.0 + rng.standard_normal((3, d))[y] + rng.standard_normal((n, d)), y


def spread(X, weight=None):
    """By the definition: columns times the geometric mean of their variances."""
    mean = np.average(X, axis=0, weights=weight)
    variances = np.average((X - mean) ** 2, axis=0, weights=weight)
    variances = variances[variances > 1e-12]
    return len(variances) * np.prod(variances) ** (1 / len(variances))


def graphs(scale=1.0, edge_scale=1.0):
    X, y = make_chains(12, 3, 4, mean_length=4, random_state=1)
    rng = np.random.default_rng(0)
    made = []
    for x in X:
        edges = np.array([[t, t + 1] for t in range(len(x) - 1)]).reshape(-1, 2)
        made.append(
            GraphInput(scale * x, edges, edge_features=edge_scale * rng.standard_normal((len(edges), 2)))
        )
    return made, y


def test_what_it_is():
    X, y = table()
    X[:, 3] = 7.0  # a constant column has no variance to count
    assert CRF(Multiclass()).fit(X, y).l2_ == pytest.approx(0.1 * spread(X))
    assert SSVM(Multiclass()).fit(X, y).l2_ == pytest.approx(0.5 * spread(X))
    assert CRF(Multiclass()).fit(sparse.csr_matrix(X), y).l2_ == pytest.approx(0.1 * spread(X))
    assert CRF(Multiclass(), l2="3x").fit(X, y).l2_ == pytest.approx(0.3 * spread(X))
    assert CRF(Multiclass(), l2=2.0).fit(X, y).l2_ == 2.0
    assert CRF(Multiclass(), C=4.0).fit(X, y).l2_ == 0.25
    assert CRF(Multiclass(), l2_node=3.0).fit(X, y).l2_ == 3.0
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    weight[:5] = 0.0
    assert CRF(Multiclass()).fit(X, y, weight).l2_ == pytest.approx(0.1 * spread(X, weight))
    assert CRF(Multiclass()).fit(np.ones((6, 2)), [0, 1] * 3).l2_ == pytest.approx(0.1), "nothing varies"


def test_named_features_keep_one():
    X, y = make_tagging(12, n_words=20, random_state=0)
    for learner in (CRF(Chain()), SSVM(Chain())):
        usual = learner.fit(X, y)
        assert usual.l2_ == 1.0
        given = type(learner)(Chain(), l2=1.0).fit(X, y)
        assert np.array_equal(usual.coef_, given.coef_)


def blocks(model, X, y):
    """L2 of every block of a model."""
    from palmette.estimators.training import encode_training, layout_weights

    data = encode_training(X, y, model.structure, model.classes, None, **model._encoding())
    scorer = layout_weights(model, data)
    l2 = model._regularizer(scorer, data).l2
    found = {name: np.unique(l2[place]) for name, place in scorer.blocks.items() if place.stop > place.start}
    assert all(len(values) == 1 for values in found.values())
    return {name: float(values[0]) for name, values in found.items()}


def test_blocks():
    X, y = make_chains(20, 3, 4, mean_length=4, random_state=1)
    whole = np.vstack(X)
    usual = 0.1 * spread(whole)
    found = blocks(CRF(Chain(order=2), edge_features=[1, 3]), X, y)
    assert found.pop("edge_features") == pytest.approx(0.1 * spread(whole[:, [1, 3]]))
    assert found == pytest.approx({"node": usual, "bias": 1.0, "edge": 1.0, "edge2": 1.0})
    found = blocks(CRF(Chain(), l2="10x", l2_edge=0.2), X, y)
    assert found == pytest.approx({"node": 10 * usual, "bias": 10.0, "edge": 0.2})
    found = blocks(CRF(Chain(), l2=3.0, l2_bias=0.0), X, y)
    assert found == {"node": 3.0, "bias": 0.0, "edge": 3.0}
    found = blocks(SSVM(Chain(), l2_edge="0.25x"), X, y)
    assert found == pytest.approx({"node": 5 * usual, "bias": 1.0, "edge": 0.25})
    found = blocks(CRF(Chain(), l2=3.0, l2_node="10x"), X, y)
    assert found == pytest.approx({"node": 10 * usual, "bias": 3.0, "edge": 3.0})
    inputs, y = graphs()
    edges = np.vstack([graph.edge_features for graph in inputs])
    found = blocks(CRF(Graph()), inputs, y)
    assert found["edge_features"] == pytest.approx(0.1 * spread(edges))
    nodes = np.vstack([graph.nodes for graph in inputs])
    assert found["node"] == pytest.approx(0.1 * spread(nodes)) and found["bias"] == 1.0
    segments = [[(t, t + 1, label) for t, label in enumerate(labels)] for labels in y]
    found = blocks(CRF(SemiMarkov(2)), [graph.nodes for graph in inputs], segments)
    assert {found[name] for name in ("node", "begin", "end")} == {found["node"]} and found["length"] == 1.0


CHAINS = make_chains(12, 3, 4, random_state=1)
LEARNERS = {
    "CRF, rows": (CRF(Multiclass(), tol=1e-8), lambda a: table()[0] * a, table()[1]),
    "SSVM, rows": (SSVM(Multiclass(), tol=1e-6), lambda a: table()[0] * a, table()[1]),
    "sparse": (CRF(Multiclass(), tol=1e-8), lambda a: sparse.csr_matrix(table()[0] * a), table()[1]),
    "edges": (CRF(Chain(), edge_features="all", tol=1e-8), lambda a: [a * x for x in CHAINS[0]], CHAINS[1]),
    "graphs": (CRF(Graph(), tol=1e-8), lambda a: graphs(a, a)[0], graphs()[1]),
    "kernel": (SSVM(Multiclass(), kernel=Linear(), tol=1e-3), lambda a: table()[0] * a, table()[1]),
    "kernel, likelihood": (CRF(Multiclass(), kernel=Linear(), tol=1e-8), lambda a: table()[0] * a, table()[1]),
}  # fmt: skip


@pytest.mark.parametrize("case", LEARNERS)
@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_predictions_do_not_depend_on_the_unit(case, scale):
    learner, inputs, y = LEARNERS[case]
    one = learner.fit(inputs(1.0), y)
    objective, l2, scores = one.objective_, one.l2_, np.concatenate(one.row_scores(inputs(1.0)))
    other = learner.fit(inputs(scale), y)
    assert other.l2_ == pytest.approx(scale**2 * l2, rel=1e-5)
    assert other.objective_ == pytest.approx(objective, rel=max(2e-5, 2 * learner.tol))
    np.testing.assert_allclose(
        np.concatenate(other.row_scores(inputs(scale))), scores, atol=0.02 if learner.tol < 1e-4 else 0.3
    )


@pytest.mark.parametrize("learner", [PlackettLuce(tol=1e-9), SSVM(Ranking(), tol=1e-8)])
def test_rankings_see_differences_within_queries(learner):
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((6, 4)) for _ in range(20)]
    y = [(x[:, 0] + rng.standard_normal(6) > 0).astype(int) for x in X]
    y = [np.where(np.arange(6) == k % 6, 2, grades) for k, grades in enumerate(y)]
    one = learner.fit(X, y)
    l2, objective = one.l2_, one.objective_
    assert l2 == pytest.approx(spread(np.vstack([x - x.mean(axis=0) for x in X])))
    moved = [3.0 * (x + 100.0 * rng.standard_normal(4)) for x in X]
    other = learner.fit(moved, y)
    assert other.l2_ == pytest.approx(9.0 * l2) and other.objective_ == pytest.approx(objective, rel=1e-5)
    thin = learner.fit([sparse.csr_matrix(x) for x in X], y)
    assert thin.l2_ == pytest.approx(l2)


def test_a_column_in_a_large_unit_leaves_the_others_alone():
    X, y = table(200, 6)
    before = CRF(Multiclass()).fit(X, y).l2_
    X[:, 0] *= 1e6
    after = CRF(Multiclass(), tol=0.1).fit(X[:, [0, 1, 2, 3, 4, 5]], y).l2_
    assert after == pytest.approx(before * 1e12 ** (1 / 6), rel=1e-6), "not by 1e12"


def test_of_kernels():
    X, y = table(40)
    gram = X @ X.T
    variance = np.mean(np.diag(gram)) - gram.mean()
    assert SSVM(Multiclass(), kernel=Linear()).fit(X, y).l2_ == pytest.approx(0.5 * variance, rel=1e-5)
    assert CRF(Multiclass(), kernel=Linear(), l2="2x").fit(X, y).l2_ > 0.0
    with pytest.raises(ValueError, match="a kernel needs l2 > 0"):
        SSVM(Multiclass(), kernel=Linear(), l2=0.0).fit(X, y)


def test_files_and_refusals():
    X, y = table()
    model = CRF(Multiclass(), l2="3x").fit(X, y)
    file = io.BytesIO()
    model.save(file)
    loaded = palmette.load(file)
    assert loaded.l2 == "3x" and loaded.l2_ == model.l2_
    assert strength(" 1e-2x ", None) == (0.01, True)
    for bad in ("3", "x", "-1x", "0x", "1xx"):
        with pytest.raises(ValueError, match="multiple of the usual penalty such as '10x'"):
            CRF(Multiclass(), l2=bad).fit(X, y)
