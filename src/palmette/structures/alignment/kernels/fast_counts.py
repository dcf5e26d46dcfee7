"""Sums of whole batches by the fast kernels: log-partitions, posteriors of matches, expected counts in theta's shape.

A sample whose sums leave the range of the precision is summed in double precision; one that leaves that, too, gets NaN
and is for the plain kernels. One kind of gap, one layer, and costs of gaps as ``fast_batch.serves`` says.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_batch import gap_score, known_matches, match_score
from palmette.structures.alignment.kernels.fast_rows import lay_out, pitch_of, room_of_rows
from palmette.structures.alignment.kernels.fast_sums import (
    in_range,
    room_of_sums,
    sum_ends,
    sum_starts,
    to_factors,
)

NEAR = 1e-3  # how far sums from both ends may differ


@kernel()
def octets_of_sums(offsets, splits, n_symbols, like, counting):
    """Bytes that ``sums_fast`` works in."""
    most = 0
    for s in range(len(splits)):
        n = splits[s]
        m = offsets[s + 1] - offsets[s] - n
        numbers = room_of_rows(n, m, n_symbols, like) + room_of_sums(n, m, like, counting)
        numbers += (min(n, n_symbols) + 3) * pitch_of(m, like)
        most = max(most, like.itemsize * numbers + 8 * (6 * n + 8))
    return most + 8 * n_symbols + 512


@kernel()
def count_gap(unit, open_, extend, first, last, boundary, weight):
    """Positions ``first`` to ``last - 1`` in one gap at a boundary, counted."""
    for t in range(first, last):
        unit[t] += weight
        if t == first:
            open_[boundary] += weight
        else:
            extend[boundary] += weight


@kernel()
def sum_sample(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense, mask,
    codes, starts, like, octets, s, weight, counting, counts, units, opens, extends, changes, cells_from, cells,
):  # fmt: skip
    """The log-partition of a sample, NaN if out of range; counts x weight are added if it is finite."""
    symbols, lo, n, hi = len(substitution), offsets[s], splits[s], offsets[s + 1]
    m = hi - lo - n
    row_of, octets = octets[: 8 * symbols].view(np.int64), octets[(8 * symbols + 63) // 64 * 64 :]
    partner, octets = octets[: 8 * n].view(np.int64), octets[(8 * n + 63) // 64 * 64 :]
    scales, octets = octets[: 8 * n].view(np.float64), octets[(8 * n + 63) // 64 * 64 :]
    gaps = octets[: 32 * (n + 1)].view(np.float64).reshape((4, n + 1))
    octets = octets[(32 * (n + 1) + 63) // 64 * 64 :]
    size = like.itemsize * room_of_rows(n, m, symbols, like)
    room, octets = octets[:size].view(like.dtype), octets[(size + 63) // 64 * 64 :]
    if not known_matches(codes[lo:hi] if len(codes) else codes, n, m, partner):
        return -np.inf
    rows = lay_out(
        substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
        mask, codes, starts, s, room, row_of,
    )  # fmt: skip
    if not in_range(rows):
        return np.nan
    to_factors(rows)
    size = like.itemsize * (rows.line + 3 * pitch_of(m, like)) if counting else 0
    shares, octets = octets[:size].view(like.dtype), octets[size:]
    size = like.itemsize * room_of_sums(n, m, like, counting)
    work = octets[:size].view(like.dtype)
    shares[:] = 0
    gaps[:] = 0
    cells_at = cells_from[s] if len(cells) else 0
    log_z, i0, j0, first = 0.0, 0, 0, lo + 2 * s
    second = first + n + 1
    for i in range(n + 1):
        if i < n and partner[i] == 0:
            continue
        j = partner[i] - 1 if i < n else m
        if i == i0 or j == j0:
            log_z += gap_score(unit, open_, extend, lo + i0, lo + i, second + j0)
            log_z += gap_score(unit, open_, extend, lo + n + j0, lo + n + j, first + i0)
        else:
            own = sum_ends(rows, i0, i - i0, j0, j - j0, counting, work, scales)
            log_z += own
            if np.isfinite(own) and counting:
                near = sum_starts(
                    rows, i0, i - i0, j0, j - j0, counting, work, scales, own, shares, gaps, weight, cells_at, cells
                )  # fmt: skip
                if not abs(near - 1.0) < NEAR:
                    log_z = np.nan
        if i < n:
            log_z += match_score(
                substitution, letters, lo, n, m, uniform, entry_ptr, entry, value, dense, mask, starts, s, i, j
            )  # fmt: skip
        if not np.isfinite(log_z):
            return log_z
        i0, j0 = i + 1, j + 1
    if counting and not (np.isfinite(gaps.sum()) and np.isfinite(shares.sum())):
        # A row that is large where all that follows is 0, the other way round in the next ones: infinity times 0.
        return np.nan
    if counting:
        count_cuts(
            letters, lo, n, m, first, partner, weight, counting, counts, units, opens, extends, cells_at, cells
        )  # fmt: skip
        add_shares(
            rows, letters[lo + n : hi], shares, gaps, partner, weight, counting, counts, units[lo:hi],
            opens[first : hi + 2 * s + 2], extends[first : hi + 2 * s + 2], changes,
        )  # fmt: skip
    return log_z


@kernel()
def count_cuts(
    letters, lo, n, m, first, partner, weight, counting, counts, units, opens, extends, cells_at, cells
):
    """What is certain: known matches, and the gaps of cuts where one side is empty. Other cuts get all units of b."""
    i0, j0, second = 0, 0, first + n + 1
    for i in range(n + 1):
        if i < n and partner[i] == 0:
            continue
        j = partner[i] - 1 if i < n else m
        if i == i0 or j == j0:
            count_gap(units, opens, extends, lo + i0, lo + i, second + j0, weight)
            count_gap(units, opens, extends, lo + n + j0, lo + n + j, first + i0, weight)
        else:
            for t in range(i0, i):
                units[lo + t] += weight
            for t in range(j0, j):
                units[lo + n + t] += weight
        if i < n:
            if counting > 1:
                counts[letters[lo + i], letters[lo + n + j]] += weight
            if len(cells):
                cells[cells_at + i * m + j] = weight
        i0, j0 = i + 1, j + 1


@kernel()
def add_shares(rows, b, shares, gaps, partner, weight, counting, counts, units, opens, extends, changes):
    """Expected numbers of ``sum_starts``, added: of symbols, gaps at positions, gaps at boundaries."""
    n, m = len(rows.letters), rows.m
    for i in range(n):
        units[i] -= weight * gaps[0, i]
    if counting == 1:
        for j in range(m):
            units[n + j] -= weight * float(shares[j])
        return
    for symbol in range(len(counts)):
        if rows.row_of[symbol] >= 0:
            own, row = counts[symbol], shares[rows.row_of[symbol] : rows.row_of[symbol] + m]
            for j in range(m):
                share = weight * float(row[j])
                own[b[j]] += share
                units[n + j] -= share
    for i in range(n + 1):
        opens[i] += weight * gaps[1, i]
        extends[i] += weight * gaps[2, i]
        changes[0] += weight * gaps[3, i]
    begun, on = len(shares) - 2 * pitch_of(m, shares), len(shares) - pitch_of(m, shares)
    for j in range(m + 1):
        opens[n + 1 + j] += weight * float(shares[begun + j]) * float(rows.open_x[j])
        extends[n + 1 + j] += weight * float(shares[on + j]) * float(rows.extend_x[j])


@kernel()
def sums_fast(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense, mask,
    codes, starts, like, octets, todo, weight, log_z, counting, counts, units, opens, extends, changes, cells_from,
    cells,
):  # fmt: skip
    """Log-partitions of the samples ``todo``; -inf if there is no alignment, NaN where sums leave the range.

    ``counting`` 1 adds to ``units`` the probabilities of gaps x weight, 2 adds expected counts x weight to all of them.
    Either writes probabilities of matches x weight to ``cells``, unless it is empty, 0 where there is no sum. With
    known matches (``codes``) only those that may be are written, so others are 0 before.
    """
    before = simd.flush_denormals()
    for s in range(len(splits)):
        if todo[s]:
            log_z[s] = sum_sample(
                substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
                dense, mask, codes, starts, like, octets, s, weight[s], counting, counts, units, opens, extends,
                changes, cells_from, cells,
            )  # fmt: skip
            if len(cells) and not np.isfinite(log_z[s]):
                cells[cells_from[s] : cells_from[s + 1]] = 0
    simd.restore_denormals(before)
