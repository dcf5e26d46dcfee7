"""Small pools of every structure with their true outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette import CRF, SSVM, Chain, Graph, GraphInput, Hierarchy, Multiclass, Ranking, SemiMarkov


class Pool(NamedTuple):
    """A learner, inputs, true outputs, and whether parts can be asked."""

    model: Any
    X: Any
    y: Any
    parts: bool = True


def words(n: int = 12, seed: int = 0) -> tuple[list, list]:
    """Sequences of words whose labels depend on the word and on the label before."""
    rng, X, Y = np.random.default_rng(seed), [], []
    for _ in range(n):
        x = rng.integers(0, 6, rng.integers(2, 6)).tolist()
        y = [("B" if w < 2 else "I" if w < 4 and t and x[t - 1] < 4 else "O") for t, w in enumerate(x)]
        X.append([[f"w={w}", "x"] for w in x])
        Y.append(y)
    return X, Y


def pools() -> dict[str, Pool]:
    """One pool of each structure."""
    X, Y = words()
    rng = np.random.default_rng(1)
    items = rng.normal(size=(30, 3))
    labels = [str("abc"[k]) for k in np.argmax(items, axis=1)]
    flags = [
        {"a": [True, True, False], "b": [False, False, True], "c": [False, False, True]}[label]
        for label in labels
    ]
    graphs = [GraphInput(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    queries = [rng.normal(size=(4, 3)) for _ in range(10)]
    grades = [np.clip(np.round(q[:, 0] + 1), 0, 2).astype(int).tolist() for q in queries]
    iob = [[{"B": "B-P", "I": "B-Q", "O": "O"}[label] for label in y] for y in Y]
    return {
        "chain": Pool(CRF(Chain(), l2=0.1, classes=["B", "I", "O"]), X, Y),
        "items": Pool(CRF(Multiclass(), classes=["a", "b", "c"]), items, labels),
        "graph": Pool(CRF(Graph(), l2=0.1, classes=["B", "I", "O"]), graphs, Y),
        "hierarchy": Pool(CRF(Hierarchy(["a.b", "c"]), l2=0.1), items, flags),
        "ranking": Pool(SSVM(Ranking(), C=1.0), queries, grades, False),
        "segments": Pool(CRF(SemiMarkov(3), l2=0.1, classes=["P", "Q", "O"]), X, iob),
    }
