"""Regular expressions of feature templates: Python's, with Wapiti's letter classes added."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache

# Planes above these hold no letters, punctuation or symbols.
_CODE_POINTS = range(0x34000)


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


_CLASSES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "l": str.islower,
    "u": str.isupper,
    "p": _is_punctuation,
}


def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""Compile a regular expression of a template.

    Python's syntax, in which ``\a`` is a letter, ``\l`` a lower-case one, ``\u`` an upper-case one and ``\p``
    punctuation or a symbol, of any script; capitals (``\A``, ``\L``, ``\U``, ``\P``) are the complements.

    Raises
    ------
    ValueError
        The expression cannot be compiled.

    Examples
    --------
    >>> [bool(compile_pattern(r"^\u\l").search(word)) for word in ("Élan", "élan", "USA")]
    [True, False, False]
    >>> compile_pattern(r"[\u-]*$").search("made-in-X-Y").group()
    '-X-Y'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)  # such as [[:alpha:]], which Python reads otherwise
        try:
            return re.compile(_with_classes(pattern))
        except (re.error, FutureWarning) as error:
            raise ValueError(f"cannot compile the regular expression {pattern!r}: {error}") from error


def _with_classes(pattern: str) -> str:
    """Write out the letter classes as Python's character sets."""
    out: list[str] = []
    inside_set = False
    at = 0
    while at < len(pattern):
        piece = pattern[at]
        if piece == "\\":
            piece = pattern[at : at + 2]
            written = _letter_class(piece, inside_set)
        elif piece == "[" and not inside_set:
            inside_set = True
            piece += "^" if pattern.startswith("^", at + 1) else ""
            piece += "]" if pattern.startswith("]", at + len(piece)) else ""  # a first ] is a member
            written = piece
        else:
            inside_set = inside_set and piece != "]"
            written = piece
        out.append(written)
        at += len(piece)
    return "".join(out)


def _letter_class(escape: str, inside_set: bool) -> str:
    letter = escape[1:]
    if letter.lower() not in _CLASSES:
        return escape
    members = _members(letter.lower())
    if not inside_set:
        return f"[^{members}]" if letter.isupper() else f"[{members}]"
    if letter.isupper():
        raise ValueError(f"{escape} cannot stand inside [...]; use [^{escape.lower()}]")
    return members


@cache
def _members(letter: str) -> str:
    """Return the characters of a class as ranges that can stand inside ``[...]``."""
    belongs = _CLASSES[letter]
    ranges: list[list[int]] = []
    for code in _CODE_POINTS:
        if belongs(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(
        re.escape(chr(first)) + (f"-{re.escape(chr(last))}" if last > first else "") for first, last in ranges
    )
