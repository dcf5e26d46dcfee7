"""What encoders of columns share: the lines of a template, blocks of sentences, rows packed from lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from palmette.data.batch import SparseRows
from palmette.features.attributes import describe
from palmette.features.base import check_lengths
from palmette.features.column_table import ColumnTable
from palmette.features.template_syntax import Macro
from palmette.features.templates import BEGIN, END, ColumnSentences, Template
from palmette.features.texts import Spans, spans_of

# Tokens encoded together: enough to keep loops long, few enough for the cache.
_TOKENS_A_BLOCK = 16_384
_CELLS_REMEMBERED = 200_000


class Line(NamedTuple):
    """A line of a template as encoders see it; ``only`` limits it to the first or last token of a sentence."""

    literals: tuple[str, ...]
    macros: tuple[Macro, ...]
    only: str = ""


def lines_of(template: Template) -> list[Line]:
    """The lines that make attributes, those for the ends of sentences included."""
    lines = [Line(feature.literals, feature.macros) for feature in template.features]
    if template.boundary == "skip":
        lines += [Line((BEGIN,), (), "first"), Line((END,), (), "last")]
    return lines


def reach_of(template: Template) -> int:
    """How many rows a template looks to either side."""
    return max((abs(macro.row) for feature in template.features for macro in feature.macros), default=0)


def outside_texts(template: Template) -> list[str]:
    """What cells outside of a sentence read, from the farthest before it to the farthest after it."""
    reach = reach_of(template)
    return [f"_B{k:+d}" for k in range(-reach, reach + 1)]


class Block(NamedTuple):
    """Some sentences of a table: their codes by column, and the tokens of each."""

    codes: tuple[np.ndarray, ...]
    offsets: np.ndarray

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.offsets[-1])

    def only(self, which: str) -> np.ndarray:
        """Codes 0 at the first or last tokens of the sentences and -1 elsewhere; 0 everywhere for ''."""
        if not which:
            return np.zeros(self.n_tokens, np.int32)
        filled = np.flatnonzero(np.diff(self.offsets))
        out = np.full(self.n_tokens, -1, np.int32)
        out[self.offsets[filled] if which == "first" else self.offsets[filled + 1] - 1] = 0
        return out

    def values_at(self, macro: Macro, values: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Codes (int32) of what a macro reads at every token.

        ``values`` are the codes by distinct cell, ``outside`` those of cells outside of a sentence.
        """
        from palmette._kernels.templates import cell_values

        out = np.empty(self.n_tokens, np.int32)
        cell_values(self.codes[macro.column], values, self.offsets, macro.row, outside, out)
        return out


class Readings:
    """What the macros of a template make of cells, worked out once for each distinct cell.

    Parameters
    ----------
    lines : list of Line
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self._readings = list(dict.fromkeys(macro.reading for line in lines for macro in line.macros))
        self._known: dict[Macro, dict[str, int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_readings": self._readings, "_known": {}}  # what is known can be worked out again

    def texts(self, table: ColumnTable) -> Iterator[tuple[Macro, Spans]]:
        """For each way to read cells, what it makes of the distinct cells of its column."""
        strings: dict[int, list[str]] = {}
        for reading in self._readings:
            if not table.n_tokens:  # then nobody knows the columns
                yield reading, spans_of([])
            elif reading.is_plain:
                yield reading, table.cells[reading.column].spans()
            else:
                cells = _strings(table, reading.column, strings)
                yield reading, spans_of([reading.value(cell) for cell in cells])

    def codes(self, table: ColumnTable, find: Callable[[Any], np.ndarray]) -> dict[Macro, np.ndarray]:
        """For each way to read cells, the codes of what it makes of the distinct cells of its column.

        Those of cells met before are remembered, so that the time for regular expressions is spent once.
        """
        strings: dict[int, list[str]] = {}
        out = {}
        for reading in self._readings:
            if not table.n_tokens:
                out[reading] = np.empty(0, np.int32)
            elif reading.is_plain:
                out[reading] = find(table.cells[reading.column].spans())
            else:
                cells = _strings(table, reading.column, strings)
                known = self._known.get(reading, {})
                if len(known) > _CELLS_REMEMBERED:
                    known = {}  # a new one: another thread may read the old one now
                new = [cell for cell in cells if cell not in known]
                known.update(zip(new, find([reading.value(cell) for cell in new]).tolist()))
                self._known[reading] = known
                out[reading] = np.fromiter(map(known.__getitem__, cells), np.int32, len(cells))
        return out


def _strings(table: ColumnTable, column: int, known: dict[int, list[str]]) -> list[str]:
    if column not in known:
        known[column] = table.cells[column].strings()
    return known[column]


def table_of(X: Any, template: Template, allow_empty: bool) -> ColumnTable:
    """The table of some inputs, checked against the template of the encoder."""
    if not isinstance(X, ColumnSentences | ColumnTable):
        raise TypeError(
            f"the model reads columns: give ColumnSentences(sentences, template), or the attributes of each token as "
            f"a list of strings; found {describe(X)}"
        )
    if isinstance(X, ColumnSentences):
        pairs = enumerate(
            zip_longest(template.text.splitlines(), X.template.text.splitlines(), fillvalue=""), 1
        )
        other = next(((n, ours, theirs) for n, (ours, theirs) in pairs if ours != theirs), None)
        if other is not None:
            n, ours, theirs = other
            raise ValueError(
                f"the model reads columns by another template ({template.source}) than X ({X.template.source}): line "
                f"{n} is {ours!r} in the model and {theirs!r} in X; give X the template of the model"
            )
        X = X.table
    table: ColumnTable = X
    table.check()
    if table.n_tokens:
        template.check(table.n_columns)
    check_lengths(np.diff(table.offsets), allow_empty)
    return table


def encode_blocks(table: ColumnTable, n_lines: int, fill: Callable[[Block, np.ndarray], None]) -> SparseRows:
    """Sparse rows of the columns that each line has for each token; how many columns there are is left open (0).

    ``fill(block, matrix)`` writes the column of line f at token t of the block, or -1, to ``matrix[f, t]``.
    """
    from palmette._kernels.templates import pack_rows

    indptr = np.zeros(table.n_tokens + 1, np.int64)
    # as much as there can be: memory that is never touched costs nothing
    indices = np.empty(table.n_tokens * n_lines, np.int32)
    for start, stop in table.blocks(_TOKENS_A_BLOCK):
        first, last = int(table.offsets[start]), int(table.offsets[stop])
        if first == last:
            continue  # only empty sentences, perhaps of a table without columns
        codes = tuple(column[first:last] for column in table.codes)
        block = Block(codes, table.offsets[start : stop + 1] - first)
        matrix = np.empty((n_lines, last - first), np.int32)
        fill(block, matrix)
        pack_rows(matrix, indptr, first, indices)
    return SparseRows(indptr, indices[: indptr[-1]], np.empty(0), 0)
