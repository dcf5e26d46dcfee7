"""The best structure of a sequence, a row of pairs at a time.

Scores of spans i..j, in vectors over j, rows from the last i to the first:

* ``C`` (i pairs with j): the best of a hairpin, a stacked pair, an interior loop, and ``M2(i+1, j-1)`` closed;
* interior loops are a constant convolution, ``max over l1, l2 of B(i+1+l1, j-1-l2) + shapes[l1, l2]``, where ``B`` is C
  with the junction of the inner pair;
* ``P`` is C as a branch, ``R`` a branch at i and unpaired positions up to j;
* ``Q(i, j) = max over k of P(i, k) + M(k+1, j)``: two or more branches, the first one at i;
* ``M2 = max(Q, unpaired + M2(i+1, j))``, ``M = max(R, Q, unpaired + M(i+1, j))``: one branch or more;
* ``F(i) = max(unpaired + F(i+1), max over j of C(i, j) as an external branch + F(j+1))``.

Only those k are tried in Q where P(i, k) is better than every other way to fill i..k with branches: otherwise that
other way and M(k+1, j) are at least as good, and counted elsewhere. No choice is stored:
``fast_trace`` finds them again.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
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
    extra_scores,
    shapes_within,
)

RING = 64  # rows of B that are kept: the last 32, twice, so that 31 in a row are neighbours


@kernel()
def interior_two_max(n, first, total, shapes, more_shapes, limited, free, ring, corner, width, out, more):
    """The best interior loops inside (i, j), and those inside (i-1, j) that begin after i, for j from ``first`` on.

    Without the junctions of these pairs. ``corner`` is the place of B(i+1, -1). What is left of row i-1 are the loops
    with the inner pair at i (``interior_rest_max``).
    """
    # 496 shapes for each j. Every vector of B is read once for both rows, for shapes l1 of the one and l1 + 1 of the
    # other. B is NEVER outside of its triangle, shapes are NEVER beyond ``total``.
    lanes = simd.lanes_wide(out)
    nothing = simd.splat_wide(out, NEVER)
    j = first
    while j < n:
        if j + 3 * lanes < n:
            longest = min(total, j + 4 * lanes - 3 - first)
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
            for l2 in range(longest + 1):
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
                at, shape = corner + j - l2, WIDTH * l2
                for l1 in range(longest - l2 + 1):
                    s, t = simd.spread_wide(shapes, shape + l1), simd.spread_wide(more_shapes, shape + l1 + 1)
                    v = simd.load_wide(ring, at)
                    c0, d0 = simd.larger(simd.add(s, v), c0), simd.larger(simd.add(t, v), d0)
                    v = simd.load_wide(ring, at + lanes)
                    c1, d1 = simd.larger(simd.add(s, v), c1), simd.larger(simd.add(t, v), d1)
                    v = simd.load_wide(ring, at + 2 * lanes)
                    c2, d2 = simd.larger(simd.add(s, v), c2), simd.larger(simd.add(t, v), d2)
                    v = simd.load_wide(ring, at + 3 * lanes)
                    c3, d3 = simd.larger(simd.add(s, v), c3), simd.larger(simd.add(t, v), d3)
                    at += width
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
                a0, b0 = simd.larger(a0, c0), simd.larger(b0, d0)
                a1, b1 = simd.larger(a1, c1), simd.larger(b1, d1)
                a2, b2 = simd.larger(a2, c2), simd.larger(b2, d2)
                a3, b3 = simd.larger(a3, c3), simd.larger(b3, d3)
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
            longest = min(total, j + lanes - 3 - first)
            a0, b0 = nothing, nothing
            for l2 in range(longest + 1):
                c0, c1, d0, d1 = nothing, nothing, nothing, nothing
                at, shape = corner + j - l2, WIDTH * l2
                for l1 in range(0, longest - l2 + 1, 2):
                    s, t = simd.spread_wide(shapes, shape + l1), simd.spread_wide(more_shapes, shape + l1 + 1)
                    v = simd.load_wide(ring, at)
                    c0, d0 = simd.larger(simd.add(s, v), c0), simd.larger(simd.add(t, v), d0)
                    s, t = (
                        simd.spread_wide(shapes, shape + l1 + 1),
                        simd.spread_wide(more_shapes, shape + l1 + 2),
                    )
                    v = simd.load_wide(ring, at + width)
                    c1, d1 = simd.larger(simd.add(s, v), c1), simd.larger(simd.add(t, v), d1)
                    at += 2 * width
                c0, d0 = simd.larger(c0, c1), simd.larger(d0, d1)
                if limited:
                    length, here = simd.splat_wide(out, l2), simd.load_wide(free, j)
                    c0 = simd.where_at_least(here, length, c0, nothing)
                    d0 = simd.where_at_least(here, length, d0, nothing)
                a0, b0 = simd.larger(a0, c0), simd.larger(b0, d0)
            simd.store(out, j, a0)
            simd.store(more, j, b0)
            j += lanes


@kernel()
def interior_rest_max(n, first, total, shapes, limited, free, ring, corner, out):
    """``out[j]``: the better of itself and the bulges on the right alone, with B(i+1, .) at ``corner + 1``."""
    lanes = simd.lanes_wide(out)
    nothing = simd.splat_wide(out, NEVER)
    for j in range(first, n, lanes):
        a, b, c, d = simd.load_wide(out, j), nothing, nothing, nothing
        if limited:
            here = simd.load_wide(free, j)
            for l2 in range(total + 1):
                v = simd.where_at_least(
                    here, simd.splat_wide(out, l2), simd.load_wide(ring, corner + j - l2), nothing
                )
                a = simd.larger(simd.add(simd.spread_wide(shapes, WIDTH * l2), v), a)
        else:
            for l2 in range(0, total + 1, 4):
                v = simd.load_wide(ring, corner + j - l2)
                a = simd.larger(simd.add(simd.spread_wide(shapes, WIDTH * l2), v), a)
                v = simd.load_wide(ring, corner + j - l2 - 1)
                b = simd.larger(simd.add(simd.spread_wide(shapes, WIDTH * (l2 + 1)), v), b)
                v = simd.load_wide(ring, corner + j - l2 - 2)
                c = simd.larger(simd.add(simd.spread_wide(shapes, WIDTH * (l2 + 2)), v), c)
                v = simd.load_wide(ring, corner + j - l2 - 3)
                d = simd.larger(simd.add(simd.spread_wide(shapes, WIDTH * (l2 + 3)), v), d)
        simd.store(out, j, simd.larger(simd.larger(a, b), simd.larger(c, d)))


@kernel()
def push_branch(value, m, at, q, first, n):
    """``q[j] = max(q[j], value + M[j])``: a branch of this value, and more of them after it."""
    lanes = simd.lanes_wide(q)
    v = simd.splat_wide(q, value)
    j = first
    while j + 3 * lanes < n:
        q0, q1 = simd.load_wide(q, j), simd.load_wide(q, j + lanes)
        q2, q3 = simd.load_wide(q, j + 2 * lanes), simd.load_wide(q, j + 3 * lanes)
        simd.store(q, j, simd.larger(simd.add(v, simd.load_wide(m, at + j)), q0))
        simd.store(q, j + lanes, simd.larger(simd.add(v, simd.load_wide(m, at + j + lanes)), q1))
        simd.store(q, j + 2 * lanes, simd.larger(simd.add(v, simd.load_wide(m, at + j + 2 * lanes)), q2))
        simd.store(q, j + 3 * lanes, simd.larger(simd.add(v, simd.load_wide(m, at + j + 3 * lanes)), q3))
        j += 4 * lanes
    while j < n:
        simd.store(q, j, simd.larger(simd.add(v, simd.load_wide(m, at + j)), simd.load_wide(q, j)))
        j += lanes


@kernel()
def pairs_max(i, first, n, loops, extra, interior, m2, after, ring, width, base, c, p):
    """C, B and P of row i, in vectors; returns the best external branch at i with all that follows it."""
    lanes = simd.lanes_wide(c)
    never = simd.splat_wide(c, NEVER)
    letters, rows, pitch, hairpin = loops.letters, loops.rows, loops.pitch, loops.hairpin
    here, before = letters[i], letters[i - 1] if i > 0 else BEYOND
    inside, outside = (6 * here + letters[i + 1]) * pitch, (6 * here + before) * pitch
    one = (ONE + letters[i + 1]) * pitch
    left_bulge = simd.splat_wide(c, loops.bulge_left[letters[i + 1]])
    no_left = simd.splat_wide(c, NEVER if loops.free_right[i] < 1 else 0.0)
    next1, next2 = ((i + 1) & 31) * width + MARGIN, ((i + 2) & 31) * width + MARGIN
    mine, next_c = (i & 31) * width + MARGIN, base[i + 1] - 1
    best = never
    for j in range(first, n, lanes):
        loop = simd.load_wide(hairpin, j - i)
        if loops.limited:
            loop = simd.where_at_least(
                simd.load_wide(loops.free_left, j), simd.load_wide(loops.ramp, j - i - 1), loop, never
            )
        left = simd.add(left_bulge, simd.load_wide(ring, next2 + j - 1))
        both = simd.add(simd.load_wide(rows, one + j), simd.load_wide(ring, next2 + j - 2))
        loop = simd.larger(loop, simd.add(no_left, simd.larger(left, both)))
        right = simd.add(simd.load_wide(rows, BULGE * pitch + j), simd.load_wide(ring, next1 + j - 2))
        loop = simd.larger(simd.larger(loop, right), simd.load_wide(interior, j))
        score = simd.add(simd.load_wide(rows, CLOSE * pitch + inside + j), loop)
        stack = simd.add(simd.load_wide(rows, STACK * pitch + inside + j), simd.load_wide(c, next_c + j))
        multi = simd.add(
            simd.load_wide(rows, CLOSE_MULTI * pitch + inside + j), simd.load_wide(m2, MARGIN + j - 1)
        )
        score = simd.add(simd.larger(simd.larger(score, stack), multi), simd.load_wide(extra, j))
        score = simd.larger(score, never)
        simd.store(c, base[i] + j, score)
        b = simd.add(score, simd.load_wide(rows, INNER * pitch + outside + j))
        simd.store(ring, mine + j, b)
        simd.store(ring, mine + 32 * width + j, b)
        branch = simd.add(score, simd.load_wide(rows, BRANCH * pitch + outside + j))
        simd.store(p, j, branch)
        best = simd.larger(simd.add(branch, simd.load_wide(after, j)), best)
    return simd.largest(best)


@kernel()
def multiloops_max(i, first, n, loops, base, m, m2, p, q):
    """M and M2 of row i from the branches P(i, .); ``q`` is room for Q."""
    # One k after the other: Q(i, k) is complete when all branches that end before k have been pushed.
    lanes, nothing = simd.lanes_wide(q), q.dtype.type(NEVER)
    never, unpaired = simd.splat_wide(q, NEVER), simd.spread_wide(loops.multi, i)
    mine, next_row, gap = base[i], base[i + 1], loops.min_hairpin + 2
    for j in range(first, n, lanes):
        simd.store(q, j, never)
        simd.store(m, mine + j, simd.larger(simd.add(simd.load_wide(m, next_row + j), unpaired), never))
    run = nothing
    for k in range(first, n):
        run += loops.multi[k]
        other = max(max(m[mine + k], q[k]), run)
        branch = p[k] + loops.multi_paired
        if branch > other:
            if branch > 0.5 * nothing and k + gap < n:
                push_branch(branch, m, base[k + 1], q, k + gap, n)
            run, other = branch, branch
        run = max(run, branch)
        m[mine + k] = other
    for j in range(first, n, lanes):
        two = simd.larger(simd.add(simd.load_wide(m2, MARGIN + j), unpaired), simd.load_wide(q, j))
        simd.store(m2, MARGIN + j, simd.larger(two, never))


@kernel()
def first_that_has(a, b, first, total):
    """The first j with ``a[j] + b[j] = total``; there is one."""
    j = first
    while a[j] + b[j] != total:
        j += 1
    return j


@kernel()
def fill_max(loops, pairs, base, c, m, f, chosen):
    """Fill C and M (triangles with row starts ``base``) and F; ``chosen[i]``: end of an external branch at i, or -1."""
    n, min_hairpin, nothing = len(loops.letters), loops.min_hairpin, c.dtype.type(NEVER)
    width = n + 3 * MARGIN
    ring = np.full(RING * width, nothing)
    interior, extra = np.full(width, nothing), np.full(width, nothing)
    p, q, m2 = np.full(width, nothing), np.full(width, nothing), np.full(width, nothing)
    after = np.full(width, nothing)  # F(j + 1) and what an external branch scores
    own_shapes, next_shapes = loops.shapes.copy(), loops.shapes.copy()
    later_interior, both = np.full(width, nothing), True  # whether row i begins a pair of rows
    never = simd.splat_wide(c, NEVER)
    f[n] = 0.0
    after[n - 1] = loops.external_paired
    for i in range(n - 1, -1, -1):
        first = i + min_hairpin + 1
        for j in range(i - 1, min(first, n)):
            c[base[i] + j] = nothing
            m[base[i] + j] = nothing
        simd.store(c, base[i] + n, never)
        simd.store(m, base[i] + n, never)
        best = nothing
        if first < n:
            corner = ((i + 1) & 31) * width + MARGIN - 1
            interior, later_interior = later_interior, interior
            if both:
                shapes = shapes_within(loops, loops.free_right[i], nothing, own_shapes)
                later = loops.free_right[i - 1] if i > 0 else loops.free_right[i]
                more_shapes = shapes_within(loops, later, nothing, next_shapes)
                interior_two_max(
                    n, first, loops.longest, shapes, more_shapes, loops.limited, loops.free_left, ring, corner, width,
                    interior, later_interior,
                )  # fmt: skip
                later_interior[first - 1] = nothing
            else:
                interior_rest_max(
                    n,
                    first,
                    loops.longest,
                    next_shapes,
                    loops.limited,
                    loops.free_left,
                    ring,
                    corner,
                    interior,
                )
            both = not both
            extra_scores(i, n, pairs, extra)
            best = pairs_max(i, first, n, loops, extra, interior, m2, after, ring, width, base, c, p)
            multiloops_max(i, first, n, loops, base, m, m2, p, q)
        chosen[i] = -1
        f[i] = f[i + 1] + loops.external[i]
        if best > max(f[i], 0.5 * nothing):
            f[i] = best
            chosen[i] = first_that_has(p, after, first, best)
        f[i] = max(f[i], nothing)
        if i > 0:
            after[i - 1] = f[i] + loops.external_paired
