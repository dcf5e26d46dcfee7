"""Dual ascent on segmentations: sums by scaled products over rows of open segments, and a pass of visits.

A row of a sample scores each label in three places: for lying inside a segment, for its first and for its last row.
Tables are those of neighbouring labels (K x K), then those of lengths (D x K). Where no segment has several rows, there
is the first place alone, and no lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.dual_rows import finish_visit, read_tables, room_for, score_rows
from palmette._kernels.jit import kernel
from palmette._kernels.ragged import longest_sample
from palmette.structures.segments.kernels.given import extent


class Messages(NamedTuple):
    """Room for the messages of a sample, flat; rows of labels padded to ``width``, a multiple of eight, by zeros."""

    inside: np.ndarray  # factors of a row for labels inside, begun and ended there
    begin: np.ndarray
    end: np.ndarray
    started: np.ndarray  # messages into the first row of segments, and from those that ended before a row
    ended: np.ndarray
    open: np.ndarray  # (rows, lengths): segments that have covered so many rows
    rest: np.ndarray  # the same backwards, of two rows in turn
    after: np.ndarray
    enter: np.ndarray
    covers: np.ndarray  # marginals of a row: labels inside, begun and ended there
    begins: np.ndarray
    stops: np.ndarray
    edge: np.ndarray  # factors of neighbours, and transposed
    edge_t: np.ndarray
    length: np.ndarray
    pairs: np.ndarray


@kernel()
def room_for_messages(longest, n_labels, width, n_lengths):
    """Room for samples of up to so many rows."""
    rows, square = longest * width, width * width
    most = min(longest, n_lengths) * width
    return Messages(
        np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows + width),
        np.zeros(longest * most), np.zeros(2 * most), np.zeros(width), np.zeros(width), np.zeros(width),
        np.zeros(width), np.zeros(width), np.zeros(square), np.zeros(square), np.zeros(n_lengths * width),
        np.zeros(square),
    )  # fmt: skip


@kernel()
def exponentiate(theta, places, table, n, n_labels, width, longest, ends, m):
    """Factors of rows and tables; returns the sum of what the rows inside were divided by."""
    shift = 0.0
    # Only scores inside are taken relative to the best label of a row: every segmentation has one of them in each row,
    # but not a begin, an end, an edge.
    for t in range(n):
        at, row = t * width, t * places
        top = theta[row]
        for k in range(1, n_labels):
            top = max(top, theta[row + k])
        shift += top
        for k in range(n_labels):
            m.inside[at + k] = np.exp(theta[row + k] - top)
            m.begin[at + k] = np.exp(theta[row + n_labels + k]) if ends else 1.0
            m.end[at + k] = np.exp(theta[row + 2 * n_labels + k]) if ends else 1.0
    for i in range(n_labels):
        for j in range(n_labels):
            m.edge[i * width + j] = m.edge_t[j * width + i] = np.exp(table[i * n_labels + j])
    lengths = n_labels * n_labels
    for k in range(n_labels):
        for d in range(longest[k]):
            m.length[d * width + k] = np.exp(table[lengths + d * n_labels + k]) if ends else 1.0
    return shift


@kernel()
def forward(n, n_lengths, n_labels, width, m):
    """Messages from the first row on; returns the log-partition without the shifts, NaN if out of range."""
    stride, log_z = min(n, n_lengths) * width, 0.0
    # open[t, 0] = started[t] begin[t] inside[t], open[t, d] = open[t - 1, d - 1] inside[t]: segments that cover the
    # rows t - d .. t and may go on; ended[t + 1] = end[t] sum_d open[t, d] length[d]; started[t] = ended[t] edge.
    # Rows are divided by z = sum of both, kept in ``inside`` as 1 / z times the factor. log Z = sum of log z + log of
    # the last sum. O(n (D K + K^2)). Padding of begin and length is 0, hence that of all messages.
    for t in range(n):
        row, before = t * width, (t - 1) * stride
        most = min(n_lengths, t + 1)
        for c in range(0, width, LANES):
            if t == 0:
                into = simd.splat(m.started, 1.0)
            else:
                into = simd.splat(m.started, 0.0)
                for i in range(n_labels):
                    edge = simd.load(m.edge, i * width + c)
                    into = simd.fma(simd.spread(m.ended, row + i), edge, into)
            simd.store(m.started, row + c, into)
        sums = simd.splat(m.open, 0.0)
        for c in range(0, width, LANES):
            inside = simd.load(m.inside, row + c)
            own = simd.mul(simd.mul(simd.load(m.started, row + c), simd.load(m.begin, row + c)), inside)
            simd.store(m.open, t * stride + c, own)
            sums = simd.add(sums, own)
            ended = simd.mul(own, simd.load(m.length, c))
            for d in range(1, most):
                own = simd.mul(simd.load(m.open, before + (d - 1) * width + c), inside)
                simd.store(m.open, t * stride + d * width + c, own)
                sums = simd.add(sums, own)
                ended = simd.fma(own, simd.load(m.length, d * width + c), ended)
            ended = simd.mul(ended, simd.load(m.end, row + c))
            simd.store(m.ended, row + width + c, ended)
            sums = simd.add(sums, ended)
        z = simd.total(sums)
        if not 1e-250 < z < 1e250:
            return np.nan
        log_z += np.log(z)
        inverse = simd.splat(m.open, 1.0 / z)
        for c in range(0, width, LANES):
            simd.store(m.inside, row + c, simd.mul(simd.load(m.inside, row + c), inverse))
            simd.store(m.ended, row + width + c, simd.mul(simd.load(m.ended, row + width + c), inverse))
            for d in range(most):
                at = t * stride + d * width + c
                simd.store(m.open, at, simd.mul(simd.load(m.open, at), inverse))
    return log_z


@kernel()
def backward(n, n_lengths, n_labels, width, ends, m, places, moment, lengths):
    """Messages from the last row on, marginals of rows and (added) of lengths, padded, and outer products of pairs.

    Returns the log of the last sum, NaN if the marginals of a row do not sum to 1.
    """
    stride = min(n, n_lengths) * width
    last = simd.splat(m.ended, 0.0)
    for c in range(0, width, LANES):
        last = simd.add(last, simd.load(m.ended, n * width + c))
    z = simd.total(last)
    if not 1e-250 < z < 1e250:
        return np.nan
    for c in range(0, width, LANES):
        simd.store(m.after, c, simd.splat(m.after, 1.0 / z))
    for c in range(0, width * width, LANES):
        simd.store(m.pairs, c, simd.splat(m.pairs, 0.0))
    # after: of what follows the segments that end at row t. rest[t, d] = length[d] end[t] after + inside[t + 1]
    # rest[t + 1, d + 1], the latter with 1 / z of row t + 1 in it: of what follows row t, the d-th of an open segment.
    # So open rest are the marginals of (row, length so far), and sum to 1 over d and labels. enter = begin inside
    # rest[t, 0]: what follows the start of a segment at t; after = edge enter. O(n (D K + K^2)).
    for t in range(n - 1, -1, -1):
        row, here, there = t * width, (t % 2) * stride, ((t + 1) % 2) * stride
        most, following = min(n_lengths, t + 1), min(n_lengths, t + 2)
        mass = simd.splat(m.open, 0.0)
        for c in range(0, width, LANES):
            end = simd.mul(simd.load(m.end, row + c), simd.load(m.after, c))
            cover, stop = simd.splat(m.open, 0.0), simd.splat(m.open, 0.0)
            for d in range(most):
                own = simd.load(m.open, t * stride + d * width + c)
                rest = simd.mul(simd.load(m.length, d * width + c), end)
                stopped = simd.mul(own, rest)
                simd.store(lengths, d * width + c, simd.add(simd.load(lengths, d * width + c), stopped))
                stop = simd.add(stop, stopped)
                if t + 1 < n and d + 1 < following:
                    inside = simd.load(m.inside, row + width + c)
                    rest = simd.fma(inside, simd.load(m.rest, there + (d + 1) * width + c), rest)
                simd.store(m.rest, here + d * width + c, rest)
                cover = simd.fma(own, rest, cover)
            mass = simd.add(mass, cover)
            simd.store(m.covers, c, cover)
            simd.store(m.stops, c, stop)
            start = simd.mul(simd.load(m.begin, row + c), simd.load(m.inside, row + c))
            start = simd.mul(start, simd.load(m.rest, here + c))
            simd.store(m.enter, c, start)
            simd.store(m.begins, c, simd.mul(start, simd.load(m.started, row + c)))
        if not abs(simd.total(mass) - 1.0) < 1e-6:
            return np.nan
        for k in range(n_labels):
            moment[t * places + k] = m.covers[k]
            if ends:
                moment[t * places + n_labels + k] = m.begins[k]
                moment[t * places + 2 * n_labels + k] = m.stops[k]
        if t > 0:
            for c in range(0, width, LANES):
                enter, after = simd.load(m.enter, c), simd.splat(m.after, 0.0)
                for i in range(n_labels):
                    at = i * width + c
                    fresh = simd.fma(simd.spread(m.ended, row + i), enter, simd.load(m.pairs, at))
                    simd.store(m.pairs, at, fresh)
                for j in range(n_labels):
                    after = simd.fma(simd.spread(m.enter, j), simd.load(m.edge_t, j * width + c), after)
                simd.store(m.after, c, after)
    return np.log(z)


@kernel()
def subtract_truth(theta, places, table, path, lo, hi, n_labels, ends, moment, table_moment):
    """Take the true segmentation from the moments; returns its score."""
    score, lengths, t = 0.0, n_labels * n_labels, lo
    while t < hi:
        label, d = path[t], extent(path, t, hi, n_labels)
        for u in range(t - lo, t - lo + d + 1):
            score += theta[u * places + label]
            moment[u * places + label] -= 1.0
        if ends:
            first = (t - lo) * places + n_labels + label
            last = (t - lo + d) * places + 2 * n_labels + label
            score += theta[first] + theta[last]
            moment[first] -= 1.0
            moment[last] -= 1.0
            score += table[lengths + d * n_labels + label]
            table_moment[lengths + d * n_labels + label] -= 1.0
        if t > lo:
            pair = (path[t - 1] % n_labels) * n_labels + label
            score += table[pair]
            table_moment[pair] -= 1.0
        t += d + 1
    return score


@kernel()
def dual_pass(x, tables, ascent, mode, order, offsets, path, weight, longest):
    """A visit, as ``mode`` says, of each sample of ``order``; returns how many were out of range and left out."""
    n_labels, n_lengths = len(longest), longest.max()
    width, most = -(-n_labels // LANES) * LANES, longest_sample(offsets)
    ends, places = len(tables.weight) > n_labels * n_labels, x.width
    room = room_for(x, tables, most, ascent.residual_table.shape[1])
    m = room_for_messages(most, n_labels, width, n_lengths)
    lengths = np.zeros(n_lengths * width)
    n_failed, first = 0, n_labels * n_labels
    # O(weights read + n (D K + K^2)) per sample. Sums are in double precision, and so are weights.
    for turn in range(len(order)):
        s = order[turn]
        lo, hi, n = offsets[s], offsets[s + 1], offsets[s + 1] - offsets[s]
        if weight[s] == 0.0 or n == 0:
            continue
        score_rows(x, ascent.w, lo, hi, 0 * n, room.theta)
        read_tables(tables, ascent.w, room.table)
        log_z = exponentiate(room.theta, places, room.table, n, n_labels, width, longest, ends, m)
        log_z += forward(n, n_lengths, n_labels, width, m)
        lengths[:] = 0.0
        if not np.isnan(log_z):
            log_z += backward(n, n_lengths, n_labels, width, ends, m, places, room.moment, lengths)
        if np.isnan(log_z):
            n_failed += 1
            continue
        for i in range(n_labels):
            for j in range(n_labels):
                room.table_moment[i * n_labels + j] = m.pairs[i * width + j] * m.edge[i * width + j]
        for e in range(len(room.table_moment) - first):
            room.table_moment[first + e] = lengths[e // n_labels * width + e % n_labels]
        value = log_z - subtract_truth(
            room.theta, places, room.table, path, lo, hi, n_labels, ends, room.moment, room.table_moment
        )
        finish_visit(x, tables, ascent, room, mode, turn, s, lo, hi, 0 * n, weight[s], value)
    return n_failed
