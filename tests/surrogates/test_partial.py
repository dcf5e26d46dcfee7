"""Losses of partial annotation against enumeration, and the identities between them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import Chain, Graph, Multiclass, Ranking, SemiMarkov
from palmette.data import Annotation
from palmette.data.samples import Partly
from palmette.losses import resolve_loss
from palmette.surrogates import (
    AgreeingMaximum,
    AnnotatedHinge,
    AnnotatedSoftHinge,
    Hinge,
    IgnoringBridge,
    LogLoss,
    MarginalLogLoss,
    PartialPerceptronLoss,
    SoftHinge,
    bridge_loss,
)
from palmette.surrogates.base import by_scores
from palmette.testing import reference_for

STRUCTURES = [Multiclass(), Chain(), Chain(order=2), Graph(), SemiMarkov(2)]


def instances(structure, seed, n=3):
    """Potentials of small batches that forbid nothing, with annotations of every kind."""
    rng, reference = np.random.default_rng(seed), reference_for(structure)
    found = 0
    for instance in reference.instances(rng):
        theta = instance.theta
        scores = [
            [reference.score(theta, s, y) for y in reference.outputs(theta, s)] for s in range(len(theta))
        ]
        if not len(theta) or not all(np.abs(own).max() < 1e4 for own in scores):
            continue
        for annotation in reference.draw_annotations(rng, theta):
            agree = [
                [not reference.contradicts(y, annotation[s]) for y in reference.outputs(theta, s)]
                for s in range(len(theta))
            ]
            if all(any(own) for own in agree):
                yield reference, theta, annotation, scores, agree
        found += 1
        if found == n:
            return


def truth_of(structure, reference, theta, annotation):
    known = reference.pack(theta, annotation)
    known = known if isinstance(known, Annotation) else Annotation(known, np.empty((0, theta.n_codes), bool))
    return known, Partly(structure.best_agreeing(by_scores(np.zeros_like, theta), known).codes, known)


def losses_of(reference, theta, annotation, s, table):
    """The task loss of every output: the cheapest confusion among the codes that are possible, 1 per wrong edge."""

    def cost(known, code):
        rows = known if isinstance(known, frozenset) else range(len(table)) if known == -1 else [known]
        return min(table[row, code] for row in rows)

    def wrong_edges(y):
        pairs = getattr(annotation[s], "pairs", {})
        return sum((y[u], y[v]) not in allowed.labels for (u, v), allowed in pairs.items())

    return [sum(map(cost, annotation[s], y)) + wrong_edges(y) for y in reference.outputs(theta, s)]


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_the_marginal_log_loss_is_that_of_enumeration(structure):
    for reference, theta, annotation, scores, agree in instances(structure, 1):
        _, truth = truth_of(structure, reference, theta, annotation)
        found = MarginalLogLoss().evaluate(structure, theta, truth, np.ones(len(theta))).values
        for s, value in enumerate(found):
            own = np.array(scores[s])
            expected = np.logaddexp.reduce(own) - np.logaddexp.reduce(own[np.array(agree[s])])
            assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_the_soft_hinge_sums_over_all_outputs_that_agree(structure):
    for reference, theta, annotation, scores, agree in instances(structure, 7):
        loss = resolve_loss("hamming", structure, tuple("abcdefgh")[: theta.n_labels])
        _, truth = truth_of(structure, reference, theta, annotation)
        weight, t = np.ones(len(theta)), 0.5
        found = AnnotatedSoftHinge(loss, t).evaluate(structure, theta, truth, weight).values
        for s, value in enumerate(found):
            own, costs = np.array(scores[s]), losses_of(reference, theta, annotation, s, loss.table)
            total = np.logaddexp.reduce((own + costs) / t)
            expected = t * (total - np.logaddexp.reduce(own[np.array(agree[s])] / t))
            assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@pytest.mark.parametrize("name", ["hamming", "zero_one"])
def test_the_bridge_is_max_of_both_parts_minus_the_reward(structure, name):
    classes = tuple("abcdefgh")
    for reference, theta, annotation, scores, agree in instances(structure, 2):
        loss = resolve_loss(name, structure, classes[: theta.n_labels])
        known, truth = truth_of(structure, reference, theta, annotation)
        outputs = [reference.outputs(theta, s) for s in range(len(theta))]
        some = [int(k) for k in np.random.default_rng(0).integers(10**6, size=len(theta))]
        some = [k % len(own) for k, own in zip(some, outputs)]
        answered = reference.pack(theta, [own[k] for own, k in zip(outputs, some)])
        losses = loss.value(structure, theta, known, answered)
        weight = np.ones(len(theta))
        found = bridge_loss(loss).evaluate(structure, theta, truth, weight)
        ignoring = IgnoringBridge(loss).evaluate(structure, theta, truth, weight)
        for s in range(len(theta)):
            own, agrees = np.array(scores[s]), np.array(agree[s])
            if name == "hamming" or structure.layout == "items":
                costs = np.array(losses_of(reference, theta, annotation, s, loss.table))
            else:
                costs = (~agrees).astype(float)
            assert np.all(costs[agrees] == 0.0)  # annotated parts alone count
            assert losses[s] == costs[some[s]]
            penalty = np.max((own + costs)[~agrees], initial=-np.inf)
            reward = own[agrees].max()
            assert found.values[s] == pytest.approx(max(penalty, reward) - reward, abs=1e-8)
            assert found.values[s] == pytest.approx(max(penalty - reward, 0.0), abs=1e-8)
            assert found.values[s] == pytest.approx((own + costs).max() - reward, abs=1e-8)
            assert ignoring.values[s] == pytest.approx(found.values[s], abs=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_complete_annotation_gives_the_losses_of_complete_outputs(structure):
    for reference, theta, annotation, _, _ in instances(structure, 3):
        codes = reference.pack(theta, annotation)
        if isinstance(codes, Annotation) or np.any(codes < 0):
            continue
        loss, weight = (
            resolve_loss("hamming", structure, tuple("abcdefgh")[: theta.n_labels]),
            np.ones(len(theta)),
        )
        both = (
            (LogLoss(), MarginalLogLoss()),
            (Hinge(loss), bridge_loss(loss)),
            (SoftHinge(loss, 0.5), AnnotatedSoftHinge(loss, 0.5)),
        )
        for plain, partial in both:
            a, b = (each.evaluate(structure, theta, codes, weight) for each in (plain, partial))
            assert b.values == pytest.approx(a.values, abs=1e-8)
            assert np.allclose(by_scores(np.subtract, a.counts, b.counts).node, 0.0, atol=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
@pytest.mark.parametrize("kind", ["marginal", "bridge", "ignoring", "perceptron", "soft hinge"])
def test_gradients_are_those_of_differences(structure, kind):
    rng = np.random.default_rng(5)
    for reference, theta, annotation, _, _ in instances(structure, 4, n=2):
        loss = resolve_loss("hamming", structure, tuple("abcdefgh")[: theta.n_labels])
        surrogate = {
            "marginal": MarginalLogLoss(), "bridge": bridge_loss(loss), "ignoring": IgnoringBridge(loss),
            "perceptron": PartialPerceptronLoss(), "soft hinge": AnnotatedSoftHinge(loss, 0.7),
        }[kind]  # fmt: skip
        _, truth = truth_of(structure, reference, theta, annotation)
        theta = by_scores(lambda table: table + rng.normal(size=table.shape), theta)  # without ties
        direction = by_scores(lambda table: rng.normal(size=table.shape), theta)
        weight = rng.random(len(theta)) + 0.5
        step = 1e-6

        def value(shift, theta=theta, direction=direction, truth=truth, weight=weight):
            moved = by_scores(lambda a, b: a + shift * b, theta, direction)
            return float(surrogate.evaluate(structure, moved, truth, weight).values @ weight)  # noqa: B023

        slope = (value(step) - value(-step)) / (2 * step)
        found = surrogate.evaluate(structure, theta, truth, weight).counts
        assert direction.dot(found) == pytest.approx(slope, abs=1e-4)


@given(st.integers(0, 10**6))
def test_both_parts_of_the_bridge_obey_the_subgradient_inequality(seed):
    rng = np.random.default_rng(seed)
    reference, theta, annotation, _, _ = next(instances(Chain(), seed, n=1))
    loss, weight = resolve_loss("hamming", Chain(), tuple("abcdefgh")[: theta.n_labels]), np.ones(len(theta))
    _, truth = truth_of(Chain(), reference, theta, annotation)
    other = by_scores(lambda table: rng.normal(size=table.shape), theta)
    for part in (AnnotatedHinge(loss), AgreeingMaximum()):
        here, there = (part.evaluate(Chain(), each, truth, weight) for each in (theta, other))
        shift = by_scores(np.subtract, other, theta)
        assert there.values.sum() >= here.values.sum() + shift.dot(here.counts) - 1e-8


def test_the_start_of_a_difference_cancels_out():
    """Whatever whole output stands for the truth, the bridge and the perceptron have the same values."""
    reference, theta, annotation, _, _ = next(
        found for found in instances(Chain(), 6) if any(-1 in own for own in found[2])
    )
    known, truth = truth_of(Chain(), reference, theta, annotation)
    other = Partly(Chain().worst(theta, within=Chain().agreeing(theta, known)).codes, known)
    loss, weight = resolve_loss("hamming", Chain(), tuple("abcdefgh")[: theta.n_labels]), np.ones(len(theta))
    for surrogate in (bridge_loss(loss), PartialPerceptronLoss(), MarginalLogLoss()):
        a, b = (surrogate.evaluate(Chain(), theta, each, weight) for each in (truth, other))
        assert a.values == pytest.approx(b.values, abs=1e-9)
        assert np.allclose(a.counts.node, b.counts.node)


@given(st.integers(0, 10**6))
def test_rankings_with_free_documents_are_merged_exactly(seed):
    from palmette.structures.ranking.search import merged

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    score, position = rng.normal(size=n), np.sort(rng.random(n))[::-1].copy()
    grades = np.where(rng.random(n) < 0.6, rng.integers(0, 3, n), -1)
    best = -np.inf
    for order in itertools.permutations(range(n)):
        known = [grades[d] for d in order if grades[d] >= 0]
        if known == sorted(known, reverse=True):
            best = max(best, sum(position[r] * score[d] for r, d in enumerate(order)))
    ranks, value = merged(score, grades, position)
    assert value == pytest.approx(best)
    assert value == pytest.approx(float(position[ranks] @ score))
    known = grades[np.argsort(ranks)]
    assert np.all(np.diff(known[known >= 0]) <= 0)


def test_rankings_bridge_between_orders_of_equal_grades():
    from palmette.structures.ranking.tables import RankingTables

    rng, ranking = np.random.default_rng(0), Ranking()
    theta = RankingTables(rng.normal(size=5), np.array([0, 5]))
    codes = np.array([1, 0, 1, 0, 2]) << 20 | np.array([1, 3, 2, 4, 0])
    loss = resolve_loss("zero_one", ranking, ())
    found = bridge_loss(loss).evaluate(ranking, theta, codes.astype(np.int32), np.ones(1)).values[0]
    within = ranking.agreeing(theta, codes), ranking.contradicting(theta, codes)
    reward, penalty = (ranking.best(theta, within=each).values[0] for each in within)
    assert found == pytest.approx(max(1.0 + penalty - reward, 0.0))
