"""The ramp loss: between the loss and its convex bound on every structure, and the truth that ties leave open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import CRF, SSVM, Chain, Graph, LossOptions, Multiclass, Perceptron, Ranking, SemiMarkov
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.inspection import bound_values
from palmette.losses import NDCG, Hamming, MeanAveragePrecision, Pairwise, PrecisionAt, ZeroOne, resolve_loss
from palmette.losses.rescaling import rescaled_best, resolve_rescaling
from palmette.structures import ChainTables
from palmette.structures.graph.inputs import GraphInput
from palmette.structures.ranking.codec import RankingCodec, grades_of
from palmette.surrogates import Difference, Hinge, PerceptronLoss, RescaledHinge, RescaledPerceptron, TieLoss
from palmette.testing import reference_for

seeds, kinds = st.integers(0, 2**32 - 1), st.integers(0, 14)
PLANTED = -1e8  # scores below belong to outputs that the instances hold possible in the last resort
STRUCTURES = [
    Multiclass(),
    Chain(),
    Chain(order=2),
    SemiMarkov(3),
    Graph(),
    Ranking(),
    Ranking("letor"),
]
RESCALINGS = {"margin": "margin", "slack": "slack", "root": math.sqrt, "step": lambda d: 0.5 if d < 1 else 2}


def loss_of(structure, theta, kind):
    """A task loss for which the structure has an augmented maximum."""
    n_labels = getattr(theta, "n_labels", 1)
    if isinstance(structure, Ranking):
        found = [NDCG(), NDCG(2, "linear"), MeanAveragePrecision(), PrecisionAt(2), Pairwise()]
    else:
        costs = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels))) / 2.0
        found = [Hamming(), Hamming(costs), ZeroOne()]
    return resolve_loss(found[kind % len(found)], structure, tuple(range(n_labels)))


def drawn(structure, seed):
    """Potentials with and without ties, forbidden outputs and loops, whose sums a double holds well; a true output."""
    rng = np.random.default_rng(seed)
    reference = reference_for(structure)
    usual = [
        instance.theta
        for instance in reference.instances(rng)
        if not any(word in instance.name for word in ("huge", "switch", "wide"))
    ]
    rng.shuffle(usual)
    theta = next(theta for theta in usual if structure.best(theta).values.min() > PLANTED)
    if isinstance(structure, Ranking):
        lengths = np.diff(theta.offsets)
        return theta, RankingCodec().encode_outputs([rng.integers(0, 3, n) for n in lengths], lengths)
    picks = []
    for s in range(len(theta)):
        outputs = reference.outputs(theta, s)
        possible = [y for y in outputs if reference.score(theta, s, y) > PLANTED]
        picks.append(possible[rng.integers(len(possible))])
    return theta, reference.pack(theta, picks)


def enumerated(structure, theta, true, loss, s):
    """All outputs of a sample, their scores and losses."""
    reference = reference_for(structure)
    outputs = reference.outputs(theta, s)
    scores = np.array([reference.score(theta, s, y) for y in outputs])
    own = np.tile(true[theta.offsets[s] : theta.offsets[s + 1]], len(outputs))
    many = reference.select(theta, [s] * len(outputs))
    return outputs, scores, loss.value(structure, many, own, reference.pack(many, outputs))


def names(structure):
    return repr(structure)


def is_exact(task_loss, structure, rescaling):
    """Whether maxima are exact for all potentials, so that ``upper`` adds nothing."""
    if hasattr(structure, "bounds"):  # whose inference may be approximate
        return False
    if rescaling.is_margin or task_loss.way == "contradiction":
        return True
    return task_loss.way == "parts" and structure.layout == "items"


# ------------------------------------------------------------------------------------------------- lemmas


@pytest.mark.parametrize("structure", STRUCTURES, ids=names)
@given(seed=seeds, kind=kinds, rescaling=st.sampled_from(sorted(RESCALINGS)))
def test_the_ramp_is_between_the_losses_of_prediction_and_augmented_maximum(structure, seed, kind, rescaling):
    """D(y, y_bar) >= ramp >= D(y, y*), convex bound >= ramp, whichever of several maximisers inference has found."""
    theta, true = drawn(structure, seed)
    loss, gamma = loss_of(structure, theta, kind), resolve_rescaling(RESCALINGS[rescaling])
    above = rescaled_best(loss, structure, theta, true, gamma, margin=True)
    below = rescaled_best(loss, structure, theta, true, gamma, margin=False)
    if is_exact(loss, structure, gamma):
        np.testing.assert_allclose(above.upper, above.values, atol=1e-9)
        np.testing.assert_allclose(below.upper, below.values, atol=1e-9)
    at_best = loss.value(structure, theta, true, structure.best(theta).codes)
    at_augmented = loss.value(structure, theta, true, above.codes)
    assert np.all(below.values >= -1e-9)  # so the convex bound is not below the ramp
    assert np.all(above.upper - below.values >= at_best - 1e-9)
    assert np.all(at_augmented >= above.values - below.upper - 1e-9)
    pairs = [(RescaledHinge(loss, gamma), RescaledPerceptron(loss, gamma))]
    if gamma.is_margin:
        pairs.append((Hinge(loss), PerceptronLoss()))
    for pair in pairs:
        found = Difference(*pair).evaluate(structure, theta, true, np.ones(len(theta))).values
        np.testing.assert_allclose(found, above.values - below.values, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES, ids=names)
@given(seed=seeds, kind=kinds)
def test_ramp_by_enumeration(structure, seed, kind):
    """max [f + D] - max f over all outputs; where the truth scores best, the convex bound itself."""
    theta, true = drawn(structure, seed)
    loss, weight = loss_of(structure, theta, kind), np.ones(len(theta))
    ramp = Difference(Hinge(loss), PerceptronLoss()).evaluate(structure, theta, true, weight).values
    convex = Hinge(loss).evaluate(structure, theta, true, weight).values
    truth = structure.score(theta, true)
    for s in range(len(theta)):
        _, scores, losses = enumerated(structure, theta, true, loss, s)
        assert ramp[s] == pytest.approx((scores + losses).max() - scores.max(), abs=1e-9)
        assert convex[s] == pytest.approx((scores + losses).max() - truth[s], abs=1e-9)
        if truth[s] >= scores.max() - 1e-12:
            assert ramp[s] == pytest.approx(convex[s], abs=1e-9)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_ramp_does_not_grow_with_the_scores(rescaling, rng):
    """Of a sample that is wrong the ramp stays near its loss, the convex bound goes to infinity."""
    theta = ChainTables(rng.normal(size=(9, 3)), rng.normal(size=(1, 3, 3)), np.array([0, 4, 9]))
    true = Chain().worst(theta).codes
    loss, gamma = resolve_loss("hamming", Chain(), ("a", "b", "c")), resolve_rescaling(rescaling)
    weight = np.ones(len(theta))
    bound, ramp = (
        RescaledHinge(loss, gamma),
        Difference(RescaledHinge(loss, gamma), RescaledPerceptron(loss, gamma)),
    )
    large = ChainTables(1e4 * theta.node, 1e4 * theta.edge, theta.offsets)
    predicted = loss.value(Chain(), large, true, Chain().best(large).codes)
    assert np.all(predicted > 0)
    assert bound.evaluate(Chain(), large, true, weight).values.min() > 1e3
    values = ramp.evaluate(Chain(), large, true, weight).values
    assert np.all(values <= loss.largest(Chain(), large, true) + 1e-6) and np.all(values >= predicted - 1e-6)


# --------------------------------------------------------------------------------------------------- ties


@given(seed=seeds, kind=kinds, weights=st.sampled_from([0.25, 1.0, "letor"]))
def test_ties_take_the_best_of_equally_good_rankings(seed, kind, weights):
    """min over y'' in Y_opt of max_y [f(y) + D(y'', y)] - f(y''), by enumeration."""
    structure = Ranking(weights, ties="best")
    theta, true = drawn(structure, seed)
    loss, weight = loss_of(structure, theta, kind), np.ones(len(theta))
    found = Difference(Hinge(loss), TieLoss()).evaluate(structure, theta, true, weight).values
    plain = Hinge(loss).evaluate(structure, theta, true, weight).values
    predicted = loss.value(structure, theta, true, structure.best(theta).codes)
    for s in range(len(theta)):
        grades = grades_of(true)[theta.offsets[s] : theta.offsets[s + 1]]
        outputs, scores, losses = enumerated(structure, theta, true, loss, s)
        equal = [
            score
            for ranks, score in zip(outputs, scores)
            if np.all(np.diff(grades[np.argsort(ranks)]) <= 0)  # from the first to the last, they do not rise
        ]
        assert found[s] == pytest.approx((scores + losses).max() - max(equal), abs=1e-9)
        assert predicted[s] - 1e-9 <= found[s] <= plain[s] + 1e-9


@given(seed=seeds)
def test_given_and_best_ties_agree_without_ties(seed):
    rng = np.random.default_rng(seed)
    theta = drawn(Ranking(), seed)[0]
    lengths = np.diff(theta.offsets)
    true = RankingCodec().encode_outputs([rng.permutation(n) for n in lengths], lengths)
    loss = resolve_loss("ndcg", Ranking(), ())
    values = [
        surrogate.evaluate(Ranking(), theta, true, np.ones(len(theta))).values
        for surrogate in (Hinge(loss), Difference(Hinge(loss), TieLoss()))
    ]
    np.testing.assert_allclose(*values, atol=1e-9)


def test_ties_need_a_structure_that_knows_them():
    X, y = make_chains(3, random_state=0)

    class Tied(SSVM):
        def _surrogate(self, classes):
            return Difference(Hinge(resolve_loss("hamming", self.structure, classes)), TieLoss())

    with pytest.raises(MissingCapability, match=r"it has no best_equivalent\(\)"):
        Tied(Chain()).fit(X, y)


# ------------------------------------------------------------------------------------ bounds of fitted models


def samples_of(kind, rng):
    X, y = make_chains(8, n_classes=3, n_features=3, mean_length=4.0, random_state=1)
    if kind == "multiclass":
        return Multiclass(), np.concatenate(X), np.concatenate(y)
    if kind == "loops":
        n = [len(labels) for labels in y]
        edges = [
            [*zip(range(m - 1), range(1, m)), *([(0, m - 1)] if m > 2 else [])] for m in n
        ]  # rings of all nodes
        return Graph(), [GraphInput(x, e) for x, e in zip(X[:4], edges)], y[:4]
    if kind == "ranking":
        return Ranking(), X, [rng.integers(0, 3, len(x)).tolist() for x in X]
    if kind == "segments":
        return SemiMarkov(2), X, [[(t, t + 1, label) for t, label in enumerate(labels)] for labels in y]
    return Chain(2 if kind == "second order" else 1), X, y


KINDS = ["multiclass", "chain", "second order", "segments", "loops", "ranking"]


@pytest.mark.filterwarnings("ignore:.*queries teach nothing")
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("kind", KINDS)
def test_objective_of_a_ramp_model_is_that_of_its_bounds(kind, rescaling, rng):
    structure, X, y = samples_of(kind, rng)
    options = {"l2": 0.5, "loss_options": LossOptions(rescaling=rescaling), "tol": 1e-2}
    ramp = SSVM(structure, loss="ramp", **options).fit(X, y)
    values = bound_values(ramp, X, y)
    penalty = 0.25 * ramp.coef_ @ ramp.coef_
    assert ramp.objective_ == pytest.approx(values.ramp.sum() + penalty, rel=1e-9)
    assert np.all(values.convex >= values.ramp) and np.all(values.ramp >= values.loss - 1e-9)
    # The ramp is below the convex bound everywhere, so its minimum is, too; CCCP starts at the latter, roughly.
    if kind != "ranking":
        hinge = SSVM(structure, **options).fit(X, y)
        assert hinge.objective_ == pytest.approx(
            bound_values(hinge, X, y).convex.sum() + 0.25 * hinge.coef_ @ hinge.coef_, rel=1e-9
        )
        assert ramp.objective_ <= hinge.objective_ * 1.03


@pytest.mark.parametrize("learner", [CRF, Perceptron])
def test_bounds_of_other_learners(learner):
    X, y = make_chains(12, n_classes=3, random_state=1)
    model = learner(Chain()).fit(X, y)
    wrong = [
        sum(a != b for a, b in zip(one, other)) for one, other in zip(model.predict(X + [X[0][:0]]), y + [[]])
    ]
    values = bound_values(model, X + [X[0][:0]], y + [[]])
    assert values.loss.tolist() == wrong and values.convex[-1] == values.ramp[-1] == 0.0
    whole = bound_values(model, X, y, task_loss="zero_one", rescaling="slack")
    assert whole.loss.tolist() == [float(n > 0) for n in wrong[:-1]]
    assert np.all(whole.ramp >= whole.loss - 1e-9) and np.all(whole.convex >= whole.ramp)


def test_bounds_are_computed_on_models_that_are_fitted_and_outputs_that_fit():
    from sklearn.exceptions import NotFittedError

    X, y = make_chains(5, random_state=1)
    with pytest.raises(NotFittedError):
        bound_values(SSVM(Chain()), X, y)
    model = SSVM(Chain()).fit(X, y)
    with pytest.raises(ValueError, match=r"5 .* 4"):
        bound_values(model, X, y[:-1])
    with pytest.raises(ValueError, match="unknown; choose one of"):
        bound_values(model, X, y, task_loss="edit")
    with pytest.raises(ValueError, match="rescaling='both' is unknown"):
        bound_values(model, X, y, rescaling="both")


# -- task losses from elsewhere ---------------------------------------------------------------------------------


class Multiple:
    """A multiple of the Hamming loss, plus a number."""

    way = "own"

    def __init__(self, times=1.0, plus=0.0):
        self.times, self.plus = times, plus

    def bind(self, structure, classes):
        self.parts = Hamming(abs(self.times) * (1.0 - np.eye(len(classes)))).bind(structure, classes)
        return self

    def value(self, structure, theta, true, codes):
        return self.plus + np.sign(self.times) * self.parts.value(structure, theta, true, codes)

    def augmented_best(self, structure, theta, true):
        return self.parts.augmented_best(structure, theta, true)


def test_a_loss_must_be_zero_for_the_truth_and_never_negative():
    """Else its bounds would be none."""
    X, y = make_chains(4, random_state=0)
    with pytest.raises(
        ValueError, match=r"Multiple: the true output of sample 0 has the loss 0\.5; it must be 0"
    ):
        SSVM(Chain(), task_loss=Multiple(plus=0.5)).fit(X, y)
    with pytest.raises(
        ValueError, match=r"Multiple: an output of sample 0 has the loss -\d+; losses must be finite and"
    ):
        SSVM(Chain(), task_loss=Multiple(-1.0)).fit(X, y)
    twice = Hamming(2.0 * (1.0 - np.eye(4)))
    one, two = (SSVM(Chain(), task_loss=loss).fit(X, y) for loss in (Multiple(2.0), twice))
    assert one.objective_ == pytest.approx(two.objective_)


def test_right_labels_cost_nothing_in_mappings_too():
    with pytest.raises(ValueError, match=r"of 'a' where 'a' is true, is 2; it must be 0"):
        Hamming({("a", "a"): 2.0}).bind(Chain(), ("a", "b"))
    np.testing.assert_array_equal(
        Hamming({"a": 2.0}).bind(Chain(), ("a", "b")).table, [[0.0, 2.0], [1.0, 0.0]]
    )
