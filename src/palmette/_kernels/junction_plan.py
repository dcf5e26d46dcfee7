"""From an elimination order to a junction tree in flat arrays: cliques, what is added up in each, and where.

A clique has the variables it shares with its parent (the *separator*) first, then those it eliminates (the *residual*),
each by falling place in the order. So a message to the parent reduces runs of the table, and it stands in the parent's
order of axes, too. Tables are never stored: a clique is worked through in *blocks*, the last axes of its table, all of
the residual among them.

What a clique adds up are its *sources*: unary potentials (kind 0), factors (1) and messages of children (2). A source
has a stride for each axis (0 if it does not depend on it), and a map from the entries of a block to its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels.jit import kernel

UNARY, FACTOR, MESSAGE = 0, 1, 2


class Tree(NamedTuple):
    """All that the kernels know of a junction tree; see the functions below for the meaning."""

    cards: np.ndarray
    unary_ptr: np.ndarray
    axis_ptr: np.ndarray
    axes: np.ndarray
    n_shared: np.ndarray
    parent: np.ndarray
    n_outer: np.ndarray
    block: np.ndarray
    residual: np.ndarray
    message_ptr: np.ndarray
    src_ptr: np.ndarray
    kind: np.ndarray
    number: np.ndarray
    stride_ptr: np.ndarray
    strides: np.ndarray
    map_ptr: np.ndarray
    maps: np.ndarray


@kernel()
def cliques_of(order, ptr, rest, cards, max_residual):
    """Cliques of an elimination; one that its child's covers joins it while the residual stays small.

    Returns
    -------
    clique_of : ndarray of int64, shape (n_vars,)
        The clique that eliminates each variable; children have lower numbers than their parents.
    top : ndarray of int64, shape (n_cliques,)
        Place in the order of the last variable that the clique eliminates; its neighbours are the separator.
    """
    n_vars = len(order)
    rank = np.empty(n_vars, np.int64)
    for i in range(n_vars):
        rank[order[i]] = i
    joins = np.full(n_vars, -1, np.int64)  # place of the variable whose clique takes that of place i in
    n_residual = np.ones(n_vars, np.int64)
    closed = np.zeros(n_vars, np.bool_)
    # The clique of place i is order[i] and rest(i). Its parent is that of ``up``, the neighbour eliminated first, and
    # rest(i) without up is part of rest(up): if both have n - 1 variables they are equal, and clique i covers that of
    # up, which joins it (the first that covers it) while the residual has at most max_residual states. O(sum of rest).
    for i in range(n_vars):
        n_residual[i] *= cards[order[i]]
        n = ptr[i + 1] - ptr[i]
        if n == 0:
            continue
        up = n_vars
        for p in range(ptr[i], ptr[i + 1]):
            up = min(up, rank[rest[p]])
        if joins[up] < 0 and ptr[up + 1] - ptr[up] == n - 1:
            if n_residual[i] * cards[order[up]] <= max_residual:
                joins[up] = i
                closed[i] = True
                n_residual[up] = n_residual[i]
    n_cliques = 0
    number = np.full(n_vars, -1, np.int64)
    for i in range(n_vars):
        if not closed[i]:
            number[i] = n_cliques
            n_cliques += 1
    clique_of = np.empty(n_vars, np.int64)
    top = np.empty(n_cliques, np.int64)
    for i in range(n_vars - 1, -1, -1):
        if number[i] >= 0:
            top[number[i]] = i
            place = i
            while place >= 0:
                clique_of[order[place]] = number[i]
                place = joins[place]
    return clique_of, top


@kernel()
def axes_of(order, ptr, rest, cards, clique_of, top):
    """Axes of all cliques.

    Returns
    -------
    axis_ptr, axes : ndarrays of int64
        The variables of clique c are ``axes[axis_ptr[c]:axis_ptr[c + 1]]``.
    n_shared : ndarray of int64, shape (n_cliques,)
        How many of them are the separator.
    parent : ndarray of int64, shape (n_cliques,)
    """
    n_vars, n_cliques = len(order), len(top)
    rank = np.empty(n_vars, np.int64)
    for i in range(n_vars):
        rank[order[i]] = i
    n_shared = np.empty(n_cliques, np.int64)
    parent = np.full(n_cliques, -1, np.int64)
    axis_ptr = np.zeros(n_cliques + 1, np.int64)
    for c in range(n_cliques):
        n_shared[c] = ptr[top[c] + 1] - ptr[top[c]]
        axis_ptr[c + 1] = n_shared[c]
    for v in range(n_vars):
        axis_ptr[clique_of[v] + 1] += 1
    for c in range(n_cliques):
        axis_ptr[c + 1] += axis_ptr[c]
    axes = np.empty(axis_ptr[n_cliques], np.int64)
    at = axis_ptr[:n_cliques].copy()
    # Separator and residual each by falling place in the order; the separator's last axis is then the variable that is
    # eliminated first, whose clique is the parent. O(axes log axes).
    for c in range(n_cliques):
        ranks = np.empty(n_shared[c], np.int64)
        for p in range(n_shared[c]):
            ranks[p] = rank[rest[ptr[top[c]] + p]]
        ranks.sort()
        for p in range(n_shared[c] - 1, -1, -1):
            axes[at[c]] = order[ranks[p]]
            at[c] += 1
        if n_shared[c]:
            parent[c] = clique_of[order[ranks[0]]]
    for i in range(n_vars - 1, -1, -1):
        c = clique_of[order[i]]
        axes[at[c]] = order[i]
        at[c] += 1
    return axis_ptr, axes, n_shared, parent


@kernel()
def blocks_of(axis_ptr, axes, n_shared, cards, max_block):
    """``n_outer[c]``: how many axes are before those of a block; and the entries of block, residual and message."""
    n_cliques = len(n_shared)
    n_outer = np.empty(n_cliques, np.int64)
    block = np.empty(n_cliques, np.int64)
    residual = np.empty(n_cliques, np.int64)
    message = np.empty(n_cliques, np.int64)
    # A block is the residual, and axes of the separator from the last on while it has at most max_block entries.
    for c in range(n_cliques):
        residual[c] = 1
        for p in range(axis_ptr[c] + n_shared[c], axis_ptr[c + 1]):
            residual[c] *= cards[axes[p]]
        block[c] = residual[c]
        n_outer[c] = n_shared[c]
        while n_outer[c] > 0 and block[c] * cards[axes[axis_ptr[c] + n_outer[c] - 1]] <= max_block:
            n_outer[c] -= 1
            block[c] *= cards[axes[axis_ptr[c] + n_outer[c]]]
        message[c] = 1
        for p in range(axis_ptr[c], axis_ptr[c] + n_shared[c]):
            message[c] *= cards[axes[p]]
    return n_outer, block, residual, message


@kernel()
def sources_of(order, scope_ptr, scope, cards, clique_of, parent, axis_ptr, axes, n_shared):
    """Sources of all cliques: unary potentials first, then factors, then messages.

    Returns
    -------
    src_ptr : ndarray of int64, shape (n_cliques + 1,)
    kind, number : ndarrays of int64
        What a source is: a variable, a factor, or the child that sends the message.
    stride_ptr, strides : ndarrays of int64
        The strides of source j are ``strides[stride_ptr[j]:stride_ptr[j + 1]]``, one per axis of its clique.
    """
    n_vars, n_cliques, n_factors = len(order), len(parent), len(scope_ptr) - 1
    rank = np.empty(n_vars, np.int64)
    for i in range(n_vars):
        rank[order[i]] = i
    home = np.empty(n_factors, np.int64)
    src_ptr = np.zeros(n_cliques + 1, np.int64)
    # A factor belongs to the clique that eliminates its first variable: all others are still neighbours then, so the
    # clique has all its axes. Sources are placed by counting sort; their strides are those of C order over the scope
    # (factors) or over the child's separator (messages), 0 on axes that a source does not depend on.
    for v in range(n_vars):
        src_ptr[clique_of[v] + 1] += 1
    for f in range(n_factors):
        first = scope[scope_ptr[f]]
        for p in range(scope_ptr[f], scope_ptr[f + 1]):
            if rank[scope[p]] < rank[first]:
                first = scope[p]
        home[f] = clique_of[first]
        src_ptr[home[f] + 1] += 1
    for c in range(n_cliques):
        if parent[c] >= 0:
            src_ptr[parent[c] + 1] += 1
    for c in range(n_cliques):
        src_ptr[c + 1] += src_ptr[c]
    n_sources = src_ptr[n_cliques]
    kind = np.empty(n_sources, np.int64)
    number = np.empty(n_sources, np.int64)
    at = src_ptr[:n_cliques].copy()
    for v in range(n_vars):
        kind[at[clique_of[v]]] = UNARY
        number[at[clique_of[v]]] = v
        at[clique_of[v]] += 1
    for f in range(n_factors):
        kind[at[home[f]]] = FACTOR
        number[at[home[f]]] = f
        at[home[f]] += 1
    for c in range(n_cliques):
        if parent[c] >= 0:
            kind[at[parent[c]]] = MESSAGE
            number[at[parent[c]]] = c
            at[parent[c]] += 1
    stride_ptr = np.zeros(n_sources + 1, np.int64)
    for c in range(n_cliques):
        for j in range(src_ptr[c], src_ptr[c + 1]):
            stride_ptr[j + 1] = stride_ptr[j] + axis_ptr[c + 1] - axis_ptr[c]
    strides = np.zeros(stride_ptr[n_sources], np.int64)
    place = np.empty(n_vars, np.int64)
    for c in range(n_cliques):
        for p in range(axis_ptr[c], axis_ptr[c + 1]):
            place[axes[p]] = p - axis_ptr[c]
        for j in range(src_ptr[c], src_ptr[c + 1]):
            step = 1
            if kind[j] == UNARY:
                strides[stride_ptr[j] + place[number[j]]] = 1
            elif kind[j] == FACTOR:
                f = number[j]
                for p in range(scope_ptr[f + 1] - 1, scope_ptr[f] - 1, -1):
                    strides[stride_ptr[j] + place[scope[p]]] = step
                    step *= cards[scope[p]]
            else:
                d = number[j]
                for p in range(axis_ptr[d] + n_shared[d] - 1, axis_ptr[d] - 1, -1):
                    strides[stride_ptr[j] + place[axes[p]]] = step
                    step *= cards[axes[p]]
    return src_ptr, kind, number, stride_ptr, strides


@kernel()
def maps_of(axis_ptr, axes, n_outer, block, cards, src_ptr, stride_ptr, strides, map_ptr):
    """``maps[map_ptr[j] + i]``: place in source j of entry i of a block, uint32, counted from where the block begins.

    A source that does not change within a block has no map: ``map_ptr[j] == map_ptr[j + 1]``.
    """
    maps = np.empty(map_ptr[len(map_ptr) - 1], np.uint32)
    for c in range(len(n_outer)):
        for j in range(src_ptr[c], src_ptr[c + 1]):
            if map_ptr[j] == map_ptr[j + 1]:
                continue
            at = map_ptr[j]
            maps[at] = 0
            n = 1
            # From the last axis on: the map of a longer run repeats that of the shorter one, moved by the stride.
            for a in range(axis_ptr[c + 1] - 1, axis_ptr[c] + n_outer[c] - 1, -1):
                stride = strides[stride_ptr[j] + a - axis_ptr[c]]
                for k in range(1, cards[axes[a]]):
                    for i in range(n):
                        maps[at + k * n + i] = np.uint32(maps[at + i] + k * stride)
                n *= cards[axes[a]]
    return maps


@kernel()
def map_sizes(axis_ptr, n_outer, block, src_ptr, stride_ptr, strides):
    """Where the maps of the sources begin."""
    map_ptr = np.zeros(len(stride_ptr), np.int64)
    # A source needs a map of block[c] entries if one of its strides inside the block is not 0.
    for c in range(len(n_outer)):
        for j in range(src_ptr[c], src_ptr[c + 1]):
            moves = False
            for a in range(n_outer[c], axis_ptr[c + 1] - axis_ptr[c]):
                moves |= strides[stride_ptr[j] + a] != 0
            map_ptr[j + 1] = map_ptr[j] + (block[c] if moves else 0)
    return map_ptr
