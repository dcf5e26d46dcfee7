"""Tokens as tuples of columns, with their labels apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any


class _Rows(dict[str, tuple[tuple[str, ...], str]]):
    """Token and label of a line; a line that comes again, as most do, is not split again."""

    def __init__(self, split: Callable[[str], Sequence[str]]) -> None:
        self._split = split
        self._seen: dict[Any, Any] = {}

    def __missing__(self, line: str) -> tuple[tuple[str, ...], str]:
        *cells, label = self._split(line)
        token = self._seen.setdefault(tuple(cells), tuple(cells))
        row = self[line] = token, self._seen.setdefault(label, label)
        return row


def blocks(text: str) -> list[list[str]]:
    """Runs of lines that are not blank.

    >>> blocks("the DT\\ncat NN\\n\\t\\nit PRP\\n")
    [['the DT', 'cat NN'], ['it PRP']]
    """
    return [
        list(lines) for there, lines in groupby(text.split("\n"), lambda line: bool(line.strip())) if there
    ]


def columns(
    sentences: Iterable[Sequence[str]], split: Callable[[str], Sequence[str]]
) -> tuple[list[list[tuple[str, ...]]], list[list[str]]]:
    """Tokens and labels of sentences given as lines; the label is the last cell of a line.

    Equal tokens are one tuple, so that a text takes little more than a pointer per token.

    >>> columns([["the DT B-NP", "cat NN I-NP"]], str.split)
    ([[('the', 'DT'), ('cat', 'NN')]], [['B-NP', 'I-NP']])
    """
    rows = _Rows(split)
    data, target = [], []
    for lines in sentences:
        found = [rows[line] for line in lines]
        data.append([token for token, _ in found])
        target.append([label for _, label in found])
    return data, target
