"""Features without weight are dropped from models of every structure, and predictions stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

import palmette
from palmette import CRF, Encoding, Graph, GraphInput, Perceptron, SemiMarkov


def words(rng, n):
    """Features of n positions, of which only the first says something."""
    labels = rng.integers(0, 2, n)
    return [[f"is{k}", f"noise{rng.integers(30)}"] for k in labels], labels


def length(sequence, start, stop):
    return [f"length{stop - start}", f"noise{(7 * start + stop) % 11}"]


def segments(seed, **structure):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(25):
        x, labels = words(rng, 6)
        cuts = [0, *sorted(set(rng.integers(1, 6, 2).tolist())), 6]
        X.append(x)
        Y.append([(a, b, "AB"[labels[a]]) for a, b in zip(cuts, cuts[1:]) if b - a < 5])
    return SemiMarkov(5, **structure), X, Y


def graphs(seed, types=False, edges=False):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(25):
        nodes, labels = words(rng, 5)
        pairs = [(k, k + 1) for k in range(4)] + [(0, 4)]
        more = {}
        if types:
            more |= {"node_types": [k % 2 for k in range(5)], "edge_types": [0, 1, 0, 1, 1]}
        if edges:
            more["edge_features"] = [
                ["same" if labels[a] == labels[b] else "other", f"noise{rng.integers(30)}"] for a, b in pairs
            ]
        X.append(GraphInput(nodes, pairs, **more))
        Y.append(["AB"[k] for k in labels])
    return Graph(), X, Y


CASES = {
    "segments": (segments, {}, {}),
    "segments, all pairs": (segments, {}, {"encoding": Encoding(states="all")}),
    "features of segments": (segments, {"segment_features": length}, {}),
    "edge features of segments": (segments, {}, {"edge_features": "all"}),
    "hashed features of segments": (segments, {}, {"encoding": Encoding(n_hash=200)}),
    "graphs": (graphs, {}, {}),
    "graphs, all pairs": (graphs, {}, {"encoding": Encoding(states="all")}),
    "features of edges": (graphs, {"edges": True}, {}),
    "types": (graphs, {"types": True}, {}),
    "types and features of edges": (graphs, {"types": True, "edges": True}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_predictions_stay_as_they_are(case, tmp_path):
    make, own, options = CASES[case]
    structure, X, Y = make(0, **own)
    model = CRF(structure, l1=1.0, l2=0.1, tol=1e-3, **options).fit(X, Y)
    before, marginals = model.predict(X), model.predict_marginals(X)
    n_columns, n_weights, nonzero = model.encoder_.n_columns, len(model.coef_), np.count_nonzero(model.coef_)
    names = model.encoder_.feature_names
    assert model.prune() is model
    assert model.encoder_.n_columns < n_columns / 2 and len(model.coef_) < n_weights
    assert np.count_nonzero(model.coef_) == nonzero
    if names is not None:
        assert set(model.encoder_.feature_names) < set(names)
    model.save(tmp_path / "model")
    functions = {"segment_features": length} if "segment_features" in own else {}
    for some in (model, palmette.load(tmp_path / "model", **functions)):
        assert some.predict(X) == before
        for found, expected in zip(some.predict_marginals(X), marginals):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("make", [segments, graphs])
def test_pruned_perceptrons_go_on_learning(make):
    structure, X, Y = make(0)
    model = Perceptron(structure).fit(X, Y)
    score = model.prune().score(X, Y)
    assert model.partial_fit(X, Y).score(X, Y) > score - 0.05 > 0.6
