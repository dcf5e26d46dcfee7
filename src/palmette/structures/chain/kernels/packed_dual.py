"""Dual ascent for the log loss on packed chains: visit the samples of an order once each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import add_pairs, exponentiate_edges, sum_chain
from palmette.structures.chain.kernels.packed import (
    copy,
    fill,
    gather_gradient,
    multiply,
    number_distinct,
    score_rows,
    true_score,
)


class DualRoom(NamedTuple):
    """Room to work in: rows of labels of the longest sample, square tables, which are 0 at first, and for as many
    multi columns as occur in a sample, rows of labels (``g``), their numbers, and the marks of ``number_distinct``."""

    node: np.ndarray
    theta: np.ndarray
    alpha: np.ndarray
    pull: np.ndarray
    pairs: np.ndarray
    factor: np.ndarray
    factor_t: np.ndarray
    g: np.ndarray
    distinct: np.ndarray
    local: np.ndarray
    mark: np.ndarray
    all_labels: np.ndarray


@kernel()
def shrink(z, l1, inverse_l2):
    """``soft(z, l1) / l2``: the weight that belongs to a dual sum."""
    if z > l1:
        return (z - l1) * inverse_l2
    if z < -l1:
        return (z + l1) * inverse_l2
    return 0.0 * z


@kernel()
def apply_rows(z, w, places, n, g, width, pace, l1, inverse_l2):
    """``z -= pace g`` on the rows ``places[0:n]``, and the weights that belong to it; without L1 only the weights are
    kept."""
    step, cut, scale = simd.splat(g, -pace), simd.splat(g, l1), simd.splat(g, inverse_l2)
    direct, zero = simd.mul(step, scale), simd.splat(g, 0.0)
    plain = len(z) == 0
    # z <- z - pace g, w = soft(z, l1) / l2 = (max(z - l1, 0) + min(z + l1, 0)) / l2. Without L1 only w is stored.
    for j in range(n):
        at, start = places[j] * width, j * width
        if plain:
            for c in range(0, width, LANES):
                simd.store(w, at + c, simd.fma(direct, simd.load(g, start + c), simd.load(w, at + c)))
        else:
            for c in range(0, width, LANES):
                fresh = simd.fma(step, simd.load(g, start + c), simd.load(z, at + c))
                simd.store(z, at + c, fresh)
                soft = simd.add(
                    simd.larger(simd.sub(fresh, cut), zero), simd.smaller(simd.add(fresh, cut), zero)
                )
                simd.store(w, at + c, simd.mul(soft, scale))


@kernel()
def inner_product(a, a_at, b, b_at, n):
    """``<a[a_at : a_at + n], b[b_at : b_at + n]>``."""
    s = simd.splat(a, 0.0)
    for c in range(0, n, LANES):
        s = simd.fma(simd.load(a, a_at + c), simd.load(b, b_at + c), s)
    return float(simd.total(s))


@kernel()
def masked_square(g, n_distinct, distinct, mask, width):
    """Clear what has no weight in the gradient rows; returns their squared norm."""
    chunks = width // LANES
    norm = simd.splat(g, 0.0)
    # Bit k of a mask byte says whether label k of the chunk has a weight; others must not move.
    for j in range(n_distinct):
        bits = distinct[j] * chunks
        for c in range(chunks):
            at = j * width + c * LANES
            q = simd.where_bits(mask[bits + c], simd.load(g, at))
            simd.store(g, at, q)
            norm = simd.fma(q, q, norm)
    return float(simd.total(norm))


@kernel()
def dual_pass(
    chains, w, z, mask, edge_mask, l2_node, l2_edge, l1_node, l1_edge, order, residual, residual_edge, entropy,
    gap, room,
):  # fmt: skip
    """One step of exact size on each sample of ``order``; ``gap[s]`` is what was found there before it.

    ``residual`` holds marginals minus truth of every row, ``residual_edge`` those of the label pairs, summed over a
    sample (``n_labels`` rows per sample, none without edges). Returns the number of samples left out because
    their numbers leave the range of the type.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    node, theta, alpha, pull, pairs, factor, factor_t, g, distinct, local, mark, all_labels = room
    edge_size, has_edges = n_labels * width, len(residual_edge) > 0
    seen, n_failed = 0, 0
    inverse_node, inverse_edge = 1.0 / l2_node, 1.0 / l2_edge
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    # Block ascent: mu_s <- (1 - gamma) mu_s + gamma (marginals under w), with w = soft(z, l1) / l2 and
    # z = -sum_s c_s (features of residual_s). The dual grows by at least c_s (gamma gap - gamma^2 c_s curvature / 2),
    # curvature = |features of the direction|^2 / l2, so gamma = gap / (c_s curvature), at most 1.
    # Invariants: residual = mu - truth; ``entropy`` is the mean of the entropies mixed in, by concavity a lower bound
    # of the entropy of mu, so that the dual value is a valid bound. gap[s] = log Z - <theta, mu> - entropy >= 0.
    # O(nnz width + n K width) per sample; memory O(longest width + width^2 + most width).
    for turn in range(len(order)):
        s = order[turn]
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        c_s = weight[s]
        if c_s == 0.0:
            continue
        # what the sample's dual value misses: gap = log Z - <theta, truth + residual> - entropy
        score_rows(x, w, base, lo, hi, width, theta)
        copy(theta, n * width, node)
        truth = true_score(node, w.edge, 0 * width, codes, lo, n, width)
        truth += inner_product(theta, 0, residual, lo * width, n * width)
        shift = 0.0
        if has_edges:
            truth += inner_product(w.edge, 0, residual_edge, s * edge_size, edge_size)
            shift = exponentiate_edges(w.edge, n_labels, width, factor, factor_t)
        log_z = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull)
        if np.isnan(log_z):
            n_failed += 1
            continue
        log_z += (n - 1) * shift
        gap[s] = log_z - truth - entropy[s]
        # the direction: marginals - truth - residual
        expected = truth
        for t in range(n):
            at = t * width
            node[at + codes[lo + t]] -= 1.0
            for c in range(0, width, LANES):
                q = simd.sub(simd.load(node, at + c), simd.load(residual, (lo + t) * width + c))
                simd.store(node, at + c, q)
        expected += inner_product(node, 0, theta, 0, n * width)
        curvature = 0.0
        if has_edges:
            fill(pairs, edge_size, 0.0)
            add_pairs(alpha, pull, n, n_labels, width, 1.0, pairs)
            for c in range(0, edge_size, LANES):
                q = simd.mul(simd.load(pairs, c), simd.load(factor, c))
                simd.store(pairs, c, simd.sub(q, simd.load(residual_edge, s * edge_size + c)))
            for t in range(1, n):
                pairs[codes[lo + t - 1] * width + codes[lo + t]] -= 1.0
            expected += inner_product(pairs, 0, w.edge, 0, edge_size)
            for c in range(0, edge_size, LANES):
                simd.store(pairs, c, simd.where_bits(edge_mask[c // LANES], simd.load(pairs, c)))
            curvature += inverse_edge * inner_product(pairs, 0, pairs, 0, edge_size)
        n_distinct, seen = number_distinct(x, lo, hi, seen, mark, distinct, local)
        gather_gradient(x, lo, hi, width, node, n_distinct, local, g)
        curvature += inverse_node * masked_square(g, n_distinct, distinct, mask, width)
        for t in range(n):
            for p in range(x.single_at[lo + t], x.single_at[lo + t + 1]):
                d = node[t * width + x.single_label[x.single[p]]]
                curvature += inverse_node * d * d * (1.0 if ones else x.single_value[p] * x.single_value[p])
        gamma = 0.0
        if gap[s] > 0.0:
            gamma = min(1.0, gap[s] / max(c_s * curvature, 1e-30))
        entropy[s] += gamma * (log_z - expected - entropy[s])
        # the step
        pace = gamma * c_s
        apply_rows(z.rows, w.rows, distinct, n_distinct, g, width, pace, l1_node, inverse_node)
        step, tiny = simd.splat(residual, gamma), simd.splat(residual, 1e-30)
        for t in range(n):
            at = t * width
            for c in range(0, width, LANES):
                r = (lo + t) * width + c
                fresh = simd.fma(step, simd.load(node, at + c), simd.load(residual, r))
                fresh = simd.where_positive(simd.sub(simd.mul(fresh, fresh), tiny), fresh)
                simd.store(residual, r, fresh)
            for p in range(x.single_at[lo + t], x.single_at[lo + t + 1]):
                q = x.single[p]
                d = pace * node[at + x.single_label[q]] * (1.0 if ones else x.single_value[p])
                if len(z.singles) == 0:
                    w.singles[q] -= d * inverse_node
                else:
                    z.singles[q] -= d
                    w.singles[q] = shrink(z.singles[q], l1_node, inverse_node)
        if has_edges:
            apply_rows(z.edge, w.edge, all_labels, n_labels, pairs, width, pace, l1_edge, inverse_edge)
            for c in range(0, edge_size, LANES):
                r = s * edge_size + c
                simd.store(residual_edge, r, simd.fma(step, simd.load(pairs, c), simd.load(residual_edge, r)))
    return n_failed


@kernel()
def marginals_pass(chains, w, residual, residual_edge, entropy, room):
    """Set residuals and entropies of every sample to those of its marginals under ``w``; the truth if out of range."""
    x, base, offsets, codes, _, n_labels, width = chains
    node, theta, alpha, pull, pairs, factor, factor_t = room[:7]
    edge_size, has_edges = n_labels * width, len(residual_edge) > 0
    shift = exponentiate_edges(w.edge, n_labels, width, factor, factor_t) if has_edges else 0.0
    # residual = marginals - truth and entropy = log Z - <theta, marginals>, which makes every gap 0 at this w.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_rows(x, w, base, lo, hi, width, theta)
        copy(theta, n * width, node)
        log_z = sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull)
        if np.isnan(log_z):
            continue
        expected = inner_product(node, 0, theta, 0, n * width)
        for t in range(n):
            node[t * width + codes[lo + t]] -= 1.0
        for c in range(0, n * width, LANES):
            simd.store(residual, lo * width + c, simd.load(node, c))
        if has_edges:
            fill(pairs, edge_size, 0.0)
            add_pairs(alpha, pull, n, n_labels, width, 1.0, pairs)
            multiply(pairs, edge_size, factor)
            expected += inner_product(pairs, 0, w.edge, 0, edge_size)
            for t in range(1, n):
                pairs[codes[lo + t - 1] * width + codes[lo + t]] -= 1.0
            for c in range(0, edge_size, LANES):
                simd.store(residual_edge, s * edge_size + c, simd.load(pairs, c))
        entropy[s] = max(log_z + (n - 1) * shift - expected, 0.0)
