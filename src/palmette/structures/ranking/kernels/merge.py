"""Rankings of highest score plus loss: documents of one grade stay in score order, so that a ranking is a merge.

Exchanging two documents of equal grade changes no loss, and the score falls unless the one with the higher score stands
first. So the search is over states (how many documents of each grade have been placed), rank by rank. Losses that see
the first ``cut`` ranks only need no more states than that: what is left is sorted by score.

The loss gained by placing a document at rank r (from 0) is, by ``kind``,

====  ===================  ==========================================================
0     gain times discount  ``-gain[grade] discount[r]``
1     average precision    ``-(relevant documents up to here) / (r + 1)`` if relevant
2     discordant pairs     number of documents of higher grade still to be placed
====  ===================  ==========================================================

times the sample's ``factor``. Grades are numbered from 0; in kind 1 they are 0 and 1.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.ranking.kernels.sort import falling_order, sort_rows

GAIN, AVERAGE_PRECISION, DISCORDANT = 0, 1, 2
SORT, MERGE, ASSIGN = 0, 1, 2  # ways to the maximum


@kernel()
def grade_sizes(grade, n_grades):
    """Number of documents of each grade, of one sample."""
    sizes = np.zeros(n_grades, np.int64)
    for d in range(len(grade)):
        sizes[grade[d]] += 1
    return sizes


@kernel()
def count_states(grade, n_grades, offsets, cut, out):
    """Of every sample: size of the table of states, number of grades, and steps that the merge takes."""
    for s in range(len(offsets) - 1):
        n = offsets[s + 1] - offsets[s]
        sizes = grade_sizes(grade[offsets[s] : offsets[s + 1]], n_grades)
        top, table, present = min(cut, n), 1.0, 0
        number = np.zeros(top + 1)  # of states by how many documents are placed
        number[0] = 1.0
        below = np.empty(top + 2)
        # number'[p] = sum_{q <= sizes[g]} number[p - q]: states with p documents placed, by a window of running sums.
        # O(grades x top) per sample; floats, since products of sizes may overflow integers.
        for g in range(n_grades):
            if sizes[g] > 0:
                table *= min(sizes[g], top) + 1
                present += 1
                below[0] = 0.0
                for p in range(top + 1):
                    below[p + 1] = below[p] + number[p]
                for p in range(top + 1):
                    number[p] = below[p + 1] - below[max(p - sizes[g], 0)]
        out[s, 0], out[s, 1] = table, present
        out[s, 2] = present * number.sum()
        if top < n:  # the documents below the cut-off are gone through at every last state
            out[s, 2] += number[top] * n


@kernel()
def merge_rows(kind, score, grade, n_grades, gain, discount, position, factor, cut, ranks):
    """The best merge of one sample."""
    n = len(score)
    cut = min(cut, n)
    sizes = grade_sizes(grade, n_grades)
    n_groups = 0
    for g in range(n_grades):
        if sizes[g] > 0:
            n_groups += 1
    group_of = np.empty(n_grades, np.int64)
    start, size, value_of = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64), np.empty(n_groups)
    at, below = 0, 0
    for g in range(n_grades - 1, -1, -1):  # groups by falling grade
        if sizes[g] > 0:
            group_of[g], start[at], size[at], value_of[at] = at, below, sizes[g], gain[g]
            below += sizes[g]
            at += 1
    order = falling_order(score)
    member, place = np.empty(n, np.int64), np.empty(n, np.int64)
    filled = np.zeros(n_groups, np.int64)
    for i in range(n):
        own = group_of[grade[order[i]]]
        member[start[own] + filled[own]] = order[i]
        place[i] = filled[own]
        filled[own] += 1
    stride, most = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    n_states = 1
    for g in range(n_groups - 1, -1, -1):
        stride[g], most[g] = n_states, min(size[g], cut)
        n_states *= most[g] + 1
    value, back = np.empty(n_states), np.empty(n_states, np.int16)
    placed = np.zeros(n_groups, np.int64)
    best_state, best_value = -1, -np.inf
    rest = np.zeros(n + 1)  # score of the documents from i on, each at its own place of the sorted order
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + score[order[i]] * position[i]
    value[0], total, state = 0.0, 0, 0
    # value[state] = max_g (value[state - e_g] + score[document] position[r] + factor gained(g, r)), r = placed - 1, the
    # document being the last one placed of group g, by falling score. States are counted lexicographically, so that
    # state - e_g comes before. More than ``cut`` are never placed; at ``cut`` the rest follows in score order, O(n) per
    # such state. O(states x groups) time; value and back take 10 bytes per entry of prod_g (min(size, cut) + 1).
    # Ties go to the higher grade (groups by falling grade), then to the first state found.
    while True:
        if total > 0:
            r = total - 1
            top, chosen, higher = -np.inf, -1, 0
            for g in range(n_groups):
                if placed[g] > 0:
                    gained = 0.0
                    if kind == GAIN:
                        gained = -value_of[g] * discount[r]
                    elif kind == AVERAGE_PRECISION:
                        if value_of[g] > 0.0:
                            gained = -float(placed[g]) / (r + 1)
                    else:
                        gained = float(higher)
                    document = member[start[g] + placed[g] - 1]
                    here = value[state - stride[g]] + score[document] * position[r] + factor * gained
                    if here > top:
                        top, chosen = here, g
                higher += size[g] - placed[g]
            value[state], back[state] = top, chosen
        if total == cut:
            whole, seen, r, i = value[state], 0, cut, 0
            while seen < cut:
                own = group_of[grade[order[i]]]
                if place[i] < placed[own]:
                    seen += 1
                else:
                    whole += score[order[i]] * position[r]
                    r += 1
                i += 1
            whole += rest[i]
            if whole > best_value or best_state < 0:
                best_value, best_state = whole, state
        g = n_groups - 1  # count on, the last group fastest, and no further than the cut-off
        while g >= 0 and (placed[g] == most[g] or total == cut):
            total -= placed[g]
            state -= placed[g] * stride[g]
            placed[g] = 0
            g -= 1
        if g < 0:
            break
        placed[g] += 1
        total += 1
        state += stride[g]
    left = best_state
    for g in range(n_groups):
        placed[g] = left // stride[g]
        left -= placed[g] * stride[g]
    r = cut
    for i in range(n):
        if place[i] >= placed[group_of[grade[order[i]]]]:
            ranks[order[i]] = r
            r += 1
    state = best_state
    for r in range(cut - 1, -1, -1):
        g = back[state]
        placed[g] -= 1
        ranks[member[start[g] + placed[g]]] = r
        state -= stride[g]


@kernel()
def augmented_ranks(kind, score, grade, n_grades, gain, discount, position, factor, cut, offsets, way, ranks):
    """The best rankings of the samples whose way is SORT or MERGE; SORT takes ``discount`` for ``position``."""
    # SORT: discount = ratio x position, so score + loss = sum_d position[rank] (score - factor ratio gain) + const,
    # which sorting maximises. O(n log n) per sample; the memory of MERGE is that of ``merge_rows``.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        if way[s] == MERGE:
            own, grades, places = score[lo:hi], grade[lo:hi], ranks[lo:hi]
            merge_rows(kind, own, grades, n_grades, gain, discount, position, factor[s], cut, places)
        elif way[s] == SORT:
            ratio = discount[0] / position[0]
            keys = np.empty(hi - lo)
            for d in range(lo, hi):
                keys[d - lo] = score[d] - factor[s] * ratio * gain[grade[d]]
            sort_rows(keys, score[lo:hi], position, ranks[lo:hi])


@kernel()
def ranking_losses(kind, grade, n_grades, gain, discount, cut, offsets, ranks, ideal, found):
    """What is gained by the ideal ranking and by the given one (kind 2: pairs, and discordant pairs), of every sample.

    Both are added up rank by rank, so that a ranking as good as the ideal one has exactly the same number.
    """
    # The ideal ranking goes through the grades from the highest on: g is that of rank r, ``used`` how many of it are
    # taken. O(n) per sample, O(n grades) for discordant pairs.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        at = np.empty(n, np.int64)
        for d in range(lo, hi):
            at[ranks[d]] = grade[d]
        sizes = grade_sizes(grade[lo:hi], n_grades)
        best, here = 0.0, 0.0
        if kind == DISCORDANT:
            left = sizes.copy()
            for g in range(n_grades):
                for h in range(g + 1, n_grades):
                    best += float(sizes[g]) * float(sizes[h])
            for r in range(n):
                left[at[r]] -= 1
                for h in range(at[r] + 1, n_grades):
                    here += left[h]
        else:
            g, used, hits = n_grades - 1, 0, 0
            for r in range(min(cut, n)):
                while used == sizes[g]:
                    g -= 1
                    used = 0
                used += 1
                if kind == GAIN:
                    best += gain[g] * discount[r]
                    here += gain[at[r]] * discount[r]
                else:
                    if gain[g] > 0.0:
                        best += 1.0
                    if gain[at[r]] > 0.0:
                        hits += 1
                        here += float(hits) / (r + 1)
        ideal[s], found[s] = best, here
