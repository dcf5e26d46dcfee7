"""The best cover of a connected part: a search over sets of cells that events cover from one end to the other.

Cells have places ``0:n``. A *state* is a set of covered cells, described by the first place that it lacks, the places
after that which it has (bits of a mask, at most ``WIDTH``), and the sets of wanted events that it touched. An event
that begins at the first free place leads to a state whose first free place is later, so that states are done in order
of that place, each once, with the best score that leads to it: ``value[S + e] = max over S and e of value[S] +
score[e]``. States lose what their events lose of the prices, and those that lose more than a cut are left out; all
covers that lose less are found. Events are few at a place, and masks that are reached are few where bounds are tight.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

COVERED, PLACE, TOUCHED, NEXT, PARENT, EVENT = 0, 1, 2, 3, 4, 5  # columns of states
VALUE, LOST = 0, 1
WIDTH = 62
NOTHING, TOO_MANY = -1, -2


@kernel()
def make_room(limit):
    """Memory for searches of at most ``limit`` states: numbers and scores of states, and where to find them.

    ``slots`` is a table of hashes; an entry below ``turn[0]`` is of an earlier search.
    """
    size = 2
    while size < 2 * limit:
        size *= 2
    return (
        np.empty((limit, 6), np.int64),
        np.empty((limit, 2)),
        np.zeros(size, np.int64),
        np.ones(1, np.int64),
    )


@kernel()
def order_cells(cells, starts, events, ptr, cell, seen, order):
    """Cells such that those of an event are near to each other: breadth first, from a cell far away from the first.

    ``seen`` is 0 for all cells, and 2 afterwards.
    """
    begin = 0
    for c in cells:
        if seen[c]:
            continue
        root, end = c, begin
        for turn in range(1, 3):
            order[begin], seen[root] = root, turn
            head, end = begin, begin + 1
            while head < end:
                near = order[head]
                head += 1
                for at in range(starts[near], starts[near + 1]):
                    e = events[at]
                    for j in range(ptr[e], ptr[e + 1]):
                        if seen[cell[j]] < turn:
                            order[end], seen[cell[j]] = cell[j], turn
                            end += 1
            root = order[end - 1]
        begin = end


@kernel()
def search_states(n, begins, mask, touch, score, loss, wanted, cut, head, room):
    """The best state that has all places and touches all ``wanted`` sets; ``NOTHING`` or ``TOO_MANY`` if there is none.

    Events ``begins[i]:begins[i + 1]`` begin at place i, by rising loss; ``mask`` has their places from there on.
    """
    states, worth, slots, turn = room
    limit, size, base = len(states), len(slots), turn[0]
    if limit == 0:
        return TOO_MANY
    turn[0] += limit
    head[:] = -1
    states[0, COVERED], states[0, PLACE], states[0, TOUCHED], states[0, NEXT] = 0, 0, 0, -1
    states[0, PARENT], states[0, EVENT] = -1, -1
    worth[0, VALUE], worth[0, LOST] = 0.0, 0.0
    head[0] = 0
    n_states = 1
    for i in range(n):
        s = head[i]
        while s >= 0:
            covered, touched, lost = states[s, COVERED], states[s, TOUCHED], worth[s, LOST]
            for k in range(begins[i], begins[i + 1]):
                if lost + loss[k] > cut:
                    break
                if mask[k] & covered:
                    continue
                rest, place, touching = covered | mask[k], i, touched | touch[k]
                while rest & 1:
                    rest >>= 1
                    place += 1
                slot = (rest ^ (rest >> 13) ^ (rest >> 31) ^ (place * 40503) ^ (touching * 9176)) & (size - 1)
                t = slots[slot] - base
                while t >= 0 and (
                    states[t, COVERED] != rest or states[t, PLACE] != place or states[t, TOUCHED] != touching
                ):
                    slot = (slot + 1) & (size - 1)
                    t = slots[slot] - base
                value = worth[s, VALUE] + score[k]
                if t < 0:
                    if n_states == limit:
                        return TOO_MANY
                    t = n_states
                    n_states += 1
                    slots[slot] = base + t
                    states[t, COVERED], states[t, PLACE], states[t, TOUCHED] = rest, place, touching
                    states[t, NEXT] = head[place]
                    head[place] = t
                elif value <= worth[t, VALUE]:
                    continue
                worth[t, VALUE], worth[t, LOST] = value, lost + loss[k]
                states[t, PARENT], states[t, EVENT] = s, k
            s = states[s, NEXT]
    s = head[n]
    while s >= 0 and states[s, TOUCHED] != wanted:
        s = states[s, NEXT]
    return s


@kernel()
def search_part(
    cells,
    own,
    loss,
    score,
    ptr,
    cell,
    first,
    starts,
    events,
    bits,
    wanted,
    cut,
    most,
    seen,
    place,
    room,
    found,
):
    """The best cover of ``cells`` by the events ``own``, with an event of each ``wanted`` set (bits of ``bits[e]``).

    Only covers that lose at most ``cut`` are looked at; while there is none, the cut is doubled, up to
    ``most``. Returns how many events the cover has, which are ``found``, or ``NOTHING`` or ``TOO_MANY``.
    """
    n, m = len(cells), len(own)
    order = np.empty(n, np.int64)
    order_cells(cells, starts, events, ptr, cell, seen, order)
    for i in range(n):
        place[order[i]] = i
    begin, mask = np.empty(m, np.int64), np.zeros(m, np.int64)
    begins = np.zeros(n + 1, np.int64)
    for k in range(m):
        e = own[k]
        begin[k] = n
        for j in range(ptr[e], ptr[e + 1]):
            begin[k] = min(begin[k], place[cell[j]])
        for j in range(ptr[e], ptr[e + 1]):
            bit = place[cell[j]] - begin[k]
            if bit >= WIDTH:
                return TOO_MANY
            mask[k] |= 1 << bit
        begins[begin[k] + 1] += 1
    for i in range(n):
        begins[i + 1] += begins[i]
    fill, masks, touch = begins[:n].copy(), np.empty(m, np.int64), np.zeros(m, np.int64)
    scores, lost, which = np.empty(m), np.empty(m), np.empty(m, np.int64)
    for k in np.argsort(loss, kind="mergesort"):
        at = fill[begin[k]]
        fill[begin[k]] += 1
        masks[at], scores[at], lost[at], which[at] = mask[k], score[own[k]], loss[k], own[k]
        if wanted:
            touch[at] = bits[own[k] - first]
    head = np.empty(n + 1, np.int64)
    while True:
        s = search_states(n, begins, masks, touch, scores, lost, wanted, cut, head, room)
        if s != NOTHING or not cut < most:
            break
        cut = min(2.0 * cut, most) if cut > 0.0 else most
    if s < 0:
        return s
    states, size = room[0], 0
    while states[s, EVENT] >= 0:
        found[size] = which[states[s, EVENT]]
        size += 1
        s = states[s, PARENT]
    return size
