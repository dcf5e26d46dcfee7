"""The best score with each match and with each position against a gap: what comes before, the part, what follows."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.ends import after, from_end, from_start
from palmette.structures.alignment.kernels.parts import sample_steps


@kernel()
def best_through(
    F, B, match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, matches, gaps_x,
    gaps_y,
):  # fmt: skip
    """Raise the last arguments to the best score with each part."""
    (n, m), kinds, two = match.shape, len(gap_x), len(F) == 2
    for i in range(n + 1):
        for j in range(m + 1):
            for layer in range(len(F)):
                start, ran, late = B[layer, 0, i, j], -np.inf, -np.inf
                for k in range(kinds):
                    ran = max(ran, B[layer, 1 + k, i, j])
                    late = max(late, B[layer, 1 + kinds + k, i, j])
                if i < n and j < m:
                    to = after(layer, two, two and wrong[i, j])
                    through = max(start, ran, late) + match[i, j] + F[to, 0, i + 1, j + 1]
                    matches[i, j] = max(matches[i, j], through)
                for k in range(kinds):
                    if i < n:
                        to = after(layer, two, two and wrong_x[k, i])
                        before = max(start + open_x[k, j], B[layer, 1 + k, i, j] + extend_x[k, j])
                        gaps_x[k, i] = max(gaps_x[k, i], before + gap_x[k, i] + F[to, 1 + k, i + 1, j])
                    if j < m:
                        to, state = after(layer, two, two and wrong_y[k, j]), 1 + kinds + k
                        before = max(start, ran + change) + open_y[k, i]
                        before = max(before, B[layer, state, i, j] + extend_y[k, i])
                        gaps_y[k, j] = max(gaps_y[k, j], before + gap_y[k, j] + F[to, state, i, j + 1])


@kernel()
def max_marginals(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, codes, wrong_gaps, wrong, starts, cells_from, values, gaps, cells,
):  # fmt: skip
    """Best values, and those with each part; ``gaps`` and ``cells`` come as -inf."""
    for s in range(len(splits)):
        steps = sample_steps(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
            dense, mask, codes, wrong_gaps, wrong, starts, s,
        )  # fmt: skip
        F, B = from_end(*steps, False), from_start(*steps, False)
        values[s] = F[0, 0, 0, 0]
        lo, n, hi = offsets[s], splits[s], offsets[s + 1]
        own = cells[cells_from[s] : cells_from[s + 1]].reshape((n, hi - lo - n))
        best_through(F, B, *steps, own, gaps[:, lo : lo + n], gaps[:, lo + n : hi])
