"""Learners of pages: the soft hinge, sums to a tolerance, and what edges bring."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from palmette import LossOptions
from palmette.apps.webgraph import Collection, Site, page_learner
from palmette.errors import MissingCapability
from palmette.estimators.ssvm import SSVM
from palmette.losses.base import resolve_loss
from palmette.recipes import run_recipe
from palmette.regularizers import GroupLasso
from palmette.structures.chain.chain import Chain
from palmette.structures.graph.batch import GraphLayout
from palmette.structures.graph.graph import Graph
from palmette.structures.graph.tables import GraphTables
from palmette.structures.positions.tables import ChainTables
from palmette.structures.segments.semi_markov import SemiMarkov
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.log import LogLoss
from palmette.surrogates.soft_hinge import SoftHinge

LABELS = ("a", "b", "c")


@pytest.fixture
def chains(rng):
    """Potentials of two chains of 3 and 2 positions, and true codes."""
    theta = ChainTables(rng.normal(size=(5, 3)), rng.normal(size=(1, 3, 3)), np.array([0, 3, 5]))
    return theta, rng.integers(3, size=5).astype(np.int32)


@pytest.mark.parametrize("t", [0.05, 0.3, 2.0])
def test_soft_hinge_is_above_the_hinge_by_at_most_the_entropy(chains, t):
    theta, true = chains
    loss = resolve_loss("hamming", Chain(), LABELS)
    soft = SoftHinge(loss, t).evaluate(Chain(), theta, true, np.ones(2)).values
    hard = Hinge(loss).evaluate(Chain(), theta, true, np.ones(2)).values
    assert np.all(soft >= hard - 1e-12) and np.all(soft <= hard + t * np.array([3, 2]) * np.log(3) + 1e-12)


def test_soft_hinge_without_costs_at_temperature_one_is_the_log_loss(chains):
    theta, true = chains
    loss = resolve_loss("hamming", Chain(), LABELS)
    free = SoftHinge(replace(loss, table=np.zeros((3, 3))), 1.0).evaluate(Chain(), theta, true, np.ones(2))
    log = LogLoss().evaluate(Chain(), theta, true, np.ones(2))
    assert np.allclose(free.values, log.values) and np.allclose(free.counts.node, log.counts.node)
    assert np.allclose(free.counts.edge, log.counts.edge)


def test_gradient_of_the_soft_hinge(chains):
    theta, true = chains
    surrogate, weight, step = (
        SoftHinge(resolve_loss("hamming", Chain(), LABELS), 0.4),
        np.array([1.0, 2.5]),
        1e-6,
    )
    counts = surrogate.evaluate(Chain(), theta, true, weight).counts
    for name in ("node", "edge"):
        for place in np.ndindex(getattr(theta, name).shape):
            values = []
            for sign in (1, -1):
                moved = getattr(theta, name).copy()
                moved[place] += sign * step
                changed = surrogate.evaluate(Chain(), replace(theta, **{name: moved}), true, weight)
                values.append(weight @ changed.values)
            slope = (values[0] - values[1]) / (2 * step)
            assert np.isclose(slope, getattr(counts, name)[place], atol=1e-6)


def test_sums_to_a_tolerance_agree_with_those_to_the_last_digit(rng):
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    layout = GraphLayout(np.array([0, 4]), np.array([0, 5]), edges)
    theta = GraphTables(
        rng.normal(size=(4, 3)), rng.normal(size=(5, 3, 3)), np.array([0, 4]), layout=layout,
        edge_table=np.arange(5),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loose = Graph(sums="reweighted", tol=1e-4, max_sweeps=500).expectation(theta)
        tight = Graph(sums="reweighted").expectation(theta)
        exact = Graph(sums="exact").expectation(theta)
    assert np.allclose(loose.log_z, tight.log_z, rtol=2e-4)
    assert np.allclose(loose.counts.node, tight.counts.node, atol=0.02)
    assert loose.log_z[0] >= exact.log_z[0] and tight.log_z[0] >= exact.log_z[0]


def make_pages(rng, name, n=40):
    """Half of the pages say what they are; the others have a link from one that does."""
    labels = rng.choice(["course", "student"], size=n // 2)
    words = [{f"is {label}", "page"} for label in labels] + [{"page"} for _ in labels]
    pairs = np.array([[i, i + n // 2] for i in range(n // 2)] + [[i, i + 1] for i in range(0, n // 2 - 1)])
    features = np.zeros((len(pairs), 2))
    features[: n // 2, 0], features[n // 2 :, 1] = 1.0, 1.0
    return Site(name, words, [*labels, *labels], pairs, features)


@pytest.mark.parametrize("name", ["RMN", "M3N"])
def test_edges_tell_what_words_do_not(rng, name):
    pages = Collection(tuple(make_pages(rng, school) for school in ("x", "y", "z")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = page_learner("SVM", 0.1).fit(pages, ["x", "y"])
        together = page_learner(name, 0.1, 0.1).fit(pages, ["x", "y"])
        assert np.equal(together.predict("z"), pages["z"].labels).mean() == 1.0
    assert np.equal(alone.predict("z"), pages["z"].labels).mean() < 0.9
    assert together.gap < 0.2 and together.reason


def test_unknown_learner():
    with pytest.raises(ValueError, match="learner must be one of SVM, RMN, M3N, got 'GNN'"):
        page_learner("GNN", 1.0)


@pytest.mark.data
def test_quick_recipe_meets_its_target():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = run_recipe("webkb", quick=True)
    assert report.verdicts and report.passed, report.format()
    errors = {row[0]: row[-1] for row in report.tables[0].rows}
    assert errors["M3N"] < errors["SVM"] < errors["majority"]


def test_ssvm_with_the_soft_hinge(rng):
    X = [rng.normal(size=(4, 3)) for _ in range(6)]
    Y = [[LABELS[k] for k in x.argmax(axis=1)] for x in X]
    hard = SSVM(Chain(), l2=1.0, tol=1e-5).fit(X, Y)
    soft = SSVM(Chain(), l2=1.0, loss="soft_hinge", loss_options=LossOptions(temperature=1e-2), tol=1e-5).fit(
        X, Y
    )
    assert hard.result_.lower <= soft.objective_ <= hard.objective_ + 1e-2 * 24 * np.log(3)
    assert soft.result_.reason and soft.predict(X) == hard.predict(X)
    with pytest.raises(ValueError, match="temperature must be a finite number > 0, got 0"):
        SSVM(Chain(), loss="soft_hinge", loss_options=LossOptions(temperature=0)).fit(X, Y)
    with pytest.raises(MissingCapability, match="sum over label parts"):
        SoftHinge(SimpleNamespace(way="ranking"), 1.0)
    with pytest.raises(ValueError, match="the surrogates of SSVM are hinge, soft_hinge, ramp"):
        SSVM(Chain(), loss="soft").fit(X, Y)
    with pytest.raises(ValueError, match="loss='soft' is unknown"):
        SSVM(Chain(), loss="soft", kernel="linear").fit(X, Y)


@pytest.mark.parametrize(
    "structure", [Chain(order=2), Graph(), SemiMarkov(2)], ids=["order2", "graph", "segments"]
)
def test_soft_hinge_divides_every_part_of_a_structure(structure, rng):
    X = [rng.normal(size=(4, 2)) for _ in range(5)]
    Y = [np.where(x[:, 0] > 0.3, "B-x", "O").tolist() for x in X]
    if isinstance(structure, Graph):
        X = [(x, [[0, 1], [1, 2], [2, 3], [3, 0]]) for x in X]
    hard = SSVM(structure, l2=1.0, tol=1e-4).fit(X, Y)
    soft = SSVM(
        structure, l2=1.0, loss="soft_hinge", loss_options=LossOptions(temperature=1e-2), tol=1e-4
    ).fit(X, Y)
    assert soft.result_.lower <= soft.objective_
    assert hard.result_.lower <= soft.objective_ <= hard.objective_ + 1e-2 * 20 * np.log(3)


def test_soft_hinge_takes_a_group_lasso(rng):
    X = [rng.normal(size=(4, 6)) for _ in range(6)]
    Y = [[LABELS[k] for k in x[:, :3].argmax(axis=1)] for x in X]
    model = SSVM(Chain(), l2=0.1, loss="soft_hinge", regularizer=GroupLasso(3.0, by="attribute"), tol=1e-4)
    model.fit(X, Y)
    weights = model.coef_[model.scorer_.blocks["node"]].reshape(6, 3)
    assert 0 < np.sum(np.any(weights, axis=1)) < 6 and model.result_.gap <= 1e-4 * model.objective_
