"""Which trees a tree-reweighted sum averages: search orders of the graph, and what they give to factors and
variables.

In a search order every factor hangs on the earliest of its variables, its parent; the others are its children. A
share ``c_f`` of a factor, such that no variable is a child with a total above 1, bounds the entropy from above:
``H <= sum_f c_f H(children | parent) + sum_i (1 - sum of the c_f where i is a child) H(i)``,
since more conditions never raise an entropy. With pairs this is a distribution over spanning trees: each variable
draws one of its earlier neighbours. The mean over orders is as valid, and exact on forests because a search meets
each variable through one factor there.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def search(g, root, mark, stamp, order, at):
    """Breadth first from ``root``: its component is written to ``order[at:]``; returns the end. ``mark`` gets
    ``stamp``."""
    order[at] = root
    mark[root] = stamp
    head, end = at, at + 1
    # ``order`` is queue and result; a variable is marked when it is found, so once. O(slots x arity) of the component.
    while head < end:
        i = order[head]
        head += 1
        for a in range(g.var_ptr[i], g.var_ptr[i + 1]):
            f = g.slot_factor[g.var_slot[a]]
            for s in range(g.scope_ptr[f], g.scope_ptr[f + 1]):
                j = g.scope[s]
                if mark[j] != stamp:
                    mark[j] = stamp
                    order[end] = j
                    end += 1
    return end


@kernel()
def components(g):
    """Variables by connected component, each in search order from its variable of most factors; number of
    components."""
    order, part_ptr = g.order, g.part_ptr
    n = len(order)
    mark = np.full(n, -1, np.int64)
    n_parts, at = 0, 0
    # Two searches per component: the first finds it and its hub, the second orders it from there. O(slots x arity).
    for i in range(n):
        if mark[i] >= 0:
            continue
        end = search(g, i, mark, 2 * i, order, at)
        hub = i
        for a in range(at, end):
            j = order[a]
            if g.var_ptr[j + 1] - g.var_ptr[j] > g.var_ptr[hub + 1] - g.var_ptr[hub]:
                hub = j
        search(g, hub, mark, 2 * i + 1, order, at)
        part_ptr[n_parts] = at
        n_parts += 1
        at = end
    part_ptr[n_parts] = at
    return n_parts


@kernel()
def shares(g, effort, share, own):
    """``share[slot]``: how much of its factor hangs on this variable; ``own[i]``: the entropy of i alone.

    Every variable is a root once where that takes less than ``effort`` steps per component, else some are, evenly.
    """
    order, part_ptr = g.order, g.part_ptr
    n = len(order)
    mark = np.full(n, -1, np.int64)
    position = np.empty(n, np.int64)
    as_child = np.zeros(n, np.int64)
    used = np.zeros(n)
    here = np.empty(n, np.int64)
    share[:] = 0.0
    own[:] = 0.0
    stamp = -1
    for part in range(len(part_ptr) - 1):
        begin, end = part_ptr[part], part_ptr[part + 1]
        size = end - begin
        n_slots = 1
        for a in range(begin, end):
            i = order[a]
            n_slots += g.var_ptr[i + 1] - g.var_ptr[i]
        n_roots = max(1, min(size, effort // n_slots))
        weight = 1.0 / n_roots
        # Per root: as_child[i] counts the factors where i is not the parent. A factor gets the least 1 / as_child of
        # its children, so used[i], the sum over these factors, is at most 1, as the bound needs; own[i] = 1 - used[i].
        # Means over the roots. O(slots x arity) per root, O(n) memory.
        for turn in range(n_roots):
            root = order[begin + turn * size // n_roots]
            stamp -= 1
            last = search(g, root, mark, stamp, here, 0)
            for a in range(last):
                i = here[a]
                position[i] = a
                as_child[i] = 0
                used[i] = 0.0
            for a in range(last):
                i = here[a]
                for b in range(g.var_ptr[i], g.var_ptr[i + 1]):
                    f = g.slot_factor[g.var_slot[b]]
                    for s in range(g.scope_ptr[f], g.scope_ptr[f + 1]):
                        if position[g.scope[s]] < a:
                            as_child[i] += 1
                            break
            for a in range(last):
                i = here[a]
                for b in range(g.var_ptr[i], g.var_ptr[i + 1]):
                    slot = g.var_slot[b]
                    f = g.slot_factor[slot]
                    parent = True
                    least = 1.0
                    for s in range(g.scope_ptr[f], g.scope_ptr[f + 1]):
                        j = g.scope[s]
                        if position[j] < a:
                            parent = False
                            break
                        if j != i:
                            least = min(least, 1.0 / as_child[j])
                    if parent:
                        share[slot] += weight * least
                        for s in range(g.scope_ptr[f], g.scope_ptr[f + 1]):
                            if g.scope[s] != i:
                                used[g.scope[s]] += least
            for a in range(last):
                i = here[a]
                own[i] += weight * max(0.0, 1.0 - used[i])
