"""Maxima over two states a variable and tables of pairs, by minimum cuts: exact, or those of the linear relaxation.

``f(x) = sum_i unary[i, x_i] + sum_e table[which[e], 2 x_a + x_b]`` where edge e joins ``(a, b) = ends[e]``. With
``w = t00 + t11 - t01 - t10`` a pair is ``t00 + (t10 - t00) x_a + (t01 - t00) x_b + w x_a x_b``; it favours agreement,
and is submodular, where ``w >= 0``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.max_flow import SINK, adjacency, max_flow

SLACK = 1e-12  # relative slack within which a table counts as submodular; what lacks is taken as 0
ROUNDING = 1e-13  # of the largest capacity: what is left of an arc that is full


@kernel()
def is_submodular(table, which, begin, end):
    """2: all tables of edges ``begin:end`` are finite and submodular; 1: all finite; 0: neither."""
    found = 2
    for e in range(begin, end):
        t = table[which[e]]
        if not (abs(t[0]) + abs(t[1]) + abs(t[2]) + abs(t[3]) < np.inf):
            return 0
        room = SLACK * max(max(abs(t[0]), abs(t[1])), max(abs(t[2]), abs(t[3])))
        if t[0] + t[3] - t[1] - t[2] < -room:
            found = 1
    return found


@kernel()
def pair_score(unary, table, which, ends, codes):
    """``f(codes)``."""
    total = 0.0
    for i in range(len(unary)):
        total += unary[i, codes[i]]
    for e in range(len(ends)):
        total += table[which[e], 2 * codes[ends[e, 0]] + codes[ends[e, 1]]]
    return total


@kernel()
def cut_pairs(unary, table, which, ends, codes):
    """The best states of variables whose pairs are all submodular; ties go to state 0. Returns a bound on the best
    score, equal to it but for rounding."""
    n, m = len(unary), len(ends)
    terminal = np.empty(n)
    node_ptr = np.empty(n + 1, np.int64)
    head, reverse = np.empty(2 * m, np.int64), np.empty(2 * m, np.int64)
    capacity = np.empty(2 * m)
    tree = np.empty(n, np.int64)
    place = adjacency(ends, node_ptr, head, reverse)
    # -f(x) = constant + sum_i terminal_i x_i + sum_e w/2 [x_a != x_b], state 1 being the side of the sink: the pair
    # -w x_a x_b is w/2 ([x_a != x_b] - x_a - x_b).
    constant = 0.0
    for i in range(n):
        constant -= unary[i, 0]
        terminal[i] = unary[i, 0] - unary[i, 1]
    largest = 0.0
    for e in range(m):
        t = table[which[e]]
        half = 0.5 * max(0.0, t[0] + t[3] - t[1] - t[2])
        constant -= t[0]
        terminal[ends[e, 0]] += t[0] - t[2] - half
        terminal[ends[e, 1]] += t[0] - t[1] - half
        capacity[place[2 * e]] = half
        capacity[place[2 * e + 1]] = half
        largest = max(largest, half)
    for i in range(n):
        largest = max(largest, abs(terminal[i]))
        constant += min(0.0, terminal[i])
    least = ROUNDING * max(1e-300, largest)
    flow = max_flow(node_ptr, head, reverse, capacity, terminal, least, tree)
    for i in range(n):
        codes[i] = 1 if tree[i] == SINK else 0
    return -(constant + flow)


@kernel()
def roof_pairs(unary, table, which, ends, share):
    """``max <f, mu>`` over locally consistent marginals: ``share[i]``, the marginal of state 1, is 0, 1/2 or 1.

    Returns an upper bound on it, equal to it but for rounding. Pairs may favour anything; where all are submodular the
    shares are whole.
    """
    n, m = len(unary), len(ends)
    terminal = np.zeros(2 * n)
    node_ptr = np.empty(2 * n + 1, np.int64)
    twice = np.empty((2 * m, 2), np.int64)
    head, reverse = np.empty(4 * m, np.int64), np.empty(4 * m, np.int64)
    capacity = np.empty(4 * m)
    tree = np.empty(2 * n, np.int64)
    # Roof duality: variable i has a copy i' that should be its opposite, and every term stands half on the variables,
    # half on the opposites of their copies, x -> (x + 1 - x') / 2. A pair with w < 0 joins a variable with the copy of
    # the other, which makes it submodular. A minimum cut of this graph is a maximum over the local polytope
    # (Hammer, Hansen and Simeone 1984). Node i' is n + i.
    constant, largest = 0.0, 0.0
    for i in range(n):
        constant -= unary[i, 0]
        half = 0.5 * (unary[i, 0] - unary[i, 1])
        terminal[i] += half
        terminal[n + i] -= half
        constant += half
    for e in range(m):
        t = table[which[e]]
        a, b = ends[e, 0], ends[e, 1]
        w = t[0] + t[3] - t[1] - t[2]
        constant -= t[0]
        half_a, half_b = 0.5 * (t[0] - t[2]), 0.5 * (t[0] - t[1])
        # -w x_a x_b = w/2 ([x_a != x_b] - x_a - x_b); with the opposite z of x_b, [x_a != x_b] = 1 - [x_a != z]
        if w < 0.0:
            twice[2 * e, 0], twice[2 * e, 1] = a, n + b
            twice[2 * e + 1, 0], twice[2 * e + 1, 1] = n + a, b
            constant += 0.5 * w
        else:
            twice[2 * e, 0], twice[2 * e, 1] = a, b
            twice[2 * e + 1, 0], twice[2 * e + 1, 1] = n + a, n + b
        half_a -= 0.25 * w
        half_b -= 0.25 * w
        terminal[a] += half_a
        terminal[n + a] -= half_a
        terminal[b] += half_b
        terminal[n + b] -= half_b
        constant += half_a + half_b
    place = adjacency(twice, node_ptr, head, reverse)
    for e in range(m):
        t = table[which[e]]
        quarter = 0.25 * abs(t[0] + t[3] - t[1] - t[2])
        for k in range(4 * e, 4 * e + 4):
            capacity[place[k]] = quarter
        largest = max(largest, quarter)
    for v in range(2 * n):
        largest = max(largest, abs(terminal[v]))
        constant += min(0.0, terminal[v])
    least = ROUNDING * max(1e-300, largest)
    flow = max_flow(node_ptr, head, reverse, capacity, terminal, least, tree)
    for i in range(n):
        one, other = tree[i] == SINK, tree[n + i] == SINK
        share[i] = 0.5 * (one + (not other))
    return -(constant + flow)
