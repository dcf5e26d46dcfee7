"""Exact sums of many graphs of one shape at once, by their junction tree, eight graphs in the lanes of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.results import Sum

_MAX_BLOCK = 256  # entries, of eight numbers each


class LaneTree(NamedTuple):
    """A junction tree as ``palmette._kernels.junction_lanes`` reads it: cliques, and the potentials of each."""

    tree: Any
    parts: Any

    @classmethod
    def of(cls, tree: JunctionTree) -> LaneTree:
        """Computed once for each topology."""
        memory = tree.topology.memory
        if "lane_tree" not in memory:
            memory["lane_tree"] = cls._build(tree.tree)
        return memory["lane_tree"]

    @classmethod
    def _build(cls, tree: Any) -> LaneTree:
        from palmette._kernels.junction_lanes import local_axes, part_sources, whole_sources
        from palmette._kernels.junction_plan import FACTOR, blocks_of

        axis_ptr, places = local_axes(tree)
        axes, sizes = tree.axes[places], _local_sizes(tree, axis_ptr, places)
        none = np.zeros(len(sizes), np.int64)
        n_outer, block, *_ = blocks_of(tree.axis_ptr, tree.axes, tree.n_shared, tree.cards, _MAX_BLOCK)
        parts = tree._replace(
            axis_ptr=axis_ptr, axes=axes, n_shared=none, n_outer=none, block=sizes, residual=sizes,
            message_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        )  # fmt: skip
        whole = tree._replace(n_outer=n_outer, block=block)
        return cls(
            _with_sources(whole, whole_sources(tree, axis_ptr, places, FACTOR)),
            _with_sources(parts, part_sources(tree, axis_ptr, places)),
        )


def _local_sizes(tree: Any, axis_ptr: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Entries of the local table of each clique."""
    ends = np.concatenate([[0], np.cumsum(np.log2(tree.cards)[tree.axes[places]])])[axis_ptr]
    return np.rint(np.exp2(np.diff(ends))).astype(np.int64)


def _with_sources(tree: Any, sources: Any) -> Any:
    from palmette._kernels.junction_plan import map_sizes, maps_of

    src_ptr, kind, number, stride_ptr, strides = sources
    map_ptr = map_sizes(tree.axis_ptr, tree.n_outer, tree.block, src_ptr, stride_ptr, strides)
    maps = maps_of(
        tree.axis_ptr, tree.axes, tree.n_outer, tree.block, tree.cards, src_ptr, stride_ptr, strides, map_ptr
    )
    return tree._replace(
        src_ptr=src_ptr, kind=kind, number=number, stride_ptr=stride_ptr, strides=strides, map_ptr=map_ptr, maps=maps,
    )  # fmt: skip


class Room(NamedTuple):
    """Numbers of eight graphs: local tables, messages, what these are multiplied by, and marginals of both (of the
    messages to one clique at a time)."""

    local: np.ndarray
    message: np.ndarray
    scale: np.ndarray
    belief: np.ndarray
    local_marginal: np.ndarray

    @classmethod
    def of(cls, plan: LaneTree) -> Room:
        """Not filled in."""
        from palmette._kernels.constants import LANES

        return cls(*(np.empty(LANES * n) for n in cls.sizes(plan.tree, int(plan.parts.message_ptr[-1]))))

    @staticmethod
    def sizes(tree: Any, n_local: int) -> tuple[int, ...]:
        """Numbers of each array for one graph."""
        has = tree.parent >= 0
        heard = np.bincount(tree.parent[has], np.diff(tree.message_ptr)[has]).max(initial=0)
        return n_local, int(tree.message_ptr[-1]), len(tree.block), int(heard), n_local


def room_needed(tree: JunctionTree) -> int:
    """Bytes that sums of eight graphs take: :class:`Room`, and where potentials stand in the local tables."""
    memory = tree.topology.memory
    if "lane_room" not in memory:
        memory["lane_room"] = _room_needed(tree.tree)
    return memory["lane_room"]


def _room_needed(tree: Any) -> int:
    from palmette._kernels.constants import LANES
    from palmette._kernels.junction_lanes import local_axes
    from palmette._kernels.junction_plan import MESSAGE

    local = _local_sizes(tree, *local_axes(tree))
    n_potentials = np.add.reduceat(tree.kind != MESSAGE, tree.src_ptr[:-1], dtype=np.int64)
    return 8 * LANES * sum(Room.sizes(tree, int(local.sum()))) + 4 * int(n_potentials @ local)


def exact_sums(tree: JunctionTree, graphs: Sequence[FactorGraph]) -> list[Sum | None]:
    """``tree.sum(graph)`` of every graph, which have the shape of the tree: eight at once.

    None for a graph whose potentials are infinite, or so large that probabilities would underflow. What a graph gets
    does not depend on the others.

    Examples
    --------
    >>> tables = [((0, 1), np.eye(2)), ((1, 2), np.eye(2)), ((2, 0), -np.eye(2))]
    >>> graph = FactorGraph.from_tables([2, 2, 2], tables)
    >>> tree = JunctionTree.of(graph.topology)
    >>> [round(found.log_z, 6) for found in exact_sums(tree, [graph])], round(tree.log_partition(graph), 6)
    ([2.835883], 2.835883)
    """
    from palmette._kernels.constants import LANES

    out: list[Sum | None] = [None] * len(graphs)
    finite = [k for k, graph in enumerate(graphs) if _finite(graph)]
    if finite:
        plan = LaneTree.of(tree)
        room = Room.of(plan)
        for first in range(0, len(finite), LANES):
            own = finite[first : first + LANES]
            for k, found in zip(own, _eight(tree.topology, plan, room, [graphs[k] for k in own])):
                out[k] = found
    return out


def _eight(topology: Topology, plan: LaneTree, room: Room, graphs: list[FactorGraph]) -> list[Sum | None]:
    from palmette._kernels.constants import LANES
    from palmette._kernels.junction_lanes import SMALLEST, sum_lanes

    n_unary, n_values = int(topology.unary_ptr[-1]), int(topology.table_ptr[-1])
    unary, values = np.zeros((n_unary, LANES)), np.zeros((n_values, LANES))
    for lane, graph in enumerate(graphs):
        unary[:, lane], values[:, lane] = graph.unary, graph.own_values
    log_z, least = np.empty(LANES), np.empty(LANES)
    marginals = np.empty_like(unary), np.empty_like(values)
    flat = (table.reshape(-1) for table in marginals)
    sum_lanes(*plan, topology.table_ptr, unary.reshape(-1), values.reshape(-1), room, log_z, least, *flat)
    good = (least >= SMALLEST) & np.isfinite(log_z)
    by_lane = zip(good, log_z.tolist(), *(np.ascontiguousarray(table.T) for table in marginals), graphs)
    return [
        Sum(total, total, own, factor, True, "junction_tree") if served else None
        for served, total, own, factor, _ in by_lane
    ]


def _finite(graph: FactorGraph) -> bool:
    return bool(np.isfinite(graph.unary).all() and np.isfinite(graph.values).all())
