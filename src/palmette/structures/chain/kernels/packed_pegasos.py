"""Pegasos on packed chains: weights with a common scale, so that shrinking all of them is O(1)."""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import LANES, SMALLEST_SCALE
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette.structures.chain.kernels.packed import score_rows, workspace


@kernel()
def move(v, drift, gradient, l2, at, change, pace, area):
    """Add to the weight at ``at`` what a sample asks for; returns how much the penalty ``sum l2 v^2`` grows."""
    step = pace * change / l2[at]
    growth = l2[at] * step * (2.0 * v[at] + step)
    v[at] += step
    drift[at] += area * step
    gradient[at] -= change
    return growth


@kernel()
def pegasos_pass(
    ramp, chains, v, drift, gradient, l2, mask, edge_mask, cost, order, begin, batch, n_steps, norm, limit, wanted,
    found,
):  # fmt: skip
    """Visit ``order[begin:]`` in mini-batches of ``batch`` samples; the weights are ``scale * v``.

    Step t is ``w <- (1 - 1/t) w - (1/t) (n / batch) (gradient of the batch) / l2``, then ``w`` is shrunk to
    ``sum l2 w^2 <= limit``. ``norm`` is that sum at the start, when the scale is 1. With ``ramp`` the labels asked for
    are the best ones without cost, instead of the true ones. ``wanted`` and ``found`` are labels to work in.

    Returns where in ``order`` it ended, which is early if the scale got so small that sums would lose their digits; the
    scale; the sum of the scales after each step (``area``), with which ``area v - drift`` is the sum of the weights
    after each step; and the sum of the weighted costs of the labels found, which with ``gradient`` is the cut of the
    samples.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    work = workspace(chains, v.rows)
    node, path, edge_t = work.node, work.path, work.factor_t
    chunks = width // LANES
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    scale, area, offset, last = 1.0, 0.0, 0.0, begin
    # w = scale v, norm = sum l2 v^2, so that shrinking and projection change the scale only. Scores are those of v, so
    # costs are divided by the scale: argmax (scale f + cost) = argmax (f + cost / scale). n_steps >= 1, hence rate < 1.
    # drift += area x change with area = sum of the scales so far: area v - drift is the sum of all iterates.
    # ``gradient`` and ``offset`` add up the cuts of the samples, each at the weights of its visit.
    # O(nnz K + n K^2) per sample to predict, O(nnz of wrong positions) to update; memory O(longest width + width^2).
    for first in range(begin, len(order), batch):
        last = min(first + batch, len(order))
        transpose(v.edge, n_labels, width, edge_t)
        for turn in range(first, last):
            s = order[turn]
            lo, hi = offsets[s], offsets[s + 1]
            n = hi - lo
            score_rows(x, v, base, lo, hi, width, node)
            for t in range(n):
                wanted[lo + t] = codes[lo + t]
            if ramp:
                best_chain(node, n, n_labels, width, v.edge, edge_t, path)
                for t in range(n):
                    wanted[lo + t] = path[t]
                score_rows(x, v, base, lo, hi, width, node)
            for t in range(n):
                for k in range(n_labels):
                    node[t * width + k] += cost[codes[lo + t] * width + k] / scale
            best_chain(node, n, n_labels, width, v.edge, edge_t, path)
            for t in range(n):
                found[lo + t] = path[t]
                offset += weight[s] * cost[codes[lo + t] * width + path[t]]
        rate = 1.0 / (n_steps + 1.0 + first // batch)
        scale *= 1.0 - rate
        pace = rate * len(order) / ((last - first) * scale)
        for turn in range(first, last):
            s = order[turn]
            lo, hi = offsets[s], offsets[s + 1]
            for t in range(lo, hi):
                good, bad = wanted[t], found[t]
                if good != bad:
                    for p in range(x.multi_at[t], x.multi_at[t + 1]):
                        row = x.multi[p]
                        change = weight[s] if ones else weight[s] * x.multi_value[p]
                        for k, own in ((good, change), (bad, -change)):
                            if mask[row * chunks + k // LANES] >> (k % LANES) & 1:
                                norm += move(
                                    v.rows, drift.rows, gradient.rows, l2.rows, row * width + k, own, pace, area,
                                )  # fmt: skip
                    for p in range(x.single_at[t], x.single_at[t + 1]):
                        q = x.single[p]
                        change = weight[s] if ones else weight[s] * x.single_value[p]
                        if x.single_label[q] == bad:
                            change = -change
                        if x.single_label[q] == good or x.single_label[q] == bad:
                            norm += move(
                                v.singles, drift.singles, gradient.singles, l2.singles, q, change, pace, area
                            )
                if t > lo and len(edge_mask) > 0:
                    good, bad = wanted[t - 1] * width + wanted[t], found[t - 1] * width + found[t]
                    if good != bad:
                        for at, own in ((good, weight[s]), (bad, -weight[s])):
                            if edge_mask[at // LANES] >> (at % LANES) & 1:
                                norm += move(v.edge, drift.edge, gradient.edge, l2.edge, at, own, pace, area)
        if scale * scale * norm > limit:
            scale = np.sqrt(limit / norm)
        area += scale
        if scale < SMALLEST_SCALE:
            break
    return last, scale, area, offset
