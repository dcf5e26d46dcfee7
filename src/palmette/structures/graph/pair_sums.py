"""Graphs of a batch whose sums are reweighted, with two labels and edges alone: all of a shape in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.inference.factor_graph import Topology
from palmette.structures.graph.factor_graphs import shape_of
from palmette.structures.graph.tables import GraphTables

if TYPE_CHECKING:
    from palmette.structures.graph.methods import GraphMethods


def add_pair_sums(
    structure: GraphMethods, tables: GraphTables, samples: list[int], weight: np.ndarray, log_z: np.ndarray,
    counts: GraphTables,
) -> list[int]:  # fmt: skip
    """Log-partitions and expected counts of the samples that this serves; returns the others."""
    left = set(samples)
    for topology, own in _by_shape(structure, tables, samples):
        left.difference_update(_solve(structure, tables, topology, np.array(own), weight, log_z, counts))
    return [s for s in samples if s in left]


def _by_shape(
    structure: GraphMethods, tables: GraphTables, samples: list[int]
) -> list[tuple[Topology, list[int]]]:
    """Samples grouped by what their graphs are, not by which object says so: the order of sums depends on it."""
    found: dict[Any, tuple[Topology, list[int]]] = {}
    if tables.n_labels != 2 or tables.allowed is not None:
        return []
    with_factors = np.zeros(len(tables), bool)
    for group in tables.layout.cliques:
        with_factors |= np.diff(group.offsets) > 0
    for s in samples:
        if not with_factors[s]:
            topology = shape_of(tables, s).topology
            if structure.sum_method(topology) == "reweighted":
                found.setdefault(topology.key, (topology, []))[1].append(s)
    return list(found.values())


def _solve(
    structure: GraphMethods, tables: GraphTables, topology: Topology, samples: np.ndarray, weight: np.ndarray,
    log_z: np.ndarray, counts: GraphTables,
) -> list[int]:  # fmt: skip
    from palmette.inference.pair_sums import PairData, served, solve
    from palmette.inference.reweighted import LARGEST, settled

    memories = [tables.layout.memory[s] for s in samples.tolist()]
    starts = [structure.start("pairs", memory, 2 * topology.n_factors) for memory in memories]
    data = PairData(
        tables.node, tables.edge.reshape(-1, 4), tables.edge_table, tables.offsets[samples],
        tables.edge_offsets[samples], 1.0, np.stack(starts),
    )  # fmt: skip
    own = np.flatnonzero(served(topology, data, LARGEST))
    tol = structure.sum_tol(float(_sizes(tables)[samples].max()))
    found = solve(
        topology, data, own, weight[samples[own]], tol, structure.max_sweeps, counts.node,
        counts.edge.reshape(-1, 4),
    )  # fmt: skip
    converged = np.all(settled(found.upper, found.lower, tol), axis=1)
    for k in own.tolist():
        log_z[samples[k]] = found.upper[k].sum()
        starts[k][:] = data.messages[k]
        structure.note("sums", "reweighted", topology, memories[k], bool(converged[k]))
    return samples[own].tolist()


def _sizes(tables: GraphTables) -> np.ndarray:
    """What the potentials of each sample add up to at most."""
    nodes = np.r_[0.0, np.cumsum(np.abs(tables.node).max(axis=1))]
    edges = np.r_[0.0, np.cumsum(np.abs(tables.edge.reshape(-1, 4)).max(axis=1)[tables.edge_table])]
    return np.diff(nodes[tables.offsets]) + np.diff(edges[tables.edge_offsets])
