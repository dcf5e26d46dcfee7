"""Structured factors: their states by definition, and as automata with auxiliary variables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.structured import Automaton, at_most_one, extend, parity, potts
from palmette.structures.graph.tables import GraphTables

_MARK = 1e6  # numbers from here on stand for scores that are filled in later


def states(tables: GraphTables, k: int, codes: np.ndarray) -> np.ndarray:
    """The state of every structured factor of type k under given labels."""
    group, rows = tables.layout.cliques[k], tables.layout.clique_rows(k)
    there, labels = rows >= 0, codes[rows]
    if group.kind == "agreement":
        same = np.all(~there | (labels == labels[:, :1]), axis=1)
        return np.where(same, labels[:, 0], tables.n_labels)
    count = np.sum(there & (labels == tables.factor_labels[k]), axis=1)
    return count % 2 if group.kind == "parity" else (count > 1).astype(np.int64)


class Extended(NamedTuple):
    """A topology with the auxiliary variables of its structured factors, and where their scores stand."""

    topology: Topology
    n_states: int  # of the auxiliary variables
    table: np.ndarray  # values of the tables of all automata
    ptr: np.ndarray  # where they begin in it
    filled: np.ndarray  # entries of ``table`` that are scores
    score: np.ndarray  # which score each of them is: factor by factor, state by state


def extended(topology: Topology, own: list[np.ndarray], tables: GraphTables, s: int) -> Extended | None:
    """The structured factors of sample s as automata; ``own`` are the labels of its nodes. None if there are none."""
    automata, at = [], 0
    for k, group in enumerate(tables.layout.cliques):
        if group.kind == "table":
            continue
        for row in group.nodes[group.offsets[s] : group.offsets[s + 1]].tolist():
            nodes = [v for v in row if v >= 0]
            made = _automaton(group.kind, nodes, tables, k)
            steps = tuple(step[:, own[v]] for v, step in zip(nodes, made.steps))
            n = len(made.final)
            automata.append(Automaton(tuple(nodes), steps, _MARK + np.arange(at, at + n)))
            at += _n_scores(group.kind, tables.n_labels)
    if not automata:
        return None
    empty = FactorGraph(
        topology,
        np.zeros(int(topology.unary_ptr[-1])),
        np.zeros(int(topology.table_ptr[-1])),
        topology.table_ptr[:-1].copy(),
    )
    found = extend(empty, automata)
    table = found.graph.values[found.n_entries :].copy()
    filled = np.flatnonzero(table >= _MARK)
    score = (table[filled] - _MARK).astype(np.int64)
    table[filled] = 0.0
    ptr = found.graph.topology.table_ptr[topology.n_factors : -1] - found.n_entries
    return Extended(found.graph.topology, len(found.graph.unary) - found.n_states, table, ptr, filled, score)


def _n_scores(kind: str, n_labels: int) -> int:
    return {"agreement": n_labels + 1, "at_most_one": 3}.get(kind, 2)


def _automaton(kind: str, nodes: list[int], tables: GraphTables, k: int) -> Automaton:
    labels = tables.n_labels
    cards = [labels] * (max(nodes) + 1)
    if kind == "agreement":
        return potts(nodes, cards, [0.0] * labels)
    make = parity if kind == "parity" else at_most_one
    return make(nodes, tables.factor_labels[k], cards)


def scores(tables: GraphTables, s: int) -> np.ndarray:
    """The scores of the states of all structured factors of sample s, one factor after the other."""
    parts = []
    for group, values in zip(tables.layout.cliques, tables.factors):
        if group.kind == "table":
            continue
        a, b = group.offsets[s : s + 2].tolist()
        found = np.repeat(values, b - a, axis=0) if len(values) == 1 else values[a:b]
        if group.kind == "at_most_one":  # its automaton counts none, one, more
            found = found[:, [0, 0, 1]]
        parts.append(found.ravel())
    return np.concatenate(parts)


def numbers_of_states(
    tables: GraphTables, s: int, shape: Extended, factor: np.ndarray, largest: bool
) -> list[Any]:
    """Numbers of the entries of the automata's tables as numbers of states: added up, or the largest.

    One array (factors, states) for each type of structured factors, in the order of types.
    """
    kinds = [group for group in tables.layout.cliques if group.kind != "table"]
    counts = [int(group.offsets[s + 1] - group.offsets[s]) for group in kinds]
    sizes = [_n_scores(group.kind, tables.n_labels) for group in kinds]
    flat = np.full(int(np.dot(counts, sizes)), -np.inf if largest else 0.0)
    (np.maximum if largest else np.add).at(flat, shape.score, factor[shape.filled])
    out, at = [], 0
    for group, n, size in zip(kinds, counts, sizes):
        own = flat[at : at + n * size].reshape(n, size)
        if group.kind == "at_most_one":
            first = own[:, :2].max(axis=1) if largest else own[:, :2].sum(axis=1)
            own = np.column_stack([first, own[:, 2]])
        out.append(own)
        at += n * size
    return out
