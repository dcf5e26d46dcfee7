"""Models that have learnt nothing say so, once, and name what to try."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from palmette import (
    CRF,
    SSVM,
    Chain,
    Decomposition,
    Graph,
    GroupLasso,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
)
from palmette.compat import CRF as CompatCRF
from palmette.errors import EmptyModelWarning
from palmette.kernels import Linear, Nystroem
from palmette.losses import NDCG
from palmette.metrics import ndcg

TABLE, CLASSES = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [2.0, 0.0]]), ["a", "a", "b", "b"]
WORDS = [[{"w": "x"}, {"w": "y"}], [{"w": "y"}], [{"w": "x"}]]
TAGS = [["a", "b"], ["b"], ["a"]]


def letor_like(n, seed, n_docs=30, n_features=12):
    """Queries like those of LETOR: skewed features, scaled to [0, 1] query by query, and few and noisy high grades."""
    rng = np.random.default_rng(seed)
    relevant = np.linspace(1.0, -0.5, n_features)
    X, y = [], []
    for _ in range(n):
        raw = rng.lognormal(size=(n_docs, n_features))
        appeal = np.log(raw) @ relevant / np.linalg.norm(relevant) + rng.normal(0.0, 1.5, n_docs)
        X.append((raw - raw.min(axis=0)) / np.ptp(raw, axis=0))
        y.append(np.digitize(appeal, np.quantile(appeal, [0.85, 0.95])))
    return X, y


def told(fit):
    """The messages of empty models that ``fit`` gives, which name the line that called it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit()
    assert all(each.filename == __file__ for each in seen if each.category is EmptyModelWarning)
    return [str(each.message) for each in seen if each.category is EmptyModelWarning]


@pytest.mark.parametrize("l2", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize(
    "structure, loss", [(Ranking(), NDCG(10)), (Ranking("letor"), NDCG())], ids=["top 10", "whole"]
)
def test_a_ranking_by_hinge_that_ends_at_zero_says_so(structure, loss, l2):
    """It is the proven optimum, for six orders of magnitude of l2, and has no order at all."""
    X, y = letor_like(25, 0)
    with pytest.warns(
        EmptyModelWarning, match=r"SSVM: all 12 weights are 0.*PlackettLuce\(\) or loss='ramp'"
    ):
        model = SSVM(structure, task_loss=loss, l2=l2).fit(X, y)
    assert model.result_.converged and not model.coef_.any()


def test_what_is_recommended_instead_learns():
    X, y = letor_like(25, 0)
    test_X, test_y = letor_like(40, 1)
    chance = ndcg(test_y, [np.zeros(len(grades)) for grades in test_y], 10)
    for learner in (PlackettLuce(), SSVM(Ranking(), loss="ramp", task_loss=NDCG(10), l2=0.1, tol=1e-2)):
        assert not told(lambda learner=learner: learner.fit(X, y))
        assert ndcg(test_y, learner.row_scores(test_X), 10) > chance + 0.1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: CRF(Multiclass(), l1=100.0).fit(TABLE, CLASSES), "a smaller l1 or l2"),
        (lambda: CRF(Chain(), l1=100.0, C=2.0).fit(WORDS, TAGS), "a smaller l1 or l2, which is 1 / C"),
        (
            lambda: CRF(Chain(), regularizer=GroupLasso(100.0), l2_edge=1e9).fit(WORDS, TAGS),
            "a smaller GroupLasso or l2",
        ),
        (lambda: SSVM(Multiclass(), l1=100.0, solver="stochastic").fit(TABLE, CLASSES), "a smaller l1 or l2"),
        (lambda: PlackettLuce(l1=100.0).fit([TABLE], [[0, 0, 1, 2]]), "features differ within a query"),
        (lambda: CompatCRF(algorithm="lbfgs", c1=100.0).fit(WORDS, TAGS), "a smaller c1 or c2"),
        (lambda: CRF(Multiclass()).fit(TABLE, ["a"] * 4), "y has one label only, 'a'. Give samples of other labels"),
        (lambda: SSVM(Chain()).fit(WORDS, [["a", "a"], ["a"], ["a"]]), "y has one label only, 'a'"),
        (lambda: Perceptron(Chain()).fit(WORDS, [["a", "a"], ["a"], ["a"]]), "y has one label only, 'a'"),
        (lambda: PlackettLuce().fit([0.0 * TABLE], [[0, 0, 1, 2]]), "no feature in X differs within a query"),
        (
            lambda: PlackettLuce().fit([0.0 * TABLE + 2.0, 0.0 * TABLE], [[0, 0, 1, 2]] * 2),
            "no feature in X differs within a query. Give features that differ within a query",
        ),
        (
            lambda: CRF(Multiclass()).fit(0.0 * TABLE + 2.0, ["a", "b", "a", "b"]),
            "no feature in X differs between positions. Give",
        ),
        (
            lambda: CRF(Multiclass()).fit([{"bias": 1.0}] * 4, ["a", "b", "a", "b"]),
            "no feature in X differs between positions. Give",
        ),
        (
            lambda: CRF(Multiclass(), fit_intercept=False).fit(0.0 * TABLE, CLASSES),
            "no feature in X differs between positions. Give features that differ",
        ),
        (
            lambda: Perceptron(Chain(), classes=["a", "b"]).fit(WORDS, [["a", "a"], ["a"], ["a"]]),
            "no sample was predicted wrongly on the way",
        ),
        (lambda: SSVM(Multiclass(), kernel=Linear()).fit(TABLE, ["a"] * 4), "y has one label only"),
        (lambda: SSVM(Multiclass(), kernel=Nystroem(Linear(), 2)).fit(TABLE, ["a"] * 4), "y has one label only"),
        (lambda: CRF(Multiclass(), kernel=Linear()).fit(TABLE, ["a"] * 4), "y has one label only"),
    ],
)  # fmt: skip
def test_every_learner_says_it_once_with_a_fitting_remedy(make, message):
    (found,) = told(make)
    assert "weights are 0, so that the model has learnt nothing" in found and message in found


def test_a_model_that_has_learnt_something_says_nothing():
    for fit in (
        lambda: CRF(Multiclass(), l2=100.0).fit(TABLE, CLASSES),
        lambda: SSVM(Multiclass(), l2=100.0).fit(TABLE, CLASSES),
        lambda: CRF(Chain(), fit_intercept=False).fit([np.zeros((3, 1))], [["a", "a", "b"]]),  # transitions
        lambda: CRF(Graph()).fit([(np.zeros((2, 1)), [(0, 1)], np.ones((1, 1)))], [[0, 1]]),
    ):
        assert not told(fit)


def test_a_callback_that_ends_the_run_is_named():
    stop = CRF(Multiclass(), callbacks=[lambda step: True], solver="lbfgs")
    messages = told(lambda: stop.fit(TABLE, CLASSES))
    assert len(messages) == (not stop.coef_.any())
    assert all("the run ended after" in message and "(callback)" in message for message in messages)


def test_fits_inside_a_fit_are_silent():
    """Choosing the size of pieces takes many fits: what they are is the business of the last one."""
    X, Y = WORDS * 4, TAGS * 4
    model = CRF(Chain(), l1=100.0, regularizer=Decomposition("auto"), random_state=0)
    assert len(told(lambda: model.fit(X, Y))) == 1
    assert len(model.decomposition_scores_) > 1


def test_batches_of_a_stream_are_silent():
    """No mistake so far is not a failure: there is more to come."""
    model = Perceptron(Chain())
    assert not told(lambda: model.partial_fit(WORDS[2:], TAGS[2:], classes=["a", "b"]))
    assert not model.coef_.any()
