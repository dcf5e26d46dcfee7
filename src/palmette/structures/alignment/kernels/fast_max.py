"""The best alignment of one pair, a row of b at once: floats, doubles or integers of 16 bits, as the lines are.

The recurrence runs from the ends of both sequences, so that the way back goes forward, where the lowest codes are
chosen among equals (a gap in b before a match before a gap in a). At (i, j), with a[i:] and b[j:] still to align:

    M(i, j) = S(i, j) + H(i+1, j+1)                                          a match comes first
    Y(i, j) = open_y[i] + unit[j] + U(i, j+1)                                a gap in a comes first
    U(i, j) = max(M(i, j), extend_y[i] + unit[j] + U(i, j+1))                best after a gap in a: none in b may follow
    T(i, j) = max(extend_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j) + change)          best after a gap in b
    H(i, j) = max(open_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j))         best after a match or at the start

Only U depends on its own row. It runs along the vectors of a row in all lanes at once (stripes, see ``fast_lines``). What
one lane hands to the next is a maximum over lanes with a decay, found once a row from the matches alone; a second run
along the row completes U, T and H. The second run of row i and the first of row i - 1 share a loop, so H is never stored.
Four bits a cell, five with ``change``, are kept for the way back: a gap in b is at least as good as the rest at H, at T;
a match at least as good as Y at H; as a longer gap at U; as Y + change at T.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_lines import row_start

GAP_VECTORS = 6  # beside two rows: what is left of a lane, and decays over 1, 2, 4, 8, 16 lanes


@kernel()
def room_of_max(stripes, like):
    """How many numbers ``fill_max`` needs: T, two rows of matches, two sets of gaps."""
    lanes = simd.lanes_wide(like)
    return lanes * (7 * stripes + 2 * GAP_VECTORS + 2)


@kernel()
def octets_of_max(n, stripes, like, changes):
    """How many bytes the bits need."""
    return n * stripes * (5 if changes else 4) * (simd.lanes_wide(like) // 8)


@kernel()
def set_gaps(lines, i, room, at):
    """Costs of gaps in a before position i, as rows: opening, extending, and what lanes hand on."""
    lanes, unit = simd.lanes_wide(room), lines.unit_y
    size = lanes * lines.stripes
    opening, extending = simd.spread_wide(lines.open_y, i), simd.spread_wide(lines.extend_y, i)
    first = simd.add(extending, simd.load_wide(unit, 0))
    simd.store(room, at, simd.add(opening, simd.load_wide(unit, 0)))
    simd.store(room, at + size, first)
    rest = simd.splat_wide(room, 0)
    for t in range(lanes, size, lanes):
        simd.store(room, at + t, simd.add(opening, simd.load_wide(unit, t)))
        longer = simd.add(extending, simd.load_wide(unit, t))
        simd.store(room, at + size + t, longer)
        rest = simd.add(rest, longer)
    # Lane k receives from lane k - 1 after its own positions; over 2 lanes, after its own and those of lane k - 1.
    at += 2 * size
    decay, zero = simd.add(rest, first), simd.splat_wide(room, 0)
    simd.store(room, at, rest)
    before = moves.moved(decay, 1, zero)
    simd.store(room, at + lanes, before)
    before = simd.add(before, moves.moved(before, 1, zero))
    simd.store(room, at + 2 * lanes, before)
    before = simd.add(before, moves.moved(before, 2, zero))
    simd.store(room, at + 3 * lanes, before)
    before = simd.add(before, moves.moved(before, 4, zero))
    simd.store(room, at + 4 * lanes, before)
    before = simd.add(before, moves.moved(before, 8, zero))
    simd.store(room, at + 5 * lanes, before)


@kernel()
def fill_max(lines, least_score, room, octets):
    """Write the bits of all cells; returns the score of the best alignment.

    ``least_score`` is below the score of the ends of all alignments; integers hold it with the cost of any gaps added.
    """
    n, m, stripes, lanes = lines.n, lines.m, lines.stripes, simd.lanes_wide(room)
    rows, open_x, extend_x = lines.rows, lines.open_x, lines.extend_x
    size, word, changes = lanes * stripes, lanes // 8, lines.change[0] != 0
    gap = size * 2 + lanes * GAP_VECTORS
    small = room[3 * size + 2 * gap : 3 * size + 2 * gap + 2]
    small[0] = least_score
    least, change = simd.spread_wide(small, 0), simd.spread_wide(lines.change, 0)
    now, then, gaps, gaps_then = size, 2 * size, 3 * size, 3 * size + gap
    # Row n: what is left of b is against a gap.
    start, left = row_start(lines, n - 1), lines.extend_y[n] * 0
    for lane in range(lanes):
        for t in range(stripes):
            p, at = lane * stripes + t, t * lanes + lane
            room[now + at] = rows[start + at] + (0 if p == 0 else left + lines.open_y[n] - lines.extend_y[n])
            left += lines.extend_y[n] + lines.unit_y[at]
            room[at] = left + lines.open_y[n] - lines.extend_y[n] + lines.change[0]
    set_gaps(lines, n - 1, room, gaps)
    chain, h, bit = least, least, n * stripes * word * (5 if changes else 4)
    for t in range(1, stripes):
        longer = simd.add(chain, simd.load_wide(room, gaps + size + t * lanes))
        chain = simd.larger(simd.load_wide(room, now + t * lanes), longer)
    end, step = lines.end_x[0] * 0, stripes * word * (5 if changes else 4)
    for i in range(n - 1, -1, -1):
        start = row_start(lines, i - 1)
        next_gaps = gaps
        if i > 0 and not (
            lines.open_y[i - 1] == lines.open_y[i] and lines.extend_y[i - 1] == lines.extend_y[i]
        ):
            next_gaps = gaps_then
            set_gaps(lines, i - 1, room, next_gaps)
        # What enters each lane: the best of all lanes before it, each with its distance.
        at = gaps + 2 * size
        u = simd.larger(chain, simd.add(simd.load_wide(room, now), simd.load_wide(room, at)))
        u = moves.moved(u, 1, least)
        u = simd.larger(u, simd.add(moves.moved(u, 1, least), simd.load_wide(room, at + lanes)))
        u = simd.larger(u, simd.add(moves.moved(u, 2, least), simd.load_wide(room, at + 2 * lanes)))
        u = simd.larger(u, simd.add(moves.moved(u, 4, least), simd.load_wide(room, at + 3 * lanes)))
        if lanes > 8:
            u = simd.larger(u, simd.add(moves.moved(u, 8, least), simd.load_wide(room, at + 4 * lanes)))
        if lanes > 16:
            u = simd.larger(u, simd.add(moves.moved(u, 16, least), simd.load_wide(room, at + 5 * lanes)))
        chain = least
        bit -= step
        to = bit
        unit_x = simd.spread_wide(lines.unit_x, i)
        for at in range(0, size, lanes):
            match, below = simd.load_wide(room, now + at), simd.load_wide(room, at)
            if lines.units:
                below = simd.add(below, unit_x)
            y = simd.add(u, simd.load_wide(room, gaps + at))
            longer_y = simd.add(u, simd.load_wide(room, gaps + size + at))
            new_x, longer_x = (
                simd.add(below, simd.load_wide(open_x, at)),
                simd.add(below, simd.load_wide(extend_x, at)),
            )
            w = simd.larger(match, y)
            after_x = w
            if changes:
                changed = simd.add(y, change)
                after_x = simd.larger(match, changed)
                moves.store_at_least(octets, to + 4 * word, match, changed)
            moves.store_at_least(octets, to, new_x, w)
            moves.store_at_least(octets, to + word, longer_x, after_x)
            moves.store_at_least(octets, to + 2 * word, match, y)
            moves.store_at_least(octets, to + 3 * word, match, longer_y)
            to += word * (5 if changes else 4)
            u, h = simd.larger(match, longer_y), simd.larger(w, new_x)
            simd.store(room, at, simd.larger(after_x, longer_x))
            if at < size - lanes:
                match = simd.add(h, simd.load_wide(rows, start + at + lanes))
                simd.store(room, then + at + lanes, match)
                chain = simd.larger(
                    match, simd.add(chain, simd.load_wide(room, next_gaps + size + at + lanes))
                )
        # The end of b is before the first place: only a gap in b is left there.
        small[1] = end + lines.end_x[0] + lines.unit_x[i]
        end += lines.end_x[1] + lines.unit_x[i]
        simd.store(
            room, then, simd.add(moves.moved(h, 1, simd.spread_wide(small, 1)), simd.load_wide(rows, start))
        )
        now, then = then, now
        if next_gaps != gaps:
            gaps, gaps_then = gaps_then, gaps
    if m == size:
        return moves.last(h)
    return room[now + m % stripes * lanes + m // stripes]


@kernel()
def walk_max(n, m, stripes, octets, word, words, codes):
    """Codes of the best alignment from the bits of ``fill_max``: ``word`` bytes for each of ``words`` bits of a vector."""
    codes[:] = 0
    i, j, state = 0, 0, 0  # state 0: after a match, 1: after a gap in b, 2: after a gap in a
    lane, t = (m - 1) // stripes, (m - 1) % stripes
    while i < n and j < m:
        at = (i * stripes + t) * words * word + (lane >> 3)
        if state < 2 and (octets[at + state * word] >> (lane & 7)) & 1:
            i += 1
            state = 1
            continue
        which = 4 if state == 1 and words == 5 else (3 if state == 2 else 2)
        if (octets[at + which * word] >> (lane & 7)) & 1:
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
