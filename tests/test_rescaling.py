"""Rescaled maxima and their bounds, against all outputs; the losses that they make."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ramify.data.graph_batch import GraphLayout
from ramify.losses import Hamming, ZeroOne, resolve_loss
from ramify.losses.rescaling import rescaled_best, resolve_rescaling
from ramify.structures import Chain, ChainTables, Graph, GraphTables, Multiclass, SegmentTables, SemiMarkov
from ramify.testing import ChainReference, GraphReference, MulticlassReference, SegmentReference
from ramify.testing.chain2_reference import SecondOrderReference

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


MAKERS = [
    multiclass, chain, chain_with_edges, chain_with_rules, second_order, second_order_each, segments, loops,
    loose_loops,
]  # fmt: skip
EXACT = [m for m in MAKERS if m not in (segments, loops, loose_loops)]
LOSSES = {
    "unit": Hamming(),
    "multiples": Hamming({"a": 0.5, ("b", "c"): 1.5, ("c", "a"): 0.0}),
    "real": Hamming({"a": math.pi, ("b", "c"): math.e, "c": 0.3}),
    "zero_one": ZeroOne(),
}
RESCALINGS = {
    "slack": "slack",
    "margin": "margin",
    "sqrt": np.sqrt,
    "step": lambda d: 0.5 if d < 1.2 else 2.0,  # of numbers, not continuous, positive at 0
    "square": lambda d: np.asarray(d) ** 2,
}


def reference_of(structure, theta):
    if isinstance(structure, Graph):
        return GraphReference()
    if isinstance(structure, SemiMarkov):
        return SegmentReference()
    if isinstance(structure, Multiclass):
        return MulticlassReference()
    return ChainReference() if theta.triple is None else SecondOrderReference()


def outputs_of(structure, theta):
    """Every output of every sample, with its score."""
    reference = reference_of(structure, theta)
    found = []
    for s in range(len(theta)):
        codes = [y for y in reference.outputs(theta, s)]
        scores = np.array([reference.score(theta, s, y) for y in codes])
        codes = np.array(codes, np.int32).reshape(len(scores), -1)
        if getattr(structure, "rules", None) is not None:
            rules = structure.rules
            kept = rules.transition[codes[:, :-1], codes[:, 1:]].all(axis=1)
            kept &= rules.start[codes[:, 0]] & rules.end[codes[:, -1]]
            codes, scores = codes[kept], scores[kept]
        found.append((codes, scores))
    return found


def loss_of(loss, true, codes):
    if loss.way == "contradiction":
        return (codes != true).any(axis=1).astype(float)
    return loss.table[true, codes].sum(axis=1)


def true_outputs(rng, outputs):
    """Some are good ones, some are not."""
    picks = []
    for codes, scores in outputs:
        order = np.argsort(-scores)
        picks.append(codes[order[rng.integers(len(order)) // rng.choice([1, 5, 1000])]])
    return np.concatenate(picks)


def worths(loss, rescaling, margin, theta, true, outputs):
    """The rescaled value of every output of every sample, by definition."""
    for s, (codes, scores) in enumerate(outputs):
        own = true[theta.offsets[s] : theta.offsets[s + 1]]
        losses = loss_of(loss, own, codes)
        truth = scores[(codes == own).all(axis=1)][0]
        gamma = resolve_rescaling(rescaling).gamma(losses)
        yield gamma * (scores - truth) + margin * losses


@pytest.mark.parametrize("margin", [True, False])
@pytest.mark.parametrize("rescaling", RESCALINGS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("make", MAKERS)
def test_maxima_and_bounds_by_enumeration(make, name, rescaling, margin, rng):
    gamma = RESCALINGS[rescaling]
    for scale in (0.0, 0.1, 0.6, 3.0):
        structure, theta = make(rng, scale)
        loss = resolve_loss(LOSSES[name], structure, CLASSES)
        outputs = outputs_of(structure, theta)
        true = true_outputs(rng, outputs)
        found = rescaled_best(loss, structure, theta, true, resolve_rescaling(gamma), margin=margin)
        best = np.array([own.max() for own in worths(loss, gamma, margin, theta, true, outputs)])
        losses = loss.value(structure, theta, true, found.codes)
        gaps = structure.score(theta, found.codes) - structure.score(theta, true)
        np.testing.assert_allclose(found.losses, losses, atol=1e-12)
        np.testing.assert_allclose(
            found.values, resolve_rescaling(gamma).gamma(losses) * gaps + margin * losses, atol=1e-9
        )
        assert np.all(found.values >= 0.0) and np.all(found.values <= best + 1e-8)
        assert np.all(found.upper >= best - 1e-8)
        if make is not loose_loops:
            np.testing.assert_allclose(found.values, best, atol=1e-8)
            np.testing.assert_allclose(found.upper, best, atol=1e-3 if name == "real" else 1e-8)
