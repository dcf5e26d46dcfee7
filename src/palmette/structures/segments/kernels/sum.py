"""Sums over segmentations: log-partition, expected counts, samples. Tables as in ``segment_max``.

One pass from the last row to the first gives ``value`` and ``after`` as logarithms. What they say about each other are
conditional probabilities: of a state given the one before it, of a length given the state. Everything else follows from
those by going forward, with numbers between 0 and 1, so no second pass of logarithms is needed.

Boundaries take products of ``exp(edge)`` where the tables are narrow enough (``narrow``): relative to the best state,
every sum is then at least exp(-500). Forbidden or very unequal pairs take logarithms throughout.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.logs import choose, draw_label, log_sum_exp
from palmette._kernels.ragged import longest_sample
from palmette._kernels.spread import SAFE_SPREAD, exponentiate_edges, widest_spread
from palmette.structures.segments.kernels.max import write_segment


@kernel()
def narrow(edge_spread, edge_forbidden):
    """Whether products of exponentiated edges are exact, whatever the scores of segments are."""
    return not edge_forbidden and edge_spread < SAFE_SPREAD


@kernel(fastmath=SUMS)
def sums_of_lengths(whole, after, t, n_lengths, value, top, share):
    """``value[s] = log sum_d exp(whole[d, s] + after[t + d + 1, s])``; ``share[d, s]`` is the share of each length."""
    n_states = len(value)
    for s in range(n_states):
        top[s] = -np.inf
        value[s] = 0.0
    # Log-sum-exp over lengths for all states at once; share[d, s] = p(length d | state s begins at t). O(D S).
    for d in range(n_lengths):
        for s in range(n_states):
            share[d, s] = whole[d, s] + after[t + d + 1, s]
            top[s] = max(top[s], share[d, s])
    for s in range(n_states):
        if top[s] == -np.inf:  # no segment of this state: all shares become 0
            top[s] = 0.0
    for d in range(n_lengths):
        for s in range(n_states):
            share[d, s] = np.exp(share[d, s] - top[s])
            value[s] += share[d, s]
    for d in range(n_lengths):
        for s in range(n_states):
            share[d, s] = share[d, s] / value[s] if value[s] > 0.0 else 0.0
    for s in range(n_states):
        value[s] = top[s] + np.log(value[s]) if value[s] > 0.0 else -np.inf


@kernel(fastmath=SUMS)
def relative(value, terms):
    """``terms = exp(value - max)``; returns the maximum."""
    top = -np.inf
    for s in range(len(value)):
        top = max(top, value[s])
    for s in range(len(value)):
        terms[s] = np.exp(value[s] - top) if top > -np.inf else 0.0
    return top


@kernel(fastmath=SUMS)
def log_suffixes(
    whole, edge, factor, shift, by_products, first, step, lo, hi, value, after, work, share, keep
):
    """Sums of all suffixes as in ``segment_max.best_suffixes``; returns the log-partition.

    ``share[(lo + t) * keep, d, s]`` is the probability of length d given that state s begins at row t; with ``keep``
    0 one row of it is enough.
    """
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    n = hi - lo
    terms = work[0]
    for s in range(n_states):
        after[n, s] = 0.0
    # value[t, s] = log sum_d exp(whole[t, d, s] + after[t + d + 1, s]);
    # after[t, i] = log sum_j exp(edge[i, j] + value[t, j]), by products relative to the best state where the tables are
    # narrow; after[n] = 0. O(n S (D + S)).
    for t in range(n - 1, -1, -1):
        row = share[(lo + t) * keep]
        sums_of_lengths(whole[lo + t], after, t, min(n_lengths, n - t), value[t], terms, row)
        if t == 0:
            break
        e = first + (t - 1) * step
        if by_products:
            top = relative(value[t], terms)
            for i in range(n_states):
                total = 0.0
                for j in range(n_states):
                    total += factor[e, i, j] * terms[j]
                after[t, i] = top + shift[e] + np.log(total) if top > -np.inf else -np.inf
        else:
            for i in range(n_states):
                for j in range(n_states):
                    terms[j] = edge[e, i, j] + value[t, j]
                after[t, i] = log_sum_exp(terms)
    return log_sum_exp(value[0])


@kernel()
def log_partitions(whole, edge, step, offsets, log_z):
    """Log-partition of every sample of a batch."""
    longest, n_states = longest_sample(offsets), whole.shape[2]
    value, after = np.empty((longest, n_states)), np.empty((longest + 1, n_states))
    work, share = np.empty((3, n_states)), np.empty((1, whole.shape[1], n_states))
    factor, shift = np.empty(edge.shape), np.empty(len(edge))
    width, forbidden = exponentiate_edges(edge, factor, shift)
    # Memory O(longest S + D S + tables S^2): with keep = 0 the shares of lengths are overwritten row after row.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        if step == 1:  # its own tables alone decide, so that a sample's answer does not depend on its batch
            width, forbidden = widest_spread(edge[first : first + hi - lo - 1])
        by_products = narrow(width, forbidden)
        log_z[s] = log_suffixes(
            whole, edge, factor, shift, by_products, first, step, lo, hi, value, after, work, share, lo - lo
        )


@kernel(fastmath=SUMS)
def cross_boundary(edge, factor, by_products, e, value, after, ended, weight, work, begin, pair):
    """From the probabilities of segments that ended to those that begin next; adds ``weight`` x pairs to ``pair``."""
    n_states = len(value)
    terms, scaled = work[0], work[1]
    for j in range(n_states):
        begin[j] = 0.0
    # p(next j | ended i) = factor[i, j] e^(value[j] - top) / sum, or exp(edge[i, j] + value[j] - after[i]);
    # begin[j] = sum_i ended[i] p(j | i). O(S^2).
    if by_products:
        relative(value, terms)
        for i in range(n_states):
            total = 0.0
            for j in range(n_states):
                total += factor[e, i, j] * terms[j]
            scaled[i] = ended[i] / total if ended[i] > 0.0 else 0.0
        for i in range(n_states):
            for j in range(n_states):
                p = scaled[i] * factor[e, i, j] * terms[j]
                begin[j] += p
                pair[e, i, j] += weight * p
        return
    for i in range(n_states):
        if ended[i] > 0.0:
            for j in range(n_states):
                p = ended[i] * np.exp(edge[e, i, j] + value[j] - after[i])
                begin[j] += p
                pair[e, i, j] += weight * p


@kernel(fastmath=SUMS)
def sample_expectation(
    whole, edge, factor, shift, by_products, first, step, lo, hi, weight, value, after, ended, work, segment_out,
    pair,
):  # fmt: skip
    """Log-partition of one sample; writes ``weight`` x segment marginals and adds ``weight`` x pair marginals."""
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    n, keep = hi - lo, lo - lo + 1
    log_z = log_suffixes(
        whole, edge, factor, shift, by_products, first, step, lo, hi, value, after, work, segment_out, keep
    )
    if log_z == -np.inf:
        return log_z
    begin = work[2]
    for s in range(n_states):
        begin[s] = np.exp(value[0, s] - log_z)
        for t in range(n + 1):
            ended[t, s] = 0.0
    # Forward in probabilities: begin[s] that a segment of state s begins at t, ended[t, s] that one ended just before.
    # segment_out holds p(length | state) until row t is reached, then weight x begin x that. All numbers are in [0, 1].
    # O(n S (D + S)).
    for t in range(n):
        if t > 0:
            e = first + (t - 1) * step
            cross_boundary(
                edge, factor, by_products, e, value[t], after[t], ended[t], weight, work, begin, pair
            )
        for d in range(min(n_lengths, n - t)):
            for s in range(n_states):
                p = begin[s] * segment_out[lo + t, d, s]
                ended[t + d + 1, s] += p
                segment_out[lo + t, d, s] = weight * p
    return log_z


@kernel()
def expectations(whole, edge, step, offsets, weight, log_z, segment_out, pair):
    """Log-partitions, segment marginals and summed pair marginals of a batch, each sample times its weight."""
    longest, n_states = longest_sample(offsets), whole.shape[2]
    value, after = np.empty((longest, n_states)), np.empty((longest + 1, n_states))
    ended, work = np.empty((longest + 1, n_states)), np.empty((3, n_states))
    factor, shift = np.empty(edge.shape), np.empty(len(edge))
    width, forbidden = exponentiate_edges(edge, factor, shift)
    segment_out[:] = 0.0
    pair[:] = 0.0
    # Memory O(longest S + tables S^2): p(length | state) is kept in ``segment_out`` itself. Where log Z = -inf, the
    # entries of the sample there mean nothing.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        if step == 1:  # its own tables alone decide, so that a sample's answer does not depend on its batch
            width, forbidden = widest_spread(edge[first : first + hi - lo - 1])
        log_z[s] = sample_expectation(
            whole, edge, factor, shift, narrow(width, forbidden), first, step, lo, hi, weight[s], value, after,
            ended, work, segment_out, pair,
        )  # fmt: skip


@kernel()
def draw_segmentations(whole, edge, step, offsets, uniform, path):
    """Exact samples: ``uniform`` is (2, draws, rows), ``path`` (draws, rows).

    Returns the first sample without an allowed segmentation, or -1.
    """
    n_lengths, n_states = whole.shape[1], whole.shape[2]
    longest = longest_sample(offsets)
    value, after = np.empty((longest, n_states)), np.empty((longest + 1, n_states))
    work, share, lengths = np.empty((3, n_states)), np.empty(whole.shape), np.empty(n_lengths)
    factor, shift = np.empty(edge.shape), np.empty(len(edge))
    width, forbidden = exponentiate_edges(edge, factor, shift)
    by_products = narrow(width, forbidden)
    terms = work[0]
    # p(state | state before) ~ exp(edge + value[t]), p(length | state) = share. O(n S (D + S)) per sample, then
    # O(S + D) per segment drawn. Memory: one table of the size of ``whole``.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first, keep = (lo - s) * step, lo - lo + 1
        log_z = log_suffixes(
            whole, edge, factor, shift, by_products, first, step, lo, hi, value, after, work, share, keep
        )
        if log_z == -np.inf:
            return s
        for draw in range(len(path)):
            t, state = 0, 0
            while t < hi - lo:
                for j in range(n_states):
                    terms[j] = value[t, j]
                    if t > 0:
                        terms[j] += edge[first + (t - 1) * step, state, j]
                state = draw_label(terms, uniform[0, draw, lo + t])
                own = lengths[: min(n_lengths, hi - lo - t)]
                for d in range(len(own)):
                    own[d] = share[lo + t, d, state]
                d = choose(own, uniform[1, draw, lo + t])
                write_segment(path[draw], lo + t, d, state, n_states)
                t += d + 1
    return -1
