"""Stochastic average gradient for the log loss on packed chains, with just-in-time steps of the weights.

With ``z`` the sum of the stored gradients, negative, a step of length ``eta`` moves every weight:
``w <- soft((1 - eta l2) w + eta z, eta l1)``. In ``v = w / beta``, ``beta`` the product of all ``1 - eta l2``, that is
``v <- soft(v + delta z, delta l1)`` with ``delta = eta / beta``. A visit changes ``z`` for the columns of its sample
only, so the others catch up when they are met again: all they need is the sum of the deltas they have missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import add_pairs, exponentiate_edges, scale_row, sum_chain
from palmette._kernels.ragged import longest_sample
from palmette._kernels.simd import LANES
from palmette.structures.chain.kernels.packed import (
    fill,
    gather_gradient,
    number_distinct,
    score_rows,
    true_score,
)
from palmette.structures.chain.kernels.packed_dual import inner_product, masked_square
from palmette.structures.chain.kernels.packed_lipschitz import (
    Desk,
    gather_singles,
    new_estimate,
    score_gradient,
    take_singles,
)
from palmette.structures.chain.kernels.packed_steps import sum_in_logs

SMALLEST_BETA = 1e-12  # then all weights catch up, and beta is 1 again
SMALLEST_SHARE = 1e-16  # of a weight that a step leaves: beta divides, also where the loss has no curvature
SMALLEST_GRADIENT = 1e-8  # squared norm below which there is nothing to learn about the curvature


class Table(NamedTuple):
    """What is stored of every sample: marginals minus truth, the same of label pairs, entropy and loss at the last
    visit (NaN before the first), Lipschitz estimate (0 before the first), visits until it is tested again, tests in a
    row that left it as it was."""

    residual: np.ndarray
    residual_edge: np.ndarray
    entropy: np.ndarray
    loss: np.ndarray
    lipschitz: np.ndarray
    wait: np.ndarray
    streak: np.ndarray


@kernel()
def advance(v, z, last, now, sums, l1):
    """The weight after the steps last:now of ``v <- soft(v + delta z, delta l1)``, deltas given by their running sums.

    Between two zeros v is linear in the sum, and it meets zero at most once: the step of that is found by bisection.
    """
    away = sums[now] - sums[last]
    if l1 == 0.0:
        return v + away * z
    sign = 1.0 if v > 0.0 or (v == 0.0 and z > 0.0) else -1.0
    v, z = sign * v, sign * z
    end = v + away * (z - l1)
    if v == 0.0:
        return sign * max(end, 0.0)
    if end > 0.0:
        return sign * end
    before, after = last, now  # positive before, not after
    while after - before > 1:
        middle = (before + after) // 2
        if v + (sums[middle] - sums[last]) * (z - l1) > 0.0:
            before = middle
        else:
            after = middle
    end = v + (sums[before] - sums[last]) * (z - l1) + (sums[after] - sums[before]) * (z + l1)
    return sign * (min(end, 0.0) + (sums[now] - sums[after]) * min(z + l1, 0.0))


@kernel()
def advance_row(v, z, row, width, last, now, sums, l1):
    """``advance`` for a row of weights; many steps are one long step where no weight meets zero on the way."""
    if last[row] == now:
        return
    at, away = row * width, sums[now] - sums[last[row]]
    step, cut = simd.splat(v, away), simd.splat(v, away * l1)
    zero, one = simd.splat(v, 0.0), simd.splat(v, 1.0)
    for c in range(at, at + width, LANES):
        old = simd.load(v, c)
        end = simd.fma(step, simd.load(z, c), old)
        if l1 > 0.0:
            end = simd.add(simd.larger(simd.sub(end, cut), zero), simd.smaller(simd.add(end, cut), zero))
            set_out = simd.where_positive(simd.mul(old, old), one)
            kept_sign = simd.where_positive(simd.mul(old, end), one)
            if simd.total(simd.sub(set_out, kept_sign)) > 0.0:
                for k in range(c, c + LANES):
                    v[k] = advance(v[k], z[k], last[row], now, sums, l1)
                continue
        simd.store(v, c, end)
    last[row] = now


@kernel()
def advance_all(w, z, width, last, last_single, now, sums, beta, l1):
    """Bring all weights up to date and undo their scaling; step ``now`` becomes step 0."""
    for row in range(len(last)):
        advance_row(w.rows, z.rows, row, width, last, now, sums, l1)
        scale_row(w.rows, row * width, beta, width)
        last[row] = 0
    for q in range(len(last_single)):
        w.singles[q] = beta * advance(w.singles[q], z.singles[q], last_single[q], now, sums, l1)
        last_single[q] = 0


@kernel()
def sag_pass(
    x, w, z, base, mask, edge_mask, l2_node, l2_edge, l1_node, l1_edge, offsets, codes, weight, order, n_labels, width,
    most, table, caution,
):  # fmt: skip
    """Visit the samples of ``order`` in turn, each visit with a step of length
    ``eta = 1 / (2 m L_max caution + 2 l2) + 1 / (2 m L_mean caution + 2 l2)``, m the number of gradients in the sum and
    l2 the larger of the two.

    Edges, of which every sample changes all, take every step at once, in double precision. Returns the number of losses
    computed for the estimates.
    """
    longest = longest_sample(offsets)
    dtype = w.rows.dtype
    size, edge_size, square = longest * width, n_labels * width, width * width
    has_edges = len(table.residual_edge) > 0
    node, theta, slope = np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype)
    alpha, pull = np.empty(size, dtype), np.empty(size, dtype)
    pairs, factor, factor_t = np.zeros(square, dtype), np.zeros(square, dtype), np.zeros(square, dtype)
    desk = Desk(np.empty(size), np.empty(size), np.zeros(edge_size), np.zeros(square), np.zeros(square))
    g, g_single = np.empty(most * width, dtype), np.zeros(len(w.singles))
    edge_slope = np.zeros(edge_size, dtype)
    edge = np.empty(edge_size)
    for c in range(edge_size):
        edge[c] = w.edge[c]
    distinct, local = np.empty(most, np.int32), np.empty(most, np.int32)
    mark, seen = np.full(len(w.rows) // width, -1), 0
    last, last_single = np.zeros(len(mark), np.int32), np.zeros(len(w.singles), np.int32)
    sums, beta, now = np.zeros(len(order) + 1), 1.0, 0
    # the samples whose gradients are stored, and the estimates there are
    n_stored, n_known, total, largest = 0, 0, 0.0, 0.0
    for s in range(len(weight)):
        n_stored += table.loss[s] == table.loss[s]
        if table.lipschitz[s] > 0.0:
            n_known += 1
            total += weight[s] * table.lipschitz[s]
            largest = max(largest, weight[s] * table.lipschitz[s])
    n_trials, l2 = 0, max(l2_node, l2_edge)
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n, c_s = hi - lo, weight[s]
        n_distinct, seen = number_distinct(x, lo, hi, seen, mark, distinct, local)
        for j in range(n_distinct):
            advance_row(w.rows, z.rows, distinct[j], width, last, now, sums, l1_node)
        for p in range(x.single_at[lo], x.single_at[hi]):
            q = x.single[p]
            if last_single[q] != now:
                w.singles[q] = advance(w.singles[q], z.singles[q], last_single[q], now, sums, l1_node)
                last_single[q] = now
        score_rows(x, w, base, lo, hi, width, theta)
        for t in range(n):
            scale_row(theta, t * width, beta, width)
        for c in range(0, n * width, LANES):
            simd.store(node, c, simd.load(theta, c))
        truth = true_score(theta, w.edge, codes, lo, n, width)
        shift = exponentiate_edges(w.edge, n_labels, width, factor, factor_t)
        log_z = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull) + (n - 1) * shift
        fill(pairs, edge_size, 0.0)
        if np.isnan(log_z):
            for c in range(0, n * width, LANES):
                simd.store(node, c, simd.load(theta, c))
            log_z = sum_in_logs(node, n, n_labels, width, w.edge, 0 * width, pairs)
            for t in range(n):
                for k in range(n_labels, width):
                    node[t * width + k] = 0.0
        else:
            add_pairs(alpha, pull, n, n_labels, width, 1.0, pairs)
            for c in range(0, edge_size, LANES):
                simd.store(pairs, c, simd.mul(simd.load(pairs, c), simd.load(factor, c)))
        n_stored += table.loss[s] != table.loss[s]
        table.loss[s] = log_z - truth
        # marginals minus truth, in node and pairs; the entropy is log Z - <theta, marginals>
        for t in range(n):
            node[t * width + codes[lo + t]] -= 1.0
            if t > 0:
                pairs[codes[lo + t - 1] * width + codes[lo + t]] -= 1.0
        table.entropy[s] = table.loss[s] - inner_product(node, 0, theta, 0, n * width)
        table.entropy[s] -= inner_product(pairs, 0, w.edge, 0, edge_size)
        if has_edges:
            for c in range(0, edge_size, LANES):
                simd.store(edge_slope, c, simd.where_bits(edge_mask[c // LANES], simd.load(pairs, c)))
        # the Lipschitz estimate of the sample
        if table.wait[s] > 0:
            table.wait[s] -= 1
        else:
            gather_gradient(x, lo, hi, width, node, n_distinct, local, g)
            gather_singles(x, lo, hi, width, node, g_single)
            norm = masked_square(g, n_distinct, distinct, mask, width)
            norm += inner_product(edge_slope, 0, edge_slope, 0, edge_size)
            score_gradient(x, g, local, g_single, lo, hi, width, slope)
            norm += take_singles(x, lo, hi, g_single, 0.0, z.singles)
            if norm > SMALLEST_GRADIENT:
                old = table.lipschitz[s]
                if old == 0.0:
                    n_known += 1
                    old = total / ((n_known - 1) * c_s) if n_known > 1 else 1.0  # the mean so far
                    total += c_s * old
                fresh, n_more = new_estimate(
                    old, norm, theta, slope, w.edge, edge_slope, codes, lo, n, n_labels, width, desk
                )
                n_trials += n_more
                if fresh <= old:
                    table.wait[s] = 1 << min(table.streak[s], 30)
                    table.streak[s] += 1
                else:
                    table.streak[s] = 0
                table.lipschitz[s] = fresh
                total += c_s * (fresh - old)
                if c_s * fresh >= largest:
                    largest = c_s * fresh
                elif c_s * old >= largest:
                    largest = 0.0
                    for i in range(len(weight)):
                        largest = max(largest, weight[i] * table.lipschitz[i])
        # its gradient takes the place of the stored one
        for t in range(n):
            at, r = t * width, (lo + t) * width
            for c in range(0, width, LANES):
                fresh_row = simd.load(node, at + c)
                simd.store(node, at + c, simd.sub(simd.load(table.residual, r + c), fresh_row))
                simd.store(table.residual, r + c, fresh_row)
        gather_gradient(x, lo, hi, width, node, n_distinct, local, g)
        masked_square(g, n_distinct, distinct, mask, width)
        share = simd.splat(g, c_s)
        for j in range(n_distinct):
            at = distinct[j] * width
            for c in range(0, width, LANES):
                change = simd.load(g, j * width + c)
                simd.store(z.rows, at + c, simd.fma(share, change, simd.load(z.rows, at + c)))
        gather_singles(x, lo, hi, width, node, g_single)
        take_singles(x, lo, hi, g_single, c_s, z.singles)
        # the step: all other weights take it when they are met again
        scale = caution * n_stored
        pace = 0.5 / (scale * largest + l2) + 0.5 / (scale * total / max(n_known, 1) + l2)
        beta *= max(1.0 - pace * l2_node, SMALLEST_SHARE)
        sums[now + 1] = sums[now] + pace / beta
        now += 1
        if has_edges:
            r = s * edge_size
            shrunk, cut = 1.0 - pace * l2_edge, pace * l1_edge
            for c in range(edge_size):
                if edge_mask[c // LANES] >> (c % LANES) & 1:
                    z.edge[c] += c_s * (table.residual_edge[r + c] - pairs[c])
                table.residual_edge[r + c] = pairs[c]
                moved = shrunk * edge[c] + pace * z.edge[c]
                edge[c] = max(moved - cut, 0.0) + min(moved + cut, 0.0)
                w.edge[c] = edge[c]
        if beta < SMALLEST_BETA:
            advance_all(w, z, width, last, last_single, now, sums, beta, l1_node)
            beta, now = 1.0, 0
            sums[0] = 0.0
    advance_all(w, z, width, last, last_single, now, sums, beta, l1_node)
    return n_trials
