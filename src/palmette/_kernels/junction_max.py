"""Maxima over a junction tree: the best value upward, an assignment or all max-marginals downward."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.junction_blocks import (
    add_up,
    first_block,
    next_block,
    scratch,
    set_residual,
    slice_at,
    source_of,
)


@kernel(fastmath=MAXIMA)
def max_up(tree, unary, values, factor_start, message):
    """Fill in the messages to parents; returns the best value."""
    base, _, digit, table = scratch(tree)
    value = 0.0
    # message_c[separator] = max over the residual of the sum of the sources, among them the messages of the children,
    # which have lower numbers. A block holds whole runs of the residual, one run per entry of the message.
    # O(clique table x sources) per clique; memory is one block: clique tables are never stored.
    for c in range(len(tree.block)):
        n, n_residual = tree.block[c], tree.residual[c]
        first_block(tree, c, factor_start, base, digit)
        to = tree.message_ptr[c]
        while to < tree.message_ptr[c + 1]:
            add_up(tree, c, n, base, unary, values, message, table)
            for at in range(0, n, n_residual):
                high = table[at]
                for i in range(at + 1, at + n_residual):
                    high = max(high, table[i])
                message[to] = high
                to += 1
            next_block(tree, c, base, digit, True)
        if tree.parent[c] < 0:
            value += message[tree.message_ptr[c]]
    return value


@kernel()
def decode(tree, unary, values, factor_start, message, codes):
    """The assignment that the messages of ``max_up`` lead to; the lowest entry of a residual wins a tie."""
    base, _, digit, table = scratch(tree)
    # Parents before children: the separator is decided when a clique is reached, and its residual takes the best entry.
    for c in range(len(tree.block) - 1, -1, -1):
        slice_at(tree, c, codes, factor_start, unary, values, message, base, digit, table)
        best = 0
        for i in range(1, tree.residual[c]):
            if table[i] > table[best]:
                best = i
        set_residual(tree, c, best, codes)


@kernel()
def max_down(tree, unary, values, factor_start, message, value, belief, out_start, unary_best, factor_best):
    """Max-marginals of variables and factors: the best value of an output with that state or entry.

    ``belief`` gets those of separators; it and the outputs must be -inf.
    """
    base, base_out, digit, table = scratch(tree)
    # belief_c[separator] is the max-marginal of the separator (the best value at a root); an entry of the clique has
    # belief + (sum of sources - message), and every source gets the maximum over the entries that it stands in.
    # Children come after their parent, so their beliefs are complete. Same cost as ``max_up``.
    for c in range(len(tree.block) - 1, -1, -1):
        n, n_residual = tree.block[c], tree.residual[c]
        first_block(tree, c, factor_start, base, digit)
        first_block(tree, c, out_start, base_out, digit)
        lo, hi = tree.src_ptr[c], tree.src_ptr[c + 1]
        if tree.parent[c] < 0:
            belief[tree.message_ptr[c]] = value
        at_message = tree.message_ptr[c]
        while at_message < tree.message_ptr[c + 1]:
            add_up(tree, c, n, base, unary, values, message, table)
            high = -np.inf
            for at in range(0, n, n_residual):
                possible = belief[at_message] > -np.inf and message[at_message] > -np.inf
                for i in range(at, at + n_residual):
                    table[i] = belief[at_message] + (table[i] - message[at_message]) if possible else -np.inf
                    high = max(high, table[i])
                at_message += 1
            for j in range(lo, hi):
                out = source_of(tree.kind[j], unary_best, factor_best, belief)
                out = out[base_out[j - lo] :]
                if tree.map_ptr[j] == tree.map_ptr[j + 1]:
                    out[0] = max(out[0], high)
                else:
                    places = tree.maps[tree.map_ptr[j] : tree.map_ptr[j + 1]]
                    for i in range(n):
                        out[places[i]] = max(out[places[i]], table[i])
            next_block(tree, c, base, digit, False)
            next_block(tree, c, base_out, digit, True)
