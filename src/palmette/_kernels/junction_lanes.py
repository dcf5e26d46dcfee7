"""Sums over a junction tree for eight graphs of one shape at once, in probabilities: no logarithm for each entry.

A lane is a graph. All potentials that a clique adds up become one *local* table over the variables they depend on,
exponentiated once; a clique then has that source and the messages of its children. ``parts`` is a
``junction_plan.Tree`` of the local tables, whose sources are the potentials; ``tree`` is one whose only factors are the
local tables. Arrays hold ``LANES`` numbers for each entry. A message that falls below ``SMALLEST`` is told, not
repaired.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.inlined import inlined
from palmette._kernels.jit import kernel
from palmette._kernels.junction_blocks import first_block, next_block
from palmette._kernels.junction_plan import MESSAGE, UNARY

# Messages stay above; several of them, and what one is scaled by, then multiply within the range of a double.
SMALLEST = 1e-90


@kernel()
def local_axes(tree):
    """``axis_ptr`` and places (in ``tree.axes``) of the variables that potentials of each clique depend on."""
    n_cliques = len(tree.block)
    used = np.zeros(len(tree.axes), np.bool_)
    axis_ptr = np.zeros(n_cliques + 1, np.int64)
    # Marks where a stride is not 0: O(strides). Every clique has the potential of a variable that it eliminates.
    for c in range(n_cliques):
        lo, n = tree.axis_ptr[c], tree.axis_ptr[c + 1] - tree.axis_ptr[c]
        for j in range(tree.src_ptr[c], tree.src_ptr[c + 1]):
            if tree.kind[j] != MESSAGE:
                for a in range(n):
                    used[lo + a] |= tree.strides[tree.stride_ptr[j] + a] != 0
        axis_ptr[c + 1] = axis_ptr[c] + used[lo : lo + n].sum()
    return axis_ptr, np.flatnonzero(used)


@inlined
def cut_off(n, src_ptr, kind, number, stride_ptr, strides):
    """What is filled in of arrays of n sources."""
    end = stride_ptr[n]
    return src_ptr, kind[:n].copy(), number[:n].copy(), stride_ptr[: n + 1].copy(), strides[:end].copy()


@kernel()
def part_sources(tree, axis_ptr, places):
    """Sources of the local tables: the potentials, with the strides of the local axes alone."""
    n_cliques, n = len(tree.block), 0
    src_ptr = np.zeros(n_cliques + 1, np.int64)
    kind, number = np.empty(len(tree.kind), np.int64), np.empty(len(tree.kind), np.int64)
    stride_ptr, strides = np.zeros(len(tree.kind) + 1, np.int64), np.empty(len(tree.strides), np.int64)
    for c in range(n_cliques):
        for j in range(tree.src_ptr[c], tree.src_ptr[c + 1]):
            if tree.kind[j] != MESSAGE:
                kind[n], number[n], at = tree.kind[j], tree.number[j], stride_ptr[n]
                for p in range(axis_ptr[c], axis_ptr[c + 1]):
                    strides[at] = tree.strides[tree.stride_ptr[j] + places[p] - tree.axis_ptr[c]]
                    at += 1
                n += 1
                stride_ptr[n] = at
        src_ptr[c + 1] = n
    return cut_off(n, src_ptr, kind, number, stride_ptr, strides)


@kernel()
def whole_sources(tree, axis_ptr, places, factor):
    """Sources of the cliques: the local table, as a ``factor`` with the number of the clique, then the messages."""
    n_cliques, n = len(tree.block), 0
    most = n_cliques + len(tree.kind)
    src_ptr = np.zeros(n_cliques + 1, np.int64)
    kind, number = np.empty(most, np.int64), np.empty(most, np.int64)
    stride_ptr = np.zeros(most + 1, np.int64)
    strides = np.zeros(len(tree.axes) + len(tree.strides), np.int64)
    for c in range(n_cliques):
        width = tree.axis_ptr[c + 1] - tree.axis_ptr[c]
        kind[n], number[n], step = factor, c, 1
        for p in range(axis_ptr[c + 1] - 1, axis_ptr[c] - 1, -1):  # C order over the local axes
            strides[stride_ptr[n] + places[p] - tree.axis_ptr[c]] = step
            step *= tree.cards[tree.axes[places[p]]]
        n += 1
        stride_ptr[n] = stride_ptr[n - 1] + width
        for j in range(tree.src_ptr[c], tree.src_ptr[c + 1]):
            if tree.kind[j] == MESSAGE:
                kind[n], number[n] = MESSAGE, tree.number[j]
                for a in range(width):
                    strides[stride_ptr[n] + a] = tree.strides[tree.stride_ptr[j] + a]
                n += 1
                stride_ptr[n] = stride_ptr[n - 1] + width
        src_ptr[c + 1] = n
    return cut_off(n, src_ptr, kind, number, stride_ptr, strides)


@inlined
def start_of(parts, j, table_ptr):
    """Where a potential begins."""
    return parts.unary_ptr[parts.number[j]] if parts.kind[j] == UNARY else table_ptr[parts.number[j]]


@kernel()
def exponentiate_locals(parts, table_ptr, unary, values, local, log_z):
    """``local_c = exp(sum of the potentials of c - their maximum)``; the maxima are added to ``log_z``."""
    zero = simd.splat(local, 0.0)
    # O(local table x potentials) per clique, every lane at once.
    for c in range(len(parts.block)):
        lo = parts.message_ptr[c]
        for i in range(parts.block[c]):
            simd.store(local, (lo + i) * LANES, zero)
        for j in range(parts.src_ptr[c], parts.src_ptr[c + 1]):
            source = unary if parts.kind[j] == UNARY else values
            start, at = start_of(parts, j, table_ptr), parts.map_ptr[j]
            for i in range(parts.block[c]):
                value = simd.load(source, (start + parts.maps[at + i]) * LANES)
                simd.store(local, (lo + i) * LANES, simd.add(simd.load(local, (lo + i) * LANES), value))
        high = simd.load(local, lo * LANES)
        for i in range(parts.block[c]):
            high = simd.larger(simd.load(local, (lo + i) * LANES), high)
        for i in range(parts.block[c]):
            at = (lo + i) * LANES
            simd.store(local, at, simd.exp(simd.sub(simd.load(local, at), high)))
        simd.store(log_z, 0, simd.add(simd.load(log_z, 0), high))


@inlined
def multiply(tree, c, base, local, message, table):
    """Set a block of ``table`` to the products of the sources."""
    lo = tree.src_ptr[c]
    at = tree.map_ptr[lo]
    # The local table has the variables that the clique eliminates, and so a map.
    for i in range(tree.block[c]):
        simd.store(table, i * LANES, simd.load(local, (base[0] + tree.maps[at + i]) * LANES))
    for j in range(lo + 1, tree.src_ptr[c + 1]):
        at = tree.map_ptr[j]
        if at == tree.map_ptr[j + 1]:
            factor = simd.load(message, base[j - lo] * LANES)
            for i in range(tree.block[c]):
                simd.store(table, i * LANES, simd.mul(simd.load(table, i * LANES), factor))
        else:
            for i in range(tree.block[c]):
                factor = simd.load(message, (base[j - lo] + tree.maps[at + i]) * LANES)
                simd.store(table, i * LANES, simd.mul(simd.load(table, i * LANES), factor))


@kernel()
def lanes_up(tree, parts, base, digit, local, message, scale, log_z, least, table):
    """The messages to parents; ``log_z`` becomes the log-partitions, ``least`` the smallest entry of a message."""
    low, one = simd.splat(table, np.inf), simd.splat(table, 1.0)
    # message_c[separator] = sum over the residual of local_c x product of scale_d message_d over the children d, and
    # scale_c = 1 / its maximum, which goes into the parent's local table. O(clique table x children) per clique.
    for c in range(len(tree.block)):
        lo = parts.message_ptr[c]
        for j in range(tree.src_ptr[c] + 1, tree.src_ptr[c + 1]):
            factor = simd.load(scale, tree.number[j] * LANES)
            for i in range(parts.block[c]):
                at = (lo + i) * LANES
                simd.store(local, at, simd.mul(simd.load(local, at), factor))
        first_block(tree, c, parts.message_ptr, base, digit)
        to, high = tree.message_ptr[c], simd.splat(table, 0.0)
        while to < tree.message_ptr[c + 1]:
            multiply(tree, c, base, local, message, table)
            for at in range(0, tree.block[c], tree.residual[c]):
                total = simd.load(table, at * LANES)
                for i in range(at + 1, at + tree.residual[c]):
                    total = simd.add(total, simd.load(table, i * LANES))
                simd.store(message, to * LANES, total)
                high, low = simd.larger(total, high), simd.smaller(total, low)
                to += 1
            next_block(tree, c, base, digit, True)
        simd.store(scale, c * LANES, simd.divide(one, high))
        for lane in range(LANES):
            log_z[lane] -= math.log(scale[c * LANES + lane])
    simd.store(least, 0, low)


@kernel()
def lanes_down(tree, parts, base, digit, local, message, belief, local_marginal, table):
    """Add marginals of the local tables, given what ``lanes_up`` left; ``message`` is overwritten.

    ``belief`` has room for the messages to any one clique; ``local_marginal`` must be zero.
    """
    # p(clique) = ratio[separator] x the product of the sources, where ratio = p(separator) / message[separator], and
    # every source adds up the entries that it stands in, as in ``junction_sum.sum_down``. Parents come before children:
    # once a clique is done, what its children add up to is their p(separator), and their messages become the ratios.
    for c in range(len(tree.block) - 1, -1, -1):
        lo, hi = tree.src_ptr[c], tree.src_ptr[c + 1]
        first_block(tree, c, parts.message_ptr, base, digit)
        row = tree.message_ptr[c]
        if tree.parent[c] < 0:
            one = simd.splat(table, 1.0)
            simd.store(message, row * LANES, simd.divide(one, simd.load(message, row * LANES)))
        n_belief = 0
        for j in range(lo + 1, hi):
            n_belief += tree.message_ptr[tree.number[j] + 1] - tree.message_ptr[tree.number[j]]
        belief[: n_belief * LANES] = 0.0
        while row < tree.message_ptr[c + 1]:
            multiply(tree, c, base, local, message, table)
            for at in range(0, tree.block[c], tree.residual[c]):
                ratio = simd.load(message, row * LANES)
                for i in range(at, at + tree.residual[c]):
                    simd.store(table, i * LANES, simd.mul(simd.load(table, i * LANES), ratio))
                row += 1
            at = tree.map_ptr[lo]
            for i in range(tree.block[c]):
                to = (base[0] + tree.maps[at + i]) * LANES
                own = simd.add(simd.load(local_marginal, to), simd.load(table, i * LANES))
                simd.store(local_marginal, to, own)
            start = 0
            for j in range(lo + 1, hi):
                d, at = tree.number[j], tree.map_ptr[j]
                first = start + base[j - lo] - tree.message_ptr[d]
                start += tree.message_ptr[d + 1] - tree.message_ptr[d]
                if at == tree.map_ptr[j + 1]:
                    mass = simd.load(belief, first * LANES)
                    for i in range(tree.block[c]):
                        mass = simd.add(mass, simd.load(table, i * LANES))
                    simd.store(belief, first * LANES, mass)
                else:
                    for i in range(tree.block[c]):
                        to = (first + tree.maps[at + i]) * LANES
                        simd.store(belief, to, simd.add(simd.load(belief, to), simd.load(table, i * LANES)))
            next_block(tree, c, base, digit, True)
        start = 0
        for j in range(lo + 1, hi):
            for row in range(tree.message_ptr[tree.number[j]], tree.message_ptr[tree.number[j] + 1]):
                ratio = simd.divide(simd.load(belief, start * LANES), simd.load(message, row * LANES))
                simd.store(message, row * LANES, ratio)
                start += 1


@kernel()
def spread_locals(parts, table_ptr, local_marginal, unary_marginal, factor_marginal):
    """Add the marginals of local tables to those of the potentials that they consist of."""
    for c in range(len(parts.block)):
        lo = parts.message_ptr[c]
        for j in range(parts.src_ptr[c], parts.src_ptr[c + 1]):
            out = unary_marginal if parts.kind[j] == UNARY else factor_marginal
            start, at = start_of(parts, j, table_ptr), parts.map_ptr[j]
            for i in range(parts.block[c]):
                to = (start + parts.maps[at + i]) * LANES
                simd.store(out, to, simd.add(simd.load(out, to), simd.load(local_marginal, (lo + i) * LANES)))


@kernel()
def sum_lanes(tree, parts, table_ptr, unary, values, room, log_z, least, unary_marginal, factor_marginal):
    """Log-partitions and marginals of eight graphs; those of lanes whose ``least`` is below SMALLEST are no good."""
    n_sources, n_digits, n_block = 1, 1, 1
    for c in range(len(tree.block)):
        n_sources = max(n_sources, tree.src_ptr[c + 1] - tree.src_ptr[c])
        n_digits = max(n_digits, tree.n_outer[c])
        n_block = max(n_block, tree.block[c])
    base, digit = np.empty(n_sources, np.int64), np.empty(n_digits, np.int64)
    table = np.empty(n_block * LANES)
    before = simd.flush_denormals()
    log_z[:], unary_marginal[:], factor_marginal[:] = 0.0, 0.0, 0.0
    room.local_marginal[:] = 0.0
    exponentiate_locals(parts, table_ptr, unary, values, room.local, log_z)
    lanes_up(tree, parts, base, digit, room.local, room.message, room.scale, log_z, least, table)
    lanes_down(tree, parts, base, digit, room.local, room.message, room.belief, room.local_marginal, table)
    spread_locals(parts, table_ptr, room.local_marginal, unary_marginal, factor_marginal)
    simd.restore_denormals(before)
