"""Rescaled maxima and their bounds, against all outputs; the losses that they make."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from problems import make_problem
from sklearn.exceptions import ConvergenceWarning

from palmette import SSVM, LossOptions
from palmette.errors import MissingCapability
from palmette.inspection import bound_values
from palmette.losses import (
    NDCG,
    Hamming,
    MeanAveragePrecision,
    Pairwise,
    PrecisionAt,
    ZeroOne,
    levels,
    rescaling,
    resolve_loss,
)
from palmette.losses import (
    parametric_search as trade_off,
)
from palmette.losses.hamming import common_unit
from palmette.losses.rescaling import rescaled_best, resolve_rescaling
from palmette.structures import (
    Chain,
    ChainTables,
    Graph,
    GraphTables,
    Multiclass,
    Ranking,
    RankingTables,
    SegmentTables,
    SemiMarkov,
)  # fmt: skip
from palmette.structures.graph.batch import GraphLayout
from palmette.structures.ranking.codec import RankingCodec
from palmette.surrogates import Difference, Hinge, PerceptronLoss, RescaledHinge, RescaledPerceptron
from palmette.testing import ChainReference, GraphReference, MulticlassReference, SegmentReference
from palmette.testing.chain2_reference import SecondOrderReference

CLASSES = ("a", "b", "c")
LENGTHS = np.array([1, 4, 5, 2, 3])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
ROWS = OFFSETS[-1]


def multiclass(rng, scale):
    return Multiclass(), ChainTables(scale * rng.normal(size=(9, 3)), np.empty((0, 3, 3)), np.arange(10))


def chain(rng, scale):
    return Chain(), ChainTables(
        scale * rng.normal(size=(ROWS, 3)), scale * rng.normal(size=(1, 3, 3)), OFFSETS
    )


def chain_with_edges(rng, scale):
    edge = scale * rng.normal(size=(ROWS - len(LENGTHS), 3, 3))
    return Chain(), ChainTables(scale * rng.normal(size=(ROWS, 3)), edge, OFFSETS)


def chain_with_rules(rng, scale):
    allowed = [("a", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("b", "b"), ("a", "c")]
    return Chain(allowed=allowed).bind(CLASSES), chain(rng, scale)[1]


def second_order(rng, scale):
    triple = scale * rng.normal(size=(1, 3, 3, 3))
    return Chain(2), ChainTables(
        scale * rng.normal(size=(ROWS, 3)), scale * rng.normal(size=(1, 3, 3)), OFFSETS, triple
    )


def second_order_each(rng, scale):
    structure, theta = second_order(rng, scale)
    return structure, ChainTables(
        theta.node, scale * rng.normal(size=(theta.n_edges, 3, 3)), OFFSETS,
        scale * rng.normal(size=(theta.n_triples, 3, 3, 3)),
    )  # fmt: skip


def segments(rng, scale):
    return SemiMarkov(3), SegmentTables(
        scale * rng.normal(size=(ROWS, 3)), scale * rng.normal(size=(1, 3, 3)), OFFSETS,
        segment=scale * rng.normal(size=(ROWS, 3, 3)), longest=np.array([1, 3, 2]),
    )  # fmt: skip


def loops(rng, scale, **options):
    """A single node, a square, a square with a diagonal and a tail, an edge, a triangle."""
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    edges = [[], square, [*square, (0, 2), (3, 4)], [(0, 1)], [(0, 1), (1, 2), (2, 0)]]
    counts = np.array([len(e) for e in edges])
    flat = np.array([pair for own in edges for pair in own])
    layout = GraphLayout(OFFSETS, np.concatenate([[0], np.cumsum(counts)]), flat)
    return Graph(**options), GraphTables(
        scale * rng.normal(size=(ROWS, 3)), scale * rng.normal(size=(counts.sum(), 3, 3)), OFFSETS,
        layout=layout, edge_table=np.arange(counts.sum()),
    )  # fmt: skip


def loose_loops(rng, scale):
    return loops(rng, scale, inference="loopy")


def rankings(rng, scale):
    return Ranking(), RankingTables(scale * rng.normal(size=ROWS), OFFSETS)


PARTS = [
    multiclass, chain, chain_with_edges, chain_with_rules, second_order, second_order_each, segments, loops,
    loose_loops,
]  # fmt: skip
LOSSES = {
    "unit": Hamming(),
    "multiples": Hamming({"a": 0.5, ("b", "c"): 1.5, ("c", "a"): 0.0}),
    "real": Hamming({"a": math.pi, ("b", "c"): math.e, "c": 0.3}),
    "zero_one": ZeroOne(),
}
RANKING_LOSSES = {
    "ndcg": NDCG(3),
    "map": MeanAveragePrecision(),
    "precision": PrecisionAt(2),
    "pairwise": Pairwise(),
}
RESCALINGS = {
    "slack": "slack",
    "margin": "margin",
    "sqrt": np.sqrt,
    "step": lambda d: 0.5 if d < 1.2 else 2.0,  # of numbers, not continuous, positive at 0
    "square": lambda d: np.asarray(d) ** 2,
}


def outputs_of(structure, theta):
    """Every output of every sample, with its score."""
    if isinstance(structure, Ranking):
        weights = structure.weights(theta.longest)
        for lo, hi in itertools.pairwise(theta.offsets.tolist()):
            codes = np.array(list(itertools.permutations(range(hi - lo))), np.int32)
            yield codes, weights[codes] @ theta.node[lo:hi]
        return
    if isinstance(structure, Graph):
        reference = GraphReference()
    elif isinstance(structure, SemiMarkov):
        reference = SegmentReference()
    elif isinstance(structure, Multiclass):
        reference = MulticlassReference()
    else:
        reference = ChainReference() if theta.triple is None else SecondOrderReference()
    for s in range(len(theta)):
        codes = list(reference.outputs(theta, s))
        scores = np.array([reference.score(theta, s, y) for y in codes])
        codes = np.array(codes, np.int32).reshape(len(scores), -1)
        if getattr(structure, "rules", None) is not None:
            rules = structure.rules
            kept = rules.transition[codes[:, :-1], codes[:, 1:]].all(axis=1)
            kept &= rules.start[codes[:, 0]] & rules.end[codes[:, -1]]
            codes, scores = codes[kept], scores[kept]
        yield codes, scores


@functools.cache
def instance(make, scale):
    """A structure, potentials, all outputs, and true ones of which some score well."""
    rng = np.random.default_rng(0)
    structure, theta = make(rng, scale)
    outputs = list(outputs_of(structure, theta))
    picks = []
    for codes, scores in outputs:
        order = np.argsort(-scores)
        picks.append(codes[order[rng.integers(len(order)) // rng.choice([1, 5, 1000])]])
    true = np.concatenate(picks)
    if isinstance(structure, Ranking):  # annotations are grades
        true = RankingCodec().encode_outputs([rng.integers(0, 3, n) for n in LENGTHS], LENGTHS)
    return structure, theta, outputs, true


def losses_of(loss, structure, theta, true, outputs):
    """The loss of every output of every sample."""
    for s, (codes, _) in enumerate(outputs):
        own = true[theta.offsets[s] : theta.offsets[s + 1]]
        if loss.way == "contradiction":
            yield (codes != own).any(axis=1).astype(float)
        elif loss.way == "parts":
            yield loss.table[own, codes].sum(axis=1)
        else:
            copies = theta.take(np.full(len(codes), s))
            yield loss.value(structure, copies, np.tile(own, len(codes)), codes.ravel())


def by_definition(gamma, margin, truth, losses, outputs):
    """The rescaled maximum of every sample."""
    return np.array([
        (gamma(own) * (scores - f) + margin * own).max()
        for f, own, (_, scores) in zip(truth, losses, outputs)
    ])  # fmt: skip


LEVELS = [chain, chain_with_edges, chain_with_rules, second_order, second_order_each, segments]
CASES = [
    *((make, name, "auto") for make, name in itertools.product(PARTS, LOSSES)),
    *((make, name, "search") for make, name in itertools.product(LEVELS, ("unit", "multiples"))),
    *((rankings, name, "auto") for name in RANKING_LOSSES),
]


@pytest.mark.parametrize(("make", "name", "way"), CASES)
@pytest.mark.filterwarnings("ignore::palmette.errors.ApproximateInferenceWarning")
def test_maxima_and_bounds_by_enumeration(make, name, way, monkeypatch):
    if way == "search":  # small as they are, these would be settled at once
        monkeypatch.setattr(levels, "AT_ONCE", 0.0)
    for scale in (0.0, 0.1, 0.6, 3.0):
        structure, theta, outputs, true = instance(make, scale)
        loss = resolve_loss({**LOSSES, **RANKING_LOSSES}[name], structure, CLASSES)
        losses = list(losses_of(loss, structure, theta, true, outputs))
        truth = structure.score(theta, true)
        for given, margin in itertools.product(map(resolve_rescaling, RESCALINGS.values()), (True, False)):
            found = rescaled_best(loss, structure, theta, true, given, margin=margin)
            best = by_definition(given.gamma, margin, truth, losses, outputs)
            own = loss.value(structure, theta, true, found.codes)
            gaps = structure.score(theta, found.codes) - truth
            np.testing.assert_allclose(found.losses, own, atol=1e-12)
            np.testing.assert_allclose(found.values, given.gamma(own) * gaps + margin * own, atol=1e-9)
            assert np.all(found.values >= 0.0) and np.all(found.values <= best + 1e-8)
            assert np.all(found.upper >= best - 1e-8) and np.all(found.upper >= found.values)
            if make is loose_loops:
                continue
            # functions of real losses are bounded by monotony, to a tolerance
            rough = given.function is not None and getattr(loss, "unit", None) is None
            tol = 3e-4 if rough and loss.way != "contradiction" else 1e-8
            np.testing.assert_allclose(found.values, best, atol=tol, rtol=tol)
            np.testing.assert_allclose(found.upper, best, atol=tol, rtol=tol)


@pytest.mark.parametrize("make", [chain, segments, loops])
@pytest.mark.parametrize("name", ["unit", "real"])
def test_bounds_hold_wherever_the_search_stops(make, name, monkeypatch):
    """Few rounds, nothing closed: the value is too low somewhere, and the bound tells by how much at most."""
    monkeypatch.setattr(rescaling, "close", lambda *given: None)
    monkeypatch.setattr(levels, "AT_ONCE", 0.0)
    seen = []
    for scale, rounds in itertools.product((0.1, 0.6, 3.0), (1, 2, 3, 60)):
        monkeypatch.setattr(trade_off, "ROUNDS", rounds)
        structure, theta, outputs, true = instance(make, scale)
        loss = resolve_loss(LOSSES[name], structure, CLASSES)
        losses = list(losses_of(loss, structure, theta, true, outputs))
        given = resolve_rescaling("slack")
        found = rescaled_best(loss, structure, theta, true, given, margin=True)
        best = by_definition(given.gamma, True, structure.score(theta, true), losses, outputs)
        assert np.all(found.values <= best + 1e-8) and np.all(best <= found.upper + 1e-8)
        seen.append(np.max(best - found.values))
    assert max(seen) > 0.01  # or there would be nothing to close


def test_graphs_whose_best_alone_is_exact_stay_open():
    """By graph cuts: there are no k best, so some samples keep a bound above their value, and nothing is raised."""
    opened = 0
    for seed in range(6):
        structure, theta = loops(np.random.default_rng(seed), 0.8, memory_limit=1)
        node = np.ascontiguousarray(theta.node[:, :2])
        edge = np.abs(theta.edge[:, :1, :1]) * np.eye(2)  # submodular
        theta = GraphTables(node, edge, OFFSETS, layout=theta.layout, edge_table=theta.edge_table)
        outputs = list(outputs_of(structure, theta))
        true = np.concatenate([codes[scores.argmax()] for codes, scores in outputs])
        loss = resolve_loss(Hamming({"a": math.pi}), structure, CLASSES[:2])
        losses = list(losses_of(loss, structure, theta, true, outputs))
        found = rescaled_best(loss, structure, theta, true, resolve_rescaling("slack"), margin=True)
        best = by_definition(np.asarray, True, structure.score(theta, true), losses, outputs)
        assert np.all(found.values <= best + 1e-9) and np.all(best <= found.upper + 1e-9)
        opened += np.sum(found.upper > found.values)
    assert opened


def test_samples_do_not_depend_on_their_company():
    structure, theta, _, true = instance(segments, 0.6)
    loss = resolve_loss(LOSSES["real"], structure, CLASSES)
    given = resolve_rescaling("slack")
    together = rescaled_best(loss, structure, theta, true, given, margin=True)
    for s in range(len(theta)):
        rows = slice(theta.offsets[s], theta.offsets[s + 1])
        alone = rescaled_best(loss, structure, theta.take(np.array([s])), true[rows], given, margin=True)
        np.testing.assert_allclose(alone.values[0], together.values[s], rtol=1e-12)
        np.testing.assert_allclose(alone.upper[0], together.upper[s], rtol=1e-9)
        assert np.array_equal(alone.codes, together.codes[rows])


@pytest.mark.parametrize("make", PARTS)
def test_samples_taken_from_tables_keep_their_answers(make):
    structure, theta, _, true = instance(make, 0.6)
    picks = np.array([3, 1, 1, 0])
    part = theta.take(picks)
    part.check()
    codes = np.concatenate([true[theta.offsets[s] : theta.offsets[s + 1]] for s in picks])
    np.testing.assert_allclose(structure.score(part, codes), structure.score(theta, true)[picks])


# -- the losses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", [RescaledHinge, RescaledPerceptron])
@pytest.mark.parametrize("rescaling", ["slack", "sqrt", "step"])
@pytest.mark.parametrize("loss", [Hamming(), Hamming({"b": math.pi}), ZeroOne()])
def test_subgradient_inequality_and_lemma_1(rng, surrogate, rescaling, loss):
    with make_problem(rng, "dense", surrogate="hinge", loss=loss) as problem:
        structure, samples = problem.structure, problem.samples
        made = surrogate(problem.surrogate.task_loss, RESCALINGS[rescaling])
        problem.surrogate = made
        for _ in range(10):
            w, u = rng.normal(size=(2, problem.n_params))
            value, gradient = problem.loss(w)
            assert problem.loss(u)[0] >= value + gradient @ (u - w) - 1e-8 * (1.0 + abs(value))
            theta = problem.scorer.score(w, samples.batch)
            values, _, slack = made.evaluate(structure, theta, samples.codes, samples.weight)
            predicted = structure.best(theta).codes
            if made.margin:  # Lemma 1
                lost = made.task_loss.value(structure, theta, samples.codes, predicted)
                assert np.all(values >= lost - 1e-9)
            assert np.all(slack >= 0.0)
        assert problem.loss(np.zeros(problem.n_params))[0] >= 0.0


@pytest.mark.parametrize("loss", [Hamming(), Hamming({"b": 3.0}), ZeroOne()])
def test_margin_rescaling_is_the_hinge(rng, loss):
    with make_problem(rng, "dense", surrogate="hinge", loss=loss) as problem:
        structure, samples, task = problem.structure, problem.samples, problem.surrogate.task_loss
        theta = problem.scorer.score(rng.normal(size=problem.n_params), samples.batch)
        for one, two in (
            (RescaledHinge(task, "margin"), Hinge(task)),
            (RescaledHinge(task, lambda d: 1.0), Hinge(task)),
            (RescaledPerceptron(task, "margin"), PerceptronLoss()),
        ):
            a, b = (x.evaluate(structure, theta, samples.codes, samples.weight) for x in (one, two))
            np.testing.assert_allclose(a.values, b.values, atol=1e-12)
            np.testing.assert_allclose(a.counts.node, b.counts.node)


def test_weighted_maxima_are_augmented_ones_of_a_scaled_loss():
    structure, theta, _, true = instance(chain, 0.6)
    weight = np.array([0.0, 0.3, 1.0, 7.0, 100.0])
    for given in (Hamming(), ZeroOne()):
        loss = resolve_loss(given, structure, CLASSES)
        found = loss.weighted_best(structure, theta, true, weight)
        value = structure.score(theta, found.codes) + weight * loss.value(structure, theta, true, found.codes)
        np.testing.assert_allclose(found.values, value)
        for s, w in enumerate(weight):
            alone = loss.weighted_best(structure, theta, true, w)
            np.testing.assert_allclose(alone.values[s], found.values[s])
        with pytest.raises(ValueError, match="at least 0, got -1"):
            loss.weighted_best(structure, theta, true, -1.0)
    plain = loss.augmented_best(structure, theta, true)
    np.testing.assert_allclose(plain.values, loss.weighted_best(structure, theta, true, 1.0).values)


def test_common_units():
    assert common_unit(np.zeros((2, 2))) == 1.0
    assert common_unit(np.array([0.0, 2.0, 3.0])) == pytest.approx(1.0)
    assert common_unit(np.array([0.3, 0.7])) == pytest.approx(0.1)
    assert common_unit(np.array([1.0, math.pi])) is None
    assert common_unit(np.array([1e-9, 1.0])) is None


# -- what is refused ------------------------------------------------------------------------------------------


def test_bad_rescalings_are_named():
    for bad, error, message in (
        ("slck", ValueError, "rescaling='slck' is unknown; choose 'margin', 'slack' or a function"),
        (3.0, TypeError, "must be 'margin', 'slack' or a function of the task loss, got 3.0"),
        (lambda d: -d, ValueError, r"G\(1\) = -1; it must be finite and at least 0"),
        (lambda d: 1.0 / d, ValueError, r"G\(0\) = inf"),
        (lambda d: None, TypeError, r"G\(0\) = None; it must be a number for every loss"),
        (lambda d: 2.0 - d, ValueError, r"G\(0\) = 2, but G\(1\) = 1; it must not fall"),
    ):
        with np.errstate(divide="ignore"), pytest.raises(error, match=message):
            resolve_rescaling(bad)
    late = resolve_rescaling(
        lambda d: np.minimum(d, np.maximum(4.0 - d, 0.5))
    )  # falls beyond what every loss has
    structure, theta, _, true = instance(chain, 0.6)
    loss = resolve_loss("hamming", structure, CLASSES)
    with pytest.raises(ValueError, match=r"G\(2\) = 2, but G\(3\) = 1; it must not fall"):
        rescaled_best(loss, structure, theta, true, late, margin=True)


def test_losses_without_a_weighted_maximum_are_refused():
    class Bare:
        way = "own"

    with pytest.raises(
        MissingCapability, match=r"needs weighted_best\(\) and largest\(\) of the task loss, which Bare"
    ):
        RescaledHinge(Bare(), "slack")


@pytest.mark.parametrize("solver", ["frank_wolfe", "smo"])
def test_duals_serve_margin_rescaling_only(solver):
    X, Y = [np.eye(2), np.eye(2)], [["a", "b"], ["a", "b"]]
    with pytest.raises(MissingCapability, match=r"rescaling='slack'; use solver='bundle'"):
        SSVM(Chain(), loss_options=LossOptions(rescaling="slack"), solver=solver).fit(X, Y)


# -- learning -------------------------------------------------------------------------------------------------


def test_slack_rescaling_of_zero_one_loss_is_margin_rescaling(rng):
    """All mistakes cost 1: any G with G(1) = 1 is the same loss."""
    X = rng.normal(size=(40, 3))
    y = (X @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(40, 3))).argmax(axis=1)
    one, two = (
        SSVM(
            Multiclass(),
            task_loss="zero_one",
            loss_options=LossOptions(rescaling=r),
            solver="bundle",
            tol=1e-6,
        ).fit(X, y)
        for r in ("slack", "margin")
    )
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)


def test_an_inexact_search_is_proven_from_above(rng, monkeypatch):
    """Without closing, the objective reported is that of the bounds, and it is above the true one."""
    X = [rng.normal(size=(5, 3)) for _ in range(12)]
    Y = [["abc"[k] for k in rng.integers(0, 3, 5)] for _ in X]
    loss = Hamming({"a": math.pi, "b": 0.4})
    exact = SSVM(Chain(), C=0.3, loss_options=LossOptions(rescaling="slack"), task_loss=loss, tol=1e-3).fit(
        X, Y
    )
    assert exact.result_.gap <= 2e-3 * exact.objective_
    monkeypatch.setattr(rescaling, "close", lambda *given: None)
    monkeypatch.setattr(trade_off, "ROUNDS", 3)
    with pytest.warns(ConvergenceWarning, match="or make them exact: .* rescaling='margin'"):
        rough = SSVM(
            Chain(), C=0.3, loss_options=LossOptions(rescaling="slack"), task_loss=loss, tol=1e-3
        ).fit(X, Y)
    assert rough.result_.gap > exact.result_.gap
    assert rough.result_.reason == "inexact maxima" and not rough.result_.converged
    assert rough.result_.lower <= exact.objective_ + 1e-9 and exact.result_.lower <= rough.objective_ + 1e-9


def test_the_ramp_of_an_inexact_search_is_proven_from_above(rng, monkeypatch):
    """The first maximum may be too low: the objective reported is not below the true one."""
    X = [rng.normal(size=(5, 3)) for _ in range(12)]
    Y = [["abc"[k] for k in rng.integers(0, 3, 5)] for _ in X]
    options = {"loss_options": LossOptions(rescaling="slack"), "task_loss": Hamming({"a": math.pi, "b": 0.4})}
    with monkeypatch.context() as patched:
        patched.setattr(rescaling, "close", lambda *given: None)
        patched.setattr(trade_off, "ROUNDS", 2)
        rough = SSVM(Chain(), C=0.3, loss="ramp", tol=1e-3, **options).fit(X, Y)
        found = bound_values(rough, X, Y)
    truth = bound_values(rough, X, Y)
    penalty = rough.coef_ @ rough.coef_ / 0.6
    assert rough.objective_ == pytest.approx(found.ramp.sum() + penalty)
    assert rough.objective_ >= truth.ramp.sum() + penalty - 1e-9


def test_the_slack_of_a_difference_is_that_of_its_convex_part(rng, monkeypatch):
    monkeypatch.setattr(rescaling, "close", lambda *given: None)
    monkeypatch.setattr(trade_off, "ROUNDS", 2)
    task_loss = Hamming({"a": math.pi, "b": 0.4}).bind(Chain(), CLASSES)
    hinge = RescaledHinge(task_loss, "slack")
    ramp = Difference(hinge, RescaledPerceptron(task_loss, "slack"))
    theta = ChainTables(rng.normal(size=(24, 3)), rng.normal(size=(1, 3, 3)), np.array([0, 12, 24]))
    true, weight = rng.integers(0, 3, 24).astype(np.int32), np.ones(2)
    found = hinge.evaluate(Chain(), theta, true, weight).slack
    assert found.max() > 0.0
    np.testing.assert_array_equal(ramp.evaluate(Chain(), theta, true, weight).slack, found)
