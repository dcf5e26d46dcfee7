"""Score and counts of given segmentations, and entropy from marginals. Tables and codes as in ``segment_max``."""

from __future__ import annotations

from palmette._kernels.jit import kernel
from palmette._kernels.logs import plus_entropy


@kernel()
def extent(path, at, hi, n_labels):
    """``d`` of the segment that begins at row ``at``."""
    d = 0
    while at + d + 1 < hi and path[at + d + 1] >= n_labels:
        d += 1
    return d


@kernel()
def first_flaw(path, offsets, longest):
    """First row whose code is none, goes on with another label, or begins too long a segment; -1 if there is none."""
    n_labels = len(longest)
    # A segment is measured at its first row only, so each row is read at most twice: O(rows).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        for t in range(lo, hi):
            inside, label = path[t] >= n_labels, path[t] % n_labels
            if path[t] < 0 or path[t] >= 2 * n_labels:
                return t
            if inside and (t == lo or path[t - 1] % n_labels != label):
                return t
            if not inside and extent(path, t, hi, n_labels) >= longest[label]:
                return t
    return -1


@kernel()
def segmentation_scores(node, segment, edge, step, offsets, path, total):
    """Score of every sample's segmentation."""
    n_labels = node.shape[1]
    # f = sum over segments of segment[t, d, label] + nodes of its rows + edge[label before, label]; O(rows).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        value, t = 0.0, lo
        while t < hi:
            label, d = path[t], extent(path, t, hi, n_labels)
            value += segment[t, d, label]
            for u in range(t, t + d + 1):
                value += node[u, label]
            if t > lo:
                value += edge[(t - 1 - s) * step, path[t - 1] % n_labels, label]
            t += d + 1
        total[s] = value


@kernel()
def add_counts(offsets, step, path, weight, node_out, edge_out, segment_out):
    """Add ``weight`` x indicator of each segmentation's rows, segments and pairs of neighbouring segments."""
    n_labels = node_out.shape[1]
    # The adjoint of ``segmentation_scores``: outputs are added to; with step 0 all pairs go to table 0. O(rows).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        t = lo
        while t < hi:
            label, d = path[t], extent(path, t, hi, n_labels)
            segment_out[t, d, label] += weight[s]
            for u in range(t, t + d + 1):
                node_out[u, label] += weight[s]
            if t > lo:
                edge_out[(t - 1 - s) * step, path[t - 1] % n_labels, label] += weight[s]
            t += d + 1


@kernel()
def segmentation_entropies(segment_marginal, pair_marginal, offsets, out):
    """Entropy of each sample: of the first state, of lengths given states, of states given the ones before them."""
    n_lengths, n_states = segment_marginal.shape[1], segment_marginal.shape[2]
    # Segments are a Markov chain: H = H(first state) + sum_t H(length | state begins at t) + sum_{t > lo} H(next |
    # ended at t), each conditional one as a joint minus a single entropy of masses (sum below 1). O(n S (D + S)).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        total = 0.0
        for t in range(lo, hi):
            for i in range(n_states):
                begins = 0.0
                for d in range(min(n_lengths, hi - t)):
                    begins += segment_marginal[t, d, i]
                    total = plus_entropy(segment_marginal[t, d, i], 1.0, total)
                if t > lo:
                    total = plus_entropy(begins, -1.0, total)
                    ended = 0.0
                    for j in range(n_states):
                        ended += pair_marginal[t - 1 - s, i, j]
                        total = plus_entropy(pair_marginal[t - 1 - s, i, j], 1.0, total)
                    total = plus_entropy(ended, -1.0, total)
        out[s] = total
