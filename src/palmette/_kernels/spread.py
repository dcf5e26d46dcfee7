"""Exponentials of potentials: how far these spread, and over how many steps spreads can add up in a double."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel

SAFE_SPREAD = 500.0  # exp(-500) is far from the smallest double, exp(-745)
MOST_STEPS = 6  # label pairs that mix later are treated as if they never did


@kernel()
def spread(row):
    """Largest minus smallest finite entry, and whether an entry is -inf."""
    low, high, forbidden = np.inf, -np.inf, False
    # Over finite entries only; a row without any has the spread 0.
    for x in row:
        if x == -np.inf:
            forbidden = True
        else:
            low = min(low, x)
            high = max(high, x)
    return max(high - low, 0.0), forbidden


@kernel()
def widest_spread(edge):
    """The largest spread of the tables, and whether any entry is -inf."""
    widest, any_forbidden = 0.0, False
    for e in range(len(edge)):
        width, forbidden = spread(edge[e].ravel())
        widest = max(widest, width)
        any_forbidden |= forbidden
    return widest, any_forbidden


@kernel()
def exponentiate_table(table, factor):
    """``factor = exp(table - shift)``; returns the shift."""
    # The shift is the largest entry, so factors are at most 1 and one of them is 1; -inf becomes exactly 0. A table
    # that forbids everything has the shift 0.
    top = -np.inf
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            top = max(top, table[i, j])
    shift = top if top > -np.inf else 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            factor[i, j] = np.exp(table[i, j] - shift)
    return shift


@kernel()
def exponentiate_edges(edge, factor, shift):
    """``factor = exp(edge - shift)``, one shift per table; returns the largest spread and "anything forbidden"."""
    for e in range(len(edge)):
        shift[e] = exponentiate_table(edge[e], factor[e])
    return widest_spread(edge)


@kernel()
def prepare_edges(edge, factor, shift):
    """As ``exponentiate_edges``; returns the largest spread and the steps in which labels mix, 0 without a forbidden
    pair."""
    width, forbidden = exponentiate_edges(edge, factor, shift)
    return width, mixing_steps(edge) if forbidden else 0.0


@kernel()
def node_spread(node, lo, hi):
    """The largest spread of rows lo:hi, whether the first or last has an entry -inf, and whether one between has."""
    widest, outer, inner = 0.0, False, False
    for t in range(lo, hi):
        width, forbidden = spread(node[t])
        widest = max(widest, width)
        if lo < t < hi - 1:
            inner |= forbidden
        else:
            outer |= forbidden
    return widest, outer, inner


@kernel()
def forbid_alike(edge):
    """Whether the same entries of all tables are -inf."""
    for e in range(1, len(edge)):
        for i in range(edge.shape[1]):
            for j in range(edge.shape[2]):
                if (edge[e, i, j] == -np.inf) != (edge[0, i, j] == -np.inf):
                    return False
    return True


@kernel()
def mixing_steps(edge):
    """The number of steps in which every label reaches every label over allowed pairs, the same for all tables.

    MOST_STEPS + 1 where it takes longer, or where the tables forbid different pairs.
    """
    if not forbid_alike(edge):
        return MOST_STEPS + 1.0
    n_labels = edge.shape[1]
    reach, fresh = np.empty((n_labels, n_labels), np.bool_), np.empty((n_labels, n_labels), np.bool_)
    for i in range(n_labels):
        for j in range(n_labels):
            reach[i, j] = edge[0, i, j] > -np.inf
    # Boolean powers of the table of allowed pairs: ``reach`` has those joined by exactly steps - 1 steps, ``fresh`` by
    # one more. One step would mean that nothing is forbidden, which callers exclude. O(MOST_STEPS K^3), O(K^2) memory.
    for steps in range(2, MOST_STEPS + 1):
        everywhere = True
        for i in range(n_labels):
            for j in range(n_labels):
                fresh[i, j] = False
            for k in range(n_labels):
                if reach[i, k]:
                    for j in range(n_labels):
                        fresh[i, j] |= edge[0, k, j] > -np.inf
            for j in range(n_labels):
                everywhere &= fresh[i, j]
        if everywhere:
            return float(steps)
        reach, fresh = fresh, reach
    return MOST_STEPS + 1.0


@kernel()
def fits_mixing(node, lo, hi, edge_spread, steps):
    """Whether scaled products are exact for the sample in rows lo:hi because what is forbidden soon mixes."""
    widest, _, inner_forbidden = node_spread(node, lo, hi)
    if inner_forbidden or steps > MOST_STEPS:
        return False
    # Every label reaches every label in ``steps`` steps, so entries of a message differ by at most what steps + 1 rows
    # add: per row the spreads of node and edge, and log K for the number of paths. Twice that, since beta is scaled so
    # that sum alpha beta = 1: the spreads of both messages add up.
    a_step = widest + edge_spread + np.log(node.shape[1])
    return 2.0 * (max(steps, 1.0) + 1.0) * a_step < SAFE_SPREAD
