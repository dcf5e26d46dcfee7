"""Sums over all structures of a sequence, a row of pairs at a time: the recursion of ``fast_max``, summed.

Each structure has one derivation there, since a multiloop is split at its first paired position; no k is left out here.
Sums are scaled by a factor per position (``fast_factors``). All sums over the rest of the sequence, F, must stay near
1: then every span is in range, and so are the sums outside of it.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_factors import extra_factors
from palmette.structures.folding.kernels.fast_max import RING
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
    shapes_within,
)


@kernel()
def interior_two_sum(
    n, first, most_left, most_right, total, shapes, more_shapes, limited, free, ring, corner, column, row, out, more,
):  # fmt: skip
    """``out[j] = sum over l1, l2 of shapes[l1, l2] ring[corner + j + column l2 + row l1]`` for j from ``first`` on.

    ``more`` is the same for the next row, with ``more_shapes[l1 + 1, l2]``; ``interior_rest_sum`` adds l1 = 0.
    With column -1 and rows below it is the inside of pairs, with column 1 and rows above the outside.
    """
    # As in interior_two_max. What is read beyond ``total`` or beyond the triangle is 0.
    lanes = simd.lanes_wide(out)
    nothing = simd.splat_wide(out, 0.0)
    j = first
    while j < n:
        if j + 3 * lanes < n:
            longest = min(total, j + 4 * lanes - 3 - first) if column < 0 else total
            right = longest if column < 0 else min(longest, most_right - j)
            a0, a1, a2, a3, b0, b1, b2, b3 = (
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
            )
            for l2 in range(right + 1):
                c0, c1, c2, c3, d0, d1, d2, d3 = (
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                )
                at, shape = corner + j + column * l2, WIDTH * l2
                for l1 in range(min(longest - l2, most_left) + 1):
                    s, t = simd.spread_wide(shapes, shape + l1), simd.spread_wide(more_shapes, shape + l1 + 1)
                    v = simd.load_wide(ring, at)
                    c0, d0 = simd.fma(s, v, c0), simd.fma(t, v, d0)
                    v = simd.load_wide(ring, at + lanes)
                    c1, d1 = simd.fma(s, v, c1), simd.fma(t, v, d1)
                    v = simd.load_wide(ring, at + 2 * lanes)
                    c2, d2 = simd.fma(s, v, c2), simd.fma(t, v, d2)
                    v = simd.load_wide(ring, at + 3 * lanes)
                    c3, d3 = simd.fma(s, v, c3), simd.fma(t, v, d3)
                    at += row
                if limited:
                    length = simd.splat_wide(out, l2)
                    here = simd.load_wide(free, j)
                    c0 = simd.where_at_least(here, length, c0, nothing)
                    d0 = simd.where_at_least(here, length, d0, nothing)
                    here = simd.load_wide(free, j + lanes)
                    c1 = simd.where_at_least(here, length, c1, nothing)
                    d1 = simd.where_at_least(here, length, d1, nothing)
                    here = simd.load_wide(free, j + 2 * lanes)
                    c2 = simd.where_at_least(here, length, c2, nothing)
                    d2 = simd.where_at_least(here, length, d2, nothing)
                    here = simd.load_wide(free, j + 3 * lanes)
                    c3 = simd.where_at_least(here, length, c3, nothing)
                    d3 = simd.where_at_least(here, length, d3, nothing)
                a0, b0 = simd.add(a0, c0), simd.add(b0, d0)
                a1, b1 = simd.add(a1, c1), simd.add(b1, d1)
                a2, b2 = simd.add(a2, c2), simd.add(b2, d2)
                a3, b3 = simd.add(a3, c3), simd.add(b3, d3)
            simd.store(out, j, a0)
            simd.store(more, j, b0)
            simd.store(out, j + lanes, a1)
            simd.store(more, j + lanes, b1)
            simd.store(out, j + 2 * lanes, a2)
            simd.store(more, j + 2 * lanes, b2)
            simd.store(out, j + 3 * lanes, a3)
            simd.store(more, j + 3 * lanes, b3)
            j += 4 * lanes
        else:
            longest = min(total, j + lanes - 3 - first) if column < 0 else total
            right = longest if column < 0 else min(longest, most_right - j)
            a0, b0 = nothing, nothing
            for l2 in range(right + 1):
                c0, c1, d0, d1 = nothing, nothing, nothing, nothing
                at, shape = corner + j + column * l2, WIDTH * l2
                for l1 in range(0, min(longest - l2, most_left) + 1, 2):
                    s, t = simd.spread_wide(shapes, shape + l1), simd.spread_wide(more_shapes, shape + l1 + 1)
                    v = simd.load_wide(ring, at)
                    c0, d0 = simd.fma(s, v, c0), simd.fma(t, v, d0)
                    s, t = (
                        simd.spread_wide(shapes, shape + l1 + 1),
                        simd.spread_wide(more_shapes, shape + l1 + 2),
                    )
                    v = simd.load_wide(ring, at + row)
                    c1, d1 = simd.fma(s, v, c1), simd.fma(t, v, d1)
                    at += 2 * row
                c0, d0 = simd.add(c0, c1), simd.add(d0, d1)
                if limited:
                    length, here = simd.splat_wide(out, l2), simd.load_wide(free, j)
                    c0 = simd.where_at_least(here, length, c0, nothing)
                    d0 = simd.where_at_least(here, length, d0, nothing)
                a0, b0 = simd.add(a0, c0), simd.add(b0, d0)
            simd.store(out, j, a0)
            simd.store(more, j, b0)
            j += lanes


@kernel()
def interior_rest_sum(n, first, total, shapes, limited, free, ring, corner, column, out):
    """``out[j] += sum over l2 of shapes[0, l2] ring[corner + j + column l2]``."""
    lanes = simd.lanes_wide(out)
    nothing = simd.splat_wide(out, 0.0)
    for j in range(first, n, lanes):
        a, b, c, d = simd.load_wide(out, j), nothing, nothing, nothing
        if limited:
            here = simd.load_wide(free, j)
            for l2 in range(total + 1):
                v = simd.where_at_least(
                    here, simd.splat_wide(out, l2), simd.load_wide(ring, corner + j + column * (l2)), nothing
                )
                a = simd.fma(simd.spread_wide(shapes, WIDTH * l2), v, a)
        else:
            for l2 in range(0, total + 1, 4):
                v = simd.load_wide(ring, corner + j + column * l2)
                a = simd.fma(simd.spread_wide(shapes, WIDTH * l2), v, a)
                v = simd.load_wide(ring, corner + j + column * (l2 + 1))
                b = simd.fma(simd.spread_wide(shapes, WIDTH * (l2 + 1)), v, b)
                v = simd.load_wide(ring, corner + j + column * (l2 + 2))
                c = simd.fma(simd.spread_wide(shapes, WIDTH * (l2 + 2)), v, c)
                v = simd.load_wide(ring, corner + j + column * (l2 + 3))
                d = simd.fma(simd.spread_wide(shapes, WIDTH * (l2 + 3)), v, d)
        simd.store(out, j, simd.add(simd.add(a, b), simd.add(c, d)))


@kernel()
def weighted_rows(n, first, gap, count, which, weight, base, m, out):
    """``out[j] = sum over t of weight[t] m[base[which[t]] + j]`` for j from ``first`` on.

    Rows are in rising order, and row r of ``m`` is 0 for j < r + gap, so that a block of j ends with the rows it meets.
    """
    lanes = simd.lanes_wide(out)
    zero = simd.splat_wide(out, 0.0)
    j = first
    while j < n:
        if j + 3 * lanes < n:
            end = count
            while end > 0 and which[end - 1] + gap > j + 4 * lanes - 1:
                end -= 1
            a0, a1, a2, a3 = zero, zero, zero, zero
            b0, b1, b2, b3 = zero, zero, zero, zero
            t = 0
            while t + 1 < end:
                w, at = simd.spread_wide(weight, t), base[which[t]] + j
                a0 = simd.fma(w, simd.load_wide(m, at), a0)
                a1 = simd.fma(w, simd.load_wide(m, at + lanes), a1)
                a2 = simd.fma(w, simd.load_wide(m, at + 2 * lanes), a2)
                a3 = simd.fma(w, simd.load_wide(m, at + 3 * lanes), a3)
                w, at = simd.spread_wide(weight, t + 1), base[which[t + 1]] + j
                b0 = simd.fma(w, simd.load_wide(m, at), b0)
                b1 = simd.fma(w, simd.load_wide(m, at + lanes), b1)
                b2 = simd.fma(w, simd.load_wide(m, at + 2 * lanes), b2)
                b3 = simd.fma(w, simd.load_wide(m, at + 3 * lanes), b3)
                t += 2
            if t < end:
                w, at = simd.spread_wide(weight, t), base[which[t]] + j
                a0 = simd.fma(w, simd.load_wide(m, at), a0)
                a1 = simd.fma(w, simd.load_wide(m, at + lanes), a1)
                a2 = simd.fma(w, simd.load_wide(m, at + 2 * lanes), a2)
                a3 = simd.fma(w, simd.load_wide(m, at + 3 * lanes), a3)
            simd.store(out, j, simd.add(a0, b0))
            simd.store(out, j + lanes, simd.add(a1, b1))
            simd.store(out, j + 2 * lanes, simd.add(a2, b2))
            simd.store(out, j + 3 * lanes, simd.add(a3, b3))
            j += 4 * lanes
        else:
            end = count
            while end > 0 and which[end - 1] + gap > j + lanes - 1:
                end -= 1
            a0, a1, a2, a3 = zero, zero, zero, zero
            t = 0
            while t + 3 < end:
                a0 = simd.fma(simd.spread_wide(weight, t), simd.load_wide(m, base[which[t]] + j), a0)
                a1 = simd.fma(simd.spread_wide(weight, t + 1), simd.load_wide(m, base[which[t + 1]] + j), a1)
                a2 = simd.fma(simd.spread_wide(weight, t + 2), simd.load_wide(m, base[which[t + 2]] + j), a2)
                a3 = simd.fma(simd.spread_wide(weight, t + 3), simd.load_wide(m, base[which[t + 3]] + j), a3)
                t += 4
            while t < end:
                a0 = simd.fma(simd.spread_wide(weight, t), simd.load_wide(m, base[which[t]] + j), a0)
                t += 1
            simd.store(out, j, simd.add(simd.add(a0, a1), simd.add(a2, a3)))
            j += lanes


@kernel()
def pairs_sum(i, first, n, loops, extra, interior, m2, after, ring, width, base, c, p):
    """C, B and P of row i, in vectors; returns the sum over external branches at i with all that follows them."""
    lanes = simd.lanes_wide(c)
    zero = simd.splat_wide(c, 0.0)
    letters, rows, pitch, hairpin = loops.letters, loops.rows, loops.pitch, loops.hairpin
    here, before = letters[i], letters[i - 1] if i > 0 else BEYOND
    inside, outside = (6 * here + letters[i + 1]) * pitch, (6 * here + before) * pitch
    one = (ONE + letters[i + 1]) * pitch
    left_bulge = simd.splat_wide(c, loops.bulge_left[letters[i + 1]])
    free = simd.splat_wide(c, 0.0 if loops.free_right[i] < 1 else 1.0)
    next1, next2 = ((i + 1) & 31) * width + MARGIN, ((i + 2) & 31) * width + MARGIN
    mine, next_c = (i & 31) * width + MARGIN, base[i + 1] - 1
    total = zero
    for j in range(first, n, lanes):
        loop = simd.load_wide(hairpin, j - i)
        if loops.limited:
            loop = simd.where_at_least(
                simd.load_wide(loops.free_left, j), simd.load_wide(loops.ramp, j - i - 1), loop, zero
            )
        left = simd.mul(left_bulge, simd.load_wide(ring, next2 + j - 1))
        left = simd.fma(simd.load_wide(rows, one + j), simd.load_wide(ring, next2 + j - 2), left)
        loop = simd.fma(left, free, loop)
        loop = simd.fma(simd.load_wide(rows, BULGE * pitch + j), simd.load_wide(ring, next1 + j - 2), loop)
        loop = simd.add(loop, simd.load_wide(interior, j))
        score = simd.mul(simd.load_wide(rows, CLOSE * pitch + inside + j), loop)
        score = simd.fma(
            simd.load_wide(rows, STACK * pitch + inside + j), simd.load_wide(c, next_c + j), score
        )
        score = simd.fma(
            simd.load_wide(rows, CLOSE_MULTI * pitch + inside + j), simd.load_wide(m2, MARGIN + j - 1), score
        )
        score = simd.mul(score, simd.load_wide(extra, j))
        simd.store(c, base[i] + j, score)
        b = simd.mul(score, simd.load_wide(rows, INNER * pitch + outside + j))
        simd.store(ring, mine + j, b)
        simd.store(ring, mine + 32 * width + j, b)
        branch = simd.mul(score, simd.load_wide(rows, BRANCH * pitch + outside + j))
        simd.store(p, j, branch)
        total = simd.fma(branch, simd.load_wide(after, j), total)
    return simd.total(total)


@kernel()
def branches_sum(
    i, first, n, loops, p, r, which, weight, column_start, column_count, column_row, column_weight
):  # fmt: skip
    """R of row i, and the rows of M that follow its branches with the branches' weights; how many they are."""
    count, nothing = 0, p.dtype.type(0.0)
    run = nothing
    for k in range(first, n):
        run *= loops.multi[k]
        if p[k] > nothing:
            branch = p[k] * loops.multi_paired
            run += branch
            place = column_start[k] + column_count[k]
            column_row[place], column_weight[place] = i, branch
            column_count[k] += 1
            if k + 1 < n:
                which[count], weight[count] = k + 1, branch
                count += 1
        r[k] = run
    return count


@kernel()
def fill_sum(loops, pairs, base, c, m, m2s, f, column_start, column_count, column_row, column_weight):
    """Fill C and M (triangles with row starts ``base``) and F, and for each k the list of the P(i, k) above 0.

    ``m2s`` is a triangle for M2 or empty. Returns the row at which sums left their range, or -1.
    """
    n, min_hairpin, multi, dtype = len(loops.letters), loops.min_hairpin, loops.multi, c.dtype.type
    lanes, nothing = simd.lanes_wide(c), dtype(0.0)
    width = n + 3 * MARGIN
    ring = np.zeros(RING * width, c.dtype)
    interior, extra, r = np.zeros(width, c.dtype), np.ones(width, c.dtype), np.zeros(width, c.dtype)
    p, q, m2 = np.zeros(width, c.dtype), np.zeros(width, c.dtype), np.zeros(width, c.dtype)
    after = np.zeros(width, c.dtype)  # F(j + 1) and the factor of an external branch
    own_shapes, next_shapes = loops.shapes.copy(), loops.shapes.copy()
    later_interior, both = np.zeros(width, c.dtype), True  # whether row i begins a pair of rows
    which, weight = np.empty(n, np.int32), np.empty(n, c.dtype)
    zero = simd.splat_wide(c, 0.0)
    largest = dtype(math.exp(40.0 if lanes == 16 else 300.0))
    column_count[:] = 0
    f[n] = 1.0
    after[n - 1] = loops.external_paired
    for i in range(n - 1, -1, -1):
        first = i + min_hairpin + 1
        for j in range(i - MARGIN, min(first, n)):
            m[base[i] + j] = nothing
        for j in range(i - 1, min(first, n)):
            c[base[i] + j] = nothing
        simd.store(c, base[i] + n, zero)
        simd.store(m, base[i] + n, zero)
        if len(m2s):
            for j in range(i - 1, min(first, n)):
                m2s[base[i] + j] = nothing
            simd.store(m2s, base[i] + n, zero)
        total = nothing
        if first < n:
            corner = ((i + 1) & 31) * width + MARGIN - 1
            interior, later_interior = later_interior, interior
            if both:
                shapes = shapes_within(loops, loops.free_right[i], nothing, own_shapes)
                later = loops.free_right[i - 1] if i > 0 else loops.free_right[i]
                more_shapes = shapes_within(loops, later, nothing, next_shapes)
                interior_two_sum(
                    n, first, 30, 30, loops.longest, shapes, more_shapes, loops.limited, loops.free_left, ring, corner,
                    -1, width, interior, later_interior,
                )  # fmt: skip
                later_interior[first - 1] = nothing
            else:
                interior_rest_sum(
                    n,
                    first,
                    loops.longest,
                    next_shapes,
                    loops.limited,
                    loops.free_left,
                    ring,
                    corner,
                    -1,
                    interior,
                )
            both = not both
            if not pairs.plain and not extra_factors(i, n, pairs, extra):
                return i
            total = pairs_sum(i, first, n, loops, extra, interior, m2, after, ring, width, base, c, p)
            count = branches_sum(
                i, first, n, loops, p, r, which, weight, column_start, column_count, column_row, column_weight
            )
            weighted_rows(n, first, min_hairpin + 1, count, which, weight, base, m, q)
            unpaired = simd.spread_wide(multi, i)
            mine, next_row = base[i], base[i + 1]
            for j in range(first, n, lanes):
                split = simd.load_wide(q, j)
                two = simd.fma(unpaired, simd.load_wide(m2, MARGIN + j), split)
                simd.store(m2, MARGIN + j, two)
                one = simd.add(split, simd.load_wide(r, j))
                simd.store(m, mine + j, simd.fma(unpaired, simd.load_wide(m, next_row + j), one))
                if len(m2s):
                    simd.store(m2s, mine + j, two)
        f[i] = f[i + 1] * loops.external[i] + total
        if not 1.0 / largest < f[i] < largest and (f[i] != nothing or not loops.limited):
            return i
        if i > 0:
            after[i - 1] = f[i] * loops.external_paired
    return -1
