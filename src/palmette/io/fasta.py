"""FASTA: ``>name`` above lines of letters. What the lines mean is known to those who read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name

WIDTH = 80
"""Letters of a line that is written."""


def format_entry(header: str, letters: str, width: int | None = WIDTH) -> str:
    """An entry of a file, in lines of `width` letters; None is one line.

    >>> format_entry("a", "GGAAACC", 4)
    '>a\\nGGAA\\nACC\\n'
    """
    width = width or max(len(letters), 1)
    lines = [letters[a : a + width] for a in range(0, len(letters), width)]
    return f">{header}\n" + "\n".join(lines) + "\n"


def entries(
    path: str | os.PathLike[str], stream: IO[Any] | None, headed: bool
) -> Iterator[tuple[str, str, list[tuple[int, str]]]]:
    """Name, place and numbered lines of each entry; blank lines and comments are left out."""
    file = source_name(path)
    name, source = None, ""
    lines: list[tuple[int, str]] = []
    number = 0
    for number, raw in enumerate(read_lines(path, stream), 1):
        text = raw.strip().lstrip("\ufeff")
        if text.startswith(">"):
            if name is not None:
                yield name, source, lines
            name, source, lines = (
                text[1:].split(None, 1)[0] if text[1:].strip() else "",
                f"{file}:{number}",
                [],
            )
            if not name:
                raise DataFileError(f"{source}: the entry has no name; write one behind '>'")
        elif text and not text.startswith((";", "#")):
            if name is None:
                if headed:
                    raise DataFileError(
                        f"{file}:{number}: {text[:20]!r} stands before the first '>'; a FASTA file begins with '>name'"
                    )
                name, source = "sequence", f"{file}:{number}"
            lines.append((number, text))
    if name is None:
        raise DataFileError(f"{file}:{max(number, 1)}: there is no sequence in the file")
    yield name, source, lines
