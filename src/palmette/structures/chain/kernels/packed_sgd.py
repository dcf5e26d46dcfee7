"""Stochastic gradient steps on the log loss of packed chains: a common scale makes shrinking all weights O(1)."""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import scale_row
from palmette.structures.chain.kernels.packed import fill, score_rows, workspace
from palmette.structures.chain.kernels.packed_steps import LOG, gathered_pairs, loss_gradient, prepare_edges


@kernel()
def subtract_rows(x, lo, hi, width, node, mask, pace, w):
    """``w -= pace`` times the gradient of rows lo:hi, whose derivatives by the scores stand in ``node``."""
    chunks = width // LANES
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    # Labels without a weight (mask bit 0) stay as they are; a column in several rows takes the sum of their steps.
    for t in range(lo, hi):
        at = (t - lo) * width
        for p in range(x.multi_at[t], x.multi_at[t + 1]):
            row = x.multi[p]
            by = simd.splat(node, -pace if ones else -pace * x.multi_value[p])
            for c in range(chunks):
                to = row * width + c * LANES
                change = simd.where_bits(mask[row * chunks + c], simd.load(node, at + c * LANES))
                simd.store(w.rows, to, simd.fma(by, change, simd.load(w.rows, to)))
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            d = pace * node[at + x.single_label[q]]
            w.singles[q] -= d if ones else x.single_value[p] * d


@kernel()
def sgd_pass(chains, w, mask, edge_mask, order, rate, decay, n_steps):
    """Visit the samples of ``order`` once each, all with weight 1; returns the sum of the losses that the steps meet.

    Step s (``n_steps`` at the start) has the length ``eta = 1 / (1 / rate + decay s)``. First all weights shrink,
    ``w <- (1 - decay eta) w``, then the sample's loss and its gradient are computed, then ``w <- w - eta gradient``.
    Inside, rows and singles are ``scale`` times what is stored, ``scale`` the product of the factors so far, so that a
    step touches only the columns of its sample; label pairs, which every sample touches, are stored as they are. The
    scale is 1 again at the end. It is negative where ``decay eta > 1``. A loss that is not finite ends the pass.
    """
    x, base, offsets, codes, _, n_labels, width = chains
    work = workspace(chains, w.rows)
    node, theta, alpha, pull, path, pairs, factor, factor_t = work
    edge = w.edge
    cost, zeros = np.empty(0, w.rows.dtype), np.zeros(width, w.rows.dtype)
    edge_size = n_labels * width
    counts = np.zeros(edge_size, w.rows.dtype)
    total, scale = 0.0, 1.0
    # Invariant: the weights are scale x w.rows, scale x w.singles and w.edge. A step of -eta gradient is -eta / scale
    # in stored units. O(nnz width + n K width) per sample, O(longest width + width^2) memory. ``loss_gradient`` takes
    # log space where scaled products leave their range.
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        eta = 1.0 / (1.0 / rate + decay * (n_steps + turn))
        shrunk = 1.0 - decay * eta
        scale *= shrunk
        scale_row(w.edge, 0, shrunk, edge_size)
        score_rows(x, w, zeros, lo, hi, width, node)
        by = simd.splat(node, scale)
        for t in range(n):
            for c in range(0, width, LANES):
                at = t * width + c
                simd.store(node, at, simd.fma(by, simd.load(node, at), simd.load(base, c)))
        shift = prepare_edges(LOG, w.edge, n_labels, width, work)
        value = loss_gradient(
            LOG, codes, n_labels, width, edge, cost, lo, n, node, theta, alpha, pull, path, pairs, factor, factor_t,
            shift, counts, 1.0,
        )  # fmt: skip
        total += value
        if not np.isfinite(value):
            break
        subtract_rows(x, lo, hi, width, node, mask, eta / scale, w)
        gathered_pairs(LOG, work, counts, edge_size)
        step = simd.splat(w.edge, -eta)
        for c in range(0, edge_size, LANES):
            change = simd.where_bits(edge_mask[c // LANES], simd.load(pairs, c))
            simd.store(w.edge, c, simd.fma(step, change, simd.load(w.edge, c)))
        fill(pairs, edge_size, 0.0)
    scale_row(w.rows, 0, scale, len(w.rows))
    for q in range(len(w.singles)):
        w.singles[q] *= scale
    return total
