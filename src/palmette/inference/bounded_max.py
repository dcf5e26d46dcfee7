"""An assignment of high score with a proven bound on the best, by sequential reweighted messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.results import Maximum
from palmette.inference.slots import Slots, start_messages

# value and bound closer than this are the same number, computed in two ways
MEETS = 1e-9


class MaxRun(NamedTuple):
    """Potentials, messages, and room for one factor: codes, shares of its variables and a message."""

    unary: np.ndarray
    values: np.ndarray
    start: np.ndarray
    messages: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    out: np.ndarray


def bounded_max(
    graph: FactorGraph,
    *,
    tol: float = MEETS,
    max_iter: int = 1000,
    stall: int = 20,
    messages: np.ndarray | None = None,
) -> Maximum:
    """An assignment and an upper bound on the best score; exact where the two meet.

    Messages go along an order of the variables, forth and back (tree-reweighted, for factors of any number of
    variables); each pass proves a bound, which tends towards that of the linear program ``relax``. Assignments are
    read off along the order and improved one variable at a time.

    Parameters
    ----------
    graph : FactorGraph
    tol : float
        Stop where ``bound - value <= tol * max(1, |bound|)``.
    max_iter, stall : int
        Sweeps at most, and sweeps without gain before giving up.
    messages : ndarray of float64, shape (n_messages(topology),), optional
        Where to start; overwritten with the messages of the best bound. Other than those of ``reweighted_sum``.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> result = bounded_max(graph)
    >>> result.codes, result.value, result.exact
    (array([1, 1], dtype=int32), 3.0, True)
    """
    codes, bound, exact = run_sequential(
        graph, plain=False, tol=tol, max_iter=max_iter, stall=stall, messages=messages
    )
    value = graph.score(codes)
    return Maximum(codes, value, max(bound, value), exact, "bounded")


def run_sequential(
    graph: FactorGraph,
    *,
    plain: bool,
    tol: float,
    max_iter: int,
    stall: int,
    messages: np.ndarray | None = None,
) -> tuple[np.ndarray, float, bool]:
    """Codes, bound and whether they meet; ``plain`` leaves every factor the whole belief (belief propagation)."""
    from palmette._kernels.sequential_max import bounded_max_part

    topology = graph.topology
    slots = Slots.of(topology)
    arity, states = slots.widest
    room = np.zeros(arity, np.int64), np.empty(arity * states), np.empty(states)
    run = MaxRun(*graph.arrays, start_messages(slots, messages), *room)
    part = _parts(topology, slots)
    given = np.ones(topology.n_vars) if plain else part
    codes = np.zeros(topology.n_vars, np.int64)
    bound, exact = 0.0, True
    # Components are independent: their bounds add up, and the whole is exact if value and bound meet in each.
    for p in range(slots.n_parts):
        report = np.empty(3)
        variables = slots.order[slots.part_ptr[p] : slots.part_ptr[p + 1]]
        bounded_max_part(slots, run, variables, given, part, tol, stall, max_iter, codes, report)
        bound += float(report[1])
        exact = exact and bool(meets(report[0], report[1]))
    return codes.astype(np.int32), bound, exact


def meets(value: float, bound: float) -> bool:
    """Whether value and bound are the same number but for rounding."""
    return value == bound or bool(bound - value <= MEETS * max(1.0, abs(bound)))


def _parts(topology: Topology, slots: Slots) -> np.ndarray:
    """How much of its belief a variable leaves to each of its factors, see ``_kernels/sequential_max.py``."""
    after = np.bincount(topology.scope, slots.backward, topology.n_vars)
    before = np.bincount(topology.scope, slots.forward, topology.n_vars)
    return 1.0 / np.maximum(1.0, np.maximum(after, before))
