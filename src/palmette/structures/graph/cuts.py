"""Graphs of a batch whose best labels are a minimum cut: two labels, edges alone, all of them submodular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette.structures.graph.tables import GraphTables

if TYPE_CHECKING:
    from palmette.structures.graph.methods import GraphMethods

BY_CUT = ("auto", "exact", "graph_cut")


def cut_samples(structure: GraphMethods, tables: GraphTables, samples: list[int]) -> np.ndarray:
    """Those of the samples that :func:`best_by_cuts` serves, int64."""
    from palmette.structures.graph.kernels.cuts import pair_kinds

    none = np.empty(0, np.int64)
    if not samples or structure.inference not in BY_CUT or tables.n_labels != 2 or tables.allowed is not None:
        return none
    own = np.array(samples, np.int64)
    for group in tables.layout.cliques:
        own = own[np.diff(group.offsets)[own] == 0]
    kinds = np.zeros(len(own), np.int64)
    pair_kinds(tables.node, _flat(tables), tables.edge_table, tables.offsets, tables.edge_offsets, own, kinds)
    return own[kinds == 2]


def best_by_cuts(
    tables: GraphTables, samples: np.ndarray, codes: np.ndarray, values: np.ndarray, bounds: np.ndarray
) -> None:
    """Best labels, their scores and the bounds that flows prove, all samples in one call; ties go to label 0."""
    from palmette.structures.graph.kernels.cuts import cut_graphs

    if not len(samples):
        return
    layout = tables.layout
    cut_graphs(
        tables.node, _flat(tables), tables.edge_table, layout.offsets, layout.edge_offsets, layout.edges, samples,
        codes, values, bounds,
    )  # fmt: skip


def _flat(tables: GraphTables) -> np.ndarray:
    return tables.edge.reshape(-1, 4)
