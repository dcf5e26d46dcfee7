"""What one sample of a question consists of: the scores of its matches, and its gaps."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def match_scores(
    substitution, letters, offsets, splits, uniform, entry_ptr, entry, value, dense, mask, codes, starts, s
):  # fmt: skip
    """Scores of all matches of sample s with costs inside, (n, m); -inf where there may be none."""
    lo, n = offsets[s], splits[s]
    m = offsets[s + 1] - lo - n
    out = np.empty((n, m))
    for i in range(n):
        row = substitution[letters[lo + i]]
        for j in range(m):
            out[i, j] = row[letters[lo + n + j]] + uniform[s]
    flat = out.reshape(n * m)
    if len(dense):
        flat += dense[starts[s] : starts[s + 1]]
    for e in range(entry_ptr[s], entry_ptr[s + 1]):
        flat[entry[e]] += value[e]
    if len(mask):
        for c in range(n * m):
            if not mask[starts[s] + c]:
                flat[c] = -np.inf
    if len(codes):
        for i in range(n):
            if codes[lo + i] >= 0:
                for j in range(m):
                    if codes[lo + i] != j + 1:
                        out[i, j] = -np.inf
        for j in range(m):
            if codes[lo + n + j] >= 0:
                for i in range(n):
                    if codes[lo + n + j] != i + 1:
                        out[i, j] = -np.inf
    return out


@kernel()
def wrong_matches(wrong, offsets, splits, starts, s):
    """Which matches of sample s contradict, (n, m); empty if nothing does."""
    n = splits[s]
    m = offsets[s + 1] - offsets[s] - n
    if len(wrong) == 0:
        return np.empty((0, 0), np.bool_)
    return wrong[starts[s] : starts[s + 1]].reshape((n, m))


@kernel()
def sample_steps(
    substitution, letters, offsets, splits, unit, open_, extend, change, uniform, entry_ptr, entry, value, dense,
    mask, codes, wrong_gaps, wrong, starts, s,
):  # fmt: skip
    """The arguments of the recursions for sample s: matches, gaps, opens and extensions, and what contradicts.

    Gaps of the first sequence lie at boundaries of the second, and the other way round: so ``open_x`` has m + 1 entries
    for each kind, and ``open_y`` n + 1.
    """
    lo, n, hi = offsets[s], splits[s], offsets[s + 1]
    first = lo + 2 * s
    second, last = first + n + 1, hi + 2 * (s + 1)
    match = match_scores(
        substitution,
        letters,
        offsets,
        splits,
        uniform,
        entry_ptr,
        entry,
        value,
        dense,
        mask,
        codes,
        starts,
        s,
    )
    return (
        match, unit[:, lo : lo + n], unit[:, lo + n : hi], open_[:, second:last], extend[:, second:last],
        open_[:, first:second], extend[:, first:second], change, wrong_matches(wrong, offsets, splits, starts, s),
        wrong_gaps[:, lo : lo + n], wrong_gaps[:, lo + n : hi],
    )  # fmt: skip
