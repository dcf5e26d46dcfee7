"""What a sequence looks like to the fast kernels: rows of numbers over the right end of a pair.

For a pair (i, j) everything that depends on letters is a table entry of (s[i], its neighbour, s[j], its neighbour).
With i fixed it is one row over j, contiguous, one for each of the 30 codes ``6 * letter + neighbour`` of the left end;
the neighbour ``BEYOND`` stands for the end of the sequence. Rows hold scores (for maxima) or factors (for sums).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    EXTERNAL_UNPAIRED,
    HAIRPIN_LENGTH,
    HELIX_CLOSING,
    HELIX_STACKING,
    INTERIOR,
    INTERNAL_1X1,
    MULTI_BASE,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
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
N_LETTER_TABLES = N_CODED + SMALL + 24  # a multiple of 16
WIDTH = 32  # of a row of the table of interior loops
N_SHAPES = 32 * WIDTH
MARGIN = 64  # numbers before the first and after the last position of a row: at least four vectors


class Loops(NamedTuple):
    """What loops of one sequence score, in the precision of the kernels; factors instead of scores for sums."""

    letters: Any  # int64 (n,)
    min_hairpin: Any
    longest: Any  # most unpaired positions in an interior loop
    rows: Any  # N_ROWS rows over j
    pitch: Any  # numbers in a row
    shapes: Any  # 32 * l2 + l1 of an interior loop
    hairpin: Any  # by j - i
    bulge_left: Any  # by letter
    bulge_right: Any  # without its letter
    multi: Any  # unpaired position in a multiloop, (n,)
    external: Any  # unpaired position in the external loop, (n,)
    multi_paired: Any
    external_paired: Any
    free_left: Any  # how many positions just left of j may all stay unpaired, (n + MARGIN,)
    free_right: Any  # the same on the right of i
    limited: Any  # whether some position must pair
    ramp: Any  # 0, 1, 2, ...: lengths as numbers of this precision


class Pairs(NamedTuple):
    """What is added to pairs of one sequence from outside, and which may not be."""

    plain: Any  # whether there is nothing of it
    side: Any  # float (n + MARGIN,): added for both positions of a pair
    starts: Any  # sparse rows: place of the first entry, (n + 1,)
    columns: Any
    values: Any
    dense: Any  # n * n scores, or none
    mask: Any  # n * n, false for a pair that may not be, or none
    partner: Any  # code of each position that is known, -1 of the others, or none


@kernel()
def letter_tables(tables, allowed, out):
    """Scores of pairs by letters: ``base_pair`` is in all that close a loop. NEVER where letters may not pair."""
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
def shapes_of_interior_loops(tables, longest, shapes):
    """``shapes[32 * l2 + l1]`` of a loop with l1 and l2 unpaired positions; NEVER for those where letters count."""
    shapes[:] = NEVER
    for l2 in range(longest + 1):
        for l1 in range(longest + 1 - l2):
            if l1 + l2 > 1 and (l1 != 1 or l2 != 1):
                shapes[WIDTH * l2 + l1] = tables[INTERIOR + 31 * l1 + l2]


@kernel()
def shapes_within(loops, free, nothing, out):
    """The shapes with at most ``free`` positions on the left, ``nothing`` for the others; written where need be."""
    if not loops.limited:
        return loops.shapes
    out[:] = loops.shapes
    if free < 30:
        for l2 in range(31):
            out[WIDTH * l2 + int(free) + 1 : WIDTH * (l2 + 1)] = nothing
    return out


@kernel()
def hairpins(tables, min_hairpin, out):
    """``out[j - i]`` of a hairpin closed by (i, j)."""
    for d in range(len(out)):
        out[d] = NEVER if d - 1 < min_hairpin else tables[HAIRPIN_LENGTH + min(d - 1, 30)]


@kernel()
def free_runs(must_pair, left, right):
    """How many positions just left of j, and just right of i, may all stay unpaired."""
    n = len(must_pair)
    left[0], right[n - 1] = 0, 0
    for j in range(1, n):
        left[j] = 0 if must_pair[j - 1] else left[j - 1] + 1
    for i in range(n - 2, -1, -1):
        right[i] = 0 if must_pair[i + 1] else right[i + 1] + 1
    left[n:], right[n:] = 0, 0


@kernel()
def extra_scores(i, n, pairs, out):
    """``out[j]``: what is added to the pair (i, j) from outside; NEVER where it is forbidden."""
    lanes = simd.lanes_wide(out)
    mine = simd.spread_wide(pairs.side, i)
    for j in range(i + 1, n, lanes):
        simd.store(out, j, simd.add(mine, simd.load_wide(pairs.side, j)))
    if len(pairs.dense):
        for j in range(i + 1, n):
            out[j] += pairs.dense[i * n + j]
    for at in range(pairs.starts[i], pairs.starts[i + 1]):
        out[pairs.columns[at]] += pairs.values[at]
    if len(pairs.mask):
        for j in range(i + 1, n):
            if not pairs.mask[i * n + j]:
                out[j] = NEVER
    if len(pairs.partner):
        known = pairs.partner[i]
        for j in range(i + 1, n):
            other = pairs.partner[j]
            if (known >= 0 and known != j + 1) or (other >= 0 and other != i + 1):
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
def scores_of_loops(tables, by_letters, sequence, must_pair, min_hairpin, longest, like):
    """The ``Loops`` of a sequence, for maxima."""
    letters, n = sequence.astype(np.int64), len(sequence)
    dtype = like.dtype.type
    nothing, pitch = dtype(NEVER), n + MARGIN
    rows, shapes = np.empty(N_ROWS * pitch, like.dtype), np.empty(N_SHAPES, like.dtype)
    bulge_right = dtype(tables[INTERIOR + 1]) if longest > 0 else nothing
    letter_rows(letters, must_pair, by_letters.astype(like.dtype), nothing, bulge_right, pitch, rows)
    if longest < 2:
        rows[ONE * pitch : BULGE * pitch] = nothing
    shapes_of_interior_loops(tables, longest, shapes)
    hairpin, bulge_left = np.empty(pitch, like.dtype), np.full(6, nothing)
    hairpins(tables, min_hairpin, hairpin)
    for a in range(5):
        if longest > 0:
            bulge_left[a] = tables[INTERIOR + 31] + tables[BULGE_NUCLEOTIDE + a]
    multi, external, limited = np.full(n, nothing), np.full(n, nothing), False
    for t in range(n):
        if must_pair[t]:
            limited = True
        else:
            multi[t], external[t] = tables[MULTI_UNPAIRED], tables[EXTERNAL_UNPAIRED]
    free_left, free_right = np.empty(pitch, like.dtype), np.empty(pitch, like.dtype)
    free_runs(must_pair, free_left, free_right)
    return Loops(
        letters, min_hairpin, longest, rows, pitch, shapes, hairpin, bulge_left, bulge_right, multi, external,
        dtype(tables[MULTI_PAIRED]), dtype(tables[EXTERNAL_PAIRED]), free_left, free_right, limited,
        np.arange(pitch).astype(like.dtype),
    )  # fmt: skip
