"""The best covers that have an event of each of some sets; the second best one has an event that the best lacks."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.tracking.kernels.cover import HARD, IMPOSSIBLE, SOLVED, find_parts, grouped
from palmette.structures.tracking.kernels.dominance import drop_dominated
from palmette.structures.tracking.kernels.prices import (
    NEARLY,
    ROUNDING,
    by_cells,
    equal_shares,
    highest_shares,
    losses,
    lower_prices,
    of_cells,
)
from palmette.structures.tracking.kernels.search import NOTHING, make_room, search_part

LOOKS = 2  # times SWEEPS: sweeps that lower the prices
FEWEST = 8  # events that the first look has beside the best cover
MORE = 3  # times as many events in the next look


@kernel()
def touch_sample(score, ptr, cell, first, last, n_cells, best, bits, wanted, room, chosen):
    """The best cover of one sample with events of all ``wanted`` sets (``bits[e - first]``), given its best cover.

    Let the best cover lose G of the prices. A cover whose score is at most t below the best one loses at most G + t,
    and so has only events of loss at most G + t; it has no event whose slack is more than t, since others on the same
    cells would be better by that. These events are kept for some t, which rises until a cover is found that is at most
    t below the best. They fall into parts, each with its share of the best cover. With one set, all parts but one are
    as in the best cover, and that one has a wanted event. With several sets, all cells are one part.
    """
    touched = 0
    for e in range(first, last):
        if best[e]:
            touched |= bits[e - first]
            chosen[e] = 1
    if touched == wanted:
        return SOLVED
    m = last - first
    slack, usable, everywhere = np.empty(m), np.empty(m, np.uint8), np.ones(n_cells, np.uint8)
    drop_dominated(score, ptr, cell, first, last, n_cells, slack)
    for k in range(m):
        usable[k] = slack[k] < 0.0
    starts, _, entries = by_cells(usable, ptr, cell, first, last, n_cells)
    own = of_cells(usable, ptr, cell, first, last, everywhere)
    share, price = equal_shares(score, ptr, first, last), np.empty(n_cells)
    for _ in range(LOOKS):
        lower_prices(ptr, cell, ptr[first], own, starts, entries, share)
    highest_shares(starts, entries, share, ptr[first], price)
    for k in range(m):
        usable[k] = slack[k] < np.inf
    own = of_cells(usable, ptr, cell, first, last, everywhere)
    loss = np.empty(len(own))
    losses(score, ptr, cell, own, price, loss)
    lost, size, largest = 0.0, 0.0, 0.0
    least = np.full(
        wanted + 1, np.inf
    )  # of events of each set: how far below the best their covers are at least
    for c in range(n_cells):
        size += abs(price[c])
    for k in range(len(own)):
        lost += loss[k] if best[own[k]] else 0.0
    for k in range(len(own)):
        largest = max(largest, abs(score[own[k]]))
        below = max(slack[own[k] - first], loss[k] - lost)
        bit = 1
        while bit <= wanted:
            if bits[own[k] - first] & bit:
                least[bit] = min(least[bit], below)
            bit *= 2
    spare = NEARLY * size + ROUNDING * largest
    floor, bit = 0.0, 1
    while bit <= wanted:
        floor = max(floor, least[bit])
        bit *= 2
    if floor == np.inf:
        return IMPOSSIBLE
    rising = np.sort(loss)
    seen, place, found = np.empty(n_cells, np.uint8), np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    part, better = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    kept = FEWEST
    while True:
        reach = floor + max(rising[min(kept, len(own) - 1)], 0.0) if kept < len(own) else np.inf
        n, p = touch_within(
            reach, lost, spare, score, slack, ptr, cell, first, last, n_cells, best, bits, wanted, own, loss, usable,
            seen, place, part, found, better, room,
        )  # fmt: skip
        if n >= 0:
            for e in range(first, last):
                if chosen[e] and part[cell[ptr[e]]] == p:
                    chosen[e] = 0
            for k in range(n):
                chosen[better[k]] = 1
            return SOLVED
        if n != NOTHING:
            return HARD
        if kept >= len(own):
            return IMPOSSIBLE
        kept *= MORE


@kernel()
def touch_within(
    reach, lost, spare, score, slack, ptr, cell, first, last, n_cells, best, bits, wanted, own, loss, usable, seen,
    place, part, found, better, room,
):  # fmt: skip
    """The same among covers at most ``reach`` below the best: the events ``better`` of one part, and the part.

    Returns how many they are, or ``NOTHING`` or ``TOO_MANY``.
    """
    for k in range(len(own)):
        e = own[k] - first
        usable[e] = best[own[k]] or (loss[k] <= lost + reach + spare and slack[e] <= reach + spare)
    n_parts = find_parts(usable, ptr, cell, first, last, n_cells, part)
    if wanted & (wanted - 1):
        n_parts = 1
        part[:] = 0
    starts, events, _ = by_cells(usable, ptr, cell, first, last, n_cells)
    begins, cells = grouped(part, np.ones(n_cells, np.uint8), n_parts)
    home, kept = np.empty(len(own), np.int64), np.empty(len(own), np.uint8)
    theirs, useful = np.zeros(n_parts), np.zeros(n_parts, np.uint8)
    values = np.zeros(n_parts)
    for k in range(len(own)):
        e = own[k]
        home[k], kept[k] = part[cell[ptr[e]]], usable[e - first]
        if best[e]:
            theirs[home[k]] += loss[k]
            values[home[k]] += score[e]
        if kept[k] and bits[e - first]:
            useful[home[k]] = 1
    event_begins, members = grouped(home, kept, n_parts)
    size, where, least = NOTHING, 0, np.inf
    seen[:] = 0
    for p in range(n_parts):
        if useful[p] == 0:
            continue
        mine = members[event_begins[p] : event_begins[p + 1]]
        cut = theirs[p] + reach + spare
        n = search_part(
            cells[begins[p] : begins[p + 1]], own[mine], loss[mine], score, ptr, cell, first, starts, events, bits,
            wanted, cut, cut, seen, place, room, found,
        )  # fmt: skip
        if n < NOTHING:
            return n, p
        if n >= 0:
            below = values[p]
            for k in range(n):
                below -= score[found[k]]
            if below < least:
                size, where, least = n, p, below
                reach = min(reach, max(below, 0.0))
                better[:n] = found[:n]
    return size, where


@kernel()
def touch_batch(score, ptr, cell, offsets, n_cells, best, bits, wanted, limit, chosen, status):
    """The best cover of every sample with events of all ``wanted`` sets; ``status[s]`` says how it went.

    ``bits[e]`` says which sets have event e; ``status[s]`` is not ``SOLVED`` to begin with where ``best`` is missing.
    """
    room = make_room(limit)
    for s in range(len(offsets) - 1):
        if status[s] == SOLVED:
            first, last = offsets[s], offsets[s + 1]
            status[s] = touch_sample(
                score, ptr, cell, first, last, n_cells[s], best, bits[first:last], wanted, room, chosen
            )
