"""One chain at a time: what the sequential solvers' loops are built from.

Inputs are either ``dense`` (rows, columns) or sparse rows; the other kind is empty. A dense row is treated as a
sparse one with all labels in every column. Weights are ``[node | bias | edge]`` as in
``palmette.structures.positions.linear_scorer``.
"""

from __future__ import annotations

from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.linear import score_rows


@kernel(fastmath=SUMS)
def score_sample(dense, indptr, indices, values, ptr, label, w, bias_at, edge_at, lo, hi, node):
    """Write the node potentials of rows lo:hi to ``node[0:hi - lo]``."""
    n_labels = node.shape[1]
    # node[t, k] = bias[k] + sum_a x[t, a] w[a, k]; edge_at == bias_at means no bias. O(nnz K).
    for t in range(hi - lo):
        for k in range(n_labels):
            node[t, k] = w[bias_at + k] if edge_at > bias_at else 0.0
    if len(dense) == 0:
        score_rows(indptr, indices, values, ptr, label, w, lo, hi, node)
        return
    for t in range(hi - lo):
        for a in range(dense.shape[1]):
            v = dense[lo + t, a]
            if v != 0.0:
                start = a * n_labels
                for k in range(n_labels):
                    node[t, k] += v * w[start + k]


@kernel()
def expand_edges(w, edge_at, pairs, table):
    """Edge weights as a (1, labels, labels) table."""
    n_labels = table.shape[1]
    for p in range(len(pairs)):
        table[0, pairs[p] // n_labels, pairs[p] % n_labels] = w[edge_at + p]


@kernel()
def weights_of(column, ptr, n_labels):
    """First and last + 1 position of a column's weights."""
    if len(ptr) == 0:
        return column * n_labels, (column + 1) * n_labels
    return ptr[column], ptr[column + 1]
