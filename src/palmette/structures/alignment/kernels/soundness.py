"""Whether potentials are such that other kernels can read them: in one call, as every answer asks."""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels.jit import kernel


@kernel()
def all_finite(flat):
    """Whether all numbers of a flat array are finite: 0 times another number is not 0."""
    lanes, zero = simd.lanes_wide(flat), simd.splat_wide(flat, 0.0)
    whole, first, second = len(flat) // (2 * lanes) * 2 * lanes, zero, zero
    for k in range(0, whole, 2 * lanes):
        first = simd.fma(simd.load_wide(flat, k), zero, first)
        second = simd.fma(simd.load_wide(flat, k + lanes), zero, second)
    total = float(simd.total(simd.add(first, second)))
    for k in range(whole, len(flat)):
        total += flat[k] * 0.0
    return total == 0.0


@kernel()
def are_sound(substitution, letters, offsets, splits, unit, open_, extend, change, cells, has_cells):
    """Whether offsets, splits and symbols are in range and scores finite, and there is a cell for every match.

    Arrays have the right types, and shapes that go with the number of letters; the size of ``cells`` is looked at here.
    """
    if offsets[0] != 0 or offsets[len(offsets) - 1] != len(letters):
        return False
    n_cells = 0
    for s in range(len(splits)):
        length = offsets[s + 1] - offsets[s]
        if length < 0 or splits[s] < 0 or splits[s] > length:
            return False
        n_cells += splits[s] * (length - splits[s])
    if has_cells and len(cells) != n_cells:
        return False
    for t in range(len(letters)):
        if letters[t] < 0 or letters[t] >= len(substitution):
            return False
    fine = all_finite(substitution.ravel()) and all_finite(unit.ravel()) and all_finite(open_.ravel())
    return fine and all_finite(extend.ravel()) and all_finite(change) and all_finite(cells)
