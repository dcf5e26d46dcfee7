"""Cells of events, and checks of layouts in one pass, since every answer makes them."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

SOUND, FALLING, EMPTY, OUTSIDE, UNSORTED, TWICE = 0, 1, 2, 3, 4, 5


@kernel()
def fault_of(offsets, ptr, cell, n_cells):
    """What is wrong with the events of a batch, and which event it is; ``SOUND`` and -1 if nothing is.

    The caller has checked types, lengths, and that ``offsets`` and ``ptr`` begin with 0 and end with the number of
    events and of entries. An entry is read only where ``offsets`` and ``ptr`` have not fallen before.
    """
    for s in range(len(offsets) - 1):
        if offsets[s + 1] < offsets[s] or offsets[s + 1] > len(ptr) - 1:
            return FALLING, offsets[s]
        for e in range(offsets[s], offsets[s + 1]):
            if ptr[e + 1] < ptr[e] or ptr[e + 1] > len(cell):
                return FALLING, e
            if ptr[e + 1] == ptr[e]:
                return EMPTY, e
            last = -1
            for j in range(ptr[e], ptr[e + 1]):
                if cell[j] < 0 or cell[j] >= n_cells[s]:
                    return OUTSIDE, e
                if cell[j] <= last:
                    return UNSORTED, e
                last = cell[j]
    return SOUND, -1


@kernel()
def fault_of_places(places, n):
    """Whether rows of places are ``OUTSIDE`` of ``0:n``, or have a place ``TWICE``; ``SOUND`` if nothing is wrong."""
    for e in range(len(places)):
        for i in range(places.shape[1]):
            if places[e, i] < 0 or places[e, i] >= n:
                return OUTSIDE
            for j in range(i):
                if places[e, i] == places[e, j]:
                    return TWICE
    return SOUND


@kernel()
def add_cells(step, before, after, span, future, past, cell, begin):
    """Write the cells of the events of a block to ``cell[begin:]``; returns where they end.

    ``future[k]`` and ``past[k]`` are the first cells of frame k. Futures come before pasts; places of a side are sorted
    as they come.
    """
    at = begin
    for e in range(len(step)):
        for places, first in ((before, future[step[e]]), (after, past[step[e] + span])):
            lowest = at
            for i in range(places.shape[1]):
                c, j = first + places[e, i], at
                while j > lowest and cell[j - 1] > c:
                    cell[j] = cell[j - 1]
                    j -= 1
                cell[j] = c
                at += 1
    return at


@kernel()
def decided_events(chosen, ptr, cell, n_before, first, second, future_end, past_end):
    """The chosen events that no later window of frames decides, as nodes of a movie.

    Cells ``:n_before`` are futures of the nodes ``first:``, the others are pasts of the nodes ``second:``. An event is
    decided if it explains the future of a node before ``future_end`` or the past of one before ``past_end``. Returns
    the events, their links, the nodes that they call false (whose future is their past), and the futures and pasts
    behind the ends that they explain.
    """
    n, n_links, n_cells = 0, 0, 0
    for e in range(len(chosen)):
        if chosen[e]:
            n += 1
            n_cells += ptr[e + 1] - ptr[e]
            n_links += (ptr[e + 1] - ptr[e]) ** 2
    events, links = np.empty(n, np.int64), np.empty((n_links, 2), np.int64)
    false, futures, pasts = np.empty(n, np.int64), np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    n, n_links, n_false, n_futures, n_pasts = 0, 0, 0, 0, 0
    for e in range(len(chosen)):
        if not chosen[e]:
            continue
        middle, decided = ptr[e], False
        while middle < ptr[e + 1] and cell[middle] < n_before:
            middle += 1
        for j in range(ptr[e], middle):
            decided = decided or first + cell[j] < future_end
        for j in range(middle, ptr[e + 1]):
            decided = decided or second + cell[j] - n_before < past_end
        if not decided:
            continue
        events[n] = e
        n += 1
        for j in range(ptr[e], middle):
            node = first + cell[j]
            if node >= future_end:
                futures[n_futures] = node
                n_futures += 1
            for i in range(middle, ptr[e + 1]):
                later = second + cell[i] - n_before
                if later == node:
                    false[n_false] = node
                    n_false += 1
                else:
                    links[n_links, 0], links[n_links, 1] = node, later
                    n_links += 1
        for j in range(middle, ptr[e + 1]):
            node = second + cell[j] - n_before
            if node >= past_end:
                pasts[n_pasts] = node
                n_pasts += 1
    return events[:n], links[:n_links], false[:n_false], futures[:n_futures], pasts[:n_pasts]
