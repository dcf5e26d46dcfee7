"""The best structure of one sequence, from tables to codes: the fast kernels for maxima, in their order."""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_max import MARGIN, fill_max
from palmette.structures.folding.kernels.fast_rows import (
    N_ROWS,
    N_SHAPES,
    free_runs,
    hairpins,
    letter_rows,
    row_starts,
    shapes_of_interior_loops,
)
from palmette.structures.folding.kernels.fast_trace import trace
from palmette.structures.folding.layout import (
    BULGE_NUCLEOTIDE,
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    INTERIOR,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)


@kernel()
def best_structure(
    tables, by_letters, sequence, min_hairpin, must_pair, side, starts, columns, values, dense, may_pair, like, codes
):  # fmt: skip
    """Write the codes of the best structure, in the precision of ``like``; returns its score, or NEVER if there is none.

    ``side[t]`` is added for every pair that position t is in (three vectors longer than the sequence).
    """
    letters = sequence.astype(np.int64)
    n = len(letters)
    nothing = like.dtype.type(NEVER)
    pitch = n + MARGIN
    rows, shapes = np.empty(N_ROWS * pitch, like.dtype), np.empty(N_SHAPES, like.dtype)
    hairpin, bulge_left = np.empty(n + MARGIN, like.dtype), np.empty(6, like.dtype)
    by_letter = by_letters.astype(like.dtype)
    letter_rows(letters, must_pair, by_letter, nothing, like.dtype.type(tables[INTERIOR + 1]), pitch, rows)
    shapes_of_interior_loops(tables, shapes)
    hairpins(tables, min_hairpin, hairpin)
    for a in range(5):
        bulge_left[a] = tables[INTERIOR + 31] + tables[BULGE_NUCLEOTIDE + a]
    multi, external = np.full(n, nothing), np.full(n, nothing)
    limited = False
    for t in range(n):
        if must_pair[t]:
            limited = True
        else:
            multi[t], external[t] = tables[MULTI_UNPAIRED], tables[EXTERNAL_UNPAIRED]
    free_left, free_right = np.empty(n + MARGIN, like.dtype), np.empty(n, np.int64)
    free_runs(must_pair, free_left, free_right)
    base = np.empty(n, np.int64)
    size = row_starts(n, 8, 2 * simd.lanes_wide(like), base)
    c, m = np.empty(size, like.dtype), np.empty(size, like.dtype)
    f, chosen = np.empty(n + 1, like.dtype), np.empty(n, np.int64)
    multi_paired, more = like.dtype.type(tables[MULTI_PAIRED]), like.dtype.type(tables[EXTERNAL_PAIRED])
    fill_max(
        letters, min_hairpin, rows, pitch, shapes, hairpin, bulge_left, multi_paired, multi, external, more, free_left,
        free_right, limited, side, starts, columns, values, dense, may_pair, base, c, m, f, chosen,
    )  # fmt: skip
    codes[:] = 0
    if f[0] > 0.5 * nothing:
        trace(
            letters, min_hairpin, rows, pitch, shapes, hairpin, bulge_left, multi_paired, multi, free_left, free_right,
            side, starts, columns, values, dense, may_pair, base, c, m, chosen, codes,
        )  # fmt: skip
    return f[0]
