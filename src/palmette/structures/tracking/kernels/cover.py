"""Exact covers of highest score: sets of events such that each cell is in exactly one of them.

A sample has ``n_cells`` cells and the events ``first:last``; event e covers ``cell[ptr[e]:ptr[e + 1]]``, at least one,
in ascending order. ``score[e]`` is -inf where an event is forbidden.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

SOLVED, HARD, IMPOSSIBLE = 0, 1, 2
SWEEPS, ROUNDS = 5, 12  # sweeps that lower a bound between two looks at it, and how many looks
NEARLY = 1e-9  # relative: bounds that meet
ROUNDING = 1e-12  # of the largest score: what sums of shares may lose
FASTER = 0.9  # a look must bring bounds closer by this factor, or it is the last one


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
def by_cells(usable, ptr, cell, first, last, n_cells):
    """The entries of usable events at each cell: ``entries[starts[c]:starts[c + 1]]``, in the order of events."""
    starts = np.zeros(n_cells + 1, np.int64)
    for e in range(first, last):
        if usable[e - first]:
            for j in range(ptr[e], ptr[e + 1]):
                starts[cell[j] + 1] += 1
    for c in range(n_cells):
        starts[c + 1] += starts[c]
    entries, fill = np.empty(starts[n_cells], np.int64), starts[:n_cells].copy()
    for e in range(first, last):
        if usable[e - first]:
            for j in range(ptr[e], ptr[e + 1]):
                entries[fill[cell[j]]] = j
                fill[cell[j]] += 1
    return starts, entries


@kernel()
def drop_hopeless(score, ptr, cell, first, last, n_cells, part, n_parts, wide, share, usable):
    """Drop usable events that no best cover of the ``wide`` cells needs, by bounds from above and from below.

    The score of an event is shared out among its cells, ``score[e] = sum_c share[e, c]``. Each cell is explained by one
    event, so that no cover of a part is better than ``upper = sum_c max_e share[e, c]``, none with event e is better
    than ``upper - sum_{c in e} (max_f share[f, c] - share[e, c])``. Sweeps over the events lower the bound: with
    ``lead[e, c] = share[e, c] - max_{f != e} share[f, c]`` each cell of e gets the mean of its leads, which raises no
    sum of maxima. A cover that takes events by rising loss of the bound, where they fit, bounds the best from below.
    Returns by how much the bounds are apart in all. Memory is that of the entries.
    """
    starts, entries = by_cells(usable, ptr, cell, first, last, n_cells)
    base = ptr[first]
    n = 0
    for e in range(first, last):
        n += usable[e - first] and wide[cell[ptr[e]]]
    own, k = np.empty(n, np.int64), 0
    for e in range(first, last):
        if usable[e - first] and wide[cell[ptr[e]]]:
            own[k] = e
            k += 1
    for _ in range(SWEEPS):
        for k in range(n):
            lo, hi = ptr[own[k]], ptr[own[k] + 1]
            lead = 0.0
            for j in range(lo, hi):
                other = best_other(share, base, entries, starts, cell[j], j)
                lead += share[j - base] - other
                share[j - base] = other
            for j in range(lo, hi):
                share[j - base] += lead / (hi - lo)
    upper, size, lower = np.zeros(n_parts), np.zeros(n_parts), np.full(n_parts, -np.inf)
    largest = 0.0  # sweeps lose digits of the largest scores, whatever the shares are in the end
    for k in range(n):
        largest = max(largest, abs(score[own[k]]))
    loss, top = np.zeros(n), np.full(n_cells, -np.inf)
    for c in range(n_cells):
        if wide[c]:
            for at in range(starts[c], starts[c + 1]):
                top[c] = max(top[c], share[entries[at] - base])
            upper[part[c]] += top[c]
            size[part[c]] += abs(top[c])
    for k in range(n):
        for j in range(ptr[own[k]], ptr[own[k] + 1]):
            loss[k] += top[cell[j]] - share[j - base]
    first_fit(score, ptr, cell, own, loss, part, wide, lower)
    for k in range(n):
        p = part[cell[ptr[own[k]]]]
        if upper[p] - loss[k] < lower[p] - NEARLY * size[p] - ROUNDING * largest:
            usable[own[k] - first] = 0
    apart = 0.0
    for p in range(n_parts):
        if size[p] > 0.0:
            apart += upper[p] - lower[p]
    return apart


@kernel()
def best_other(share, base, entries, starts, c, j):
    """The largest share at cell c but that of entry j; the share of j itself where it is alone."""
    best = -np.inf
    for at in range(starts[c], starts[c + 1]):
        if entries[at] != j and share[entries[at] - base] > best:
            best = share[entries[at] - base]
    return best if best > -np.inf else share[j - base]


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


@kernel()
def cover_part(cells, n, score, ptr, cell, first, starts, by_cell, local, mask, value, choice, chosen):
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
def cover_cells(score, slack, ptr, cell, first, last, n_cells, active, limit, usable, part, chosen, hard):
    """Cover the active cells of one sample by events that are not dominated; marks ``chosen[e]``.

    The cells fall into parts, ``part[c]``; where one has more than ``limit`` cells, events that cannot be in a best
    cover are dropped first. Parts that are still larger are left alone and marked in ``hard[p]``; ``usable`` says which
    events they have. Returns whether all was solved, a part is hard, or some cell cannot be covered.
    """
    for e in range(first, last):
        usable[e - first] = slack[e - first] < 0.0
        for j in range(ptr[e], ptr[e + 1]):
            if not active[cell[j]]:
                usable[e - first] = 0
    n_parts = find_parts(usable, ptr, cell, first, last, n_cells, part)
    share = np.empty(0)
    before = np.inf
    for _ in range(ROUNDS):
        sizes = np.zeros(n_parts, np.int64)
        for c in range(n_cells):
            sizes[part[c]] += active[c]
        if n_parts == 0 or sizes.max() <= limit:
            break
        if len(share) == 0:
            share = np.empty(ptr[last] - ptr[first])
            for e in range(first, last):
                for j in range(ptr[e], ptr[e + 1]):
                    share[j - ptr[first]] = score[e] / (ptr[e + 1] - ptr[e])
        wide = np.zeros(n_cells, np.uint8)
        for c in range(n_cells):
            wide[c] = active[c] and sizes[part[c]] > limit
        apart = drop_hopeless(score, ptr, cell, first, last, n_cells, part, n_parts, wide, share, usable)
        n_parts = find_parts(usable, ptr, cell, first, last, n_cells, part)
        if not apart < FASTER * before:
            break
        before = apart
    starts = np.zeros(n_cells + 1, np.int64)  # events by their first cell
    for e in range(first, last):
        starts[cell[ptr[e]] + 1] += usable[e - first]
    for c in range(n_cells):
        starts[c + 1] += starts[c]
    by_cell, fill = np.empty(starts[n_cells], np.int64), starts[:n_cells].copy()
    for e in range(first, last):
        if usable[e - first]:
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
            status = HARD
        elif n:
            own = cells[begins[p] : begins[p + 1]]
            found = cover_part(
                own, n, score, ptr, cell, first, starts, by_cell, local, mask, value, choice, chosen
            )
            if found == -np.inf:
                return IMPOSSIBLE
    return status


@kernel()
def cover_batch(score, ptr, cell, offsets, n_cells, limit, chosen, status, usable, part, hard):
    """The best cover of every sample, where its parts are small; ``status[s]`` says how it went.

    ``usable`` has the events, ``part`` and ``hard`` have the cells of all samples, see :func:`cover_cells`.
    """
    begin = 0
    for s in range(len(offsets) - 1):
        first, last, n = offsets[s], offsets[s + 1], n_cells[s]
        slack, active = np.empty(last - first), np.ones(n, np.uint8)
        drop_dominated(score, ptr, cell, first, last, n, slack)
        own, parts, larger = usable[first:last], part[begin : begin + n], hard[begin : begin + n]
        status[s] = cover_cells(
            score, slack, ptr, cell, first, last, n, active, limit, own, parts, chosen, larger
        )
        begin += n
