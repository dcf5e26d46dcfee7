"""Numbers of label parts of graphs: one table per part, in the shape of the potentials, of copies and samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.data.ragged import gather
from palmette.structures.graph.states import states
from palmette.structures.graph.tables import GraphTables


def entries(tables: GraphTables, k: int, codes: np.ndarray) -> tuple[Any, ...]:
    """Index of the labels of the cliques of type k in their tables."""
    rows = tables.layout.clique_rows(k)
    which = np.zeros(len(rows), np.int64) if len(tables.factors[k]) == 1 else np.arange(len(rows))
    if tables.layout.cliques[k].kind != "table":
        return (which, states(tables, k, codes))
    return (which, *codes[rows].T)


def entropy_of(p: np.ndarray) -> np.ndarray:
    """Entropy of every distribution along the axes after the first."""
    flat = p.reshape(len(p), int(np.prod(p.shape[1:])))
    return -np.sum(np.where(flat > 0, flat * np.log(np.where(flat > 0, flat, 1.0)), 0.0), axis=1)


def per_part(tables: GraphTables, fill: float) -> GraphTables:
    """Tables filled with a number, one for every part."""
    out = tables.zeros(per_part=True)
    if fill:
        for array in (out.node, out.edge, *out.factors):
            array[:] = fill
    return out


def summed_like(counts: GraphTables, theta: GraphTables) -> GraphTables:
    """Counts in the shape of ``theta``: tables of parts that share one there are added up."""
    edge, factors = counts.edge, counts.factors
    if counts.edge_table is not theta.edge_table and not (
        edge.shape == theta.edge.shape and np.array_equal(counts.edge_table, theta.edge_table)
    ):
        edge = np.zeros_like(theta.edge)
        np.add.at(edge, theta.edge_table, counts.edge[counts.edge_table])
    factors = tuple(
        own.sum(axis=0, keepdims=True) if len(like) == 1 and len(own) != 1 else own
        for own, like in zip(factors, theta.factors)
    )
    factors = tuple(
        np.zeros_like(like) if own.shape != like.shape and not own.size else own
        for own, like in zip(factors, theta.factors)
    )
    return replace(counts, edge=edge, edge_table=theta.edge_table, factors=factors, layout=theta.layout)


def fold(own: GraphTables, sample: np.ndarray, out: GraphTables, ufunc: Any) -> None:
    """Combine the numbers of the parts of copies with those of their samples."""
    rows, _ = gather(out.offsets, sample)
    ufunc.at(out.node, rows, own.node)
    edges, _ = gather(out.edge_offsets, sample)
    ufunc.at(out.edge, edges, own.edge)
    for mine, theirs, group in zip(out.factors, own.factors, out.layout.cliques):
        ufunc.at(mine, gather(group.offsets, sample)[0], theirs)


def put(one: GraphTables, out: GraphTables, s: int) -> None:
    """Write the numbers of a single sample to their places in the batch."""
    out.node[out.offsets[s] : out.offsets[s + 1]] = one.node
    out.edge[out.edge_offsets[s] : out.edge_offsets[s + 1]] = one.edge
    for mine, theirs, group in zip(out.factors, one.factors, out.layout.cliques):
        mine[group.offsets[s] : group.offsets[s + 1]] = theirs


def forbid_lacking(tables: GraphTables) -> None:
    """-inf at the labels that the types of nodes lack, in the tables of all parts."""
    mask = tables.allowed.rows(tables.layout)  # type: ignore[union-attr]
    tables.node[~mask] = -np.inf
    ends = tables.edges
    tables.edge[~(mask[ends[:, 0]][:, :, None] & mask[ends[:, 1]][:, None, :])] = -np.inf
    for k, values in enumerate(tables.factors):
        if tables.layout.cliques[k].kind != "table":
            continue
        for axis, rows in enumerate(tables.layout.clique_rows(k).T):
            shape = [len(rows)] + [1] * (values.ndim - 1)
            shape[axis + 1] = tables.n_labels
            values[np.broadcast_to(~mask[rows].reshape(shape), values.shape)] = -np.inf
