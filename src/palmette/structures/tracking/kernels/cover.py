"""Exact covers of highest score: sets of events such that each cell is in exactly one of them.

A sample has ``n_cells`` cells and the events ``first:last``; event e covers ``cell[ptr[e]:ptr[e + 1]]``, at least one,
in ascending order. ``score[e]`` is -inf where an event is forbidden.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

SOLVED, HARD, IMPOSSIBLE = 0, 1, 2


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


@kernel()
def find_parts(slack, ptr, cell, first, last, n_cells, part):
    """Connected parts of the cells under the events with a slack below 0: ``part[c]``, numbered in order of cells.

    Union-find with path halving; the root of a set is its lowest cell. Returns the number of parts.
    """
    for c in range(n_cells):
        part[c] = c
    for e in range(first, last):
        if slack[e - first] < 0.0:
            a = cell[ptr[e]]
            while part[a] != a:
                part[a] = part[part[a]]
                a = part[a]
            for j in range(ptr[e] + 1, ptr[e + 1]):
                b = cell[j]
                while part[b] != b:
                    part[b] = part[part[b]]
                    b = part[b]
                if a < b:
                    part[b] = a
                elif b < a:
                    part[a] = b
                    a = b
    n_parts = 0
    for c in range(n_cells):  # pointers go to lower cells, which have their number already
        above = part[c]
        if above == c:
            part[c] = n_parts
            n_parts += 1
        else:
            part[c] = part[above]
    return n_parts


@kernel()
def cover_part(cells, n, score, slack, ptr, cell, first, starts, by_cell, local, mask, value, choice, chosen):
    """The best cover of ``n`` cells that events connect with nothing else; returns its score, -inf if there is none.

    ``value[S]`` is the best score of events that cover just the set S of cells and, of the others, none below the
    lowest cell l(S) that S lacks: ``value[S | e] = max over S and events e that begin at l(S) and miss S of
    value[S] + score[e]``. Sets grow with their number, so one ascending pass does it. 2^n numbers, O(2^n m / n) time.
    ``by_cell[starts[c]:starts[c + 1]]`` are the events that begin at cell c.
    """
    for k in range(n):
        local[cells[k]] = k
        for at in range(starts[cells[k]], starts[cells[k] + 1]):
            mask[by_cell[at] - first] = 0
    full = (1 << n) - 1
    for own in range(full + 1):
        value[own] = -np.inf
    for k in range(n):
        for at in range(starts[cells[k]], starts[cells[k] + 1]):
            e = by_cell[at]
            bits = 0
            for j in range(ptr[e], ptr[e + 1]):
                bits |= 1 << local[cell[j]]
            mask[e - first] = bits
    value[0] = 0.0
    for own in range(full):
        if value[own] == -np.inf:
            continue
        low = 0
        while (own >> low) & 1:
            low += 1
        for at in range(starts[cells[low]], starts[cells[low] + 1]):
            e = by_cell[at]
            if mask[e - first] & own == 0:
                then = own | mask[e - first]
                if value[own] + score[e] > value[then]:
                    value[then], choice[then] = value[own] + score[e], e
    if value[full] > -np.inf:
        own = full
        while own:
            e = choice[own]
            chosen[e] = 1
            own ^= mask[e - first]
    return value[full]


@kernel()
def cover_sample(score, slack, ptr, cell, first, last, n_cells, part, n_parts, active, limit, chosen, hard):
    """Cover the active cells of one sample, part by part, by events that are not dominated; marks ``chosen[e]``.

    Parts of more than ``limit`` cells are left alone and marked in ``hard``. Returns whether all was solved, a part is
    hard, or some cell cannot be covered.
    """
    starts = np.zeros(n_cells + 1, np.int64)
    for e in range(first, last):  # events of active cells, by their first cell
        if slack[e - first] < 0.0 and all_active(ptr, cell, e, active):
            starts[cell[ptr[e]] + 1] += 1
    for c in range(n_cells):
        starts[c + 1] += starts[c]
    by_cell, fill = np.empty(starts[n_cells], np.int64), starts[:n_cells].copy()
    for e in range(first, last):
        if slack[e - first] < 0.0 and all_active(ptr, cell, e, active):
            c = cell[ptr[e]]
            by_cell[fill[c]] = e
            fill[c] += 1
    begins = np.zeros(n_parts + 1, np.int64)
    for c in range(n_cells):
        begins[part[c] + 1] += active[c]
    for p in range(n_parts):
        begins[p + 1] += begins[p]
    cells, at = np.empty(begins[n_parts], np.int64), begins[:n_parts].copy()
    for c in range(n_cells):
        if active[c]:
            cells[at[part[c]]] = c
            at[part[c]] += 1
    local, mask = np.empty(n_cells, np.int64), np.empty(last - first, np.int64)
    value, choice = np.empty(1 << limit), np.empty(1 << limit, np.int64)
    status = SOLVED
    for p in range(n_parts):
        n = begins[p + 1] - begins[p]
        hard[p] = n > limit
        if n > limit:
            status = HARD if status == SOLVED else status
        elif n:
            own = cells[begins[p] : begins[p + 1]]
            found = cover_part(
                own, n, score, slack, ptr, cell, first, starts, by_cell, local, mask, value, choice, chosen
            )
            if found == -np.inf:
                return IMPOSSIBLE
    return status


@kernel()
def all_active(ptr, cell, e, active):
    """Whether event e covers active cells only."""
    for j in range(ptr[e], ptr[e + 1]):
        if not active[cell[j]]:
            return False
    return True


@kernel()
def cover_batch(score, ptr, cell, offsets, n_cells, limit, chosen, status):
    """The best cover of every sample, where its parts are small; ``status[s]`` says how it went."""
    for s in range(len(offsets) - 1):
        first, last, n = offsets[s], offsets[s + 1], n_cells[s]
        slack = np.empty(last - first)
        drop_dominated(score, ptr, cell, first, last, n, slack)
        part = np.empty(n, np.int64)
        n_parts = find_parts(slack, ptr, cell, first, last, n, part)
        hard = np.zeros(n_parts, np.uint8)
        active = np.ones(n, np.uint8)
        status[s] = cover_sample(
            score, slack, ptr, cell, first, last, n, part, n_parts, active, limit, chosen, hard
        )
