"""Sums in logarithms, draws by them, and entropies."""

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


@kernel()
def choose(chances, uniform):
    """Draw an index with probabilities proportional to ``chances``, which are not all 0."""
    total = 0.0
    for j in range(len(chances)):
        total += chances[j]
    # The first index whose cumulated mass exceeds uniform x total; a rest left by rounding goes to the last one that is
    # possible. One of mass 0 is never drawn.
    threshold, last = uniform * total, 0
    for j in range(len(chances)):
        if chances[j] > 0.0:
            last = j
            threshold -= chances[j]
            if threshold < 0.0:
                break
    return last


@kernel()
def draw_label(terms, uniform):
    """A label drawn from ``exp(terms)`` by a number in [0, 1); -1 if all are forbidden. ``terms`` is overwritten."""
    top = terms.max()
    if top == -np.inf:
        return -1
    for j in range(len(terms)):
        terms[j] = np.exp(terms[j] - top)
    return choose(terms, uniform)


@kernel()
def plus_entropy(p, sign, total):
    """``total - sign p log p``."""
    return total - sign * p * np.log(p) if p > 0.0 else total


@kernel()
def entropy_of(p):
    """``-sum p log p``."""
    total = 0.0
    for x in p:
        total = plus_entropy(x, 1.0, total)
    return total
