"""Given alignments: what is wrong with their codes, their scores and their counts; O(n + m) each.

Codes of a position: 0 against a short gap, ``j + 1`` matched with position j of the other sequence, 1 + the length of
both sequences against a long gap. A path is read from the codes: positions of the first sequence against a gap come
before those of the second, and a match when both sequences have one.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

FINE, NO_CODE, NOT_MUTUAL, CROSSING, MIXED = 0, 1, 2, 3, 4


@kernel()
def gap_kind(code, length):
    """0 or 1 for a position of a pair of so many positions that is against a gap, -1 for a matched one."""
    return 0 if code == 0 else (1 if code == length + 1 else -1)


@kernel()
def first_flaw(offsets, splits, kinds, codes):
    """Kind, sample and position of the first thing that makes codes no alignment; FINE, -1, -1."""
    for s in range(len(splits)):
        lo, n = offsets[s], splits[s]
        m = offsets[s + 1] - lo - n
        own = codes[lo : lo + n + m]
        for t in range(n + m):
            other = m if t < n else n
            if own[t] < 0 or (own[t] > other and (kinds == 1 or own[t] != n + m + 1)):
                return NO_CODE, s, t
        for t in range(n + m):
            first = t < n
            if gap_kind(own[t], n + m) < 0:
                partner = n + own[t] - 1 if first else own[t] - 1
                if own[partner] != (t if first else t - n) + 1:
                    return NOT_MUTUAL, s, t
        for lead, size in ((0, n), (n, m)):
            last, kind = 0, -1  # the last partner, and the kind of the run of gaps, -1 if there is none
            for t in range(lead, lead + size):
                mine = gap_kind(own[t], n + m)
                if mine < 0:
                    if own[t] <= last:
                        return CROSSING, s, t
                    last = own[t]
                elif kind >= 0 and mine != kind:
                    return MIXED, s, t
                kind = mine
    return FINE, -1, -1


@kernel()
def alignment_scores(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, known, wrong_gaps, wrong, starts, codes, out,
):  # fmt: skip
    """Score of every sample's alignment; -inf if it is restricted away, but for contradictions."""
    for s in range(len(splits)):
        lo, n = offsets[s], splits[s]
        m = offsets[s + 1] - lo - n
        at_y, at_x = (
            lo + 2 * s,
            lo + 2 * s + n + 1,
        )  # boundaries at which gaps of the second and first sequence lie
        own, score = codes[lo : lo + n + m], 0.0
        i = j = state = 0  # 0 after a match, 1 after a gap of the first sequence, 2 of the second
        while i < n or j < m:
            kind = gap_kind(own[i], n + m) if i < n else -1
            if kind >= 0:
                step = extend[kind, at_x + j] if state == 1 else open_[kind, at_x + j]
                score += unit[kind, lo + i] + step
                i, state = i + 1, 1
                continue
            kind = gap_kind(own[n + j], n + m) if j < m else -1
            if kind >= 0:
                step = extend[kind, at_y + i] if state == 2 else open_[kind, at_y + i]
                score += unit[kind, lo + n + j] + step + (change if state == 1 else 0.0)
                j, state = j + 1, 2
                continue
            score += substitution[letters[lo + i], letters[lo + n + j]] + uniform[s]
            if len(dense):
                score += dense[starts[s] + i * m + j]
            if len(mask) and not mask[starts[s] + i * m + j]:
                score = -np.inf
            if len(known):
                if known[lo + i] >= 0 and known[lo + i] != j + 1:
                    score = -np.inf
                if known[lo + n + j] >= 0 and known[lo + n + j] != i + 1:
                    score = -np.inf
            i, j, state = i + 1, j + 1, 0
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            if own[entry[e] // m] == entry[e] % m + 1:
                score += value[e]
        out[s] = score


@kernel()
def add_counts(
    letters, offsets, splits, codes, weight, starts, counts, units, opens, extends, changes, cells
):
    """Add ``weight`` x the counts of each alignment; ``cells`` has a rectangle for each sample, or is empty."""
    for s in range(len(splits)):
        lo, n, w = offsets[s], splits[s], weight[s]
        m = offsets[s + 1] - lo - n
        at_y, at_x = lo + 2 * s, lo + 2 * s + n + 1
        own = codes[lo : lo + n + m]
        i = j = state = 0
        while i < n or j < m:
            kind = gap_kind(own[i], n + m) if i < n else -1
            if kind >= 0:
                (extends if state == 1 else opens)[kind, at_x + j] += w
                units[kind, lo + i] += w
                i, state = i + 1, 1
                continue
            kind = gap_kind(own[n + j], n + m) if j < m else -1
            if kind >= 0:
                (extends if state == 2 else opens)[kind, at_y + i] += w
                units[kind, lo + n + j] += w
                if state == 1:
                    changes[0] += w
                j, state = j + 1, 2
                continue
            counts[letters[lo + i], letters[lo + n + j]] += w
            if len(cells):
                cells[starts[s] + i * m + j] += w
            i, j, state = i + 1, j + 1, 0
