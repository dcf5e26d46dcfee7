"""Answers about given labelings of graphs, and what all answers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.annotation import Known, pairs_of, possible_codes
from palmette.structures.graph.part_tables import entries
from palmette.structures.graph.tables import GraphTables, combined
from palmette.structures.positions.checks import _codes, _weights
from palmette.structures.positions.labelled import differ
from palmette.structures.positions.tables import Restriction

if TYPE_CHECKING:
    from palmette.structures.graph.graph import Graph


def contradicted(within: Restriction | None) -> Known | None:
    """The annotation that outputs must contradict, if any."""
    return None if within is None else within.contradicts


def agreeing(structure: Graph, theta: Any, codes: Known) -> Restriction:
    """The restriction to outputs that agree with codes (-1: any label), sets of codes and allowed pairs."""
    pairs = pairs_of(codes)
    edge = None if pairs is None else pairs.on(theta.edges)
    return Restriction(possible_codes(codes, theta.n_labels), edge)


def score(structure: Graph, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
    """Score plus cost of given outputs; -inf for one that the restriction forbids."""
    from palmette.structures.graph.kernels.forest_given import labeling_scores

    tables, codes = combined(theta, cost, within), _codes(theta, codes)
    values = np.empty(len(tables))
    shape = tables.offsets, tables.edge_offsets, tables.edges
    labeling_scores(tables.node, tables.edge, tables.edge_table, *shape, codes, values)
    for k, (group, own) in enumerate(zip(tables.layout.cliques, tables.factors)):
        if len(group.nodes):
            entry = own[entries(tables, k, codes)]
            owner = np.repeat(np.arange(len(tables)), np.diff(group.offsets))
            np.add.at(values, owner, entry)
    contradicts = contradicted(within)
    if contradicts is not None and len(tables):
        values[~differ(contradicts, codes, theta.offsets)] = -np.inf
    return values


def count(
    structure: Graph, theta: Any, codes: Any, *, weight: Any = None, into: GraphTables | None = None
) -> GraphTables:
    """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
    from palmette.structures.graph.kernels.forest_given import add_counts

    theta.check()
    codes, weight = _codes(theta, codes), _weights(theta, weight)
    if into is None:
        into = theta.zeros()
    elif into.shapes != theta.shapes:
        raise ValueError(f"into has tables of shapes {into.shapes}, expected {theta.shapes}")
    shape = theta.offsets, theta.edge_offsets, theta.edges
    add_counts(theta.edge_table, *shape, codes, weight, into.node, into.edge)
    for k, (group, own) in enumerate(zip(theta.layout.cliques, into.factors)):
        if len(group.nodes):
            owner = np.repeat(np.arange(len(theta)), np.diff(group.offsets))
            np.add.at(own, entries(theta, k, codes), weight[owner])
    return into
