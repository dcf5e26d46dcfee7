"""Events that are in no best cover: those that other events on the same cells dominate.

A sample has ``n_cells`` cells and the events ``first:last``; event e covers ``cell[ptr[e]:ptr[e + 1]]``, at least one,
in ascending order. ``score[e]`` is -inf where an event is forbidden.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def best_pair(keys, values, key):
    """The value of ``key`` among the ascending ``keys``, -inf if it is not there. By bisection."""
    lo, hi = 0, len(keys)
    while lo < hi:
        middle = (lo + hi) // 2
        if keys[middle] < key:
            lo = middle + 1
        else:
            hi = middle
    return values[lo] if lo < len(keys) and keys[lo] == key else -np.inf


@kernel()
def drop_dominated(score, ptr, cell, first, last, n_cells, slack):
    """``slack[e - first]``: by how much other events that cover just the cells of e are better, inf if e is forbidden.

    An event with a slack of at least 0 is dominated: some best cover does without it. Compared are, for cells a, b, c:
    ``s(a)`` of the best event on a alone, ``s(a) + s(b)`` with an event on a and b, and with one on a, b, c (or more)
    the sums ``s(a) + s(b) + s(c) + ...`` and ``s(a, b) + s(c) + ...``, in which every pair takes its turn. Of several
    events on the same one or two cells the first of the best is not dominated. Dominating events are smaller, or
    earlier or better on the same cells, so that no two dominate each other. O(m log m) time for m events.
    """
    single = np.full(n_cells, -np.inf)
    owner = np.full(n_cells, -1)
    n_pairs = 0
    for e in range(first, last):
        size = ptr[e + 1] - ptr[e]
        c = cell[ptr[e]]
        if size == 1 and score[e] > single[c]:
            single[c], owner[c] = score[e], e
        n_pairs += size == 2
    keys, values = np.empty(n_pairs, np.int64), np.empty(n_pairs)
    owners = np.empty(n_pairs, np.int64)
    k = 0
    for e in range(first, last):
        if ptr[e + 1] - ptr[e] == 2:
            keys[k] = cell[ptr[e]] * n_cells + cell[ptr[e] + 1]
            values[k], owners[k] = score[e], e
            k += 1
    order = np.argsort(keys, kind="mergesort")  # stable: events on the same cells stay in their order
    keys, values, owners = keys[order], values[order], owners[order]
    n = 0
    for k in range(n_pairs):  # one entry per pair of cells: the first of the best events
        if n and keys[n - 1] == keys[k]:
            if values[k] > values[n - 1]:
                values[n - 1], owners[n - 1] = values[k], owners[k]
        else:
            keys[n], values[n], owners[n] = keys[k], values[k], owners[k]
            n += 1
    keys, values = keys[:n], values[:n]
    for e in range(first, last):
        lo, hi = ptr[e], ptr[e + 1]
        if score[e] == -np.inf:
            slack[e - first] = np.inf
            continue
        alone = 0.0
        for j in range(lo, hi):
            alone += single[cell[j]]
        if hi - lo == 1:
            others = -np.inf if owner[cell[lo]] == e else single[cell[lo]]
        elif hi - lo == 2:
            key = cell[lo] * n_cells + cell[lo + 1]
            at = np.searchsorted(keys, key)
            others = alone if owners[at] == e else max(alone, values[at])
        else:
            others = alone
            for i in range(lo, hi):
                for j in range(i + 1, hi):
                    rest = 0.0
                    for l in range(lo, hi):
                        if l != i and l != j:
                            rest += single[cell[l]]
                    if rest > -np.inf:
                        others = max(others, best_pair(keys, values, cell[i] * n_cells + cell[j]) + rest)
        slack[e - first] = others - score[e]
