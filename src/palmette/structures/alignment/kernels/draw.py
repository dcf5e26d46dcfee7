"""Exact samples: alignments drawn step by step from the start, with the chances that sums to the end give."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.ends import after, from_end
from palmette.structures.alignment.kernels.parts import sample_steps


@kernel()
def draw_one(
    F, match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, chances, codes
):  # fmt: skip
    """Codes of one alignment. Each step takes one of the chances; the last possible step gets what rounding leaves."""
    (n, m), kinds, two = match.shape, len(gap_x), len(F) == 2
    i = j = layer = state = used = 0
    while i < n or j < m:
        left, total = chances[used], F[layer, state, i, j]
        used += 1
        step = next_layer = -1  # the state after the step; 0 is a match
        if i < n and j < m:
            to = after(layer, two, two and wrong[i, j])
            own = match[i, j] + F[to, 0, i + 1, j + 1]
            if own > -np.inf:
                left -= np.exp(own - total)
                step, next_layer = 0, to
        for k in range(kinds):
            if left < 0.0:
                break
            if i < n and (state == 0 or state == 1 + k):
                to = after(layer, two, two and wrong_x[k, i])
                more = open_x[k, j] if state == 0 else extend_x[k, j]
                own = gap_x[k, i] + F[to, 1 + k, i + 1, j] + more
                if own > -np.inf:
                    left -= np.exp(own - total)
                    step, next_layer = 1 + k, to
            if left >= 0.0 and j < m and (state <= kinds or state == 1 + kinds + k):
                to = after(layer, two, two and wrong_y[k, j])
                more = extend_y[k, i] if state > kinds else open_y[k, i]
                if 0 < state <= kinds:
                    more += change
                own = gap_y[k, j] + F[to, 1 + kinds + k, i, j + 1] + more
                if own > -np.inf:
                    left -= np.exp(own - total)
                    step, next_layer = 1 + kinds + k, to
        if step == 0:
            codes[i], codes[n + j] = j + 1, i + 1
            i, j = i + 1, j + 1
        elif step <= kinds:
            codes[i] = 0 if step == 1 else n + m + 1
            i += 1
        else:
            codes[n + j] = 0 if step == 1 + kinds else n + m + 1
            j += 1
        state, layer = step, next_layer


@kernel()
def draw_alignments(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, codes, wrong_gaps, wrong, starts, chances, out,
):  # fmt: skip
    """Alignments of every sample, (n_draws, n_positions), from uniform numbers; the first sample without one, or -1."""
    for s in range(len(splits)):
        steps = sample_steps(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
            dense, mask, codes, wrong_gaps, wrong, starts, s,
        )  # fmt: skip
        F = from_end(*steps, True)
        if F[0, 0, 0, 0] == -np.inf:
            return s
        own = slice(offsets[s], offsets[s + 1])
        for d in range(len(out)):
            draw_one(F, *steps, chances[d, own], out[d, own])
    return -1
