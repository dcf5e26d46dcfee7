"""Chains that must contradict an annotation, as chains of labels doubled by a flag."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.annotation import Known, possible_codes
from palmette.structures.positions.tables import ChainTables


def with_contradiction(theta: ChainTables, codes: Known) -> ChainTables:
    """Chains that must contradict ``codes``: every label doubled by a flag "has contradicted already".

    State ``2 * label + flag`` keeps the order of labels, and an output has exactly one state path, so every answer
    (best, k best, sums, samples) carries over.
    """
    rows, labels = theta.node.shape
    contra = ~possible_codes(codes, labels)
    node = np.stack([theta.node, theta.node], axis=2)
    node[contra, 0] = -np.inf
    starts, ends = theta.offsets[:-1], theta.offsets[1:] - 1
    node[starts, :, 1] = np.where(contra[starts], node[starts, :, 1], -np.inf)
    node[ends, :, 0] = -np.inf
    plain = theta.per_edge().edge
    edge = np.full((len(plain), labels, 2, labels, 2), -np.inf)
    right = np.delete(np.arange(rows), starts)  # the row on the right of each edge
    edge[:, :, 0, :, 0] = edge[:, :, 1, :, 1] = plain
    edge[:, :, 0, :, 1] = np.where(contra[right][:, None, :], plain, -np.inf)
    triple = theta.triple  # the flag of its labels is the business of the edges
    if triple is not None:
        triple = triple.repeat(2, axis=1).repeat(2, axis=2).repeat(2, axis=3)
    return ChainTables(
        node.reshape(rows, 2 * labels),
        edge.reshape(len(plain), 2 * labels, 2 * labels),
        theta.offsets,
        triple,
    )


def without_flag(tables: ChainTables, reduce: Any = np.sum) -> ChainTables:
    """Fold the flag of :func:`with_contradiction` away: marginals add (max-marginals: ``reduce=np.max``)."""
    rows, doubled = tables.node.shape
    labels = doubled // 2
    triple = tables.triple
    if triple is not None:
        triple = reduce(triple.reshape(-1, labels, 2, labels, 2, labels, 2), axis=(2, 4, 6))
    return ChainTables(
        reduce(tables.node.reshape(rows, labels, 2), axis=2),
        reduce(tables.edge.reshape(-1, labels, 2, labels, 2), axis=(2, 4)),
        tables.offsets,
        triple,
    )
