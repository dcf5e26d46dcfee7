"""Sums in logarithms."""

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def log_sum_exp(x):
    """Logarithm of the sum of exp(x); -inf for no or only forbidden terms."""
    # Linearised by the maximum, so the sum lies in [1, n]: no overflow, and only negligible terms underflow.
    top = x.max()
    if top == -np.inf:
        return -np.inf
    total = 0.0
    for v in x:
        total += np.exp(v - top)
    return top + np.log(total)
