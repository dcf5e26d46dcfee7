"""Explanations of graphs and segments: terms add up to margins, rivals are the best, chains are special cases."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from palmette import CRF, SSVM, Chain, Clique, Graph, GraphInput, Ranking, SemiMarkov
from palmette.cli import main
from palmette.datasets import make_tagging
from palmette.errors import MissingCapability
from palmette.inspection import Explainer, NamedWeights, explain
from palmette.structures import Agreement, Parity, chain_graph

LABELS = ["a", "b", "c"]


def total(contest):
    return sum(term.contribution for term in contest.terms)


def graphs(seed=0, rich=True):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(12):
        labels = rng.integers(0, 3, 4)
        nodes = [{"w": f"w{k}", "n": float(rng.normal())} for k in labels]
        edges, more = [(0, 1), (1, 2), (2, 3), (3, 0)], {}
        if rich:
            more = {
                "node_types": ["x", "y", "x", "y"], "edge_types": ["p", "q", "p", "q"],
                "edge_features": [[f"e{rng.integers(3)}"] for _ in edges],
                "factors": [Clique([0, 1, 2]), Agreement([0, 2, 3], type="g"), Parity([1, 2, 3], "a", type="o")],
            }  # fmt: skip
        X.append(GraphInput(nodes, edges, **more))
        Y.append([LABELS[k] for k in labels])
    return X, Y


def segment_words(sequence, start, stop):
    return {"words": " ".join(position[0] for position in sequence[start:stop])}


def segments(seed=0):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(15):
        cuts = [0, *sorted(set(rng.integers(1, 5, 2).tolist())), 5]
        y = [(a, b, LABELS[rng.integers(3)]) for a, b in zip(cuts, cuts[1:])]
        X.append([[f"w{LABELS.index(k)}{rng.integers(2)}", "x"] for a, b, k in y for _ in range(b - a)])
        Y.append(y)
    return X, Y


@pytest.mark.parametrize("learner", [CRF, SSVM])
@pytest.mark.parametrize("structure", [Graph(), Graph(symmetric=True)], ids=str)
def test_terms_of_graphs_add_up_to_the_margin_over_the_best_rival(structure, learner):
    X, Y = graphs()
    model = learner(structure, l2=0.3, tol=1e-2, fit_intercept=True).fit(X, Y)
    labels = list(model.classes_)
    for x in X[:4]:
        why = explain(model, x)
        theta = model.scorer_.score(model.coef_, model.encoder_.transform([x]))
        scores = {
            codes: float(model.structure_.score(theta, np.array(codes))[0])
            for codes in itertools.product(range(3), repeat=4)
        }
        assert why.labels == model.predict([x])[0] and why.score == pytest.approx(max(scores.values()))
        assert len(why.contests) == 4
        for contest in why.contests:
            best = max(v for codes, v in scores.items() if labels[codes[contest.position]] != contest.label)
            assert (
                contest.margin == pytest.approx(why.score - best) == pytest.approx(total(contest), abs=1e-9)
            )
        json.dumps(why.to_dict())
        assert why.format().count(" over ") == 4
    every = Explainer(model).compare(X[0], ["a", "b", "c", "a"], ["b", "c", "a", "a"])
    kinds = {term.kind for term in every}
    assert kinds == {"feature", "bias", "transition", "edge feature", "factor"}
    own = Explainer(model).explain(X[0], truth=Y[0], against=None)
    assert all(c.rival == t or c.label == t for c, t in zip(own.contests, Y[0]))


@pytest.mark.parametrize(
    ("structure", "options"),
    [
        (SemiMarkov(3, outside=None), {}),
        (SemiMarkov(3, segment_words, outside=None), {}),
        (SemiMarkov(3, outside=None), {"edge_features": "all", "fit_intercept": True}),
    ],
    ids=["plain", "features", "edges"],
)
def test_terms_of_segments_add_up_to_the_margin_over_the_best_rival(structure, options):
    X, Y = segments()
    Y = [y if max(b - a for a, b, _ in y) < 4 else [(0, 3, "a"), (3, 5, "b")] for y in Y]
    model = CRF(structure, l2=0.3, tol=1e-2, **options).fit(X, Y)
    for x, y in zip(X[:5], Y):
        why = explain(model, x)
        assert [contest.label for contest in why.contests] == why.labels == model.predict([x])[0]
        outputs = model.predict_nbest([x], 10_000)[0]
        codes = {tuple(model.codec_.encode_outputs([o], np.array([5]))): v for o, v in outputs}
        best = max(codes, key=codes.get)
        mass = np.exp(np.array(list(codes.values())))
        for contest in why.contests:
            a, b, _ = contest.label
            there = [c[a:b] == best[a:b] for c in codes]
            rival = max(v for c, v in codes.items() if c[a:b] != best[a:b])
            assert (
                contest.margin == pytest.approx(why.score - rival) == pytest.approx(total(contest), abs=1e-9)
            )
            assert contest.probability == pytest.approx(mass[there].sum() / mass.sum())
            assert contest.rival[0] <= a < contest.rival[1]
        other = Explainer(model).compare(x, y, [(0, 1, "b"), (1, 2, "a"), (2, 5, "c")])
        scores = [
            codes[tuple(model.codec_.encode_outputs([o], np.array([5])))]
            for o in (y, [(0, 1, "b"), (1, 2, "a"), (2, 5, "c")])
        ]
        assert sum(term.contribution for term in other) == pytest.approx(scores[0] - scores[1], abs=1e-9)
        assert {"begin", "end", "length"} <= {term.kind for term in other}
        assert why.format(truth=y).count(" over ") == len(why.contests)
        truly = explain(model, x, truth=y)
        assert all(
            total(c) == pytest.approx(c.margin, abs=1e-9) for c in truly.contests if c.rival is not None
        )
        for contest in explain(model, x, against="c").contests:
            assert "c" in (contest.label[2], contest.rival[2])


def test_paths_and_single_segments_are_explained_as_chains():
    X, Y, *_ = make_tagging(25, random_state=0)
    X, Y = list(X), [list(y) for y in Y]
    chain = CRF(Chain(), l2=0.3).fit(X, Y)
    segment = CRF(SemiMarkov(1, outside=None), l2=0.3).fit(
        X, [[(t, t + 1, k) for t, k in enumerate(y)] for y in Y]
    )
    graph = CRF(Graph(), l2=0.3).fit([chain_graph(x) for x in X], Y)
    segment.coef_ = graph.coef_ = chain.coef_  # the same layout of weights
    for x in X[:4]:
        expected = explain(chain, x)
        for why in (explain(segment, x), explain(graph, chain_graph(x))):
            for one, other in zip(expected.contests, why.contests, strict=True):
                assert other.margin == pytest.approx(one.margin) and other.probability == pytest.approx(
                    one.probability
                )
                terms = [(t.kind, t.position, t.name, t.labels, t.rival_labels) for t in one.terms]
                assert sorted(terms) == sorted(
                    (t.kind, t.position, t.name, t.labels, t.rival_labels) for t in other.terms
                )


def test_what_cannot_be_explained(rng):
    X = [rng.normal(size=(3, 2)) for _ in range(4)]
    with pytest.raises(MissingCapability, match="compare labels, and Ranking has none"):
        explain(SSVM(Ranking()).fit(X, [[0, 1, 0]] * 4), X[0])
    kernel = SSVM(Chain(), kernel="rbf", tol=0.1).fit(X, [["a", "b", "a"]] * 4)
    with pytest.raises(MissingCapability, match="fit with kernel=None"):
        explain(kernel, X[0])


def every_weight(model):
    named = NamedWeights(model)
    found = [
        weight
        for sides in (
            named.strongest_features(10_000),
            named.strongest_transitions(10_000),
            named.strongest_edge_features(10_000),
        )
        for side in sides
        for weight in side
    ]
    return found, sorted(weight.value for weight in found)


def test_weights_of_graphs_by_name(tmp_path, capsys):
    X, Y = graphs()
    model = CRF(Graph(), l2=0.3, tol=1e-2, fit_intercept=True).fit(X, Y)
    found, values = every_weight(model)
    blocks = model.scorer_.blocks
    own = np.concatenate([model.coef_[blocks[name]] for name in ("node", "bias", "edge", "edge_features")])
    np.testing.assert_allclose(values, np.sort(own[own != 0]))
    table = model.transitions_
    for weight in found:
        if weight.feature in ("p", "q"):
            i, j = (list(model.classes_).index(label) for label in weight.labels)
            assert weight.value == table[weight.feature][i, j]
    assert any(weight.feature.startswith("(intercept) (x)") for weight in found)
    assert any(weight.feature.startswith("edge ") and len(weight.labels) == 2 for weight in found)
    model.save(tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert "strongest positive transitions" in capsys.readouterr().out


def test_weights_of_segments_by_name():
    X, Y = segments()
    model = CRF(SemiMarkov(5, segment_words, outside=None), l2=0.3, tol=1e-2, edge_features="all").fit(X, Y)
    found, values = every_weight(model)
    names = ("node", "bias", "edge", "edge_features", "begin", "end", "segment")
    own = np.concatenate([model.coef_[model.scorer_.blocks[name]] for name in names])
    np.testing.assert_allclose(values, np.sort(own[own != 0]))
    assert {"begin x", "end x", "x"} <= {weight.feature for weight in found}
    assert any(weight.feature.startswith("segment words:") for weight in found)
