"""A good structure of a long sequence, in time and memory linear in its length: a beam of spans at each right end.

The recursion is that of the exact search, read from left to right. At each j only the ``beam`` best spans (i, j) are
kept of each kind, compared by their score and the best score E(i) of what is left of them:

* ``C`` (i pairs with j), ``M`` (one branch of a multiloop or more, the first one at i), ``M2`` (two or more);
* pairs whose i is open, around unpaired positions or around an M2. All those of one i wait at the next j that can pair
  with i, so that there is one of each kind for each i; they are cheap, and ``OPEN`` times as many are kept.

A pair is worth what can still stack around it, too. Without, the innermost pair of a long helix, which pays for its
loop, looks no better than the many pairs that end there; most of the best structure was lost so.

A kept C(i, j) is added to all interior loops around it at once: in the columns of the next 31 right ends, vectors over
the left end p. Multiloops have at most 30 unpaired positions before their first branch. Nothing else is approximate.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import NEVER
from palmette._kernels.jit import kernel
from palmette.structures.folding.kernels.beam_trace import (
    HAIRPIN,
    INSIDE,
    LEFT,
    MULTILOOP,
    PAIRED,
    TWO,
    inside_code,
    loop_score,
    outside_codes,
    trace_beam,
)
from palmette.structures.folding.kernels.fast_rows import (
    BEYOND,
    BRANCH,
    CLOSE,
    CLOSE_MULTI,
    CODES,
    INNER,
    STACK,
    WIDTH,
)

OPEN = 4
AHEAD = 30  # pairs around a pair that are looked at
BLOCK = 32  # left ends that are noted together
PAD = 64  # before the first left end of a column


@kernel()
def pair_extra(i, j, n, pairs):
    """What is added to the pair (i, j) from outside; NEVER where it is forbidden."""
    out = pairs.side[i] + pairs.side[j]
    if len(pairs.dense):
        out += pairs.dense[i * n + j]
    for at in range(pairs.starts[i], pairs.starts[i + 1]):
        if pairs.columns[at] == j:
            out += pairs.values[at]
    if len(pairs.mask) and not pairs.mask[i * n + j]:
        return NEVER
    if len(pairs.partner):
        known, other = pairs.partner[i], pairs.partner[j]
        if (known >= 0 and known != j + 1) or (other >= 0 and other != i + 1):
            return NEVER
    return out


@kernel()
def next_partners(letters, allowed, out):
    """``out[a * n + j]``: the first position after j that letter a may pair with, n if there is none."""
    n = len(letters)
    for a in range(5):
        found = n
        for j in range(n - 1, -1, -1):
            out[a * n + j] = found
            if allowed[5 * a + letters[j]]:
                found = j


@kernel()
def kept(count, which, score, left, ahead, beam, values):
    """Move the ``beam`` best of ``which`` (by score, E and what is ahead) to the front; how many there are."""
    if count <= beam:
        return count
    for t in range(count):
        values[t] = score[which[t]] + left[which[t]] + ahead[which[t]]
    least = np.partition(values[:count], count - beam)[count - beam]
    n = 0
    ties = beam
    for t in range(count):
        if values[t] > least:
            ties -= 1
    for t in range(count):
        if values[t] > least or (values[t] == least and ties > 0):
            if values[t] == least:
                ties -= 1
            which[t], which[n] = which[n], which[t]
            values[t], values[n] = values[n], values[t]
            n += 1
    return n


@kernel()
def offer(i, value, kind, first, last, count, which, score, kinds, firsts, lasts):
    """Note a span that begins at i, or a better way to have it; returns the number of spans."""
    if score[i] <= 0.5 * NEVER:
        if value <= 0.5 * NEVER:
            return count
        which[count] = i
        count += 1
    elif value <= score[i]:
        return count
    score[i], kinds[i], firsts[i], lasts[i] = value, kind, first, last
    return count


@kernel()
def mirrored_shapes(shapes, out):
    """``out[32 * l2 + 31 - l1]``: left ends rise where lengths fall."""
    for l2 in range(31):
        for l1 in range(32):
            out[WIDTH * l2 + 31 - l1] = shapes[WIDTH * l2 + l1]


@kernel()
def push_around(
    i, j, n, value, shapes, most_left, most_right, columns, width, touched, blocks, n_blocks, n_touched
):
    """Offer (i, j) to the interior loops around it: ``column(j+1+l2)[i-1-l1] = max(., value + shapes[l1, l2])``."""
    lanes = simd.lanes_wide(columns)
    v = simd.splat_wide(columns, value)
    first, last = (i - 1 - min(most_left, 30) + PAD) // BLOCK, (i - 1 + PAD) // BLOCK
    for l2 in range(min(30, min(most_right, n - 2 - j)) + 1):
        slot = (j + 1 + l2) & 31
        at, shape = slot * width + PAD + i - 32, WIDTH * l2
        for k in range((l2 + 1) // lanes * lanes, 32, lanes):
            new = simd.add(v, simd.load_wide(shapes, shape + k))
            simd.store(columns, at + k, simd.larger(new, simd.load_wide(columns, at + k)))
        for block in range(first, last + 1):
            if not touched[slot * n_blocks + block]:
                touched[slot * n_blocks + block] = True
                blocks[slot * n_blocks + n_touched[slot]] = block
                n_touched[slot] += 1


@kernel()
def beam_structure(by_letters, loops, pairs, allowed, beam, codes):
    """Write the codes of a good structure; returns its score, at most ``NEVER / 2`` if none was found."""
    letters = loops.letters
    n, min_hairpin, multi = len(letters), loops.min_hairpin, loops.multi
    unpaired = multi.max()  # that of any position which may stay unpaired
    partners = np.empty(5 * n, np.int64)
    next_partners(letters, allowed, partners)
    shapes, own_shapes, cut = np.empty(31 * WIDTH), np.empty(31 * WIDTH), np.empty(len(loops.shapes))
    mirrored_shapes(loops.shapes, shapes)
    # Kept spans (i, j) stand from j * beam on.
    c_i, c_n, c_score = np.empty(n * beam, np.int32), np.zeros(n, np.int64), np.empty(n * beam)
    c_kind, c_first, c_last = (
        np.empty(n * beam, np.int8),
        np.empty(n * beam, np.int32),
        np.empty(n * beam, np.int32),
    )
    m_i, m_n, m_score, m_kind = (
        np.empty(n * beam, np.int32), np.zeros(n, np.int64), np.empty(n * beam), np.empty(n * beam, np.int8)
    )  # fmt: skip
    two_i, two_n, two_split = (
        np.empty(n * beam, np.int32),
        np.zeros(n, np.int64),
        np.empty(n * beam, np.int32),
    )
    # Spans that end at the current j, by their beginning, for C, M and M2.
    score, m_best, two_best = np.full(n, NEVER), np.full(n, NEVER), np.full(n, NEVER)
    kinds, firsts, lasts = np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n, np.int32)
    m_kinds, m_firsts, m_lasts = np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n, np.int32)
    two_kinds, two_firsts, two_lasts = np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n, np.int32)
    which, m_which, two_which, values = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
    )
    # Open pairs by the j where they wait: a list for each j, linked by i.
    hairpin_head, hairpin_link = np.full(n + 1, -1), np.empty(n, np.int64)
    multi_head, multi_link, multi_at = np.full(n + 1, -1), np.empty(n, np.int64), np.full(n, -1)
    multi_score, multi_first, multi_last = np.full(n, NEVER), np.empty(n, np.int32), np.empty(n, np.int32)
    # Interior loops that wait for their closing pair: 32 columns over the left end.
    n_blocks = (n + PAD) // BLOCK + 2
    width = n_blocks * BLOCK + PAD
    columns, touched = np.full(32 * width, NEVER), np.zeros(32 * n_blocks, np.bool_)
    blocks, n_touched = np.empty(32 * n_blocks, np.int64), np.zeros(32, np.int64)
    ahead, nothing = np.zeros(n), np.zeros(n)
    left, from_pair = np.zeros(n + 1), np.full(n + 1, -1)  # E(i): best score of the positions before i
    for j in range(n):
        right = 6 * letters[j] + (letters[j - 1] if j > 0 else BEYOND)
        count = 0
        # -- C: loops that wait in this column, then those that depend on letters, hairpins and multiloops ------
        slot = j & 31
        for e in range(n_touched[slot]):
            block = blocks[slot * n_blocks + e]
            touched[slot * n_blocks + block] = False
            for p in range(max(0, block * BLOCK - PAD), min(j - 2, (block + 1) * BLOCK - PAD)):
                at = slot * width + PAD + p
                if columns[at] > 0.5 * NEVER:
                    close = by_letters[(CLOSE + inside_code(letters, p)) * CODES + right]
                    count = offer(
                        p, close + columns[at], INSIDE, -1, -1, count, which, score, kinds, firsts, lasts
                    )
            for k in range(block * BLOCK, (block + 1) * BLOCK):
                columns[slot * width + k] = NEVER
        n_touched[slot] = 0
        for l2 in range(2):
            if j - 1 - l2 < 0 or loops.free_left[j] < l2:
                break
            start = (j - 1 - l2) * beam
            for e in range(start, start + c_n[j - 1 - l2]):
                for l1 in range(2):
                    p = c_i[e] - 1 - l1
                    if p < 0 or l1 + l2 > loops.longest or loops.free_left[c_i[e]] < l1:
                        break
                    value = loop_score(p, j, l1, l2, right, c_i[e], c_score[e], letters, by_letters, loops)
                    count = offer(p, value, INSIDE, -1, -1, count, which, score, kinds, firsts, lasts)
        waiting, i = 0, hairpin_head[j]
        while i >= 0:
            close = by_letters[(CLOSE + inside_code(letters, i)) * CODES + right]
            values[i] = close + loops.hairpin[j - i]
            m_which[waiting], m_best[i] = i, values[i]
            ahead[i] = helix_around(i, j, n, letters, by_letters, pairs)
            waiting += 1
            i = hairpin_link[i]
        n_open = kept(waiting, m_which, m_best, left, ahead, OPEN * beam, two_best)
        for e in range(waiting):
            i = m_which[e]
            value, two_best[e] = m_best[i], NEVER
            m_best[i] = NEVER
            if e < n_open:
                count = offer(i, value, HAIRPIN, -1, -1, count, which, score, kinds, firsts, lasts)
                wait_for_partner(i, j, n, letters, partners, loops.free_left, i, hairpin_head, hairpin_link)
        waiting, i = 0, multi_head[j]
        while i >= 0:
            m_which[waiting] = i
            waiting += 1
            i = multi_link[i]
        n_open = kept(waiting, m_which, multi_score, left, nothing, OPEN * beam, two_best)
        for e in range(waiting):
            i, two_best[e] = m_which[e], NEVER
            if e < n_open:
                close = by_letters[(CLOSE_MULTI + inside_code(letters, i)) * CODES + right]
                count = offer(
                    i, close + multi_score[i], MULTILOOP, multi_first[i], multi_last[i], count, which, score, kinds,
                    firsts, lasts,
                )  # fmt: skip
                q = wait_for_partner(
                    i, j, n, letters, partners, loops.free_left, j - 1, multi_head, multi_link
                )
                multi_at[i] = q
                multi_score[i] += (q - j) * unpaired
        for e in range(count):
            i = which[e]
            score[i] = max(score[i] + pair_extra(i, j, n, pairs), NEVER)
            ahead[i] = helix_around(i, j, n, letters, by_letters, pairs)
        n_c = kept(count, which, score, left, ahead, beam, values)
        start, placed = j * beam, 0
        n_m, n_two = 0, 0
        left[j + 1], from_pair[j + 1] = left[j] + loops.external[j], -1
        for e in range(n_c):
            i, value = which[e], score[which[e]]
            if value <= 0.5 * NEVER:
                continue
            place = start + placed
            placed += 1
            c_i[place], c_score[place], c_kind[place] = i, value, kinds[i]
            c_first[place], c_last[place] = firsts[i], lasts[i]
            around = outside_codes(letters, i, j)
            if i > 0 and j + 1 < n:
                own, most_left = shapes, 30
                if loops.limited and loops.free_left[i] < 30:
                    most_left = int(loops.free_left[i])
                    cut[:] = loops.shapes
                    for l2 in range(31):
                        cut[WIDTH * l2 + most_left + 1 : WIDTH * (l2 + 1)] = NEVER
                    mirrored_shapes(cut, own_shapes)
                    own = own_shapes
                push_around(
                    i, j, n, value + by_letters[INNER * CODES + around], own, most_left, int(loops.free_right[j]),
                    columns, width, touched, blocks, n_blocks, n_touched,
                )  # fmt: skip
            branch = value + by_letters[BRANCH * CODES + around]
            if left[i] + branch + loops.external_paired > left[j + 1]:
                left[j + 1], from_pair[j + 1] = left[i] + branch + loops.external_paired, i
            branch += loops.multi_paired
            n_m = offer(i, branch, PAIRED, -1, -1, n_m, m_which, m_best, m_kinds, m_firsts, m_lasts)
            if i > 0:
                for at in range((i - 1) * beam, (i - 1) * beam + m_n[i - 1]):
                    n_two = offer(
                        m_i[at], m_score[at] + branch, 0, i, -1, n_two, two_which, two_best, two_kinds, two_firsts,
                        two_lasts,
                    )  # fmt: skip
        c_n[j] = placed
        left[j + 1] = max(left[j + 1], NEVER)
        for e in range(count):
            score[which[e]] = NEVER
        # -- M2: as an M, and inside a pair that is open now -------------------------------------------------------
        n_kept = kept(n_two, two_which, two_best, left, nothing, beam, values)
        two_n[j] = n_kept
        for e in range(n_kept):
            i, value = two_which[e], two_best[two_which[e]]
            two_i[start + e], two_split[start + e] = i, two_firsts[i]
            n_m = offer(i, value, TWO, -1, -1, n_m, m_which, m_best, m_kinds, m_firsts, m_lasts)
            for l1 in range(min(30, int(loops.free_left[i])) + 1):
                p = i - 1 - l1
                if p < 0:
                    break
                q = partners[letters[p] * n + j]
                if q >= n or loops.free_left[q] < q - j - 1:
                    continue
                total = value + (l1 + q - j - 1) * unpaired
                if multi_at[p] != q:
                    multi_at[p], multi_score[p] = q, NEVER
                    multi_link[p], multi_head[q] = multi_head[q], p
                if total > multi_score[p]:
                    multi_score[p], multi_first[p], multi_last[p] = total, i, j
        for e in range(n_two):
            two_best[two_which[e]] = NEVER
        # -- M: one more unpaired position ---------------------------------------------------------------------------
        if j > 0:
            for at in range((j - 1) * beam, (j - 1) * beam + m_n[j - 1]):
                n_m = offer(
                    m_i[at],
                    m_score[at] + multi[j],
                    LEFT,
                    -1,
                    -1,
                    n_m,
                    m_which,
                    m_best,
                    m_kinds,
                    m_firsts,
                    m_lasts,
                )
        n_kept = kept(n_m, m_which, m_best, left, nothing, beam, values)
        m_n[j] = n_kept
        for e in range(n_kept):
            i = m_which[e]
            m_i[start + e], m_score[start + e], m_kind[start + e] = i, m_best[i], m_kinds[i]
        for e in range(n_m):
            m_best[m_which[e]] = NEVER
        wait_for_partner(
            j, j + min_hairpin, n, letters, partners, loops.free_left, j, hairpin_head, hairpin_link
        )
    codes[:] = 0
    if left[n] > 0.5 * NEVER:
        trace_beam(
            letters, by_letters, loops, beam, c_i, c_n, c_score, c_kind, c_first, c_last, m_i, m_n, m_kind, two_i,
            two_n, two_split, from_pair, codes,
        )  # fmt: skip
    return left[n]


@kernel()
def helix_around(i, j, n, letters, by_letters, pairs):
    """What the best helix adds that stacks on (i, j) from outside, without a loop; 0 if none adds anything."""
    best, total = 0.0, 0.0
    for k in range(1, min(AHEAD, min(i, n - 1 - j)) + 1):
        p, q = i - k, j + k
        stack = by_letters[(STACK + inside_code(letters, p)) * CODES + 6 * letters[q] + letters[q - 1]]
        total += stack + pair_extra(p, q, n, pairs)
        if total <= 0.5 * NEVER:
            break
        best = max(best, total)
    return best


@kernel()
def wait_for_partner(i, j, n, letters, partners, free_left, before, head, link):
    """Put i on the list of the next position after j that it may pair with, and return that, or -1 if there is none.

    All positions after ``before`` stay unpaired.
    """
    q = partners[letters[i] * n + j] if j < n else n
    if q >= n or free_left[q] < q - before - 1:
        return -1
    link[i], head[q] = head[q], i
    return q
