"""Log-partition, probabilities of pairs and expected counts of a sequence: the fast kernels for sums, in order."""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_factors import factors_of_loops
from palmette.structures.folding.kernels.fast_inside import fill_sum
from palmette.structures.folding.kernels.fast_outside import fill_outside
from palmette.structures.folding.kernels.fast_rows import (
    BEYOND,
    BRANCH,
    BULGE,
    CLOSE,
    CLOSE_MULTI,
    CODES,
    INNER,
    MARGIN,
    N_ROWS,
    N_SHAPES,
    ONE,
    STACK,
    WIDTH,
    row_starts,
)
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

MOST_TRIALS = 8  # of rates; a sequence of unequal parts may need a wider range than there is


@kernel()
def add_row_counts(letters, around, pitch, weight, counts):
    """Add the counts of rows to those of the tables: the adjoint of ``letter_tables`` and ``letter_rows``."""
    n = len(letters)
    by_code = np.zeros(5 * CODES * CODES)
    for j in range(n):
        before = letters[j - 1] if j > 0 else BEYOND
        after = letters[j + 1] if j + 1 < n else BEYOND
        inside, outside = 6 * letters[j] + before, 6 * letters[j] + after
        for row in range(INNER):
            by_code[row * CODES + inside] += around[row * pitch + j]
        for row in range(INNER, ONE):
            by_code[row * CODES + outside] += around[row * pitch + j]
        if j > 0:
            d = letters[j - 1]
            for c in range(5):
                found = weight * around[(ONE + c) * pitch + j]
                counts[INTERNAL_1X1 + 5 * c + d] += found
                counts[INTERIOR + 32] += found
            found = weight * around[BULGE * pitch + j]
            counts[BULGE_NUCLEOTIDE + d] += found
            counts[INTERIOR + 1] += found
    for a in range(5):
        for b in range(5):
            pair, mirrored = 5 * a + b, 5 * b + a
            for c in range(6):
                for d in range(6):
                    at = (6 * a + c) * CODES + 6 * b + d
                    branch = weight * by_code[BRANCH * CODES + at]
                    counts[HELIX_CLOSING + mirrored] += branch
                    if d < BEYOND:
                        counts[DANGLE_LEFT + 5 * mirrored + d] += branch
                    if c < BEYOND:
                        counts[DANGLE_RIGHT + 5 * mirrored + c] += branch
                    if c == BEYOND or d == BEYOND:
                        continue
                    inner = weight * by_code[INNER * CODES + at]
                    counts[HELIX_CLOSING + mirrored] += inner
                    counts[TERMINAL_MISMATCH + (5 * mirrored + d) * 5 + c] += inner
                    stack, close = weight * by_code[STACK * CODES + at], weight * by_code[CLOSE * CODES + at]
                    multi, four = weight * by_code[CLOSE_MULTI * CODES + at], (5 * pair + c) * 5 + d
                    counts[BASE_PAIR + pair] += stack + close + multi
                    counts[HELIX_STACKING + four] += stack
                    counts[HELIX_CLOSING + pair] += close + multi
                    counts[TERMINAL_MISMATCH + four] += close
                    counts[DANGLE_LEFT + 5 * pair + c] += multi
                    counts[DANGLE_RIGHT + 5 * pair + d] += multi
                    counts[MULTI_BASE] += multi
                    counts[MULTI_PAIRED] += multi


@kernel()
def add_other_counts(n, distances, bulges, shapes, weight, counts):
    """Add the counts by distance, of bulges on the left and of shapes to those of the tables."""
    span = len(distances) // 4
    external = 0.0
    for d in range(1, n):
        hairpin, closed = float(distances[d]), float(distances[span + d])
        branch, outer = float(distances[2 * span + d]), float(distances[3 * span + d])
        counts[HAIRPIN_LENGTH + min(d - 1, 30)] += weight * hairpin
        # A multiloop has as many unpaired positions as its closing pair encloses, less those its branches span.
        counts[MULTI_UNPAIRED] += weight * ((d - 1) * closed - (d + 1) * branch)
        counts[MULTI_PAIRED] += weight * branch
        counts[EXTERNAL_PAIRED] += weight * outer
        external += (d + 1) * outer
    counts[EXTERNAL_UNPAIRED] += weight * (n - external)
    for a in range(5):
        counts[BULGE_NUCLEOTIDE + a] += weight * bulges[a]
        counts[INTERIOR + 31] += weight * bulges[a]
    for l2 in range(31):
        for l1 in range(31 - l2):
            counts[INTERIOR + 31 * l1 + l2] += weight * shapes[WIDTH * l2 + l1]


@kernel()
def read_pairs(n, min_hairpin, base, c, paired, square):
    """Probability of each position to be paired; with a square (n * n), those of pairs i < j. Whether all are sane."""
    paired[:] = 0.0
    sane = True
    for i in range(n):
        total = 0.0
        for j in range(i + min_hairpin + 1, n):
            probability = c[base[i] + j]
            total += probability
            paired[j] += probability
        paired[i] += total
        sane &= -0.01 < paired[i] < 1.01  # false for NaN
    if len(square):
        for i in range(n):
            for j in range(i + min_hairpin + 1, n):
                square[i * n + j] = c[base[i] + j]
    return sane


@kernel()
def sum_structures(
    tables, by_letters, sequence, must_pair, min_hairpin, longest, pairs, rate, weight, room, paired, square, counts,
):  # fmt: skip
    """Log-partition of a sequence in the precision of ``pairs.side``; NaN if sums left the range of these numbers.

    ``room`` is four triangles. ``rate`` is a guess at the log-partition per position.
    Writes probabilities to ``paired`` (n,) and ``square`` (n * n or none), unless ``paired`` is empty, and adds
    ``weight`` times the expected counts to those of the tables, unless these are empty.
    """
    n, like = len(sequence), pairs.side
    before = simd.flush_denormals()
    base = np.empty(n, np.int64)
    size = row_starts(n, MARGIN, 2 * simd.lanes_wide(like), base)
    c, m = room[:size], room[size : 2 * size]
    m2s = room[2 * size : 3 * size] if len(counts) else room[:0]
    f = np.empty(n + 1, like.dtype)
    column_start, column_count = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        column_start[k] = k * (k - 1) // 2
    column_row = np.empty(n * (n - 1) // 2, np.int32)
    column_weight = room[3 * size : 3 * size + n * (n - 1) // 2]
    log_z = math.nan
    loops, fits = factors_of_loops(tables, by_letters, sequence, must_pair, min_hairpin, longest, rate, like)
    for _ in range(MOST_TRIALS):
        if not fits:
            break
        stuck = fill_sum(
            loops, pairs, base, c, m, m2s, f, column_start, column_count, column_row, column_weight
        )
        if stuck < 0:
            if f[0] > 0.0:
                log_z = math.log(f[0]) + n * rate
            break
        if stuck + 1 >= n or not 0.0 < f[stuck + 1] < math.inf:
            break
        rate += math.log(f[stuck + 1]) / (n - stuck - 1)
        loops, fits = factors_of_loops(
            tables, by_letters, sequence, must_pair, min_hairpin, longest, rate, like
        )
    if log_z == log_z and len(paired):
        counting = len(counts) > 0
        around = np.zeros(N_ROWS * loops.pitch if counting else 0, like.dtype)
        distances = np.zeros(4 * loops.pitch if counting else 0, like.dtype)
        bulges, shape_counts = np.zeros(6), np.zeros(N_SHAPES)
        fill_outside(
            loops, pairs, base, c, m, m2s, f, column_start, column_count, column_row, column_weight, around, distances,
            bulges, shape_counts,
        )  # fmt: skip
        if not read_pairs(n, min_hairpin, base, c, paired, square):
            log_z = math.nan
        elif counting:
            add_row_counts(loops.letters, around, loops.pitch, weight, counts)
            add_other_counts(n, distances, bulges, shape_counts, weight, counts)
    simd.restore_denormals(before)
    return log_z
