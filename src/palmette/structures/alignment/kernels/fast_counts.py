"""Sums of whole batches by the fast kernels: log-partitions, posteriors of matches, expected counts in theta's shape.

A sample whose sums leave the range of the precision is summed in double precision; one that leaves that, too, gets NaN and
is for the plain kernels. One kind of gap, one layer, and costs of gaps as ``fast_batch.serves`` says.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_batch import gap_score, known_matches, match_score
from palmette.structures.alignment.kernels.fast_max import vectors_of
from palmette.structures.alignment.kernels.fast_rows import lay_out, pitch_of, room_of_rows
from palmette.structures.alignment.kernels.fast_sums import room_of_sums, sum_ends, sum_starts, to_factors

NEAR = 1e-3  # how far sums from both ends may differ


@kernel()
def octets_of_sums(offsets, splits, n_symbols, like, counting):
    """Bytes that ``sums_fast`` works in."""
    most = 0
    for s in range(len(splits)):
        n = splits[s]
        m = offsets[s + 1] - offsets[s] - n
        numbers = room_of_rows(n, m, n_symbols, like) + room_of_sums(n, m, like, counting) + 2 * pitch_of(m, like)
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
    """The log-partition of a sample; NaN if out of range. Counts x weight are added, of cuts that came before too, then."""
    symbols, lo, n, hi = len(substitution), offsets[s], splits[s], offsets[s + 1]
    m = hi - lo - n
    row_of, octets = octets[: 8 * symbols].view(np.int64), octets[(8 * symbols + 63) // 64 * 64 :]
    partner, octets = octets[: 8 * n].view(np.int64), octets[(8 * n + 63) // 64 * 64 :]
    scales, octets = octets[: 8 * n].view(np.float64), octets[(8 * n + 63) // 64 * 64 :]
    numbers = octets[: 24 * (n + 1)].view(np.float64).reshape((3, n + 1))
    octets = octets[(24 * (n + 1) + 63) // 64 * 64 :]
    size = like.itemsize * room_of_rows(n, m, symbols, like)
    room, octets = octets[:size].view(like.dtype), octets[(size + 63) // 64 * 64 :]
    size = like.itemsize * 2 * pitch_of(m, like)
    sums, octets = octets[:size].view(like.dtype), octets[size:]
    size = like.itemsize * room_of_sums(n, m, like, counting)
    work = octets[:size].view(like.dtype)
    if not known_matches(codes[lo:hi] if len(codes) else codes, n, m, partner):
        return -np.inf
    rows = lay_out(
        substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
        mask, codes, starts, s, False, room, row_of,
    )  # fmt: skip
    to_factors(rows)
    log_z, i0, j0, first = 0.0, 0, 0, lo + 2 * s
    second = first + n + 1
    numbers[:] = 0
    for i in range(n + 1):
        if i < n and partner[i] == 0:
            continue
        j = partner[i] - 1 if i < n else m
        if i == i0 or j == j0:
            log_z += gap_score(unit, open_, extend, lo + i0, lo + i, second + j0)
            log_z += gap_score(unit, open_, extend, lo + n + j0, lo + n + j, first + i0)
            if counting:
                count_gap(units, opens, extends, lo + i0, lo + i, second + j0, weight)
                count_gap(units, opens, extends, lo + n + j0, lo + n + j, first + i0, weight)
        else:
            own = sum_ends(rows, i0, i - i0, j0, j - j0, counting, work, scales)
            log_z += own
            if not np.isfinite(own):
                return log_z
            if counting:
                sums[:] = 0
                near = sum_starts(rows, i0, i - i0, j0, j - j0, counting, work, scales, own, sums, numbers)
                if not abs(near - 1.0) < NEAR:
                    return np.nan
                weights = weight / near
                add_matches(
                    work, letters[lo : lo + n], letters[lo + n : hi], i0, i - i0, j0, j - j0, weights, counts,
                    units[lo : lo + n], units[lo + n : hi], cells[cells_from[s] : cells_from[s + 1]] if len(cells) else cells,
                )  # fmt: skip
                pitch = pitch_of(j - j0, work)
                for k in range(j - j0 + 1):
                    opens[second + j0 + k] += weights * float(sums[k]) * float(rows.open_x[j0 + k])
                    extends[second + j0 + k] += weights * float(sums[pitch + k]) * float(rows.extend_x[j0 + k])
        if i < n:
            log_z += match_score(
                substitution, letters, lo, n, m, uniform, entry_ptr, entry, value, dense, mask, starts, s, i, j
            )  # fmt: skip
            if counting:
                counts[letters[lo + i], letters[lo + n + j]] += weight
                if len(cells):
                    cells[cells_from[s] + i * m + j] += weight
        i0, j0 = i + 1, j + 1
    if counting:
        for i in range(n + 1):
            opens[first + i] += weight * numbers[0, i]
            extends[first + i] += weight * numbers[1, i]
            changes[0] += weight * numbers[2, i]
    return log_z


@kernel()
def add_matches(work, a, b, i0, n, j0, m, weight, counts, units_x, units_y, cells):
    """Posteriors of the matches of a cut, at the start of ``work``, added to counts of symbols, gaps and cells."""
    size, lanes = vectors_of(m, work) * simd.lanes_wide(work), simd.lanes_wide(work)
    for j in range(m):
        units_y[j0 + j] += weight
    for i in range(n):
        row, total = work[i * size : i * size + m], simd.splat_wide(work, 0.0)
        for j in range(0, size, lanes):
            total = simd.add(total, simd.load_wide(work, i * size + j))
        units_x[i0 + i] += weight * (1.0 - float(simd.total(total)))
        own = counts[a[i0 + i]]
        for j in range(m):
            share = weight * float(row[j])
            own[b[j0 + j]] += share
            units_y[j0 + j] -= share
        if len(cells):
            to = cells[(i0 + i) * len(b) + j0 : (i0 + i) * len(b) + j0 + m]
            for j in range(m):
                to[j] += weight * float(row[j])


@kernel()
def sums_fast(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense, mask,
    codes, starts, like, octets, weight, log_z, counting, counts, units, opens, extends, changes, cells_from, cells,
):  # fmt: skip
    """Log-partitions, and expected counts x weights added; a log-partition is -inf if there is no alignment.

    ``counting`` 0: log-partitions only; 2: all counts, and posteriors in ``cells`` unless it is empty.
    A log-partition is NaN where sums leave the range, and nothing is counted there.
    """
    before = simd.flush_denormals()
    for s in range(len(splits)):
        log_z[s] = sum_sample(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
            mask, codes, starts, like, octets, s, weight[s], counting, counts, units, opens, extends, changes, cells_from,
            cells,
        )  # fmt: skip
    simd.restore_denormals(before)
