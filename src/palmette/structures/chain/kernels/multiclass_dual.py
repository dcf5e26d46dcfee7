"""Dual of the multiclass hinge: one sample after the other, each with its exact step on the simplex.

Labels are padded to a multiple of eight (``width``): weights and masses are 0 there, costs -1e30, so that no padded
label is ever chosen. Weights are ``w[j * width + k]`` for column j and label k; behind the columns stands the row of
the bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import SUMS, kernel

TIE = 1e-12  # a gap below this share of the scores is rounding


class Rows(NamedTuple):
    """Feature rows, dense (``x``, flat) where ``indptr`` is empty, else sparse; ``values`` is empty where all are 1."""

    x: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    n_columns: int
    n_labels: int
    width: int
    bias: bool


@kernel(fastmath=SUMS)
def score_row(rows, w, i, g):
    """Add the scores of row i to ``g``."""
    x, indptr, indices, values, n_columns, _, width, bias = rows
    sparse, ones = len(indptr) > 0, len(values) == 0
    # g[k] += bias[k] + sum_j x[i, j] w[j, k], eight labels at a time; O(nnz width). Padded weights are 0.
    for c in range(0, width, LANES):
        even = simd.load(g, c)
        if bias:
            even = simd.add(even, simd.load(w, n_columns * width + c))
        if sparse:
            for p in range(indptr[i], indptr[i + 1]):
                at = indices[p] * width + c
                if ones:
                    even = simd.add(even, simd.load(w, at))
                else:
                    even = simd.fma(simd.spread(values, p), simd.load(w, at), even)
        else:
            # two sums: each waits for its own last addition only
            odd = simd.splat(g, 0.0)
            start, j = i * n_columns, 0
            while j + 1 < n_columns:
                even = simd.fma(simd.spread(x, start + j), simd.load(w, j * width + c), even)
                odd = simd.fma(simd.spread(x, start + j + 1), simd.load(w, (j + 1) * width + c), odd)
                j += 2
            if j < n_columns:
                even = simd.fma(simd.spread(x, start + j), simd.load(w, j * width + c), even)
            even = simd.add(even, odd)
        simd.store(g, c, even)


@kernel(fastmath=SUMS)
def add_row(rows, w, inverse, i, change):
    """Add ``change[k] x[i, j] inverse[j]`` to the weight of column j and label k."""
    x, indptr, indices, values, n_columns, _, width, bias = rows
    sparse, ones = len(indptr) > 0, len(values) == 0
    # w[j, :] += change x[i, j] inverse[j], eight labels at a time; chunks without a change are skipped, and most steps
    # change few labels. O(nnz x changed chunks).
    for c in range(0, width, LANES):
        delta = simd.load(change, c)
        if simd.largest(delta) == 0.0 and simd.largest(simd.mul(delta, simd.splat(change, -1.0))) == 0.0:
            continue
        if bias:
            at = n_columns * width + c
            simd.store(w, at, simd.fma(delta, simd.splat(w, inverse[n_columns]), simd.load(w, at)))
        if sparse:
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                value = inverse[j] if ones else values[p] * inverse[j]
                at = j * width + c
                simd.store(w, at, simd.fma(delta, simd.splat(w, value), simd.load(w, at)))
        else:
            start = i * n_columns
            for j in range(n_columns):
                at = j * width + c
                step = simd.splat(w, x[start + j] * inverse[j])
                simd.store(w, at, simd.fma(delta, step, simd.load(w, at)))


@kernel()
def simplex_step(g, top, mass, at, n_labels, rate, change, place, value):
    """``change`` = (the point of the simplex nearest to ``mass + rate g``) - mass.

    Only coordinates within 1 of the largest can be positive; they are sorted, and those above the threshold ``t`` for
    which ``sum_k max(v_k - t, 0) = 1`` stay.
    """
    # The threshold lies in [highest - 1, highest), so smaller coordinates end at 0. The m others are kept sorted by
    # insertion: O(labels + m^2). Nothing is allocated.
    highest = -np.inf
    for k in range(n_labels):
        change[k] = mass[at + k] + rate * (g[k] - top)  # shifted, so that large rates lose no digits
        highest = max(highest, change[k])
    n = 0
    for k in range(n_labels):
        v = change[k]
        if v > highest - 1.0:
            q = n
            while q > 0 and value[q - 1] < v:
                value[q], place[q] = value[q - 1], place[q - 1]
                q -= 1
            value[q], place[q] = v, k
            n += 1
        change[k] = -mass[at + k]
    total, threshold, kept = 0.0, 0.0, 0
    for q in range(n):
        total += value[q]
        t = (total - 1.0) / (q + 1)
        if value[q] <= t:
            break
        threshold, kept = t, q + 1
    for q in range(kept):
        k = place[q]
        change[k] = (value[q] - threshold) - mass[at + k]


@kernel()
def dual_pass(rows, w, inverse, curvature, cost, codes, weight, order, mass, loss, gap):
    """Visit the samples of ``order``: the best ``mass`` of each, the others being fixed.

    ``gap`` gets what each block lacked before its step, ``loss`` its mean cost after it.
    """
    n_labels, width = rows.n_labels, rows.width
    g, change = np.zeros(width), np.zeros(width)
    place, value = np.zeros(width, np.int64), np.zeros(width)
    # All labels of a row have the same curvature |x_i|^2 / l2, so the best masses of block i are a projection onto the
    # simplex: of mass + g / (weight curvature), g the augmented scores. The dual never falls.
    # Invariant: w = const + sum_i weight_i (e_target - mass_i) x_i inverse. gap[i] = weight (max_k - mean) before the
    # step; those of a pass are taken at different w, so their sum is an estimate. O(nnz width) per visit.
    for i in order:
        at, true = i * width, codes[i] * width
        for c in range(0, width, LANES):
            simd.store(g, c, simd.load(cost, true + c))
        score_row(rows, w, i, g)
        top, mean = g[0], 0.0
        for k in range(n_labels):
            top = max(top, g[k])
            mean += mass[at + k] * g[k]
        gap[i] = weight[i] * max(top - mean, 0.0)
        scale = weight[i] * curvature[i]
        if weight[i] == 0.0 or top - mean <= TIE * (1.0 + abs(top)):
            continue
        # a row of zeros: any large rate moves all mass to the best label
        simplex_step(g, top, mass, at, n_labels, 1.0 / scale if scale > 0.0 else 1e30, change, place, value)
        own = 0.0
        for k in range(n_labels):
            mass[at + k] += change[k]
            own += mass[at + k] * cost[true + k]
            change[k] *= -weight[i]
        loss[i] = own
        add_row(rows, w, inverse, i, change)


@kernel()
def dual_weights(rows, w, inverse, cost, codes, target, weight, mass, loss):
    """Weights (from 0) and mean costs that the masses imply."""
    n_labels, width = rows.n_labels, rows.width
    change = np.zeros(width)
    # w += sum_i weight_i (e_target_i - mass_i) x_i inverse, in the order of the samples: the same numbers in every run.
    for i in range(len(codes)):
        own = 0.0
        for k in range(n_labels):
            own += mass[i * width + k] * cost[codes[i] * width + k]
            change[k] = -weight[i] * mass[i * width + k]
        change[target[i]] += weight[i]
        loss[i] = own
        add_row(rows, w, inverse, i, change)


@kernel()
def hinge_value(rows, w, cost, codes, target, weight):
    """``sum_i weight_i (max_k [f_k + cost] - f(target_i))``."""
    n_labels, width = rows.n_labels, rows.width
    g, total = np.zeros(width), 0.0
    # Samples in order, so that the sum is the same in every run. The cost of the target is taken off, since g has it.
    for i in range(len(codes)):
        true = codes[i] * width
        for c in range(0, width, LANES):
            simd.store(g, c, simd.load(cost, true + c))
        score_row(rows, w, i, g)
        top = g[0]
        for k in range(1, n_labels):
            top = max(top, g[k])
        total += weight[i] * (top - (g[target[i]] - cost[true + target[i]]))
    return total
