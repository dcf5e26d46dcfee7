"""The best alignment of one pair in integers of 16 bits: 32 positions of b at once.

The recurrence is that of ``fast_max`` without units and without ``change``. Place p = m - 1 - j of a row stands in
lane ``p // stripes`` of vector ``p % stripes``, so neighbours in a lane are neighbours in b, and U runs along the
vectors in all lanes at once. What one lane hands to the next is a maximum over lanes with a decay, found once a row
from the matches alone; a second run along the row completes U, T and H. The second run of row i and the first of row i
- 1 share a loop, so H is never stored. Nothing sees to sums out of range: ``fits_short`` says whether there can be
any.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.jit import MAXIMA, SUMS, kernel

LANES = 32
HIGHEST = 32000
SHORT = 8192
"""Single scores are below: three of them do not overflow."""


@kernel(fastmath=SUMS)
def are_integers(numbers):
    """Whether all numbers, which are finite, are integers."""
    rest = 0.0
    for k in range(len(numbers)):
        rest += abs(numbers[k] - np.rint(numbers[k]))
    return rest == 0.0


@kernel(fastmath=SUMS)
def are_zero(numbers):
    """Whether all numbers are 0."""
    total = 0.0
    for k in range(len(numbers)):
        total += abs(numbers[k])
    return total == 0.0


@kernel(fastmath=MAXIMA)
def range_of(numbers):
    """The lowest and the highest of finite numbers and 0."""
    lowest, highest = 0.0, 0.0
    for k in range(len(numbers)):
        lowest, highest = min(lowest, numbers[k]), max(highest, numbers[k])
    return lowest, highest


@kernel()
def fits_short(
    substitution, offsets, splits, unit, open_, extend, change, uniform, entry, dense, mask, codes
):
    """Whether ``best_short`` serves this question: integers, gaps that cost, nothing added, scores in range."""
    if len(entry) or len(dense) or len(mask) or len(codes) or change != 0.0:
        return False
    flat = substitution.ravel()
    if not (are_integers(flat) and are_integers(open_) and are_integers(extend)):
        return False
    if not (are_zero(uniform) and are_zero(unit)):
        return False
    lowest, highest = range_of(flat)
    opened, paid = range_of(open_)
    extended, paid_on = range_of(extend)
    if paid > 0 or paid_on > 0 or min(lowest, -highest, opened, extended) <= -SHORT:
        return False
    for s in range(len(splits)):
        n = splits[s]
        m = offsets[s + 1] - offsets[s] - n
        least = least_score(n, m, lowest, opened, extended)
        if n == 0 or m == 0 or highest * min(n, m) > HIGHEST:
            return False
        if least + (m + LANES) * extended + 2 * opened - lowest < -HIGHEST:
            return False
    return True


@kernel()
def least_score(n, m, lowest, opened, extended):
    """Less than the score of any end of an alignment that a maximum can be."""
    return 2 * opened + (n + m + LANES) * extended + lowest - 1


@kernel()
def pitch_of_table(n_symbols):
    """Numbers in a row of ``short_table``."""
    return (n_symbols + LANES - 1) // LANES * LANES


@kernel()
def short_table(substitution, table):
    """Scores of matches as short integers, in rows of whole vectors."""
    pitch = pitch_of_table(len(substitution))
    for k in range(len(substitution)):
        own, to = substitution[k], table[k * pitch : (k + 1) * pitch]
        for c in range(len(own)):
            to[c] = own[c]
        to[len(own) :] = 0


@kernel()
def octets_of_short(n, m, n_symbols):
    """Bytes that ``best_short`` works in."""
    stripes = (m + LANES - 1) // LANES
    return 2 * LANES * stripes * (min(n, n_symbols) + 7) + 16 * n * stripes + 4 * n + 512


@kernel()
def best_short(
    a, b, table, open_y, extend_y, open_x, extend_x, lowest, opened, extended, row_of, octets, codes
):
    """Codes and score of the best alignment of two sequences, ``table`` by ``short_table``; gaps are integers.

    ``open_y``, ``extend_y`` (n + 1,): gaps in a at its boundaries; ``open_x``, ``extend_x`` (m + 1,): gaps in b.
    """
    n, m, symbols = len(a), len(b), len(row_of)
    pitch, stripes = pitch_of_table(symbols), (m + LANES - 1) // LANES
    size, used = LANES * stripes, 0
    bits = octets[: 16 * n * stripes]
    used = (16 * n * stripes + 63) // 64 * 64
    numbers = octets[used : used + 2 * (6 * size + 32)].view(np.int16)
    used += 2 * (6 * size + 32)
    row_x, places = numbers[3 * size + 32 : 5 * size + 32], numbers[5 * size + 32 :]
    p = m - 1
    for lane in range(LANES):
        for at in range(lane, size, LANES):
            j = max(p, 0)  # nothing comes back from places behind the last
            p -= 1
            places[at] = b[j]
            row_x[at] = open_x[j]
            row_x[size + at] = extend_x[j]
    columns = octets[used : used + 4 * (n + 2)].view(np.int16)
    used += (4 * (n + 2) + 63) // 64 * 64
    open_column, extend_column, end_x = columns[: n + 1], columns[n + 1 : 2 * n + 2], columns[2 * n + 2 :]
    for i in range(n + 1):
        open_column[i] = open_y[i]
        extend_column[i] = extend_y[i]
    end_x[0], end_x[1] = open_x[m], extend_x[m]
    profile, rows = octets[used : used + 2 * size * (min(n, symbols) + 1)].view(np.int16), 0
    row_of[:] = -1
    for i in range(n):
        if row_of[a[i]] < 0:
            row_of[a[i]] = rows
            own = a[i] * pitch
            if pitch == LANES:
                for k in range(0, size, LANES):
                    simd.store(profile, rows + k, moves.looked_up(table, own, simd.load_wide(places, k)))
            else:
                for k in range(size):
                    profile[rows + k] = table[own + places[k]]
            rows += size
    profile[rows : rows + size] = 0
    score = fill_short(
        profile[: rows + size], row_of, a, m, stripes, row_x, open_column, extend_column, end_x,
        least_score(n, m, lowest, opened, extended), numbers, bits,
    )  # fmt: skip
    walk_short(bits.view(np.uint32), n, m, stripes, codes)
    return float(score)


@kernel()
def fill_short(profile, row_of, a, m, stripes, row_x, open_y, extend_y, end_x, least, room, octets):
    """Write the bits of comparisons, 16 bytes a vector; returns the score of the best alignment.

    ``profile`` has a row of scores for each letter of a, the last one is 0; ``row_of`` says where they begin.
    ``row_x`` has two rows: opening and extending a gap in b. ``room`` has three rows, T and matches of two rows, and
    32 numbers.
    """
    size, n = LANES * stripes, len(a)
    small = room[3 * size : 3 * size + 4]
    small[0] = least
    never = simd.spread_wide(small, 0)
    # Row n: what is left of b stands against a gap.
    now, then, first = size, 2 * size, row_of[a[n - 1]]
    for lane in range(LANES):
        for t in range(stripes):
            p, at = lane * stripes + t, t * LANES + lane
            room[at] = open_y[n] + extend_y[n] * p
            before = 0 if p == 0 else open_y[n] + extend_y[n] * (p - 1)
            room[now + at] = before + profile[first + at]
    extend_row, chain, h = simd.spread_wide(extend_y, n - 1), never, never
    for t in range(1, stripes):
        chain = simd.larger(simd.load_wide(room, now + t * LANES), simd.add(chain, extend_row))
    bit = n * stripes * 16
    for i in range(n - 1, -1, -1):
        after = row_of[a[i - 1]] if i > 0 else len(profile) - size
        open_row, extend_next = simd.spread_wide(open_y, i), simd.spread_wide(extend_y, max(i - 1, 0))
        # What enters each lane: the best of all lanes before it, each with its distance.
        small[1] = extend_y[i] * (stripes - 1)
        small[2] = extend_y[i] * stripes
        u = simd.larger(chain, simd.add(simd.load_wide(room, now), simd.spread_wide(small, 1)))
        decay = simd.spread_wide(small, 2)
        u = moves.moved(u, 1, never)
        u = simd.larger(u, simd.add(moves.moved(u, 1, never), decay))
        decay = simd.add(decay, decay)
        u = simd.larger(u, simd.add(moves.moved(u, 2, never), decay))
        decay = simd.add(decay, decay)
        u = simd.larger(u, simd.add(moves.moved(u, 4, never), decay))
        decay = simd.add(decay, decay)
        u = simd.larger(u, simd.add(moves.moved(u, 8, never), decay))
        decay = simd.add(decay, decay)
        u = simd.larger(u, simd.add(moves.moved(u, 16, never), decay))
        chain = never
        bit -= stripes * 16
        to = bit
        for at in range(0, size, LANES):
            match, below = simd.load_wide(room, now + at), simd.load_wide(room, at)
            y, longer_y = simd.add(u, open_row), simd.add(u, extend_row)
            new_x = simd.add(below, simd.load_wide(row_x, at))
            longer_x = simd.add(below, simd.load_wide(row_x, size + at))
            w = simd.larger(match, y)
            moves.store_larger(octets, to, w, new_x)
            moves.store_larger(octets, to + 4, w, longer_x)
            moves.store_larger(octets, to + 8, y, match)
            moves.store_larger(octets, to + 12, longer_y, match)
            to += 16
            u, h = simd.larger(match, longer_y), simd.larger(w, new_x)
            simd.store(room, at, simd.larger(w, longer_x))
            if at < size - LANES:
                match = simd.add(h, simd.load_wide(profile, after + at + LANES))
                simd.store(room, then + at + LANES, match)
                chain = simd.larger(match, simd.add(chain, extend_next))
        small[3] = end_x[0] + end_x[1] * (n - 1 - i)  # H at the end of b, which is before the first place
        match = simd.add(moves.moved(h, 1, simd.spread_wide(small, 3)), simd.load_wide(profile, after))
        simd.store(room, then, match)
        extend_row = extend_next
        now, then = then, now
    if m == size:
        return moves.last(h)
    return room[now + m % stripes * LANES + m // stripes]


@kernel()
def walk_short(bits, n, m, stripes, codes):
    """Codes of the best alignment from the bits of ``fill_short``, as 4 words a vector."""
    codes[:] = 0
    i, j, state = 0, 0, 0  # state 0: after a match, 1: after a gap in b, 2: after a gap in a
    lane, t = (m - 1) // stripes, (m - 1) % stripes
    while i < n and j < m:
        at = (i * stripes + t) * 4
        if state < 2 and not (bits[at + state] >> lane) & 1:
            i += 1
            state = 1
            continue
        if not (bits[at + (2 if state < 2 else 3)] >> lane) & 1:
            codes[i] = j + 1
            codes[n + j] = i + 1
            i += 1
            state = 0
        else:
            state = 2
        j += 1
        t -= 1
        if t < 0:
            t = stripes - 1
            lane -= 1
