"""Linear scores of sparse rows from padded rows of weights: column a has ``width`` weights from ``a * width`` on."""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel


@kernel()
def spread_weights(ptr, label, w, width, rows):
    """Write the weights of each column (``palmette._kernels.linear``) to its row, which is 0 elsewhere."""
    for a in range(len(ptr) - 1):
        for q in range(ptr[a], ptr[a + 1]):
            rows[a * width + label[q]] = w[q]


@kernel()
def score_padded_rows(indptr, indices, values, rows, bias, n_labels, node):
    """Scores of feature rows, flat: those of row t from ``t * n_labels`` on, and room for a vector after the last."""
    ones = len(values) == 0
    # node[t, :] = sum_a x[t, a] rows[a, :] + bias, summed in the order of the entries. Vectors of row t that reach into
    # row t + 1 are written before it. O(nnz x width).
    for t in range(len(indptr) - 1):
        first, last = indptr[t], indptr[t + 1]
        for c in range(0, len(bias), LANES):
            s = simd.splat(rows, 0.0)
            if ones:
                for p in range(first, last):
                    s = simd.add(s, simd.load(rows, indices[p] * len(bias) + c))
            else:
                for p in range(first, last):
                    row = simd.load(rows, indices[p] * len(bias) + c)
                    s = simd.fma(simd.splat(rows, values[p]), row, s)
            simd.store(node, t * n_labels + c, simd.add(s, simd.load(bias, c)))
