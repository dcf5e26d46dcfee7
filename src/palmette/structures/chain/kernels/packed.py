"""Chains with packed weights: scores of feature rows, and their adjoint.

Columns seen with one label only ("single", most of them) have one weight, for that label; the others ("multi") have a
dense row of ``width`` weights, the labels padded to a multiple of eight, so that a row is a few vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.ragged import longest_sample


class Inputs(NamedTuple):
    """Occurrences of columns in feature rows: those of row t stand at ``multi_at[t]:multi_at[t + 1]``,
    ``single_at[t]:single_at[t + 1]`` and, for features on edges, ``edge_at[t]:edge_at[t + 1]``. Values are empty where
    all are 1. An edge column a has weights at ``edge_ptr[a]:edge_ptr[a + 1]``, for the pairs ``edge_pair``, which are
    places in a padded table. Without edge features these arrays are empty."""

    multi_at: np.ndarray
    multi: np.ndarray
    multi_value: np.ndarray
    single_at: np.ndarray
    single: np.ndarray
    single_value: np.ndarray
    single_label: np.ndarray
    edge_at: np.ndarray
    edge_column: np.ndarray
    edge_value: np.ndarray
    edge_ptr: np.ndarray
    edge_pair: np.ndarray


class Weights(NamedTuple):
    """Packed weights, flat: rows of multi columns, single columns, label pairs (``n_labels`` rows), edge features."""

    rows: np.ndarray
    singles: np.ndarray
    edge: np.ndarray
    edge_features: np.ndarray


class Chains(NamedTuple):
    """Packed samples: occurrences of columns, what labels score before them (``NEVER`` in the padding), the rows
    ``offsets[s]:offsets[s + 1]`` of sample s, true labels of rows, weights of samples, and the sizes of a row."""

    x: Inputs
    base: np.ndarray
    offsets: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    n_labels: int
    width: int


class Limits(NamedTuple):
    """What a partial annotation allows: each row of a sample takes a row of ``table``, 0 or ``NEVER`` per label."""

    row: np.ndarray  # (n_rows,)
    table: np.ndarray  # flat, padded rows


@kernel()
def limit_rows(limits, lo, n, width, node, out):
    """Scores of n rows from row lo on, with NEVER added to labels that the annotation does not allow."""
    for t in range(n):
        at, own = t * width, limits.row[lo + t] * width
        for k in range(width):
            out[at + k] = node[at + k] + limits.table[own + k]


class Work(NamedTuple):
    """Room to work in: rows of labels of the longest sample, its labels, and square tables, which are 0 at first."""

    node: np.ndarray
    theta: np.ndarray
    alpha: np.ndarray
    pull: np.ndarray
    path: np.ndarray
    pairs: np.ndarray
    factor: np.ndarray
    factor_t: np.ndarray


@kernel()
def workspace(chains, like):
    """Room for any sample, in the precision of ``like``: O(longest width + width^2)."""
    longest, dtype = longest_sample(chains.offsets), like.dtype
    size, square = longest * chains.width, chains.width * chains.width
    return Work(
        np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype),
        np.empty(longest, np.int64), np.zeros(square, dtype), np.zeros(square, dtype), np.zeros(square, dtype),
    )  # fmt: skip


ABSENT = np.iinfo(np.int64).min  # place of a column that has no weight


@kernel()
def count_kinds(indices, place):
    """Number of occurrences of multi and of single columns."""
    m, s = 0, 0
    for p in range(len(indices)):
        at = place[indices[p]]
        if at >= 0:
            m += 1
        elif at != ABSENT:
            s += 1
    return m, s


@kernel()
def split_columns(
    indptr, indices, values, place, bias_row, multi_at, multi, multi_value, single_at, single, single_value
):  # fmt: skip
    """Sort the occurrences of each row into multi columns (``place >= 0``: their row of weights) and single ones
    (``place < 0``: their weight is ``-1 - place``). A ``bias_row`` of at least 0 stands in every row."""
    ones = len(values) == 0
    m, s = 0, 0
    # One pass, rows in order; m and s count the occurrences written, for which the caller has made room by
    # ``count_kinds``. Columns without a weight are dropped.
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            at = place[indices[p]]
            if at >= 0:
                multi[m] = at
                if not ones:
                    multi_value[m] = values[p]
                m += 1
            elif at != ABSENT:
                single[s] = -1 - at
                if not ones:
                    single_value[s] = values[p]
                s += 1
        if bias_row >= 0:
            multi[m] = bias_row
            if not ones:
                multi_value[m] = 1.0
            m += 1
        multi_at[t + 1], single_at[t + 1] = m, s


@kernel()
def keep_columns(indptr, indices, values, place, at, column, value):
    """Occurrences of the columns that have a place, with it; returns their number. Empty outputs are only counted."""
    m = 0
    # Called twice: with empty outputs to count, then to write. ``at`` gets the pointers of the rows both times.
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            if place[indices[p]] >= 0:
                if len(column) > 0:
                    column[m] = place[indices[p]]
                if len(value) > 0:
                    value[m] = values[p]
                m += 1
        at[t + 1] = m
    return m


@kernel(inline=True)
def score_rows(x, w, base, lo, hi, width, node):
    """Node scores of feature rows lo:hi, into ``node`` from 0 on; every row starts as ``base``."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    # node[t, :] = base + sum_multi x w.rows[column, :], and one entry more per single column.
    # O(multi x width + singles) per row. ``base`` is NEVER in the padding, so padded labels never count.
    for t in range(lo, hi):
        at = (t - lo) * width
        first, last = x.multi_at[t], x.multi_at[t + 1]
        for c in range(0, width, LANES):
            a = simd.load(base, c)
            if ones:
                for p in range(first, last):
                    a = simd.add(a, simd.load(w.rows, x.multi[p] * width + c))
            else:
                for p in range(first, last):
                    row = simd.load(w.rows, x.multi[p] * width + c)
                    a = simd.fma(simd.splat(w.rows, x.multi_value[p]), row, a)
            simd.store(node, at + c, a)
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            node[at + x.single_label[q]] += w.singles[q] if ones else x.single_value[p] * w.singles[q]


@kernel()
def scatter_rows(x, lo, hi, width, node, rows, singles):
    """Adjoint of ``score_rows``: add ``node`` x features to ``rows`` and ``singles``."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    # rows[column, :] += sum_t x node[t, :], rows in order, so that sums are the same in every run. ``node`` is 0 in the
    # padding, as marginals are.
    for t in range(lo, hi):
        at = (t - lo) * width
        for p in range(x.multi_at[t], x.multi_at[t + 1]):
            to = x.multi[p] * width
            if ones:
                for c in range(0, width, LANES):
                    simd.store(rows, to + c, simd.add(simd.load(rows, to + c), simd.load(node, at + c)))
            else:
                v = simd.splat(rows, x.multi_value[p])
                for c in range(0, width, LANES):
                    simd.store(rows, to + c, simd.fma(v, simd.load(node, at + c), simd.load(rows, to + c)))
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            d = node[at + x.single_label[q]]
            singles[q] += d if ones else x.single_value[p] * d


@kernel(inline=True)
def number_distinct(x, lo, hi, seen, mark, distinct, local):
    """List the distinct multi columns of rows lo:hi in ``distinct`` and say in ``local`` which one each occurrence is.

    ``mark`` is kept from call to call: columns marked below ``seen`` are new. Returns the number of distinct columns
    and the new ``seen``.
    """
    n = 0
    first = x.multi_at[lo]
    # Invariant: mark[row] >= seen exactly for the columns met in this call, and mark[row] - seen is their number.
    # ``seen`` grows by what was found, so marks never have to be cleared. O(occurrences).
    for p in range(first, x.multi_at[hi]):
        row = x.multi[p]
        if mark[row] < seen:
            mark[row] = seen + n
            distinct[n] = row
            n += 1
        local[p - first] = mark[row] - seen
    return n, seen + n


@kernel(inline=True)
def gather_gradient(x, lo, hi, width, node, n_distinct, local, g):
    """As ``scatter_rows``, into one row of ``g`` for each distinct multi column; single columns are left out."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    for j in range(0, n_distinct * width, LANES):
        simd.store(g, j, simd.splat(g, 0.0))
    # g[local column, :] = sum_t x node[t, :], one row per distinct column: a step changes each row of weights once.
    first = x.multi_at[lo]
    for t in range(lo, hi):
        at = (t - lo) * width
        for p in range(x.multi_at[t], x.multi_at[t + 1]):
            to = local[p - first] * width
            if ones:
                for c in range(0, width, LANES):
                    simd.store(g, to + c, simd.add(simd.load(g, to + c), simd.load(node, at + c)))
            else:
                v = simd.splat(g, x.multi_value[p])
                for c in range(0, width, LANES):
                    simd.store(g, to + c, simd.fma(v, simd.load(node, at + c), simd.load(g, to + c)))


FETCHED = 16  # rows


@kernel(inline=True)
def fetch_columns(x, tables, lo, hi, width):
    """Ask for what tables of weights have for the columns in rows lo:hi, if these are few and will soon be read."""
    # Many rows have many loads under way by themselves, and few rows wait: theirs are asked for while the sample before
    # is worked on. A row of weights is a line of the cache, or begins in the first of several.
    if hi - lo > FETCHED:
        return
    for p in range(x.multi_at[lo], x.multi_at[hi]):
        moves.fetch(tables.rows, x.multi[p] * width)
    for p in range(x.single_at[lo], x.single_at[hi]):
        moves.fetch(tables.singles, np.int64(x.single[p]))


@kernel()
def true_score(node, edge, step, codes, lo, n, width):
    """Score of the labels ``codes[lo:lo + n]``; the table of the edge into row t stands at ``t * step``."""
    score = 0.0
    for t in range(n):
        score += node[t * width + codes[lo + t]]
        if t > 0:
            score += edge[t * step + codes[lo + t - 1] * width + codes[lo + t]]
    return score


@kernel()
def add_labels(node, pairs, step, labels, lo, n, width, amount, pair_weight):
    """Adjoint of ``true_score``: add ``amount`` to the labels ``labels[lo:lo + n]``, and to their pairs that times
    ``pair_weight``."""
    for t in range(n):
        node[t * width + labels[lo + t]] += amount
        if t > 0:
            pairs[t * step + labels[lo + t - 1] * width + labels[lo + t]] += amount * pair_weight


@kernel()
def copy(x, n, out):
    """``out[:n] = x[:n]`` (n a multiple of eight)."""
    for c in range(0, n, LANES):
        simd.store(out, c, simd.load(x, c))


@kernel()
def multiply(x, n, factor):
    """``x[:n] *= factor[:n]`` (n a multiple of eight)."""
    for c in range(0, n, LANES):
        simd.store(x, c, simd.mul(simd.load(x, c), simd.load(factor, c)))


@kernel()
def fill(x, n, value):
    """Set the first n entries (a multiple of eight)."""
    v = simd.splat(x, value)
    for c in range(0, n, LANES):
        simd.store(x, c, v)
