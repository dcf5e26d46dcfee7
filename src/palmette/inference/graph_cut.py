"""Exact maxima of binary graphs whose pairs favour agreement, by a minimum cut."""

from __future__ import annotations

import numpy as np

from palmette.inference.factor_graph import FactorGraph
from palmette.inference.results import Maximum

# relative slack within which a table counts as submodular; what lacks is taken as 0
_SLACK = 1e-12


def is_submodular(graph: FactorGraph) -> bool:
    """Whether a cut finds the maximum: at most two states per variable, pairs only, ``t[0,0] + t[1,1] >= t[0,1] +
    t[1,0]``.

    Examples
    --------
    >>> is_submodular(FactorGraph.from_tables([2, 2], [((0, 1), [[1.0, 0.0], [0.0, 1.0]])]))
    True
    >>> is_submodular(FactorGraph.from_tables([2, 2], [((0, 1), [[0.0, 1.0], [1.0, 0.0]])]))
    False
    """
    topology = graph.topology
    if topology.cards.max(initial=1) > 2 or topology.arity.max(initial=2) > 2:
        return False
    table = _pairs(graph)
    agree, differ = table[:, 0] + table[:, 3], table[:, 1] + table[:, 2]
    room = _SLACK * np.where(np.isfinite(table), abs(table), 0.0).max(axis=1, initial=0.0)
    return bool(np.all((differ == -np.inf) | (agree >= differ - room)))


def graph_cut(graph: FactorGraph) -> Maximum:
    """The best assignment of a submodular graph; ties go to state 0.

    Examples
    --------
    >>> agree = [[1.0, 0.0], [0.0, 1.0]]
    >>> unary = [((0,), [0.0, 1.5]), ((2,), [0.5, 0.0])]
    >>> graph = FactorGraph.from_tables([2, 2, 2], [*unary, ((0, 1), agree), ((1, 2), agree)])
    >>> graph_cut(graph).codes, graph_cut(graph).value
    (array([1, 1, 1], dtype=int32), 3.5)
    """
    from palmette._kernels.max_flow import max_flow, reaches_sink

    if not is_submodular(graph):
        raise ValueError(
            "graph_cut needs variables of two states and pairs with t[0,0] + t[1,1] >= t[0,1] + t[1,0]; "
            "use bounded or integer_program"
        )
    topology = graph.topology
    n = topology.n_vars
    unary = np.full((n, 2), -np.inf)
    unary[:, 0] = graph.unary[topology.unary_ptr[:-1]]
    two = topology.cards == 2
    unary[two, 1] = graph.unary[topology.unary_ptr[:-1][two] + 1]
    i, j = topology.scope.reshape(-1, 2).T
    table = _without_forbidden_lines(_pairs(graph), unary, i, j)
    # what is forbidden costs more than everything else together, and more than a table's other entries, which would
    # not be submodular otherwise
    finite = [np.where(np.isfinite(part), part, 0.0) for part in (unary, table)]
    wall = 1.0 + sum(float(np.ptp(part, axis=1).sum()) if len(part) else 0.0 for part in finite)
    wall += 3.0 * float(abs(finite[1]).max(initial=0.0))
    unary, table = (np.where(np.isfinite(part), part, -wall) for part in (unary, table))
    # -score = constant + slope_i x_i + sum_pairs weight (1 - x_i) x_j
    slope = unary[:, 0] - unary[:, 1]
    slope += np.bincount(i, table[:, 0] - table[:, 2], n) + np.bincount(j, table[:, 2] - table[:, 3], n)
    weight = np.maximum(0.0, table[:, 0] + table[:, 3] - table[:, 1] - table[:, 2])
    constant = unary[:, 0].sum() + table[:, 0].sum()
    source, sink = n, n + 1
    up, down = np.flatnonzero(slope > 0), np.flatnonzero(slope < 0)
    tail = np.concatenate([i, np.full(len(up), source), down])
    head = np.concatenate([j, up, np.full(len(down), sink)])
    capacity = np.zeros(2 * len(tail))
    capacity[::2] = np.concatenate([weight, slope[up], -slope[down]])
    heads = np.stack([head, tail], axis=1).ravel()
    tails = np.stack([tail, head], axis=1).ravel()
    arcs = np.argsort(tails, kind="stable").astype(np.int64)
    node_ptr = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n + 2))]).astype(np.int64)
    least = 1e-13 * max(1e-300, float(capacity.max(initial=0.0)))
    flow = max_flow(node_ptr, arcs, heads, capacity, source, sink, least)
    side = np.empty(n + 2, np.int64)
    reaches_sink(node_ptr, arcs, heads, capacity, sink, least, side)
    codes = side[:n].astype(np.int32)
    value = graph.score(codes) if np.all(codes < topology.cards) else -np.inf
    if value == -np.inf:
        return Maximum(
            np.minimum(codes, topology.cards - 1).astype(np.int32), -np.inf, -np.inf, True, "graph_cut"
        )
    bound = float(constant - slope[down].sum() - flow)
    return Maximum(codes, value, max(value, bound), True, "graph_cut")


def _without_forbidden_lines(
    table: np.ndarray, unary: np.ndarray, i: np.ndarray, j: np.ndarray
) -> np.ndarray:
    """Tables in which no whole row or column is -inf: that forbids a state, and ``unary`` takes it over (in place).

    The line is then a copy of the other one. A number in place of its -inf would leave tables that are not submodular.
    """
    pairs = table.reshape(-1, 2, 2).copy()
    for lines, ends in ((pairs, i), (pairs.transpose(0, 2, 1), j)):
        for state in (0, 1):
            lost = np.all(lines[:, state] == -np.inf, axis=1)
            unary[ends[lost], state] = -np.inf
            lines[lost, state] = lines[lost, 1 - state]
    return pairs.reshape(-1, 4)


def _pairs(graph: FactorGraph) -> np.ndarray:
    """Tables as (n_factors, 4); states that a variable does not have are forbidden."""
    topology = graph.topology
    if np.all(topology.cards[topology.scope] == 2):
        return graph.own_values.reshape(-1, 4)
    out = np.full((topology.n_factors, 2, 2), -np.inf)
    for f in range(topology.n_factors):
        rows, columns = topology.shape_of(f)
        out[f, :rows, :columns] = graph.table(f)
    return out.reshape(-1, 4)
