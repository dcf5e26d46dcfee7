"""Maximum flow with capacities that are doubles, by two search trees that are kept from path to path.

The method of Boykov and Kolmogorov (2004): a tree grows from the source over arcs with residual capacity, another one
towards the sink. Where they meet, flow is pushed along the path; nodes whose arc to their parent is full become
orphans, and look for another parent in their tree before they are given up. On grids most paths are short and most of
the trees survive, so this is faster than levels that are made anew (Dinic).
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

FREE, SOURCE, SINK = 0, 1, 2  # whose tree a node is in
NO_PARENT, TERMINAL = -1, -2


@kernel()
def adjacency(ends, node_ptr, head, reverse):
    """Arcs by their tail: edge e gives the arcs ``place[2 e]`` and ``place[2 e + 1]``, the second the reverse of it.

    Arcs ``node_ptr[v]:node_ptr[v + 1]`` leave v, arc a goes to ``head[a]``. Returns ``place``.
    """
    place = np.empty(2 * len(ends), np.int64)
    node_ptr[:] = 0
    # Counting sort: node_ptr[v + 1] counts, then sums up, then moves while arcs are placed, and is put back.
    for e in range(len(ends)):
        node_ptr[ends[e, 0] + 1] += 1
        node_ptr[ends[e, 1] + 1] += 1
    n = len(node_ptr) - 1
    for v in range(n):
        node_ptr[v + 1] += node_ptr[v]
    for e in range(len(ends)):
        a, b = node_ptr[ends[e, 0]], node_ptr[ends[e, 1]]
        node_ptr[ends[e, 0]] += 1
        node_ptr[ends[e, 1]] += 1
        place[2 * e], place[2 * e + 1] = a, b
        head[a], head[b] = ends[e, 1], ends[e, 0]
        reverse[a], reverse[b] = b, a
    for v in range(n, 0, -1):
        node_ptr[v] = node_ptr[v - 1]
    node_ptr[0] = 0
    return place


@kernel()
def push(head, reverse, capacity, terminal, parent, first, least, orphans):
    """Push what fits through the path of arc ``first``, from the source's tree to the sink's.

    Returns the flow; nodes that lost their parent are written to ``orphans``, their number comes second.
    """
    # Up both trees twice: for the least residual capacity, then to subtract it. ``parent[v]`` is the arc from v to its
    # parent, so that flow runs along its reverse in the source's tree. Full arcs and terminals leave orphans.
    room = capacity[first]
    start, end = head[reverse[first]], head[first]
    v = start
    while parent[v] != TERMINAL:
        room = min(room, capacity[reverse[parent[v]]])
        v = head[parent[v]]
    room = min(room, terminal[v])
    v = end
    while parent[v] != TERMINAL:
        room = min(room, capacity[parent[v]])
        v = head[parent[v]]
    room = min(room, -terminal[v])
    n_orphans = 0
    capacity[first] -= room
    capacity[reverse[first]] += room
    v = start
    while parent[v] != TERMINAL:
        a = parent[v]
        up = head[a]
        capacity[a] += room
        capacity[reverse[a]] -= room
        if capacity[reverse[a]] <= least:
            parent[v] = NO_PARENT
            orphans[n_orphans] = v
            n_orphans += 1
        v = up
    terminal[v] -= room
    if terminal[v] <= least:
        parent[v] = NO_PARENT
        orphans[n_orphans] = v
        n_orphans += 1
    v = end
    while parent[v] != TERMINAL:
        a = parent[v]
        up = head[a]
        capacity[a] -= room
        capacity[reverse[a]] += room
        if capacity[a] <= least:
            parent[v] = NO_PARENT
            orphans[n_orphans] = v
            n_orphans += 1
        v = up
    terminal[v] += room
    if -terminal[v] <= least:
        parent[v] = NO_PARENT
        orphans[n_orphans] = v
        n_orphans += 1
    return room, n_orphans


@kernel()
def max_flow(node_ptr, head, reverse, capacity, terminal, least, tree):
    """Push flow until no path with residual capacity above ``least`` is left; returns the flow.

    ``terminal[v] > 0`` is the capacity of the arc from the source to v, below 0 that of the one to the sink. They and
    ``capacity`` end as residual ones. ``tree[v]`` ends as SINK for the nodes from which residual arcs lead to the sink:
    a minimum cut, and of all minimum ones that with the fewest nodes on the side of the sink.
    """
    n = len(node_ptr) - 1
    parent = np.full(n, NO_PARENT, np.int64)
    length = np.zeros(n, np.int64)  # arcs to the terminal, as of the turn ``seen``
    seen = np.zeros(n, np.int64)
    queue = np.empty(n, np.int64)  # active nodes: their arcs have to be looked at; a ring
    waiting = np.zeros(n, np.bool_)
    orphans = np.empty(n, np.int64)
    begin, count, turn, total = 0, 0, 0, 0.0
    for v in range(n):
        tree[v] = FREE
        if abs(terminal[v]) > least:
            tree[v] = SOURCE if terminal[v] > 0.0 else SINK
            parent[v] = TERMINAL
            queue[count] = v
            waiting[v] = True
            count += 1
    # Invariants: a node in a tree has a path of residual arcs along its parents to (from) its terminal; a node whose
    # neighbours could join its tree, or meet the other one, is waiting. So once none waits, no path is left. ``length``
    # and ``seen`` tell that a node's path was found valid in this turn, and how long it is.
    # A residual capacity of at most ``least`` counts as 0, so that rounding errors are not pushed around. O(n) memory.
    while count > 0:
        v = queue[begin]
        meets = -1
        if tree[v] != FREE:
            for a in range(node_ptr[v], node_ptr[v + 1]):
                if (capacity[a] if tree[v] == SOURCE else capacity[reverse[a]]) <= least:
                    continue
                u = head[a]
                if tree[u] == FREE:
                    tree[u] = tree[v]
                    parent[u] = reverse[a]
                    length[u], seen[u] = length[v] + 1, seen[v]
                    if not waiting[u]:
                        waiting[u] = True
                        queue[(begin + count) % n] = u
                        count += 1
                elif tree[u] != tree[v]:
                    meets = a if tree[v] == SOURCE else reverse[a]
                    break
                elif seen[u] <= seen[v] and length[u] > length[v] + 1:
                    parent[u] = reverse[a]  # a shorter path to the terminal
                    length[u], seen[u] = length[v] + 1, seen[v]
        if meets < 0:  # all arcs of v were looked at
            begin = (begin + 1) % n
            count -= 1
            waiting[v] = False
            continue
        turn += 1
        room, n_orphans = push(head, reverse, capacity, terminal, parent, meets, least, orphans)
        total += room
        while n_orphans > 0:
            n_orphans -= 1
            v = orphans[n_orphans]
            best, shortest = -1, n + 1
            for a in range(node_ptr[v], node_ptr[v + 1]):
                u = head[a]
                if tree[u] != tree[v] or parent[u] == NO_PARENT:
                    continue
                if (capacity[reverse[a]] if tree[v] == SOURCE else capacity[a]) <= least:
                    continue
                # does the path from u end at the terminal, or at an orphan?
                steps, w = 0, u
                while True:
                    if seen[w] == turn:
                        steps += length[w]
                        break
                    if parent[w] == NO_PARENT:
                        steps = n + 1
                        break
                    if parent[w] == TERMINAL:
                        seen[w], length[w] = turn, 0
                        break
                    steps += 1
                    w = head[parent[w]]
                if steps > n:
                    continue
                if steps < shortest:
                    best, shortest = a, steps
                w = u
                while seen[w] != turn:
                    seen[w], length[w] = turn, steps
                    steps -= 1
                    w = head[parent[w]]
            if best >= 0:
                parent[v] = best
                seen[v], length[v] = turn, shortest + 1
                continue
            for a in range(node_ptr[v], node_ptr[v + 1]):
                u = head[a]
                if tree[u] != tree[v]:
                    continue
                if parent[u] >= 0 and head[parent[u]] == v:
                    parent[u] = NO_PARENT
                    orphans[n_orphans] = u
                    n_orphans += 1
                if (capacity[reverse[a]] if tree[v] == SOURCE else capacity[a]) > least and not waiting[u]:
                    waiting[u] = True
                    queue[(begin + count) % n] = u
                    count += 1
            tree[v] = FREE
    return total
