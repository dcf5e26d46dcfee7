"""Maximum flow with capacities that are doubles, by shortest augmenting levels (Dinic)."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def max_flow(node_ptr, arcs, head, capacity, source, sink, least):
    """Push flow until no path with residual capacity above ``least`` is left; returns the flow.

    Arc a goes to ``head[a]`` and ``a ^ 1`` is its reverse; ``arcs[node_ptr[v]:node_ptr[v + 1]]`` leave v.
    ``capacity`` ends as the residual one.
    """
    n = len(node_ptr) - 1
    level = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    at = np.empty(n, np.int64)
    path = np.empty(n + 1, np.int64)
    total = 0.0
    # A phase: levels by breadth-first search from the source over residual arcs, then a blocking flow by depth-first
    # search along arcs that go up one level. at[v] never goes back within a phase: arcs before it lead nowhere. The
    # level of the sink rises with each phase, so there are at most n: O(n^2 arcs) in all, O(n) memory.
    # Residual capacities of at most ``least`` count as 0, so that rounding errors are not pushed around.
    while True:
        level[:] = -1
        level[source] = 0
        queue[0] = source
        begin, end = 0, 1
        while begin < end and level[sink] < 0:
            v = queue[begin]
            begin += 1
            for k in range(node_ptr[v], node_ptr[v + 1]):
                a = arcs[k]
                if capacity[a] > least and level[head[a]] < 0:
                    level[head[a]] = level[v] + 1
                    queue[end] = head[a]
                    end += 1
        if level[sink] < 0:
            return total
        at[:] = node_ptr[: len(at)]
        depth = 0
        v = source
        while True:
            if v == sink:
                room = np.inf
                for d in range(depth):
                    room = min(room, capacity[path[d]])
                total += room
                back = depth
                for d in range(depth - 1, -1, -1):
                    capacity[path[d]] -= room
                    capacity[path[d] ^ 1] += room
                    if capacity[path[d]] <= least:
                        back = d
                # go on from the first arc that is full
                v = head[path[back] ^ 1]
                depth = back
                continue
            moved = False
            while at[v] < node_ptr[v + 1]:
                a = arcs[at[v]]
                if capacity[a] > least and level[head[a]] == level[v] + 1:
                    path[depth] = a
                    depth += 1
                    v = head[a]
                    moved = True
                    break
                at[v] += 1
            if not moved:
                if depth == 0:
                    break
                depth -= 1
                v = head[path[depth] ^ 1]
                at[v] += 1


@kernel()
def reaches_sink(node_ptr, arcs, head, capacity, sink, least, side):
    """``side[v] = 1`` where residual arcs lead from v to the sink."""
    queue = np.empty(len(side), np.int64)
    side[:] = 0
    side[sink] = 1
    queue[0] = sink
    begin, end = 0, 1
    # Backward breadth-first search from the sink over residual arcs; after ``max_flow`` the sides are a minimum cut.
    while begin < end:
        v = queue[begin]
        begin += 1
        for k in range(node_ptr[v], node_ptr[v + 1]):
            a = arcs[k] ^ 1
            u = head[arcs[k]]
            if capacity[a] > least and side[u] == 0:
                side[u] = 1
                queue[end] = u
                end += 1
