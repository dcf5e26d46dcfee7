"""The best alignment of one pair with any scores, sixteen floats or eight doubles of a row at once.

The recurrence runs from the ends of both sequences, so that the way back goes forward, where the lowest codes are
chosen among equals (a gap in b before a match before a gap in a). At (i, j), with a[i:] and b[j:] still to align:

    M(i, j) = S(i, j) + H(i+1, j+1)                                          a match comes first
    Y(i, j) = open_y[i] + unit[j] + U(i, j+1)                                a gap in a comes first
    U(i, j) = max(M(i, j), extend_y[i] + unit[j] + U(i, j+1))                best after a gap in a: none in b may follow
    T(i, j) = max(extend_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j) + change)          best after a gap in b
    H(i, j) = max(open_x[j] + unit[i] + T(i+1, j), M(i, j), Y(i, j))         best after a match or at the start

Only U depends on its own row. Let C(j) be the cost of a gap from the first position of b to position j, extensions
only: ``U(j) + C(j) = max over k >= j of M(k) + C(k)``. So all numbers at j are kept with C(j) added, where a longer
gap costs nothing and U is the maximum of what stands to the right: log2(lanes) steps inside a vector, and one number
handed on from vector to vector. C is of the extension at boundary ``i`` of a; where that changes at the ends of a, so
do H and T. If it changes everywhere (not ``level``), C is of units alone, and extensions are added inside a vector.
Four bits a cell, five with ``change``, are kept for the way back: a gap in b is at least as good as the rest at H, at
T; a match is at least as good as Y at H; as a longer gap at U; as Y + change at T.
"""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import NEVER, TIE
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_rows import pitch_of, put_together


@kernel()
def room_of_max(m, like):
    """How many numbers ``fill_max`` needs: H of two rows, T."""
    return 3 * pitch_of(m, like) + 2 * simd.lanes_wide(like)


@kernel()
def vectors_of(m, like):
    """Vectors in a row of m + 1 boundaries."""
    return m // simd.lanes_wide(like) + 1


@kernel()
def octets_of_max(n, m, like):
    """How many bytes the bits need."""
    return n * vectors_of(m, like) * 5 * (simd.lanes_wide(like) // 8)


@kernel()
def fill_max(rows, i0, n, j0, m, room, octets):
    """Write the bits of all cells of a cut; returns the best score, below NEVER / 2 if there is no alignment."""
    lanes, pitch = simd.lanes_wide(room), pitch_of(m, room)
    size, word, changes = vectors_of(m, room) * lanes, lanes // 8, rows.change[0] != 0
    words = 5 if changes else 4
    matches, letters, row_of, line, plain = rows.matches, rows.letters, rows.row_of, rows.line, rows.plain
    open_x, extend_x, open_y, extend_y = rows.open_x, rows.extend_x, rows.open_y, rows.extend_y
    cells, mask, known, starts, columns, values, whole_m = (
        rows.cells, rows.mask, rows.known, rows.starts, rows.columns, rows.values, rows.m
    )  # fmt: skip
    only_cells = len(cells) > 0 and len(mask) == 0 and len(known) == 0 and len(columns) == 0
    unit_x, units, level, end = rows.unit_x, rows.units, rows.level, i0 + n
    h, then, t, small = 0, pitch, 2 * pitch, 3 * pitch
    room[:small] = NEVER
    never, change = simd.splat_wide(room, NEVER), simd.spread_wide(rows.change, 0)
    double, tie = lanes == 8, simd.splat_wide(room, TIE)
    # Row n: what is left of b is against a gap. Its scores with C added are those of opening it at the last position.
    ref = rows.extended[0]
    extended = extend_y[end] if level else extend_y[end] * 0
    total, costs = extended * m, rows.change[0]
    for j in range(m):
        total += rows.unit_y[j0 + j]
    room[h + m], room[t + m] = total, total
    for j in range(m):
        room[h + j] = total + open_y[end] - extended + (extend_y[end] - extended) * (m - 1 - j)
        room[t + j] = room[h + j] + costs
    for k in range(lanes):
        room[small + 1 + k] = k
    bit = n * (size // lanes) * words * word
    for i in range(end - 1, i0 - 1, -1):
        if level and extend_y[i] != extended:
            room[small] = extend_y[i] - extended
            tilt(room, h, t, size, small)
            extended = extend_y[i]
        room[small] = ref - extended
        shifted, shift = room[small] != 0, simd.spread_wide(room, small)
        start = row_of[letters[i]] + j0
        add_cells = only_cells and i * whole_m + j0 + size <= len(cells)
        if not plain and not add_cells:
            put_together(matches, start, line, i, whole_m, cells, mask, known, starts, columns, values, j0, m)
            start = line
        room[small] = extend_y[i]
        slope = simd.mul(simd.load_wide(room, small + 1), simd.spread_wide(room, small))
        room[small] = extend_y[i] * lanes
        across = simd.spread_wide(room, small)
        room[small] = open_y[i] - extend_y[i]
        opening, own_unit, carry = simd.spread_wide(room, small), simd.spread_wide(unit_x, i), never
        for j in range(size - lanes, -1, -lanes):
            bit -= words * word
            match = simd.add(simd.load_wide(matches, start + j), simd.load_wide(room, h + j + 1))
            if shifted:
                match = simd.add(match, shift)
            if add_cells:
                match = simd.add(match, moves.load_as(cells, i * whole_m + j0 + j, room))
                moves.fetch(cells, (i - 1) * whole_m + j0 + j)
            u = match
            if not level:
                u = simd.add(u, slope)
                carry = simd.add(carry, across)
            u = simd.larger(u, moves.moved_down(u, 1, never))
            u = simd.larger(u, moves.moved_down(u, 2, never))
            u = simd.larger(u, moves.moved_down(u, 4, never))
            if lanes > 8:
                u = simd.larger(u, moves.moved_down(u, 8, never))
            longer_y = simd.larger(moves.moved_down(u, 1, never), carry)
            if not level:
                longer_y = simd.sub(longer_y, slope)
            carry = simd.larger(moves.spread_first(u), carry)
            below = simd.load_wide(room, t + j)
            if units:
                below = simd.add(below, own_unit)
            y = simd.add(longer_y, opening)
            new_x = simd.add(below, simd.load_wide(open_x, j0 + j))
            longer_x = simd.add(below, simd.load_wide(extend_x, j0 + j))
            w = simd.larger(match, y)
            after_x, likely = w, match
            if double:  # rounding must not choose between equals; floats leave no room for that
                likely = simd.add(match, tie)
            if changes:
                changed = simd.add(y, change)
                after_x = simd.larger(match, changed)
                moves.store_at_least(octets, bit + 4 * word, likely, changed)
            if double:
                moves.store_at_least(octets, bit, simd.add(new_x, tie), w)
                moves.store_at_least(octets, bit + word, simd.add(longer_x, tie), after_x)
            else:
                moves.store_at_least(octets, bit, new_x, w)
                moves.store_at_least(octets, bit + word, longer_x, after_x)
            moves.store_at_least(octets, bit + 2 * word, likely, y)
            moves.store_at_least(octets, bit + 3 * word, likely, longer_y)
            simd.store(room, then + j, simd.larger(w, new_x))
            simd.store(room, t + j, simd.larger(after_x, longer_x))
        h, then = then, h
    return float(room[h])


@kernel()
def tilt(room, at, other, size, small):
    """Add ``slope * j`` to the numbers of two rows; the slope is at ``small``, behind it the numbers 0, 1, 2, ..."""
    lanes, slope = simd.lanes_wide(room), simd.spread_wide(room, small)
    places, wide = simd.load_wide(room, small + 1), simd.splat_wide(room, lanes)
    for j in range(0, size, lanes):
        simd.store(room, at + j, simd.fma(slope, places, simd.load_wide(room, at + j)))
        simd.store(room, other + j, simd.fma(slope, places, simd.load_wide(room, other + j)))
        places = simd.add(places, wide)


@kernel()
def walk_max(i0, n, j0, m, word, words, octets, codes, n_all):
    """Codes of the best alignment of a cut from the bits of ``fill_max``; all are 0 before. ``n_all`` letters of a."""
    step = m // (8 * word) + 1
    i, j, state = 0, 0, 0  # state 0: after a match, 1: after a gap in b, 2: after a gap in a
    while i < n and j < m:
        at = ((i * step + j // (8 * word)) * words) * word + (j % (8 * word) >> 3)
        if state < 2 and (octets[at + state * word] >> (j & 7)) & 1:
            i += 1
            state = 1
            continue
        which = 4 if state == 1 and words == 5 else (3 if state == 2 else 2)
        if (octets[at + which * word] >> (j & 7)) & 1:
            codes[i0 + i] = j0 + j + 1
            codes[n_all + j0 + j] = i0 + i + 1
            i += 1
            state = 0
        else:
            state = 2
        j += 1
