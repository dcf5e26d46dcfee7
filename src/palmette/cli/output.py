"""How results are printed: one JSON object, or aligned text."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def print_result(as_json: bool, record: dict[str, Any], text: str) -> None:
    """Print a result on standard output, in the form that was asked for."""
    if as_json:
        print(json.dumps(_plain(record), indent=1, allow_nan=False))
    else:
        print(text)


def log(line: str) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "variable"), counted(2000, "variable")
    ('1 variable', '2,000 variables')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def aligned(rows: Sequence[Sequence[Any]], *, indent: str = "") -> str:
    """Lay out rows of cells in columns: numbers to the right, text to the left.

    >>> print(aligned([["one", 1, "first"], ["eleven", 11, "last"]]))
    one      1  first
    eleven  11  last
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = []
    for row, shown in zip(rows, cells):
        padded = [
            cell.ljust(width) if isinstance(value, str) else cell.rjust(width)
            for value, cell, width in zip(row, shown, widths)
        ]
        lines.append((indent + "  ".join(padded)).rstrip())
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    """Values that JSON has: NumPy scalars become numbers, NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
