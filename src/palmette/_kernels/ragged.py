"""Small helpers on ragged batches."""

from __future__ import annotations

from palmette._kernels.jit import kernel


@kernel()
def longest_sample(offsets):
    """Rows of the longest sample (NumPy's diff and max would take seconds to compile)."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest
