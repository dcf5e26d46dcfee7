"""Attributes as a person would call them: ``tag[-1]|tag[0]=DT|NN`` for ``U42:DT/NN``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from palmette.features.template_syntax import Feature, Macro

SHOWN = {  # how what a macro reads is called
    "x": "{cell}",
    "X": "lower({cell})",
    "p": "prefix{size}({cell})",
    "P": "lower(prefix{size}({cell}))",
    "s": "suffix{size}({cell})",
    "S": "lower(suffix{size}({cell}))",
    "h": "shape({cell})",
    "H": "look({cell})",
    "t": "{cell}~{pattern}",
    "T": "{cell}~{pattern}",
    "m": "match({cell}, {pattern})",
    "M": "lower(match({cell}, {pattern}))",
}
_SEPARATOR = re.compile(r"[^\w\s]*\Z")
_OUTSIDE = re.compile(r"_B([-+])([1-9]\d*)")
_NAME = re.compile(r"[UB*].*[^\w\s]\Z", re.DOTALL)


def reader_of(feature: Feature, columns: Sequence[str]) -> Callable[[Sequence[str]], str] | None:
    r"""How to write the attributes of a line of a template, from the values that its macros read.

    Parameters
    ----------
    feature : Feature
        The line.
    columns : sequence of str
        Names of the columns of the data; those without a name are called ``col0``, ``col1``, ...

    Returns
    -------
    callable or None
        None for a line that is no name followed by macros with separators: its own text says more.

    Examples
    --------
    >>> from palmette.features.template_syntax import parse_feature
    >>> def shown(line, *values):
    ...     return reader_of(parse_feature(line, "template", 1), ["word", "tag"])(values)
    >>> shown("U42:%x[-1,1]/%x[0,1]", "DT", "NN")
    'tag[-1]|tag[0]=DT|NN'
    >>> shown("U7:%S[0,0,3]", "ing"), shown("U8:%x[1,2]", "3")
    ('lower(suffix3(word[0]))=ing', 'col2[1]=3')

    A line of tests alone names the patterns that match:

    >>> line = r'U9:%t[0,0,"^\u"]/%t[0,0,"\d"]/%t[0,0,"-"]'
    >>> shown(line, "true", "false", "true"), shown(line, "false", "false", "false")
    ('word[0]~^\\u|word[0]~-', 'word[0]~none')
    """
    if not feature.macros:
        return None
    first, *between, last = feature.literals
    if not _NAME.match(first) or last or not all(map(_SEPARATOR.match, between)):
        return None
    parts = [_called(macro, columns) for macro in feature.macros]
    if all(macro.kind == "t" for macro in feature.macros):
        cells = "|".join(dict.fromkeys(_cell(macro, columns) for macro in feature.macros))

        def tests(values: Sequence[str]) -> str:
            found = [part for part, value in zip(parts, values) if value == "true"]
            outside = [value for value in values if value not in ("true", "false")]
            return f"{cells}={_said(outside[0])}" if outside else "|".join(found) or f"{cells}~none"

        return tests
    name = "|".join(parts)
    return lambda values: f"{name}={'|'.join(map(_said, values))}"


def _said(value: str) -> str:
    """A value as a person would write it: what stands outside of the sentence has a code.

    >>> _said("_B-1"), _said("_B-2"), _said("_B+1"), _said("_B")
    ('<start>', '<start-1>', '<end>', '_B')
    """
    found = _OUTSIDE.fullmatch(value)
    if found is None:
        return value
    sign, distance = found[1], int(found[2]) - 1
    return f"<{'start' if sign == '-' else 'end'}{f'{sign}{distance}' if distance else ''}>"


def _cell(macro: Macro, columns: Sequence[str]) -> str:
    name = columns[macro.column] if macro.column < len(columns) else f"col{macro.column}"
    return f"{name}[{macro.row}]"


def _called(macro: Macro, columns: Sequence[str]) -> str:
    letter = macro.kind.upper() if macro.capital else macro.kind
    return SHOWN[letter].format(cell=_cell(macro, columns), size=macro.size, pattern=macro.written)
