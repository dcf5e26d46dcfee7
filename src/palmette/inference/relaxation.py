"""The linear program over locally consistent marginals: the relaxation of the best assignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from palmette.inference.bounded_max import bounded_max
from palmette.inference.entropy import Entropy
from palmette.inference.factor_graph import FactorGraph, Topology, entries
from palmette.inference.results import Relaxation
from palmette.inference.reweighted import reweighted_parts
from palmette.inference.roof_dual import roof_dual
from palmette.inference.slots import Slots, start_messages

# Each temperature is this much below the one before, and gets so many sweeps at most.
_COOLING, _SWEEPS = 0.6, 100
# Below this part of the first temperature messages no longer settle, and nothing is gained.
_COLDEST = 0.004


@dataclass(eq=False)
class RelaxationState:
    """Where ``relax`` stopped: messages that prove the bound, messages of the marginals, and their temperature.

    Hand the same object to every call on graphs of one topology: it is read at the start and overwritten at the end.
    """

    proof: np.ndarray | None = None
    smooth: np.ndarray | None = None
    temperature: float = np.inf


def relax(
    graph: FactorGraph,
    *,
    tol: float = 1e-3,
    exact: bool = False,
    max_iter: int = 2000,
    warm: RelaxationState | None = None,
) -> Relaxation:
    """``max <theta, mu>`` over marginals that agree on every variable (the local polytope); never below the best
    score.

    Of graphs of two states and pairs alone it is a minimum cut (``roof_dual``). Of others, with ``exact``, HiGHS solves
    the linear program. Without, messages do: first sequential ones (``bounded_max``), whose assignment is returned if
    it meets their bound; then marginals of ``reweighted_sum`` at falling temperatures, each a feasible point, while the
    messages prove bounds. Either way ``value <= relaxed maximum <= bound``.

    Parameters
    ----------
    graph : FactorGraph
    tol : float
        Converged where ``bound - value <= tol * max(1, |bound|)``.
    exact : bool
    max_iter : int
        Sweeps of messages at most, over all temperatures.
    warm : RelaxationState, optional
        Where to start, and where to leave what the next call can start from. Unused with ``exact``.

    Examples
    --------
    >>> tables = [((i, j), [[0.0, 1.0], [1.0, 0.0]]) for i, j in [(0, 1), (1, 2), (2, 0)]]
    >>> triangle = FactorGraph.from_tables([2, 2, 2], tables)
    >>> round(relax(triangle, exact=True).value, 6), round(relax(triangle).bound, 2)
    (3.0, 3.0)
    """
    cut = roof_dual(graph)
    if cut is not None:
        return cut
    if exact:
        return _linear_program(graph)
    topology = graph.topology
    warm = RelaxationState() if warm is None else warm
    warm.proof = start_messages(Slots.of(topology), warm.proof)
    found = bounded_max(graph, tol=tol, stall=5, max_iter=max_iter, messages=warm.proof)
    value, bound = found.value, found.bound
    point = (*_indicators(topology, found.codes), True)

    def closed() -> bool:
        return value == bound or bound - value <= tol * max(1.0, abs(bound))

    weight = np.repeat(Entropy.of(topology).rho, topology.arity)
    weight = np.repeat(weight, topology.cards[topology.scope])  # of the factor of every message
    first = _first_temperature(graph)
    temperature = min(first, 3.0 * max(warm.temperature, 5.0 * _COLDEST * first))
    warm.smooth = start_messages(Slots.of(topology), warm.smooth)
    sweeps = 0
    # Invariant: value <= relaxed maximum <= bound. ``value`` belongs to the best feasible point met (marginals or an
    # assignment), ``bound`` is the least one that messages prove; that they meet (``closed``) certifies the end.
    # Marginals at temperature T lack about T x entropy, so T falls. ``smooth`` has messages in units of scores.
    while not closed() and np.isfinite(bound) and sweeps < max_iter and temperature > _COLDEST * first:
        scaled = warm.smooth / (temperature * weight)
        run = reweighted_parts(
            graph,
            temperature=temperature,
            tol=0.03 * tol,
            max_iter=min(_SWEEPS, max_iter - sweeps),
            messages=scaled,
        )
        sweeps += int(run.sweeps.max(initial=0))
        warm.smooth = np.where(np.isfinite(scaled), scaled, 0.0) * temperature * weight
        warm.temperature = temperature
        here = graph.dot(run.unary, run.factor) if np.all(np.isfinite(run.lower)) else -np.inf
        if here > value:
            value, point = here, (run.unary, run.factor, False)
        bound = min(bound, float(run.upper.sum()))
        trial = warm.smooth.copy()
        proof = bounded_max(graph, tol=tol, stall=3, max_iter=10, messages=trial)
        if proof.bound < bound:
            bound, warm.proof = proof.bound, trial
        if proof.value > value:
            value, point = proof.value, (*_indicators(topology, proof.codes), True)
        temperature *= _COOLING
    return Relaxation(value, max(bound, value), *point, "messages", closed())


def _first_temperature(graph: FactorGraph) -> float:
    """Half of what a table usually varies by: warm enough for messages to settle within a few sweeps."""
    values = graph.own_values[np.isfinite(graph.own_values)]
    return max(float(values.std()), 1e-6) if len(values) else 1.0


def _indicators(topology: Topology, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vertex of the local polytope that an assignment is."""
    unary, factor = np.zeros(topology.unary_ptr[-1]), np.zeros(topology.table_ptr[-1])
    unary[topology.unary_ptr[:-1] + codes] = 1.0
    if topology.n_factors:
        factor[topology.table_ptr[:-1] + entries(topology, codes)] = 1.0
    return unary, factor


def consistency(topology: Topology) -> tuple[sparse.csr_array, np.ndarray]:
    """``A (unary, factor) = b``: variables sum to 1, and factors sum to their variables, state by state."""
    n_unary, n_table = int(topology.unary_ptr[-1]), int(topology.table_ptr[-1])
    rows = [np.repeat(np.arange(topology.n_vars), topology.cards)]
    columns = [np.arange(n_unary)]
    signs = [np.ones(n_unary)]
    n_rows = topology.n_vars
    for place in range(int(topology.arity.max(initial=0))):
        has = np.flatnonzero(topology.arity > place)
        variable = topology.scope[topology.scope_ptr[has] + place]
        cards = topology.cards[variable]
        first_row = n_rows + np.concatenate([[0], np.cumsum(cards)])
        n_rows = int(first_row[-1])
        # the state of this variable in every entry of the tables
        strides = np.ones(len(has), np.int64)
        for later in range(place + 1, int(topology.arity.max())):
            longer = topology.arity[has] > later
            strides[longer] *= topology.cards[topology.scope[topology.scope_ptr[has[longer]] + later]]
        sizes = topology.table_sizes[has]
        entry = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        state = entry // np.repeat(strides, sizes) % np.repeat(cards, sizes)
        rows.append(np.repeat(first_row[:-1], sizes) + state)
        columns.append(n_unary + np.repeat(topology.table_ptr[has], sizes) + entry)
        signs.append(np.ones(len(entry)))
        within = np.arange(cards.sum()) - np.repeat(np.cumsum(cards) - cards, cards)
        rows.append(np.repeat(first_row[:-1], cards) + within)
        columns.append(np.repeat(topology.unary_ptr[variable], cards) + within)
        signs.append(-np.ones(len(within)))
    matrix = sparse.csr_array(
        (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n_rows, n_unary + n_table),
    )
    right = np.zeros(n_rows)
    right[: topology.n_vars] = 1.0
    return matrix, right


def _linear_program(graph: FactorGraph) -> Relaxation:
    from scipy.optimize import linprog

    topology = graph.topology
    theta = np.concatenate([graph.unary, graph.own_values])
    matrix, right = consistency(topology)
    upper = np.where(np.isfinite(theta), 1.0, 0.0)
    cost = np.where(np.isfinite(theta), -theta, 0.0)
    result = linprog(
        cost, A_eq=matrix, b_eq=right, bounds=np.stack([np.zeros(len(upper)), upper], axis=1), method="highs"
    )
    n_unary = int(topology.unary_ptr[-1])
    if result.status == 2:  # infeasible
        empty = np.zeros(len(theta))
        return Relaxation(-np.inf, -np.inf, empty[:n_unary], empty[n_unary:], False, "highs", True)
    if result.status != 0:
        raise RuntimeError(
            f"HiGHS did not solve the linear program of {topology.n_vars} variables: {result.message}"
        )
    unary, factor = result.x[:n_unary], result.x[n_unary:]
    value = -float(result.fun)
    integral = bool(np.all(np.minimum(unary, 1.0 - unary) < 1e-7))
    return Relaxation(value, value + 1e-7 * max(1.0, abs(value)), unary, factor, integral, "highs", True)
