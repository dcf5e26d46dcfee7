"""Exact covers of highest score: sets of events such that each cell is in exactly one of them.

A sample has ``n_cells`` cells and the events ``first:last``; event e covers ``cell[ptr[e]:ptr[e + 1]]``, at least one,
in ascending order. ``score[e]`` is -inf where an event is forbidden.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.tracking.kernels.dominance import drop_dominated
from palmette.structures.tracking.kernels.prices import (
    NEARLY,
    ROUNDING,
    by_cells,
    drop_hopeless,
    equal_shares,
    first_fit,
    highest_shares,
    losses,
    of_cells,
)
from palmette.structures.tracking.kernels.search import NOTHING, make_room, search_part

SOLVED, HARD, IMPOSSIBLE = 0, 1, 2
ROUNDS = 12  # how often bounds are looked at, at most
SMALL = 8  # cells of a part up to which bounds are not worth their time
FASTER = 0.9  # a look must bring bounds closer by this factor, or it is the last one
FIRST_CUT = 1.0 / 64.0  # of what a part may lose: where a search begins


@kernel()
def find_parts(usable, ptr, cell, first, last, n_cells, part):
    """Connected parts of the cells under the usable events: ``part[c]``, numbered in order of cells.

    Union-find with path halving; the root of a set is its lowest cell. Returns the number of parts.
    """
    for c in range(n_cells):
        part[c] = c
    for e in range(first, last):
        if usable[e - first]:
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
def grouped(group, wanted, n_groups):
    """The numbers k with ``wanted[k]`` by ``group[k]``: ``members[begins[g]:begins[g + 1]]``, ascending."""
    begins = np.zeros(n_groups + 1, np.int64)
    for k in range(len(group)):
        if wanted[k]:
            begins[group[k] + 1] += 1
    for g in range(n_groups):
        begins[g + 1] += begins[g]
    members, fill = np.empty(begins[n_groups], np.int64), begins[:n_groups].copy()
    for k in range(len(group)):
        if wanted[k]:
            members[fill[group[k]]] = k
            fill[group[k]] += 1
    return begins, members


@kernel()
def cover_cells(score, slack, ptr, cell, first, last, n_cells, room, usable, part, chosen, hard):
    """Cover the cells of one sample by events that are not dominated; marks ``chosen[e]``.

    The cells fall into parts, ``part[c]``; where one has more than a few cells, events that cannot be in a best cover
    are dropped first. Parts whose search needs more states than there is ``room`` for are left alone and marked in
    ``hard[p]``; ``usable`` says which events they have. Returns whether all was solved, a part is hard, or some cell
    cannot be covered.
    """
    for e in range(first, last):
        usable[e - first] = slack[e - first] < 0.0
    n_parts = find_parts(usable, ptr, cell, first, last, n_cells, part)
    share = equal_shares(score, ptr, first, last)
    before = np.inf
    for _ in range(ROUNDS):
        sizes = np.zeros(n_parts, np.int64)
        for c in range(n_cells):
            sizes[part[c]] += 1
        if n_parts == 0 or sizes.max() <= SMALL:
            break
        wide = np.zeros(n_cells, np.uint8)
        for c in range(n_cells):
            wide[c] = sizes[part[c]] > SMALL
        apart = drop_hopeless(score, ptr, cell, first, last, n_cells, part, n_parts, wide, share, usable)
        n_parts = find_parts(usable, ptr, cell, first, last, n_cells, part)
        if not apart < FASTER * before:
            break
        before = apart
    everywhere = np.ones(n_cells, np.uint8)
    starts, events, entries = by_cells(usable, ptr, cell, first, last, n_cells)
    own = of_cells(usable, ptr, cell, first, last, everywhere)
    price, loss, lower = np.empty(n_cells), np.empty(len(own)), np.full(n_parts, -np.inf)
    highest_shares(starts, entries, share, ptr[first], price)
    losses(score, ptr, cell, own, price, loss)
    first_fit(score, ptr, cell, own, loss, part, everywhere, lower)
    begins, cells = grouped(part, everywhere, n_parts)
    home = np.empty(len(own), np.int64)
    for k in range(len(own)):
        home[k] = part[cell[ptr[own[k]]]]
    event_begins, members = grouped(home, np.ones(len(own), np.uint8), n_parts)
    seen, place, found = np.zeros(n_cells, np.uint8), np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    bits = np.empty(0, np.int64)
    wanted = len(bits)  # none; a literal 0 would be compiled as another type
    status = SOLVED
    for p in range(n_parts):
        theirs, mine = cells[begins[p] : begins[p + 1]], members[event_begins[p] : event_begins[p + 1]]
        hard[p] = 0
        upper, size, largest, most = 0.0, 0.0, 0.0, 0.0
        for c in theirs:
            upper += price[c]
            size += abs(price[c])
        for k in mine:
            largest = max(largest, abs(score[own[k]]))
            most += max(loss[k], 0.0)
        spare = NEARLY * size + ROUNDING * largest
        most = min(most, upper - lower[p]) + spare
        n = search_part(
            theirs, own[mine], loss[mine], score, ptr, cell, first, starts, events, bits, wanted,
            FIRST_CUT * most + spare, most, seen, place, room, found,
        )  # fmt: skip
        if n == NOTHING:
            return IMPOSSIBLE
        if n < 0:
            status, hard[p] = HARD, 1
        for k in range(n):
            chosen[found[k]] = 1
    return status


@kernel()
def cover_batch(score, ptr, cell, offsets, n_cells, limit, chosen, status, usable, part, hard):
    """The best cover of every sample, where searches have at most ``limit`` states; ``status[s]`` says how it went.

    ``usable`` has the events, ``part`` and ``hard`` have the cells of all samples, see :func:`cover_cells`.
    """
    room = make_room(limit)
    begin = 0
    for s in range(len(offsets) - 1):
        first, last, n = offsets[s], offsets[s + 1], n_cells[s]
        slack = np.empty(last - first)
        drop_dominated(score, ptr, cell, first, last, n, slack)
        own, parts, larger = usable[first:last], part[begin : begin + n], hard[begin : begin + n]
        status[s] = cover_cells(score, slack, ptr, cell, first, last, n, room, own, parts, chosen, larger)
        begin += n
