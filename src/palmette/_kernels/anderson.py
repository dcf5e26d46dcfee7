"""Anderson's extrapolation of a fixed-point iteration: the next point from the last few points and their images.

With ``f = g(x) - x``, the history holds differences of f and of g; the step is ``g - sum_k c_k dg_k`` where c
minimises ``|f - sum_k c_k df_k|^2``. It removes the few slow or alternating directions that plain iteration struggles
with.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel


@kernel(fastmath=SUMS)
def dot(a, b):
    """Inner product of two flat arrays."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel()
def solve_positive(matrix, right, n):
    """Solve ``matrix[:n, :n] x = right[:n]`` in place of ``right`` by Cholesky; a pivot that vanishes drops its
    column."""
    # matrix = L L^T in place of the lower triangle, column by column, then L y = right and L^T x = y; O(n^3).
    # A pivot below 1e-14 of its diagonal entry gets the root inf: its column of L and its component of x become 0.
    # Nothing is allocated; the upper triangle of ``matrix`` is neither read nor written.
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        root = np.sqrt(pivot) if pivot > 1e-14 * matrix[j, j] else np.inf
        for i in range(j + 1, n):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / root
        matrix[j, j] = root
    for i in range(n):
        for k in range(i):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= matrix[k, i] * right[k]
        right[i] /= matrix[i, i]


@kernel(fastmath=SUMS)
def subtract(x, factor, y):
    """``x -= factor * y``."""
    for k in range(len(x)):
        x[k] -= factor * y[k]


@kernel()
def extrapolate(x, g, last_f, last_g, df, dg, gram, filled, steps):
    """The next point into ``x``; all history is updated. ``filled`` rows were there before; returns how many there
    are now.

    ``steps`` counts the points since the history was cleared (0: only remember this one). ``gram`` is ``df df^T``;
    ``df`` and ``dg`` are flat, row after row of the length of x.
    """
    n, memory = len(x), len(gram)
    # Ring buffer: row (steps - 1) % memory of df, dg gets f - last_f and g - last_g; one row and column of gram follow.
    # Then (gram + 1e-10 trace(gram) I) c = df f and x = g - sum_k c_k dg_k. The ridge keeps c bounded where df rows
    # are nearly dependent. O(memory n + memory^3) per call, O(memory^2) allocated; without history x = g.
    if steps > 0:
        row = (steps - 1) % memory
        at = row * n
        for k in range(n):
            df[at + k] = g[k] - x[k] - last_f[k]
            dg[at + k] = g[k] - last_g[k]
        filled = min(filled + 1, memory)
        for other in range(filled):
            gram[row, other] = dot(df[at : at + n], df[other * n : other * n + n])
            gram[other, row] = gram[row, other]
    for k in range(n):
        last_f[k] = g[k] - x[k]
        last_g[k] = g[k]
        x[k] = g[k]
    if filled > 0:
        matrix, right = np.empty((filled, filled)), np.empty(filled)
        trace = 0.0
        for a in range(filled):
            trace += gram[a, a]
        for a in range(filled):
            right[a] = dot(df[a * n : a * n + n], last_f)
            for b in range(filled):
                matrix[a, b] = gram[a, b]
            matrix[a, a] += 1e-10 * trace
        solve_positive(matrix, right, filled)
        for a in range(filled):
            subtract(x, right[a], dg[a * n : a * n + n])
    return filled
