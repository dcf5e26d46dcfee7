"""Lines of feature templates, written by what they have in common (`palmette.features.Template` has the notation)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cells(*rows: int, column: int = 0, macro: str = "x", argument: str = "") -> str:
    """A feature of the cells of a column in some rows.

    >>> cells(-1, 0), cells(0, macro="t", argument=',"[0-9]"')
    ('%x[-1,0]/%x[0,0]', '%t[0,0,"[0-9]"]')
    """
    return "/".join(f"%{macro}[{row},{column}{argument}]" for row in rows)


def grams(column: int = 0, lengths: Sequence[int] = (1,), reach: int = 2, macro: str = "x") -> list[str]:
    """Features of neighbouring rows, at most `reach` away: of single ones, pairs, ... as `lengths` says.

    >>> grams(1, (1, 2), reach=1)
    ['%x[-1,1]', '%x[0,1]', '%x[1,1]', '%x[-1,1]/%x[0,1]', '%x[0,1]/%x[1,1]']
    """
    return [
        cells(*range(first, first + length), column=column, macro=macro)
        for length in lengths
        for first in range(-reach, reach - length + 2)
    ]


def affixes(macro: str, sizes: Iterable[int], row: int = 0, column: int = 0) -> list[str]:
    """How the word in a row begins (macro ``P``) or ends (``S``).

    >>> affixes("S", (2, 3), row=-1)
    ['%S[-1,0,2]', '%S[-1,0,3]']
    """
    return [cells(row, column=column, macro=macro, argument=f",{size}") for size in sizes]


def template(features: Iterable[str], edges: Iterable[str] = ()) -> str:
    """A template with these features of labels, label transitions, and features of label pairs.

    >>> print(template(grams(reach=0), [cells(0, column=1)]))
    U0:%x[0,0]
    B
    B0:%x[0,1]
    """
    lines = [f"U{k}:{feature}" for k, feature in enumerate(features)]
    return "\n".join([*lines, "B", *(f"B{k}:{feature}" for k, feature in enumerate(edges))])
