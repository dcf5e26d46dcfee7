"""What triples add to score, counts and entropy of chains of second order. Tables as in ``chain2_max``."""

from __future__ import annotations

from palmette._kernels.jit import kernel
from palmette._kernels.logs import entropy_of


@kernel()
def add_triple_scores(triple, step3, offsets, path, total):
    """Add the potentials of each path's triples to ``total``."""
    first3 = 0
    # total[s] += sum_t triple[t, y_t, y_{t+1}, y_{t+2}]; first3 counts the triples of the samples before: a sample of n
    # rows has max(n - 2, 0). O(rows), nothing allocated.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        for t in range(lo, hi - 2):
            total[s] += triple[(first3 + t - lo) * step3, path[t], path[t + 1], path[t + 2]]
        first3 += max(hi - lo - 2, 0)


@kernel()
def add_triple_counts(offsets, step3, path, weight, triple_out):
    """Add ``weight`` x indicator of each path's triples."""
    first3 = 0
    # The adjoint of ``add_triple_scores``. With step3 = 0 all triples are added to table 0.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        for t in range(lo, hi - 2):
            triple_out[(first3 + t - lo) * step3, path[t], path[t + 1], path[t + 2]] += weight[s]
        first3 += max(hi - lo - 2, 0)


@kernel()
def sample_entropy(n, node_marginal, pair_marginal, triple_marginal):
    """Entropy of one chain of n rows from its marginals: of its triples minus those of its inner pairs."""
    if n == 1:
        return entropy_of(node_marginal[:n].ravel())
    if n == 2:
        return entropy_of(pair_marginal[: n - 1].ravel())
    # H = sum_t H(y_t, y_{t+1}, y_{t+2}) - sum_t H(y_t, y_{t+1}), the second sum over pairs that two triples share.
    return entropy_of(triple_marginal[: n - 2].ravel()) - entropy_of(pair_marginal[1 : n - 2].ravel())
