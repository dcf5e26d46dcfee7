"""The best alignment of every pair, in float64, with any scores; of equally good ones that with the lowest codes.

Codes of the first sequence come first, so a path is traced from the start: a short gap before a match, a match with a
low position before a high one, a long gap last. Where runs of either kind of gap in the first sequence lead to equally
good matches, the match with the lower position decides, then the short gap.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.ends import after, from_end
from palmette.structures.alignment.kernels.parts import sample_steps

M, X_SHORT, X_LONG, Y = 0, 1, 2, 3


@kernel()
def run_length(F, follow, gap_y, extend_y, wrong_y, layer, k, i, j):
    """How many positions of the second sequence a run of Y_k from j on has, in the path with the lowest codes."""
    (layers, states, _, _), m = F.shape, F.shape[3] - 1
    two, kinds, length = layers == 2, (states - 1) // 2, 0
    while j < m:
        layer = after(layer, two, two and wrong_y[k, j])
        j += 1
        length += 1
        if i == F.shape[2] - 1:
            continue  # no match can follow, so the run goes to the end
        rest = -np.inf
        if j < m:
            to = after(layer, two, two and wrong_y[k, j])
            rest = gap_y[k, j] + F[to, 1 + kinds + k, i, j + 1] + extend_y[k, i]
        if j < m and follow[layer, i, j] >= rest:
            break
    return length, layer


@kernel()
def trace(F, match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, codes):
    """Codes of the best alignment with the lowest ones, given all F, which is finite at the start."""
    (n, m), kinds, two = match.shape, len(gap_x), len(F) == 2
    follow = np.full((len(F), n + 1, m + 1), -np.inf)
    for layer in range(len(F)):
        for i in range(n):
            for j in range(m):
                to = after(layer, two, two and wrong[i, j])
                follow[layer, i, j] = match[i, j] + F[to, 0, i + 1, j + 1]
    i = j = layer = state = 0
    while i < n or j < m:
        best, step, kind = -np.inf, -1, -1
        if i < n and state != 2:  # a short gap, begun or continued
            to = after(layer, two, two and wrong_x[0, i])
            more = open_x[0, j] if state == 0 else extend_x[0, j]
            best, step = gap_x[0, i] + F[to, 1, i + 1, j] + more, X_SHORT
        if follow[layer, i, j] > best:
            best, step = follow[layer, i, j], M
        if j < m:
            opened, length, add = -np.inf, -1, 0.0 if state == 0 else change
            for k in range(kinds):
                to = after(layer, two, two and wrong_y[k, j])
                own = gap_y[k, j] + F[to, 1 + kinds + k, i, j + 1] + open_y[k, i]
                if own == -np.inf or own < opened:
                    continue
                run, _ = run_length(F, follow, gap_y, extend_y, wrong_y, layer, k, i, j)
                if own > opened or run < length:
                    opened, length, kind = own, run, k
            if opened + add > best:
                best, step = opened + add, Y
        if i < n and kinds == 2 and state != 1:
            to = after(layer, two, two and wrong_x[1, i])
            more = open_x[1, j] if state == 0 else extend_x[1, j]
            if gap_x[1, i] + F[to, 2, i + 1, j] + more > best:
                step = X_LONG
        if step == M:
            codes[i], codes[n + j] = j + 1, i + 1
            layer, state = after(layer, two, two and wrong[i, j]), 0
            i, j = i + 1, j + 1
        elif step == Y:
            length, to = run_length(F, follow, gap_y, extend_y, wrong_y, layer, kind, i, j)
            codes[n + j : n + j + length] = 0 if kind == 0 else n + m + 1
            layer, j = to, j + length
            if i < n:  # a match ends the run
                codes[i], codes[n + j] = j + 1, i + 1
                layer, state = after(layer, two, two and wrong[i, j]), 0
                i, j = i + 1, j + 1
        else:
            k = 0 if step == X_SHORT else 1
            codes[i] = 0 if k == 0 else n + m + 1
            layer, state = after(layer, two, two and wrong_x[k, i]), 1 + k
            i += 1


@kernel()
def best_alignments(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, codes, wrong_gaps, wrong, starts, out, values,
):  # fmt: skip
    """Codes and values of the best alignments; -inf and no codes where there is none."""
    for s in range(len(splits)):
        steps = sample_steps(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
            dense, mask, codes, wrong_gaps, wrong, starts, s,
        )  # fmt: skip
        F = from_end(*steps, False)
        values[s] = F[0, 0, 0, 0]
        if values[s] > -np.inf:
            trace(F, *steps, out[offsets[s] : offsets[s + 1]])
