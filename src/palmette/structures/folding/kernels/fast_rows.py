"""What a sequence looks like to the fast kernels: rows of numbers over the right end of a pair.

For a pair (i, j) everything that depends on letters is a table entry of (s[i], its neighbour, s[j], its neighbour). With
i fixed it is one row over j, contiguous, one for each of the 30 codes ``6 * letter + neighbour`` of the left end; the
neighbour ``BEYOND`` stands for the end of the sequence. Rows hold scores (for maxima) or factors (for sums).
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.layout import (
    BASE_PAIR,
    BULGE_NUCLEOTIDE,
    DANGLE_LEFT,
    DANGLE_RIGHT,
    EXTERNAL_PAIRED,
    HAIRPIN_LENGTH,
    HELIX_CLOSING,
    HELIX_STACKING,
    INTERIOR,
    INTERNAL_1X1,
    MULTI_BASE,
    MULTI_PAIRED,
    TERMINAL_MISMATCH,
)

BEYOND = 5  # the neighbour of the first letter on its left, of the last one on its right
CODES = 30  # 6 * letter + neighbour
# Tables of 30 x 30 codes, and the rows made of them, start here; the neighbours are those inside the pair for the first
# three (the pair closes a loop) and those outside for the others (it is a branch of a loop).
STACK, CLOSE, CLOSE_MULTI, INNER, BRANCH, ONE, BULGE = 0, 30, 60, 90, 120, 150, 156
N_ROWS = 157
N_CODED = 5 * CODES * CODES
SMALL = 36  # ONE: 6 x 6 letters inside a 1x1 loop; then BULGE: 6 letters
N_LETTER_TABLES = N_CODED + SMALL + 12  # a multiple of 16
WIDTH = 32  # of a row of the table of interior loops
N_SHAPES = 31 * WIDTH + 4


@kernel()
def letter_tables(tables, allowed, out):
    """Scores of pairs by letters: ``base_pair`` is in all that close a loop, and NEVER where the letters may not pair."""
    out[:] = NEVER
    for a in range(5):
        for b in range(5):
            mirrored = 5 * b + a
            closing, closing_out = tables[HELIX_CLOSING + 5 * a + b], tables[HELIX_CLOSING + mirrored]
            for c in range(6):
                for d in range(6):
                    at = (6 * a + c) * CODES + 6 * b + d
                    left = tables[DANGLE_LEFT + 5 * mirrored + d] if d < BEYOND else 0.0
                    right = tables[DANGLE_RIGHT + 5 * mirrored + c] if c < BEYOND else 0.0
                    out[BRANCH * CODES + at] = closing_out + left + right
                    if c == BEYOND or d == BEYOND:
                        continue  # never the neighbours inside a pair, nor of a pair inside another
                    out[INNER * CODES + at] = (
                        closing_out + tables[TERMINAL_MISMATCH + (5 * mirrored + d) * 5 + c]
                    )
                    if not allowed[5 * a + b]:
                        continue
                    pair, four = tables[BASE_PAIR + 5 * a + b], ((5 * a + b) * 5 + c) * 5 + d
                    out[STACK * CODES + at] = pair + tables[HELIX_STACKING + four]
                    out[CLOSE * CODES + at] = pair + closing + tables[TERMINAL_MISMATCH + four]
                    out[CLOSE_MULTI * CODES + at] = (
                        pair
                        + closing
                        + tables[DANGLE_LEFT + (5 * a + b) * 5 + c]
                        + tables[DANGLE_RIGHT + (5 * a + b) * 5 + d]
                        + tables[MULTI_BASE]
                        + tables[MULTI_PAIRED]
                    )
    for c in range(5):
        for d in range(5):
            out[N_CODED + 6 * c + d] = tables[INTERIOR + 32] + tables[INTERNAL_1X1 + 5 * c + d]
        out[N_CODED + SMALL + c] = tables[BULGE_NUCLEOTIDE + c]


@kernel()
def letter_rows(letters, must_pair, by_letters, nothing, bulge, pitch, rows):
    """Rows over j of all tables; ``nothing`` (a score NEVER or a factor 0) where a position on a bulge must pair.

    ``by_letters`` are scores or their exponentials, ``bulge`` those of one unpaired position on the right alone.
    """
    n = len(letters)
    inside, outside = np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(n):
        before = letters[j - 1] if j > 0 else BEYOND
        after = letters[j + 1] if j + 1 < n else BEYOND
        inside[j], outside[j] = 6 * letters[j] + before, 6 * letters[j] + after
    for row in range(N_ROWS - 7):
        codes, at = inside if row < INNER else outside, row * pitch
        table = by_letters[row * CODES : (row + 1) * CODES]
        for j in range(n):
            rows[at + j] = table[codes[j]]
        rows[at + n : at + pitch] = nothing
    for row in range(7):
        at, table = (ONE + row) * pitch, N_CODED + 6 * row
        rows[at : at + pitch] = nothing
        for j in range(1, n):
            if not must_pair[j - 1]:
                rows[at + j] = by_letters[table + letters[j - 1]]
                if row == 6:
                    rows[at + j] = combined(nothing, bulge, rows[at + j])


@kernel()
def combined(nothing, a, b):
    """The sum of two scores or the product of two factors, as ``nothing`` is NEVER or 0."""
    return a * b if nothing == 0.0 else a + b


@kernel()
def shapes_of_interior_loops(tables, shapes):
    """``shapes[32 * l2 + l1]`` of a loop with l1 and l2 unpaired positions; NEVER for those whose letters count, too."""
    shapes[:] = NEVER
    for l2 in range(31):
        for l1 in range(31 - l2):
            if l1 + l2 > 1 and (l1 != 1 or l2 != 1):
                shapes[WIDTH * l2 + l1] = tables[INTERIOR + 31 * l1 + l2]


@kernel()
def hairpins(tables, min_hairpin, out):
    """``out[j - i]`` of a hairpin closed by (i, j)."""
    for d in range(len(out)):
        out[d] = NEVER if d - 1 < min_hairpin else tables[HAIRPIN_LENGTH + min(d - 1, 30)]


@kernel()
def free_runs(must_pair, left, right):
    """How many positions just left of j, and from i + 1 on to the right, may all stay unpaired."""
    n = len(must_pair)
    left[0] = 0
    for j in range(1, n):
        left[j] = 0 if must_pair[j - 1] else left[j - 1] + 1
    left[n:] = 0
    right[n - 1] = 0
    for i in range(n - 2, -1, -1):
        right[i] = 0 if must_pair[i + 1] else right[i + 1] + 1


@kernel()
def extra_scores(i, n, side, starts, columns, values, dense, may_pair, out):
    """``out[j]``: what is added to the pair (i, j) from outside; NEVER where it is forbidden.

    ``side`` counts at both ends. ``starts, columns, values`` are sparse rows; ``dense`` and ``may_pair`` have n * n entries
    or none.
    """
    lanes = simd.lanes_wide(out)
    mine = simd.spread_wide(side, i)
    for j in range(i + 1, n, lanes):
        simd.store(out, j, simd.add(mine, simd.load_wide(side, j)))
    if len(dense):
        for j in range(i + 1, n):
            out[j] += dense[i * n + j]
    for at in range(starts[i], starts[i + 1]):
        out[columns[at]] += values[at]
    if len(may_pair):
        for j in range(i + 1, n):
            if not may_pair[i * n + j]:
                out[j] = NEVER


@kernel()
def row_starts(n, left, right, starts):
    """Row i of a triangle stands at ``starts[i] + j`` for j from ``i - left`` to ``n + right``; returns its size."""
    at = 0
    for i in range(n):
        starts[i] = at + left - i
        at += n - i + left + right
    return at


@kernel()
def external_over_multi(tables):
    """What a branch scores more in the external loop than in a multiloop."""
    return tables[EXTERNAL_PAIRED] - tables[MULTI_PAIRED]
