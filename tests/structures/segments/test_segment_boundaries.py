"""Boundaries of segments: features with a weight per label pair there, and pieces that are cut there."""

from __future__ import annotations

import numpy as np
import pytest

import palmette
from palmette import CRF, SSVM, Chain, Decomposition, Encoding, Perceptron, SemiMarkov
from palmette.datasets import make_chains, make_tagging
from palmette.estimators.training import encode_training, layout_weights

LEARNERS = [CRF, SSVM, Perceptron]


def some(X, Y, n=30):
    return list(X)[:n], [list(y) for y in list(Y)[:n]]


def inputs(kind):
    if kind == "names":
        X, Y, *_ = make_tagging(30, random_state=0)
        return some(X, Y)
    X, Y = make_chains(20, 5, 3, random_state=0)
    return some(X, Y)


def single(Y):
    """Every position as a segment of its own."""
    return [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]


def spans(n=30, seed=0):
    """Segments of up to three positions; the word 'turn' at a boundary says that the label changes."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x, y, label = [], [], int(rng.integers(2))
        for _ in range(int(rng.integers(3, 7))):
            turn, size = bool(rng.integers(2)), int(rng.integers(1, 4))
            label = 1 - label if turn else label
            y.append((len(x), len(x) + size, "AB"[label]))
            known = [] if x else [f"label{label}"]  # of the first segment
            x += [["turn" if turn else "stay", "first", *known], *[["inside"]] * (size - 1)]
        X.append(x)
        Y.append(y)
    return X, Y


# ---------------------------------------------------------------------------------------------- edge features


@pytest.mark.parametrize("kind", ["names", "dense"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_segments_of_one_position_have_the_edge_features_of_chains(learner, kind):
    X, Y = inputs(kind)
    own = (
        {"edge_features": "all", "max_iter": 4}
        if learner is Perceptron
        else {"edge_features": "all", "l2": 1.0}
    )
    chain = learner(Chain(), **own).fit(X, Y)
    segments = learner(SemiMarkov(1, outside=None), **own).fit(X, single(Y))
    assert chain.scorer_.blocks.items() >= segments.scorer_.blocks.items()
    for model in (chain, segments):  # the same weights score the same
        model.coef_ = np.random.default_rng(1).normal(size=chain.scorer_.n_params)
    np.testing.assert_allclose(segments.predict_score(X), chain.predict_score(X))
    np.testing.assert_allclose(
        segments.objective_, chain.objective_, rtol=1e-6 if learner is Perceptron else 2e-3
    )


@pytest.mark.parametrize("kind", ["names", "dense"])
def test_scores_by_definition_and_the_adjoint(kind, rng):
    X, Y = spans(6)
    if kind == "dense":
        X = [rng.normal(size=(len(x), 3)) for x in X]
    model = CRF(SemiMarkov(3, outside=None), edge_features="all")
    data = encode_training(X, Y, model.structure, None, None)
    scorer = layout_weights(model, data)
    w, batch, codes = rng.normal(size=scorer.n_params), data.samples.batch, data.samples.codes
    theta = scorer.score(w, batch)
    plain = layout_weights(CRF(model.structure), data)
    w_plain = plain.carry_over(scorer, w, np.arange(2))
    column, left, right = scorer.tokens.edge_coordinates()
    weights = np.zeros((scorer.tokens.n_columns, 2, 2))
    weights[column, left, right] = w[scorer.blocks["edge_features"]]
    rows = batch.rows
    if kind == "names":
        rows = np.zeros(batch.rows.shape)
        for t in range(len(rows)):
            rows[t, batch.rows.indices[batch.rows.indptr[t] : batch.rows.indptr[t + 1]]] = 1.0
    expected = data.structure.score(plain.score(w_plain, batch), codes)
    for s, (lo, hi) in enumerate(zip(batch.offsets[:-1], batch.offsets[1:])):
        for t in range(lo + 1, hi):
            if codes[t] < 2:  # a segment begins
                expected[s] += rows[t] @ weights[:, codes[t - 1] % 2, codes[t]]
    np.testing.assert_allclose(data.structure.score(theta, codes), expected)
    out = np.zeros(scorer.n_params)
    scorer.pull_back(data.structure.count(theta, codes), batch, out)
    assert out @ w == pytest.approx(expected.sum())


@pytest.mark.parametrize("learner", LEARNERS)
def test_edge_features_learn_what_labels_alone_cannot(learner, tmp_path):
    X, Y = spans()
    structure = SemiMarkov(3, outside=None)
    more = {} if learner is Perceptron else {"l2": 0.1, "tol": 1e-2}
    plain = learner(structure, **more).fit(X, Y)
    model = learner(structure, edge_features=["turn", "stay"], **more).fit(X, Y)
    assert model.score(X, Y) > 0.95 > 0.8 > plain.score(X, Y)
    names = model.encoder_.feature_names
    for name in ("node", "begin", "end"):  # prefixes stand on edges only
        column = model.scorer_.weight_columns()[model.scorer_.blocks[name]]
        assert not {names[c] for c in column} & {"turn", "stay"}
    model.save(tmp_path / "model")
    assert palmette.load(tmp_path / "model").predict(X) == model.predict(X)


def test_only_pairs_at_boundaries_have_a_weight():
    X = [[["a"], ["b"], ["c"]]]
    model = CRF(SemiMarkov(2, outside=None), edge_features="all").fit(X, [[(0, 2, "x"), (2, 3, "y")]])
    column, left, right = model.scorer_.tokens.edge_coordinates()
    names = model.encoder_.feature_names
    assert [(names[c], a, b) for c, a, b in zip(column, left, right)] == [("c", 0, 1)]


def test_growing_models_keep_their_edge_features():
    X, Y = spans()
    model = Perceptron(SemiMarkov(3, outside=None), edge_features="all")
    model.partial_fit(X[:5], Y[:5], classes=["A", "B"])
    more = [[[*position, "new"] for position in x] for x in X[5:]]
    n = model.scorer_.blocks["edge_features"]
    model.partial_fit(more, Y[5:])
    grown = model.scorer_.blocks["edge_features"]
    assert grown.stop - grown.start > n.stop - n.start


# ------------------------------------------------------------------------------------------------------ pieces


@pytest.mark.parametrize("learner", LEARNERS)
def test_segments_of_one_position_are_cut_as_chains(learner):
    X, Y = inputs("names")
    own = {"regularizer": Decomposition(2.5), "random_state": 3, "max_iter": 5}
    chain = learner(Chain(), **own).fit(X, Y)
    segments = learner(SemiMarkov(1, outside=None), **own).fit(X, single(Y))
    np.testing.assert_allclose(segments.coef_, chain.coef_, rtol=1e-3, atol=1e-6)


def test_pieces_are_whole_segments():
    X, Y = spans()
    structure = SemiMarkov(3, outside=None)
    data = encode_training(X, Y, structure, None, None)
    codes, offsets = data.samples.codes, data.samples.batch.offsets
    boundaries, dropped, n_epochs = np.setdiff1d(np.flatnonzero(codes < 2), offsets), [], 400
    for epoch in range(n_epochs):
        batch, sample = data.structure.in_pieces(data.samples, 2, Decomposition(2.5), 0, epoch)
        assert np.all(codes[batch.offsets[:-1]] < 2) and np.isin(offsets, batch.offsets).all()
        assert np.array_equal(sample, np.searchsorted(offsets, batch.offsets[:-1], side="right") - 1)
        n_segments = [np.sum(codes[a:b] < 2) for a, b in zip(batch.offsets[:-1], batch.offsets[1:])]
        assert max(n_segments) <= 3
        dropped.append(np.isin(boundaries, batch.offsets))
    # Every boundary is dropped with probability 1 / 2.5, as every edge of a chain.
    assert np.abs(np.mean(dropped, axis=0) - 0.4).max() < 5 * np.sqrt(0.24 / n_epochs)


def test_pieces_of_one_segment_see_no_true_transition():
    X, Y = spans()
    model = CRF(SemiMarkov(3, outside=None), regularizer=Decomposition(1), tol=1e-2).fit(X, Y)
    assert np.all(model.transitions_ < 0)  # only other outputs of a piece have transitions
    assert np.abs(model.coef_[model.scorer_.blocks["begin"]]).max() > 0.1


def words_of(sequence, start, stop):
    return [str(stop - start)]


def test_sizes_are_chosen_and_features_of_segments_are_cut(tmp_path):
    X, Y = spans(12)
    structure = SemiMarkov(3, words_of, outside=None)
    model = CRF(structure, l2=0.1, regularizer=Decomposition("auto"), encoding=Encoding(), max_iter=3)
    model.fit(X, Y)
    assert model.decomposition_.size in Decomposition.SIZES
    model.save(tmp_path / "model")
    assert palmette.load(tmp_path / "model", segment_features=words_of).predict(X) == model.predict(X)
