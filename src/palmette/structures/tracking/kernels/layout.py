"""Checks of layouts in one pass, since every answer makes them."""

from __future__ import annotations

from palmette._kernels.jit import kernel

SOUND, FALLING, EMPTY, OUTSIDE, UNSORTED = 0, 1, 2, 3, 4


@kernel()
def fault_of(offsets, ptr, cell, n_cells):
    """What is wrong with the events of a batch, and which event it is; ``SOUND`` and -1 if nothing is.

    The caller has checked types, lengths, and that ``offsets`` and ``ptr`` begin with 0 and end with the number of
    events and of entries. An entry is read only where ``offsets`` and ``ptr`` have not fallen before.
    """
    for s in range(len(offsets) - 1):
        if offsets[s + 1] < offsets[s] or offsets[s + 1] > len(ptr) - 1:
            return FALLING, offsets[s]
        for e in range(offsets[s], offsets[s + 1]):
            if ptr[e + 1] < ptr[e] or ptr[e + 1] > len(cell):
                return FALLING, e
            if ptr[e + 1] == ptr[e]:
                return EMPTY, e
            last = -1
            for j in range(ptr[e], ptr[e + 1]):
                if cell[j] < 0 or cell[j] >= n_cells[s]:
                    return OUTSIDE, e
                if cell[j] <= last:
                    return UNSORTED, e
                last = cell[j]
    return SOUND, -1
