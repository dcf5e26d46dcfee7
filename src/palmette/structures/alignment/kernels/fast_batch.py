"""Whole batches by the fast kernels: a question in, codes and values out. One kind of gap, one layer.

A sample is cut at the matches that are known (see ``fast_rows``). Costs of gaps must be finite but at positions whose
match is known (``serves``); other samples are for the plain kernels.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.fast_max import fill_max, octets_of_max, room_of_max, walk_max
from palmette.structures.alignment.kernels.fast_rows import lay_out, room_of_rows
from palmette.structures.alignment.kernels.fast_short import (
    best_short,
    fits_short,
    octets_of_short,
    pitch_of_table,
    short_table,
)
from palmette.structures.alignment.kernels.soundness import all_finite, are_sound

UNSOUND = -1


@kernel()
def serves(offsets, splits, unit, open_, extend, change, codes, fine):
    """Write for each sample whether fast kernels apply: costs of gaps are -inf only where a match is known."""
    finite = np.isfinite(change) and all_finite(open_) and all_finite(extend)
    fine[:] = finite
    if not finite or (all_finite(unit) and len(codes) == 0):
        return
    for s in range(len(splits)):
        lo, n, hi = offsets[s], splits[s], offsets[s + 1]
        own = True
        for t in range(lo, hi):
            own &= np.isfinite(unit[t]) or (len(codes) > 0 and codes[t] > 0)
            if len(codes):
                own &= codes[t] <= (hi - lo - n if t < lo + n else n)
        fine[s] = own


@kernel()
def match_score(
    substitution, letters, lo, n, m, uniform, entry_ptr, entry, value, dense, mask, starts, s, i, j
):
    """The score of one match of sample ``s`` with all that is added; -inf if it may not be."""
    if len(mask) and not mask[starts[s] + i * m + j]:
        return -np.inf
    score = substitution[letters[lo + i], letters[lo + n + j]] + uniform[s]
    if len(dense):
        score += dense[starts[s] + i * m + j]
    for e in range(entry_ptr[s], entry_ptr[s + 1]):
        if entry[e] == i * m + j:
            score += value[e]
    return score


@kernel()
def gap_score(unit, open_, extend, first, last, boundary):
    """Positions ``first`` to ``last - 1`` in one gap at a boundary."""
    score = 0.0
    for t in range(first, last):
        score += unit[t] + (open_[boundary] if t == first else extend[boundary])
    return score


@kernel()
def known_matches(codes, n, m, partner):
    """For each position of a, the code of its known match, else 0; returns whether they fit together."""
    partner[:n] = 0
    if len(codes) == 0:
        return True
    for j in range(m):
        i = codes[n + j] - 1
        if i >= 0:
            if partner[i] > 0:
                return False
            partner[i] = j + 1
    last = 0
    for i in range(n):
        if codes[i] > 0:
            if codes[n + codes[i] - 1] not in (-1, i + 1):
                return False
            partner[i] = codes[i]
        elif codes[i] == 0 and partner[i] > 0:
            return False
        if partner[i] > 0:
            if partner[i] <= last:
                return False
            last = partner[i]
    return True


@kernel()
def octets_of_best(offsets, splits, n_symbols, like):
    """Bytes that ``best_fast`` works in."""
    most, width = 0, like.itemsize
    for s in range(len(splits)):
        n = splits[s]
        m = offsets[s + 1] - offsets[s] - n
        general = width * (
            room_of_rows(n, m, n_symbols, like) + room_of_max(n, m, n_symbols, like)
        ) + octets_of_max(n, m, like)
        most = max(most, max(general, octets_of_short(n, m, n_symbols)) + 8 * n)
    return most + n_symbols * (8 + 2 * pitch_of_table(n_symbols)) + 512


@kernel()
def best_fast(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense, mask,
    codes, starts, like, octets, todo, out, values,
):  # fmt: skip
    """Codes and values of the best alignments of the samples ``todo``; -inf if there is none.

    The precision is that of ``like``; questions in integers are answered exactly.
    """
    if len(splits) == 0:
        return
    symbols = len(substitution)
    row_of, octets = octets[: 8 * symbols].view(np.int64), octets[(8 * symbols + 63) // 64 * 64 :]
    if fits_short(
        substitution, offsets, splits, unit, open_, extend, change, uniform, entry, dense, mask, codes
    ):
        flat = substitution.ravel()
        lowest = min(int(flat.min()), 0)
        opened, extended = min(int(open_.min()), 0), min(int(extend.min()), 0)
        size = 2 * symbols * pitch_of_table(symbols)
        table, rest = octets[:size].view(np.int16), octets[(size + 63) // 64 * 64 :]
        short_table(substitution, table)
        for s in range(len(splits)):
            if not todo[s]:
                continue
            lo, middle, hi = offsets[s], offsets[s] + splits[s], offsets[s + 1]
            first, second, last = lo + 2 * s, middle + 2 * s + 1, hi + 2 * s + 2
            values[s] = best_short(
                letters[lo:middle], letters[middle:hi], table, open_[first:second], extend[first:second],
                open_[second:last], extend[second:last], lowest, opened, extended, row_of, rest, out[lo:hi],
            )  # fmt: skip
        return
    word, words = simd.lanes_wide(like) // 8, 4 if change == 0.0 else 5
    for s in range(len(splits)):
        if not todo[s]:
            continue
        lo, n, hi = offsets[s], splits[s], offsets[s + 1]
        m = hi - lo - n
        partner, rest = octets[: 8 * n].view(np.int64), octets[(8 * n + 63) // 64 * 64 :]
        size = like.itemsize * room_of_rows(n, m, symbols, like)
        room, rest = rest[:size].view(like.dtype), rest[(size + 63) // 64 * 64 :]
        size = like.itemsize * room_of_max(n, m, symbols, like)
        work, bits = rest[:size].view(like.dtype), rest[size:]
        own = codes[lo:hi] if len(codes) else codes
        out[lo:hi] = 0
        if not known_matches(own, n, m, partner):
            values[s] = -np.inf
            continue
        rows = lay_out(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
            dense, mask, codes, starts, s, room, row_of,
        )  # fmt: skip
        total, i0, j0, first = 0.0, 0, 0, lo + 2 * s
        for i in range(n + 1):
            if i < n and partner[i] == 0:
                continue
            j = partner[i] - 1 if i < n else m
            if i == i0 or j == j0:
                total += gap_score(unit, open_, extend, lo + i0, lo + i, first + n + 1 + j0)
                total += gap_score(unit, open_, extend, lo + n + j0, lo + n + j, first + i0)
            else:
                found = fill_max(rows, i0, i - i0, j0, j - j0, work, bits)
                total += found if found > 0.5 * NEVER else -np.inf
                walk_max(i0, i - i0, j0, j - j0, word, words, bits, out[lo:hi], n)
            if i < n:
                total += match_score(
                    substitution, letters, lo, n, m, uniform, entry_ptr, entry, value, dense, mask, starts, s, i, j
                )  # fmt: skip
                out[lo + i], out[lo + n + j] = j + 1, i + 1
            i0, j0 = i + 1, j + 1
        values[s] = total


@kernel()
def best_of_scores(
    substitution, letters, offsets, splits, unit, open_, extend, change, cells, has_cells, like, octets, out, values
):  # fmt: skip
    """Codes and values of the best alignments of sound potentials: everything in one call, one kind of gap.

    Returns 0, UNSOUND also where a value is -inf, or how many bytes ``octets`` must have before anything is done.
    """
    if not are_sound(substitution, letters, offsets, splits, unit, open_, extend, change, cells, has_cells):
        return UNSOUND
    needed = octets_of_best(offsets, splits, len(substitution), like)
    if needed > len(octets):
        return needed
    n = len(splits)
    entry_ptr, starts = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    if has_cells:
        for s in range(n):
            starts[s + 1] = starts[s] + splits[s] * (offsets[s + 1] - offsets[s] - splits[s])
    best_fast(
        substitution, letters, offsets, splits, unit[0], open_[0], extend[0], change[0], np.zeros(n), entry_ptr,
        offsets[:0], change[:0], cells[: starts[n]], np.empty(0, np.bool_), out[:0], starts, like, octets,
        np.ones(n, np.bool_), out, values,
    )  # fmt: skip
    for s in range(n):
        if values[s] == -np.inf:  # scores beyond all that the kernels can tell from what may not be
            return UNSOUND
    return 0
