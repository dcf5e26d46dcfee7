"""Probabilities of pairs: derivatives of the log-partition, from the outermost pairs to the innermost.

The recursion of ``fast_inside`` in reverse, each row pulling from the rows before it. With x' for the derivative of
log Z by x, and ``D = C' * factor * closing``, what an inner pair gets from the interior loops around it:

* ``M2'(i, j) = u M2'(i-1, j) + C'(i-1, j+1) closing``, ``Q' = M' + M2'``
* ``M'(i, j) = u M'(i-1, j) + sum over h of P(h, i-1) Q'(h, j)``, ``R'(i, j) = M'(i, j) + u R'(i, j+1)``
* ``P'(i, k) = R'(i, k) + sum over j of Q'(i, j) M(k+1, j)``
* ``B'(i, j) = sum over l1, l2 of shapes[l1, l2] D(i-1-l1, j+1+l2)``, the convolution of the inside, mirrored
* ``C' = B' inner + P' branch + external branch + C'(i-1, j+1) stacking``; the pair's probability is ``C C'``.

Row i of M is not read any more when Q'(i, .) is known, nor is C(i, .) after its probabilities: these take their place.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_counting import (
    add_shapes,
    count_inner_loops,
    count_row,
    inner_pairs,
    interior_rest_counting,
    interior_two_counting,
)
from palmette.structures.folding.kernels.fast_factors import extra_factors
from palmette.structures.folding.kernels.fast_inside import interior_rest_sum, interior_two_sum, weighted_rows
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
    shapes_within,
)


@kernel()
def product_of_rows(a, at, b, to, first, n):
    """``sum over j of a[at + j] b[to + j]``."""
    lanes = simd.lanes_wide(a)
    s0, s1 = simd.splat_wide(a, 0.0), simd.splat_wide(a, 0.0)
    s2, s3 = simd.splat_wide(a, 0.0), simd.splat_wide(a, 0.0)
    j = first
    while j + 3 * lanes < n:
        s0 = simd.fma(simd.load_wide(a, at + j), simd.load_wide(b, to + j), s0)
        s1 = simd.fma(simd.load_wide(a, at + j + lanes), simd.load_wide(b, to + j + lanes), s1)
        s2 = simd.fma(simd.load_wide(a, at + j + 2 * lanes), simd.load_wide(b, to + j + 2 * lanes), s2)
        s3 = simd.fma(simd.load_wide(a, at + j + 3 * lanes), simd.load_wide(b, to + j + 3 * lanes), s3)
        j += 4 * lanes
    while j < n:
        s0 = simd.fma(simd.load_wide(a, at + j), simd.load_wide(b, to + j), s0)
        j += lanes
    return simd.total(simd.add(simd.add(s0, s1), simd.add(s2, s3)))


@kernel()
def branches_outside(first, n, min_hairpin, multi, base, mine, c, m, m_bar, r_bar, p_bar):
    """R' of a row, and P' where P is not 0."""
    nothing = c.dtype.type(0.0)
    run = nothing
    for k in range(n - 1, first - 1, -1):
        run = m_bar[k] + run
        r_bar[k] = run
        run *= multi[k]
    for k in range(first, n):
        p_bar[k] = nothing
        if c[mine + k] > nothing:
            p_bar[k] = r_bar[k]
            if k + min_hairpin + 2 < n:
                p_bar[k] += product_of_rows(m, mine, m, base[k + 1], k + min_hairpin + 2, n)


@kernel()
def loops_around(i, first, n, loops, ring, width, inner):
    """Add to B'(i, j) the bulges of one and 1x1 loops around (i, j), whose factors depend on letters."""
    lanes, rows, pitch = simd.lanes_wide(ring), loops.rows, loops.pitch
    above1, above2 = ((i - 1) & 31) * width + MARGIN, ((i - 2) & 31) * width + MARGIN
    letter = loops.letters[i - 1]
    bulge = simd.splat_wide(ring, loops.bulge_left[letter] if loops.free_left[i] >= 1 else 0.0)
    free = simd.splat_wide(ring, 1.0 if loops.free_left[i] >= 1 else 0.0)
    one = (ONE + letter) * pitch
    for j in range(first, n, lanes):
        total = simd.load_wide(inner, j)
        total = simd.fma(bulge, simd.load_wide(ring, above2 + j + 1), total)
        right = simd.load_wide(rows, BULGE * pitch + j + 2)
        total = simd.fma(right, simd.load_wide(ring, above1 + j + 2), total)
        both = simd.mul(free, simd.load_wide(rows, one + j + 2))
        total = simd.fma(both, simd.load_wide(ring, above2 + j + 2), total)
        simd.store(inner, j, total)


@kernel()
def fill_outside(
    loops, pairs, base, c, m, m2s, f, column_start, column_count, column_row, column_weight, around, distances, bulges,
    shape_counts,
):  # fmt: skip
    """Probabilities of pairs in the place of C; with ``around`` (rows as those of ``loops``) expected counts, too.

    ``f`` holds the sums over the rest of the sequence from each position on. See ``fast_counting`` for the counts.
    """
    letters, min_hairpin, multi = loops.letters, loops.min_hairpin, loops.multi
    rows, pitch, counting = loops.rows, loops.pitch, len(around) > 0
    n, lanes, nothing = len(letters), simd.lanes_wide(c), c.dtype.type(0.0)
    width = n + 3 * MARGIN
    ring = np.zeros(RING * width, c.dtype)
    inner, extra, b = np.zeros(width, c.dtype), np.ones(width, c.dtype), np.zeros(width, c.dtype)
    m_bar, m2_bar, r_bar = np.zeros(width, c.dtype), np.zeros(width, c.dtype), np.zeros(width, c.dtype)
    p_bar, pulled = np.zeros(width, c.dtype), np.zeros(width, c.dtype)
    stacked, closed = (
        np.zeros(width, c.dtype),
        np.zeros(width, c.dtype),
    )  # C'(i-1, j) stacking, C'(i-1, j) closing
    own_shapes, next_shapes = loops.shapes.copy(), loops.shapes.copy()
    later_inner, later_b, both = np.zeros(width, c.dtype), np.zeros(width, c.dtype), True
    f_bar, after = np.zeros(width, c.dtype), np.zeros(width, c.dtype)
    none = np.zeros(width, c.dtype)
    gathered = np.zeros(len(loops.shapes) * lanes if counting else 0, c.dtype)
    for j in range(n):
        after[j] = f[j + 1] * loops.external_paired
    f_bar[0] = 1.0 / f[0]
    external_paired = simd.splat_wide(c, loops.external_paired)
    multi_paired = simd.splat_wide(c, loops.multi_paired)
    for i in range(n):
        first = i + min_hairpin + 1
        f_bar[i + 1] += f_bar[i] * loops.external[i]
        if first >= n:
            continue
        mine = base[i]
        if i > 0:
            start = column_start[i - 1]
            count = column_count[i - 1]
            # The list was written from the last row to the first; its order does not matter where all rows count.
            weighted_rows(
                n, first, -n, count, column_row[start : start + count], column_weight[start : start + count], base, m,
                pulled,
            )  # fmt: skip
            unpaired = simd.spread_wide(multi, i - 1)
            for j in range(first, n, lanes):
                one = simd.fma(unpaired, simd.load_wide(m_bar, j), simd.load_wide(pulled, j))
                two = simd.fma(unpaired, simd.load_wide(m2_bar, j), simd.load_wide(closed, j + 1))
                simd.store(m_bar, j, one)
                simd.store(m2_bar, j, two)
                simd.store(m, mine + j, simd.add(one, two))
        else:
            for j in range(first, n, lanes):
                simd.store(m, mine + j, simd.splat_wide(c, 0.0))
        branches_outside(first, n, min_hairpin, multi, base, mine, c, m, m_bar, r_bar, p_bar)
        if not pairs.plain:
            extra_factors(i, n, pairs, extra)
        here, before = letters[i], letters[i - 1] if i > 0 else BEYOND
        inside, outside = (6 * here + letters[i + 1]) * pitch, (6 * here + before) * pitch
        inner, later_inner = later_inner, inner
        b, later_b = later_b, b
        if both:
            if counting:
                inner_pairs(i, first, n, loops, c, base, b)
                if i + 1 < n:
                    inner_pairs(i + 1, first + 1, n, loops, c, base, later_b)
                later_b[first] = nothing
            # For i = 0 all rows above are 0, the last ones of the ring.
            shapes = shapes_within(loops, loops.free_left[i], nothing, own_shapes)
            more_shapes = shapes_within(loops, loops.free_left[i + 1], nothing, next_shapes)
            corner = (((i - 1) & 31) + 32) * width + MARGIN + 1
            if counting:
                # Row i + 1 has one more free position on its left than row i, unless i must pair: then none.
                most_left = min(i - 1, int(loops.free_left[i])) if loops.limited else i - 1
                alone = loops.limited and loops.free_left[i + 1] < 1
                interior_two_counting(
                    n, first, most_left, n - 2, loops.longest, shapes, more_shapes, loops.limited, loops.free_right,
                    ring, corner, width, b, none if alone else later_b, inner, later_inner, gathered,
                )  # fmt: skip
            else:
                interior_two_sum(
                    n, first, i - 1, n - 2, loops.longest, shapes, more_shapes, loops.limited, loops.free_right, ring,
                    corner, 1, -width, inner, later_inner,
                )  # fmt: skip
        else:
            corner = ((i - 1) & 31) * width + MARGIN + 1
            if counting:
                interior_rest_counting(
                    n, first, loops.longest, next_shapes, loops.limited, loops.free_right, ring, corner, b, inner,
                    gathered,
                )  # fmt: skip
            else:
                interior_rest_sum(
                    n,
                    first,
                    loops.longest,
                    next_shapes,
                    loops.limited,
                    loops.free_right,
                    ring,
                    corner,
                    1,
                    inner,
                )
        if i > 0:
            if counting:
                count_inner_loops(i, first, n, loops, ring, width, b, around, bulges)
            loops_around(i, first, n, loops, ring, width, inner)
        if counting and (i & 63) == 63:
            add_shapes(gathered, loops.shapes, shape_counts)
        both = not both
        slot = (i & 31) * width + MARGIN
        f_here = simd.spread_wide(f_bar, i)
        f_branch = simd.mul(f_here, external_paired)
        if counting:
            count_row(
                i,
                first,
                n,
                loops,
                extra,
                c,
                m2s,
                base,
                inner,
                p_bar,
                after,
                stacked,
                f_bar[i],
                around,
                distances,
            )
        for j in range(first, n, lanes):
            value = simd.load_wide(c, mine + j)
            branch = simd.load_wide(rows, BRANCH * pitch + outside + j)
            outer = simd.fma(
                multi_paired, simd.load_wide(p_bar, j), simd.mul(f_here, simd.load_wide(after, j))
            )
            bar = simd.fma(branch, outer, simd.load_wide(stacked, j + 1))
            bar = simd.fma(simd.load_wide(inner, j), simd.load_wide(rows, INNER * pitch + outside + j), bar)
            simd.store(c, mine + j, simd.mul(value, bar))
            ahead = simd.fma(simd.mul(f_branch, value), branch, simd.load_wide(f_bar, j + 1))
            simd.store(f_bar, j + 1, ahead)
            bar = simd.mul(bar, simd.load_wide(extra, j))
            d = simd.mul(bar, simd.load_wide(rows, CLOSE * pitch + inside + j))
            simd.store(ring, slot + j, d)
            simd.store(ring, slot + 32 * width + j, d)
            simd.store(stacked, j, simd.mul(bar, simd.load_wide(rows, STACK * pitch + inside + j)))
            simd.store(closed, j, simd.mul(bar, simd.load_wide(rows, CLOSE_MULTI * pitch + inside + j)))
    if counting:
        add_shapes(gathered, loops.shapes, shape_counts)
