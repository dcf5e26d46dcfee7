"""Every measure of uncertainty against its definition, by listing all outputs of small batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from palmette import Chain, Graph, Multiclass, Ranking, SemiMarkov
from palmette.data import Annotation
from palmette.errors import MissingCapability
from palmette.supervision import STRATEGIES
from palmette.supervision.strategies import ExpectedPredictionChange, resolve_strategy
from palmette.testing import reference_for

STRUCTURES = {
    "chain": Chain(), "chain 2": Chain(order=2), "items": Multiclass(), "graph": Graph(), "segments": SemiMarkov(3),
    "ranking": Ranking(),
}  # fmt: skip
SUMS = ("token_entropy", "least_confidence", "expected_model_change", "expected_prediction_change")
MEASURES = [name for name in STRATEGIES if name != "random"]


def batches(structure, seed=0, most=3):
    """Batches with ordinary numbers: potentials, and score by output of every sample."""
    reference, found = reference_for(structure), []
    for instance in reference.instances(np.random.default_rng(seed)):
        theta = instance.theta
        if np.abs(theta.node).max() > 50 or not np.isfinite(theta.node).all():
            continue
        scores = [
            {y: reference.score(theta, s, y) for y in reference.outputs(theta, s)} for s in range(len(theta))
        ]
        if all(len(own) < 3000 and min(own.values()) > -math.inf for own in scores):
            found.append((theta, scores))
        if len(found) == most:
            return found
    assert found
    return found


def admits(name, structure, unit):
    try:
        STRATEGIES[name]().check(structure, unit)
    except MissingCapability:
        return False
    return True


def marginals(scores, k):
    """p[t, label] of one sample; a code above the labels is the inside of a segment."""
    y, f = np.array(list(scores)), np.array(list(scores.values()))
    p = np.exp(f - logsumexp(f))
    return np.stack([[p[y[:, t] % k == label].sum() for label in range(k)] for t in range(y.shape[1])])


def max_marginals(scores, k):
    y, f = np.array(list(scores)), np.array(list(scores.values()))
    return np.stack(
        [[max(f[y[:, t] % k == label], default=-np.inf) for label in range(k)] for t in range(y.shape[1])]
    )


def entropy(p):
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)


def expected_sample(name, scores, k, squares):
    f = np.sort(list(scores.values()))[::-1]
    if name == "scoring":
        return -f[0]
    if name == "best_vs_worst":
        return f[-1] - f[0]
    if name == "best_vs_second":
        return f[1] - f[0] if len(f) > 1 else -np.inf
    if name == "least_confidence":
        return 1 - np.exp(f[0] - logsumexp(f))
    p = marginals(scores, k)
    if name == "token_entropy":
        return entropy(p).mean()
    if name == "expected_model_change":  # of orthogonal rows: the mean square of |x_t (e_y - p)|, summed
        return np.sqrt(
            sum(squares[t] * (p[t] * (((np.eye(k) - p[t]) ** 2).sum(axis=1))).sum() for t in range(len(p)))
        )
    y1 = max(scores, key=scores.get)
    weight = np.exp(np.array(list(scores.values())) - logsumexp(list(scores.values())))
    return sum(w * sum(a % k != b % k for a, b in zip(y, y1)) for y, w in zip(scores, weight))


def expected_parts(name, scores, k, squares):
    if name in ("best_vs_worst", "best_vs_second"):
        table = np.sort(max_marginals(scores, k), axis=1)[:, ::-1]
        if name == "best_vs_second":
            return table[:, 1] - table[:, 0] if k > 1 else np.full(len(table), -np.inf)
        return np.array([row[np.isfinite(row)].min() for row in table]) - table[:, 0]
    p = marginals(scores, k)
    if name == "token_entropy":
        return entropy(p)
    if name == "least_confidence":
        return 1 - p.max(axis=1)
    if name == "expected_model_change":
        return np.sqrt(squares * (p * (((np.eye(k)[None] - p[:, None]) ** 2).sum(axis=2))).sum(axis=1))
    y1, out = max(scores, key=scores.get), np.zeros(len(p))
    for t in range(len(p)):
        for label in range(k):
            fixed = {y: f for y, f in scores.items() if y[t] == label}
            if fixed and label != y1[t]:
                best = max(fixed, key=fixed.get)
                out[t] += p[t, label] * sum(a != b for a, b in zip(best, y1))
    return out


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", STRUCTURES)
def test_samples_are_measured_by_definition(kind, name):
    structure = STRUCTURES[kind]
    if not admits(name, structure, "sample"):
        assert kind == "ranking" and name in SUMS
        return
    for theta, scores in batches(structure):
        squares = np.random.default_rng(1).random(len(theta.node))
        found = STRATEGIES[name]().samples(structure.bind(range(theta.node.shape[-1])), theta, None, squares)
        k = theta.node.shape[1] if theta.node.ndim == 2 else 1
        rows = [squares[a:b] for a, b in zip(theta.offsets, theta.offsets[1:])]
        expected = [expected_sample(name, own, k, square) for own, square in zip(scores, rows)]
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", STRUCTURES)
def test_parts_are_measured_by_definition(kind, name):
    structure = STRUCTURES[kind]
    if not admits(name, structure, "part"):
        assert (
            name == "scoring"
            or kind == "ranking"
            or (kind, name) == ("segments", "expected_prediction_change")
        )
        return
    measure = (
        ExpectedPredictionChange(floor=0.0) if name == "expected_prediction_change" else STRATEGIES[name]()
    )
    for theta, scores in batches(structure):
        squares = np.random.default_rng(1).random(len(theta.node))
        found = measure.parts(structure.bind(range(theta.node.shape[1])), theta, None, squares)
        rows = [squares[a:b] for a, b in zip(theta.offsets, theta.offsets[1:])]
        expected = [
            expected_parts(name, own, theta.node.shape[1], square) for own, square in zip(scores, rows)
        ]
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [m for m in MEASURES if m != "scoring"])
@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_answers_restrict_what_is_measured(kind, name):
    structure, rng = STRUCTURES[kind], np.random.default_rng(3)
    theta, scores = batches(structure)[0]
    k = theta.node.shape[1]
    codes = np.where(rng.random(len(theta.node)) < 0.4, rng.integers(0, k, len(theta.node)), -1).astype(
        np.int32
    )
    known = Annotation(codes, np.empty((0, k), bool))
    rows = [slice(a, b) for a, b in zip(theta.offsets, theta.offsets[1:])]
    left = [
        {y: f for y, f in own.items() if all(c in (-1, label) for c, label in zip(codes[row], y))}
        for own, row in zip(scores, rows)
    ]
    squares = rng.random(len(codes))
    measure = (
        ExpectedPredictionChange(floor=0.0) if name == "expected_prediction_change" else STRATEGIES[name]()
    )
    found = measure.parts(structure.bind(range(k)), theta, known, squares)
    expected = np.concatenate([expected_parts(name, own, k, squares[row]) for own, row in zip(left, rows)])
    free = codes < 0
    np.testing.assert_allclose(found[free], expected[free], rtol=1e-7, atol=1e-9)
    found = measure.samples(structure.bind(range(k)), theta, known, squares)
    expected = [expected_sample(name, own, k, squares[row]) for own, row in zip(left, rows)]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_gaps_of_graphs_with_one_output_are_infinite():
    structure = Graph()
    theta, _ = next((t, s) for t, s in batches(structure, most=9) if t.node.shape[1] > 1)
    known = Annotation(np.zeros(len(theta.node), np.int32), np.empty((0, theta.node.shape[1]), bool))
    bound = structure.bind(range(theta.node.shape[1]))
    found = STRATEGIES["best_vs_second"]().samples(bound, theta, known, np.ones(len(theta.node)))
    assert np.all(np.isneginf(found)) and len(found) == len(theta)


def test_uncertainty_is_the_exponential_of_the_gap():
    measure = STRATEGIES["best_vs_second"]()
    np.testing.assert_allclose(measure.uncertainty(np.array([-1.0, 0.0, -np.inf])), [np.exp(-1), 1, 0])
    assert np.isfinite(STRATEGIES["scoring"]().uncertainty(np.array([1e6]))).all()
    assert "0.25" in measure.reason(-0.25, "part") and "label" in measure.reason(-0.25, "part")


@pytest.mark.parametrize(
    ("structure", "name", "unit", "words"),
    [
        (Ranking(), "token_entropy", "sample", "permanent"),
        (Ranking(), "best_vs_second", "part", r"max_marginals\(\).*unit='sample'"),
        (Chain(), "scoring", "part", "whole outputs"),
        (SemiMarkov(3), "expected_prediction_change", "part", "one label per row"),
    ],
)
def test_missing_answers_are_refused_with_a_reason(structure, name, unit, words):
    with pytest.raises(MissingCapability, match=words):
        resolve_strategy(name).check(structure, unit)


def test_unknown_measures_are_refused():
    with pytest.raises(ValueError, match=r"strategy='entropy' is unknown; the measures are .*best_vs_second"):
        resolve_strategy("entropy")
