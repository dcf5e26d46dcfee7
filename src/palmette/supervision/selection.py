"""Which units to ask together: the most uncertain ones, kept apart from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from palmette.data import SparseRows
from palmette.data.ragged import gather
from palmette.supervision.units import Units


def by_uncertainty(keys: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Places of the n highest keys, highest first; ties in random order.

    >>> by_uncertainty(np.array([0.1, 0.9, 0.5]), 2, np.random.default_rng(0))
    array([1, 2])
    """
    n = min(n, len(keys))
    if n < 1:
        return np.empty(0, np.int64)
    if n < len(keys):  # a sort of all is slow, and ties at the last place must stay random
        least = np.partition(keys, len(keys) - n)[len(keys) - n]
        few = np.flatnonzero(keys >= least)
    else:
        few = np.arange(len(keys))
    return few[np.lexsort((rng.random(len(few)), -keys[few]))][:n]


def by_mmr(uncertainty: np.ndarray, vectors: Any, n: int, diversity: float) -> np.ndarray:
    """Maximal marginal relevance: one after the other, with ``d = diversity``,

    ``argmax_u (1 - d) q(u) / max q - d max_{v chosen} cos(x_u, x_v)``.

    ``vectors`` has a row of length 1 for every unit.

    >>> by_mmr(np.array([1.0, 0.9, 0.5]), sparse.csr_array([[1.0, 0], [1, 0], [0, 1]]), 2, 0.5)
    array([0, 2])
    """
    worth = (1.0 - diversity) * uncertainty / max(float(uncertainty.max(initial=0.0)), 1e-300)
    near, chosen = np.zeros(len(worth)), np.empty(min(n, len(worth)), np.int64)
    for k in range(len(chosen)):
        chosen[k] = best = int(np.argmax(worth - diversity * near))
        worth[best] = -np.inf
        near = np.maximum(near, _cosines(vectors, best))
    return chosen


def by_spread(vectors: Any, n: int, first: int) -> np.ndarray:
    """Greedy k-centre: the first one, then always ``argmax_u min_{v chosen} (1 - cos(x_u, x_v))``.

    >>> by_spread(sparse.csr_array([[1.0, 0], [1, 0], [0, 1]]), 2, 0)
    array([0, 2])
    """
    chosen = np.empty(min(n, vectors.shape[0]), np.int64)
    near = np.full(vectors.shape[0], -np.inf)
    for k in range(len(chosen)):
        chosen[k] = best = first if k == 0 else int(np.argmin(near))
        near = np.maximum(near, _cosines(vectors, best))
        near[best] = np.inf
    return chosen


def _cosines(vectors: Any, one: int) -> np.ndarray:
    return np.asarray((vectors @ vectors[[one]].T).todense()).ravel()


def unit_vectors(batch: Any, units: Units, chosen: np.ndarray) -> Any:
    """Sums of the feature rows of units, at length 1, as a sparse matrix."""
    numbers = [units.parts(unit) for unit in chosen.tolist()]
    if units.offsets[-1] != batch.n_rows:  # parts are no rows: then those of the sample
        numbers = [np.arange(batch.offsets[s], batch.offsets[s + 1]) for s in units.sample[chosen].tolist()]
    rows = np.concatenate([np.empty(0, np.int64), *numbers])
    lengths = np.array([len(own) for own in numbers], np.int64)
    owner = sparse.csr_array(
        (np.ones(len(rows)), np.arange(len(rows)), np.append(0, np.cumsum(lengths))),
        (len(lengths), len(rows)),
    )
    total = sparse.csr_array(owner @ feature_rows(batch, rows))
    length = np.sqrt(np.asarray(total.multiply(total).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ total)


def feature_rows(batch: Any, rows: np.ndarray) -> Any:
    """Some feature rows of a batch as a sparse matrix."""
    table, _ = batch.feature_tables()[0]
    if not isinstance(table, SparseRows):
        return sparse.csr_array(table[rows])
    own = table[rows]
    values = own.values if len(own.values) else np.ones(len(own.indices))
    return sparse.csr_array((values, own.indices, own.indptr), own.shape)


def squared_lengths(batch: Any) -> np.ndarray:
    """Squared length of every feature row."""
    table, _ = batch.feature_tables()[0]
    if not isinstance(table, SparseRows):
        return np.einsum("rc,rc->r", table, table)
    if not len(table.values):
        return np.diff(table.indptr).astype(float)
    entries, indptr = gather(table.indptr, np.arange(len(table)))
    total = np.concatenate([[0.0], np.cumsum(table.values[entries] ** 2)])
    return total[indptr[1:]] - total[indptr[:-1]]
