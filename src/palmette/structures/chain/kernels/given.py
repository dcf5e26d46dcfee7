"""Score and counts of given paths. Tables as in ``chain_max``."""

from __future__ import annotations

from palmette._kernels.jit import kernel
from palmette._kernels.logs import plus_entropy


@kernel()
def path_score(node, edge, first, step, lo, hi, path):
    """Score of one sample's path."""
    # f(y) = sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]; O(n). -inf where a part is forbidden.
    total = node[lo, path[lo]]
    for t in range(lo + 1, hi):
        total += edge[first + (t - 1 - lo) * step, path[t - 1], path[t]] + node[t, path[t]]
    return total


@kernel()
def path_scores(node, edge, step, offsets, path, total):
    """Score of every sample's path."""
    # The edges of sample s stand from lo - s on (each sample before has one row more than edges); step 0: one table.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        total[s] = path_score(node, edge, (lo - s) * step, step, lo, hi, path)


@kernel()
def add_counts(offsets, step, path, weight, node_out, edge_out):
    """Add ``weight`` x indicator of each path's labels and label pairs."""
    # The adjoint of ``path_scores``: outputs are added to; with step 0 all pairs go to table 0.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        first = (lo - s) * step
        for t in range(lo, hi):
            node_out[t, path[t]] += weight[s]
            if t > lo:
                edge_out[first + (t - 1 - lo) * step, path[t - 1], path[t]] += weight[s]


@kernel()
def chain_entropies(node_marginal, pair_marginal, offsets, out):
    """Entropy of each chain from its marginals: sum of pair entropies minus those of inner nodes."""
    n_labels = node_marginal.shape[1]
    # H = sum_t H(y_t, y_{t+1}) - sum over inner t of H(y_t), with 0 log 0 = 0; a single row has H(y_0). O(n K^2).
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        total = 0.0
        for t in range(lo, hi):
            sign = 0.0
            if hi - lo == 1:
                sign = 1.0
            elif lo < t < hi - 1:
                sign = -1.0
            for i in range(n_labels):
                total = plus_entropy(node_marginal[t, i], sign, total)
            if t > lo:
                for i in range(n_labels):
                    for j in range(n_labels):
                        total = plus_entropy(pair_marginal[t - 1 - s, i, j], 1.0, total)
        out[s] = total
