"""What a pair looks like to the fast kernels: rows of numbers over the positions of b, from its end, in stripes.

Place p = m - 1 - j of a row stands for position j of b and stands in lane ``p // stripes`` of vector ``p % stripes``, so
that neighbours in a lane are neighbours in b. Scores of matches are one row for each letter of a; where something is
added to single cells, the row of a position is put together when it is needed. Minus infinity is ``NEVER``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel


class Lines(NamedTuple):
    """One pair; rows are striped, in the precision of the kernels."""

    n: Any
    m: Any
    stripes: Any  # vectors in a row
    letters: Any  # of a, (n,)
    row_of: Any  # row of each letter, -1 if a does not have it
    rows: Any  # scores of matches, one row for each letter of a, a row of 0, and a row to be put together
    plain: Any  # whether nothing is added to single cells
    cells: Any  # float64 n * m, added to matches; or none
    mask: Any  # bool n * m, false for a match that may not be; or none
    partner: Any  # code of each position of a that is known, -1 of the others; or none
    starts: (
        Any  # single matches with an added score: place of the first entry of each position of a, (n + 1,)
    )
    columns: Any
    values: Any
    open_x: Any  # a gap in b before the position of b at this place, one row
    extend_x: Any
    unit_y: Any  # what a position of b adds where it is against a gap, one row
    end_x: Any  # (2,): opening and extending a gap behind the end of b
    open_y: Any  # a gap in a before position i, (n + 1,)
    extend_y: Any
    unit_x: Any  # what a position of a adds where it is against a gap, (n,)
    units: Any  # whether one of them is not 0
    change: Any  # (1,): a gap in a directly after a gap in b


@kernel()
def stripes_of(m, like):
    """How many vectors a row has."""
    lanes = simd.lanes_wide(like)
    return (m + lanes - 1) // lanes


@kernel()
def room_of_lines(n, m, n_letters, like):
    """How many numbers ``lay_out`` needs."""
    size = simd.lanes_wide(like) * stripes_of(m, like)
    return size * (min(n, n_letters) + 5) + 4 * (n + 64)


@kernel()
def stripe(values, fill, to, lanes, stripes):
    """Numbers of b's positions or boundaries as a row; behind the last place stands ``fill``."""
    m = len(values)
    for lane in range(lanes):
        for t in range(stripes):
            p = lane * stripes + t
            to[t * lanes + lane] = max(values[m - 1 - p], NEVER) if p < m else fill


@kernel()
def lay_out(
    substitution, letters, offsets, splits, unit, opening, extending, change, uniform, entry_ptr, entry, value, cells,
    mask, partner, rects, s, room,
):  # fmt: skip
    """``Lines`` of sample ``s`` in ``room``, a flat array of the precision."""
    lo, middle, hi = offsets[s], splits[s], offsets[s + 1]
    n, m, lanes = middle - lo, hi - middle, simd.lanes_wide(room)
    stripes = stripes_of(m, room)
    size = lanes * stripes
    a, b = letters[lo:middle], letters[middle:hi]
    known = partner[lo:hi] if len(partner) else partner
    row_of, n_rows = np.full(len(substitution), -1, np.int64), 0
    places = np.zeros(size, np.int64)
    stripe(b, 0, places, lanes, stripes)
    for i in range(n):
        if row_of[a[i]] < 0:
            row_of[a[i]] = n_rows
            own, row = substitution[a[i]], room[n_rows * size : (n_rows + 1) * size]
            added = uniform[s]
            for k in range(size):
                row[k] = max(own[places[k]] + added, NEVER)
            n_rows += 1
    used = n_rows * size
    room[used : used + size] = 0
    rows = room[: used + 2 * size]
    used += 2 * size
    open_x, extend_x, unit_y = (
        room[used : used + size],
        room[used + size : used + 2 * size],
        room[used + 2 * size : used + 3 * size],
    )
    used += 3 * size
    first = lo + 2 * s  # boundaries of a, then those of b
    stripe(opening[first + n + 1 : first + n + 1 + m], 0, open_x, lanes, stripes)
    stripe(extending[first + n + 1 : first + n + 1 + m], 0, extend_x, lanes, stripes)
    stripe(unit[middle:hi], 0, unit_y, lanes, stripes)
    open_y, extend_y = room[used : used + n + 1], room[used + n + 1 : used + 2 * n + 2]
    for i in range(n + 1):
        open_y[i] = max(opening[first + i], NEVER)
        extend_y[i] = max(extending[first + i], NEVER)
    used += 2 * n + 2
    unit_x, units = room[used : used + n], False
    for i in range(n):
        unit_x[i] = max(unit[lo + i], NEVER)
        units |= unit_x[i] != 0
    used += n
    small = room[used : used + 3]
    small[0], small[1] = max(opening[first + n + m + 1], NEVER), max(extending[first + n + m + 1], NEVER)
    small[2] = max(change, NEVER)
    own_cells = cells[rects[s] : rects[s + 1]] if len(cells) else cells
    own_mask = mask[rects[s] : rects[s + 1]] if len(mask) else mask
    starts, columns, values = rows_of_entries(entry_ptr, entry, value, s, n, m)
    own_partner = known[:0]
    if len(known):
        own_partner = known[:n].copy()
        for j in range(m):
            if known[n + j] > 0:
                own_partner[known[n + j] - 1] = j + 1
            elif known[n + j] == 0:  # no row may match it
                p = m - 1 - j
                at = p % stripes * lanes + p // stripes
                for r in range(n_rows):
                    rows[r * size + at] = NEVER
    plain = not (len(cells) or len(mask) or len(known) or len(columns))
    return Lines(
        n, m, stripes, a, row_of, rows, plain, own_cells, own_mask, own_partner, starts, columns, values, open_x, extend_x,
        unit_y, small[:2], open_y, extend_y, unit_x, units, small[2:],
    )  # fmt: skip


@kernel()
def rows_of_entries(entry_ptr, entry, value, s, n, m):
    """Single cells of a sample by rows: starts, columns and values."""
    first, last = entry_ptr[s], entry_ptr[s + 1]
    starts, columns, values = (
        np.zeros(n + 1, np.int64),
        np.empty(last - first, np.int64),
        np.empty(last - first),
    )
    for e in range(first, last):
        starts[entry[e] // m + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    at = starts.copy()
    for e in range(first, last):
        i = entry[e] // m
        columns[at[i]], values[at[i]] = entry[e] % m, value[e]
        at[i] += 1
    return starts, columns, values


@kernel()
def row_start(lines, i):
    """Where in ``lines.rows`` the scores of matches of position i begin; row -1 is all 0."""
    rows = lines.rows
    lanes = simd.lanes_wide(rows)
    size = lanes * lines.stripes
    if i < 0:
        return len(rows) - 2 * size
    own = lines.row_of[lines.letters[i]] * size
    if lines.plain:
        return own
    to, m, stripes = len(rows) - size, lines.m, lines.stripes
    if len(lines.partner) and lines.partner[i] >= 0:
        rows[to:] = NEVER
        if lines.partner[i] > 0:
            put(lines, i, lines.partner[i] - 1, own, to)
        return to
    if len(lines.cells):
        stripe_row(lines.cells, i * m, m, stripes, rows, to)
        for t in range(0, size, lanes):
            simd.store(rows, to + t, simd.add(simd.load_wide(rows, own + t), simd.load_wide(rows, to + t)))
    else:
        for t in range(0, size, lanes):
            simd.store(rows, to + t, simd.load_wide(rows, own + t))
    for e in range(lines.starts[i], lines.starts[i + 1]):
        p = m - 1 - lines.columns[e]
        rows[to + p % stripes * lanes + p // stripes] += lines.values[e]
    if len(lines.mask):
        for j in range(m):
            if not lines.mask[i * m + j]:
                p = m - 1 - j
                rows[to + p % stripes * lanes + p // stripes] = NEVER
    return to


@kernel()
def put(lines, i, j, own, to):
    """The score of the match (i, j) into the row that is put together."""
    rows, m, stripes = lines.rows, lines.m, lines.stripes
    p = m - 1 - j
    at = p % stripes * simd.lanes_wide(rows) + p // stripes
    score = float(rows[own + at])
    if len(lines.cells):
        score += lines.cells[i * m + j]
    for e in range(lines.starts[i], lines.starts[i + 1]):
        if lines.columns[e] == j:
            score += lines.values[e]
    if len(lines.mask) and not lines.mask[i * m + j]:
        score = NEVER
    rows[to + at] = max(score, NEVER)


@kernel()
def stripe_row(cells, start, m, stripes, rows, to):
    """``cells[start : start + m]`` as a striped row at ``to``; behind the last place stands what stands before the row."""
    lanes = simd.lanes_wide(rows)
    # Vector t, lane l: position m - 1 - l * stripes - t, which is below 0 in the last lanes.
    if stripes >= lanes and start + m >= lanes * stripes:
        t = 0
        while t < stripes:
            t = min(t, stripes - lanes)  # the last blocks may overlap
            moves.store_columns(cells, start + m - t, stripes, rows, to + t * lanes)
            t += lanes
        return
    for lane in range(lanes):
        for t in range(stripes):
            j = m - 1 - lane * stripes - t
            rows[to + t * lanes + lane] = max(cells[start + j], NEVER) if j >= 0 else 0
