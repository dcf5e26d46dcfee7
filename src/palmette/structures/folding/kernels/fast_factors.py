"""The rows of ``fast_rows`` as factors for sums, scaled so that a sum over many positions stays in range.

A position counts a factor ``exp(-rate)``, the same everywhere: a span of l positions is scaled by ``exp(-rate l)``. If
the rate is the mean log-partition per position, sums over spans of any length keep their size.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_rows import (
    BULGE,
    CLOSE,
    CLOSE_MULTI,
    CODES,
    INNER,
    MARGIN,
    N_CODED,
    N_LETTER_TABLES,
    N_ROWS,
    N_SHAPES,
    ONE,
    SMALL,
    STACK,
    WIDTH,
    Loops,
    extra_scores,
    free_runs,
    hairpins,
    letter_rows,
    shapes_of_interior_loops,
)
from palmette.structures.folding.layout import (
    BULGE_NUCLEOTIDE,
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    INTERIOR,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)


@kernel()
def largest_exponent(like):
    """Of a factor in this precision."""
    return 80.0 if simd.lanes_wide(like) == 16 else 700.0


@kernel()
def exponentials(x):
    """In place, 0 for NEVER; returns the largest exponent and the largest negated one. Whole vectors only."""
    most, least = simd.splat_wide(x, 0.0), simd.splat_wide(x, 0.0)
    forbidden = simd.splat_wide(x, 0.5 * NEVER)
    zero = simd.splat_wide(x, 0.0)
    for at in range(0, len(x), simd.lanes_wide(x)):
        v = simd.load_wide(x, at)
        most = simd.larger(v, most)
        least = simd.larger(simd.where_at_least(v, forbidden, simd.sub(zero, v), zero), least)
        simd.store(x, at, simd.exp(v))
    return simd.largest(most), simd.largest(least)


@kernel()
def factors_of_loops(tables, by_letters, sequence, must_pair, min_hairpin, longest, rate, like):
    """The ``Loops`` of a sequence for sums, and whether all factors are in range."""
    letters, n = sequence.astype(np.int64), len(sequence)
    dtype, lanes = like.dtype.type, simd.lanes_wide(like)
    nothing, pitch = dtype(0.0), n + MARGIN
    coded = np.empty(N_LETTER_TABLES, like.dtype)
    coded[:] = by_letters
    # Each position counts where it is added to a span: a closing pair with its interior loop, or on its own.
    coded[STACK * CODES : CLOSE * CODES] -= 2 * rate
    coded[CLOSE_MULTI * CODES : INNER * CODES] -= 2 * rate
    coded[N_CODED : N_CODED + SMALL] -= 4 * rate
    coded[N_CODED + SMALL :] -= 3 * rate
    most, least = exponentials(coded)
    worst = max(most, least)
    rows, shapes = np.empty(N_ROWS * pitch, like.dtype), np.empty(N_SHAPES, like.dtype)
    bulge_right = dtype(math.exp(tables[INTERIOR + 1])) if longest > 0 else nothing
    letter_rows(letters, must_pair, coded, nothing, bulge_right, pitch, rows)
    if longest < 2:
        rows[ONE * pitch : BULGE * pitch] = nothing
    shapes_of_interior_loops(tables, longest, shapes)
    for l2 in range(31):
        for l1 in range(31 - l2):
            shapes[WIDTH * l2 + l1] -= (l1 + l2 + 2) * rate
    most, _ = exponentials(shapes)  # what is too small to count is 0
    worst = max(worst, most)
    hairpin = np.full((pitch + lanes) // lanes * lanes, dtype(NEVER))
    hairpins(tables, min_hairpin, hairpin)
    for d in range(n):
        hairpin[d] -= (d + 1) * rate
    most, _ = exponentials(hairpin[: n // lanes * lanes + lanes])
    worst = max(worst, most)
    hairpin[n:] = nothing
    bulge_left = np.zeros(6, like.dtype)
    for a in range(5):
        if longest > 0:
            bulge_left[a] = math.exp(tables[INTERIOR + 31] + tables[BULGE_NUCLEOTIDE + a] - 3 * rate)
    multi, external, limited = np.zeros(n, like.dtype), np.zeros(n, like.dtype), False
    for t in range(n):
        if must_pair[t]:
            limited = True
        else:
            multi[t] = math.exp(tables[MULTI_UNPAIRED] - rate)
            external[t] = math.exp(tables[EXTERNAL_UNPAIRED] - rate)
    for at in (INTERIOR + 1, MULTI_PAIRED, EXTERNAL_PAIRED, MULTI_UNPAIRED, EXTERNAL_UNPAIRED):
        worst = max(worst, abs(tables[at]) + abs(rate))
    free_left, free_right = np.empty(pitch, like.dtype), np.empty(pitch, like.dtype)
    free_runs(must_pair, free_left, free_right)
    loops = Loops(
        letters, min_hairpin, longest, rows, pitch, shapes, hairpin, bulge_left, bulge_right, multi, external,
        dtype(math.exp(tables[MULTI_PAIRED])), dtype(math.exp(tables[EXTERNAL_PAIRED])), free_left, free_right, limited,
        np.arange(pitch).astype(like.dtype),
    )  # fmt: skip
    return loops, worst <= largest_exponent(like)


@kernel()
def extra_factors(i, n, pairs, out):
    """``out[j]``: the factor of the pair (i, j) from outside, 0 where it is forbidden; whether all are in range."""
    extra_scores(i, n, pairs, out)
    for j in range(n, n + simd.lanes_wide(out)):
        out[j] = NEVER
    lanes = simd.lanes_wide(out)
    most, limit = simd.splat_wide(out, 0.0), largest_exponent(out)
    forbidden, zero = simd.splat_wide(out, 0.5 * NEVER), simd.splat_wide(out, 0.0)
    for j in range(i + 1, n, lanes):
        v = simd.load_wide(out, j)
        size = simd.larger(v, simd.sub(zero, v))
        most = simd.larger(simd.where_at_least(v, forbidden, size, zero), most)
        simd.store(out, j, simd.exp(v))
    return simd.largest(most) <= limit
