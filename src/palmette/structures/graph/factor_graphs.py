"""One sample of a batch of graphs as a factor graph, and answers on it back in the shape of the batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.structures.graph.states import Extended, extended, numbers_of_states, scores
from palmette.structures.graph.tables import GraphTables


class SampleShape(NamedTuple):
    """What does not change with the potentials: the topology, and where the entries of its tables stand in ours."""

    topology: Topology  # with the auxiliary variables of structured factors behind the nodes
    plain: Topology  # without
    mask: np.ndarray  # bool (n_nodes, n_labels): labels that the nodes can have
    # entries of a full table that the tables of the factors have, one factor after the other
    place: np.ndarray | None
    n_edges: int
    entries: tuple[int, ...]  # numbers of entries of edges, and of the cliques of each type
    more: Extended | None

    @property
    def full(self) -> bool:
        """Whether all nodes can have all labels."""
        return self.place is None


def shape_of(tables: GraphTables, s: int) -> SampleShape:
    """The shape of sample s, computed once."""
    memory = tables.layout.memory[s]
    sets = None if tables.allowed is None else tables.allowed.key
    key = ("shape", tables.n_labels, sets, tables.factor_labels)
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
        own = group.nodes[group.offsets[s] : group.offsets[s + 1]]
        scopes.append(own if group.kind == "table" else own[:0])
    arity = np.repeat([part.shape[1] for part in scopes], [len(part) for part in scopes])
    ptr = np.concatenate([[0], np.cumsum(arity)]).astype(np.int64)
    flat = np.concatenate([part.ravel() for part in scopes]).astype(np.int64)
    topology = Topology.shared(mask.sum(axis=1).astype(np.int64), ptr, flat)
    sizes = topology.table_sizes
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in scopes])])
    entries = [int(sizes[i:j].sum()) for i, j in zip(bounds[:-1], bounds[1:])]
    place, full = None, bool(mask.all())
    structured = any(group.kind != "table" for group in layout.cliques)
    labels_of_nodes = [np.flatnonzero(row) for row in mask] if structured or not full else []
    if not full:
        found = [
            np.ravel_multi_index(np.ix_(*(labels_of_nodes[v] for v in scope)), (labels,) * len(scope)).ravel()
            for part in scopes
            for scope in part.tolist()
        ]
        place = np.concatenate(found) if found else np.empty(0, np.int64)
    more = extended(topology, labels_of_nodes, tables, s) if structured else None
    whole = topology if more is None else more.topology
    return SampleShape(whole, topology, mask, place, b - a, tuple(entries), more)


def factor_graph(tables: GraphTables, s: int) -> FactorGraph:
    """The potentials of sample s; tables that edges share stay shared where nodes have all labels."""
    shape, layout = shape_of(tables, s), tables.layout
    lo, hi = layout.offsets[s : s + 2].tolist()
    unary = tables.node[lo:hi]
    unary = unary.ravel() if shape.full else unary[shape.mask]
    values, starts = _parts(tables, s)
    start, sizes = np.concatenate(starts), shape.plain.table_sizes
    flat = np.concatenate(values) if len(values) > 1 else values[0]
    if shape.place is not None:
        flat = flat[np.repeat(start, sizes) + shape.place]
        start = shape.plain.table_ptr[:-1].copy()
    if shape.more is None:
        return FactorGraph(shape.topology, unary, flat, start)
    more = shape.more
    table = more.table.copy()
    table[more.filled] = scores(tables, s)[more.score]
    return FactorGraph(
        shape.topology,
        np.concatenate([unary, np.zeros(more.n_states)]),
        np.concatenate([flat, table]),
        np.concatenate([start, len(flat) + more.ptr]).astype(np.int64),
    )


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
        if group.kind != "table":
            continue
        i, j = group.offsets[s : s + 2].tolist()
        size = labels ** group.nodes.shape[1]
        part, index = (own, np.zeros(j - i, np.int64)) if len(own) == 1 else (own[i:j], np.arange(j - i))
        values.append(part.ravel())
        starts.append(used + index * size)
        used += part.size
    return values, starts


def add_answer(
    tables: GraphTables, s: int, unary: np.ndarray, factor: np.ndarray, weight: float, out: GraphTables,
    largest: bool = False,
) -> None:  # fmt: skip
    """Write the numbers of the nodes of sample s, and add those of its factors, to tables like ``tables``.

    ``largest`` says that they are maxima, of which the states of structured factors take the largest and not the sum.
    """
    shape, layout, labels = shape_of(tables, s), tables.layout, tables.n_labels
    lo, hi = layout.offsets[s : s + 2].tolist()
    a, b = layout.edge_offsets[s : s + 2].tolist()
    rows = out.node[lo:hi]
    unary = unary[: int(shape.plain.unary_ptr[-1])]
    if shape.full:
        rows[:] = weight * unary.reshape(rows.shape)
    else:
        rows[shape.mask] = weight * unary
    sizes = shape.plain.table_sizes
    groups = [(out.edge, out.edge_table[a:b], 2)]
    structured = []
    for group, own in zip(layout.cliques, out.factors):
        i, j = group.offsets[s : s + 2].tolist()
        index = np.zeros(j - i, np.int64) if len(own) == 1 else np.arange(i, j)
        if group.kind == "table":
            groups.append((own, index, group.nodes.shape[1]))
        else:
            structured.append((own, index))
            groups.append((own, index[:0], 0))
    at = factor_at = 0
    for (into, index, arity), n in zip(groups, shape.entries):
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
    if shape.more is not None:
        found = numbers_of_states(tables, s, shape.more, factor[at:], largest)
        for (into, index), numbers in zip(structured, found):
            np.add.at(into, index, weight * numbers)


def labels_of(tables: GraphTables, s: int, codes: np.ndarray) -> np.ndarray:
    """States of the variables of sample s as labels of its nodes."""
    shape = shape_of(tables, s)
    codes = codes[: shape.plain.n_vars]
    if shape.full:
        return codes
    return (np.nonzero(shape.mask)[1])[shape.plain.unary_ptr[:-1] + codes]
