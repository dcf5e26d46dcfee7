"""Dual ascent on samples whose scores are rows of features and tables of weights: all of a visit but the sums.

The columns of a row say what it scores in ``width`` places (labels, or what else a structure scores of a row). A column
has its weights one after the other, so that a row is read once, however many kinds of weights it has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import SUMS, kernel

# What a pass does: ascend, put the marginals where they are under w, or only values.
VISIT, PLACE, VALUE = range(3)
TINY = 1e-30  # residuals below are 0: numbers too small for a normal exponent are slow


class Rows(NamedTuple):
    """Occurrences of columns (those of row t at ``at[t]:at[t + 1]``; values empty where all are 1), and what weights
    columns have: those of column a are ``first[a]:first[a + 1]``, for the places ``place``. A column that has a weight
    for every one of the ``width`` places (a multiple of eight) has them in order. Tables of rows are flat. No sample
    has more than ``most_columns`` occurrences, with ``most_weights`` weights."""

    at: np.ndarray
    column: np.ndarray
    value: np.ndarray
    first: np.ndarray
    place: np.ndarray
    width: int
    most_columns: int
    most_weights: int


class Tables(NamedTuple):
    """Entries of all tables of a sample: their weight (-1: none, they score 0), counted from the first one of tables,
    which is ``start`` among all weights."""

    weight: np.ndarray
    start: int


class Ascent(NamedTuple):
    """The weights ``w = soft(z, l1) / l2`` (``z`` and ``l1`` are empty without L1), and the dual variables: marginals
    minus truth of rows and of the weights of tables, and of each sample a bound on its entropy, and what it lacked.

    What only fills a column up to all places has ``inverse_l2 = 0``, and so the weight 0.
    """

    w: np.ndarray
    z: np.ndarray
    inverse_l2: np.ndarray
    l1: np.ndarray
    residual: np.ndarray  # flat (rows, width)
    residual_table: np.ndarray  # (samples, weights of tables)
    entropy: np.ndarray
    gap: np.ndarray


class Room(NamedTuple):
    """Room for a visit: scores and moments of the rows of a sample and of tables; its gradient, and ``1 / l2`` beside
    it, in which column a has its weights from ``begin[a]`` on if ``mark[a]`` is the number of the visit."""

    theta: np.ndarray
    moment: np.ndarray
    table: np.ndarray
    table_moment: np.ndarray
    gradient: np.ndarray
    inverse_l2: np.ndarray
    table_gradient: np.ndarray
    mark: np.ndarray
    begin: np.ndarray
    distinct: np.ndarray


@kernel()
def room_for(x, tables, n_rows, n_table_weights):
    """Room for any sample; ``n_rows`` are those that ``theta`` holds at once."""
    most, occurrences = x.most_weights, x.most_columns
    n_columns = len(x.first) - 1
    return Room(
        np.zeros(n_rows * x.width), np.zeros(n_rows * x.width), np.zeros(len(tables.weight)),
        np.zeros(len(tables.weight)), np.zeros(most), np.zeros(most), np.zeros(n_table_weights),
        np.full(n_columns, -1), np.zeros(n_columns, np.int64), np.zeros(occurrences, np.int64),
    )  # fmt: skip


@kernel()
def score_rows(x, w, lo, hi, to, theta):
    """Scores of the rows lo:hi, into ``theta`` from row ``to`` on."""
    ones = len(x.value) == 0
    # theta[t, place] = sum of the weights for that place of the columns of row t, times their values. O(weights read).
    for t in range(lo, hi):
        at = (to + t - lo) * x.width
        for c in range(0, x.width, LANES):
            simd.store(theta, at + c, simd.splat(theta, 0.0))
        for p in range(x.at[t], x.at[t + 1]):
            a = x.column[p]
            first, last = x.first[a], x.first[a + 1]
            v = 1.0 if ones else x.value[p]
            if last - first == x.width:
                by = simd.splat(theta, v)
                for c in range(0, x.width, LANES):
                    own = simd.fma(by, simd.load(w, first + c), simd.load(theta, at + c))
                    simd.store(theta, at + c, own)
            else:
                for q in range(first, last):
                    theta[at + x.place[q]] += v * w[q]


@kernel()
def read_tables(tables, w, table):
    """Scores of all entries of tables."""
    for e in range(len(table)):
        q = tables.weight[e]
        table[e] = w[tables.start + q] if q >= 0 else 0.0


@kernel()
def add_rows(x, lo, hi, amount, residual, out):
    """Adjoint of ``score_rows``: add ``amount`` times rows lo:hi of ``residual`` to ``out``, in their order."""
    ones = len(x.value) == 0
    for t in range(lo, hi):
        at = t * x.width
        for p in range(x.at[t], x.at[t + 1]):
            a = x.column[p]
            v = amount if ones else amount * x.value[p]
            for q in range(x.first[a], x.first[a + 1]):
                out[q] += v * residual[at + x.place[q]]


@kernel()
def pull_back(x, offsets, weight, residual, residual_table, start, out):
    """Add the features of all residuals, each sample times its weight, to ``out``, which is in double precision."""
    for s in range(len(offsets) - 1):
        add_rows(x, offsets[s], offsets[s + 1], weight[s], residual, out)
        for q in range(residual_table.shape[1]):
            out[start + q] += weight[s] * residual_table[s, q]


@kernel()
def gather_gradient(x, inverse_l2, lo, hi, to, room, turn):
    """Features of the moments of rows lo:hi, each weight once, into ``room.gradient``; columns met, their weights."""
    ones = len(x.value) == 0
    n, used = 0, 0
    # A column met for the first time gets the next free stretch of the gradient; marks are the numbers of visits, so
    # that they never have to be cleared.
    for t in range(lo, hi):
        at = (to + t - lo) * x.width
        for p in range(x.at[t], x.at[t + 1]):
            a = x.column[p]
            first, last = x.first[a], x.first[a + 1]
            if room.mark[a] != turn:
                room.mark[a], room.begin[a], room.distinct[n] = turn, used, a
                n += 1
                if last - first == x.width:
                    for c in range(0, x.width, LANES):
                        simd.store(room.gradient, used + c, simd.splat(room.gradient, 0.0))
                        simd.store(room.inverse_l2, used + c, simd.load(inverse_l2, first + c))
                else:
                    for q in range(last - first):
                        room.gradient[used + q] = 0.0
                        room.inverse_l2[used + q] = inverse_l2[first + q]
                used += last - first
            v = 1.0 if ones else x.value[p]
            begin = room.begin[a]
            if last - first == x.width:
                by = simd.splat(room.gradient, v)
                for c in range(0, x.width, LANES):
                    own = simd.load(room.gradient, begin + c)
                    own = simd.fma(by, simd.load(room.moment, at + c), own)
                    simd.store(room.gradient, begin + c, own)
            else:
                for q in range(first, last):
                    room.gradient[begin + q - first] += v * room.moment[at + x.place[q]]
    return n, used


@kernel(fastmath=SUMS)
def squared(gradient, inverse_l2, n):
    """``sum_j g_j^2 / l2_j``: what a whole step costs in the dual, twice."""
    found = 0.0
    for j in range(n):
        found += gradient[j] * gradient[j] * inverse_l2[j]
    return found


@kernel()
def move_one(ascent, inverse_l2, q, change):
    """``z[q] += change`` and the weight that belongs to it; without L1 z is not kept."""
    if len(ascent.z) == 0:
        ascent.w[q] += change * inverse_l2
        return
    z, cut = ascent.z[q] + change, ascent.l1[q]
    ascent.z[q] = z
    ascent.w[q] = (max(z - cut, 0.0) + min(z + cut, 0.0)) * inverse_l2


@kernel()
def move_rows(x, w, z, l1, room, n, pace):
    """``z -= pace g`` on the weights of the n columns met, and the weights that belong to it."""
    step, zero, plain = simd.splat(w, -pace), simd.splat(w, 0.0), len(z) == 0
    # Without L1, w -= pace g / l2, and z is not kept; else w = (max(z - l1, 0) + min(z + l1, 0)) / l2.
    for d in range(n):
        a = room.distinct[d]
        first, count, begin = x.first[a], x.first[a + 1] - x.first[a], room.begin[a]
        if count == x.width:
            for c in range(0, count, LANES):
                scale = simd.load(room.inverse_l2, begin + c)
                change = simd.mul(step, simd.load(room.gradient, begin + c))
                if plain:
                    simd.store(w, first + c, simd.fma(change, scale, simd.load(w, first + c)))
                else:
                    fresh, cut = simd.add(simd.load(z, first + c), change), simd.load(l1, first + c)
                    simd.store(z, first + c, fresh)
                    above = simd.larger(simd.sub(fresh, cut), zero)
                    below = simd.smaller(simd.add(fresh, cut), zero)
                    simd.store(w, first + c, simd.mul(simd.add(above, below), scale))
        else:
            q, end = first, first + count
            while q < end:
                j = begin + q - first
                change, scale = -pace * room.gradient[j], room.inverse_l2[j]
                if plain:
                    w[q] += change * scale
                else:
                    z[q] += change
                    w[q] = (max(z[q] - l1[q], 0.0) + min(z[q] + l1[q], 0.0)) * scale
                q += 1


@kernel()
def finish_visit(x, tables, ascent, room, mode, turn, s, lo, hi, to, c, value):
    """What a pass does with sample s once its sums are known: ``value`` is its loss, ``room`` has its moments.

    The moments, of rows from ``to`` on and of tables, are marginals minus truth; they are used up.
    """
    if mode == VALUE:
        ascent.gap[s] = value
        return
    residual, residual_table = ascent.residual, ascent.residual_table
    size, at, here = (hi - lo) * x.width, to * x.width, lo * x.width
    # Block ascent: mu_s <- mu_s + gamma (p - mu_s), p the marginals under w. With r = mu_s - truth, m = p - truth:
    # own = loss - <theta, m> is the entropy of p, gap = loss - <theta, r> - entropy[s] >= 0. The dual grows by at least
    # c (gamma gap - gamma^2 c curvature / 2), curvature = |features of m - r|^2 / l2, so gamma = gap / (c curvature),
    # at most 1. ``entropy`` is the mean of the entropies mixed in: by concavity a lower bound of that of mu_s.
    own, gap = value, value - ascent.entropy[s]
    for k in range(size):
        r = residual[here + k]
        own -= room.theta[at + k] * room.moment[at + k]
        gap -= room.theta[at + k] * r
        room.moment[at + k] -= r
    gradient, start = room.table_gradient, tables.start
    for q in range(len(gradient)):
        gradient[q] = 0.0
    for e in range(len(tables.weight)):
        q = tables.weight[e]
        if q >= 0:
            gradient[q] += room.table_moment[e]
            own -= room.table[e] * room.table_moment[e]
    for q in range(len(gradient)):
        gradient[q] -= residual_table[s, q]
        gap -= ascent.w[start + q] * residual_table[s, q]
    own, gamma = max(own, 0.0), 1.0
    if mode == VISIT:
        ascent.gap[s] = gap
        n, used = gather_gradient(x, ascent.inverse_l2, lo, hi, to, room, turn)
        table_inverse = ascent.inverse_l2[start:]
        steep = squared(room.gradient, room.inverse_l2, used) + squared(
            gradient, table_inverse, len(gradient)
        )
        gamma = min(1.0, gap / max(c * steep, 1e-300)) if gap > 0.0 else 0.0
        pace = gamma * c
        move_rows(x, ascent.w, ascent.z, ascent.l1, room, n, pace)
        for q in range(len(gradient)):
            move_one(ascent, table_inverse[q], start + q, -pace * gradient[q])
    ascent.entropy[s] += gamma * (own - ascent.entropy[s])
    for k in range(size):
        r = residual[here + k] + gamma * room.moment[at + k]
        residual[here + k] = r if abs(r) > TINY else 0.0
    for q in range(len(gradient)):
        residual_table[s, q] += gamma * gradient[q]
