"""Prices of cells: bounds on the score of covers, and what every event loses of them.

The score of an event is shared out among its cells, ``score[e] = sum_c share[e, c]``, and the price of a cell is the
largest share that an event has there. Each cell is in one event of a cover, so that its score is ``sum_c price[c] -
sum_e loss[e]`` over its events, where ``loss[e] = sum_{c in e} price[c] - score[e]`` is at least 0. This holds for
dominated events too, since the events that dominate one have the same prices.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

SWEEPS = 5  # between two looks at the bound
NEARLY = 1e-9  # relative: bounds that meet
ROUNDING = 1e-12  # of the largest score: what sums of shares may lose


@kernel()
def equal_shares(score, ptr, first, last):
    """To begin with, the cells of an event have equal shares of its score, by entries ``ptr[first]:ptr[last]``."""
    share = np.empty(ptr[last] - ptr[first])
    for e in range(first, last):
        for j in range(ptr[e], ptr[e + 1]):
            share[j - ptr[first]] = score[e] / (ptr[e + 1] - ptr[e])
    return share


@kernel()
def by_cells(usable, ptr, cell, first, last, n_cells):
    """The usable events at each cell: ``events[starts[c]:starts[c + 1]]``, in their order, and their entries there."""
    starts = np.zeros(n_cells + 1, np.int64)
    for e in range(first, last):
        if usable[e - first]:
            for j in range(ptr[e], ptr[e + 1]):
                starts[cell[j] + 1] += 1
    for c in range(n_cells):
        starts[c + 1] += starts[c]
    events, entries = np.empty(starts[n_cells], np.int64), np.empty(starts[n_cells], np.int64)
    fill = starts[:n_cells].copy()
    for e in range(first, last):
        if usable[e - first]:
            for j in range(ptr[e], ptr[e + 1]):
                at = fill[cell[j]]
                events[at], entries[at] = e, j
                fill[cell[j]] += 1
    return starts, events, entries


@kernel()
def lower_prices(ptr, cell, base, own, starts, entries, share):
    """Sweeps over the events ``own`` that lower the sum of prices.

    With ``lead[e, c] = share[e, c] - max_{f != e} share[f, c]`` each cell of e gets the mean of its leads, which raises
    no sum of maxima; where an event is alone, its lead is 0. The shares at a cell are kept side by side.
    """
    near, where = np.empty(len(entries)), np.empty(len(share), np.int64)
    for at in range(len(entries)):
        near[at], where[entries[at] - base] = share[entries[at] - base], at
    for _ in range(SWEEPS):
        for e in own:
            lo, hi = ptr[e], ptr[e + 1]
            lead = 0.0
            for j in range(lo, hi):
                at, c = where[j - base], cell[j]
                other = -np.inf
                for i in range(starts[c], at):
                    other = max(other, near[i])
                for i in range(at + 1, starts[c + 1]):
                    other = max(other, near[i])
                if other > -np.inf:
                    lead += near[at] - other
                    near[at] = other
            lead /= hi - lo
            for j in range(lo, hi):
                near[where[j - base]] += lead
    for at in range(len(entries)):
        share[entries[at] - base] = near[at]


@kernel()
def highest_shares(starts, entries, share, base, price):
    """``price[c]``, -inf where a cell has no event."""
    for c in range(len(price)):
        price[c] = -np.inf
        for at in range(starts[c], starts[c + 1]):
            price[c] = max(price[c], share[entries[at] - base])


@kernel()
def losses(score, ptr, cell, own, price, loss):
    """``loss[k]`` of the k-th of the events ``own``."""
    for k in range(len(own)):
        e = own[k]
        loss[k] = -score[e]
        for j in range(ptr[e], ptr[e + 1]):
            loss[k] += price[cell[j]]


@kernel()
def drop_hopeless(score, ptr, cell, first, last, n_cells, part, n_parts, wide, share, usable):
    """Drop usable events that no best cover of the ``wide`` cells needs, by bounds from above and from below.

    No cover of a part is better than the sum of its prices, none with event e is better than that without its loss. A
    cover that takes events by rising loss, where they fit, bounds the best from below. Returns by how much the bounds
    are apart in all. Memory is that of the entries.
    """
    starts, _, entries = by_cells(usable, ptr, cell, first, last, n_cells)
    own = of_cells(usable, ptr, cell, first, last, wide)
    lower_prices(ptr, cell, ptr[first], own, starts, entries, share)
    upper, size, lower = np.zeros(n_parts), np.zeros(n_parts), np.full(n_parts, -np.inf)
    largest = 0.0  # sweeps lose digits of the largest scores, whatever the shares are in the end
    for e in own:
        largest = max(largest, abs(score[e]))
    price, loss = np.empty(n_cells), np.empty(len(own))
    highest_shares(starts, entries, share, ptr[first], price)
    for c in range(n_cells):
        if wide[c]:
            upper[part[c]] += price[c]
            size[part[c]] += abs(price[c])
    losses(score, ptr, cell, own, price, loss)
    first_fit(score, ptr, cell, own, loss, part, wide, lower)
    for k in range(len(own)):
        p = part[cell[ptr[own[k]]]]
        if upper[p] - loss[k] < lower[p] - NEARLY * size[p] - ROUNDING * largest:
            usable[own[k] - first] = 0
    apart = 0.0
    for p in range(n_parts):
        if size[p] > 0.0:
            apart += upper[p] - lower[p]
    return apart


@kernel()
def of_cells(usable, ptr, cell, first, last, wide):
    """The usable events whose first cell is ``wide``."""
    n = 0
    for e in range(first, last):
        n += usable[e - first] and wide[cell[ptr[e]]]
    own, n = np.empty(n, np.int64), 0
    for e in range(first, last):
        if usable[e - first] and wide[cell[ptr[e]]]:
            own[n] = e
            n += 1
    return own


@kernel()
def first_fit(score, ptr, cell, own, loss, part, wide, lower):
    """Take events by rising loss where they fit; ``lower[p]`` is raised to their score where that covers part p."""
    value, left = np.zeros(len(lower)), np.zeros(len(lower), np.int64)
    taken = np.empty(len(wide), np.uint8)
    for c in range(len(wide)):
        taken[c] = not wide[c]
        left[part[c]] += wide[c]
    order = np.argsort(loss, kind="mergesort")
    for k in order:
        e = own[k]
        fits = True
        for j in range(ptr[e], ptr[e + 1]):
            fits = fits and not taken[cell[j]]
        if fits:
            value[part[cell[ptr[e]]]] += score[e]
            for j in range(ptr[e], ptr[e + 1]):
                taken[cell[j]] = 1
                left[part[cell[j]]] -= 1
    for p in range(len(lower)):
        if left[p] == 0:
            lower[p] = max(lower[p], value[p])
