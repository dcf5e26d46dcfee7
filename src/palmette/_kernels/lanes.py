"""Sums and maxima over the labelings of one chain, eight labels at a time.

Rows of labels are padded to ``width``, a multiple of eight: row t of a flat table stands at ``t * width``. Padded node
scores are very negative and padded edge factors zero, so that padded labels never count. Both transition tables are
kept, as they are and transposed, since a vector runs along the rows of either.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel


@kernel()
def times_table(x, at, table, n, width, out, to):
    """``out[to + k] = sum_i x[at + i] table[i, k]`` for the first n rows, rounded up to a multiple of four.

    So ``table`` has ``width`` rows, like the tables of all edges; one of n rows only would be read past its end.
    """
    # O(n width): the columns in chunks of 16 (or 8), each with four independent sums, so that additions do not wait
    # for each other. Entries of x from n to the next multiple of four must be 0 or meet rows of zeros.
    c = 0
    while c < width:
        a, b = simd.splat(out, 0.0), simd.splat(out, 0.0)
        if c + 2 * LANES <= width:
            a1, b1 = simd.splat(out, 0.0), simd.splat(out, 0.0)
            p = c
            for i in range(0, n, 4):
                x0, x1 = simd.spread(x, at + i), simd.spread(x, at + i + 1)
                a = simd.fma(x0, simd.load(table, p), a)
                a1 = simd.fma(x0, simd.load(table, p + LANES), a1)
                b = simd.fma(x1, simd.load(table, p + width), b)
                b1 = simd.fma(x1, simd.load(table, p + width + LANES), b1)
                x0, x1 = simd.spread(x, at + i + 2), simd.spread(x, at + i + 3)
                p += 2 * width
                a = simd.fma(x0, simd.load(table, p), a)
                a1 = simd.fma(x0, simd.load(table, p + LANES), a1)
                b = simd.fma(x1, simd.load(table, p + width), b)
                b1 = simd.fma(x1, simd.load(table, p + width + LANES), b1)
                p += 2 * width
            simd.store(out, to + c, simd.add(a, b))
            simd.store(out, to + c + LANES, simd.add(a1, b1))
            c += 2 * LANES
        else:
            d, e = simd.splat(out, 0.0), simd.splat(out, 0.0)
            p = c
            for i in range(0, n, 4):
                a = simd.fma(simd.spread(x, at + i), simd.load(table, p), a)
                b = simd.fma(simd.spread(x, at + i + 1), simd.load(table, p + width), b)
                d = simd.fma(simd.spread(x, at + i + 2), simd.load(table, p + 2 * width), d)
                e = simd.fma(simd.spread(x, at + i + 3), simd.load(table, p + 3 * width), e)
                p += 4 * width
            simd.store(out, to + c, simd.add(simd.add(a, b), simd.add(d, e)))
            c += LANES


@kernel()
def exponentiate_row(node, at, width):
    """Replace a row of scores by ``exp(score - largest)``; returns the largest."""
    # The largest becomes exactly 1, so a row of factors never vanishes; padded scores (NEVER) become 0.
    top = simd.load(node, at)
    for c in range(LANES, width, LANES):
        top = simd.larger(top, simd.load(node, at + c))
    largest = simd.largest(top)
    shift = simd.splat(node, largest)
    for c in range(0, width, LANES):
        simd.store(node, at + c, simd.exp(simd.sub(simd.load(node, at + c), shift)))
    return largest


@kernel()
def times_row(x, at, factor, to, width):
    """``x *= factor`` for one row of each; returns the sum."""
    sums = simd.splat(x, 0.0)
    for c in range(0, width, LANES):
        product = simd.mul(simd.load(x, at + c), simd.load(factor, to + c))
        simd.store(x, at + c, product)
        sums = simd.add(sums, product)
    return simd.total(sums)


@kernel()
def scale_row(x, at, factor, width):
    """``x *= factor`` for one row and a number."""
    by = simd.splat(x, factor)
    for c in range(0, width, LANES):
        simd.store(x, at + c, simd.mul(simd.load(x, at + c), by))


@kernel()
def first_row(node, alpha, width):
    """Begin the forward messages with the factors of the first row; returns their sum."""
    sums = simd.splat(alpha, 0.0)
    for c in range(0, width, LANES):
        value = simd.load(node, c)
        simd.store(alpha, c, value)
        sums = simd.add(sums, value)
    return simd.total(sums)


@kernel()
def last_row(node, alpha, pull, at, width):
    """Begin the backward messages in the last row, where beta is 1."""
    for c in range(0, width, LANES):
        simd.store(pull, at + c, simd.load(node, at + c))
        simd.store(node, at + c, simd.load(alpha, at + c))


@kernel()
def backward_row(node, alpha, pull, at, width):
    """From beta in ``pull``: node factor x beta there, and marginals in place of the node factor; returns their sum."""
    sums = simd.splat(node, 0.0)
    for c in range(0, width, LANES):
        beta = simd.load(pull, at + c)
        marginal = simd.mul(simd.load(alpha, at + c), beta)
        sums = simd.add(sums, marginal)
        simd.store(pull, at + c, simd.mul(simd.load(node, at + c), beta))
        simd.store(node, at + c, marginal)
    return simd.total(sums)


@kernel(inline=True)
def sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull):
    """Log-partition of a chain (edges' shift left out), and marginals in place of the scores ``node``.

    ``alpha`` holds the normalised forward messages, ``pull[t]`` the backward message that enters at t times node
    factor over scale, so that ``sum_t alpha[t - 1, i] factor[i, j] pull[t, j]`` are the expected label pairs. NaN if
    the numbers leave the range of their type, where the marginals mean nothing.
    """
    log_z = log_partition(node, n, n_labels, width, factor, alpha)
    if np.isnan(log_z):
        return log_z
    # backward: pull[t] = node factor x beta / scale; the marginal alpha x beta replaces the node factor
    for t in range(n - 1, -1, -1):
        at = t * width
        if t == n - 1:
            last_row(node, alpha, pull, at, width)
            continue
        times_table(pull, at + width, factor_t, n_labels, width, pull, at)
        if not abs(backward_row(node, alpha, pull, at, width) - 1.0) < 1e-3:
            return np.nan
    return log_z


@kernel()
def log_partition(node, n, n_labels, width, factor, alpha):
    """The forward pass of ``sum_chain``: messages go to ``alpha``, node factors over scales in place of the scores."""
    smallest = 1e-30 if node.itemsize == 4 else 1e-290
    log_z, product = 0.0, 1.0
    # alpha[t, j] = node[t, j] sum_i alpha[t - 1, i] factor[i, j] / z_t with node = exp(score - largest); node is
    # divided by z_t, too, as the backward pass needs it. log Z = sum of largest scores + log prod_t z_t; the product
    # goes into log Z before it leaves the range. z_t near the smallest number of the type means that digits were lost:
    # NaN, and callers take log space. O(n width K), nothing allocated. Padded labels are 0 throughout, exp(NEVER).
    for t in range(n):
        at = t * width
        log_z += exponentiate_row(node, at, width)
        if t == 0:
            z = first_row(node, alpha, width)
        else:
            times_table(alpha, at - width, factor, n_labels, width, alpha, at)
            z = times_row(alpha, at, node, at, width)
        if not z > smallest:
            return np.nan
        inverse = 1.0 / z
        scale_row(alpha, at, inverse, width)
        scale_row(node, at, inverse, width)
        product *= z
        if product < 1e-200 or product > 1e200:
            log_z += np.log(product)
            product = 1.0
    log_z += np.log(product)
    return log_z


@kernel()
def exponentiate_edges(edge, n_labels, width, factor, factor_t):
    """``factor = exp(edge - shift)`` and its transpose; returns the shift, the largest score of a pair."""
    # The largest pair becomes 1. Padding of ``factor`` is set to 0 (rows of labels) and must be 0 in the rows beyond,
    # as the caller's zeros are. O(K width).
    shift = edge[0]
    for i in range(n_labels):
        for j in range(n_labels):
            shift = max(shift, edge[i * width + j])
    by = simd.splat(edge, shift)
    for c in range(0, n_labels * width, LANES):
        simd.store(factor, c, simd.exp(simd.sub(simd.load(edge, c), by)))
    transpose(factor, n_labels, width, factor_t)
    for i in range(n_labels):
        for j in range(n_labels, width):
            factor[i * width + j] = 0.0
    return shift


@kernel()
def add_pairs(alpha, pull, n, n_labels, width, weight, pairs):
    """``pairs[i, j] += weight sum_t alpha[t - 1, i] pull[t, j]``, four positions at a time."""
    # Four outer products per pass over ``pairs``, so that it is loaded and stored a quarter as often. O(n K width).
    t = 1
    while t < n:
        a, b = (t - 1) * width, t * width
        if t + 4 <= n:
            for c in range(0, width, LANES):
                w = simd.splat(pairs, weight)
                p0, p1 = simd.mul(w, simd.load(pull, b + c)), simd.mul(w, simd.load(pull, b + width + c))
                p2 = simd.mul(w, simd.load(pull, b + 2 * width + c))
                p3 = simd.mul(w, simd.load(pull, b + 3 * width + c))
                for i in range(n_labels):
                    s = simd.load(pairs, i * width + c)
                    s = simd.fma(simd.spread(alpha, a + i), p0, s)
                    s = simd.fma(simd.spread(alpha, a + width + i), p1, s)
                    s = simd.fma(simd.spread(alpha, a + 2 * width + i), p2, s)
                    s = simd.fma(simd.spread(alpha, a + 3 * width + i), p3, s)
                    simd.store(pairs, i * width + c, s)
            t += 4
        else:
            for c in range(0, width, LANES):
                p0 = simd.mul(simd.splat(pairs, weight), simd.load(pull, b + c))
                for i in range(n_labels):
                    s = simd.fma(simd.spread(alpha, a + i), p0, simd.load(pairs, i * width + c))
                    simd.store(pairs, i * width + c, s)
            t += 1


@kernel()
def transpose(table, n_labels, width, out):
    """``out[j, i] = table[i, j]`` for the labels; the padding of ``out`` is left alone."""
    for i in range(n_labels):
        for j in range(n_labels):
            out[j * width + i] = table[i * width + j]


@kernel(inline=True)
def read_path(node, n, n_labels, width, edge, step, path):
    """Labels from the best scores of what follows, and their score; the table into row t stands at ``t * step``."""
    # From the first row on; a strictly better label replaces a lower one. O(n K).
    best = 0
    for k in range(1, n_labels):
        if node[k] > node[best]:
            best = k
    score = node[best]
    path[0] = best
    for t in range(1, n):
        row, at = t * step + path[t - 1] * width, t * width
        best = 0
        top = edge[row] + node[at]
        for k in range(1, n_labels):
            value = edge[row + k] + node[at + k]
            if value > top:
                top, best = value, k
        path[t] = best
    return score


@kernel(inline=True)
def best_chain(node, n, n_labels, width, edge, edge_t, path):
    """Labels of the highest score, the lexicographically lowest where several have it; returns the score.

    ``node`` is overwritten by the best score of what follows from each position and label.
    """
    # node[t, i] += max_j (edge[i, j] + node[t + 1, j]), eight i at a time along row j of the transpose; two running
    # maxima do not wait for each other. O(n K width). Padded labels are written but never read.
    for t in range(n - 2, -1, -1):
        at, following = t * width, (t + 1) * width
        for c in range(0, width, LANES):
            a = simd.add(simd.load(edge_t, c), simd.spread(node, following))
            b = a
            j = 1
            while j + 1 < n_labels:
                first, second = simd.load(edge_t, j * width + c), simd.load(edge_t, (j + 1) * width + c)
                a = simd.larger(a, simd.add(first, simd.spread(node, following + j)))
                b = simd.larger(b, simd.add(second, simd.spread(node, following + j + 1)))
                j += 2
            if j < n_labels:
                last = simd.load(edge_t, j * width + c)
                a = simd.larger(a, simd.add(last, simd.spread(node, following + j)))
            simd.store(node, at + c, simd.add(simd.load(node, at + c), simd.larger(a, b)))
    return read_path(node, n, n_labels, width, edge, 0 * width, path)
