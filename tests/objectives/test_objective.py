"""Objectives: gradients, subgradient inequalities, and what surrogates promise."""

from __future__ import annotations

import numpy as np
import pytest
from problems import KINDS, make_problem

from palmette.errors import MissingCapability
from palmette.losses import Hamming, ZeroOne, resolve_loss
from palmette.structures import Chain, ChainTables, Multiclass, Ranking
from palmette.surrogates import Hinge, LogLoss, PerceptronLoss


def directional(f, w, v, eps=1e-4):
    """Fourth-order central difference."""

    def g(h):
        return f(w + h * v)[0]

    return (g(-2 * eps) - 8 * g(-eps) + 8 * g(eps) - g(2 * eps)) / (12 * eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_log_loss_gradient(rng, kind, structure):
    with make_problem(rng, kind, structure) as problem:
        w, v = rng.normal(size=(2, problem.n_params))
        assert directional(problem.loss, w, v) == pytest.approx(problem.loss(w)[1] @ v, abs=1e-7)


@pytest.mark.parametrize("surrogate", ["log", "hinge", "perceptron"])
@pytest.mark.parametrize("loss", [Hamming(), ZeroOne()])
def test_subgradient_inequality(rng, surrogate, loss):
    with make_problem(rng, "names", surrogate=surrogate, loss=loss) as problem:
        for _ in range(20):
            w, u = rng.normal(size=(2, problem.n_params))
            value, gradient = problem.loss(w)
            assert problem.loss(u)[0] >= value + gradient @ (u - w) - 1e-9


@pytest.mark.parametrize("loss", [Hamming(), Hamming({"b": 3.0}), ZeroOne()])
def test_hinge_bounds_the_task_loss_of_the_prediction(rng, loss):
    with make_problem(rng, "dense", surrogate="hinge", loss=loss) as problem:
        samples, structure = problem.samples, problem.structure
        task = problem.surrogate.task_loss
        for _ in range(20):
            theta = problem.scorer.score(rng.normal(size=problem.n_params), samples.batch)
            values, *_ = problem.surrogate.evaluate(structure, theta, samples.codes, samples.weight)
            predicted = structure.best(theta).codes
            assert np.all(values >= task.value(structure, theta, samples.codes, predicted) - 1e-9)
            assert np.all(values >= -1e-9)


def test_hinge_without_costs_is_the_perceptron(rng):
    with make_problem(rng, "dense") as problem:
        structure, samples = problem.structure, problem.samples
        free = Hinge(resolve_loss(Hamming(np.zeros((3, 3))), structure, ("a", "b", "c")))
        theta = problem.scorer.score(rng.normal(size=problem.n_params), samples.batch)
        one = free.evaluate(structure, theta, samples.codes, samples.weight)
        two = PerceptronLoss().evaluate(structure, theta, samples.codes, samples.weight)
        np.testing.assert_allclose(one.values, two.values)
        assert np.array_equal(one.counts.node, two.counts.node)


def test_augmented_maximum_by_enumeration(rng):
    import itertools

    theta = ChainTables(rng.normal(size=(3, 3)), rng.normal(size=(1, 3, 3)), np.array([0, 3]))
    true = rng.integers(0, 3, 3).astype(np.int32)
    chain = Chain()
    for loss in (Hamming({"a": 0.3, ("b", "c"): 2.0}), ZeroOne()):
        bound = resolve_loss(loss, chain, ("a", "b", "c"))
        outputs = [np.array(y, np.int32) for y in itertools.product(range(3), repeat=3)]
        best = max(float(chain.score(theta, y)[0] + bound.value(chain, theta, true, y)[0]) for y in outputs)
        found = bound.augmented_best(chain, theta, true)
        assert found.values[0] == pytest.approx(best)
        value = chain.score(theta, found.codes)[0] + bound.value(chain, theta, true, found.codes)[0]
        assert value == pytest.approx(best)


def test_a_pair_without_a_way_is_refused_before_the_first_step():
    with pytest.raises(MissingCapability, match="Hamming loss counts wrong labels"):
        resolve_loss("hamming", Ranking(), ("a",))
    with pytest.raises(MissingCapability, match="NDCG"):
        resolve_loss("ndcg", Chain(), ("a",))
    with pytest.raises(ValueError, match="task_loss='f1' is unknown"):
        resolve_loss("f1", Chain(), ("a",))
    with pytest.raises(ValueError, match="'z', which is not a label"):
        resolve_loss(Hamming({"z": 1.0}), Chain(), ("a",))


def test_log_loss_needs_sums():
    from palmette.structures import require

    class OnlyBest:
        def best(self, theta): ...

    with pytest.raises(MissingCapability, match=r"expectation\(\)"):
        require(OnlyBest(), LogLoss.needs, user="LogLoss", remedy="")
