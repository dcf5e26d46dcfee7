"""Column files: which bytes are cells, which lines are tokens, where sentences end."""

from __future__ import annotations

from palmette._kernels.jit import kernel

LAYOUT, TOKEN, NOT_A_WORD = 0, 1, 2
COMMENT, DOCUMENT = 1, 2

_TAB, _BLANK, _MINUS, _POINT, _ZERO, _NINE = 9, 32, 45, 46, 48, 57


@kernel()
def _space(text, at, stop):
    """Bytes of the white-space character (as of ``str.isspace``) at a place of a UTF-8 text; 0 if it is another one."""
    c = text[at]
    if c <= 32:
        return 1 if 9 <= c <= 13 or 28 <= c <= 32 else 0
    if c < 0xC2 or at + 1 >= stop:
        return 0
    d = text[at + 1]
    if c == 0xC2:
        return 2 if d == 0x85 or d == 0xA0 else 0
    if at + 2 >= stop:
        return 0
    e = text[at + 2]
    if c == 0xE1:
        return 3 if d == 0x9A and e == 0x80 else 0
    if c == 0xE2:
        inside = d == 0x80 and (0x80 <= e <= 0x8A or e == 0xA8 or e == 0xA9 or e == 0xAF)
        return 3 if inside or (d == 0x81 and e == 0x9F) else 0
    return 3 if c == 0xE3 and d == 0x80 and e == 0x80 else 0


@kernel()
def is_blank(text, start, stop):
    """Whether all characters are white space."""
    at = start
    while at < stop:
        size = _space(text, at, stop)
        if size == 0:
            return False
        at += size
    return True


@kernel()
def _is_range(text, start, stop):
    """Whether a cell is two numbers with - or . in between: a multiword token or an empty node of CoNLL-U."""
    at = start
    while at < stop and _ZERO <= text[at] <= _NINE:
        at += 1
    if at == start or at + 1 >= stop or (text[at] != _MINUS and text[at] != _POINT):
        return False
    for p in range(at + 1, stop):
        if not _ZERO <= text[p] <= _NINE:
            return False
    return True


@kernel()
def cut_cells(text, starts, ends, comment, conllu, tabs, kinds, state, offsets, cell_starts, cell_stops):
    """Read lines ``text[starts[i]:ends[i]]``, line ends not included; number of the first with other columns, or -1.

    ``comment[i]`` marks lines that are comments where a sentence may begin, in CoNLL-U anywhere; and those that begin a
    document, which end a sentence as blank lines do and are no words. ``kinds[i]`` becomes
    the kind of the line and ``cell_starts[c, k]:cell_stops[c, k]`` column c of the k-th token of these lines. ``state``
    is [tokens in the open sentence, sentences so far]; ``offsets`` of all sentences are filled in from there.
    """
    n_columns = len(cell_starts)
    n_tokens = 0
    # One pass over the bytes, nothing allocated. Invariants: offsets[state[1]] is where the open sentence begins, and
    # n_tokens tokens of these lines are cut. Cells of a token that turns out to be no word are overwritten by the next.
    for i in range(len(starts)):
        start, end = starts[i], ends[i]
        kinds[i] = LAYOUT
        document = comment[i] == DOCUMENT
        if document or is_blank(text, start, end):
            if state[0] > 0:
                offsets[state[1] + 1] = offsets[state[1]] + state[0]
                state[1] += 1
                state[0] = 0
            if document:
                kinds[i] = NOT_A_WORD
            continue
        if comment[i] == COMMENT and (conllu or state[0] == 0):
            continue
        n, at = 0, start
        while True:
            if not tabs:
                while at < end and (text[at] == _BLANK or text[at] == _TAB):
                    at += 1
                if at == end:
                    break
            stop = at
            while stop < end and text[stop] != _TAB and (tabs or text[stop] != _BLANK):
                stop += 1
            if n < n_columns:
                cell_starts[n, n_tokens], cell_stops[n, n_tokens] = at, stop
            n += 1
            at = stop + 1
            if stop >= end:
                break
        if n != n_columns:
            return i
        if conllu and _is_range(text, cell_starts[0, n_tokens], cell_stops[0, n_tokens]):
            kinds[i] = NOT_A_WORD
        else:
            kinds[i] = TOKEN
            n_tokens += 1
            state[0] += 1
    return -1
