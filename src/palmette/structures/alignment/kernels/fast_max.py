"""The best alignment of one pair with any scores, sixteen floats or eight doubles of a row at once.

The recurrence runs from the ends of both sequences, so that the way back goes forward, where the lowest codes are
chosen among equals (a gap in b before a match before a gap in a). At (i, j), with a[i:] and b[j:] still to align:

    M(i, j) = S(i, j) + H(i+1, j+1)                                          a match comes first
    Y(i, j) = open_y[i] + unit[j] + U(i, j+1)                                a gap in a comes first
    U(i, j) = max(M(i, j), extend_y[i] + unit[j] + U(i, j+1))                best after a gap in a: none in b may follow
    T(i, j) = max(extend_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j) + change)          best after a gap in b
    H(i, j) = max(open_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j))         best after a match or at the start

Only U depends on its own row. Boundary j stands in lane ``j // stripes`` of vector ``j % stripes``, so neighbours in b
are neighbours in a lane, and U runs along the vectors, in all lanes at once. What one lane hands to the one before it
is a maximum over lanes, each less the cost of a gap along those between, found once a row from the matches alone; a
second run along the row completes U, T and H. The second run of row i and the first of row i - 1 share a loop, so H is
never stored. Rows of scores come in the order of b and are dealt out to lanes, four vectors at a time: those of letters
once, scores of single cells row by row.
Four bits a cell, five with ``change``, are kept for the way back. They are 0 where a gap in b is at least as good as
the rest at H, at T; where a match is at least as good as Y at H; as a longer gap at U; as Y + change at T.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import NEVER, TIE
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_rows import put_together


@kernel()
def vectors_of(m, like):
    """Vectors in a row of m + 1 boundaries."""
    return m // simd.lanes_wide(like) + 1


@kernel()
def pitch_of_stripes(m, like):
    """Numbers in a row of ``deal_out``, which writes up to three vectors too many."""
    return (vectors_of(m, like) + 3) * simd.lanes_wide(like)


@kernel()
def room_of_max(n, m, n_letters, like):
    """How many numbers ``fill_max`` needs: seven rows, costs along lanes, a few numbers, a row for each letter."""
    return (7 + min(n, n_letters)) * pitch_of_stripes(m, like) + 7 * simd.lanes_wide(like)


@kernel()
def octets_of_max(n, m, like):
    """How many bytes the bits need."""
    return n * vectors_of(m, like) * 5 * (simd.lanes_wide(like) // 8)


@kernel()
def deal_out(source, start, stripes, to, at):
    """Numbers of ``source`` from ``start`` on, ``stripes`` to each lane, as vectors from ``to[at]`` on."""
    lanes = simd.lanes_wide(to)
    for r in range(0, stripes, 4):
        moves.store_striped(source, start + r, stripes, to, at + r * lanes)


@kernel()
def costs_along_lanes(room, unit, stripes, at):
    """What units cost along lanes: all but the last place of each; one, two, four and eight lanes after each."""
    lanes = simd.lanes_wide(room)
    whole, zero = simd.splat_wide(room, 0.0), simd.splat_wide(room, 0.0)
    for r in range(stripes - 1):
        whole = simd.add(whole, simd.load_wide(room, unit + r * lanes))
    simd.store(room, at, whole)
    whole = simd.add(whole, simd.load_wide(room, unit + (stripes - 1) * lanes))
    whole = moves.moved_down(whole, 1, zero)
    simd.store(room, at + lanes, whole)
    whole = simd.add(whole, moves.moved_down(whole, 1, zero))
    simd.store(room, at + 2 * lanes, whole)
    whole = simd.add(whole, moves.moved_down(whole, 2, zero))
    simd.store(room, at + 3 * lanes, whole)
    whole = simd.add(whole, moves.moved_down(whole, 4, zero))
    simd.store(room, at + 4 * lanes, whole)


@kernel()
def last_row(rows, j0, m, end, size, to):
    """H(n, j) in the order of b: what is left of b is against a gap."""
    to[:size] = NEVER
    to[m] = 0
    total = rows.open_y[end] - rows.extend_y[end]
    for j in range(m - 1, -1, -1):
        total += rows.unit_y[j0 + j] + rows.extend_y[end]
        to[j] = total


@kernel()
def fill_max(rows, i0, n, j0, m, room, octets):
    """Write the bits of all cells of a cut; returns the best score, below NEVER / 2 if there is no alignment."""
    lanes, stripes, pitch = simd.lanes_wide(room), vectors_of(m, room), pitch_of_stripes(m, room)
    size, word, changes, units = stripes * lanes, lanes // 8, rows.change[0] != 0, rows.units
    words, last, end = 5 if changes else 4, size - lanes, i0 + n
    matches, letters, row_of, line, plain = rows.matches, rows.letters, rows.row_of, rows.line, rows.plain
    open_y, extend_y, unit_x = rows.open_y, rows.extend_y, rows.unit_x
    cells, mask, known, starts, columns, values, whole_m = (
        rows.cells, rows.mask, rows.known, rows.starts, rows.columns, rows.values, rows.m
    )  # fmt: skip
    t, now, then, scores = 0, pitch, 2 * pitch, 3 * pitch
    open_x, extend_x, unit_y, along, small = 4 * pitch, 5 * pitch, 6 * pitch, 7 * pitch, 7 * pitch + 5 * lanes
    deal_out(rows.open_x, j0, stripes, room, open_x)
    deal_out(rows.extend_x, j0, stripes, room, extend_x)
    deal_out(rows.unit_y, j0, stripes, room, unit_y)
    costs_along_lanes(room, unit_y, stripes, along)
    never, change = simd.splat_wide(room, NEVER), simd.spread_wide(rows.change, 0)
    double, tie = lanes == 8, simd.splat_wide(room, TIE)
    natural = room[then : then + pitch]
    last_row(rows, j0, m, end, pitch, natural)
    deal_out(natural, 0, stripes, room, now)
    for j in range(m):
        natural[j] += rows.change[0]
    deal_out(natural, 0, stripes, room, t)
    only_cells = len(cells) > 0 and len(mask) == 0 and len(known) == 0 and len(columns) == 0
    dealt, used = np.full(len(row_of), -1, np.int64), small + 2 * lanes
    if plain or only_cells:
        for i in range(i0, end):
            if dealt[letters[i]] < 0:
                deal_out(matches, row_of[letters[i]] + j0, stripes, room, used)
                dealt[letters[i]] = used
                used += pitch
    # H of row n becomes matches of row n - 1.
    start = row_of[letters[end - 1]] + j0
    if not plain:
        put_together(
            matches, start, line, end - 1, whole_m, cells, mask, known, starts, columns, values, j0, m
        )
        start = line
    deal_out(matches, start, stripes, room, scores)
    h = simd.load_wide(room, now)
    for at in range(0, last, lanes):
        simd.store(
            room,
            now + at,
            simd.add(simd.load_wide(room, now + at + lanes), simd.load_wide(room, scores + at)),
        )
    simd.store(room, now + last, simd.add(moves.moved_down(h, 1, never), simd.load_wide(room, scores + last)))
    extend_row, chain = simd.spread_wide(extend_y, end - 1), never
    for at in range(last - lanes, -1, -lanes):
        longer = simd.add(simd.add(chain, extend_row), simd.load_wide(room, unit_y + at))
        chain = simd.larger(simd.load_wide(room, now + at), longer)
    bit = n * stripes * words * word
    for i in range(end - 1, i0 - 1, -1):
        before = max(i - 1, i0)
        first = before * whole_m + j0
        add_cells, own = only_cells and first + size + 3 <= len(cells), dealt[letters[before]]
        if add_cells:
            deal_out(cells, first, stripes, room, scores)
        elif not plain:
            start = row_of[letters[before]] + j0
            put_together(
                matches, start, line, before, whole_m, cells, mask, known, starts, columns, values, j0, m
            )
            deal_out(matches, line, stripes, room, scores)
            own = scores
        # What enters each lane: the best of all lanes after it, each less what lies between.
        room[small] = extend_y[i] * (stripes - 1)
        room[small + 1] = extend_y[i] * stripes
        decay, lane_cost = simd.spread_wide(room, small), simd.spread_wide(room, small + 1)
        u = simd.add(simd.load_wide(room, now + last), simd.add(decay, simd.load_wide(room, along)))
        u = moves.moved_down(simd.larger(chain, u), 1, never)
        decay = simd.add(lane_cost, simd.load_wide(room, along + lanes))
        u = simd.larger(u, simd.add(moves.moved_down(u, 1, never), decay))
        lane_cost = simd.add(lane_cost, lane_cost)
        decay = simd.add(lane_cost, simd.load_wide(room, along + 2 * lanes))
        u = simd.larger(u, simd.add(moves.moved_down(u, 2, never), decay))
        lane_cost = simd.add(lane_cost, lane_cost)
        decay = simd.add(lane_cost, simd.load_wide(room, along + 3 * lanes))
        u = simd.larger(u, simd.add(moves.moved_down(u, 4, never), decay))
        if lanes > 8:
            lane_cost = simd.add(lane_cost, lane_cost)
            decay = simd.add(lane_cost, simd.load_wide(room, along + 4 * lanes))
            u = simd.larger(u, simd.add(moves.moved_down(u, 8, never), decay))
        open_row, extend_next = simd.spread_wide(open_y, i), simd.spread_wide(extend_y, before)
        own_unit, chain = simd.spread_wide(unit_x, i), never
        for at in range(last, -1, -lanes):
            bit -= words * word
            match, below = simd.load_wide(room, now + at), simd.load_wide(room, t + at)
            if units:
                u, below = simd.add(u, simd.load_wide(room, unit_y + at)), simd.add(below, own_unit)
            y, longer_y = simd.add(u, open_row), simd.add(u, extend_row)
            new_x = simd.add(below, simd.load_wide(room, open_x + at))
            longer_x = simd.add(below, simd.load_wide(room, extend_x + at))
            w = simd.larger(match, y)
            after_x, likely = w, match
            if double:  # rounding must not choose between equals; floats leave no room for that
                likely = simd.add(match, tie)
            if changes:
                changed = simd.add(y, change)
                after_x = simd.larger(match, changed)
                moves.store_larger(octets, bit + 4 * word, changed, likely)
            if double:
                moves.store_larger(octets, bit, w, simd.add(new_x, tie))
                moves.store_larger(octets, bit + word, after_x, simd.add(longer_x, tie))
            else:
                moves.store_larger(octets, bit, w, new_x)
                moves.store_larger(octets, bit + word, after_x, longer_x)
            moves.store_larger(octets, bit + 2 * word, y, likely)
            moves.store_larger(octets, bit + 3 * word, longer_y, likely)
            u, h = simd.larger(match, longer_y), simd.larger(w, new_x)
            simd.store(room, t + at, simd.larger(after_x, longer_x))
            if at > 0:
                match = simd.add(h, simd.load_wide(room, own + at - lanes))
                if add_cells:
                    match = simd.add(match, simd.load_wide(room, scores + at - lanes))
                simd.store(room, then + at - lanes, match)
                chain = simd.add(chain, extend_next)
                if units:
                    chain = simd.add(chain, simd.load_wide(room, unit_y + at - lanes))
                chain = simd.larger(match, chain)
        match = simd.add(moves.moved_down(h, 1, never), simd.load_wide(room, own + last))
        if add_cells:
            match = simd.add(match, simd.load_wide(room, scores + last))
        simd.store(room, then + last, match)
        extend_row = extend_next
        now, then = then, now
    simd.store(room, small, h)
    return float(room[small])


@kernel()
def walk_max(i0, n, j0, m, word, words, octets, codes, n_all):
    """Codes of the best alignment of a cut from the bits of ``fill_max``; all are 0 before. ``n_all`` letters of a."""
    stripes = m // (8 * word) + 1
    i, j, lane, r, state = 0, 0, 0, 0, 0  # state 0: after a match, 1: after a gap in b, 2: after a gap in a
    while i < n and j < m:
        at = ((i * stripes + r) * words) * word + (lane >> 3)
        if state < 2 and not (octets[at + state * word] >> (lane & 7)) & 1:
            i += 1
            state = 1
            continue
        which = 4 if state == 1 and words == 5 else (3 if state == 2 else 2)
        if not (octets[at + which * word] >> (lane & 7)) & 1:
            codes[i0 + i] = j0 + j + 1
            codes[n_all + j0 + j] = i0 + i + 1
            i += 1
            state = 0
        else:
            state = 2
        j += 1
        r += 1
        if r == stripes:
            r, lane = 0, lane + 1
