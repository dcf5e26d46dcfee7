"""Chains whose edges all read one table have a faster search for the best path: it finds what the general one finds."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.structures import Chain
from palmette.structures.positions.tables import ChainTables


@pytest.mark.parametrize("n_labels", [1, 2, 8, 11])
@pytest.mark.parametrize("draw", ["normal", "ties", "forbidden"])
def test_one_table_or_one_for_each_edge(n_labels, draw, rng):
    offsets = np.array([0, 1, 4, 5, 17])
    n_edges = offsets[-1] - (len(offsets) - 1)
    if draw == "ties":
        node = rng.integers(0, 2, (offsets[-1], n_labels)).astype(float)
        edge = rng.integers(0, 2, (1, n_labels, n_labels)).astype(float)
    else:
        node, edge = rng.normal(size=(offsets[-1], n_labels)), rng.normal(size=(1, n_labels, n_labels))
    if draw == "forbidden":
        edge[0, rng.random((n_labels, n_labels)) < 0.3] = -np.inf
        edge[0, 0] = 0.0
        edge[0, :, 0] = -1.0
    shared = Chain().best(ChainTables(node, edge, offsets))
    single = Chain().best(ChainTables(node, np.repeat(edge, n_edges, axis=0), offsets))
    np.testing.assert_array_equal(shared.codes, single.codes)
    np.testing.assert_array_equal(shared.values, single.values)  # to the last bit
