"""Sums over all outputs: log-partitions, expected counts and draws. Recurrences over walks (``steps``)."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette.structures.hierarchy.kernels.steps import weigh_steps


@kernel()
def sum_ahead(gain, flag, go, value):
    """``value[s, f]``: the log of the sum over all walks from s to the end; as ``best_ahead`` with sums for maxima."""
    # value[s, f] = log sum_b exp(gain[s, b] + value[go[s, b], f | flag[s, b]]), by the larger term.
    n, layers = value.shape[0] - 1, value.shape[1]
    value[n, 0] = -np.inf
    value[n, layers - 1] = 0.0
    for s in range(n - 1, -1, -1):
        for f in range(layers):
            left = gain[s, 0] + value[go[s, 0], f | flag[s, 0]]
            taken = gain[s, 1] + value[go[s, 1], f | flag[s, 1]]
            top, low = max(left, taken), min(left, taken)
            value[s, f] = top if low == -np.inf else top + np.log1p(np.exp(low - top))


@kernel()
def log_sums(score, may, known, node, go, stop, dead, log_z):
    """Log-partition of every sample."""
    # log Z = sum_ahead at the first state.
    layers = 2 if len(known) else 1
    gain, flag = np.empty((len(node), 2)), np.zeros((len(node), 2), np.int64)
    value = np.empty((len(node) + 1, layers))
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        sum_ahead(gain, flag, go, value)
        log_z[r] = value[0, 0]


@kernel()
def expected_counts(score, may, known, node, go, stop, dead, weight, log_z, entropy, counts):
    """Log-partitions, entropies, and ``weight[r]`` times the probability of every node added to ``counts``."""
    # chance[s, f] = probability that a walk comes to s; it takes the step b with probability
    # exp(gain[s, b] + value[go[s, b], .] - value[s, f]), so that chances flow forward and need no logarithms. The
    # entropy of walks is the sum over states of their chance times the entropy of the step there.
    n, layers = len(node), 2 if len(known) else 1
    gain, flag = np.empty((n, 2)), np.zeros((n, 2), np.int64)
    value, chance = np.empty((n + 1, layers)), np.empty((n + 1, layers))
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        sum_ahead(gain, flag, go, value)
        log_z[r] = value[0, 0]
        entropy[r] = 0.0
        if not log_z[r] > -np.inf:
            continue
        chance[:] = 0.0
        chance[0, 0] = 1.0
        for s in range(n):
            for f in range(layers):
                if chance[s, f] == 0.0:
                    continue
                for b in range(2):
                    t, g = go[s, b], f | flag[s, b]
                    ahead = gain[s, b] + value[t, g]
                    if ahead == -np.inf:
                        continue
                    p = chance[s, f] * np.exp(ahead - value[s, f])
                    chance[t, g] += p
                    entropy[r] -= p * (ahead - value[s, f])
                    if b == 1:
                        counts[r, node[s]] += weight[r] * p


@kernel()
def draw_outputs(score, may, known, node, go, stop, dead, uniform, codes):
    """Draws by ``uniform`` (draws, samples, nodes) into ``codes`` of that shape, 0 at first; the first sample without
    an output, else -1.
    """
    # The steps of ``expected_counts`` drawn one after the other: taken if the number of the node is below its chance.
    n, layers = len(node), 2 if len(known) else 1
    gain, flag = np.empty((n, 2)), np.zeros((n, 2), np.int64)
    value = np.empty((n + 1, layers))
    for r in range(len(score)):
        weigh_steps(r, score, may, known, node, stop, dead, gain, flag)
        sum_ahead(gain, flag, go, value)
        if not value[0, 0] > -np.inf:
            return r
        for d in range(len(uniform)):
            s, f = 0, 0
            while s < n:
                ahead = gain[s, 1] + value[go[s, 1], f | flag[s, 1]]
                b = 1 if ahead > -np.inf and uniform[d, r, node[s]] < np.exp(ahead - value[s, f]) else 0
                codes[d, r, node[s]] = b
                s, f = go[s, b], f | flag[s, b]
    return -1
