"""Events that are in no best cover: those that other events on the same cells dominate.

A sample has ``n_cells`` cells and the events ``first:last``; event e covers ``cell[ptr[e]:ptr[e + 1]]``, at least one,
in ascending order. ``score[e]`` is -inf where an event is forbidden.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def find_pair(second, start, end, wanted):
    """The place of ``wanted`` in ``second[start:end]``, ``end`` if it is not there; there are few."""
    while start < end and second[start] != wanted:
        start += 1
    return start


@kernel()
def drop_dominated(score, ptr, cell, first, last, n_cells, slack):
    """``slack[e - first]``: by how much other events that cover just the cells of e are better, inf if e is forbidden.

    An event with a slack of at least 0 is dominated: some best cover does without it. Compared are, for cells a, b, c:
    ``s(a)`` of the best event on a alone, ``s(a) + s(b)`` with an event on a and b, and with one on a, b, c (or more)
    the sums ``s(a) + s(b) + s(c) + ...`` and ``s(a, b) + s(c) + ...``, in which every pair takes its turn. Of several
    events on the same one or two cells the first of the best is not dominated. Dominating events are smaller, or
    earlier or better on the same cells, so that no two dominate each other.
    """
    single = np.full(n_cells, -np.inf)
    owner = np.full(n_cells, -1)
    starts = np.zeros(n_cells + 1, np.int64)  # events on two cells by the first of these
    for e in range(first, last):
        size, c = ptr[e + 1] - ptr[e], cell[ptr[e]]
        if size == 1 and score[e] > single[c]:
            single[c], owner[c] = score[e], e
        starts[c + 1] += size == 2
    for c in range(n_cells):
        starts[c + 1] += starts[c]
    n_pairs = starts[n_cells]
    second, values, owners = np.empty(n_pairs, np.int64), np.empty(n_pairs), np.empty(n_pairs, np.int64)
    ends = starts[:n_cells].copy()
    for e in range(first, last):
        if ptr[e + 1] - ptr[e] == 2:
            a, b = cell[ptr[e]], cell[ptr[e] + 1]
            at = find_pair(second, starts[a], ends[a], b)
            if at == ends[a]:
                second[at], values[at], owners[at] = b, score[e], e
                ends[a] += 1
            elif score[e] > values[at]:  # one entry per pair of cells: the first of the best events
                values[at], owners[at] = score[e], e
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
            at = find_pair(second, starts[cell[lo]], ends[cell[lo]], cell[lo + 1])
            others = alone if owners[at] == e else max(alone, values[at])
        else:
            others = alone
            for i in range(lo, hi):
                for j in range(i + 1, hi):
                    at = find_pair(second, starts[cell[i]], ends[cell[i]], cell[j])
                    if at == ends[cell[i]]:
                        continue
                    rest = 0.0
                    for l in range(lo, hi):
                        if l != i and l != j:
                            rest += single[cell[l]]
                    others = max(others, values[at] + rest)
        slack[e - first] = others - score[e]
