"""Graphs without what is decided already: forbidden states, variables with one state left, factors that say nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller graph with the same assignments of finite score, and the way back.

    ``f(y) = constant + graph.score(reduced y)`` for every assignment that is left; all others have score -inf.
    Where not ``feasible`` none is left, and ``graph`` has no variables.

    Parameters
    ----------
    graph : FactorGraph
    constant : float
    feasible : bool
    variables : ndarray of int64, shape (graph.n_vars,)
        The original variable of every one that is left.
    state_of : ndarray of int64, shape (sum of the smaller cards,)
        The original state of every one that is left, by place in ``graph.unary``.
    fixed : ndarray of int32, shape (original n_vars,)
        The only possible state of variables that are gone.
    original : Topology
    """

    graph: FactorGraph
    constant: float
    feasible: bool
    variables: np.ndarray
    state_of: np.ndarray
    fixed: np.ndarray
    original: Topology

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """The assignment of the original graph, int32 (n_vars,)."""
        out = self.fixed.copy()
        out[self.variables] = self.state_of[self.graph.topology.unary_ptr[:-1] + codes]
        return out

    def unary(self, marginals: np.ndarray, gone: float = 0.0, only: float = 1.0) -> np.ndarray:
        """Numbers of states for the original ones: ``gone`` for forbidden states, ``only`` where one was left."""
        out = np.full(self.original.unary_ptr[-1], gone)
        if not self.feasible:
            return out
        out[self.original.unary_ptr[:-1] + self.fixed] = only
        first = np.repeat(self.original.unary_ptr[self.variables], self.graph.topology.cards)
        for i in self.variables:
            out[self.original.unary_ptr[i] + self.fixed[i]] = gone
        out[first + self.state_of] = marginals
        return out


def reduced(graph: FactorGraph) -> Reduction:
    """Remove states that cannot be part of any assignment of finite score, as far as single factors tell.

    A state goes if its unary potential is -inf or if some factor forbids it with all states that the other variables
    have left, to a fixed point. Variables with one state left go with it, so evidence cuts the graph; tables lose the
    axes they do not depend on, and two tables of the same variables become one.

    Examples
    --------
    >>> same = np.where(np.eye(2), 0.0, -np.inf)
    >>> chain = FactorGraph.from_tables([2, 2, 2], [((0, 1), same), ((1, 2), np.eye(2))]).conditioned({0: 1})
    >>> small = reduced(chain)
    >>> small.variables, small.graph.unary, small.codes(np.array([0]))
    (array([2]), array([0., 1.]), array([1, 1, 0], dtype=int32))
    """
    from palmette._kernels.junction_support import support

    topology = graph.topology
    ptr = topology.unary_ptr
    allowed = support(topology.cards, ptr, topology.scope_ptr, topology.scope, *graph.arrays)
    states = [np.flatnonzero(allowed[ptr[i] : ptr[i + 1]]) for i in range(topology.n_vars)]
    fixed = np.array([s[0] if len(s) else 0 for s in states], np.int32)
    if any(len(s) == 0 for s in states):
        nothing = FactorGraph.from_tables([], [])
        none = np.empty(0, np.int64)
        return Reduction(nothing, -np.inf, False, none, none, fixed, topology)
    left = np.array([len(s) > 1 for s in states], bool)
    variables = np.flatnonzero(left)
    number = np.cumsum(left) - 1
    constant = float(graph.unary[ptr[:-1] + fixed][~left].sum())
    unary = [graph.unary[ptr[i] + states[i]] for i in variables]
    wide: dict[tuple[int, ...], np.ndarray] = {}
    # Invariant: constant + unary + tables in ``wide`` = score of every assignment of the states that are left.
    for f in range(topology.n_factors):
        scope = topology.scope_of(f)
        table = graph.table(f)[np.ix_(*(states[i] for i in scope))]
        keep = [i for i in scope if left[i]]
        table = table.reshape([len(states[i]) for i in keep])
        for axis in range(len(keep) - 1, -1, -1):
            first = table.take([0], axis)
            if np.array_equal(np.broadcast_to(first, table.shape), table):
                table = first.reshape([n for a, n in enumerate(table.shape) if a != axis])
                del keep[axis]
        if len(keep) == 0:
            constant += float(table)
        elif len(keep) == 1:
            unary[number[keep[0]]] = unary[number[keep[0]]] + table
        else:
            order = np.argsort(keep)
            key = tuple(int(number[keep[a]]) for a in order)
            table = table.transpose(order)
            wide[key] = wide[key] + table if key in wide else table
    cards = [len(states[i]) for i in variables]
    tables = [((i,), u) for i, u in enumerate(unary)] + list(wide.items())
    state_of = np.concatenate([np.empty(0, np.int64), *(states[i] for i in variables)])
    smaller = FactorGraph.from_tables(cards, tables)
    return Reduction(smaller, constant, True, variables, state_of, fixed, topology)
