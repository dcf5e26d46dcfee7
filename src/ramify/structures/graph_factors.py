"""One sample of a batch of graphs as a factor graph, and answers on it back in the shape of the batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ramify.inference.factor_graph import FactorGraph, Topology
from ramify.structures.graph_tables import GraphTables


class SampleShape(NamedTuple):
    """What does not change with the potentials: the topology, and where the entries of its tables stand in ours."""

    topology: Topology
    mask: np.ndarray  # bool (n_nodes, n_labels): labels that the nodes can have
    place: (
        np.ndarray | None
    )  # entries of a full table that the tables of the factors have, one factor after the other
    n_edges: int
    n_edge_entries: int  # of all entries so many belong to edges
    clique_entries: tuple[int, ...]  # and so many to the factors of each type

    @property
    def full(self) -> bool:
        """Whether all nodes can have all labels."""
        return self.place is None


def shape_of(tables: GraphTables, s: int) -> SampleShape:
    """The shape of sample s, computed once."""
    memory = tables.layout.memory[s]
    key = ("shape", tables.n_labels, None if tables.allowed is None else tables.allowed.key)
    if key not in memory:
        memory[key] = _shape(tables, s)
    return memory[key]


def _shape(tables: GraphTables, s: int) -> SampleShape:
    layout, labels = tables.layout, tables.n_labels
    lo, hi = layout.offsets[s : s + 2].tolist()
    a, b = layout.edge_offsets[s : s + 2].tolist()
    if tables.allowed is None:
        mask = np.ones((hi - lo, labels), bool)
    else:
        mask = tables.allowed.mask[layout.node_type[lo:hi]]
    scopes = [layout.edges[a:b]]
    for group in layout.cliques:
        scopes.append(group.nodes[group.offsets[s] : group.offsets[s + 1]])
    arity = np.repeat([part.shape[1] for part in scopes], [len(part) for part in scopes])
    ptr = np.concatenate([[0], np.cumsum(arity)]).astype(np.int64)
    flat = np.concatenate([part.ravel() for part in scopes]).astype(np.int64)
    topology = Topology(mask.sum(axis=1).astype(np.int64), ptr, flat)
    sizes = topology.table_sizes
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in scopes])])
    entries = [int(sizes[i:j].sum()) for i, j in zip(bounds[:-1], bounds[1:])]
    place = None
    if not mask.all():
        own = [np.flatnonzero(row) for row in mask]
        found = [
            np.ravel_multi_index(np.ix_(*(own[v] for v in scope)), (labels,) * len(scope)).ravel()
            for part in scopes
            for scope in part.tolist()
        ]
        place = np.concatenate(found) if found else np.empty(0, np.int64)
    return SampleShape(topology, mask, place, b - a, entries[0], tuple(entries[1:]))


def factor_graph(tables: GraphTables, s: int) -> FactorGraph:
    """The potentials of sample s; tables that edges share stay shared where nodes have all labels."""
    shape, layout = shape_of(tables, s), tables.layout
    lo, hi = layout.offsets[s : s + 2].tolist()
    unary = tables.node[lo:hi]
    unary = unary.ravel() if shape.full else unary[shape.mask]
    values, starts = _parts(tables, s)
    first, sizes = np.concatenate(starts), shape.topology.table_sizes
    flat = np.concatenate(values) if len(values) > 1 else values[0]
    if shape.place is None:
        return FactorGraph(shape.topology, unary, flat, first)
    own = flat[np.repeat(first, sizes) + shape.place]
    return FactorGraph(shape.topology, unary, own, shape.topology.table_ptr[:-1].copy())


def _parts(tables: GraphTables, s: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Full tables of edges and cliques that sample s uses, flat, and where the one of each factor begins."""
    layout, labels = tables.layout, tables.n_labels
    a, b = layout.edge_offsets[s : s + 2].tolist()
    if len(tables.edge) == layout.n_edges and tables.has_own_tables:
        edge, table = tables.edge[a:b], np.arange(b - a)
    else:
        edge, table = tables.edge, tables.edge_table[a:b]
    values, starts, used = [edge.ravel()], [table * labels**2], edge.size
    for group, own in zip(layout.cliques, tables.factors):
        i, j = group.offsets[s : s + 2].tolist()
        size = labels ** group.nodes.shape[1]
        part, index = (own, np.zeros(j - i, np.int64)) if len(own) == 1 else (own[i:j], np.arange(j - i))
        values.append(part.ravel())
        starts.append(used + index * size)
        used += part.size
    return values, starts


def add_answer(
    tables: GraphTables, s: int, unary: np.ndarray, factor: np.ndarray, weight: float, out: GraphTables
) -> None:
    """Write the numbers of the nodes of sample s, and add those of its factors, to tables like ``tables``."""
    shape, layout, labels = shape_of(tables, s), tables.layout, tables.n_labels
    lo, hi = layout.offsets[s : s + 2].tolist()
    a, b = layout.edge_offsets[s : s + 2].tolist()
    rows = out.node[lo:hi]
    if shape.full:
        rows[:] = weight * unary.reshape(rows.shape)
    else:
        rows[shape.mask] = weight * unary
    at = 0
    sizes = shape.topology.table_sizes
    groups = [(out.edge, out.edge_table[a:b], 2, shape.n_edge_entries)]
    for group, own, n in zip(layout.cliques, out.factors, shape.clique_entries):
        i, j = group.offsets[s : s + 2].tolist()
        index = np.zeros(j - i, np.int64) if len(own) == 1 else np.arange(i, j)
        groups.append((own, index, group.nodes.shape[1], n))
    factor_at = 0
    for into, index, arity, n in groups:
        if n:
            full = labels**arity
            numbers = weight * factor[at : at + n]
            if shape.place is None:
                np.add.at(into.reshape(len(into), full), index, numbers.reshape(len(index), full))
            else:
                first = np.repeat(index * full, sizes[factor_at : factor_at + len(index)])
                np.add.at(into.reshape(-1), first + shape.place[at : at + n], numbers)
        at += n
        factor_at += len(index)


def labels_of(tables: GraphTables, s: int, codes: np.ndarray) -> np.ndarray:
    """States of the variables of sample s as labels."""
    shape = shape_of(tables, s)
    if shape.full:
        return codes
    ptr = shape.topology.unary_ptr[:-1]
    return (np.nonzero(shape.mask)[1])[ptr + codes]
