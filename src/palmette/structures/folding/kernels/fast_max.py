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
def interior_max(i, n, first, shapes, most, limited, free, ring, pitch, out):
    """``out[j]``: the best interior loop inside (i, j), without the junction of (i, j), for j from ``first`` on."""
    # 496 shapes for each j. Four maxima run side by side, so that they do not wait for each other: over four vectors of
    # j, or, where fewer are left, over lengths l1. B is NEVER outside of its triangle, shapes are NEVER beyond 30.
    lanes = simd.lanes_wide(out)
    never = simd.splat_wide(out, NEVER)
    corner = ((i + 1) & 31) * pitch + MARGIN - 1
    j = first
    while j < n:
        if j + 3 * lanes < n:
            a0, a1, a2, a3 = never, never, never, never
            longest = min(most, j + 4 * lanes - 3 - first)
            for l2 in range(longest + 1):
                b0, b1, b2, b3 = never, never, never, never
                at = corner + j - l2
                for l1 in range(longest - l2 + 1):
                    shape = simd.spread_wide(shapes, WIDTH * l2 + l1)
                    b0 = simd.larger(simd.add(shape, simd.load_wide(ring, at)), b0)
                    b1 = simd.larger(simd.add(shape, simd.load_wide(ring, at + lanes)), b1)
                    b2 = simd.larger(simd.add(shape, simd.load_wide(ring, at + 2 * lanes)), b2)
                    b3 = simd.larger(simd.add(shape, simd.load_wide(ring, at + 3 * lanes)), b3)
                    at += pitch
                if limited:
                    length = simd.splat_wide(out, l2)
                    b0 = simd.where_at_least(simd.load_wide(free, j), length, b0, never)
                    b1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, b1, never)
                    b2 = simd.where_at_least(simd.load_wide(free, j + 2 * lanes), length, b2, never)
                    b3 = simd.where_at_least(simd.load_wide(free, j + 3 * lanes), length, b3, never)
                a0, a1 = simd.larger(b0, a0), simd.larger(b1, a1)
                a2, a3 = simd.larger(b2, a2), simd.larger(b3, a3)
            simd.store(out, j, a0)
            simd.store(out, j + lanes, a1)
            simd.store(out, j + 2 * lanes, a2)
            simd.store(out, j + 3 * lanes, a3)
            j += 4 * lanes
        elif j + lanes < n:
            a0, a1 = never, never
            longest = min(most, j + 2 * lanes - 3 - first)
            for l2 in range(longest + 1):
                b0, b1, b2, b3 = never, never, never, never
                at = corner + j - l2
                for l1 in range(0, longest - l2 + 1, 2):
                    shape = simd.spread_wide(shapes, WIDTH * l2 + l1)
                    b0 = simd.larger(simd.add(shape, simd.load_wide(ring, at)), b0)
                    b1 = simd.larger(simd.add(shape, simd.load_wide(ring, at + lanes)), b1)
                    shape = simd.spread_wide(shapes, WIDTH * l2 + l1 + 1)
                    b2 = simd.larger(simd.add(shape, simd.load_wide(ring, at + pitch)), b2)
                    b3 = simd.larger(simd.add(shape, simd.load_wide(ring, at + pitch + lanes)), b3)
                    at += 2 * pitch
                b0, b1 = simd.larger(b0, b2), simd.larger(b1, b3)
                if limited:
                    length = simd.splat_wide(out, l2)
                    b0 = simd.where_at_least(simd.load_wide(free, j), length, b0, never)
                    b1 = simd.where_at_least(simd.load_wide(free, j + lanes), length, b1, never)
                a0, a1 = simd.larger(b0, a0), simd.larger(b1, a1)
            simd.store(out, j, a0)
            simd.store(out, j + lanes, a1)
            j += 2 * lanes
        else:
            a0 = never
            longest = min(most, j + lanes - 3 - first)
            for l2 in range(longest + 1):
                b0, b1, b2, b3 = never, never, never, never
                at = corner + j - l2
                for l1 in range(0, longest - l2 + 1, 4):
                    where = WIDTH * l2 + l1
                    b0 = simd.larger(simd.add(simd.spread_wide(shapes, where), simd.load_wide(ring, at)), b0)
                    at += pitch
                    b1 = simd.larger(
                        simd.add(simd.spread_wide(shapes, where + 1), simd.load_wide(ring, at)), b1
                    )
                    at += pitch
                    b2 = simd.larger(
                        simd.add(simd.spread_wide(shapes, where + 2), simd.load_wide(ring, at)), b2
                    )
                    at += pitch
                    b3 = simd.larger(
                        simd.add(simd.spread_wide(shapes, where + 3), simd.load_wide(ring, at)), b3
                    )
                    at += pitch
                b0 = simd.larger(simd.larger(b0, b1), simd.larger(b2, b3))
                if limited:
                    b0 = simd.where_at_least(simd.load_wide(free, j), simd.splat_wide(out, l2), b0, never)
                a0 = simd.larger(b0, a0)
            simd.store(out, j, a0)
            j += lanes


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
def fill_max(loops, pairs, base, c, m, f, chosen):
    """Fill C and M (triangles with row starts ``base``) and F; ``chosen[i]``: end of an external branch at i, or -1."""
    letters, min_hairpin, multi = loops.letters, loops.min_hairpin, loops.multi
    n, dtype = len(letters), c.dtype.type
    lanes, nothing = simd.lanes_wide(c), dtype(NEVER)
    width = n + 3 * MARGIN
    ring = np.full(RING * width, nothing)
    interior, extra = np.full(width, nothing), np.full(width, nothing)
    p, q, m2 = np.full(width, nothing), np.full(width, nothing), np.full(width, nothing)
    after = np.full(width, nothing)  # F(j + 1) and what an external branch scores
    own_shapes = loops.shapes.copy()
    never = simd.splat_wide(c, NEVER)
    f[n] = 0.0
    after[n - 1] = loops.external_paired
    for i in range(n - 1, -1, -1):
        first = i + min_hairpin + 1
        for j in range(i - 1, min(first, n)):
            c[base[i] + j] = nothing
            m[base[i] + j] = nothing
        simd.store(c, base[i] + n, never)
        best = nothing
        if first < n:
            shapes = loops.shapes
            if loops.free_right[i] < 30 and loops.limited:
                shapes_within(loops.shapes, int(loops.free_right[i]), nothing, own_shapes)
                shapes = own_shapes
            interior_max(
                i, n, first, shapes, loops.longest, loops.limited, loops.free_left, ring, width, interior
            )
            extra_scores(i, n, pairs, extra)
            best = pairs_max(i, first, n, loops, extra, interior, m2, after, ring, width, base, c, p)
            # One k after the other: Q(i, k) is complete when all branches that end before k have been pushed.
            for j in range(first, n, lanes):
                simd.store(q, j, never)
            mine, next_row, run = base[i], base[i + 1], nothing
            for k in range(first, n):
                run = max(run + multi[k], nothing)
                other = max(max(m[next_row + k] + multi[i], run), q[k])
                branch = p[k] + loops.multi_paired
                if branch > other:
                    if branch > 0.5 * nothing and k + min_hairpin + 2 < n:
                        push_branch(branch, m, base[k + 1], q, k + min_hairpin + 2, n)
                    other = branch
                run = max(run, branch)
                m[mine + k] = max(other, nothing)
                m2[MARGIN + k] = max(max(m2[MARGIN + k] + multi[i], q[k]), nothing)
        chosen[i] = -1
        f[i] = f[i + 1] + loops.external[i]
        if best > max(f[i], 0.5 * nothing):
            f[i] = best
            j = first
            while p[j] + after[j] != best:
                j += 1
            chosen[i] = j
        f[i] = max(f[i], nothing)
        if i > 0:
            after[i - 1] = f[i] + loops.external_paired
