"""The structure that the spans of a beam lead to, and what its parts score."""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.fast_rows import (
    BEYOND,
    CLOSE,
    CODES,
    INNER,
    N_CODED,
    SMALL,
    STACK,
    WIDTH,
)

HAIRPIN, INSIDE, MULTILOOP = 0, 1, 2
LEFT, PAIRED, TWO = 0, 1, 2  # where an M comes from: M(i, j-1), C(i, j), M2(i, j)


@kernel()
def find(spans, at, count, i):
    """The place of the span that begins at i."""
    for e in range(at, at + count):
        if spans[e] == i:
            return e
    return -1


@kernel()
def inside_code(letters, i):
    """Code of the left end of a pair that closes a loop."""
    return 6 * letters[i] + letters[i + 1]


@kernel()
def outside_codes(letters, i, j):
    """Place of the pair (i, j), seen from outside, in a table of codes."""
    before = letters[i - 1] if i > 0 else BEYOND
    after = letters[j + 1] if j + 1 < len(letters) else BEYOND
    return (6 * letters[i] + before) * CODES + 6 * letters[j] + after


@kernel()
def loop_score(p, q, l1, l2, right, i, inner, letters, by_letters, loops):
    """Of the pair (p, q) around (i, j) with score ``inner``: a stack, a bulge or an interior loop, without extras."""
    inside = inside_code(letters, p)
    if l1 + l2 == 0:
        return by_letters[(STACK + inside) * CODES + right] + inner
    score = by_letters[(CLOSE + inside) * CODES + right] + inner
    score += by_letters[INNER * CODES + outside_codes(letters, i, q - 1 - l2)]
    if l1 == 1 and l2 == 0:
        return score + loops.bulge_left[letters[p + 1]]
    if l1 == 0 and l2 == 1:
        return score + loops.bulge_right + by_letters[N_CODED + SMALL + letters[q - 1]]
    if l1 == 1 and l2 == 1:
        return score + by_letters[N_CODED + 6 * letters[p + 1] + letters[q - 1]]
    return score + loops.shapes[WIDTH * l2 + l1]


@kernel()
def trace_beam(
    letters, by_letters, loops, beam, c_i, c_n, c_score, c_kind, c_first, c_last, m_i, m_n, m_kind, two_i, two_n,
    two_split, from_pair, codes,
):  # fmt: skip
    """Write the structure that the kept spans lead to. Inner pairs are found again: the best one is the one."""
    n = len(letters)
    todo = np.empty((n + 2, 3), np.int64)  # kind of span (PAIRED, LEFT for M, TWO), first and last position
    waiting, j = 0, n
    while j > 0:
        i = from_pair[j]
        if i >= 0:
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = PAIRED, i, j - 1
            waiting += 1
            j = i
        else:
            j -= 1
    while waiting > 0:
        waiting -= 1
        kind, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        if kind == PAIRED:
            codes[i], codes[j] = j + 1, i + 1
            place = find(c_i, j * beam, c_n[j], i)
            if c_kind[place] == MULTILOOP:
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = TWO, c_first[place], c_last[place]
                waiting += 1
            elif c_kind[place] == INSIDE:
                best, first, last, right = 4.0 * NEVER, -1, -1, 6 * letters[j] + letters[j - 1]
                for l2 in range(min(loops.longest, int(loops.free_left[j])) + 1):
                    q = j - 1 - l2
                    if q < 0:
                        break
                    for e in range(q * beam, q * beam + c_n[q]):
                        l1 = c_i[e] - i - 1
                        if l1 < 0 or l1 + l2 > loops.longest or l1 > loops.free_right[i]:
                            continue
                        value = loop_score(
                            i, j, l1, l2, right, c_i[e], c_score[e], letters, by_letters, loops
                        )
                        if value > best:
                            best, first, last = value, c_i[e], q
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = PAIRED, first, last
                waiting += 1
        elif kind == TWO:
            split = two_split[find(two_i, j * beam, two_n[j], i)]
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = PAIRED, split, j
            todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = LEFT, i, split - 1
            waiting += 2
        else:
            found = m_kind[find(m_i, j * beam, m_n[j], i)]
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = found, i, j - (found == LEFT)
            waiting += 1
