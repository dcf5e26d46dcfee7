"""Lines of feature templates, written by what they have in common (`palmette.features.Template` has the notation).

Columns are numbers, or names that `named_template` replaces by numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from palmette.features.readable import SHOWN

_MACRO = re.compile(r"%(\w)\[(-?\d+),(\w+)(?:,([^\]]*))?\]")


def cells(*rows: int, column: int | str = 0, macro: str = "x", argument: str = "") -> str:
    """A feature of the cells of a column in some rows.

    >>> cells(-1, 0), cells(0, macro="t", argument=',"[0-9]"')
    ('%x[-1,0]/%x[0,0]', '%t[0,0,"[0-9]"]')
    """
    return "/".join(f"%{macro}[{row},{column}{argument}]" for row in rows)


def grams(
    column: int | str = 0, lengths: Sequence[int] = (1,), reach: int = 2, macro: str = "x"
) -> list[str]:
    """Features of neighbouring rows, at most `reach` away: of single ones, pairs, ... as `lengths` says.

    >>> grams(1, (1, 2), reach=1)
    ['%x[-1,1]', '%x[0,1]', '%x[1,1]', '%x[-1,1]/%x[0,1]', '%x[0,1]/%x[1,1]']
    """
    return [
        cells(*range(first, first + length), column=column, macro=macro)
        for length in lengths
        for first in range(-reach, reach - length + 2)
    ]


def affixes(macro: str, sizes: Iterable[int], row: int = 0, column: int | str = 0) -> list[str]:
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


def named_template(features: Iterable[str], edges: Iterable[str], columns: Sequence[str]) -> str:
    """A template of features of columns that have names; features of other columns are left out.

    Features are called by what they read, so that reports can be read without the template.

    >>> lines = [*grams("pos", (1, 2), reach=1)[2:4], *affixes("S", (3,), column="word"), cells(0, column="chunk")]
    >>> print(named_template(lines, [cells(0, column="pos")], ["word", "pos"]))
    #! columns = word pos
    U.pos[1]=%x[1,1]
    U.pos[-1]|pos[0]=%x[-1,1]|%x[0,1]
    U.lower(suffix3(word[0]))=%S[0,0,3]
    B
    B.pos[0]=%x[0,1]
    """
    number = {name: k for k, name in enumerate(columns)}

    def written(prefix: str, lines: Iterable[str]) -> list[str]:
        made = []
        for line in lines:
            macros = [match.groups() for match in _MACRO.finditer(line)]
            if all(column in number for _, _, column, _ in macros):
                shown = "|".join(
                    SHOWN[kind].format(cell=f"{column}[{row}]", size=size)
                    for kind, row, column, size in macros
                )
                read = "|".join(
                    f"%{kind}[{row},{number[column]}{f',{size}' if size else ''}]"
                    for kind, row, column, size in macros
                )
                made.append(f"{prefix}.{shown}={read}")
        return made

    names = f"#! columns = {' '.join(columns)}"
    return "\n".join([names, *written("U", features), "B", *written("B", edges)])
