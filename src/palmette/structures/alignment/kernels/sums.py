"""Sums over all alignments: log-partitions, and expected counts and entropy by handing chances on from the start.

With F of :mod:`palmette.structures.alignment.kernels.ends` the chance of each step after state s at (i, j) is
``exp(score of the step + F after it - F[s, i, j])``. All chance begins at (0, 0) and is handed on, so that what no
alignment has gets exactly 0, and nothing is subtracted.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.alignment.kernels.ends import after, from_end
from palmette.structures.alignment.kernels.parts import sample_steps


@kernel()
def handed_on(mass, log_chance):
    """What a step gets of the mass, and what it adds to the entropy."""
    share = mass * np.exp(log_chance)
    return share, (-share * log_chance if share > 0.0 else 0.0)


@kernel()
def spread(
    F, match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, weight,
    matches, gaps_x, gaps_y, opens_x, extends_x, opens_y, extends_y, changes,
):  # fmt: skip
    """Add ``weight`` x expected counts to the last arguments, of the shapes of the scores; entropy x ``weight``."""
    (n, m), kinds, two = match.shape, len(gap_x), len(F) == 2
    layers, entropy = len(F), 0.0
    # mass[row, layer, state, j]: chances of this row and of the next one
    mass = np.zeros((2, layers, 1 + 2 * kinds, m + 1))
    mass[0, 0, 0, 0] = weight
    for i in range(n + 1):
        here, below = mass[i % 2], mass[(i + 1) % 2]
        below[:] = 0.0
        for j in range(m + 1):
            for layer in range(layers):
                for state in range(1 + 2 * kinds):
                    mine, total = here[layer, state, j], F[layer, state, i, j]
                    if mine == 0.0 or (i == n and j == m):
                        continue
                    if i < n and j < m:
                        to = after(layer, two, two and wrong[i, j])
                        share, part = handed_on(mine, match[i, j] + F[to, 0, i + 1, j + 1] - total)
                        entropy += part
                        matches[i, j] += share
                        below[to, 0, j + 1] += share
                    if i < n and state <= kinds:
                        for k in range(kinds):
                            if state > 0 and k != state - 1:
                                continue
                            to = after(layer, two, two and wrong_x[k, i])
                            step = open_x[k, j] if state == 0 else extend_x[k, j]
                            rest = gap_x[k, i] + F[to, 1 + k, i + 1, j]
                            share, part = handed_on(mine, rest + step - total)
                            entropy += part
                            gaps_x[k, i] += share
                            below[to, 1 + k, j] += share
                            if state == 0:
                                opens_x[k, j] += share
                            else:
                                extends_x[k, j] += share
                    if j < m:
                        for k in range(kinds):
                            if state > kinds and k != state - 1 - kinds:
                                continue
                            to = after(layer, two, two and wrong_y[k, j])
                            step = extend_y[k, i] if state > kinds else open_y[k, i]
                            if 0 < state <= kinds:
                                step += change
                            rest = gap_y[k, j] + F[to, 1 + kinds + k, i, j + 1]
                            share, part = handed_on(mine, rest + step - total)
                            entropy += part
                            gaps_y[k, j] += share
                            here[to, 1 + kinds + k, j + 1] += share
                            if state > kinds:
                                extends_y[k, i] += share
                            else:
                                opens_y[k, i] += share
                            if 0 < state <= kinds:
                                changes[0] += share
    return entropy


@kernel()
def expectations(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, codes, wrong_gaps, wrong, starts, weight, log_z, counts, units, opens, extends, changes, cells_from, cells,
    entropy,
):  # fmt: skip
    """Log-partitions; expected counts x weights are added where ``counts`` is not empty, and cells if wanted.

    ``entropy`` is empty, or gets the entropy of each sample; weights must then be 1.
    """
    for s in range(len(splits)):
        steps = sample_steps(
            substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value,
            dense, mask, codes, wrong_gaps, wrong, starts, s,
        )  # fmt: skip
        F = from_end(*steps, True)
        log_z[s] = F[0, 0, 0, 0]
        if len(entropy):
            entropy[s] = 0.0
        if log_z[s] == -np.inf or len(counts) == 0 or weight[s] == 0.0:
            continue
        lo, n, hi = offsets[s], splits[s], offsets[s + 1]
        first = lo + 2 * s
        second, last = first + n + 1, hi + 2 * (s + 1)
        m = hi - lo - n
        matches = np.zeros((n, m))
        own = spread(
            F, *steps, weight[s], matches, units[:, lo : lo + n], units[:, lo + n : hi], opens[:, second:last],
            extends[:, second:last], opens[:, first:second], extends[:, first:second], changes,
        )  # fmt: skip
        if len(entropy):
            entropy[s] = own
        for i in range(n):
            for j in range(m):
                counts[letters[lo + i], letters[lo + n + j]] += matches[i, j]
        if len(cells):
            cells[cells_from[s] : cells_from[s + 1]] += matches.reshape(n * m)
