"""The lines of a feature template: the syntax of CRF++ and Wapiti, read into macros."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ramify.apps.tagging.patterns import compile_pattern
from ramify.errors import DataFileError

_MACRO = re.compile(r'%([xtm])\[\s*([+-]?\d+)\s*,\s*(\d+)\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]', re.IGNORECASE)
_ABSOLUTE = re.compile(r"%\w\[\s*[@*]")
_DIRECTIVE = re.compile(r"#!\s*(\w+)\s*=\s*(\w+)\s*$")
# A comment may follow a template; a # inside quotes or a word is part of the template.
_INLINE_COMMENT = re.compile(r'^((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s+#')


@dataclass(frozen=True)
class Macro:
    """What one ``%x[row,column]`` reads: a cell relative to the token, perhaps through a regular expression.

    Parameters
    ----------
    kind : {'x', 't', 'm'}
        The cell itself, whether `pattern` matches in it (``true``, ``false``), or the text that matches.
    lower : bool
        Lower-case the result (``%X``, ``%T``, ``%M``).
    row, column : int
        Position relative to the token; column of the file, from 0.
    pattern : re.Pattern or None
    """

    kind: str
    lower: bool
    row: int
    column: int
    pattern: re.Pattern[str] | None = None

    def value(self, cell: str) -> str:
        """Return what the macro makes of a cell.

        >>> parse_feature('U:%M[0,0,"..$"]', "template", 1).macros[0].value("WALKING")
        'ng'
        """
        if self.pattern is not None:
            match = self.pattern.search(cell)
            if self.kind == "t":
                return "false" if match is None else "true"
            cell = "" if match is None else match.group()
        return cell.lower() if self.lower else cell


@dataclass(frozen=True)
class Feature:
    """One line of a template: literal text with macros in between, ``len(literals) == len(macros) + 1``."""

    line: int
    text: str
    literals: tuple[str, ...]
    macros: tuple[Macro, ...]


@dataclass(frozen=True)
class TemplateLines:
    """What the lines of a template say."""

    features: tuple[Feature, ...]
    transitions: bool
    boundary: str


def parse_lines(text: str, source: str) -> TemplateLines:
    """Read the text of a template; errors start with ``source:line``."""
    features: list[Feature] = []
    transitions, boundary = False, "pad"
    seen: dict[str, int] = {}
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip()
        if line.startswith("#!"):
            boundary = _parse_directive(line, source, number)
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
                f"as U00:%x[-1,0]), B (label transitions) or # (a comment)"
            )
        feature = parse_feature(line, source, number)
        if kind != "U" and feature.macros:
            raise DataFileError(
                f"{source}:{number}: {line!r} asks for features of label pairs, which are not supported yet; "
                f"write 'U{line[1:]}' for features of single labels, and a line 'B' for label transitions"
            )
        transitions = transitions or kind in "B*"
        if kind in "U*":
            features.append(feature)
    if not features:
        raise DataFileError(f"{source}:1: the template has no features; add lines such as U00:%x[0,0]")
    return TemplateLines(tuple(features), transitions, boundary)


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
    kind, row, column, pattern = match.groups()
    if (pattern is None) != (kind in "xX"):
        need = (
            "takes no regular expression"
            if kind in "xX"
            else 'needs a regular expression: [row,column,"regex"]'
        )
        raise DataFileError(f"{source}:{number}: {match.group()!r}: %{kind} {need}")
    try:
        compiled = None if pattern is None else compile_pattern(pattern)
    except ValueError as error:
        raise DataFileError(f"{source}:{number}: {error}") from error
    return Macro(kind.lower(), kind.isupper(), int(row), int(column), compiled)


def _why_no_macro(rest: str) -> str:
    if _ABSOLUTE.match(rest):
        return f"{rest!r}: absolute and indirect rows ([@...], [*...]) are not supported; rows are relative"
    return (
        f'cannot read a macro at {rest!r}; the macros are %x[row,column], %t[row,column,"regex"] and '
        f'%m[row,column,"regex"], in capitals to lower-case the result'
    )


def _parse_directive(line: str, source: str, number: int) -> str:
    match = _DIRECTIVE.match(line)
    if match is None or match.group(1) != "boundary" or match.group(2) not in ("pad", "skip"):
        raise DataFileError(
            f"{source}:{number}: cannot read {line!r}; what may follow #! is 'boundary = pad' or "
            f"'boundary = skip'"
        )
    return match.group(2)
