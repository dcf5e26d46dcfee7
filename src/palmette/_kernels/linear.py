"""Linear scores of sparse feature rows, and their adjoint.

Weights of column a are ``w[ptr[a]:ptr[a + 1]]``, for the labels ``label[ptr[a]:ptr[a + 1]]`` (those seen with the
column in training). An empty ``ptr`` means that every column has all labels: ``w[a * n_labels + k]``.
``values`` is empty when every stored value is 1.
"""

from __future__ import annotations

from palmette._kernels.jit import SUMS, kernel


@kernel(fastmath=SUMS)
def score_rows(indptr, indices, values, ptr, label, w, lo, hi, node):
    """Add ``<w, features>`` of feature rows lo:hi to the rows ``node[0:hi - lo]``."""
    n_labels = node.shape[1]
    all_labels, ones = len(ptr) == 0, len(values) == 0
    # node[t, k] += sum_a x[t, a] w[a, k], over the labels that column a has weights for. O(nnz x labels per column).
    for t in range(lo, hi):
        row = node[t - lo]
        for p in range(indptr[t], indptr[t + 1]):
            a = indices[p]
            v = 1.0 if ones else values[p]
            if all_labels:
                start = a * n_labels
                for k in range(n_labels):
                    row[k] += v * w[start + k]
            else:
                for q in range(ptr[a], ptr[a + 1]):
                    row[label[q]] += v * w[q]


@kernel(fastmath=SUMS)
def scatter_rows(indptr, indices, values, ptr, label, node, lo, hi, g):
    """Adjoint of ``score_rows``: add ``node`` x features to ``g``."""
    n_labels = node.shape[1]
    all_labels, ones = len(ptr) == 0, len(values) == 0
    # g[a, k] += sum_t x[t, a] node[t, k]; rows in order, so the sum is the same in every run.
    for t in range(lo, hi):
        row = node[t - lo]
        for p in range(indptr[t], indptr[t + 1]):
            a = indices[p]
            v = 1.0 if ones else values[p]
            if all_labels:
                start = a * n_labels
                for k in range(n_labels):
                    g[start + k] += v * row[k]
            else:
                for q in range(ptr[a], ptr[a + 1]):
                    g[q] += v * row[label[q]]


@kernel()
def observed_pairs(indptr, indices, codes, n_labels, seen):
    """Mark ``seen[a, k]`` for every column a that stands in a row labelled k; rows labelled -1 do not count."""
    for t in range(len(codes)):
        if codes[t] < 0:
            continue
        for p in range(indptr[t], indptr[t + 1]):
            seen[indices[p] * n_labels + codes[t]] = True


@kernel(fastmath=SUMS)
def score_edges(indptr, indices, values, ptr, pair, w, lo, hi, edge):
    """Add ``<w, features of row t>`` to row ``edge[t - lo - 1]``, the edge into row t, for rows lo + 1:hi of a sample.

    Weights of column a are ``w[ptr[a]:ptr[a + 1]]``, for the label pairs ``pair[...]``, which are places in a row.
    """
    ones = len(values) == 0
    # edge[t - lo - 1, ij] += sum_a x[t, a] w[a, ij] over the pairs that column a has weights for. A sample of n rows
    # has n - 1 edges. O(nnz x pairs per column).
    for t in range(lo + 1, hi):
        row = edge[t - lo - 1]
        for p in range(indptr[t], indptr[t + 1]):
            a = indices[p]
            v = 1.0 if ones else values[p]
            for q in range(ptr[a], ptr[a + 1]):
                row[pair[q]] += v * w[q]


@kernel(fastmath=SUMS)
def scatter_edges(indptr, indices, values, ptr, pair, edge, lo, hi, g):
    """Adjoint of ``score_edges``: add ``edge`` x features to ``g``."""
    ones = len(values) == 0
    # g[a, ij] += sum_t x[t, a] edge[t - lo - 1, ij]; rows in order, so the sum is the same in every run.
    for t in range(lo + 1, hi):
        row = edge[t - lo - 1]
        for p in range(indptr[t], indptr[t + 1]):
            a = indices[p]
            v = 1.0 if ones else values[p]
            for q in range(ptr[a], ptr[a + 1]):
                g[q] += v * row[pair[q]]


@kernel()
def score_batch_edges(indptr, indices, values, ptr, pair, w, offsets, edge):
    """``score_edges`` of every sample; ``edge`` is (edges, label pairs)."""
    # The edges of sample s stand from lo - s on: every sample before has one row more than edges.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        score_edges(indptr, indices, values, ptr, pair, w, lo, hi, edge[lo - s : hi - s - 1])


@kernel()
def scatter_batch_edges(indptr, indices, values, ptr, pair, edge, offsets, g):
    """``scatter_edges`` of every sample."""
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        scatter_edges(indptr, indices, values, ptr, pair, edge[lo - s : hi - s - 1], lo, hi, g)
