"""The linear relaxation of binary graphs with pairs, solved by a minimum cut (roof duality)."""

from __future__ import annotations

import numpy as np

from palmette.inference.factor_graph import FactorGraph
from palmette.inference.results import Relaxation


def roof_dual(graph: FactorGraph) -> Relaxation | None:
    """``max <theta, mu>`` over the local polytope of a graph of two states each, pairs alone, nothing forbidden.

    The marginals of a maximum are 0, 1/2 or 1, those that are 0 or 1 agree with a best assignment, and value and bound
    are the same number but for rounding. None for other graphs.

    Examples
    --------
    >>> repel = [((i, j), [[0.0, 1.0], [1.0, 0.0]]) for i, j in [(0, 1), (1, 2), (2, 0)]]
    >>> found = roof_dual(FactorGraph.from_tables([2, 2, 2], repel))
    >>> found.value, found.unary
    (3.0, array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]))
    """
    from palmette._kernels.pair_cuts import roof_pairs

    topology = graph.topology
    if not topology.has_binary_pairs:
        return None
    unary, table = (np.ascontiguousarray(a, np.float64) for a in (graph.unary, graph.own_values))
    if not (np.all(np.isfinite(unary)) and np.all(np.isfinite(table))):
        return None
    unary, table = unary.reshape(-1, 2), table.reshape(-1, 4)
    ends, share = np.ascontiguousarray(topology.scope.reshape(-1, 2)), np.empty(topology.n_vars)
    bound = roof_pairs(unary, table, np.arange(len(table)), ends, share)
    a, b = share[ends].T
    # the best table with these marginals: as much agreement, or as little, as they allow
    both = np.where(
        table[:, 0] + table[:, 3] >= table[:, 1] + table[:, 2], np.minimum(a, b), np.maximum(0.0, a + b - 1.0)
    )
    factor = np.column_stack([1.0 - a - b + both, b - both, a - both, both])
    states = np.column_stack([1.0 - share, share])
    value = float(np.sum(states * unary) + np.sum(factor * table))
    integral = bool(np.all(share != 0.5))
    return Relaxation(
        value, max(value, float(bound)), states.ravel(), factor.ravel(), integral, "roof duality", True
    )
