"""The best assignment as an integer program: exact where HiGHS proves it in time, else value and bound."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from palmette.inference.bounded_max import bounded_max, meets
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.results import Maximum


def integer_program(graph: FactorGraph, *, time_limit: float | None = None) -> Maximum:
    """The best assignment by branch and cut over the local polytope, the variables' states being 0 or 1.

    ``bounded_max`` comes first: where its bound meets its value nothing is left to do, and its value cuts off all
    that is worse. Where time runs out, ``exact`` is False and ``bound`` the best bound that was proven.

    Parameters
    ----------
    graph : FactorGraph
    time_limit : float, optional
        Seconds; none by default.

    Examples
    --------
    >>> tables = [((i, j), [[0.0, 1.0], [1.0, 0.0]]) for i, j in [(0, 1), (1, 2), (2, 0)]]
    >>> triangle = FactorGraph.from_tables([2, 2, 2], tables + [((0,), [0.5, 0.0])])
    >>> integer_program(triangle).value, integer_program(triangle).exact
    (2.5, True)
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    from palmette.inference.relaxation import consistency

    begin = time.perf_counter()
    first = bounded_max(graph)
    if first.exact or first.bound == -np.inf:
        return first._replace(exact=True, method="integer_program")
    topology = graph.topology
    theta = np.concatenate([graph.unary, graph.own_values])
    possible = np.isfinite(theta)
    cost = np.where(possible, -theta, 0.0)
    matrix, right = consistency(topology)
    constraints = [LinearConstraint(matrix, right, right)]
    if np.isfinite(first.value):
        # at least as good as what is known, up to the tolerance of the solver
        slack = 1e-6 * max(1.0, abs(first.value))
        constraints.append(LinearConstraint(cost[None, :], -np.inf, slack - first.value))
    n_unary = int(topology.unary_ptr[-1])
    integrality = np.zeros(len(theta))
    integrality[:n_unary] = 1
    options: dict[str, Any] = {"mip_rel_gap": 1e-10}
    if time_limit is not None:
        options["time_limit"] = max(1e-3, time_limit - (time.perf_counter() - begin))
    result = milp(
        cost,
        integrality=integrality,
        bounds=Bounds(np.zeros(len(theta)), possible.astype(float)),
        constraints=constraints,
        options=options,
    )
    if result.status == 2 and not np.isfinite(first.value):
        return first._replace(value=-np.inf, bound=-np.inf, exact=True, method="integer_program")
    codes, value = first.codes, first.value
    if result.x is not None:
        blocks = np.split(result.x[:n_unary], topology.unary_ptr[1:-1])
        found = np.array([int(np.argmax(block)) for block in blocks], np.int32)
        if graph.score(found) > value:
            codes, value = found, graph.score(found)
    bound = first.bound
    dual = getattr(result, "mip_dual_bound", None)
    if dual is not None and np.isfinite(dual):
        bound = min(bound, -float(dual) + 1e-7 * max(1.0, abs(dual)))
    proven = result.status == 0 or (result.status == 2 and np.isfinite(first.value))
    if proven or meets(value, bound):
        return Maximum(
            codes, value, max(value, min(bound, value + 1e-6 * max(1.0, abs(value)))), True, "integer_program"
        )
    return Maximum(codes, value, max(value, bound), False, "integer_program")
