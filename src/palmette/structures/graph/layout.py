"""Which weights the edges and factors of graphs have."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palmette.data.checks import check_whole
from palmette.structures.graph.batch import GraphBatch
from palmette.structures.graph.cliques import KINDS, MOST_NODES, NO_LABEL


class FactorKind(NamedTuple):
    """Factors of one type: tables of ``arity`` nodes, or structured ones that count the label of code ``label``."""

    kind: str
    arity: int
    label: int

    def shape(self, n_labels: int) -> tuple[int, ...]:
        """Shape of their table."""
        if self.kind == "table":
            return (n_labels,) * self.arity
        return (n_labels + 1,) if self.kind == "agreement" else (2,)

    def n_weights(self, n_labels: int) -> int:
        """Entries of the table that are weights; constraints have none."""
        return 0 if self.kind == "at_most_one" else math.prod(self.shape(n_labels))

    def check(self, n_labels: int) -> None:
        """Raise ValueError for an unknown kind, a table of too few or too many nodes, or an unknown label."""
        if self.kind not in KINDS:
            raise ValueError(f"factors of the unknown kind {self.kind!r:.60}; known: {', '.join(KINDS)}")
        least, most = (3, MOST_NODES) if self.kind == "table" else (0, 0)
        check_whole(f"the nodes of {self.kind} factors", self.arity, least, most)
        low, high = (-1, -1) if self.kind in NO_LABEL else (0, n_labels - 1)
        check_whole(f"the label of {self.kind} factors", self.label, low, high)


def canonical(n_labels: int, symmetric: np.ndarray) -> np.ndarray:
    """Code of the pair whose weight each pair has, int64 (n_edge_types, n_labels^2): the lower one if symmetric.

    >>> canonical(2, np.array([False, True]))
    array([[0, 1, 2, 3],
           [0, 1, 1, 3]])
    """
    i, j = np.divmod(np.arange(n_labels**2), n_labels)
    return np.where(symmetric[:, None], np.minimum(i, j) * n_labels + np.maximum(i, j), i * n_labels + j)


def pair_code(n_labels: int, symmetric: np.ndarray) -> np.ndarray:
    """Like :func:`canonical`, but numbered without gaps where all types are symmetric.

    >>> pair_code(2, np.array([True]))
    array([[0, 1, 1, 2]])
    """
    codes = canonical(n_labels, symmetric)
    if symmetric.all():
        codes = np.searchsorted(np.unique(codes), codes)
    return codes


def possible_pairs(batch: GraphBatch, allowed: np.ndarray, n_edge_types: int) -> np.ndarray:
    """Label pairs that the edges of every type can have, given the types of the nodes they join."""
    n = allowed.shape[1]
    if allowed.all():
        return np.ones((n_edge_types, n, n), bool)
    layout = batch.layout
    kinds = np.column_stack([layout.edge_type, layout.node_type[layout.edge_rows]])
    possible = np.zeros((n_edge_types, n, n), bool)
    for kind, a, b in np.unique(kinds, axis=0):
        possible[kind] |= np.logical_and.outer(allowed[a], allowed[b])
    return possible
