"""The soft hinge of the 0/1 loss, against enumeration and finite differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from palmette import SSVM, Chain, LossOptions, SemiMarkov
from palmette.losses import ZeroOne
from palmette.structures import ChainTables
from palmette.surrogates.soft_hinge import SoftHinge

TRUE = np.array([1, 0, 2, 2], np.int32)


def batch(node):
    edge = np.arange(9.0).reshape(1, 3, 3) / 7.0
    return ChainTables(np.ascontiguousarray(node), edge, np.array([0, 3, 4]))


@pytest.mark.parametrize("t", [0.05, 0.4, 2.0])
def test_zero_one_by_enumeration(rng, t):
    surrogate, structure = SoftHinge(ZeroOne().bind(Chain(), ("a", "b", "c")), t), Chain()
    node, weight = rng.normal(size=(4, 3)), np.array([1.0, 2.5])
    theta = batch(node)
    found = surrogate.evaluate(structure, theta, TRUE, weight)
    for s, rows in enumerate((slice(0, 3), slice(3, 4))):
        one = theta.take(np.array([s]))
        terms = []
        for y in product(range(3), repeat=rows.stop - rows.start):
            score = structure.score(one, np.array(y, np.int32))[0]
            terms.append((score + (y != tuple(TRUE[rows]))) / t)
        truth = structure.score(one, TRUE[rows])[0]
        assert found.values[s] == pytest.approx(t * logsumexp(terms) - truth, abs=1e-8)
    for place in ((0, 1), (1, 2), (3, 2)):
        up, down = node.copy(), node.copy()
        up[place] += 1e-6
        down[place] -= 1e-6
        change = [
            surrogate.evaluate(structure, batch(each), TRUE, weight).values @ weight for each in (up, down)
        ]
        assert found.counts.node[place] == pytest.approx((change[0] - change[1]) / 2e-6, rel=1e-5, abs=1e-6)


def test_zero_one_is_learnt_with_the_soft_hinge(rng):
    X = [rng.normal(size=(4, 3)) for _ in range(20)]
    Y = [["ab"[int(v > 0)] for v in x[:, 0]] for x in X]
    hard = SSVM(Chain(), C=10.0, task_loss="zero_one", tol=1e-4).fit(X, Y)
    options = {"loss": "soft_hinge", "loss_options": LossOptions(temperature=0.02)}
    soft = SSVM(Chain(), C=10.0, task_loss="zero_one", tol=1e-4, **options).fit(X, Y)
    assert hard.objective_ - 1e-3 <= soft.objective_ <= hard.objective_ + 20 * 0.02 * np.log(2**4)
    segments = [[(0, 2, "x"), (2, 4, "y")]] * 20
    assert (
        SSVM(SemiMarkov(3), task_loss="zero_one", loss="soft_hinge").fit(X, segments).predict(X[:1])
        == segments[:1]
    )


def test_samples_without_another_output(rng):
    """The loss is then 0 for the only output, and other samples of the batch are as they are alone."""
    structure = Chain(allowed=[("a", "b"), ("b", "a"), (None, "a"), (None, "b"), ("a", None)]).bind(
        ("a", "b")
    )
    surrogate = SoftHinge(ZeroOne().bind(structure, ("a", "b")), 0.3)
    theta = ChainTables(rng.normal(size=(3, 2)), rng.normal(size=(1, 2, 2)), np.array([0, 1, 3]))
    true = np.array([0, 1, 0], np.int32)
    values = surrogate.evaluate(structure, theta, true, np.ones(2)).values
    assert values == pytest.approx([0.0, 0.0], abs=1e-9)
