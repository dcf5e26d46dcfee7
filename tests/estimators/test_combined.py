"""Two models decoded together on structures beyond chains: against enumeration, the chain, and the complex model."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import (
    CRF,
    SSVM,
    Chain,
    Clique,
    CombinedDecoder,
    Graph,
    GraphInput,
    Multiclass,
    Ranking,
    SemiMarkov,
)  # fmt: skip
from palmette.datasets import make_chains
from palmette.structures import Agreement, chain_graph

LABELS = ["a", "b", "c"]


def chains(seed=0):
    X, Y = make_chains(16, 3, 4, random_state=seed)
    return X, [[LABELS[k] for k in y] for y in Y]


def single(Y):
    return [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]


def pair(structure, X, Y, **options):
    """Models of two halves, whose labels have different orders."""
    n = len(X) // 2
    first = CRF(structure, l2=0.3, classes=LABELS, **options).fit(X[:n], Y[:n])
    second = CRF(structure, l2=0.3, classes=LABELS[::-1], **options).fit(X[n:], Y[n:])
    # Classifiers sort their labels, as those of scikit-learn do.
    assert (list(first.classes_) == list(second.classes_)) == isinstance(structure, Multiclass)
    return [first, second]


@pytest.mark.parametrize("combine", ["marginals", "scores"])
def test_paths_and_single_segments_are_chains(combine):
    X, Y = chains()
    chain = CombinedDecoder(pair(Chain(), X, Y, tol=1e-8), 0.7, combine)
    expected, marginals = chain.predict(X), chain.predict_marginals(X)
    assert expected != chain.models[0].predict(X)
    graphs = [chain_graph(x) for x in X]
    graph = CombinedDecoder(pair(Graph(), graphs, Y, tol=1e-8), 0.7, combine)
    assert graph.predict(graphs) == expected and graph.score(graphs, Y) == chain.score(X, Y)
    segment = CombinedDecoder(pair(SemiMarkov(1, outside=None), X, single(Y), tol=1e-8), 0.7, combine)
    assert segment.predict(X) == single(expected)
    assert segment.score(X, single(Y)) == chain.score(X, Y)
    for other in (graph.predict_marginals(graphs), segment.predict_marginals(X)):
        np.testing.assert_allclose(np.concatenate(other), np.concatenate(marginals), atol=1e-3)


def rich_graphs(seed=0):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(12):
        y = rng.integers(0, 3, 4)
        X.append(
            GraphInput(
                np.eye(3)[y] + rng.normal(size=(4, 3)), [(0, 1), (1, 2), (2, 3), (3, 0)],
                edge_types=list(rng.permutation(["p", "p", "q", "q"])), edge_features=rng.normal(size=(4, 2)),
                factors=[Clique([0, 1, 2]), Agreement([0, 2, 3])],
            )
        )  # fmt: skip
        Y.append([LABELS[k] for k in y])
    return X, Y


def segments(seed=0):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(12):
        cuts = [0, *sorted(set(rng.integers(1, 5, 2).tolist())), 5]
        y = [(a, b, LABELS[rng.integers(3)]) for a, b in zip(cuts, cuts[1:])]
        codes = np.concatenate([np.full(b - a, LABELS.index(k)) for a, b, k in y])
        X.append(np.eye(3)[codes] + rng.normal(size=(5, 3)))
        Y.append(y)
    return X, Y


@pytest.mark.parametrize(
    ("structure", "make"),
    [(Graph(), rich_graphs), (SemiMarkov(5, outside=None), segments)],
    ids=["graph", "segments"],
)
def test_scores_are_added_by_definition(structure, make):
    X, Y = make()
    models = pair(structure, X, Y, tol=1e-2)
    decoder = CombinedDecoder(models, 0.6, "scores")

    def score(x, y):  # f(x, y) of both models, up to constants that do not depend on y
        return sum(w * m.log_proba([x], [y])[0] for w, m in zip((1.0, 0.6), models))

    best = CombinedDecoder(models, 0.6, "scores").predict(X)
    for x, found in zip(X[:4], best):
        rivals = [y for m in models for y, _ in m.predict_nbest([x], 40)[0]]
        assert score(x, list(found)) >= max(score(x, y) for y in rivals) - 1e-9
    assert CombinedDecoder(models, 0.0, "scores").predict(X) == models[0].predict(X)
    assert CombinedDecoder(models, 1e9, "scores").predict(X) == models[1].predict(X)
    assert 0 <= decoder.tuned(X, Y).score(X, Y) <= 1


@pytest.mark.parametrize("combine", ["marginals", "scores"])
def test_single_labels(combine, rng):
    y = rng.integers(0, 3, 60)
    X, labels = np.eye(3)[y] + rng.normal(size=(60, 3)), np.array(LABELS)[y]
    models = pair(Multiclass(), X, labels)
    decoder = CombinedDecoder(models, 0.8, combine)
    first, second = (model.predict_marginals(X) for model in models)
    product = np.log(first) + 0.8 * np.log(second)
    assert decoder.predict(X).tolist() == [LABELS[k] for k in product.argmax(axis=1)]
    chances = np.exp(product) / np.exp(product).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(decoder.predict_marginals(X), chances, atol=1e-9)
    assert decoder.score(X, labels) == np.mean(decoder.predict(X) == labels)


def test_single_labels_are_the_simple_model_of_nodes_too():
    X, Y = chains()
    simple = CRF(Multiclass(), l2=0.3).fit(np.concatenate(X), np.concatenate(Y))
    chain = CombinedDecoder([CRF(Chain(), l2=0.3, tol=1e-8).fit(X, Y), simple], 2.0)
    graphs = [chain_graph(x) for x in X]
    graph = CombinedDecoder([CRF(Graph(), l2=0.3, tol=1e-8).fit(graphs, Y), simple], 2.0)
    assert graph.predict(graphs) == chain.predict(X) != chain.models[0].predict(X)


def test_rankings(rng):
    X = [rng.normal(size=(5, 3)) for _ in range(10)]
    y = [(x @ [1.0, 0.5, -1.0] + rng.normal(size=5) > 0).astype(int) for x in X]
    models = [SSVM(Ranking(), C=c, task_loss="ndcg").fit(X[k::2], y[k::2]) for k, c in ((0, 1.0), (1, 3.0))]
    decoder = CombinedDecoder(models, 0.5, "scores")
    total = [a + 0.5 * b for a, b in zip(*(model.row_scores(X) for model in models))]
    for found, scores in zip(decoder.predict(X), total):
        assert found.tolist() == np.argsort(-scores, kind="stable").tolist()
    models[0].coef_ = models[0].coef_ + 0.5 * models[1].coef_
    assert decoder.models[0].score(X, y) == pytest.approx(CombinedDecoder(models, 0.0, "scores").score(X, y))
    with pytest.raises(TypeError, match="predict_marginals cannot use Ranking"):
        decoder.predict_marginals(X)


@pytest.mark.parametrize(
    ("structures", "combine", "message"),
    [
        ((Chain(), Multiclass()), "scores", "Use models of one structure, or combine='marginals'"),
        ((SemiMarkov(2), SemiMarkov(3)), "scores", "Use models of one structure, or combine='marginals'"),
        ((Ranking(), Ranking(1.0)), "scores", "Use models of one structure$"),
        ((Ranking(), Ranking()), "marginals", "no probabilities of labels: use combine='scores'"),
        ((Multiclass(), Chain()), "marginals", "give the model of several positions first"),
    ],
    ids=str,
)
def test_what_cannot_be_added(structures, combine, message):
    models = []
    for structure in structures:
        if isinstance(structure, Ranking):
            X, y = [np.arange(6.0).reshape(3, 2) ** 2], [[0, 1, 0]]
            models.append(SSVM(structure).fit(X, y))
            continue
        X, y = [[["u"], ["v"]], [["v"], ["u"]]], [["a", "b"], ["b", "a"]]
        if isinstance(structure, Multiclass):
            X, y = [["u"], ["v"]], ["a", "b"]
        elif isinstance(structure, SemiMarkov):
            y = [[(0, 1, "a")], [(1, 2, "b")]]
        models.append(CRF(structure).fit(X, y))
    with pytest.raises(ValueError, match=message):
        CombinedDecoder(models, combine=combine).predict(X)
