"""The best structure of one sequence, from tables to codes: the fast kernels for maxima, in their order."""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_max import fill_max
from palmette.structures.folding.kernels.fast_rows import row_starts, scores_of_loops
from palmette.structures.folding.kernels.fast_trace import trace


@kernel()
def best_structure(tables, by_letters, sequence, must_pair, min_hairpin, longest, pairs, room, codes):
    """Write the codes of the best structure, in the precision of ``pairs.side``; two triangles of room.

    Returns its score, at most ``NEVER / 2`` if there is none.
    """
    n, like = len(sequence), pairs.side
    loops = scores_of_loops(tables, by_letters, sequence, must_pair, min_hairpin, longest, like)
    base = np.empty(n, np.int64)
    size = row_starts(n, 8, 2 * simd.lanes_wide(like), base)
    c, m = room[:size], room[size : 2 * size]
    f, chosen = np.empty(n + 1, like.dtype), np.empty(n, np.int64)
    fill_max(loops, pairs, base, c, m, f, chosen)
    codes[:] = 0
    if f[0] > 0.5 * NEVER:
        trace(loops, pairs, base, c, m, chosen, codes)
    return f[0]
