"""The best alignment of one pair in integers of 16 bits: 32 positions of b at once, four bits a cell for the way back.

The recurrence runs from the ends of both sequences, so that the way back goes forward, where the lowest codes are
chosen among equals (a gap in b before a match before a gap in a). At (i, j), with a[i:] and b[j:] still to align:

    M(i, j) = S(a_i, b_j) + H(i+1, j+1)                            a match comes first
    U(i, j) = max(M(i, j), extend_y[i] + U(i, j+1))                best after a gap in a: no gap in b may follow
    Y(i, j) = open_y[i] + U(i, j+1)                                a gap in a comes first
    T(i, j) = max(extend_x[j] + T(i+1, j), M(i, j), Y(i, j))       best after a gap in b
    H(i, j) = max(open_x[j] + T(i+1, j), M(i, j), Y(i, j))         best after a match or at the start

Only U depends on its own row. Place p = m - 1 - j of a row stands in lane ``p // stripes`` of vector ``p % stripes``
(stripes), so U runs along the vectors in all lanes at once; what one lane hands to the next is a maximum over lanes
with a decay, found once a row from the matches alone, and a second run along the row completes U, T and H. The second
run of row i and the first of row i - 1 share a loop, so H is never stored.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.jit import kernel

LANES = 32
LEAST = -32768  # stands for minus infinity: sums that would fall below stay there


@kernel()
def short(value):
    """``value``, or the least number that fits."""
    return max(value, LEAST)


@kernel()
def write_profile(substitution, letters_b, m, stripes, profile, striped, rows, n_rows):
    """Rows of scores against b, one for each letter in ``rows``, by places; row ``n_rows`` is 0.

    ``substitution`` has rows of 32 or more numbers; the letter behind the last place scores LEAST with all.
    """
    size = LANES * stripes
    for lane in range(LANES):
        for t in range(stripes):
            p = lane * stripes + t
            striped[t * LANES + lane] = letters_b[m - 1 - p] if p < m else substitution.shape[1] - 1
    for r in range(n_rows):
        own = substitution[rows[r]]
        to = profile[r * size : (r + 1) * size]
        for k in range(size):
            to[k] = own[striped[k]]
    profile[n_rows * size : (n_rows + 1) * size] = 0


@kernel()
def fill_short(profile, row_of, letters_a, n, m, stripes, open_x, extend_x, open_y, extend_y, end_x, room, octets):
    """Fill the bits of comparisons; returns the score of the best alignment.

    ``open_x``, ``extend_x`` int16 by places (the boundary before the letter at this place); ``open_y``, ``extend_y``
    int16 (n + 1,); ``end_x`` int16 (2,): opening and extending at the boundary behind the last letter of b.
    ``room`` int16: T and two rows of matches, 3 * 32 * stripes, then 8 numbers. ``octets`` 16 bytes for each vector.
    """
    size = LANES * stripes
    small = room[3 * size : 3 * size + 8]
    small[0] = LEAST
    least = simd.spread_wide(small, 0)
    # Row n: what is left of b stands against a gap.
    for lane in range(LANES):
        for t in range(stripes):
            p, at = lane * stripes + t, t * LANES + lane
            room[at] = short(open_y[n] + extend_y[n] * p)
            before = 0 if p == 0 else short(open_y[n] + extend_y[n] * (p - 1))
            room[size + at] = short(before + profile[row_of[letters_a[n - 1]] * size + at])
    now, then = size, 2 * size
    extend_row = simd.spread_wide(extend_y, n - 1)
    chain = least
    for t in range(1, stripes):
        chain = simd.larger(
            simd.load_wide(room, now + t * LANES), moves.add_saturated(chain, extend_row)
        )
    h = least
    for i in range(n - 1, -1, -1):
        after = row_of[letters_a[i - 1]] * size if i > 0 else (len(profile) // size - 1) * size
        open_row, extend_next = simd.spread_wide(open_y, i), simd.spread_wide(extend_y, max(i - 1, 0))
        # What enters each lane: the best of all lanes before it, each with its distance.
        small[1] = short(extend_y[i] * (stripes - 1))
        small[2] = short(extend_y[i] * stripes)
        m_now = simd.load_wide(room, now)
        u = simd.larger(chain, moves.add_saturated(m_now, simd.spread_wide(small, 1)))
        decay = simd.spread_wide(small, 2)
        u = moves.moved(u, 1, least)
        u = simd.larger(u, moves.add_saturated(moves.moved(u, 1, least), decay))
        decay = moves.add_saturated(decay, decay)
        u = simd.larger(u, moves.add_saturated(moves.moved(u, 2, least), decay))
        decay = moves.add_saturated(decay, decay)
        u = simd.larger(u, moves.add_saturated(moves.moved(u, 4, least), decay))
        decay = moves.add_saturated(decay, decay)
        u = simd.larger(u, moves.add_saturated(moves.moved(u, 8, least), decay))
        decay = moves.add_saturated(decay, decay)
        u = simd.larger(u, moves.add_saturated(moves.moved(u, 16, least), decay))
        chain, bit = least, i * stripes * 16
        for t in range(stripes):
            at = t * LANES
            m_now = simd.load_wide(room, now + at)
            below = simd.load_wide(room, at)
            y = moves.add_saturated(u, open_row)
            longer_y = moves.add_saturated(u, extend_row)
            new_x = moves.add_saturated(below, simd.load_wide(open_x, at))
            longer_x = moves.add_saturated(below, simd.load_wide(extend_x, at))
            w = simd.larger(m_now, y)
            moves.store_at_least(octets, bit, new_x, w)
            moves.store_at_least(octets, bit + 4, longer_x, w)
            moves.store_at_least(octets, bit + 8, m_now, y)
            moves.store_at_least(octets, bit + 12, m_now, longer_y)
            bit += 16
            u = simd.larger(m_now, longer_y)
            h = simd.larger(w, new_x)
            simd.store(room, at, simd.larger(w, longer_x))
            if t < stripes - 1:
                m_next = moves.add_saturated(h, simd.load_wide(profile, after + at + LANES))
                simd.store(room, then + at + LANES, m_next)
                chain = simd.larger(m_next, moves.add_saturated(chain, extend_next))
        small[3] = short(end_x[0] + end_x[1] * (n - 1 - i))  # H at the end of b
        m_next = moves.add_saturated(
            moves.moved(h, 1, simd.spread_wide(small, 3)), simd.load_wide(profile, after)
        )
        simd.store(room, then, m_next)
        extend_row = extend_next
        now, then = then, now
    if m == size:
        return moves.last(h)
    return room[now + m % stripes * LANES + m // stripes]


@kernel()
def walk_short(bits, n, m, stripes, codes):
    """Codes of the best alignment from the bits of ``fill_short`` (as 4 words a vector)."""
    codes[:] = 0
    i, j, state = 0, 0, 0  # state 0: after a match, 1: after a gap in b, 2: after a gap in a
    lane, t = (m - 1) // stripes, (m - 1) % stripes
    while i < n and j < m:
        at = (i * stripes + t) * 4
        if state < 2 and (bits[at + state] >> lane) & 1:
            i += 1
            state = 1
            continue
        if (bits[at + (2 if state < 2 else 3)] >> lane) & 1:
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
