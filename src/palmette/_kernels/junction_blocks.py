"""What all passes over a junction tree share: going through the blocks of a clique, and adding up its sources."""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.jit import kernel
from palmette._kernels.junction_plan import FACTOR, UNARY


@kernel()
def first_block(tree, c, factor_start, base, digit):
    """Where each source of clique c begins, and the digits of the outer axes at zero."""
    # base[j] is where the entry 0 of clique c reads source j; all digits are 0. O(sources + outer axes).
    for j in range(tree.src_ptr[c], tree.src_ptr[c + 1]):
        if tree.kind[j] == UNARY:
            at = tree.unary_ptr[tree.number[j]]
        elif tree.kind[j] == FACTOR:
            at = factor_start[tree.number[j]]
        else:
            at = tree.message_ptr[tree.number[j]]
        base[j - tree.src_ptr[c]] = at
    for a in range(tree.n_outer[c]):
        digit[a] = 0


@kernel()
def next_block(tree, c, base, digit, turn):
    """Move the sources on to the next block; the digits stay as they are unless ``turn``."""
    n_sources = tree.src_ptr[c + 1] - tree.src_ptr[c]
    # An odometer over the outer axes, the last one fastest: an axis that is full goes back to 0 and carries. Invariant:
    # base[j] = start of source j + sum_a digit[a] stride[j, a]; amortised O(sources) per block.
    for a in range(tree.n_outer[c] - 1, -1, -1):
        card = tree.cards[tree.axes[tree.axis_ptr[c] + a]]
        back = digit[a] + 1 == card
        if turn:
            digit[a] = 0 if back else digit[a] + 1
        steps = 1 - card if back else 1
        for j in range(n_sources):
            base[j] += steps * tree.strides[tree.stride_ptr[tree.src_ptr[c] + j] + a]
        if not back:
            return


@kernel()
def source_of(kind, unary, values, message):
    """The array that a source of this kind lies in."""
    if kind == UNARY:
        return unary
    if kind == FACTOR:
        return values
    return message


@kernel()
def add_up(tree, c, n, base, unary, values, message, table):
    """Set ``table[:n]`` to the sums of the sources over the first n entries of a block."""
    constant = 0.0
    lo, hi = tree.src_ptr[c], tree.src_ptr[c + 1]
    # table[i] = sum_j source_j[base_j + map_j[i]]; sources without a map are constant in the block. O(n sources).
    for j in range(lo, hi):
        if tree.map_ptr[j] == tree.map_ptr[j + 1]:
            constant += source_of(tree.kind[j], unary, values, message)[base[j - lo]]
    for i in range(n):
        table[i] = constant
    for j in range(lo, hi):
        if tree.map_ptr[j] < tree.map_ptr[j + 1]:
            source = source_of(tree.kind[j], unary, values, message)[base[j - lo] :]
            places = tree.maps[tree.map_ptr[j] : tree.map_ptr[j] + n]
            for i in range(n):
                table[i] += source[places[i]]


@kernel()
def slice_at(tree, c, codes, factor_start, unary, values, message, base, digit, table):
    """Set ``table`` to the sums of the sources over the residual of clique c, its separator given by ``codes``."""
    lo = tree.src_ptr[c]
    first_block(tree, c, factor_start, base, digit)
    # The separator's states move every source by sum_a stride x state; what is left is one run of the residual.
    for j in range(lo, tree.src_ptr[c + 1]):
        for a in range(tree.n_shared[c]):
            base[j - lo] += tree.strides[tree.stride_ptr[j] + a] * codes[tree.axes[tree.axis_ptr[c] + a]]
    add_up(tree, c, tree.residual[c], base, unary, values, message, table)


@kernel()
def set_residual(tree, c, entry, codes):
    """Write the states that an entry of the residual stands for."""
    # C order, the last axis fastest: entry = (...(k_0 card_1 + k_1) card_2 + ...); digits are taken off from the last.
    for a in range(tree.axis_ptr[c + 1] - 1, tree.axis_ptr[c] + tree.n_shared[c] - 1, -1):
        card = tree.cards[tree.axes[a]]
        codes[tree.axes[a]] = entry % card
        entry //= card


@kernel()
def scratch(tree):
    """Work space for any clique: places of sources (twice), digits, a block (whole vectors of it)."""
    n_sources, n_digits, n_block = 1, 1, 1
    for c in range(len(tree.block)):
        n_sources = max(n_sources, tree.src_ptr[c + 1] - tree.src_ptr[c])
        n_digits = max(n_digits, tree.n_outer[c])
        n_block = max(n_block, tree.block[c])
    return (
        np.empty(n_sources, np.int64),
        np.empty(n_sources, np.int64),
        np.empty(n_digits, np.int64),
        np.zeros((n_block + simd.LANES - 1) // simd.LANES * simd.LANES),
    )
