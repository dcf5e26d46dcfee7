"""The text of a column file, read: its tokens, and all that is needed to write it back."""

from __future__ import annotations

import io
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import IO

import numpy as np

from palmette.errors import DataFileError
from palmette.features.column_table import ColumnTable

Token = tuple[str, ...]
Sentence = list[Token]

# What a line is: only token lines are tagged, the others are kept to be written back.
LAYOUT, TOKEN, NOT_A_WORD = 0, 1, 2
COMMENT, DOCUMENT = 1, 2  # lines that are known before they are cut


@dataclass(frozen=True, eq=False)
class ColumnText:
    """A run of whole sentences of a column file, with all that is needed to write it back.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    table : ColumnTable
        The tokens, each with all its columns, as codes.
    n_columns : int
        Columns of every token; 0 if there are no tokens.
    separator : str
        A tab or a blank.
    conllu : bool
        Whether it was read by the rules of CoNLL-U.
    first_line : int
        Number in the file of the first line held here.
    raw : bytes
        The lines as they were read, line ends included.
    kinds : ndarray of uint8
        For each line: layout (blank or comment), token, or a line that is not a word, such as ``-DOCSTART-``.

    Examples
    --------
    >>> import io, sys
    >>> from palmette.apps.tagging.columns import read_columns
    >>> text = read_columns("-", stream=io.StringIO("the DT O\\ncat NN B\\n\\nit PRP O\\n"))
    >>> text.sentences[0]
    [('the', 'DT', 'O'), ('cat', 'NN', 'B')]
    >>> text.labels()
    [['O', 'B'], ['O']]
    >>> text.write_with_column(sys.stdout, [["O", "O"], ["B"]])
    the DT O O
    cat NN B O
    <BLANKLINE>
    it PRP O B
    """

    source: str
    table: ColumnTable = field(repr=False)
    n_columns: int
    separator: str
    conllu: bool
    first_line: int
    raw: bytes = field(repr=False)
    kinds: np.ndarray = field(repr=False)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The tokens as tuples of strings, made when they are asked for; learners need only `table`."""
        return self.table.sentences()

    @property
    def lines(self) -> list[str]:
        """All lines as they were read, line ends included."""
        return [line.decode() for line in io.BytesIO(self.raw)]

    def location(self, sentence: int = 0, token: int = 0) -> str:
        """Where a token stands, as ``file:line``."""
        lines = np.flatnonzero(self.kinds == TOKEN)
        at = int(self.table.offsets[sentence]) + token if sentence < len(self.table) else len(lines)
        if at >= len(lines):
            raise IndexError(f"{self.source} has no token {token} in sentence {sentence} of this block")
        return f"{self.source}:{self.first_line + int(lines[at])}"

    def hint_at_separator(self) -> str:
        """What to do with a file that has commas or semicolons between columns, to end a message; else nothing."""
        token = self.raw[: 2**10].decode("utf-8", "replace").lstrip().split("\n", 1)[0]
        if self.n_columns > 1:
            return ""
        for separator, name in ((",", "commas"), (";", "semicolons")):
            if separator in token.strip().strip(separator):
                return f"; it seems to have {name}: replace them by tabs, and put a blank line after each sentence"
        return ""

    def label_index(self, label_column: int = -1) -> int:
        """Index, from 0, of the label column given as an index that may be negative."""
        index = operator.index(label_column)
        if not -self.n_columns <= index < self.n_columns:
            raise DataFileError(
                f"{self.location()}: there is no column {index} to hold the labels; the columns are "
                f"0 to {self.n_columns - 1}, or -1 for the last; choose another label column"
            )
        return index % self.n_columns

    def labels(self, label_column: int = -1) -> list[list[str]]:
        """Return the labels of every sentence; the last column unless told otherwise."""
        index = self.label_index(label_column)
        (empty,) = self.table.cells[index].find([""])
        if empty >= 0:
            token = int(np.argmax(self.table.codes[index] == empty))
            raise DataFileError(
                f"{self.location(0, token)}: the label (column {index}) is empty; give "
                f"every token a label, or remove a separator that ends the lines"
            )
        return self.table.column(index)

    def aligned(self, n_columns: int, label_column: int) -> ColumnTable:
        """The columns where a model expects them, with or without labels in the file.

        Parameters
        ----------
        n_columns : int
            Columns of the training file, the label included.
        label_column : int
            Index of the label among them, from 0.

        Returns
        -------
        ColumnTable
            The columns as they are, or with an empty label column put in its place.

        Raises
        ------
        DataFileError
            The file has neither `n_columns` nor ``n_columns - 1`` columns.
        """
        if not len(self.table) or self.n_columns == n_columns:
            return self.table
        if self.n_columns != n_columns - 1:
            raise DataFileError(
                f"{self.location()}: expected {n_columns} columns as in training (the label in column "
                f"{label_column}), or {n_columns - 1} without the label; found {self.n_columns}"
                f"{self.hint_at_separator()}"
            )
        return self.table.with_empty(label_column)

    def write_with_column(self, out: IO[str], *predicted: Sequence[Sequence[str]]) -> None:
        """Write the input with one or more columns added, everything else unchanged, and flush.

        Parameters
        ----------
        out : text file
        *predicted : list of list of str
            For each new column its values, one list per sentence. Lines of CoNLL-U that are not words get ``_``, those
            that begin a document the label ``O`` first.
        """
        for column in predicted:
            self._check_shape(column)
        flat = list(zip(*(chain.from_iterable(column) for column in predicted)))
        ends = {
            values: "".join(f"{self.separator}{value}" for value in values).encode() for values in set(flat)
        }
        added = np.array([*map(ends.__getitem__, flat), b""], object)[:-1]
        where = np.flatnonzero(self.kinds != LAYOUT)
        unlabelled = ["_" if self.conllu else "O", *["_"] * len(predicted)][: len(predicted)]
        values = np.full(len(where), "".join(f"{self.separator}{v}" for v in unlabelled).encode(), object)
        values[self.kinds[where] == TOKEN] = added

        text = np.frombuffer(self.raw, np.uint8)
        stops = line_bounds(text)[1][where]
        bodies = _stripped(text, stops, b" \t") if self.separator == " " else stops
        before = [0, *stops.tolist()]
        pieces = [self.raw[a:b] for a, b in zip(before, bodies.tolist())]
        written = b"".join(chain.from_iterable(zip(pieces, values.tolist()))) + self.raw[before[-1] :]
        out.write(written.decode())
        out.flush()

    def _check_shape(self, column: Sequence[Sequence[str]]) -> None:
        if len(column) != len(self.table):
            raise ValueError(
                f"predictions for {len(column)} sentences, but there are {len(self.table)}; "
                f"give one list for each"
            )
        lengths = np.diff(self.table.offsets)
        wrong = np.flatnonzero(lengths != [len(values) for values in column])
        if len(wrong):
            s = int(wrong[0])
            raise ValueError(
                f"sentence {s} ({self.location(s)}) has {lengths[s]} tokens, "
                f"but {len(column[s])} predictions; give one for each token"
            )


def line_bounds(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where lines start, and where they end before their line ends."""
    ends = np.flatnonzero(text == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    if starts[-1] == len(text):
        starts = starts[:-1]
    else:
        ends = np.append(ends, len(text))
    return starts, _stripped(text, ends, b"\r")


def _stripped(text: np.ndarray, ends: np.ndarray, characters: bytes) -> np.ndarray:
    """The ends of some runs of text without these characters at the end."""
    ends, stripped = ends.copy(), np.frombuffer(characters, np.uint8)
    while len(more := np.flatnonzero((ends > 0) & np.isin(text[ends - 1], stripped))):
        ends[more] -= 1
    return ends
