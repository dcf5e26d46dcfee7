"""Scorers of graphs from outside: whether their parts belong together, and pair codes of another layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette.data.checks import check_array, check_ascending, check_type
from palmette.structures.graph.layout import canonical
from palmette.structures.positions.layout import moved

if TYPE_CHECKING:
    from palmette.structures.graph.scorer import GraphScorer


def check_parts(scorer: GraphScorer) -> None:
    """Raise ValueError unless every index stays within its array."""
    scorer.nodes.check()
    check_type("intercept", scorer.intercept, bool)
    n, n_kinds = scorer.n_labels, len(check_array("symmetric", scorer.symmetric, bool))
    check_array("allowed", scorer.allowed, bool, 2)
    check_ascending("pairs", scorer.pairs, n_kinds * n * n)
    if not n_kinds or scorer.allowed.shape[1:] != (n,) or not scorer.allowed.any(axis=1).all():
        raise ValueError("the types of nodes and edges, and the labels of nodes, do not belong together")
    if np.any(canonical(n, scorer.symmetric).ravel()[scorer.pairs] != scorer.pairs % n**2):
        raise ValueError("pairs of labels of symmetric edges must have the lower label first")
    for part in (scorer.nodes, scorer.edge_weights):
        if part is not None and (part.intercept or part.has_edges):
            raise ValueError("the scorer of nodes or edge features has an intercept or edges")
    if scorer.edge_weights is not None:
        scorer.edge_weights.check()
        if scorer.edge_weights.n_labels != int(scorer.pair_codes.max()) + 1:
            raise ValueError("the edge features of the scorer have another number of label pairs")
    if not len(scorer.allowed) or scorer.nodes.n_columns % len(scorer.allowed):
        raise ValueError("columns and types of the scorer do not belong together")
    for factor in scorer.factors:
        factor.check(n)


def moved_codes(old: GraphScorer, new: GraphScorer, labels: np.ndarray) -> np.ndarray | None:
    """Codes in ``new`` of the pair codes of ``old``, if their types of edges are alike."""
    if not np.array_equal(old.symmetric, new.symmetric):
        return None
    key = moved(np.arange(old.n_labels**2), 2, old.n_labels, labels, new.n_labels)
    out = np.zeros(int(old.pair_codes.max()) + 1, np.int64)
    for mine, theirs in zip(old.pair_codes, new.pair_codes):
        out[mine] = theirs[key]
    return out
