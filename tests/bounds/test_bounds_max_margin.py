"""The bound of max-margin Markov networks and the margin loss it speaks of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, SSVM, Chain, Graph, Multiclass, SemiMarkov
from palmette.bounds import covering_bound, max_margin_bound
from palmette.inspection import margin_loss, margin_losses
from palmette.structures import Clique

GIVEN = {"m": 1000, "r_edge": 1.0, "q": 2, "l": 8, "k": 26}
positive = st.floats(1e-3, 1e3)


def words(rng, n, k=3, length=4, n_features=4, noise=1.0):
    """Sequences whose labels follow from features and from the label before."""
    teacher, pull = (
        np.random.default_rng(7).normal(size=(n_features, k)),
        np.random.default_rng(8).normal(size=(k, k)),
    )
    X, Y = [], []
    for _ in range(n):
        x = rng.normal(size=(length, n_features))
        scores = x @ teacher + noise * rng.normal(size=(length, k))
        y = [int(scores[0].argmax())]
        for row in scores[1:]:
            y.append(int((row + pull[y[-1]]).argmax()))
        X.append(x)
        Y.append(["abc"[label] for label in y])
    return X, Y


@pytest.mark.parametrize("bound", [max_margin_bound, covering_bound])
@settings(max_examples=50, deadline=None)
@given(norm=positive, gamma=positive, factor=st.floats(1.01, 10.0), delta=st.floats(1e-6, 0.5))
def test_monotone_in_everything(bound, norm, gamma, factor, delta):
    at = bound(norm, gamma, delta=delta, **GIVEN)
    assert bound(norm, gamma, delta=delta, **GIVEN | {"m": 10 * GIVEN["m"]}) < at
    assert bound(factor * norm, gamma, delta=delta, **GIVEN) > at
    assert bound(norm, factor * gamma, delta=delta, **GIVEN) < at
    assert bound(norm, gamma, delta=delta / factor, **GIVEN) >= at  # which a large norm may drown
    assert bound(norm, gamma, delta=delta, **GIVEN | {"r_edge": factor}) > at
    for name in ("q", "l", "k"):
        assert bound(norm, gamma, delta=delta, **GIVEN | {name: 2 * GIVEN[name]}) > at
    assert bound(norm, gamma, delta=delta, **GIVEN, arity=3) > at  # cliques
    # only the ratio of norm and margin counts
    assert bound(2.0 * norm, 2.0 * gamma, delta=delta, **GIVEN) == at


@settings(max_examples=200, deadline=None)
@given(
    rho=st.floats(1e-3, 1e3), log_m=st.floats(0.5, 30.0), q=st.integers(1, 20), l=st.integers(1, 1000),
    k=st.integers(2, 1000), delta=st.floats(1e-9, 0.5), arity=st.integers(2, 6),
)  # fmt: skip
def test_the_constant_is_large_enough(rho, log_m, q, l, k, delta, arity):
    sizes = {
        "m": int(np.exp(log_m)) + 1,
        "r_edge": 1.0,
        "q": q,
        "l": l,
        "k": k,
        "delta": delta,
        "arity": arity,
    }
    theorem = max_margin_bound(rho, q, **sizes)  # whose margin makes the ratio of norm and margin rho
    assert theorem >= 1.0 or covering_bound(rho, q, **sizes) <= theorem


def by_definition(model, x, y, gamma):
    """The worst share of wrong labels of every labelling that is the best of some perturbed scores, by enumeration."""
    every = np.array(list(itertools.product(range(len(model.classes_)), repeat=len(y))), np.int32)
    batch = model.encode([x]).batch
    theta = model.scorer_.score(model.coef_, batch)
    structure = model.structure_
    score = structure.score(theta.take(np.zeros(len(every), int)), every.ravel())
    true = [list(model.classes_).index(label) for label in y]
    wrong = (every != true).sum(axis=1)
    # One is raised as far as may be, while all others are lowered.
    can = score + gamma * wrong >= (score - gamma * wrong).max() - 1e-9
    return wrong[can].max() / len(y)


@pytest.mark.parametrize(
    "structure",
    [Chain(), Chain(order=2), Chain(allowed=[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("a", "a")])],
)
def test_margin_loss_is_the_worst_of_the_perturbed_predictors(rng, structure):
    X, Y = words(rng, 8)
    if structure.allowed is not None:
        Y = [list("aaba"), list("abca")] * 4
    model = CRF(structure, l2=5.0).fit(X, Y)
    for gamma in (0.0, 0.1, 0.5, 2.0):
        low, high = margin_losses(model, X, Y, gamma)
        if structure.allowed is None:
            expected = [by_definition(model, x, y, gamma) for x, y in zip(X, Y)]
            np.testing.assert_allclose(high, expected)
        np.testing.assert_array_equal(low, high)


def graphs(rng, n, cliques):
    X, Y = [], []
    for _ in range(n):
        x = {"nodes": rng.normal(size=(4, 3)), "edges": [(0, 1), (1, 2), (2, 3), (3, 0)]}
        if cliques:
            x["factors"] = Clique([(0, 1, 2), (1, 2, 3)])
        X.append(x)
        Y.append([("a", "b", "c")[k] for k in (x["nodes"] + rng.normal(size=(4, 3))).argmax(axis=1)])
    return X, Y


@pytest.mark.parametrize("cliques", [False, True])
def test_margin_loss_of_graphs_and_cliques(rng, cliques):
    X, Y = graphs(rng, 10, cliques)
    model = CRF(Graph(), l2=1.0).fit(X, Y)
    exact = total = 0
    for gamma in (0.0, 0.05, 0.3, 1.0, 10.0):
        low, high = margin_losses(model, X, Y, gamma)
        expected = np.array([by_definition(model, x, y, gamma) for x, y in zip(X, Y)])
        assert np.all(low <= expected + 1e-12) and np.all(expected <= high + 1e-12)
        exact, total = exact + np.sum(low == high), total + len(X)
    assert exact > 0.7 * total  # what is open is small


@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_margin_loss_grows_from_the_hamming_loss_to_one(rng, structure):
    X, Y = words(rng, 30)
    if not structure.has_edges:
        X, Y = np.concatenate(X), np.concatenate(Y)
    model = SSVM(structure, l2=2.0).fit(X, Y)
    predicted = model.predict(X)
    own = [np.mean(np.array(a) != np.array(b)) for a, b in zip(Y, predicted)]
    np.testing.assert_allclose(margin_loss(model, X, Y, 0.0), own)
    np.testing.assert_allclose(margin_loss(model, X, Y, 1e-9), own)
    last = np.array(own)
    for gamma in (0.01, 0.1, 1.0, 10.0, 1e4):
        loss = margin_loss(model, X, Y, gamma)
        assert np.all(loss >= last)
        last = loss
    assert np.all(last == 1.0)


def test_the_bound_holds_on_simulated_data():
    rng = np.random.default_rng(0)
    X, Y = words(rng, 8000, length=2, noise=0.2)
    X = [x / max(1.0, np.linalg.norm(x, axis=1).max()) for x in X]
    train, test = slice(0, 4000), slice(4000, 8000)
    model = SSVM(Chain(), l2=400.0, fit_intercept=False).fit(X[train], Y[train])
    norm = np.linalg.norm(model.coef_)
    # a node has an edge with one end, of a difference of features up to sqrt(2), and at most one with two
    sizes = {"m": 4000, "r_edge": np.sqrt(2.0), "q": 2, "l": 2, "k": 3}
    error = np.mean(margin_loss(model, X[test], Y[test], 0.0))
    nontrivial = 0
    for gamma in (1.0, 10.0, 100.0):
        right = np.mean(margin_loss(model, X[train], Y[train], gamma))
        for bound in (max_margin_bound, covering_bound):
            excess = bound(max(norm, 1.0), gamma, **sizes)
            assert error <= right + excess
            nontrivial += excess < 1.0
    assert nontrivial


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 1}, "m must be a finite number >= 2"),
        ({"k": 1}, "k must be a finite number >= 2"),
        ({"q": 0}, "q must be a finite number >= 1"),
        ({"r_edge": 0.0}, "r_edge must be a finite number > 0"),
        ({"delta": 0.7}, "delta must be a probability above 0 and at most 1/2"),
    ],
)
def test_bad_arguments(change, message):
    for bound in (max_margin_bound, covering_bound):
        with pytest.raises(ValueError, match=message):
            bound(1.0, 1.0, **GIVEN | change)
    with pytest.raises(ValueError, match="gamma must be a finite number > 0"):
        max_margin_bound(1.0, 0.0, **GIVEN)
    with pytest.raises(ValueError, match="constant must be"):
        max_margin_bound(1.0, 1.0, constant=-1.0, **GIVEN)


def test_margin_loss_says_what_it_does_not_know(rng):
    X, Y = words(rng, 5)
    with pytest.raises(ValueError, match="gamma must be a finite number >= 0, got -1"):
        margin_loss(SSVM(Chain()).fit(X, Y), X, Y, -1)
    model = CRF(SemiMarkov(max_length=1)).fit(X, [[f"B-{label}" for label in y] for y in Y])
    with pytest.raises(TypeError, match=r"margin_loss cannot use SemiMarkov: it has no parts_at\(\)"):
        margin_loss(model, X, [[f"B-{label}" for label in y] for y in Y], 1.0)
