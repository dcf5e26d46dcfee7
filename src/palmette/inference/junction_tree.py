"""Exact inference by a junction tree, for graphs of small width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.errors import TooWide
from palmette.inference.elimination import elimination
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.results import Maximum, Sum
from palmette.memory import in_words
from palmette.memory import memory_limit as default_memory_limit

_MAX_RESIDUAL = 64
_MAX_BLOCK, _SMALL_BLOCK, _MAX_MAPS = 1024, 128, 2**23


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Sums and maxima over all assignments of a factor graph, exact, in time exponential in its width.

    Variables are eliminated in the order of :func:`~palmette.inference.elimination.elimination`. A clique C sends to
    its parent, for every state of the variables S they share, ``log sum exp`` (or the maximum) over the others of its
    factors and the messages it got. Downward, the marginals of a clique are those of S times the probabilities of
    the others given S. Only messages are stored, so memory is that of the separators, not of the cliques.

    Parameters
    ----------
    topology : Topology
    tree : palmette._kernels.junction_plan.Tree
    log2_size : float
        Logarithm of the number of joint states of the largest clique.
    log2_entries : float
        The same of the entries of all cliques together, which inference goes through.
    n_bytes : int
        Memory that sums with marginals take.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2, 2], [((0, 1), np.eye(2)), ((1, 2), np.eye(2)), ((2, 0), -np.eye(2))])
    >>> tree = JunctionTree.of(graph.topology)
    >>> tree.best(graph).value, round(tree.log_partition(graph), 6)
    (1.0, 2.835883)
    """

    topology: Topology
    tree: Any
    log2_size: float
    log2_entries: float
    n_bytes: int

    @classmethod
    def of(cls, topology: Topology, memory_limit: float | None = None) -> JunctionTree:
        """The tree of a topology, built once.

        Parameters
        ----------
        topology : Topology
        memory_limit : float, optional
            Bytes that inference may take; :func:`palmette.memory.memory_limit` by default.

        Raises
        ------
        TooWide
            More would be needed. Nothing is allocated before.
        """
        limit = default_memory_limit() if memory_limit is None else memory_limit
        found = topology.memory.get("junction_tree")
        if found is None:
            needed = _bytes_needed(topology)
            if needed > limit:
                raise _too_wide(topology, needed, limit)
            found = topology.memory["junction_tree"] = _build(topology)
        if found.n_bytes > limit:
            raise _too_wide(topology, found.n_bytes, limit)
        return found

    def best(self, graph: FactorGraph) -> Maximum:
        """The assignment of highest score."""
        from palmette._kernels.junction_max import decode, max_up

        message = np.empty(self.tree.message_ptr[-1])
        given = self._given(graph)
        value = max_up(self.tree, *given, message)
        codes = np.zeros(self.topology.n_vars, np.int32)
        decode(self.tree, *given, message, codes)
        value = graph.score(codes) if value > -np.inf else value
        return Maximum(codes, value, value, True, "junction_tree")

    def log_partition(self, graph: FactorGraph) -> float:
        """``log sum_y exp f(y)``, -inf if nothing is possible."""
        return self._sum_up(graph)[0]

    def sum(self, graph: FactorGraph) -> Sum:
        """The log-partition and the marginals of all variables and factors, all zero if nothing is possible."""
        from palmette._kernels.junction_sum import sum_down

        log_z, message = self._sum_up(graph)
        topology = self.topology
        unary = np.zeros(topology.unary_ptr[-1])
        factor = np.zeros(topology.table_ptr[-1])
        if log_z > -np.inf:
            belief = np.zeros(len(message))
            sum_down(self.tree, *self._given(graph), message, belief, topology.table_ptr, unary, factor)
        return Sum(log_z, log_z, unary, factor, True, "junction_tree")

    def max_marginals(self, graph: FactorGraph) -> tuple[np.ndarray, np.ndarray]:
        """``max {f(y): y_i = k}`` for states, ``max {f(y): y_scope = entry}`` for factors, laid out as in ``Sum``."""
        from palmette._kernels.junction_max import max_down, max_up

        message = np.empty(self.tree.message_ptr[-1])
        given = self._given(graph)
        value = max_up(self.tree, *given, message)
        topology = self.topology
        unary = np.full(topology.unary_ptr[-1], -np.inf)
        factor = np.full(topology.table_ptr[-1], -np.inf)
        belief = np.full(len(message), -np.inf)
        max_down(self.tree, *given, message, value, belief, topology.table_ptr, unary, factor)
        return unary, factor

    def sample(self, graph: FactorGraph, uniform: np.ndarray) -> np.ndarray:
        """Independent assignments by their probability.

        Parameters
        ----------
        graph : FactorGraph
        uniform : ndarray, shape (n_draws, n_vars)
            Numbers in [0, 1).

        Returns
        -------
        ndarray of int32, shape (n_draws, n_vars)
        """
        from palmette._kernels.junction_sum import draw

        log_z, message = self._sum_up(graph)
        if log_z == -np.inf:
            raise ValueError("every assignment of the graph is forbidden (-inf): there is nothing to draw")
        codes = np.zeros((len(uniform), self.topology.n_vars), np.int32)
        draw(self.tree, *self._given(graph), message, np.ascontiguousarray(uniform, np.float64), codes)
        return codes

    def _sum_up(self, graph: FactorGraph) -> tuple[float, np.ndarray]:
        from palmette._kernels.junction_sum import sum_up

        message = np.empty(self.tree.message_ptr[-1])
        return sum_up(self.tree, *self._given(graph), message), message

    def _given(self, graph: FactorGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if graph.topology is not self.topology:
            raise ValueError("this tree was built for another topology: use JunctionTree.of(graph.topology)")
        return graph.arrays


def _bytes_needed(topology: Topology) -> float:
    """Bytes of messages and marginals of separators, without building anything; a lower bound if hopeless."""
    from palmette._kernels.junction_plan import cliques_of

    found = elimination(topology)
    if not found.complete:
        return 2.0**found.log2_size * 8
    _, top = cliques_of(found.order, found.ptr, found.rest, topology.cards, _MAX_RESIDUAL)
    ends = np.concatenate([[0.0], np.cumsum(np.log2(topology.cards)[found.rest])])[found.ptr]
    return 16.0 * float(np.sum(np.exp2(np.diff(ends)[top])))


def _build(topology: Topology) -> JunctionTree:
    from palmette._kernels.junction_plan import (
        Tree,
        axes_of,
        blocks_of,
        cliques_of,
        map_sizes,
        maps_of,
        sources_of,
    )

    found, cards = elimination(topology), topology.cards
    clique_of, top = cliques_of(found.order, found.ptr, found.rest, cards, _MAX_RESIDUAL)
    shape = axes_of(found.order, found.ptr, found.rest, cards, clique_of, top)
    axis_ptr, axes, n_shared, parent = shape
    sources = sources_of(
        found.order, topology.scope_ptr, topology.scope, cards, clique_of, parent, axis_ptr, axes, n_shared
    )
    src_ptr, _, _, stride_ptr, strides = sources
    for max_block in (_MAX_BLOCK, _SMALL_BLOCK):
        *blocks, message = blocks_of(axis_ptr, axes, n_shared, cards, max_block)
        n_outer, block, _ = blocks
        map_ptr = map_sizes(axis_ptr, n_outer, block, src_ptr, stride_ptr, strides)
        if map_ptr[-1] <= _MAX_MAPS:
            break
    maps = maps_of(axis_ptr, axes, n_outer, block, cards, src_ptr, stride_ptr, strides, map_ptr)
    message_ptr = np.concatenate([[0], np.cumsum(message)]).astype(np.int64)
    parts = (cards, topology.unary_ptr, *shape, *blocks, message_ptr, *sources, map_ptr, maps)
    tree = Tree(*parts)
    entries = float(np.log2(max(np.dot(message, tree.residual), 1)))
    return JunctionTree(topology, tree, found.log2_size, entries, 16 * int(message_ptr[-1]) + maps.nbytes)


def _too_wide(topology: Topology, needed: float, limit: float) -> TooWide:
    found = elimination(topology)
    least = "" if found.complete else "at least "
    advice = "Allow more memory, or use" if needed <= default_memory_limit() else "Use"
    return TooWide(
        f"exact inference is out of reach: the largest clique has {least}{found.width + 1} variables and "
        f"2^{found.log2_size:.1f} joint states, which takes {least}{in_words(needed)}, more than the limit of "
        f"{in_words(limit)}. {advice} another method: for maxima 'bounded' (a bound), "
        "'integer_program' (exact) or 'graph_cut' (binary, submodular); for sums 'reweighted' (an upper bound) or "
        "'bethe'.",
        found.log2_size,
        needed,
    )
