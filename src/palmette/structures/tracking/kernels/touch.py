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

LOOKS = 3  # times SWEEPS: sweeps that lower the prices
FEWEST = 8  # events that the first look has beside the best cover
MORE = 2  # times as many events in the next look


@kernel()
def lost_by_events(score, ptr, cell, first, last, n_cells, best):
    """Slack of all events; events that are not forbidden and what they lose; what the best cover loses; rounding."""
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
    for c in range(n_cells):
        size += abs(price[c])
    for k in range(len(own)):
        largest = max(largest, abs(score[own[k]]))
        lost += loss[k] if best[own[k]] else 0.0
    return slack, own, loss, lost, NEARLY * size + ROUNDING * largest


@kernel()
def least_below(slack, own, loss, lost, bits, first, wanted):
    """How far below the best cover those with an event of each ``wanted`` set are at least; inf if a set has none.

    A cover with event e is below the best by at least its slack, and loses at least what e does.
    """
    least, bit = 0.0, 1
    while bit <= wanted:
        of_set = np.inf
        for k in range(len(own)):
            if bits[own[k] - first] & bit:
                of_set = min(of_set, max(slack[own[k] - first], loss[k] - lost))
        least = max(least, of_set)
        bit *= 2
    return least


@kernel()
def touch_sample(ready, rising, score, ptr, cell, first, last, n_cells, best, bits, wanted, room, chosen):
    """The best cover of one sample with events of all ``wanted`` sets (``bits[e - first]``), given its best cover.

    Let the best cover lose G of the prices. A cover whose score is at most t below the best one loses at most G + t,
    and so has only events of loss at most G + t; it has no event whose slack is more than t, since others on the same
    cells would be better by that. These events are kept for some t, which rises until a cover is found that is at most
    t below the best. They fall into parts, each with its share of the best cover. With one set, all parts but one are
    as in the best cover, and that one has a wanted event. With several sets, all cells are one part. ``ready`` are the
    answers of :func:`lost_by_events`, ``rising`` the losses in order.
    """
    slack, own, loss, lost, _ = ready
    touched = 0
    for e in range(first, last):
        chosen[e] = best[e]
        touched |= bits[e - first] if best[e] else 0
    if touched == wanted:
        return SOLVED
    least = least_below(slack, own, loss, lost, bits, first, wanted)
    if least == np.inf:
        return IMPOSSIBLE
    part, better = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    kept = FEWEST
    while True:
        reach = least + max(rising[kept], 0.0) if kept < len(own) else np.inf
        n, p = touch_within(
            reach, ready, score, ptr, cell, first, last, n_cells, best, bits, wanted, part, better, room
        )
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
    reach, ready, score, ptr, cell, first, last, n_cells, best, bits, wanted, part, better, room
):
    """The same among covers at most ``reach`` below the best: the events ``better`` of one part, and the part.

    Returns how many they are, or ``NOTHING`` or ``TOO_MANY``.
    """
    slack, own, loss, lost, spare = ready
    usable = np.zeros(last - first, np.uint8)
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
    seen, place, found = np.zeros(n_cells, np.uint8), np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
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

    ``bits[e]`` says which sets have event e; ``best`` are the best covers.
    """
    room = make_room(limit)
    for s in range(len(offsets) - 1):
        first, last, n = offsets[s], offsets[s + 1], n_cells[s]
        ready = lost_by_events(score, ptr, cell, first, last, n, best)
        rising = np.sort(ready[2])
        status[s] = touch_sample(
            ready, rising, score, ptr, cell, first, last, n, best, bits[first:last], wanted, room, chosen
        )


@kernel()
def change_batch(score, ptr, cell, offsets, n_cells, best, given, bits, wanted, limit, value, status):
    """``value[e]``: score of the best cover with all ``wanted`` sets, without event e if it is ``given``, else with it.

    A cover without an event of another one has some event that shares a cell with it. So both are covers that touch
    one set more. ``status[e]`` says how it went, ``bits`` are as in :func:`touch_batch`.
    """
    room = make_room(limit)
    chosen = np.empty(len(score), np.uint8)
    for s in range(len(offsets) - 1):
        first, last, n = offsets[s], offsets[s + 1], n_cells[s]
        ready = lost_by_events(score, ptr, cell, first, last, n, best)
        rising, more = np.sort(ready[2]), np.empty(last - first, np.int64)
        taken = np.zeros(n, np.uint8)
        for e in range(first, last):
            more[:] = bits[first:last]
            if given[e]:
                for j in range(ptr[e], ptr[e + 1]):
                    taken[cell[j]] = 1
                for f in range(first, last):
                    for j in range(ptr[f], ptr[f + 1]):
                        if taken[cell[j]] and f != e:
                            more[f - first] |= wanted + 1
                for j in range(ptr[e], ptr[e + 1]):
                    taken[cell[j]] = 0
            else:
                more[e - first] |= wanted + 1
            status[e] = touch_sample(
                ready, rising, score, ptr, cell, first, last, n, best, more, 2 * wanted + 1, room, chosen
            )
            value[e] = 0.0 if status[e] == SOLVED else -np.inf
            for f in range(first, last):
                value[e] += score[f] if status[e] == SOLVED and chosen[f] else 0.0
