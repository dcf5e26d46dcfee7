"""Elimination orders of a factor graph, and how wide its cliques become."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ramify.inference.factor_graph import Topology

LOG2_HOPELESS = 44.0
"""No table of 2^44 entries will be worked through: an order that gets there is given up."""

_RESTARTS = ((14.0, 2e7), (20.0, 2e8), (24.0, 1e9))
"""From this log2 of the largest clique on, so many steps may be spent on other orders (1e8 are about half a second)."""


class Elimination(NamedTuple):
    """An elimination order and the neighbours that each variable has when it goes.

    ``rest[ptr[i]:ptr[i + 1]]`` are the neighbours of ``order[i]``. Where not ``complete`` the cliques became hopeless,
    and the sizes are what was reached by then, so less than what is needed.
    """

    order: np.ndarray
    ptr: np.ndarray
    rest: np.ndarray
    complete: bool
    log2_size: float  # of the largest clique
    log2_total: float  # of all cliques together, one a variable

    @property
    def width(self) -> int:
        """Number of variables of the largest clique, less one: the width of the tree decomposition."""
        return int(np.diff(self.ptr).max(initial=0))


def elimination(topology: Topology) -> Elimination:
    """A good elimination order: the best of greedy ones, cached in ``topology.memory``.

    Min-fill, ties by size of the clique; where the cliques are large also min-size, fill weighted by numbers of states,
    and min-fill with ties broken at random, as long as that may pay. The order depends on the topology alone.

    Examples
    --------
    >>> square = Topology.from_scopes([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> elimination(square).width
    2
    """
    if "elimination" not in topology.memory:
        topology.memory["elimination"] = _search(topology)
    return topology.memory["elimination"]


def _search(topology: Topology) -> Elimination:
    from ramify._kernels.junction_order import MIN_FILL, MIN_SIZE, WEIGHTED_FILL, neighbours

    adj_ptr, adj = neighbours(topology.n_vars, topology.scope_ptr, topology.scope)
    cards = topology.cards.astype(float)
    best, work = _greedy(adj_ptr, adj, cards, np.zeros(len(cards)), MIN_FILL)
    spent = 0
    budget = max((steps for size, steps in _RESTARTS if best.log2_size >= size), default=0)
    rules = [MIN_SIZE, WEIGHTED_FILL] if np.ptp(cards) else [MIN_SIZE]
    rng = np.random.default_rng(0)
    while spent + work < budget:
        if rules:
            found, work = _greedy(adj_ptr, adj, cards, np.zeros(len(cards)), rules.pop(0))
        else:
            found, work = _greedy(adj_ptr, adj, cards, rng.random(len(cards)), MIN_FILL)
        spent += work + len(cards)
        if (not found.complete, found.log2_total) < (not best.complete, best.log2_total):
            best = found
    return best


def _greedy(adj_ptr, adj, cards, tie, rule) -> tuple[Elimination, int]:
    from ramify._kernels.junction_order import eliminate

    order, ptr, rest, work = eliminate(adj_ptr, adj, cards, tie, rule, LOG2_HOPELESS * np.log(2.0))
    complete = len(order) == len(cards)
    logs = np.log2(cards)
    ends = np.concatenate([[0.0], np.cumsum(logs[rest])])[ptr]
    sizes = logs[order] + np.diff(ends)
    largest = float(sizes.max(initial=0.0)) if complete else LOG2_HOPELESS
    total = float(np.logaddexp2.reduce(sizes)) if len(sizes) else 0.0
    return Elimination(order, ptr, rest, complete, largest, total if complete else np.inf), int(work)
