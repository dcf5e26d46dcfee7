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
def inner_pairs(i, first, n, loops, c, base, out):
    """B(i, j): C with the junction of the pair that looks outward."""
    before = loops.letters[i - 1] if i > 0 else BEYOND
    row = (INNER + 6 * loops.letters[i] + before) * loops.pitch
    for j in range(first, n, simd.lanes_wide(c)):
        simd.store(out, j, simd.mul(simd.load_wide(c, base[i] + j), simd.load_wide(loops.rows, row + j)))


@kernel()
def interior_two_counting(
    n, first, most_left, most_right, total, shapes, more_shapes, limited, free, ring, corner, width, b, later_b, out,
    more, gathered,
):  # fmt: skip
    """As ``interior_two_sum`` outside of pairs; also ``gathered[l1, l2] += sum over j of D(i-1-l1, j+1+l2) B(i, j)``.

    One vector of ``gathered`` for each shape, which counts for both rows; ``add_shapes`` multiplies by the factors. So
    B must be 0 where no shape is possible, and ``most_left`` bounds those that are.
    """
    lanes = simd.lanes_wide(out)
    zero = simd.splat_wide(out, 0.0)
    j = first
    while j < n:
        if j + lanes < n:
            a0, a1, b0, b1 = zero, zero, zero, zero
            v0, v1 = simd.load_wide(b, j), simd.load_wide(b, j + lanes)
            w0, w1 = simd.load_wide(later_b, j), simd.load_wide(later_b, j + lanes)
            for l2 in range(min(total, most_right - j) + 1):
                c0, c1, d0, d1 = zero, zero, zero, zero
                if limited:
                    length = simd.splat_wide(out, l2)
                    free0, free1 = simd.load_wide(free, j), simd.load_wide(free, j + lanes)
                    v0, v1 = (
                        simd.where_at_least(free0, length, v0, zero),
                        simd.where_at_least(free1, length, v1, zero),
                    )
                    w0, w1 = (
                        simd.where_at_least(free0, length, w0, zero),
                        simd.where_at_least(free1, length, w1, zero),
                    )
                at, shape = corner + j + l2, WIDTH * l2
                g = simd.load_wide(gathered, shape * lanes)
                for l1 in range(min(total - l2, most_left) + 1):
                    s, t = simd.spread_wide(shapes, shape + l1), simd.spread_wide(more_shapes, shape + l1 + 1)
                    x, y = simd.load_wide(ring, at), simd.load_wide(ring, at + lanes)
                    c0, c1 = simd.fma(s, x, c0), simd.fma(s, y, c1)
                    d0, d1 = simd.fma(t, x, d0), simd.fma(t, y, d1)
                    h = simd.add(simd.fma(x, v0, g), simd.mul(y, v1))
                    g = simd.fma(x, w0, simd.load_wide(gathered, (shape + l1 + 1) * lanes))
                    g = simd.fma(y, w1, g)
                    simd.store(gathered, (shape + l1) * lanes, h)
                    simd.store(gathered, (shape + l1 + 1) * lanes, g)
                    at -= width
                if limited:
                    c0, c1 = (
                        simd.where_at_least(free0, length, c0, zero),
                        simd.where_at_least(free1, length, c1, zero),
                    )
                    d0, d1 = (
                        simd.where_at_least(free0, length, d0, zero),
                        simd.where_at_least(free1, length, d1, zero),
                    )
                a0, a1, b0, b1 = simd.add(a0, c0), simd.add(a1, c1), simd.add(b0, d0), simd.add(b1, d1)
            simd.store(out, j, a0)
            simd.store(out, j + lanes, a1)
            simd.store(more, j, b0)
            simd.store(more, j + lanes, b1)
            j += 2 * lanes
        else:
            a0, b0 = zero, zero
            v0, w0 = simd.load_wide(b, j), simd.load_wide(later_b, j)
            for l2 in range(min(total, most_right - j) + 1):
                c0, d0 = zero, zero
                if limited:
                    length = simd.splat_wide(out, l2)
                    free0 = simd.load_wide(free, j)
                    v0 = simd.where_at_least(free0, length, v0, zero)
                    w0 = simd.where_at_least(free0, length, w0, zero)
                at, shape = corner + j + l2, WIDTH * l2
                g = simd.load_wide(gathered, shape * lanes)
                for l1 in range(min(total - l2, most_left) + 1):
                    x = simd.load_wide(ring, at)
                    c0 = simd.fma(simd.spread_wide(shapes, shape + l1), x, c0)
                    d0 = simd.fma(simd.spread_wide(more_shapes, shape + l1 + 1), x, d0)
                    simd.store(gathered, (shape + l1) * lanes, simd.fma(x, v0, g))
                    g = simd.fma(x, w0, simd.load_wide(gathered, (shape + l1 + 1) * lanes))
                    simd.store(gathered, (shape + l1 + 1) * lanes, g)
                    at -= width
                if limited:
                    c0 = simd.where_at_least(free0, length, c0, zero)
                    d0 = simd.where_at_least(free0, length, d0, zero)
                a0, b0 = simd.add(a0, c0), simd.add(b0, d0)
            simd.store(out, j, a0)
            simd.store(more, j, b0)
            j += lanes


@kernel()
def interior_rest_counting(n, first, total, shapes, limited, free, ring, corner, b, out, gathered):
    """As ``interior_rest_sum`` outside of pairs, gathering, too."""
    lanes = simd.lanes_wide(out)
    zero = simd.splat_wide(out, 0.0)
    for j in range(first, n, lanes):
        a, v = simd.load_wide(out, j), simd.load_wide(b, j)
        for l2 in range(total + 1):
            x, place = simd.load_wide(ring, corner + j + l2), WIDTH * l2 * lanes
            if limited:
                x = simd.where_at_least(simd.load_wide(free, j), simd.splat_wide(out, l2), x, zero)
            a = simd.fma(simd.spread_wide(shapes, WIDTH * l2), x, a)
            simd.store(gathered, place, simd.fma(x, v, simd.load_wide(gathered, place)))
        simd.store(out, j, a)


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
