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
    from palmette._kernels.pair_cuts import cut_pairs

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
    codes = np.empty(n, np.int32)
    ends = np.ascontiguousarray(topology.scope.reshape(-1, 2))
    bound = cut_pairs(unary, np.ascontiguousarray(table), np.arange(len(table)), ends, codes)
    value = graph.score(codes) if np.all(codes < topology.cards) else -np.inf
    if value == -np.inf:
        return Maximum(
            np.minimum(codes, topology.cards - 1).astype(np.int32), -np.inf, -np.inf, True, "graph_cut"
        )
    return Maximum(codes, value, max(value, float(bound)), True, "graph_cut")


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
