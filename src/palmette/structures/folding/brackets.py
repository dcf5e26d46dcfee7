"""Dot-bracket notation: strings of one character per position, and the pairs (i, j), i < j, that they mean.

Positions count from 0. ``()``, ``[]``, ``{}``, ``<>`` and letters (``A`` opens, ``a`` closes) are pairs, each kind with
a stack of its own; ``. , : _ - ~`` are unpaired positions. Pairs of two kinds may cross: such structures are
pseudoknots, which :func:`nested` takes apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase

UNPAIRED = ".,:_-~"
"""Characters of unpaired positions; all but the first are those of consensus structures (WUSS)."""

OPENING = "([{<" + ascii_uppercase
CLOSING = ")]}>" + ascii_lowercase
_OPENS = dict(zip(CLOSING, OPENING))

Pair = tuple[int, int]


class BracketError(ValueError):
    """A string that is no structure; `position` says where, from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def parse_brackets(text: str) -> list[Pair]:
    """The pairs of a dot-bracket string, by their first position; pairs of different brackets may cross.

    Raises
    ------
    BracketError
        An unknown character, or a bracket without a partner.

    Examples
    --------
    >>> parse_brackets("((..[[.))]].")
    [(0, 8), (1, 7), (4, 10), (5, 9)]
    >>> parse_brackets("(()")
    Traceback (most recent call last):
    palmette.structures.folding.brackets.BracketError: position 0: '(' is never closed
    """
    stacks: dict[str, list[int]] = {}
    pairs = []
    for position, character in enumerate(text):
        if character in UNPAIRED:
            continue
        if character in OPENING:
            stacks.setdefault(character, []).append(position)
        elif character in CLOSING:
            opening = _OPENS[character]
            if not stacks.get(opening):
                raise BracketError(
                    f"position {position}: {character!r} closes nothing; every one needs a {opening!r} before it",
                    position,
                )
            pairs.append((stacks[opening].pop(), position))
        else:
            raise BracketError(
                f"position {position}: {character!r} is neither a bracket nor an unpaired position "
                f"({' '.join(UNPAIRED)})",
                position,
            )
    left = [(stack[-1], opening) for opening, stack in stacks.items() if stack]
    if left:
        position, opening = min(left)
        raise BracketError(f"position {position}: {opening!r} is never closed", position)
    return sorted(pairs)


def format_brackets(pairs: Iterable[Pair], length: int) -> str:
    """The dot-bracket string of pairs; those that cross others get further brackets, then letters.

    >>> format_brackets([(0, 8), (1, 7), (4, 10), (5, 9)], 12)
    '((..[[.))]].'
    """
    characters = ["."] * length
    rest = sorted(pairs)
    for opening, closing in zip(OPENING, CLOSING):
        if not rest:
            break
        kept, rest = nested(rest)
        for i, j in kept:
            characters[i], characters[j] = opening, closing
    if rest:
        raise ValueError(f"{len(rest)} pairs cross more than {len(OPENING)} others; no brackets are left")
    return "".join(characters)


def check_pairs(pairs: Iterable[Sequence[int]], length: int) -> list[Pair]:
    """Pairs with i < j, sorted; refuses positions outside, pairs of a position with itself, and two pairs of one.

    >>> check_pairs([(5, 1), (0, 6)], 7)
    [(0, 6), (1, 5)]
    """
    partner: dict[int, int] = {}
    for one, other in pairs:
        i, j = (int(one), int(other)) if one < other else (int(other), int(one))
        if not 0 <= i < j < length:
            what = "pairs a position with itself" if i == j else f"is outside of 0 to {length - 1}"
            raise ValueError(f"pair ({i}, {j}) {what}; correct it")
        for position, its in ((i, j), (j, i)):
            if partner.get(position, its) != its:
                raise ValueError(
                    f"position {position} is paired twice, with {partner[position]} and {its}; leave one pair out"
                )
            partner[position] = its
    return [(i, j) for i, j in sorted(partner.items()) if i < j]


def crossing(pairs: Sequence[Pair]) -> tuple[Pair, Pair] | None:
    """The first two pairs that cross, i < k < j < l; None if all are nested.

    >>> crossing([(0, 8), (4, 10)])
    ((0, 8), (4, 10))
    """
    open_pairs: list[Pair] = []
    for pair in sorted(pairs):
        while open_pairs and open_pairs[-1][1] < pair[0]:
            open_pairs.pop()
        if open_pairs and open_pairs[-1][1] < pair[1]:
            return open_pairs[-1], pair
        open_pairs.append(pair)
    return None


def nested(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The largest set of pairs of which no two cross, and the others.

    Among sets of the same size the one that keeps the pairs that begin first. Pairs that cross no other are kept.

    >>> nested([(0, 8), (1, 7), (4, 10)])
    ([(0, 8), (1, 7)], [(4, 10)])
    """
    if crossing(pairs) is None:
        return sorted(pairs), []
    kept: list[Pair] = []
    for group in _crossing_groups(sorted(pairs)):
        kept += group if len(group) == 1 else _largest_nested(group)
    chosen = set(kept)
    return sorted(kept), [pair for pair in sorted(pairs) if pair not in chosen]


def _crossing_groups(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """Groups of pairs that are connected by crossing."""
    group = list(range(len(pairs)))

    def root(a: int) -> int:
        while group[a] != a:
            group[a] = group[group[a]]
            a = group[a]
        return a

    open_pairs: list[int] = []
    for b, (i, j) in enumerate(pairs):
        open_pairs = [a for a in open_pairs if pairs[a][1] > i]
        for a in open_pairs:
            if pairs[a][1] < j:
                group[root(a)] = root(b)
        open_pairs.append(b)
    members: dict[int, list[Pair]] = {}
    for a, pair in enumerate(pairs):
        members.setdefault(root(a), []).append(pair)
    yield from members.values()


def _largest_nested(pairs: list[Pair]) -> list[Pair]:
    """By dynamic programming over the ends of the pairs.

    ``most[a][b]``: the largest nested set within the ends a to b - 1 is that without the end a, or the pair that begins
    at a with the best inside and the best behind it.
    """
    ends = sorted(position for pair in pairs for position in pair)
    place = {position: a for a, position in enumerate(ends)}
    partner = {place[i]: place[j] for i, j in pairs}
    n = len(ends)
    most = [[0] * (n + 1) for _ in range(n + 2)]
    for a in range(n - 1, -1, -1):
        c = partner.get(a)
        row, without = most[a], most[a + 1]
        for b in range(a + 1, n + 1):
            row[b] = without[b]
            if c is not None and c < b:
                row[b] = max(row[b], 1 + without[c] + most[c + 1][b])
    kept, spans = [], [(0, n)]
    while spans:
        a, b = spans.pop()
        if b - a < 2 or most[a][b] == 0:
            continue
        c = partner.get(a)
        if c is not None and c < b and most[a][b] == 1 + most[a + 1][c] + most[c + 1][b]:
            kept.append((ends[a], ends[c]))
            spans += [(a + 1, c), (c + 1, b)]
        else:
            spans.append((a + 1, b))
    return kept
