"""Numbers that kernels and the code around them agree on; imports nothing."""

from __future__ import annotations

LANES = 8  # numbers in a vector: rows are padded to a multiple of this
WIDE_BITS = 512  # of a wide vector: sixteen floats or eight doubles
NEVER = -1e30  # score of a padded or forbidden label
FREE = -1.0  # mass of an unused place in a list of active labelings
TIE = 1e-10  # an exact step makes two labelings equally good; rounding must not choose between them
TIE_SINGLE = 1e-6  # the same for scores in single precision
NOTHING = 1e-13  # marginals below are rounding errors of parts that were emptied
SMALLEST_SCALE = 1e-3  # at which weights with a common scale are multiplied out

PERCEPTRON, PA, PA_I, PA_II, AROW = range(5)  # rules of mistake-driven learners


def padded(n: int) -> int:
    """The multiple of ``LANES`` that is not below ``n``.

    >>> padded(9)
    16
    """
    return -(-n // LANES) * LANES
