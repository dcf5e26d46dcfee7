"""Elimination orders of a factor graph, and how wide its cliques become."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from palmette.inference.factor_graph import Topology

LOG2_HOPELESS = 44.0
"""No table of 2^44 entries will be worked through: an order that gets there is given up."""

_SEARCH_FROM = 14.0
"""From 2^14 states of the largest clique on, other orders are tried."""
_STEPS_PER_STATE, _STEPS_PER_TRIAL = 0.5, 20_000
QUICK, THOROUGH = 2e7, 2e9
"""Steps that the search may take: about 0.05 and 5 seconds."""
# Orders of shapes that were searched last outlive their graphs, unless they are very long.
_SHAPES, _MOST_REMEMBERED = 32, 2**20
_RECENT: dict[Any, Elimination] = {}
_LOCK = threading.Lock()


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
    log2_total: float  # of all cliques together, one per variable

    @property
    def width(self) -> int:
        """Number of variables of the largest clique, less one: the width of the tree decomposition."""
        return int(np.diff(self.ptr).max(initial=0))


def elimination(topology: Topology, steps: float = QUICK) -> Elimination:
    """A good elimination order: the best of greedy ones, kept in ``topology.memory`` and remembered for its shape.

    Min-fill, ties by size of the clique; where the cliques are large also the order of numbering, that of levels from
    one end of the graph to the other, min-size, fill weighted by numbers of states, and min-fill with ties broken at
    random, until ``steps`` are taken, fewer where the sums themselves would not take long. The order depends on the
    topology and ``steps`` alone. One that was found with fewer steps is replaced if more might find a better one.

    Examples
    --------
    >>> square = Topology.from_scopes([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> elimination(square).width
    2
    """
    searched = topology.memory.get("elimination_steps", -1.0)
    if searched < steps and (searched < 0 or topology.memory["elimination"].log2_size >= _SEARCH_FROM):
        topology.memory["elimination"] = _remembered(topology, steps)
        topology.memory["elimination_steps"] = steps
    return topology.memory["elimination"]


def _remembered(topology: Topology, steps: float) -> Elimination:
    """The order of a shape that was searched lately, or a new one."""
    key = (topology.key, steps)
    with _LOCK:
        found = _RECENT.pop(key, None)
    if found is None:
        found = _search(topology, steps)
    if len(found.rest) <= _MOST_REMEMBERED:
        with _LOCK:
            _RECENT[key] = found
            while len(_RECENT) > _SHAPES:
                del _RECENT[next(iter(_RECENT))]
    return found


def _search(topology: Topology, steps: float) -> Elimination:
    from palmette._kernels.junction_order import GIVEN, MIN_FILL, MIN_SIZE, WEIGHTED_FILL, neighbours

    adj_ptr, adj = neighbours(topology.n_vars, topology.scope_ptr, topology.scope)
    cards = topology.cards.astype(float)
    no_ties = np.zeros(len(cards))
    best, _ = _greedy(adj_ptr, adj, cards, no_ties, MIN_FILL)
    if best.log2_size < _SEARCH_FROM:
        return best
    trials = [
        (MIN_SIZE, no_ties),
        (GIVEN, np.arange(len(cards), dtype=float)),
        (GIVEN, _levels(adj_ptr, adj)),
    ]
    if np.ptp(cards):
        trials.append((WEIGHTED_FILL, no_ties))
    rng = np.random.default_rng(0)
    spent = 0.0
    # Greedy orders compete by the total size of their cliques; a complete order beats one that was given up. ``spent``
    # counts steps of the kernel, not seconds, so that the order is the same on every machine.
    while trials or spent < min(_STEPS_PER_STATE * 2.0**best.log2_size, steps if best.complete else QUICK):
        rule, tie = trials.pop(0) if trials else (MIN_FILL, rng.random(len(cards)))
        found, work = _greedy(adj_ptr, adj, cards, tie, rule)
        spent += work + _STEPS_PER_TRIAL
        if (not found.complete, found.log2_total) < (not best.complete, best.log2_total):
            best = found
    return best


def _levels(adj_ptr: np.ndarray, adj: np.ndarray) -> np.ndarray:
    """Places in the order of Cuthill and McKee, level by level from one end of the graph: best on long grids."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n_vars = len(adj_ptr) - 1
    matrix = csr_array((np.ones(len(adj)), adj, adj_ptr), shape=(n_vars, n_vars))
    place = np.empty(n_vars)
    place[reverse_cuthill_mckee(matrix, symmetric_mode=True)] = np.arange(n_vars)
    return place


def _greedy(adj_ptr: Any, adj: Any, cards: Any, tie: Any, rule: Any) -> tuple[Elimination, int]:
    from palmette._kernels.junction_order import eliminate

    order, ptr, rest, work = eliminate(adj_ptr, adj, cards, tie, rule, LOG2_HOPELESS * np.log(2.0))
    complete = len(order) == len(cards)
    logs = np.log2(cards)
    ends = np.concatenate([[0.0], np.cumsum(logs[rest])])[ptr]
    sizes = logs[order] + np.diff(ends)
    largest = float(sizes.max(initial=0.0)) if complete else LOG2_HOPELESS
    total = float(np.logaddexp2.reduce(sizes)) if len(sizes) else 0.0
    return Elimination(order, ptr, rest, complete, largest, total if complete else np.inf), int(work)
