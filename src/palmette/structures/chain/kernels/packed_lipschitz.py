"""How curved the log loss of one chain is along its gradient: Lipschitz estimates by trial."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import exponentiate_edges, exponentiate_row, scale_row, times_row, times_table
from palmette._kernels.simd import LANES
from palmette.structures.chain.kernels.packed import fill, true_score

MOST_DOUBLINGS = 60


@kernel()
def log_partition(node, n, n_labels, width, factor, alpha):
    """As ``lanes.sum_chain`` without marginals; ``node`` is overwritten."""
    log_z = 0.0
    for t in range(n):
        at = t * width
        log_z += exponentiate_row(node, at, width)
        if t == 0:
            fill(alpha, width, 1.0)
        else:
            times_table(alpha, at - width, factor, n_labels, width, alpha, at)
        z = times_row(alpha, at, node, at, width)
        if not z > 1e-290:
            return np.nan
        scale_row(alpha, at, 1.0 / z, width)
        log_z += np.log(z)
    return log_z


class Desk(NamedTuple):
    """Tables to work in, double precision whatever that of the weights."""

    node: np.ndarray
    alpha: np.ndarray
    edge: np.ndarray
    factor: np.ndarray
    factor_t: np.ndarray


@kernel()
def loss_along(theta, slope, edge, edge_slope, step, codes, lo, n, n_labels, width, desk):
    """Log loss at the scores ``theta - step slope``, in double precision: its differences are small."""
    for c in range(n * width):
        desk.node[c] = theta[c] - step * slope[c]
    for c in range(n_labels * width):
        desk.edge[c] = edge[c] - step * edge_slope[c]
    truth = true_score(desk.node, desk.edge, codes, lo, n, width)
    shift = exponentiate_edges(desk.edge, n_labels, width, desk.factor, desk.factor_t)
    return log_partition(desk.node, n, n_labels, width, desk.factor, desk.alpha) + (n - 1) * shift - truth


@kernel()
def score_gradient(x, g, local, g_single, lo, hi, width, out):
    """Scores of rows lo:hi with the gradient of their sample as weights."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    first = x.multi_at[lo]
    for t in range(lo, hi):
        at = (t - lo) * width
        for c in range(0, width, LANES):
            a = simd.splat(g, 0.0)
            for p in range(x.multi_at[t], x.multi_at[t + 1]):
                row = simd.load(g, local[p - first] * width + c)
                a = simd.add(a, row) if ones else simd.fma(simd.splat(g, x.multi_value[p]), row, a)
            simd.store(out, at + c, a)
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            out[at + x.single_label[q]] += g_single[q] if ones else x.single_value[p] * g_single[q]


@kernel()
def gather_singles(x, lo, hi, width, node, g_single):
    """Gradient of the single columns of rows lo:hi, added to ``g_single``."""
    ones = len(x.single_value) == 0
    for t in range(lo, hi):
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            d = node[(t - lo) * width + x.single_label[q]]
            g_single[q] += d if ones else x.single_value[p] * d


@kernel()
def take_singles(x, lo, hi, g_single, c_s, z_single):
    """Add ``c_s g_single`` to the sums of the single columns of rows lo:hi and clear it; returns its squared norm."""
    norm = 0.0
    for p in range(x.single_at[lo], x.single_at[hi]):
        q = x.single[p]
        norm += g_single[q] * g_single[q]
        z_single[q] += c_s * g_single[q]
        g_single[q] = 0.0
    return norm


@kernel()
def new_estimate(old, square, theta, slope, edge, edge_slope, codes, lo, n, n_labels, width, desk):
    """The least ``L = old 2^k, k >= -1``, with ``f(w - g / L) <= f(w) - |g|^2 / (2 L)``, and the losses computed."""
    here = loss_along(theta, slope, edge, edge_slope, 0.0, codes, lo, n, n_labels, width, desk)
    if np.isnan(here):
        return old, 1
    estimate = 0.5 * old
    for trial in range(MOST_DOUBLINGS):
        step = 1.0 / estimate
        value = loss_along(theta, slope, edge, edge_slope, step, codes, lo, n, n_labels, width, desk)
        if value <= here - 0.5 * square * step:
            return estimate, trial + 2
        estimate *= 2.0
    return old, MOST_DOUBLINGS + 1
