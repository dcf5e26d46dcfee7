"""Sums over the few labelings of a chain that an annotation allows, label by label."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def allowed_labels(limits, lo, n, n_labels, width, labels, counts):
    """Write down the labels that n rows from row lo on may have; returns the number of pairs of neighbours."""
    n_pairs = 0
    for t in range(n):
        own, m = limits.row[lo + t] * width, 0
        for k in range(n_labels):
            if limits.table[own + k] == 0.0:
                labels[t * width + m] = k
                m += 1
        counts[t] = m
        n_pairs += m * counts[t - 1] if t > 0 else m
    return n_pairs


@kernel()
def sum_given(node, n, width, factor, labels, counts, given, alpha, pull):
    """As ``sum_chain``, over the allowed labels alone; marginals go to ``given``, and scores ``node`` stay.

    ``given``, ``alpha`` and ``pull`` are written at allowed labels only. NaN if numbers leave the range of their type.
    """
    smallest = 1e-30 if node.itemsize == 4 else 1e-290
    log_z, product = 0.0, 1.0
    # alpha[t, j] = e[t, j] sum_i alpha[t - 1, i] factor[i, j] / z_t with e = exp(score - largest), sums over allowed i;
    # given holds e / z_t until the backward pass. O(m[t - 1] m[t]) per position with m allowed labels.
    for t in range(n):
        at, m = t * width, counts[t]
        largest = node[at + labels[at]]
        for a in range(1, m):
            largest = max(largest, node[at + labels[at + a]])
        log_z += largest
        z = 0.0
        for a in range(m):
            k = labels[at + a]
            score = np.exp(node[at + k] - largest)
            total = score
            if t > 0:
                before, total = at - width, 0.0 * score
                for b in range(counts[t - 1]):
                    i = labels[before + b]
                    total += alpha[before + i] * factor[i * width + k]
                total *= score
            given[at + k], alpha[at + k] = score, total
            z += total
        if not z > smallest:
            return np.nan
        for a in range(m):
            k = labels[at + a]
            given[at + k] /= z
            alpha[at + k] /= z
        product *= z
        if product < 1e-200 or product > 1e200:
            log_z += np.log(product)
            product = 1.0
    log_z += np.log(product)
    # beta[t, i] = sum_j factor[i, j] pull[t + 1, j], pull = beta e / z_t; the marginal alpha beta replaces e / z_t.
    for t in range(n - 1, -1, -1):
        at, mass = t * width, 0.0
        for a in range(counts[t]):
            i = labels[at + a]
            beta = 1.0
            if t < n - 1:
                after, beta = at + width, 0.0
                for b in range(counts[t + 1]):
                    j = labels[after + b]
                    beta += factor[i * width + j] * pull[after + j]
            pull[at + i] = given[at + i] * beta
            given[at + i] = alpha[at + i] * beta
            mass += given[at + i]
        if not abs(mass - 1.0) < 1e-3:
            return np.nan
    return log_z


@kernel()
def subtract_given(given, alpha, pull, n, width, labels, counts, weight, node, pairs):
    """``node -= given`` and ``pairs[i, j] -= weight sum_t alpha[t - 1, i] pull[t, j]`` at allowed labels."""
    for t in range(n):
        at = t * width
        for a in range(counts[t]):
            k = labels[at + a]
            node[at + k] -= given[at + k]
            if t > 0:
                for b in range(counts[t - 1]):
                    i = labels[at - width + b]
                    pairs[i * width + k] -= weight * alpha[at - width + i] * pull[at + k]
