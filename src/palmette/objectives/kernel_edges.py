"""Edges that are scored by a kernel: their rows, and the scores of label pairs that coefficients imply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.kernels.gram import Gram
from palmette.objectives.kernel_scorer import edge_ends


@dataclass(frozen=True)
class EdgePart:
    """``(l2/2) |g|^2`` with ``g`` in the space of the edge kernel, one function for every pair of labels.

    Parameters
    ----------
    gram : Gram
        Of the distinct rows of edges.
    unique : ndarray of int64, shape (n_edges,)
        For every edge the number of its distinct row.
    ends, offsets : ndarray of int64
        The rows of nodes that an edge joins, shape (n_edges, 2), and the edges of every sample.
    n_labels : int
    l2 : float
    """

    gram: Gram
    unique: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray
    n_labels: int
    l2: float

    @classmethod
    def of(cls, gram: Gram, unique: np.ndarray, batch: Any, n_labels: int, l2: float) -> EdgePart:
        """The edges of a batch."""
        ends, offsets = edge_ends(batch)
        return cls(gram, unique, ends, offsets, n_labels, l2)

    def of_sample(self, s: int) -> slice:
        """The edges of sample s."""
        return slice(int(self.offsets[s]), int(self.offsets[s + 1]))

    def pairs(self, codes: np.ndarray, edges: slice = slice(None), first_row: int = 0) -> np.ndarray:
        """Code of the label pair at each edge, given the labels of rows from ``first_row`` on."""
        ends = self.ends[edges] - first_row
        return codes[ends[:, 0]].astype(np.int64) * self.n_labels + codes[ends[:, 1]]

    def zeros(self) -> np.ndarray:
        """Scores of all pairs at distinct edges, (labels^2, stride), single precision."""
        return np.zeros((self.n_labels**2, self.gram.stride), np.float32)

    def scores(self, table: np.ndarray, edges: slice = slice(None)) -> np.ndarray:
        """Scores of label pairs at edges, shape (edges, labels, labels)."""
        own = self.unique[edges]
        found = (self.gram.scale[own] * table[:, own]).T.astype(float)
        return found.reshape(-1, self.n_labels, self.n_labels)

    def added(self, theta: Any, scores: np.ndarray) -> Any:
        """Potentials with these scores on their edges."""
        theta = theta.per_edge()
        return replace(theta, edge=theta.edge + scores)

    def coefficients(self, samples: Any, path: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Coefficient of every distinct edge and label pair that the active labelings imply."""
        n_pairs, codes = self.n_labels**2, self.pairs(samples.codes)
        key, size, lengths = self.unique * n_pairs, self.gram.n * n_pairs, np.diff(self.offsets)
        out = missing_counts(key, size, lengths, samples.weight, codes, map(self.pairs, path), mass)
        return out.reshape(self.gram.n, n_pairs) / self.l2


def missing_counts(
    key: np.ndarray, size: int, lengths: np.ndarray, weight: np.ndarray, true: np.ndarray,
    paths: Iterable[np.ndarray], mass: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """``sum_i weight_i (true counts - mean counts of the active labelings)`` at the places ``key + code``."""
    weight = np.repeat(weight, lengths)
    out = np.bincount(key + true, weight, size)
    for m, codes in enumerate(paths):
        own = np.maximum(mass[:, m], 0.0)
        if own.any():
            out -= np.bincount(key + codes, weight * np.repeat(own, lengths), size)
    out[np.abs(out) < 1e-12 * weight.max(initial=0.0)] = 0.0  # masses that sum to 1 up to rounding
    return out
