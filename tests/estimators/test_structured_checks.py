"""Every learner keeps the promises of ``check_structured_estimator`` on every structure."""

import numpy as np
import pytest

from palmette import (
    CRF,
    SSVM,
    Chain,
    Graph,
    GraphInput,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)
from palmette.datasets import make_chains
from palmette.testing import check_structured_estimator

CHAINS = make_chains(8, n_classes=3, n_features=2, random_state=0)


def chains():
    return CHAINS


def items():
    X = np.concatenate(CHAINS[0])[:20]
    return X, np.concatenate([list(y) for y in CHAINS[1]])[:20]


def segments():
    return CHAINS[0], [[(t, t + 1, label) for t, label in enumerate(y)] for y in CHAINS[1]]


def graphs():
    """Cycles: the last node of each sequence is a neighbour of the first."""
    found = []
    for x in CHAINS[0]:
        n = len(x)
        edges = [(t, (t + 1) % n) for t in range(n if n > 2 else n - 1)]
        found.append(GraphInput(x, np.array(edges, int).reshape(-1, 2)))
    return found, CHAINS[1]


def queries():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 2)) for _ in range(8)]
    return X, [np.clip(np.round(x[:, 0] + 1.0), 0, 2).astype(int) for x in X]


STRUCTURES = {
    "chain": (Chain(), chains),
    "second order": (Chain(order=2), chains),
    "items": (Multiclass(), items),
    "segments": (SemiMarkov(2), segments),
    "graph": (Graph(), graphs),
}
LEARNERS = {
    "CRF": lambda structure: CRF(structure, tol=1e-3),
    "SSVM": lambda structure: SSVM(structure, tol=1e-2),
    "ramp": lambda structure: SSVM(structure, loss="ramp", tol=1e-2),
    "soft hinge": lambda structure: SSVM(structure, loss="soft_hinge", tol=1e-2),
    "Perceptron": lambda structure: Perceptron(structure, max_iter=5),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_labelled_structures(learner, structure):
    made, data = STRUCTURES[structure]
    assert len(check_structured_estimator(LEARNERS[learner](made), *data())) > 10


@pytest.mark.parametrize(
    "learner",
    [SSVM(Ranking(), tol=1e-2), Perceptron(Ranking(), max_iter=5), PlackettLuce(tol=1e-3)],
    ids=repr,
)
def test_rankings(learner):
    checks = check_structured_estimator(learner, *queries())
    assert "file" in checks and "threads" in checks
