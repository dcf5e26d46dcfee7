"""Best scores for every total of integer costs: the operations that all such dynamic programmes share."""

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel


@kernel(fastmath=MAXIMA)
def raise_to(reach, score, ahead):
    """``reach = max(reach, score + ahead)`` for every total."""
    for c in range(len(reach)):
        reach[c] = max(reach[c], score + ahead[c])


@kernel()
def shift_by(own, node, reach, out):
    """``out[c + own] = node + reach[c]``: totals grow by a cost of one's own."""
    n_totals = len(out)
    for c in range(min(own, n_totals)):
        out[c] = -np.inf
    for c in range(own, n_totals):
        out[c] = node + reach[c - own]


@kernel()
def worth_most(values, gain, bonus, base):
    """Row and total of ``values`` (rows, totals) that are worth most, and that worth; row -1 if nothing is there."""
    row, total, most = -1, 0, -np.inf
    # Only a strictly better worth replaces: ties go to the lowest row, then to the lowest total. O(rows x totals).
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            if values[i, c] > -np.inf:
                worth = gain[c] * (values[i, c] - base) + bonus[c]
                if row < 0 or worth > most:
                    row, total, most = i, c, worth
    return row, total, most
