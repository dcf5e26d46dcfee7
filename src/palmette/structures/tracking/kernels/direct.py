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
    n_knots = bends.shape[1]
    for e in range(n):
        score[e] = w[0]
    for f in range(n_features):
        slope, m, s = w[1 + f], middle[f], spread[f]
        for e in range(n):
            score[e] += slope * ((columns[f, e] - m) / s)
        if bent[f] >= 0:
            for k in range(n_knots):
                slope, knot = w[1 + n_features + bent[f] * n_knots + k], bends[bent[f], k]
                if slope != 0.0:
                    for e in range(n):
                        score[e] += slope * max((columns[f, e] - m) / s - knot, 0.0)


@kernel()
def needed_events(score, ptr, cell, taken, kept):
    """Marks the events that a best cover of the cells that are not ``taken`` may need; returns their number.

    Left out are events on taken cells, forbidden ones (-inf), and those that events on single cells explain as well:
    ``score[e] <= sum_{c in e} s(c)``, where s(c) is that of the best event on c alone, the first of the best.
    """
    n_cells = len(taken)
    single, owner = np.full(n_cells, -np.inf), np.full(n_cells, -1)
    for e in range(len(score)):
        c = cell[ptr[e]]
        if ptr[e + 1] - ptr[e] == 1 and score[e] > single[c]:
            single[c], owner[c] = score[e], e
    n = 0
    for e in range(len(score)):
        alone, free = 0.0, score[e] > -np.inf
        for j in range(ptr[e], ptr[e + 1]):
            alone += single[cell[j]]
            free = free and not taken[cell[j]]
        if ptr[e + 1] - ptr[e] == 1:
            kept[e] = free and owner[cell[ptr[e]]] == e
        else:
            kept[e] = free and score[e] > alone
        n += kept[e]
    return n
