"""Graphs of a batch whose sums are exact, by a junction tree: those of a shape together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.inference.factor_graph import Topology
from palmette.structures.graph.factor_graphs import add_answer, factor_graph, shape_of
from palmette.structures.graph.tables import GraphTables

if TYPE_CHECKING:
    from palmette.structures.graph.methods import GraphMethods


def add_tree_sums(
    structure: GraphMethods, tables: GraphTables, samples: list[int], weight: np.ndarray, log_z: np.ndarray,
    counts: GraphTables,
) -> list[int]:  # fmt: skip
    """Log-partitions and expected counts of the samples that this serves; returns the others."""
    from palmette.inference.junction_sums import exact_sums, room_needed

    shapes: dict[Any, tuple[Topology, list[int]]] = {}  # by what graphs are: the order of sums depends on it
    left = []
    for s in samples:
        topology = shape_of(tables, s).topology
        shapes.setdefault(topology.key, (topology, []))[1].append(s)
    for topology, own in shapes.values():
        exact = structure.sum_method(topology) == "junction_tree"
        tree = structure.tree_for_sums(topology) if exact else None
        if tree is None or room_needed(tree) > structure.lane_memory:
            left += own
            continue
        for s, found in zip(own, exact_sums(tree, [factor_graph(tables, s) for s in own])):
            if found is None:
                left.append(s)
            else:
                log_z[s] = found.log_z
                add_answer(tables, s, found.unary, found.factor, float(weight[s]), counts)
    return sorted(left)
