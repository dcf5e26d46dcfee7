"""Diagonal of the Hessian of the log loss on packed chains, every position for itself."""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import sum_chain
from palmette.structures.chain.kernels.packed import score_rows


@kernel()
def diagonal_pass(chains, w, factor, factor_t, node, alpha, pull, h):
    """Add ``sum_i c_i sum_t x_tj^2 p (1 - p)`` to the packed ``h``, p the marginals of labels and of label pairs.

    Samples whose numbers leave the range of their type are left out. ``node``, ``alpha`` and ``pull`` are room for the
    rows of the longest sample.
    """
    x, base, offsets, _, weight, n_labels, width = chains
    one = simd.splat(h.rows, 1.0)
    # h_jk += c sum_t x_tj^2 p_tk (1 - p_tk); for label pairs p = alpha[t - 1, i] factor[i, j] pull[t, j]. Covariances
    # between positions are left out. O(nnz width + n K width) per sample, O(longest width) memory.
    for s in range(len(weight)):
        lo, hi = offsets[s], offsets[s + 1]
        score_rows(x, w, base, lo, hi, width, node)
        if np.isnan(sum_chain(node, hi - lo, n_labels, width, factor, factor_t, alpha, pull)):
            continue
        share = simd.splat(h.rows, weight[s])
        for c in range(0, (hi - lo) * width, LANES):
            p = simd.load(node, c)
            simd.store(node, c, simd.mul(share, simd.mul(p, simd.sub(one, p))))
        scatter_squares(x, lo, hi, width, node, h)
        for t in range(1, hi - lo):
            for i in range(n_labels):
                a = simd.spread(alpha, (t - 1) * width + i)
                for c in range(0, width, LANES):
                    p = simd.mul(
                        a, simd.mul(simd.load(factor, i * width + c), simd.load(pull, t * width + c))
                    )
                    spread = simd.mul(share, simd.mul(p, simd.sub(one, p)))
                    simd.store(h.edge, i * width + c, simd.add(spread, simd.load(h.edge, i * width + c)))


@kernel()
def scatter_squares(x, lo, hi, width, node, h):
    """As ``packed.scatter_rows``, with squared feature values."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    for t in range(lo, hi):
        at = (t - lo) * width
        for p in range(x.multi_at[t], x.multi_at[t + 1]):
            to = x.multi[p] * width
            v = simd.splat(h.rows, 1.0 if ones else x.multi_value[p] * x.multi_value[p])
            for c in range(0, width, LANES):
                simd.store(h.rows, to + c, simd.fma(v, simd.load(node, at + c), simd.load(h.rows, to + c)))
        for p in range(x.single_at[t], x.single_at[t + 1]):
            q = x.single[p]
            d = node[at + x.single_label[q]]
            h.singles[q] += d if ones else x.single_value[p] * x.single_value[p] * d
