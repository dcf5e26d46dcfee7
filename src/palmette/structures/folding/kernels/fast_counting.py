"""Expected numbers of the parts of a structure, taken up row by row while probabilities are computed.

Counts have the shape of what they count: ``around`` that of the rows of ``Loops`` (entry (row, j) counts all pairs with
this left code and right end j), ``distances`` four rows by j - i: hairpins, pairs that close a multiloop, branches of
multiloops and external branches; ``bulges`` one entry by letter (bulges of one on the left), ``shape_counts`` that of
the shapes of interior loops. ``fast_gradient`` adds them to the counts of the tables.
"""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_rows import (
    BEYOND,
    BRANCH,
    BULGE,
    CLOSE,
    CLOSE_MULTI,
    INNER,
    MARGIN,
    ONE,
    STACK,
    WIDTH,
)


@kernel()
def interior_counting(
    n, first, most_left, most_right, total, shapes, limited, free, ring, corner, width, b, out, gathered,
):  # fmt: skip
    """As ``interior_sum`` outside of pairs; also ``gathered[shape] += sum over j of D(i-1-l1, j+1+l2) B(i, j)``.

    One vector of ``gathered`` for each shape; its lanes and the shapes' factors are multiplied in ``add_shapes``.
    """
    lanes = simd.lanes_wide(out)
    zero = simd.splat_wide(out, 0.0)
    j = first
    while j < n:
        if j + 3 * lanes < n:
            a0, a1, a2, a3 = zero, zero, zero, zero
            v0, v1 = simd.load_wide(b, j), simd.load_wide(b, j + lanes)
            v2, v3 = simd.load_wide(b, j + 2 * lanes), simd.load_wide(b, j + 3 * lanes)
            for l2 in range(min(total, most_right - j) + 1):
                b0, b1, b2, b3 = zero, zero, zero, zero
                if limited:
                    length = simd.splat_wide(out, l2)
                    v0 = simd.where_at_least(simd.load_wide(free, j), length, v0, zero)
                    v1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, v1, zero)
                    v2 = simd.where_at_least(simd.load_wide(free, j + 2 * lanes), length, v2, zero)
                    v3 = simd.where_at_least(simd.load_wide(free, j + 3 * lanes), length, v3, zero)
                at, place = corner + j + l2, WIDTH * l2 * lanes
                for l1 in range(min(total - l2, most_left) + 1):
                    shape = simd.spread_wide(shapes, WIDTH * l2 + l1)
                    d0, d1 = simd.load_wide(ring, at), simd.load_wide(ring, at + lanes)
                    d2, d3 = simd.load_wide(ring, at + 2 * lanes), simd.load_wide(ring, at + 3 * lanes)
                    b0, b1 = simd.fma(shape, d0, b0), simd.fma(shape, d1, b1)
                    b2, b3 = simd.fma(shape, d2, b2), simd.fma(shape, d3, b3)
                    g = simd.fma(d0, v0, simd.load_wide(gathered, place))
                    h = simd.fma(d1, v1, simd.mul(d2, v2))
                    simd.store(gathered, place, simd.add(simd.fma(d3, v3, g), h))
                    at -= width
                    place += lanes
                if limited:
                    b0 = simd.where_at_least(simd.load_wide(free, j), length, b0, zero)
                    b1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, b1, zero)
                    b2 = simd.where_at_least(simd.load_wide(free, j + 2 * lanes), length, b2, zero)
                    b3 = simd.where_at_least(simd.load_wide(free, j + 3 * lanes), length, b3, zero)
                a0, a1, a2, a3 = simd.add(b0, a0), simd.add(b1, a1), simd.add(b2, a2), simd.add(b3, a3)
            simd.store(out, j, a0)
            simd.store(out, j + lanes, a1)
            simd.store(out, j + 2 * lanes, a2)
            simd.store(out, j + 3 * lanes, a3)
            j += 4 * lanes
        elif j + lanes < n:
            a0, a1 = zero, zero
            v0, v1 = simd.load_wide(b, j), simd.load_wide(b, j + lanes)
            for l2 in range(min(total, most_right - j) + 1):
                b0, b1 = zero, zero
                if limited:
                    length = simd.splat_wide(out, l2)
                    v0 = simd.where_at_least(simd.load_wide(free, j), length, v0, zero)
                    v1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, v1, zero)
                at, place = corner + j + l2, WIDTH * l2 * lanes
                for l1 in range(min(total - l2, most_left) + 1):
                    shape = simd.spread_wide(shapes, WIDTH * l2 + l1)
                    d0, d1 = simd.load_wide(ring, at), simd.load_wide(ring, at + lanes)
                    b0, b1 = simd.fma(shape, d0, b0), simd.fma(shape, d1, b1)
                    g = simd.fma(d0, v0, simd.load_wide(gathered, place))
                    simd.store(gathered, place, simd.fma(d1, v1, g))
                    at -= width
                    place += lanes
                if limited:
                    b0 = simd.where_at_least(simd.load_wide(free, j), length, b0, zero)
                    b1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, b1, zero)
                a0, a1 = simd.add(b0, a0), simd.add(b1, a1)
            simd.store(out, j, a0)
            simd.store(out, j + lanes, a1)
            j += 2 * lanes
        else:
            a0, v0 = zero, simd.load_wide(b, j)
            for l2 in range(min(total, most_right - j) + 1):
                b0 = zero
                if limited:
                    length = simd.splat_wide(out, l2)
                    v0 = simd.where_at_least(simd.load_wide(free, j), length, v0, zero)
                at, place = corner + j + l2, WIDTH * l2 * lanes
                for l1 in range(min(total - l2, most_left) + 1):
                    d0 = simd.load_wide(ring, at)
                    b0 = simd.fma(simd.spread_wide(shapes, WIDTH * l2 + l1), d0, b0)
                    simd.store(gathered, place, simd.fma(d0, v0, simd.load_wide(gathered, place)))
                    at -= width
                    place += lanes
                if limited:
                    b0 = simd.where_at_least(simd.load_wide(free, j), length, b0, zero)
                a0 = simd.add(b0, a0)
            simd.store(out, j, a0)
            j += lanes


@kernel()
def add_shapes(gathered, shapes, counts):
    """Add what was gathered to the counts of shapes, in double precision, and begin anew."""
    lanes = simd.lanes_wide(gathered)
    for shape in range(len(shapes)):
        if shapes[shape] > 0.0:
            counts[shape] += simd.total(simd.load_wide(gathered, shape * lanes)) * shapes[shape]
        simd.store(gathered, shape * lanes, simd.splat_wide(gathered, 0.0))


@kernel()
def count_inner_loops(i, first, n, loops, ring, width, b, around, bulges):
    """Count the bulges of one and the 1x1 loops around the pairs of row i, by their letters."""
    lanes, rows, pitch = simd.lanes_wide(ring), loops.rows, loops.pitch
    above1, above2 = ((i - 1) & 31) * width + MARGIN, ((i - 2) & 31) * width + MARGIN
    letter = loops.letters[i - 1]
    one, right = (ONE + letter) * pitch + 2, BULGE * pitch + 2
    free = simd.splat_wide(ring, 1.0 if loops.free_left[i] >= 1 else 0.0)
    left = simd.splat_wide(ring, 0.0)
    for j in range(first, n, lanes):
        v = simd.load_wide(b, j)
        left = simd.fma(v, simd.load_wide(ring, above2 + j + 1), left)
        bulge = simd.mul(simd.load_wide(rows, right + j), simd.load_wide(ring, above1 + j + 2))
        simd.store(around, right + j, simd.fma(v, bulge, simd.load_wide(around, right + j)))
        both = simd.mul(simd.mul(free, simd.load_wide(rows, one + j)), simd.load_wide(ring, above2 + j + 2))
        simd.store(around, one + j, simd.fma(v, both, simd.load_wide(around, one + j)))
    if loops.free_left[i] >= 1:
        bulges[letter] += simd.total(left) * loops.bulge_left[letter]


@kernel()
def count_row(
    i, first, n, loops, extra, c, m2s, base, inner, p_bar, after, stacked, f_bar, around, distances,
):  # fmt: skip
    """Count what the pairs (i, j) close and what they are part of: their probability, by kind of loop."""
    lanes, rows, pitch, letters = simd.lanes_wide(c), loops.rows, loops.pitch, loops.letters
    before = letters[i - 1] if i > 0 else BEYOND
    inside, outside = (6 * letters[i] + letters[i + 1]) * pitch, (6 * letters[i] + before) * pitch
    stack_row, close_row, multi_row = (
        STACK * pitch + inside,
        CLOSE * pitch + inside,
        CLOSE_MULTI * pitch + inside,
    )
    inner_row, branch_row = INNER * pitch + outside, BRANCH * pitch + outside
    f_here, multi_paired = simd.splat_wide(c, f_bar), simd.splat_wide(c, loops.multi_paired)
    span = len(distances) // 4
    zero = simd.splat_wide(c, 0.0)
    for j in range(first, n, lanes):
        value, d = simd.load_wide(c, base[i] + j), j - i
        in_inner = simd.mul(simd.load_wide(inner, j), simd.load_wide(rows, inner_row + j))
        as_branch = simd.load_wide(rows, branch_row + j)
        in_multi = simd.mul(as_branch, simd.mul(multi_paired, simd.load_wide(p_bar, j)))
        in_external = simd.mul(as_branch, simd.mul(f_here, simd.load_wide(after, j)))
        bar = simd.add(simd.add(in_inner, in_multi), simd.add(in_external, simd.load_wide(stacked, j + 1)))
        probability = simd.mul(value, bar)
        in_inner, in_multi = simd.mul(value, in_inner), simd.mul(value, in_multi)
        in_external = simd.mul(value, in_external)
        in_loops = simd.add(in_multi, in_external)
        bar = simd.mul(bar, simd.load_wide(extra, j))
        stack = simd.mul(simd.load_wide(rows, stack_row + j), simd.load_wide(c, base[i + 1] + j - 1))
        stack = simd.mul(bar, stack)
        closed = simd.mul(simd.load_wide(rows, multi_row + j), simd.load_wide(m2s, base[i + 1] + j - 1))
        closed = simd.mul(bar, closed)
        hairpin = simd.load_wide(loops.hairpin, d)
        if loops.limited:
            hairpin = simd.where_at_least(
                simd.load_wide(loops.free_left, j), simd.load_wide(loops.ramp, d - 1), hairpin, zero
            )
        hairpin = simd.mul(simd.mul(bar, simd.load_wide(rows, close_row + j)), hairpin)
        loop = simd.larger(simd.sub(simd.sub(probability, stack), closed), zero)
        simd.store(around, stack_row + j, simd.add(stack, simd.load_wide(around, stack_row + j)))
        simd.store(around, close_row + j, simd.add(loop, simd.load_wide(around, close_row + j)))
        simd.store(around, multi_row + j, simd.add(closed, simd.load_wide(around, multi_row + j)))
        simd.store(around, inner_row + j, simd.add(in_inner, simd.load_wide(around, inner_row + j)))
        simd.store(around, branch_row + j, simd.add(in_loops, simd.load_wide(around, branch_row + j)))
        simd.store(distances, d, simd.add(hairpin, simd.load_wide(distances, d)))
        simd.store(distances, span + d, simd.add(closed, simd.load_wide(distances, span + d)))
        simd.store(distances, 2 * span + d, simd.add(in_multi, simd.load_wide(distances, 2 * span + d)))
        simd.store(distances, 3 * span + d, simd.add(in_external, simd.load_wide(distances, 3 * span + d)))
