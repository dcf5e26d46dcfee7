"""Scores of single loops and their counts, from the tables of :mod:`palmette.structures.folding.layout`.

``x`` are the letters of one sample. Scores and costs of unpaired positions and of pairs are not in here, only what
the tables say of a loop; ``add_*`` is the adjoint of ``*``: it adds ``w`` at each entry that the score reads.
"""

from __future__ import annotations

from palmette._kernels.jit import kernel
from palmette.structures.folding.layout import (
    BULGE_NUCLEOTIDE,
    DANGLE_LEFT,
    DANGLE_RIGHT,
    EXTERNAL_PAIRED,
    HAIRPIN_LENGTH,
    HELIX_CLOSING,
    HELIX_STACKING,
    INTERIOR,
    INTERNAL_1X1,
    MAX_HAIRPIN,
    MAX_INTERIOR,
    MULTI_BASE,
    MULTI_PAIRED,
    TERMINAL_MISMATCH,
)

SIDE = MAX_INTERIOR + 1


@kernel()
def mismatch(x, left, right, after, before):
    """Entry of the terminal mismatch of a junction: its two letters and their neighbours in the loop."""
    return TERMINAL_MISMATCH + ((x[left] * 5 + x[right]) * 5 + x[after]) * 5 + x[before]


@kernel()
def hairpin(tables, x, i, j):
    """The hairpin that (i, j) closes."""
    score = tables[HELIX_CLOSING + x[i] * 5 + x[j]] + tables[mismatch(x, i, j, i + 1, j - 1)]
    return score + tables[HAIRPIN_LENGTH + min(j - i - 1, MAX_HAIRPIN)]


@kernel()
def add_hairpin(counts, x, i, j, w):
    """Count it."""
    counts[HELIX_CLOSING + x[i] * 5 + x[j]] += w
    counts[mismatch(x, i, j, i + 1, j - 1)] += w
    counts[HAIRPIN_LENGTH + min(j - i - 1, MAX_HAIRPIN)] += w


@kernel()
def stack(x, i, j):
    """Entry of the stack of (i, j) on (i + 1, j - 1)."""
    return HELIX_STACKING + ((x[i] * 5 + x[j]) * 5 + x[i + 1]) * 5 + x[j - 1]


@kernel()
def interior(tables, x, i, j, p, q):
    """The stack, bulge or interior loop between the pairs (i, j) and (p, q)."""
    left, right = p - i - 1, j - q - 1
    if left + right == 0:
        return tables[stack(x, i, j)]
    score = tables[INTERIOR + left * SIDE + right]
    score += tables[HELIX_CLOSING + x[i] * 5 + x[j]] + tables[mismatch(x, i, j, i + 1, j - 1)]
    score += tables[HELIX_CLOSING + x[q] * 5 + x[p]] + tables[mismatch(x, q, p, q + 1, p - 1)]
    if left + right == 1:
        score += tables[BULGE_NUCLEOTIDE + (x[i + 1] if left == 1 else x[j - 1])]
    elif left == 1 and right == 1:
        score += tables[INTERNAL_1X1 + x[i + 1] * 5 + x[j - 1]]
    return score


@kernel()
def add_interior(counts, x, i, j, p, q, w):
    """Count it."""
    left, right = p - i - 1, j - q - 1
    if left + right == 0:
        counts[stack(x, i, j)] += w
        return
    counts[INTERIOR + left * SIDE + right] += w
    counts[HELIX_CLOSING + x[i] * 5 + x[j]] += w
    counts[mismatch(x, i, j, i + 1, j - 1)] += w
    counts[HELIX_CLOSING + x[q] * 5 + x[p]] += w
    counts[mismatch(x, q, p, q + 1, p - 1)] += w
    if left + right == 1:
        counts[BULGE_NUCLEOTIDE + (x[i + 1] if left == 1 else x[j - 1])] += w
    elif left == 1 and right == 1:
        counts[INTERNAL_1X1 + x[i + 1] * 5 + x[j - 1]] += w


@kernel()
def closing(tables, x, i, j):
    """What the pair (i, j) that closes a multiloop scores in it."""
    pair = x[i] * 5 + x[j]
    score = tables[HELIX_CLOSING + pair] + tables[DANGLE_LEFT + pair * 5 + x[i + 1]]
    return score + tables[DANGLE_RIGHT + pair * 5 + x[j - 1]] + tables[MULTI_BASE] + tables[MULTI_PAIRED]


@kernel()
def add_closing(counts, x, i, j, w):
    """Count it."""
    pair = x[i] * 5 + x[j]
    counts[HELIX_CLOSING + pair] += w
    counts[DANGLE_LEFT + pair * 5 + x[i + 1]] += w
    counts[DANGLE_RIGHT + pair * 5 + x[j - 1]] += w
    counts[MULTI_BASE] += w
    counts[MULTI_PAIRED] += w


@kernel()
def branch(tables, x, i, j):
    """What the pair (i, j) scores as a branch of a multiloop or of the external loop, but for the constant of either.

    Seen from there it is mirrored. A dangle beyond an end of the sequence counts 0.
    """
    pair = x[j] * 5 + x[i]
    score = tables[HELIX_CLOSING + pair]
    if j + 1 < len(x):
        score += tables[DANGLE_LEFT + pair * 5 + x[j + 1]]
    if i > 0:
        score += tables[DANGLE_RIGHT + pair * 5 + x[i - 1]]
    return score


@kernel()
def add_branch(counts, x, i, j, external, w):
    """Count it, with the constant of the external loop or of a multiloop."""
    pair = x[j] * 5 + x[i]
    counts[HELIX_CLOSING + pair] += w
    if j + 1 < len(x):
        counts[DANGLE_LEFT + pair * 5 + x[j + 1]] += w
    if i > 0:
        counts[DANGLE_RIGHT + pair * 5 + x[i - 1]] += w
    counts[EXTERNAL_PAIRED if external else MULTI_PAIRED] += w
