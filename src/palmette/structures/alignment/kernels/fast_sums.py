"""Sums over all alignments of one pair, sixteen floats or eight doubles of a row at once: scaled factors, no logs.

With the factors ``exp(score)``, from the ends (states as in ``fast_max``, sums instead of maxima):

    M(i, j) = S(i, j) H(i+1, j+1)
    L(i, j) = extend_y[i] unit[j] U(i, j+1),    U = M + L              a gap in a goes on; after a gap in a
    Y(i, j) = L(i, j) open_y[i] / extend_y[i]                          a gap in a begins
    T(i, j) = extend_x[j] unit[i] T(i+1, j) + M(i, j) + change Y(i, j)
    H(i, j) = open_x[j] unit[i] T(i+1, j) + M(i, j) + Y(i, j)

and from the starts, by the last step before (i, j), a match, a gap in b or a gap in a:

    A(i+1, j+1) = S(i, j) (A + B + D)(i, j)
    B(i+1, j) = unit[i] (open_x[j] A(i, j) + extend_x[j] B(i, j))
    D(i, j+1) = unit[j] (open_y[i] (A + change B)(i, j) + extend_y[i] D(i, j))

U and D run along a row: inside a vector they are sums of what stands to the right (left), each divided by what a gap
costs up to there (c); one number is handed on. Rows are scaled by powers of 2 when they leave
the middle of the range, and the logarithm of their scale is kept.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_max import vectors_of
from palmette.structures.alignment.kernels.fast_rows import pitch_of

HIGH, MIDDLE, LOW = 2.0**46, 2.0**40, 2.0**34  # largest number of a row: when to scale, and to what


@kernel()
def exponentials(array):
    """``exp`` of a whole array, in place; what counts as minus infinity becomes 0."""
    for k in range(len(array)):
        array[k] = np.exp(array[k]) if array[k] > 0.5 * NEVER else 0.0


@kernel()
def in_range(rows):
    """Whether factors of matches and gaps, and of a gap along a vector, stay far inside the range of the precision."""
    single = simd.lanes_wide(rows.matches) == 16
    most, step, fine = (20.0, 5.0, True) if single else (300.0, 80.0, True)
    for k in range(len(rows.matches)):
        fine &= rows.matches[k] < most
    for j in range(rows.m + 1):
        fine &= abs(rows.open_x[j]) < 2 * most and abs(rows.extend_x[j]) < 2 * most
    highest, lowest = rows.unit_y[0] * 0, rows.unit_y[0] * 0
    for j in range(rows.m):
        highest, lowest = max(highest, rows.unit_y[j]), min(lowest, rows.unit_y[j])
    for i in range(len(rows.letters) + 1):
        fine &= abs(rows.open_y[i]) < 2 * most
        fine &= rows.extend_y[i] + lowest > -step and rows.extend_y[i] + highest < step
    for i in range(len(rows.letters)):
        fine &= abs(rows.unit_x[i]) < 2 * most
    return fine and abs(rows.change[0]) < 2 * most


@kernel()
def to_factors(rows):
    """Scores of ``lay_out`` become factors, in place."""
    lanes, matches = simd.lanes_wide(rows.matches), rows.matches
    for k in range(0, len(matches), lanes):
        simd.store(matches, k, simd.exp(simd.load_wide(matches, k)))
    exponentials(rows.open_x)
    exponentials(rows.extend_x)
    exponentials(rows.unit_y)
    exponentials(rows.open_y)
    exponentials(rows.extend_y)
    exponentials(rows.unit_x)
    exponentials(rows.change)


@kernel()
def factors_together(matches, own, line, i, whole_m, cells, mask, known, starts, columns, values, j0, m):
    """Factors of the matches of position i of a with m positions of b from j0 on, at ``line`` of ``matches``."""
    lanes, first, j = simd.lanes_wide(matches), i * whole_m + j0, 0
    if len(known) and known[i] == 0:
        matches[line : line + m] = 0
        return
    if len(cells):
        while j + lanes <= m:
            given = simd.exp(moves.load_as(cells, first + j, matches))
            simd.store(matches, line + j, simd.mul(simd.load_wide(matches, own + j), given))
            j += lanes
        while j < m:
            matches[line + j] = matches[own + j] * np.exp(cells[first + j])
            j += 1
    else:
        while j < m:
            simd.store(matches, line + j, simd.load_wide(matches, own + j))
            j += lanes
    if len(columns):
        for e in range(starts[i], starts[i + 1]):
            at = columns[e] - j0
            if 0 <= at < m:
                matches[line + at] *= np.exp(values[e])
    if len(mask):
        for k in range(m):
            if not mask[first + k]:
                matches[line + k] = 0


@kernel()
def room_of_sums(n, m, like, counting):
    """How many numbers sums of n rows need: what is kept of each cell, then rows to work in."""
    kept = 3 if counting == 2 else counting
    return kept * (n + 1) * vectors_of(m, like) * simd.lanes_wide(like) + 12 * pitch_of(m, like) + 8 * n + 128


@kernel()
def scaled(room, at, other, size, largest):
    """Bring two rows to the middle of the range; returns the logarithm of what they were multiplied with."""
    factor = 2.0 ** np.rint(np.log2(MIDDLE / largest))
    lanes = simd.lanes_wide(room)
    times = simd.splat_wide(room, factor)
    for j in range(0, size, lanes):
        simd.store(room, at + j, simd.mul(simd.load_wide(room, at + j), times))
        simd.store(room, other + j, simd.mul(simd.load_wide(room, other + j), times))
    return np.log(factor)


@kernel()
def unit_factors(rows, j0, m, size, pitch, room, at):
    """What units of b multiply to from the first position of each vector on: a row, its inverse, over all of it."""
    lanes, unit_y = simd.lanes_wide(room), rows.unit_y
    for j in range(0, size, lanes):
        total = 1.0
        for k in range(lanes):
            room[at + j + k] = total
            room[at + pitch + j + k] = 1.0 / total
            if j + k < m:
                total *= unit_y[j0 + j + k]
        room[at + 2 * pitch + j // lanes] = total


@kernel()
def gap_factors(extended, size, pitch, room, at, small):
    """What a gap costs from the first position of each vector on: a row c, its inverse, over all of it (a number each).

    ``extended`` is the factor of an extension; those of units are three rows behind (``unit_factors``).
    """
    lanes, power = simd.lanes_wide(room), 1.0
    for k in range(lanes):
        room[small + k] = power
        room[small + lanes + k] = 1.0 / power
        power *= extended
    powers, inverse = simd.load_wide(room, small), simd.load_wide(room, small + lanes)
    for j in range(0, size, lanes):
        simd.store(room, at + j, simd.mul(powers, simd.load_wide(room, at + 3 * pitch + j)))
        simd.store(room, at + pitch + j, simd.mul(inverse, simd.load_wide(room, at + 4 * pitch + j)))
        room[at + 2 * pitch + j // lanes] = power * room[at + 5 * pitch + j // lanes]


@kernel()
def sum_ends(rows, i0, n, j0, m, counting, room, scales):
    """Fill sums from the ends of a cut; returns the logarithm of the sum over all alignments, NaN if out of range.

    ``counting`` 0 keeps nothing, 1 keeps M, 2 also T of the next row and L, each (n, vectors x lanes), at the start of
    ``room``. ``scales`` (n,): the logarithm of the scale of what is kept of each row.
    """
    lanes, pitch = simd.lanes_wide(room), pitch_of(m, room)
    size = vectors_of(m, room) * lanes
    matches, letters, row_of, line, plain = rows.matches, rows.letters, rows.row_of, rows.line, rows.plain
    open_x, extend_x, open_y, extend_y = rows.open_x, rows.extend_x, rows.open_y, rows.extend_y
    cells, mask, known, starts, columns, values, whole_m = (
        rows.cells, rows.mask, rows.known, rows.starts, rows.columns, rows.values, rows.m
    )  # fmt: skip
    kept_t, kept_l, end = n * size, 2 * n * size, i0 + n
    h = (3 if counting == 2 else counting) * n * size
    then, t, c, small = h + pitch, h + 2 * pitch, h + 3 * pitch, h + 9 * pitch
    inverse, whole = c + pitch, c + 2 * pitch
    room[h:small] = 0
    zero, change = simd.splat_wide(room, 0.0), simd.spread_wide(rows.change, 0)
    room[h + m], room[t + m] = MIDDLE, MIDDLE
    left, log_scale = room[h + m] * open_y[end], np.log(MIDDLE)
    for j in range(m - 1, -1, -1):
        left *= rows.unit_y[j0 + j]
        room[h + j], room[t + j] = left, left * rows.change[0]
        left *= extend_y[end]
    unit_factors(rows, j0, m, size, pitch, room, c + 3 * pitch)
    gap_factors(extend_y[end - 1], size, pitch, room, c, small)
    for i in range(end - 1, i0 - 1, -1):
        scales[i - i0] = log_scale
        if i < end - 1 and extend_y[i] != extend_y[i + 1]:
            gap_factors(extend_y[i], size, pitch, room, c, small)
        start, keep = row_of[letters[i]] + j0, (i - i0) * size
        if not plain:
            factors_together(
                matches, start, line, i, whole_m, cells, mask, known, starts, columns, values, j0, m
            )
            start = line
        room[small] = open_y[i] / extend_y[i]
        opening, own_unit = simd.spread_wide(room, small), simd.spread_wide(rows.unit_x, i)
        carry, largest = zero, zero
        for j in range(size - lanes, -1, -lanes):
            match = simd.mul(simd.load_wide(matches, start + j), simd.load_wide(room, h + j + 1))
            u = simd.mul(match, simd.load_wide(room, c + j))
            after = moves.sums_after(u)
            carry = simd.mul(carry, simd.spread_wide(room, whole + j // lanes))
            longer_y = simd.mul(simd.add(after, carry), simd.load_wide(room, inverse + j))
            carry = simd.add(moves.spread_first(simd.add(u, after)), carry)
            old = simd.load_wide(room, t + j)
            below, y = simd.mul(old, own_unit), simd.mul(longer_y, opening)
            new_h = simd.fma(below, simd.load_wide(open_x, j0 + j), simd.add(match, y))
            largest = simd.larger(largest, new_h)
            simd.store(room, then + j, new_h)
            if counting > 0:
                simd.store(room, keep + j, match)
            if counting > 1:
                simd.store(room, kept_t + keep + j, old)
                simd.store(room, kept_l + keep + j, longer_y)
            new_t = simd.fma(below, simd.load_wide(extend_x, j0 + j), simd.fma(y, change, match))
            simd.store(room, t + j, new_t)
        h, then = then, h
        top = float(simd.largest(largest))
        if not (top < HIGH and top > LOW):
            if not (top < np.inf and top > 0.0):
                return np.nan
            log_scale += scaled(room, h, t, size, top)
    return np.log(float(room[h])) - log_scale


@kernel()
def sum_starts(rows, i0, n, j0, m, counting, room, scales, log_z, shares, gaps, weight, cells_at, own_cells):
    """Expected numbers of parts of a cut, after ``sum_ends``; returns the sum over all alignments by log_z's, near 1.

    ``shares``: the probabilities of matches are added to the row of the letter of a, all to one row if ``counting`` is
    1; behind these rows, if it is 2, gaps in b begun and gone on at the boundaries of b, without their factors.
    ``gaps`` (4, n + 1), of a: probability to be matched; at boundaries, gaps in a begun, gone on, and changed to.
    Probabilities times ``weight`` are written to ``own_cells`` from ``cells_at`` on, unless it is empty.
    """
    lanes, pitch = simd.lanes_wide(room), pitch_of(m, room)
    size = vectors_of(m, room) * lanes
    matches, letters, row_of, line, plain = rows.matches, rows.letters, rows.row_of, rows.line, rows.plain
    open_x, extend_x, open_y, extend_y = rows.open_x, rows.extend_x, rows.open_y, rows.extend_y
    cells, mask, known, starts, columns, values, whole_m = (
        rows.cells, rows.mask, rows.known, rows.starts, rows.columns, rows.values, rows.m
    )  # fmt: skip
    kept_t, kept_l, end, with_cells = n * size, 2 * n * size, i0 + n, len(own_cells) > 0
    cells_end = cells_at + len(letters) * whole_m
    fresh_at, on_at = (
        len(shares) - 2 * pitch_of(whole_m, room) + j0,
        len(shares) - pitch_of(whole_m, room) + j0,
    )
    a = (3 if counting == 2 else counting) * n * size
    then, b, c, small = a + pitch, a + 2 * pitch, a + 3 * pitch, a + 9 * pitch
    inverse, whole = c + pitch, c + 2 * pitch
    room[a:small] = 0
    zero, change = simd.splat_wide(room, 0.0), simd.spread_wide(rows.change, 0)
    room[a], log_scale, weights = MIDDLE, np.log(MIDDLE), simd.splat_wide(room, weight)
    unit_factors(rows, j0, m, size, pitch, room, c + 3 * pitch)
    gap_factors(extend_y[i0], size, pitch, room, c, small)
    for i in range(i0, end):
        if i > i0 and extend_y[i] != extend_y[i - 1]:
            gap_factors(extend_y[i], size, pitch, room, c, small)
        start, keep = row_of[letters[i]] + j0, (i - i0) * size
        if not plain:
            factors_together(
                matches, start, line, i, whole_m, cells, mask, known, starts, columns, values, j0, m
            )
            start = line
        room[small] = open_y[i] / extend_y[i]
        room[small + 1] = np.exp(-log_scale - scales[i - i0] - log_z)
        room[small + 2] = room[small + 1] * rows.unit_x[i]
        if not room[small + 1] > 0:
            return np.nan
        opening, times = simd.spread_wide(room, small), simd.spread_wide(room, small + 1)
        own_unit, times_x = simd.spread_wide(rows.unit_x, i), simd.spread_wide(room, small + 2)
        carry, largest, begun, on, changed, mass = zero, zero, zero, zero, zero, zero
        share = (row_of[letters[i]] if counting > 1 else 0) + j0
        # Whole vectors: zeros behind the row go to cells in no cut or written later, but not to other samples.
        to = cells_at + i * whole_m + j0
        at_once = with_cells and to + size <= cells_end
        for j in range(0, size, lanes):
            before, across = simd.load_wide(room, a + j), simd.load_wide(room, b + j)
            sources = simd.fma(across, change, before)
            d = simd.mul(simd.mul(sources, opening), simd.load_wide(room, inverse + j))
            already = moves.sums_before(d)
            down = simd.mul(simd.add(already, carry), simd.load_wide(room, c + j))
            every = moves.spread_last(simd.add(d, already))
            carry = simd.mul(simd.add(every, carry), simd.spread_wide(room, whole + j // lanes))
            total = simd.add(simd.add(before, across), down)
            largest = simd.larger(largest, total)
            simd.store(room, then + j + 1, simd.mul(total, simd.load_wide(matches, start + j)))
            chance = simd.mul(simd.load_wide(room, keep + j), simd.mul(total, times))
            mass = simd.add(mass, chance)
            simd.store(shares, share + j, simd.add(chance, simd.load_wide(shares, share + j)))
            if at_once:
                moves.store_as(own_cells, to + j, simd.mul(chance, weights))
            elif with_cells:
                simd.store(room, keep + j, simd.mul(chance, weights))
            if counting > 1:
                below, longer_y = (
                    simd.load_wide(room, kept_t + keep + j),
                    simd.load_wide(room, kept_l + keep + j),
                )
                begun = simd.fma(sources, longer_y, begun)
                on = simd.fma(down, longer_y, on)
                changed = simd.fma(across, longer_y, changed)
                below = simd.mul(below, times_x)
                simd.store(
                    shares, fresh_at + j, simd.fma(before, below, simd.load_wide(shares, fresh_at + j))
                )
                simd.store(shares, on_at + j, simd.fma(across, below, simd.load_wide(shares, on_at + j)))
            fresh = simd.mul(before, simd.load_wide(open_x, j0 + j))
            fresh = simd.fma(across, simd.load_wide(extend_x, j0 + j), fresh)
            simd.store(room, b + j, simd.mul(own_unit, fresh))
        room[then] = 0
        room[then + m + 1 : then + pitch] = 0
        gaps[0, i] = float(simd.total(mass))
        if with_cells and not at_once:
            for j in range(m):
                own_cells[to + j] = room[keep + j]
        if counting > 1:
            own, opened = float(room[small + 1]), float(room[small])
            gaps[1, i] += own * opened * simd.total(begun)
            gaps[2, i] += own * simd.total(on)
            gaps[3, i] += own * opened * float(rows.change[0]) * simd.total(changed)
        a, then = then, a
        top = float(simd.largest(largest))
        if not (top < HIGH and top > LOW):
            if not (top < np.inf and top > 0.0):
                return np.nan
            log_scale += scaled(room, a, b, size, top)
    # The last row: only gaps in a are left, and all of them run to the end of b.
    own, through, total, opened = np.exp(-log_scale - log_z), 1.0, 0.0, float(open_y[end])
    total = (float(room[a + m]) + float(room[b + m])) * own
    for j in range(m - 1, -1, -1):
        through *= float(rows.unit_y[j0 + j])
        sources = own * (float(room[a + j]) + float(rows.change[0]) * float(room[b + j])) * opened * through
        total += sources
        if counting > 1:
            gaps[1, end] += sources
            gaps[2, end] += sources * (m - 1 - j)
            gaps[3, end] += own * float(rows.change[0]) * float(room[b + j]) * opened * through
        through *= float(extend_y[end])
    return total
