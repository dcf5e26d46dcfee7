"""Scores of events straight from what is measured of them, and the events that a cover may need."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def add_scores(columns, middle, spread, bent, bends, w, score):
    """``score[e] = w[0] + sum_f w[1 + f] x + sum_k w[h + k] max(0, x - bends[b, k])``, x = (columns[f, e] - m) / s.

    ``bent[f]`` is the row b of ``bends`` of feature f, -1 without hinges; ``h = 1 + n_features + b n_knots``. The order
    of loops is that of memory: one column after the other, all events of it at once.
    """
    n_features, n = columns.shape
    n_knots, x = bends.shape[1], np.empty(n)
    for e in range(n):
        score[e] = w[0]
    for f in range(n_features):
        slope = w[1 + f]
        for e in range(n):
            x[e] = (columns[f, e] - middle[f]) / spread[f]
            score[e] += slope * x[e]
        if bent[f] >= 0:
            for k in range(n_knots):
                slope, knot = w[1 + n_features + bent[f] * n_knots + k], bends[bent[f], k]
                if slope != 0.0:
                    for e in range(n):
                        score[e] += slope * max(x[e] - knot, 0.0)


@kernel()
def needed_events(score, ptr, cell, taken):
    """The events that a best cover of the cells that are not ``taken`` may need, as a sample of its own.

    Left out are events on taken cells, forbidden ones (-inf), and those that events on single cells explain as well:
    ``score[e] <= sum_{c in e} s(c)``, where s(c) is that of the best event on c alone, the first of the best. At the
    end, each taken cell has an event of its own, of score 0. Returns the numbers of the events, without these last
    ones, and ``score``, ``ptr`` and ``cell`` of all.
    """
    n_cells, n_events = len(taken), len(score)
    single, owner = np.full(n_cells, -np.inf), np.full(n_cells, -1)
    for e in range(n_events):
        c = cell[ptr[e]]
        if ptr[e + 1] - ptr[e] == 1 and score[e] > single[c]:
            single[c], owner[c] = score[e], e
    events, scores = np.empty(n_events, np.int64), np.empty(n_events + n_cells)
    begins, cells = np.zeros(n_events + n_cells + 1, np.int64), np.empty(len(cell) + n_cells, np.int64)
    n, at = 0, 0
    for e in range(n_events):
        alone, free = 0.0, score[e] > -np.inf
        for j in range(ptr[e], ptr[e + 1]):
            alone += single[cell[j]]
            free = free and not taken[cell[j]]
        if ptr[e + 1] - ptr[e] == 1:
            free = free and owner[cell[ptr[e]]] == e
        else:
            free = free and score[e] > alone
        if free:
            events[n], scores[n] = e, score[e]
            for j in range(ptr[e], ptr[e + 1]):
                cells[at] = cell[j]
                at += 1
            n += 1
            begins[n] = at
    last = n
    for c in range(n_cells):
        if taken[c]:
            scores[last], cells[at] = 0.0, c
            at, last = at + 1, last + 1
            begins[last] = at
    return events[:n], scores[:last], begins[: last + 1], cells[:at]
