"""The recursions over all alignments of one pair, from the end and from the start, for maxima and for sums.

An alignment is a path of steps: M matches position i with j, X_k puts position i of the first sequence against a gap of
kind k, Y_k position j of the second. Between two matches all X come before all Y, and runs are of one kind, so every
alignment is one path. States are what the last step was: 0 = M (or the start), 1 + k = X_k, 1 + K + k = Y_k.

With F[s, i, j] the total (maximum, or logarithm of the sum of exponentials) of everything that may follow state s at
(i, j), and F[., n, m] = 0,

    follow_M = match(i, j) + F[M, i+1, j+1]
    open_Y   = total_k gap_y(k, j) + open_y(k, i) + F[Y_k, i, j+1]
    F[Y_k]   = total(follow_M, gap_y(k, j) + extend_y(k, i) + F[Y_k, i, j+1])
    F[X_k]   = total(gap_x(k, i) + extend_x(k, j) + F[X_k, i+1, j], follow_M, change + open_Y)
    F[M]     = total(total_k gap_x(k, i) + open_x(k, j) + F[X_k, i+1, j], follow_M, open_Y)

Where an alignment must contradict an annotation there are two layers: 0 as long as nothing has, 1 from the first part
that does. A path must end in the last layer.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def joined(a, b, summed):
    """The larger of two numbers, or the logarithm of the sum of their exponentials."""
    high, low = (a, b) if a >= b else (b, a)
    if not summed or low == -np.inf:
        return high
    return high + np.log1p(np.exp(low - high))


@kernel()
def after(layer, two, wrong):
    """The layer after a part that is wrong or not."""
    return 1 if two and wrong else layer


@kernel()
def from_end(
    match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, summed
):  # fmt: skip
    """F of all layers and states, shape (n_layers, 1 + 2 K, n + 1, m + 1)."""
    (n, m), kinds, two = match.shape, len(gap_x), len(wrong_x) > 0
    layers = 2 if two else 1
    F = np.full((layers, 1 + 2 * kinds, n + 1, m + 1), -np.inf)
    F[layers - 1, :, n, m] = 0.0
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            if i == n and j == m:
                continue
            for layer in range(layers):
                follow = opened = started = -np.inf
                if i < n and j < m:
                    to = after(layer, two, two and wrong[i, j])
                    follow = match[i, j] + F[to, 0, i + 1, j + 1]
                if j < m:
                    for k in range(kinds):
                        to, state = after(layer, two, two and wrong_y[k, j]), 1 + kinds + k
                        rest = gap_y[k, j] + F[to, state, i, j + 1]
                        opened = joined(opened, rest + open_y[k, i], summed)
                        F[layer, state, i, j] = joined(follow, rest + extend_y[k, i], summed)
                else:
                    F[layer, 1 + kinds :, i, j] = follow
                for k in range(kinds):
                    own = joined(follow, opened + change, summed)
                    if i < n:
                        to = after(layer, two, two and wrong_x[k, i])
                        rest = gap_x[k, i] + F[to, 1 + k, i + 1, j]
                        started = joined(started, rest + open_x[k, j], summed)
                        own = joined(own, rest + extend_x[k, j], summed)
                    F[layer, 1 + k, i, j] = own
                F[layer, 0, i, j] = joined(joined(started, follow, summed), opened, summed)
    return F


@kernel()
def from_start(
    match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y, summed
):  # fmt: skip
    """B[layer, s, i, j]: the total of everything that may come before state s at (i, j); B[0, M, 0, 0] = 0."""
    (n, m), kinds, two = match.shape, len(gap_x), len(wrong_x) > 0
    layers = 2 if two else 1
    B = np.full((layers, 1 + 2 * kinds, n + 1, m + 1), -np.inf)
    B[0, 0, 0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            for layer in range(layers):
                start, ran = B[layer, 0, i, j], -np.inf
                for k in range(kinds):
                    ran = joined(ran, B[layer, 1 + k, i, j], summed)
                if i < n and j < m:
                    every = joined(start, ran, summed)
                    for k in range(kinds):
                        every = joined(every, B[layer, 1 + kinds + k, i, j], summed)
                    to = after(layer, two, two and wrong[i, j])
                    B[to, 0, i + 1, j + 1] = joined(B[to, 0, i + 1, j + 1], every + match[i, j], summed)
                if i < n:
                    for k in range(kinds):
                        to, state = after(layer, two, two and wrong_x[k, i]), 1 + k
                        rest = joined(start + open_x[k, j], B[layer, state, i, j] + extend_x[k, j], summed)
                        B[to, state, i + 1, j] = joined(B[to, state, i + 1, j], rest + gap_x[k, i], summed)
                if j < m:
                    for k in range(kinds):
                        to, state = after(layer, two, two and wrong_y[k, j]), 1 + kinds + k
                        rest = joined(start, ran + change, summed) + open_y[k, i]
                        rest = joined(rest, B[layer, state, i, j] + extend_y[k, i], summed)
                        B[to, state, i, j + 1] = joined(B[to, state, i, j + 1], rest + gap_y[k, j], summed)
    return B
