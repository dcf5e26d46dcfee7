"""Maxima over the labelings of graphs of any shape: forests of a batch in one compiled call, others one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Best
from palmette.data.ragged import gather
from palmette.structures.graph.cuts import best_by_cuts, cut_samples
from palmette.structures.graph.factor_graphs import add_answer, factor_graph, labels_of
from palmette.structures.graph.given import contradicted
from palmette.structures.graph.methods import NOT_EXACT
from palmette.structures.graph.part_tables import fold, forbid_lacking, per_part, put, summed_like
from palmette.structures.graph.restricted_copies import (
    best_contradicting,
    first_contradictions,
    ranked_labelings,
)
from palmette.structures.graph.tables import GraphTables, combined
from palmette.structures.positions.checks import _check_feasible, _weights, how_many
from palmette.structures.positions.tables import Restriction

if TYPE_CHECKING:
    from palmette.structures.graph.graph import Graph


class Relaxed(NamedTuple):
    """Maxima over labelings, or over locally consistent marginals where the best is not known exactly."""

    values: np.ndarray  # (n_samples,): of the points that were found
    counts: GraphTables  # those points, perhaps fractional, in the shape of the potentials
    slack: np.ndarray  # (n_samples,): the maxima are above the values by no more than this


def best(
    structure: Graph, theta: GraphTables, *, cost: Any = None, within: Restriction | None = None
) -> Best:
    """Highest-scoring labels of every sample; values include the cost."""
    return _extreme(structure, theta, cost, within, sign=1.0)


def worst(
    structure: Graph, theta: GraphTables, *, cost: Any = None, within: Restriction | None = None
) -> Best:
    """Lowest-scoring labels of every sample; values include the cost."""
    return _extreme(structure, theta, cost, within, sign=-1.0)


def _extreme(structure: Graph, theta: Any, cost: Any, within: Any, sign: Any) -> Best:
    tables, codes = combined(theta, cost, within, sign), contradicted(within)
    with structure.telling():
        if codes is None:
            found = best_labels_of(structure, tables)
        else:
            most = _max_marginals(structure, tables)
            found = Best(*best_contradicting(tables, codes, partial(best_labels_of, structure), most))
    _check_feasible(found.values, tables, structure)
    return Best(found.codes, sign * found.values)


def best_labels_of(structure: Graph, tables: GraphTables) -> Best:
    """Best labels of potentials with cost and restriction inside."""
    return Best(*_bounded_best(structure, tables)[:2])


def _bounded_best(structure: Graph, tables: GraphTables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, values and proven upper bounds of the maxima."""
    from palmette.structures.graph.kernels.forest_max import best_labels

    codes, values = np.zeros(len(tables.node), np.int32), np.empty(len(tables))
    forests, others = structure.parted(tables)
    if len(forests):
        best_labels(*tables.arguments, forests, codes, values)
    bounds = values.copy()
    cut = cut_samples(structure, tables, others)
    best_by_cuts(tables, cut, codes, values, bounds)
    for s in _without(others, cut):
        found = structure.maximum_of(factor_graph(tables, s), tables.layout.memory[s])
        values[s], bounds[s] = found.value, found.bound
        codes[tables.offsets[s] : tables.offsets[s + 1]] = labels_of(tables, s, found.codes)
    return codes, values, bounds


def _without(samples: list[int], done: np.ndarray) -> list[int]:
    """The samples that are not done yet."""
    known = set(done.tolist())
    return [s for s in samples if s not in known]


def bounded_best(
    structure: Graph, theta: Any, *, cost: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes and values of the best labels found, and proven upper bounds; equal where inference is exact."""
    tables = combined(theta, cost, None)
    with structure.telling():
        codes, values, bounds = _bounded_best(structure, tables)
    _check_feasible(values, tables, structure)
    return codes, values, bounds


def bounds(
    structure: Graph, theta: Any, *, cost: Any = None, within: Restriction | None = None
) -> np.ndarray:
    """Proven upper bounds on the score of the best labels of every sample; equal to it where inference is exact."""
    tables = combined(theta, cost, within)
    if contradicted(within) is not None:
        raise ValueError("bounds: within.contradicts is not supported; ask best_contradicting")
    with structure.telling(quiet=True):
        return _bounded_best(structure, tables)[2]


def relaxes(structure: Graph, theta: Any) -> bool:
    """Whether :meth:`relaxed_best` differs from :meth:`best`: some best labels are not known exactly."""
    return structure.oracle == "relaxed" and not structure.finds_best(theta).all()


def finds_best(structure: Graph, theta: Any) -> np.ndarray:
    """Whether the method that answers for each sample finds its best labels for certain, bool (n_samples,)."""
    found = np.ones(len(theta), bool)
    others = structure.parted(theta)[1]
    for s in _without(others, cut_samples(structure, theta, others)):
        found[s] = structure.best_method(factor_graph(theta, s)) not in NOT_EXACT
    return found


def relaxed_best(
    structure: Graph, theta: Any, *, cost: Any = None, within: Restriction | None = None, weight: Any = None
) -> Relaxed:
    """Maxima for learning: exact where that is possible, else of the linear program over the local polytope.

    The maxima are never below the exact ones, and convex in theta. Linear programs are solved to a tolerance:
    ``counts`` (times ``weight``) give a cut that is ``values`` here and nowhere above the maxima, which are at most
    ``values + slack``.
    """
    tables, weight = combined(theta, cost, within), _weights(theta, weight)
    if contradicted(within) is not None:
        raise ValueError("relaxed_best: within.contradicts is not supported")
    _, others = structure.parted(tables)
    relaxed = {
        s: graph
        for s in _without(others, cut_samples(structure, tables, others))
        if structure.best_method(graph := factor_graph(tables, s)) in NOT_EXACT
    }
    exact = np.array([s for s in range(len(tables)) if s not in relaxed], np.int64)
    values, codes = np.empty(len(tables)), np.zeros(len(tables.node), np.int32)
    own, slack = np.zeros(len(tables)), np.zeros(len(tables))
    own[exact] = weight[exact]
    with structure.telling():
        part = tables.take(exact)
        found = best_labels_of(structure, part)
        values[exact] = found.values
        codes[gather(tables.offsets, exact)[0]] = found.codes
        counts = tables.zeros()
        for s, graph in relaxed.items():
            point = structure.relaxation_of(graph, tables.layout.memory[s])
            values[s], slack[s] = point.value, max(point.bound - point.value, 0.0)
            add_answer(tables, s, point.unary, point.factor, float(weight[s]), counts)
    _check_feasible(values, tables, structure)
    counts = structure.count(tables, codes, weight=own, into=counts)
    return Relaxed(values, summed_like(counts, theta), slack)


def k_best(
    structure: Graph, theta: Any, k: int, *, cost: Any = None, within: Any = None
) -> list[list[tuple[np.ndarray, float]]]:
    """The k best distinct outputs of every sample, best first; fewer where fewer exist. Exact inference only.

    Returns
    -------
    list of list of (codes, value)
    """
    k = how_many(k, theta, theta.n_labels, 0)
    tables, codes = combined(theta, cost, within), contradicted(within)
    structure.require_exact(tables, "k_best")
    if codes is None:
        ranked = ranked_labelings(tables, k, partial(best_labels_of, structure))
    else:
        ranked = [[] for _ in range(len(tables))]
        copies = first_contradictions(tables, codes)
        for s, more in zip(
            copies.sample.tolist(), ranked_labelings(copies.tables, k, partial(best_labels_of, structure))
        ):
            ranked[s] += more
        ranked = [sorted(own, key=lambda item: (-item[1], item[0].tolist()))[:k] for own in ranked]
    _check_feasible(np.array([own[0][1] if own else -np.inf for own in ranked]), tables, structure)
    return ranked


def max_marginals(structure: Graph, theta: Any, *, cost: Any = None, within: Any = None) -> GraphTables:
    """Best value with each part fixed, one table per part, as in :meth:`marginals`; -inf if impossible."""
    tables, codes = combined(theta, cost, within), contradicted(within)
    structure.require_exact(tables, "max_marginals")
    if codes is None:
        out = _max_marginals(structure, tables)
    else:
        copies = first_contradictions(tables, codes)
        own = _max_marginals(structure, copies.tables)
        out = replace(per_part(tables, -np.inf), layout=tables.layout)
        fold(own, copies.sample, out, np.maximum)
    if len(tables):
        _check_feasible(np.maximum.reduceat(out.node.max(axis=1), tables.offsets[:-1]), tables, structure)
    return out


def _max_marginals(structure: Graph, tables: GraphTables) -> GraphTables:
    from palmette.structures.graph.kernels.forest_max import max_marginals

    out = per_part(tables, -np.inf)
    forests, others = structure.parted(tables)
    if len(forests):
        max_marginals(*tables.arguments, forests, out.node, out.edge)
    for s in others:
        tree = structure.exact_tree(tables, s, "max-marginals")
        zero = per_part(tables.take(np.array([s])), 0.0)
        unary, factor = tree.max_marginals(factor_graph(tables, s))
        add_answer(tables.take(np.array([s])), 0, unary, factor, 1.0, zero, largest=True)
        if zero.allowed is not None:  # labels that the types lack are impossible, not worth 0
            forbid_lacking(zero)
        put(zero, out, s)
    return out
