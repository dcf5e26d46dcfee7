"""Graphs that are chains are trained as chains: the same objective and weights, by the loops compiled for chains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.training import Encoded
from palmette.data.annotation import pairs_of
from palmette.data.batch import Batch
from palmette.structures.chain.chain import Chain
from palmette.structures.graph.batch import GraphBatch, GraphLayout
from palmette.structures.graph.scorer import GraphScorer


def simplified(data: Encoded, scorer: Any) -> tuple[Encoded, Any]:
    """Training data and scorer of chains, if the graphs are nothing else; else as given.

    The weights of both have the same places: ``[node | bias | edge]``.
    """
    batch = data.samples.batch
    if not (isinstance(batch, GraphBatch) and type(scorer) is GraphScorer):
        return data, scorer
    plain = (
        scorer.edge_weights is None
        and len(scorer.pairs)
        and not scorer.arities
        and not scorer.symmetric.any()
        and len(scorer.symmetric) == len(scorer.allowed) == 1
        and scorer.allowed.all()
        and pairs_of(data.samples.known) is None  # loops of chains know limits of single positions
    )
    if not plain or not are_chains(batch.layout):
        return data, scorer
    chain = replace(scorer.nodes, pairs=scorer.pairs, intercept=scorer.intercept, has_edges=True)
    samples = data.samples._replace(batch=Batch(batch.rows, batch.offsets))
    return replace(data, samples=samples, structure=Chain()), chain


def are_chains(layout: GraphLayout) -> bool:
    """Whether every graph joins its nodes in their order, and nothing else.

    >>> are_chains(GraphLayout(np.array([0, 3]), np.array([0, 2]), np.array([[0, 1], [1, 2]])))
    True
    """
    lengths = np.diff(layout.offsets)
    if not np.array_equal(np.diff(layout.edge_offsets), np.maximum(lengths - 1, 0)):
        return False
    place = np.arange(layout.n_edges) - np.repeat(layout.edge_offsets[:-1], np.diff(layout.edge_offsets))
    return bool(np.array_equal(layout.edges, np.column_stack([place, place + 1])))
