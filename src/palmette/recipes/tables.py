"""Tables of text: aligned, and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def aligned_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Plain text: the first column to the left, the rest to the right.

    >>> print(aligned_table(["model", "error %"], [["CRF", "20.1"], ["SSVM", ""]]))
    model  error %
    -----  -------
    CRF       20.1
    SSVM
    """
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))])
        for row in (header, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown: the first column to the left, the rest to the right.

    >>> print(markdown_table(["model", "error %"], [["CRF", "20.1"]]))
    | model | error % |
    | --- | ---: |
    | CRF | 20.1 |
    """
    align = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, align, *rows))
