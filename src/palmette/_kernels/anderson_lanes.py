"""Anderson's extrapolation of eight fixed-point iterations at once, each with its own history (see ``anderson``).

``run`` has flat arrays of ``LANES`` numbers an entry, of which lane l is the iteration l: ``messages`` is the state,
``before`` what it was before the last step, and the rest is the history. Differences are kept in single precision: they
are small where accuracy counts.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd, simd_moves
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel

MEMORY = 5  # steps of which differences are kept
CHUNK = 64  # entries whose differences stay in the first cache while they are multiplied


@kernel()
def extrapolate_lanes(run, start, stop, turn):
    """The next states of the entries ``start:stop`` into ``run.messages``, of lanes that move (``run.moving``).

    ``turn`` counts the calls. ``run.age`` is how many differences of a lane count, from the newest; it grows by one.
    """
    row, span = turn % MEMORY, len(run.messages)
    for k in range(2 * MEMORY * LANES):
        run.sums[k] = 0.0
    # x -> g in one step and f = g - x: row ``turn % MEMORY`` of df and dg becomes the differences of f and of g from
    # the last ones. ``sums`` gathers df_row df^T and df f.
    for low in range(start, stop, CHUNK):
        high = min(low + CHUNK, stop)
        for k in range(low, high):
            at = k * LANES
            g = simd.load(run.messages, at)
            f = simd.sub(g, simd.load(run.before, at))
            simd_moves.store_as(run.df, row * span + at, simd.sub(f, simd.load(run.last_f, at)))
            simd_moves.store_as(run.dg, row * span + at, simd.sub(g, simd.load(run.last_g, at)))
            simd.store(run.last_f, at, f)
            simd.store(run.last_g, at, g)
        for other in range(MEMORY):
            with_row = simd.load(run.sums, other * LANES)
            with_f = simd.load(run.sums, (MEMORY + other) * LANES)
            for k in range(low, high):
                at = k * LANES
                mine = simd_moves.load_as(run.df, row * span + at, run.sums)
                theirs = simd_moves.load_as(run.df, other * span + at, run.sums)
                with_row = simd.fma(mine, theirs, with_row)
                with_f = simd.fma(simd.load(run.last_f, at), theirs, with_f)
            simd.store(run.sums, other * LANES, with_row)
            simd.store(run.sums, (MEMORY + other) * LANES, with_f)
    for other in range(MEMORY):
        simd.store(run.gram, (row * MEMORY + other) * LANES, simd.load(run.sums, other * LANES))
        simd.store(run.gram, (other * MEMORY + row) * LANES, simd.load(run.sums, other * LANES))
    solve_lanes(run, turn)
    # x = g - sum_k c_k dg_k, with the c of ``solve_lanes`` (0 in lanes that do not move), from the newest row on
    for k in range(start, stop):
        at = k * LANES
        x = simd.load(run.last_g, at)
        for old in range(MEMORY):
            minus = simd_moves.load_as(run.dg, (turn - old) % MEMORY * span + at, run.sums)
            x = simd.fma(simd.load(run.sums, old * LANES), minus, x)
        simd.store(run.messages, at, x)
        simd.store(run.before, at, x)
    simd.store(run.age, 0, simd.add(simd.load(run.age, 0), simd.load(run.moving, 0)))


@kernel()
def solve_lanes(run, turn):
    """``-(gram + 1e-10 trace(gram) I)^-1 df f`` in the first half of ``run.sums``, the newest row first, of rows that
    count; else 0."""
    zero, half, tiny = simd.splat(run.sums, 0.0), simd.splat(run.sums, 0.5), simd.splat(run.sums, 1e-14)
    never, one = simd.splat(run.sums, np.inf), simd.splat(run.sums, 1.0)
    age, moving, ridge = simd.load(run.age, 0), simd.load(run.moving, 0), zero
    # Rows go by their age, k calls, so that what a lane gets does not depend on the call in which it started. Rows that
    # do not count get an identity in the matrix and 0 on the right.
    for k in range(MEMORY):
        diagonal = simd.load(run.gram, (turn - k) % MEMORY * (MEMORY + 1) * LANES)
        diagonal = simd.where_at_least(age, simd.splat(run.sums, k + 0.5), diagonal, zero)
        ridge = simd.fma(simd.splat(run.sums, 1e-10), diagonal, ridge)
    for k in range(MEMORY):
        row = (turn - k) % MEMORY
        for other in range(MEMORY):
            counts = simd.splat(run.sums, max(k, other) + 0.5)
            entry, instead = simd.load(run.gram, (row * MEMORY + (turn - other) % MEMORY) * LANES), zero
            if k == other:
                entry, instead = simd.add(entry, ridge), one
            entry = simd.where_at_least(age, counts, entry, instead)
            simd.store(run.matrix, (k * MEMORY + other) * LANES, entry)
        right = simd.load(run.sums, (MEMORY + row) * LANES)
        right = simd.where_at_least(age, simd.splat(run.sums, k + 0.5), right, zero)
        simd.store(run.sums, k * LANES, simd.where_at_least(moving, half, simd.sub(zero, right), zero))
    # As ``anderson.solve_positive``: matrix = L L^T in place; a pivot that vanishes drops its column.
    for j in range(MEMORY):
        diagonal = simd.load(run.matrix, j * (MEMORY + 1) * LANES)
        pivot = diagonal
        for k in range(j):
            left = simd.load(run.matrix, (j * MEMORY + k) * LANES)
            pivot = simd.sub(pivot, simd.mul(left, left))
        root = simd.where_at_least(simd.mul(tiny, diagonal), pivot, never, simd.sqrt(pivot))
        simd.store(run.matrix, j * (MEMORY + 1) * LANES, root)
        for i in range(j + 1, MEMORY):
            entry = simd.load(run.matrix, (i * MEMORY + j) * LANES)
            for k in range(j):
                left = simd.load(run.matrix, (i * MEMORY + k) * LANES)
                entry = simd.sub(entry, simd.mul(left, simd.load(run.matrix, (j * MEMORY + k) * LANES)))
            simd.store(run.matrix, (i * MEMORY + j) * LANES, simd.divide(entry, root))
    for i in range(MEMORY):
        entry = simd.load(run.sums, i * LANES)
        for k in range(i):
            left = simd.load(run.matrix, (i * MEMORY + k) * LANES)
            entry = simd.sub(entry, simd.mul(left, simd.load(run.sums, k * LANES)))
        root = simd.load(run.matrix, i * (MEMORY + 1) * LANES)
        simd.store(run.sums, i * LANES, simd.divide(entry, root))
    for i in range(MEMORY - 1, -1, -1):
        entry = simd.load(run.sums, i * LANES)
        for k in range(i + 1, MEMORY):
            left = simd.load(run.matrix, (k * MEMORY + i) * LANES)
            entry = simd.sub(entry, simd.mul(left, simd.load(run.sums, k * LANES)))
        root = simd.load(run.matrix, i * (MEMORY + 1) * LANES)
        simd.store(run.sums, i * LANES, simd.divide(entry, root))
