"""Files of samples: an output, a tab, and the input, a text or numbers with tabs between them."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name


def read_samples(
    path: str, n_numbers: int | None = None, stream: IO[Any] | None = None
) -> tuple[Any, list[str]]:
    r"""Inputs and outputs: texts, or, where their number is given, rows of numbers.

    >>> import io
    >>> read_samples("-", stream=io.StringIO("warm\tabcab\ncold\tbb\n"))
    (['abcab', 'bb'], ['warm', 'cold'])
    >>> read_samples("-", 2, io.StringIO("warm\t0.5\t1\n"))
    (array([[0.5, 1. ]]), ['warm'])
    """
    X: list[Any] = []
    y: list[str] = []
    for number, line in enumerate(read_lines(path, stream), 1):
        text = line.rstrip("\r\n")
        if not text.strip(" "):  # a tab alone is a sample: no output, and the empty text
            continue
        place = f"{source_name(path)}:{number}"
        output, *cells = text.split("\t")
        if not cells:
            raise DataFileError(f"{place}: {text!r:.60} has no tab; a line is OUTPUT, a tab, and the input")
        X.append(_text(cells, place) if n_numbers is None else _numbers(cells, n_numbers, place))
        y.append(output)
    if not y:
        raise DataFileError(
            f"{source_name(path)}: there is no sample; a line is OUTPUT, a tab, and the input"
        )
    return X if n_numbers is None else np.array(X), y


def _text(cells: list[str], place: str) -> str:
    if len(cells) > 1:
        raise DataFileError(
            f"{place}: {len(cells)} columns behind the output, and this model compares texts; give one"
        )
    return cells[0]


def _numbers(cells: list[str], wanted: int, place: str) -> list[float]:
    if len(cells) != wanted:
        raise DataFileError(
            f"{place}: {len(cells)} numbers behind the output, and the model learnt from {wanted}; give as many"
        )
    found = []
    for column, cell in enumerate(cells, 2):
        try:
            found.append(float(cell))
        except ValueError:
            raise DataFileError(f"{place}: column {column} is {cell!r:.40}, no number; write one") from None
        if not np.isfinite(found[-1]):
            raise DataFileError(f"{place}: column {column} is {cell!r:.40}; write a finite number")
    return found
