"""Sums over a junction tree: log-partition upward in logarithms, marginals downward in probabilities, samples."""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.junction_blocks import (
    add_up,
    first_block,
    next_block,
    scratch,
    set_residual,
    slice_at,
    source_of,
)


@kernel(fastmath=SUMS)
def log_sum(table, at, n):
    """``log sum_i exp(table[at + i])``; -inf if all are."""
    # Linearised by the maximum, so the sum lies in [1, n]: no overflow, and only negligible terms underflow.
    high = table[at]
    for i in range(1, n):
        high = max(high, table[at + i])
    if high == -np.inf:
        return high
    total = 0.0
    for i in range(n):
        total += math.exp(table[at + i] - high)
    return high + math.log(total)


@kernel()
def exponentiate(table, n):
    """Replace the first n numbers by their exponentials; what fills up the last vector becomes 1."""
    for i in range(n, (n + simd.LANES - 1) // simd.LANES * simd.LANES):
        table[i] = 0.0
    for i in range(0, n, simd.LANES):
        simd.store(table, i, simd.exp(simd.load(table, i)))


@kernel()
def sum_up(tree, unary, values, factor_start, message):
    """Fill in the messages to parents, in logarithms; returns the log-partition."""
    base, _, digit, table = scratch(tree)
    log_z = 0.0
    # message_c[separator] = log sum over the residual of exp(sum of the sources), children before parents. Each run of
    # the residual is shifted by its maximum, so its sum lies in [1, n_residual]; -inf stays exact.
    # O(clique table x sources) per clique; memory is one block: clique tables are never stored.
    for c in range(len(tree.block)):
        n, n_residual = tree.block[c], tree.residual[c]
        first_block(tree, c, factor_start, base, digit)
        to = tree.message_ptr[c]
        while to < tree.message_ptr[c + 1]:
            add_up(tree, c, n, base, unary, values, message, table)
            row = to
            for at in range(0, n, n_residual):
                high = table[at]
                for i in range(at + 1, at + n_residual):
                    high = max(high, table[i])
                message[row] = high
                if high > -np.inf:  # else all stay as they are, and become 0
                    for i in range(at, at + n_residual):
                        table[i] -= high
                row += 1
            exponentiate(table, n)
            for at in range(0, n, n_residual):
                if message[to] > -np.inf:
                    total = 0.0
                    for i in range(at, at + n_residual):
                        total += table[i]
                    message[to] += math.log(total)
                to += 1
            next_block(tree, c, base, digit, True)
        if tree.parent[c] < 0:
            log_z += message[tree.message_ptr[c]]
    return log_z


@kernel()
def sum_down(tree, unary, values, factor_start, message, belief, out_start, unary_marginal, factor_marginal):
    """Add marginals of variables and factors, given the messages of ``sum_up`` and a finite log-partition.

    ``belief`` gets the marginals of separators and must be zero, as the outputs. A clique's marginals are those of its
    separator times the probabilities of the residual given it: nothing is divided, and what underflows has no mass.
    """
    base, base_out, digit, table = scratch(tree)
    # p(clique) = belief[separator] exp(sum of sources - message[separator]), at most 1; every source adds up the
    # entries that it stands in, children's separators among them. Parents before children: beliefs are complete.
    for c in range(len(tree.block) - 1, -1, -1):
        n, n_residual = tree.block[c], tree.residual[c]
        first_block(tree, c, factor_start, base, digit)
        first_block(tree, c, out_start, base_out, digit)
        lo, hi = tree.src_ptr[c], tree.src_ptr[c + 1]
        if tree.parent[c] < 0:
            belief[tree.message_ptr[c]] = 1.0
        at_message = tree.message_ptr[c]
        while at_message < tree.message_ptr[c + 1]:
            add_up(tree, c, n, base, unary, values, message, table)
            total = 0.0
            row = at_message
            for at in range(0, n, n_residual):
                shift = message[row] if belief[row] > 0.0 else np.inf
                for i in range(at, at + n_residual):
                    table[i] -= shift
                row += 1
            exponentiate(table, n)
            for at in range(0, n, n_residual):
                mass = belief[at_message]
                for i in range(at, at + n_residual):
                    table[i] *= mass
                total += mass
                at_message += 1
            for j in range(lo, hi):
                out = source_of(tree.kind[j], unary_marginal, factor_marginal, belief)
                out = out[base_out[j - lo] :]
                if tree.map_ptr[j] == tree.map_ptr[j + 1]:
                    out[0] += total
                elif total > 0.0:
                    places = tree.maps[tree.map_ptr[j] : tree.map_ptr[j + 1]]
                    for i in range(n):
                        out[places[i]] += table[i]
            # Both move on together; the digits are turned by the second only.
            next_block(tree, c, base, digit, False)
            next_block(tree, c, base_out, digit, True)


@kernel()
def draw(tree, unary, values, factor_start, message, uniform, codes):
    """Independent samples, one per row of ``uniform`` (numbers in [0, 1), one per variable), given the messages."""
    base, _, digit, table = scratch(tree)
    # Parents before children: p(residual | separator) ~ exp(sum of sources). One uniform number per clique, that of its
    # first residual variable. O(sum of residuals x sources) per sample.
    for s in range(len(uniform)):
        for c in range(len(tree.block) - 1, -1, -1):
            n = tree.residual[c]
            slice_at(tree, c, codes[s], factor_start, unary, values, message, base, digit, table)
            high = log_sum(table, 0, n)
            left = uniform[s, tree.axes[tree.axis_ptr[c] + tree.n_shared[c]]]
            chosen = -1
            for i in range(n):
                mass = math.exp(table[i] - high)
                if mass > 0.0:
                    chosen = i  # the last one that is possible, should rounding leave a rest
                    if left < mass:
                        break
                    left -= mass
            set_residual(tree, c, chosen, codes[s])
