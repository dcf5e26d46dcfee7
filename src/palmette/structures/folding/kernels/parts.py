"""What kernels read of one sample: scores of its pairs and of its unpaired positions, costs and restrictions inside.

Kernels take a *question*, the fields of :class:`palmette.structures.folding.question.Question` in their order, for all
samples of a batch. ``pair_scores`` and ``free_runs`` unpack it for one sample.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.folding.layout import BASE_PAIR, N_LETTERS


@kernel()
def pair_scores(
    tables, letters, offsets, uniform, entry_ptr, entry, value, dense, mask, partner, squares, can_pair, min_hairpin, s
):  # fmt: skip
    """Scores of the pairs i < j of sample ``s``, (n, n): base pair, evidence and cost; -inf for one that may not be.

    ``entry`` are places ``i * n + j`` in the square of the sample with a ``value`` each, both at
    ``entry_ptr[s]:entry_ptr[s + 1]``. ``dense``, ``mask`` and ``partner`` are empty where they do not matter; the
    first two are squares, which begin at ``squares[s]``.
    """
    lo, n = offsets[s], offsets[s + 1] - offsets[s]
    out = np.full((n, n), -np.inf)
    start = squares[s]
    for i in range(n):
        for j in range(i + 1 + min_hairpin, n):
            a, b = letters[lo + i], letters[lo + j]
            if not can_pair[a, b]:
                continue
            if len(partner) and not (
                (partner[lo + i] < 0 or partner[lo + i] == j + 1)
                and (partner[lo + j] < 0 or partner[lo + j] == i + 1)
            ):
                continue
            if len(mask) and not mask[start + i * n + j]:
                continue
            score = tables[BASE_PAIR + a * N_LETTERS + b] + uniform[s]
            if len(dense):
                score += dense[start + i * n + j]
            out[i, j] = score
    for e in range(entry_ptr[s], entry_ptr[s + 1]):
        out[entry[e] // n, entry[e] % n] += value[e]
    return out


@kernel()
def sums_before(unpaired):
    """Sums of the scores of the unpaired positions before each one, (n + 1,); those that may not be count 0."""
    out = np.zeros(len(unpaired) + 1)
    for t in range(len(unpaired)):
        out[t + 1] = out[t] + (unpaired[t] if unpaired[t] > -np.inf else 0.0)
    return out


@kernel()
def free_runs(unpaired):
    """How many positions from each one on, and up to each one, may be unpaired without a gap: int64 (n + 1,) each.

    ``ahead[t]`` counts t, t + 1, ...; ``back[t + 1]`` counts t, t - 1, ....
    """
    n = len(unpaired)
    ahead, back = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for t in range(n):
        back[t + 1] = back[t] + 1 if unpaired[t] > -np.inf else 0
    for t in range(n - 1, -1, -1):
        ahead[t] = ahead[t + 1] + 1 if unpaired[t] > -np.inf else 0
    return ahead, back
