"""Elimination orders: which variable goes next, and which neighbours it has by then.

A graph is kept as lists of neighbours in one growing array. Eliminating a variable joins its neighbours pairwise; the
*fill* of a variable is how many edges that would add. Keys are compared as (first, second, tie, variable); by the rule
``GIVEN`` ties alone count.
"""

from __future__ import annotations

import heapq

import numpy as np

from palmette._kernels.jit import kernel

MIN_FILL, MIN_SIZE, WEIGHTED_FILL, GIVEN = 0, 1, 2, 3


@kernel()
def neighbours(n_vars, scope_ptr, scope):
    """Lists of the variables that share a factor, each once: ``adj[adj_ptr[v]:adj_ptr[v + 1]]``."""
    raw_ptr = np.zeros(n_vars + 1, np.int64)
    for f in range(len(scope_ptr) - 1):
        for p in range(scope_ptr[f], scope_ptr[f + 1]):
            raw_ptr[scope[p] + 1] += scope_ptr[f + 1] - scope_ptr[f] - 1
    for v in range(n_vars):
        raw_ptr[v + 1] += raw_ptr[v]
    raw = np.empty(raw_ptr[n_vars], np.int64)
    at = raw_ptr[:n_vars].copy()
    for f in range(len(scope_ptr) - 1):
        for p in range(scope_ptr[f], scope_ptr[f + 1]):
            for q in range(scope_ptr[f], scope_ptr[f + 1]):
                if p != q:
                    raw[at[scope[p]]] = scope[q]
                    at[scope[p]] += 1
    # Duplicates are dropped in place, the lists moving forward. O(sum of squared factor sizes) time and memory.
    adj_ptr = np.zeros(n_vars + 1, np.int64)
    seen = np.full(n_vars, -1, np.int64)
    n = 0
    for v in range(n_vars):
        for p in range(raw_ptr[v], raw_ptr[v + 1]):
            if seen[raw[p]] != v:
                seen[raw[p]] = v
                raw[n] = raw[p]  # never ahead of what is still to be read
                n += 1
        adj_ptr[v + 1] = n
    return adj_ptr, raw[:n].copy()


@kernel()
def _fill(v, start, degree, pool, mark, stamp, weight, weighted):
    """Weight of the edges that eliminating v adds; ``mark`` is scratch and must not hold ``stamp`` yet."""
    n = degree[v]
    for p in range(start[v], start[v] + n):
        mark[pool[p]] = stamp
    total = 0.0
    for p in range(start[v], start[v] + n):
        u = pool[p]
        if weighted:
            # All pairs (u, w) less those that are there; each pair is met twice.
            for q in range(start[v], start[v] + n):
                total += weight[u] * weight[pool[q]]
            total -= weight[u] * weight[u]
            for q in range(start[u], start[u] + degree[u]):
                if mark[pool[q]] == stamp:
                    total -= weight[u] * weight[pool[q]]
        else:
            total += n - 1
            for q in range(start[u], start[u] + degree[u]):
                if mark[pool[q]] == stamp:
                    total -= 1.0
    return 0.5 * total


@kernel()
def _key(rule, fill, size):
    if rule == MIN_SIZE:
        return size, fill
    if rule == GIVEN:
        return 0.0, 0.0
    return fill, size


@kernel()
def eliminate(adj_ptr, adj, cards, tie, rule, widest):
    """Greedy elimination.

    Stops when a variable and its neighbours have more than ``exp(widest)`` joint states. ``cards`` are floats.

    Returns
    -------
    order, ptr, rest : ndarrays of int64
        ``rest[ptr[i]:ptr[i + 1]]`` are the neighbours of ``order[i]`` when it goes. Shorter than the graph if stopped.
    work : int
        Number of steps taken, for budgets that do not depend on a clock.
    """
    n_vars = len(cards)
    log_cards = np.rint(np.log(cards) * 2.0**30) / 2.0**30  # sums of these are exact, so equal sizes are ties
    degree = adj_ptr[1:] - adj_ptr[:n_vars]
    start, room = adj_ptr[:n_vars].copy(), degree.copy()
    used = len(adj)
    pool = np.empty(2 * used + 16, np.int64)
    pool[:used] = adj
    mark = np.full(n_vars, -1, np.int64)
    stamp = 0
    weight = np.ones(n_vars)
    if rule == WEIGHTED_FILL:
        weight[:] = cards
    fill, size = np.zeros(n_vars), np.zeros(n_vars)
    heap = [(0.0, 0.0, 0.0, np.int64(0)) for _ in range(0)]
    gone = np.zeros(n_vars, np.bool_)
    work = 0
    for v in range(n_vars):
        fill[v] = _fill(v, start, degree, pool, mark, stamp, weight, rule == WEIGHTED_FILL)
        stamp += 1
        size[v] = log_cards[v]
        for p in range(start[v], start[v] + degree[v]):
            size[v] += log_cards[pool[p]]
        first, second = _key(rule, fill[v], size[v])
        heap.append((first, second, tie[v], np.int64(v)))
    heapq.heapify(heap)
    order = np.empty(n_vars, np.int64)
    ptr = np.zeros(n_vars + 1, np.int64)
    rest = np.empty(2 * used + 16, np.int64)
    touched = np.full(n_vars, -1, np.int64)
    changed = np.empty(n_vars, np.int64)
    n_done = 0
    # Invariants: pool[start[v]:start[v] + degree[v]] are the neighbours of v that are left (room[v] places; a full list
    # moves to the end with twice the room); fill and size are those of the present graph; the heap has an entry with
    # the present key of every variable that is left, besides stale ones. Ties go by ``tie``, then by number. Per
    # elimination: neighbours are joined pairwise, and common neighbours of a new edge lose it from their fill.
    while n_done < n_vars:
        first, second, _, v = heapq.heappop(heap)
        now = _key(rule, fill[v], size[v])
        if gone[v] or first != now[0] or second != now[1]:
            continue  # an entry of before its key changed
        if size[v] > widest:
            break
        gone[v] = True
        n = degree[v]
        at = ptr[n_done]
        if at + n > len(rest):
            larger = np.empty(2 * (at + n), np.int64)
            larger[:at] = rest[:at]
            rest = larger
        for p in range(n):
            rest[at + p] = pool[start[v] + p]
        order[n_done] = v
        ptr[n_done + 1] = at + n
        n_done += 1
        n_changed = 0
        for p in range(n):
            u = rest[at + p]
            touched[u] = n_done
            changed[n_changed] = u
            n_changed += 1
            for q in range(start[u], start[u] + degree[u]):
                if pool[q] == v:
                    pool[q] = pool[start[u] + degree[u] - 1]
                    break
            degree[u] -= 1
            work += degree[u]
        for p in range(n):
            u = rest[at + p]
            for q in range(start[u], start[u] + degree[u]):
                mark[pool[q]] = stamp
            for q in range(p + 1, n):
                w = rest[at + q]
                if mark[w] == stamp:
                    continue
                # Who neighbours both ends has one edge less to add.
                for r in range(start[w], start[w] + degree[w]):
                    x = pool[r]
                    if mark[x] == stamp:
                        fill[x] -= weight[u] * weight[w]
                        if touched[x] != n_done:
                            touched[x] = n_done
                            changed[n_changed] = x
                            n_changed += 1
                work += degree[w]
                for a, b in ((u, w), (w, u)):
                    if degree[a] == room[a]:
                        room[a] = 2 * room[a] + 4
                        if used + room[a] > len(pool):
                            larger = np.empty(2 * (used + room[a]), np.int64)
                            larger[:used] = pool[:used]
                            pool = larger
                        for r in range(degree[a]):
                            pool[used + r] = pool[start[a] + r]
                        start[a] = used
                        used += room[a]
                    pool[start[a] + degree[a]] = b
                    degree[a] += 1
                mark[w] = stamp
            stamp += 1
        for p in range(n_changed):
            u = changed[p]
            if p < n:  # a neighbour of v: its own list changed
                fill[u] = _fill(u, start, degree, pool, mark, stamp, weight, rule == WEIGHTED_FILL)
                stamp += 1
                size[u] = log_cards[u]
                for q in range(start[u], start[u] + degree[u]):
                    size[u] += log_cards[pool[q]]
                    work += degree[pool[q]]
            first, second = _key(rule, fill[u], size[u])
            if rule != GIVEN:
                heapq.heappush(heap, (first, second, tie[u], np.int64(u)))
    return order[:n_done], ptr[: n_done + 1], rest[: ptr[n_done]], work
