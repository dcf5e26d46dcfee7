"""Belief propagation on graphs with loops, for sums (Bethe) and maxima: fast, exact on forests, without bounds
else."""

from __future__ import annotations

import numpy as np

from palmette.inference.bounded_max import meets, run_sequential
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.results import Maximum, Sum
from palmette.inference.slots import Slots, SumRun, is_forest


def loopy_sum(
    graph: FactorGraph,
    *,
    damping: float = 0.3,
    tol: float = 1e-9,
    max_iter: int = 1000,
    messages: np.ndarray | None = None,
) -> Sum:
    """Bethe's approximation of the log-partition and of the marginals, by messages along an order, forth and back.

    ``log_z = <theta, mu> + sum_f H(mu_f) + sum_i (1 - number of factors of i) H(mu_i)`` at a fixed point of the
    messages. It is exact on forests, and elsewhere neither a bound nor, with several fixed points, unique;
    ``converged`` says whether the messages settled. ``damping`` is the part of the old message that is kept (not on
    forests).

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> bool(np.isclose(loopy_sum(graph).log_z, np.log(2 + np.exp(1) + np.exp(3))))
    True
    """
    from palmette._kernels.loopy_sum import loopy_parts

    if not 0 <= damping < 1:
        raise ValueError(f"damping is {damping}, expected 0 <= damping < 1")
    topology = graph.topology
    slots, run = Slots.of(topology), SumRun.of(graph, messages, np.ones(topology.n_factors))
    log_z, change = np.zeros(slots.n_parts), np.full(slots.n_parts, np.inf)
    loopy_parts(slots, run, damping, tol, max_iter, log_z, change)
    converged = bool(np.all(change <= tol))
    exact = converged and is_forest(topology)
    total = float(log_z.sum())
    return Sum(total, total if exact else np.inf, run.mu_unary, run.mu_factor, exact, "bethe", converged)


def loopy_max(graph: FactorGraph, *, max_iter: int = 100) -> Maximum:
    """An assignment by maxima of belief propagation, improved one variable at a time; its bound is usually weak.

    Exact on forests. ``bounded_max`` has the same cost and better bounds; where couplings are strong and mixed the
    assignments of this one may be better.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> loopy_max(graph).value
    3.0
    """
    codes, bound, _ = run_sequential(graph, plain=True, tol=1e-9, max_iter=max_iter, stall=20)
    value = graph.score(codes)
    return Maximum(codes, value, max(bound, value), meets(value, bound), "loopy")
