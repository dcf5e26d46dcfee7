"""What a pair looks like to the fast kernels: rows of numbers over the positions of b, in the precision of the kernels.

Scores of matches are one row for each letter of a. A sample is cut at matches that are known: between two of them lies
a pair of its own, with its own boundaries, so what is known makes the search faster. ``Rows`` are made once for a
sample, and a cut (i0, n, j0, m) says which part of it is meant: n positions of a from i0 on, m of b from j0 on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel


class Rows(NamedTuple):
    """One sample; arrays over positions of b have a margin of two vectors."""

    letters: Any  # of a, (n,)
    row_of: Any  # where the row of each letter begins, -1 if a does not have it
    matches: Any  # of letters of a and positions of b; then one row
    line: Any  # where this room is: a row with something added to single cells is put together there
    m: Any  # letters of b
    plain: Any  # whether nothing is added to single cells
    cells: Any  # floats n * m, added to matches; or none
    mask: Any  # bool n * m, false for a match that may not be; or none
    known: Any  # codes of the positions of a, -1 of those that are free; or none
    starts: Any  # single matches with an added score: where those of a position of a begin, (n + 1,)
    columns: Any
    values: Any
    open_x: Any  # gaps in b at its boundaries, (m + 1,) and a margin
    extend_x: Any
    unit_y: Any  # what a position of b adds where it is against a gap, (m,) and a margin
    open_y: Any  # gaps in a at its boundaries, (n + 1,)
    extend_y: Any
    unit_x: Any  # what a position of a adds where it is against a gap, (n,)
    units: Any  # whether any position does
    change: Any  # (1,): a gap in a directly after a gap in b


@kernel()
def pitch_of(m, like):
    """Numbers in a row of m + 1 boundaries: whole vectors, and two more."""
    lanes = simd.lanes_wide(like)
    return (m + 1 + lanes - 1) // lanes * lanes + 2 * lanes


@kernel()
def room_of_rows(n, m, n_letters, like):
    """How many numbers ``lay_out`` needs."""
    return (min(n, n_letters) + 4) * pitch_of(m, like) + 3 * n + 64


@kernel()
def copy_out(values, to):
    """``values`` in the precision of ``to``; 0 for minus infinity and behind them."""
    m = len(values)
    for k in range(m):
        to[k] = values[k] if values[k] > NEVER else 0.0
    to[m:] = 0


@kernel()
def lay_out(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense, mask,
    codes, starts, s, room, whole,
):  # fmt: skip
    """``Rows`` of sample ``s`` in ``room``, a flat array of the precision; ``whole`` int64, a number for each symbol.

    Costs of gaps are finite but at positions whose match is known.
    """
    lo, n, hi = offsets[s], splits[s], offsets[s + 1]
    m, pitch = hi - lo - n, pitch_of(hi - lo - n, room)
    a, b = letters[lo : lo + n], letters[lo + n : hi]
    open_x, extend_x, unit_y = room[:pitch], room[pitch : 2 * pitch], room[2 * pitch : 3 * pitch]
    used = 3 * pitch
    first = lo + 2 * s  # boundaries of a, then those of b
    second = first + n + 1
    copy_out(open_[second : second + m + 1], open_x)
    copy_out(extend[second : second + m + 1], extend_x)
    copy_out(unit[lo + n : hi], unit_y)
    open_y, extend_y, unit_x = (
        room[used : used + n + 1],
        room[used + n + 1 : used + 2 * n + 2],
        room[used + 2 * n + 2 : used + 3 * n + 2],
    )
    copy_out(open_[first:second], open_y)
    copy_out(extend[first:second], extend_y)
    copy_out(unit[lo : lo + n], unit_x)
    units = False
    for t in range(lo, hi):
        units |= unit[t] != 0
    small = room[used + 3 * n + 2 : used + 3 * n + 3]
    small[0] = change
    used += (3 * n + 4 + 15) // 16 * 16
    matches, line, row_of, added = room[used:], 0, whole[: len(substitution)], uniform[s]
    row_of[:] = -1
    for i in range(n):
        if row_of[a[i]] < 0:
            row_of[a[i]] = line
            own, to = substitution[a[i]], matches[line : line + pitch]
            for j in range(m):
                to[j] = own[b[j]]
            if added != 0.0:
                for j in range(m):
                    to[j] += added
            to[m:] = 0
            line += pitch
    known = codes[:0]
    if len(codes):
        known = codes[lo : lo + n]
        for j in range(m):
            if codes[lo + n + j] == 0:
                for k in range(j, line, pitch):
                    matches[k] = NEVER
    matches = matches[: line + pitch]
    matches[line:] = 0
    own_cells = dense[starts[s] : starts[s + 1]] if len(dense) else dense
    own_mask = mask[starts[s] : starts[s + 1]] if len(mask) else mask
    places, columns, values = rows_of_entries(entry_ptr, entry, value, s, n, m)
    plain = not (len(dense) or len(mask) or len(codes) or len(columns))
    return Rows(
        a, row_of, matches, line, m, plain, own_cells, own_mask, known, places, columns, values, open_x, extend_x,
        unit_y, open_y, extend_y, unit_x, units, small,
    )  # fmt: skip


@kernel()
def rows_of_entries(entry_ptr, entry, value, s, n, m):
    """Single cells of a sample by rows: starts, columns and values; all empty if there are none."""
    first, last = entry_ptr[s], entry_ptr[s + 1]
    if first == last:
        return entry_ptr[:0], entry[:0], value[:0]
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
def put_together(matches, own, line, i, whole_m, cells, mask, known, starts, columns, values, j0, m):
    """Scores of the matches of position i of a with m positions of b from j0 on, at ``line`` of ``matches``.

    Those of its letter begin at ``own``. Arrays come one by one, since a tuple of them costs more than a short row.
    """
    lanes, first, j = simd.lanes_wide(matches), i * whole_m + j0, 0
    if len(known) and known[i] == 0:
        matches[line : line + m] = NEVER
        return
    if len(cells):
        while j + lanes <= m:
            given = moves.load_as(cells, first + j, matches)
            simd.store(matches, line + j, simd.add(simd.load_wide(matches, own + j), given))
            j += lanes
        while j < m:
            matches[line + j] = matches[own + j] + cells[first + j]
            j += 1
    else:
        while j < m:
            simd.store(matches, line + j, simd.load_wide(matches, own + j))
            j += lanes
    if len(columns):
        for e in range(starts[i], starts[i + 1]):
            at = columns[e] - j0
            if 0 <= at < m:
                matches[line + at] += values[e]
    if len(mask):
        for k in range(m):
            if not mask[first + k]:
                matches[line + k] = NEVER
