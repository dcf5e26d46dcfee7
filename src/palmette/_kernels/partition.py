"""Random partition of graphs into connected pieces of given sizes."""

from __future__ import annotations

from palmette._kernels.jit import kernel


@kernel()
def _breadth_first(indptr, neighbour, start, mark, stamp, order):
    """Nodes of the component of ``start`` in breadth-first order; ``mark`` becomes ``stamp`` on them. Their number."""
    order[0] = start
    mark[start] = stamp
    n_found = 1
    head = 0
    # ``order`` is queue and result: nodes before ``head`` are done. A node is marked when it is found. O(edges).
    while head < n_found:
        node = order[head]
        head += 1
        for k in range(indptr[node], indptr[node + 1]):
            other = neighbour[k]
            if mark[other] != stamp:
                mark[other] = stamp
                order[n_found] = other
                n_found += 1
    return n_found


@kernel()
def grow_pieces(
    indptr, neighbour, lowest, first, target, spare, priority, mark, order, free, frontier, ends, piece
):
    """Cut every component of a graph into connected pieces; ``piece[v]`` is the number of node v's piece.

    Component c, whose lowest node is ``lowest[c]``, has the target sizes ``target[first[c]:first[c + 1]]`` and, where
    those run out, ``spare``; a piece that is walled in before it has its size leaves what it lacks to the next,
    which at most doubles. A piece starts at an end, a node with at most one free neighbour, the latest to become
    one; where there is none, at the first free node in breadth-first order from a node farthest from another. It takes
    the adjoining node with the fewest free neighbours, which would otherwise be left alone, until it has its size or
    no node is left; ``priority`` in [0, 1) breaks ties.

    ``piece`` is -1 everywhere, ``mark`` too; ``free[v]`` is the degree of v; ``order`` and ``frontier`` (one entry per
    node) and ``ends`` (three per node) are scratch.
    """
    n_pieces = 0
    stamp = 0
    for c in range(len(lowest)):
        n_nodes = _breadth_first(indptr, neighbour, lowest[c], mark, stamp, order)
        far = order[n_nodes - 1]
        _breadth_first(indptr, neighbour, far, mark, stamp + 1, order)
        start = min(far, order[n_nodes - 1])
        _breadth_first(indptr, neighbour, start, mark, stamp + 2, order)
        stamp += 3
        n_ends = 0
        for position in range(n_nodes - 1, -1, -1):
            if free[order[position]] <= 1:
                ends[n_ends] = order[position]
                n_ends += 1
        turn = first[c]
        position = 0
        wanted = 0
        n_left = n_nodes
        # Invariants: free[v] counts the neighbours of v without a piece; ``ends`` is a stack of nodes with at most one
        # (nodes that have got a piece are popped); ``frontier`` has the free nodes that adjoin the growing piece, so
        # that pieces are connected. ``wanted`` carries over at most one size. O(edges + nodes x frontier).
        while n_left > 0:
            while n_ends > 0 and piece[ends[n_ends - 1]] >= 0:
                n_ends -= 1
            if n_ends > 0:
                seed = ends[n_ends - 1]
            else:
                while piece[order[position]] >= 0:
                    position += 1
                seed = order[position]
            size = spare[n_pieces] if turn >= first[c + 1] else target[turn]
            wanted = size + min(wanted, size)
            turn += 1
            frontier[0] = seed
            mark[seed] = stamp
            n_frontier = 1
            while wanted > 0 and n_frontier > 0:
                chosen = 0
                for k in range(1, n_frontier):
                    node, best = frontier[k], frontier[chosen]
                    if free[node] + priority[node] < free[best] + priority[best]:
                        chosen = k
                node = frontier[chosen]
                n_frontier -= 1
                frontier[chosen] = frontier[n_frontier]
                piece[node] = n_pieces
                wanted -= 1
                n_left -= 1
                for k in range(indptr[node], indptr[node + 1]):
                    other = neighbour[k]
                    free[other] -= 1
                    if piece[other] >= 0:
                        continue
                    if free[other] <= 1:
                        ends[n_ends] = other
                        n_ends += 1
                    if mark[other] != stamp:
                        mark[other] = stamp
                        frontier[n_frontier] = other
                        n_frontier += 1
            n_pieces += 1
            stamp += 1
