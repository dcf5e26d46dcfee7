"""Whole batches by the fast kernels: a question in, codes, log-partitions and expected counts out.

Scores of unpaired positions telescope: ``sum over unpaired t of u(t) = sum of all u(t) - sum over paired t of u(t)``,
so they become a constant and a score of both ends of each pair. The precision is that of ``room``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.best import best_inside, walk_back
from palmette.structures.folding.kernels.fast_beam import beam_structure
from palmette.structures.folding.kernels.fast_best import best_structure
from palmette.structures.folding.kernels.fast_gradient import sum_structures
from palmette.structures.folding.kernels.fast_rows import (
    MARGIN,
    N_LETTER_TABLES,
    Pairs,
    letter_tables,
    scores_of_loops,
)
from palmette.structures.folding.kernels.parts import pair_scores


@kernel()
def added_to_pairs(
    unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, offsets, s, must_pair, like
):  # fmt: skip
    """What the fast kernels read of sample ``s``, the constant of its unpaired positions; ``must_pair`` is written."""
    lo, n = offsets[s], offsets[s + 1] - offsets[s]
    side, constant, plain = np.zeros(n + MARGIN, like.dtype), 0.0, True
    for t in range(n):
        score, own = unpaired[lo + t], 0.5 * uniform[s]
        must_pair[t] = score == -np.inf
        if not must_pair[t]:
            own -= score
            constant += score
        side[t] = own
        plain &= own == 0.0
    first, last = entry_ptr[s], entry_ptr[s + 1]
    starts, columns, values = (
        np.zeros(n + 1, np.int64),
        np.empty(last - first, np.int64),
        np.empty(last - first),
    )
    for e in range(first, last):  # entries by rows: count, then place
        starts[entry[e] // n + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    at = starts.copy()
    for e in range(first, last):
        i = entry[e] // n
        columns[at[i]], values[at[i]] = entry[e] % n, value[e]
        at[i] += 1
    size = n * n
    own_dense = dense[squares[s] : squares[s] + size] if len(dense) else dense
    own_mask = mask[squares[s] : squares[s] + size] if len(mask) else mask
    own_partner = partner[lo : lo + n] if len(partner) else partner
    plain &= first == last and not (len(dense) or len(mask) or len(partner))
    return Pairs(plain, side, starts, columns, values, own_dense, own_mask, own_partner), constant


@kernel()
def best_structures(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, fast_from, room, asked, codes, values,
):  # fmt: skip
    """Codes and values of the best structures that are asked for; a value is -inf where there is none."""
    by_letters = np.empty(N_LETTER_TABLES)
    letter_tables(tables, can_pair.ravel(), by_letters)
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        if not asked[s]:
            continue
        if hi - lo >= fast_from:
            must_pair = np.empty(hi - lo, np.bool_)
            pairs, constant = added_to_pairs(
                unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, offsets, s, must_pair, room
            )  # fmt: skip
            found = best_structure(
                tables, by_letters, letters[lo:hi], must_pair, min_hairpin, max_interior, pairs, room, codes[lo:hi]
            )  # fmt: skip
            values[s] = found + constant if found > 0.5 * NEVER else -np.inf
            continue
        pair = pair_scores(
            tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
            min_hairpin, s,
        )  # fmt: skip
        x, free = letters[lo:hi].astype(np.int64), unpaired[lo:hi]
        C, B, S, M, M2, F = best_inside(tables, x, free, pair, min_hairpin, max_interior)
        values[s] = F[0]
        if F[0] > -np.inf:
            walk_back(tables, x, free, min_hairpin, max_interior, C, B, S, M, M2, F, codes[lo:hi])


@kernel()
def beam_structures(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, beam, codes, values,
):  # fmt: skip
    """Codes and values of good structures, by beam search; a value is -inf where none was found."""
    by_letters, like = np.empty(N_LETTER_TABLES), np.empty(0)
    letter_tables(tables, can_pair.ravel(), by_letters)
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        values[s] = 0.0
        if hi > lo:
            must_pair = np.empty(hi - lo, np.bool_)
            pairs, constant = added_to_pairs(
                unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, offsets, s, must_pair, like
            )  # fmt: skip
            loops = scores_of_loops(
                tables, by_letters, letters[lo:hi], must_pair, min_hairpin, max_interior, pairs.side
            )
            found = beam_structure(
                by_letters, loops, pairs, can_pair.ravel(), min(beam, hi - lo), codes[lo:hi]
            )
            values[s] = found + constant if found > 0.5 * NEVER else -np.inf


@kernel()
def expectations(
    tables, letters, offsets, unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair,
    min_hairpin, max_interior, room, rates, asked, weight, log_z, counts, free, starts, squares_of_pairs,
):  # fmt: skip
    """Log-partitions, and ``weight`` x expected counts added to the tables, the unpaired positions and the pairs.

    Of the samples that are ``asked`` for, with guesses at the log-partition per position (less the constant of the
    unpaired positions); NaN where sums leave the range of these numbers. Without ``free`` there are log-partitions
    alone, without ``counts`` no tables. ``squares_of_pairs`` is empty, or has a square from ``starts[s]`` on for each
    sample, of which the entries i < j are added to.
    """
    by_letters = np.empty(N_LETTER_TABLES)
    letter_tables(tables, can_pair.ravel(), by_letters)
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        if not asked[s]:
            continue
        counting = len(free) > 0 and weight[s] != 0.0
        square = np.zeros(n * n if counting and len(squares_of_pairs) else 0)
        must_pair, paired = np.empty(n, np.bool_), np.zeros(n if counting else 0)
        pairs, constant = added_to_pairs(
            unpaired, uniform, entry_ptr, entry, value, dense, mask, partner, squares, offsets, s, must_pair, room
        )  # fmt: skip
        log_z[s] = constant + sum_structures(
            tables, by_letters, letters[lo:hi], must_pair, min_hairpin, max_interior, pairs, rates[s], weight[s], room,
            paired, square, counts if counting else counts[:0],
        )  # fmt: skip
        if counting and log_z[s] == log_z[s]:
            for t in range(n):
                free[lo + t] += 0.0 if must_pair[t] else weight[s] * max(1.0 - paired[t], 0.0)
            for e in range(len(square)):
                squares_of_pairs[starts[s] + e] += weight[s] * square[e]
