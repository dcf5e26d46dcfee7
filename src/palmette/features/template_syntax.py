"""The lines of a feature template: the syntax of CRF++ and Wapiti, and macros for affixes and shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from palmette.errors import DataFileError
from palmette.features.patterns import compile_pattern

_MACRO = re.compile(
    r'%([xtmpsh])\[\s*([+-]?\d+)\s*,\s*(\d+)\s*(?:,\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))\s*)?\]', re.IGNORECASE
)
_ABSOLUTE = re.compile(r"%\w\[\s*[@*]")
_DIRECTIVE = re.compile(r"#!\s*(boundary|columns)\s*=\s*(\w[\w.-]*(?:[\s,]+\w[\w.-]*)*)\s*$")
# A comment may follow a template; a # inside quotes or a word is part of the template.
_INLINE_COMMENT = re.compile(r'^((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s+#')

FARTHEST = 1000
"""Rows that a macro may look to either side: every distance outside of a sentence has a text and a code of its own."""

# What the third argument of each macro is.
_NEEDS = {"x": None, "h": None, "t": "regex", "m": "regex", "p": "size", "s": "size"}
_HOW = {
    None: "takes a row and a column only: [row,column]",
    "regex": 'needs a regular expression: [row,column,"regex"]',
    "size": "needs a number of characters, at least 1: [row,column,3]",
}


@dataclass(frozen=True)
class Macro:
    """What one ``%x[row,column]`` reads: a cell relative to the token, perhaps only a part or the look of it.

    Parameters
    ----------
    kind : {'x', 't', 'm', 'p', 's', 'h'}
        The cell itself, whether `pattern` matches in it (``true``, ``false``), the text that matches, the first
        or last `size` characters, or the shape.
    capital : bool
        Written as a capital: the result in lower case; for shapes, runs cut to one character.
    row, column : int
        Position relative to the token; column of the file, from 0.
    pattern : re.Pattern or None
    size : int or None
    written : str
        The pattern as the template has it.
    """

    kind: str
    capital: bool
    row: int
    column: int
    pattern: re.Pattern[str] | None = None
    size: int | None = None
    written: str = field(default="", compare=False)

    @property
    def reading(self) -> Macro:
        """The macro at row 0: what macros that differ only in their row share."""
        return Macro(self.kind, self.capital, 0, self.column, self.pattern, self.size)

    @property
    def is_plain(self) -> bool:
        """Whether the result is the cell itself."""
        return self.kind == "x" and not self.capital

    def value(self, cell: str) -> str:
        """Return what the macro makes of a cell.

        >>> def value(macro, cell):
        ...     return parse_feature(f"U:{macro}", "template", 1).macros[0].value(cell)
        >>> value('%M[0,0,"..$"]', "WALKING"), value("%s[0,0,3]", "walking"), value("%P[0,0,2]", "Walking")
        ('ng', 'ing', 'wa')
        >>> value("%h[0,0]", "IL-12a"), value("%H[0,0]", "Walking")
        ('XX-00x', 'Xx')
        """
        if self.kind == "h":
            return shape(cell, short=self.capital)
        if self.pattern is not None:
            match = self.pattern.search(cell)
            if self.kind == "t":
                return "false" if match is None else "true"
            cell = "" if match is None else match.group()
        elif self.kind == "p":
            cell = cell[: self.size]
        elif self.kind == "s" and self.size is not None:
            cell = cell[-self.size :]
        return cell.lower() if self.capital else cell


def shape(word: str, *, short: bool = False) -> str:
    """How a word looks: ``X`` for a capital, ``x`` for another letter, ``0`` for a digit, the rest as it is.

    Parameters
    ----------
    word : str
    short : bool, default=False
        Write runs of one character once.

    Examples
    --------
    >>> shape("McDonald's-7th"), shape("McDonald's-7th", short=True)
    ("XxXxxxxx'x-0xx", "XxXx'x-0x")
    """
    looks = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word]
    if short:
        looks = [c for i, c in enumerate(looks) if not i or c != looks[i - 1]]
    return "".join(looks)


@dataclass(frozen=True)
class Feature:
    """One line of a template: literal text with macros in between, ``len(literals) == len(macros) + 1``.

    ``on_edges`` says that its attributes belong to pairs of neighbouring labels.
    """

    line: int
    text: str
    literals: tuple[str, ...]
    macros: tuple[Macro, ...]
    on_edges: bool = False


@dataclass(frozen=True)
class TemplateLines:
    """What the lines of a template say."""

    features: tuple[Feature, ...]
    transitions: bool
    boundary: str
    columns: tuple[str, ...]


def parse_lines(text: str, source: str) -> TemplateLines:
    """Read the text of a template; errors start with ``source:line``."""
    features: list[Feature] = []
    transitions, said = False, {"boundary": "pad", "columns": ""}
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip()
        if line.startswith("#!"):
            said |= _parse_directive(line, source, number)
        if not line or line.startswith("#"):
            continue
        comment = _INLINE_COMMENT.match(line)
        line = comment.group(1) if comment else line
        if line in seen:
            raise DataFileError(f"{source}:{number}: {line!r} repeats line {seen[line]}; remove one of them")
        seen[line] = number
        kind = line[0].upper()
        if kind not in "UB*":
            raise DataFileError(
                f"{source}:{number}: cannot read {line!r}; a line begins with U (features of a label, such "
                f"as U00:%x[-1,0]), B (label transitions, or features of them) or # (a comment)"
            )
        feature = parse_feature(line, source, number)
        transitions = transitions or kind in "B*"
        if kind in "U*":
            features.append(feature)
        if kind in "B*" and feature.macros:
            features.append(_on_edges(feature))
    if not features:
        raise DataFileError(f"{source}:1: the template has no features; add lines such as U00:%x[0,0]")
    columns = tuple(re.split(r"[\s,]+", said["columns"])) if said["columns"] else ()
    return TemplateLines(tuple(features), transitions, said["boundary"], columns)


def _on_edges(feature: Feature) -> Feature:
    """The feature for pairs of labels. Its attributes begin with B, by which the learner knows them."""
    first, *rest = feature.literals
    name = f"B{first}" if first.startswith("*") else f"B{first[1:]}"
    return Feature(feature.line, feature.text, (name, *rest), feature.macros, on_edges=True)


def parse_feature(line: str, source: str, number: int) -> Feature:
    """Cut a template line into literal text and macros."""
    literals, macros, at = [], [], 0
    while (start := line.find("%", at)) >= 0:
        literals.append(line[at:start])
        match = _MACRO.match(line, start)
        if match is None:
            raise DataFileError(f"{source}:{number}: {_why_no_macro(line[start:])}")
        macros.append(_parse_macro(match, source, number))
        at = match.end()
    literals.append(line[at:])
    return Feature(number, line, tuple(literals), tuple(macros))


def _parse_macro(match: re.Match[str], source: str, number: int) -> Macro:
    letter, row, column, pattern, size = match.groups()
    kind = letter.lower()
    if max(len(row), len(column), len(size or "")) > 9 or abs(int(row)) > FARTHEST:
        raise DataFileError(
            f"{source}:{number}: {_shortened(match.group())}: a row is at most {FARTHEST} away, and other numbers are "
            f"below 10^9; correct the number"
        )
    given = "regex" if pattern is not None else None if size is None else "size"
    if given != _NEEDS[kind] or (size is not None and int(size) < 1):
        raise DataFileError(f"{source}:{number}: {match.group()!r}: %{letter} {_HOW[_NEEDS[kind]]}")
    try:
        compiled = None if pattern is None else compile_pattern(pattern)
    except ValueError as error:
        raise DataFileError(f"{source}:{number}: {error}") from error
    length = None if size is None else int(size)
    return Macro(kind, letter.isupper(), int(row), int(column), compiled, length, pattern or "")


def _shortened(macro: str) -> str:
    return repr(macro if len(macro) <= 60 else f"{macro[:57]}...")


def _why_no_macro(rest: str) -> str:
    if _ABSOLUTE.match(rest):
        return f"{rest!r}: absolute and indirect rows ([@...], [*...]) are not supported; rows are relative"
    return (
        f'cannot read a macro at {rest!r}; the macros are %x[row,column], %t[row,column,"regex"], '
        f'%m[row,column,"regex"], in capitals to lower-case the result, and %p[row,column,size], '
        f"%s[row,column,size] (prefix, suffix), %h[row,column] (shape)"
    )


def _parse_directive(line: str, source: str, number: int) -> dict[str, str]:
    match = _DIRECTIVE.match(line)
    if match is None or (match[1] == "boundary" and match[2] not in ("pad", "skip")):
        raise DataFileError(
            f"{source}:{number}: cannot read {line!r}; what may follow #! is 'boundary = pad', "
            f"'boundary = skip' or 'columns = ' with a name for each column of the data"
        )
    return {match[1]: match[2]}
