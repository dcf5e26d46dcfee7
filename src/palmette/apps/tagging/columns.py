"""Column files (CoNLL style): one token per line, in columns, with blank lines between sentences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from palmette.apps.tagging.column_text import (
    COMMENT,
    DOCUMENT,
    TOKEN,
    ColumnText,
    Sentence,
    Token,
    line_bounds,
)
from palmette.errors import DataFileError
from palmette.features.column_table import ColumnTable
from palmette.features.texts import TextIndex, spans_in
from palmette.io.lines import check_utf8, read_raw, read_raw_lines, source_name
from palmette.memory import in_words

__all__ = ["ColumnText", "Sentence", "Token", "iter_columns", "read_columns"]

_COMMENT = re.compile(r"# +[A-Za-z][\w.:-]* +=( |$)")
_DOCUMENT = re.compile(rb"-DOCSTART-(?=\s|\Z)")
_CONLLU_NAME = re.compile(r"\.conllu(\.gz|\.xz)?$")
_BYTE_ORDER_MARK = "\ufeff".encode()
_LINES_AT_A_TIME = 2**16
_WORK = 5.0  # memory for reading, as a multiple of the text (measured: 5 to 9, the most for short lines)
LONGEST_SENTENCE = 2**24
"""Bytes of the lines of a sentence at most: inference takes many times its size."""
_BLOCK = 2**24  # bytes of a block of sentences, about


def read_columns(
    path: str | os.PathLike[str], *, stream: IO[Any] | None = None, conllu: bool | None = None
) -> ColumnText:
    """Read a whole column file.

    Parameters
    ----------
    path : path
        A file, also ``.gz`` or ``.xz``, or ``-`` for `stream` (standard input by default).
    stream : file object, optional
        What ``-`` reads from.
    conllu : bool, optional
        Read by the rules of CoNLL-U: every line with ``#`` is a comment, and multiword tokens (``1-2``) and
        empty nodes (``1.1``) are no tokens. By default when the name ends in ``.conllu`` (``.gz``, ``.xz``).

    Returns
    -------
    ColumnText

    Raises
    ------
    DataFileError
        A line whose number of columns differs from the first, bytes that are not UTF-8, no tokens at all, a line or
        sentence of more than 16 MB.
    TooLarge
        A text that does not fit into memory.

    Notes
    -----
    Columns are separated by tabs if the first token line has one, else by blanks. Lines of white space
    separate sentences. Outside CoNLL-U a line is a comment only if it begins with ``# key =`` where a
    sentence may begin, because ``#`` is also a token. A line that begins with ``-DOCSTART-`` separates sentences, too,
    and is no token.
    """
    text = _Reader(source_name(path), conllu).read(read_raw(path, stream, work=_WORK))
    if not len(text.table):
        raise DataFileError(f"{source_name(path)}:1: there are no tokens; expected one per line, in columns")
    return text


def iter_columns(
    path: str | os.PathLike[str],
    *,
    stream: IO[Any] | None = None,
    conllu: bool | None = None,
    sentences_per_block: int = 1000,
) -> Iterator[ColumnText]:
    """Read a column file in blocks of sentences, for filters that cannot wait for the end.

    The blocks written one after the other give the whole input again. Empty input gives no block, and a block
    without sentences holds only comments or blank lines. Blocks of long sentences have fewer of them, so that the
    memory does not grow with the file. Parameters and errors are those of `read_columns`.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO("a X\\n\\nb Y\\n\\nc Z\\n")
    >>> [text.sentences for text in iter_columns("-", stream=stream, sentences_per_block=2)]
    [[[('a', 'X')], [('b', 'Y')]], [[('c', 'Z')]]]
    """
    reader = _Reader(source_name(path), conllu)
    lines: list[bytes] = []
    n_sentences, inside = 0, False
    size, begin, first_line = 0, 0, 1  # bytes held, those before the sentence, and the line it begins in
    for line in read_raw_lines(path, stream):
        blank = _is_blank(line)
        if blank:
            lines.append(line)
            size += len(line)
        if blank or _DOCUMENT.match(line):  # which belongs to the sentences after it
            n_sentences, inside = n_sentences + inside, False
            if n_sentences == sentences_per_block or size > _BLOCK:
                yield reader.read(b"".join(lines))
                lines, n_sentences, size = [], 0, 0
            begin, first_line = size, reader.next_line + len(lines)
        if not blank:
            lines.append(line)
            size += len(line)
            if not inside and not reader.kind_without_tokens(line):
                inside, begin, first_line = True, size - len(line), reader.next_line + len(lines) - 1
            if size - begin > LONGEST_SENTENCE:
                raise reader.too_long(first_line)
    if lines:
        yield reader.read(b"".join(lines))


class _Reader:
    """Reads a file in runs of whole sentences; the first token decides about separator and columns of all."""

    def __init__(self, source: str, conllu: bool | None) -> None:
        self.source = source
        self.conllu = _CONLLU_NAME.search(source) is not None if conllu is None else conllu
        self.separator, self.n_columns, self.first_token_line = "", 0, 0
        self.next_line = 1

    def is_comment(self, line: bytes) -> bool:
        """Whether a line that begins with # is a comment, where a sentence may begin."""
        return self.conllu or _COMMENT.match(line.decode("utf-8", "replace").rstrip("\r\n")) is not None

    def kind_without_tokens(self, line: bytes) -> int:
        """Whether a line is a comment or begins a document, where a sentence may begin; 0 if neither."""
        if line.startswith(b"#"):
            return COMMENT if self.is_comment(line) else 0
        return DOCUMENT if _DOCUMENT.match(line) else 0

    def read(self, raw: bytes) -> ColumnText:
        """The sentences of some lines."""
        check_utf8(raw, self.source, self.next_line)
        text = np.frombuffer(bytearray(raw), np.uint8)  # kernels want arrays that can be written
        starts, ends = line_bounds(text)
        if self.next_line == 1 and raw.startswith(_BYTE_ORDER_MARK):
            starts[0] = len(_BYTE_ORDER_MARK)
        comment = np.zeros(len(starts), np.uint8)
        firsts = text[np.minimum(starts, len(text) - 1)] if len(text) else text
        for i in np.flatnonzero((firsts == ord("#")) | (firsts == ord("-"))):
            comment[i] = self.kind_without_tokens(raw[starts[i] : ends[i]])
        if not self.n_columns:
            self._look_for_a_token(raw, starts, ends, comment)
        table, kinds = self._cut(text, starts, ends, comment)
        self._check_sentences(table, kinds, starts, ends)
        first_line, self.next_line = self.next_line, self.next_line + len(starts)
        return ColumnText(
            self.source, table, self.n_columns, self.separator, self.conllu, first_line, raw, kinds
        )

    def _look_for_a_token(
        self, raw: bytes, starts: np.ndarray, ends: np.ndarray, comment: np.ndarray
    ) -> None:
        for i in range(len(starts)):
            line = raw[starts[i] : ends[i]].decode()
            if line and not line.isspace() and not comment[i]:
                self.separator = "\t" if "\t" in line else " "
                self.n_columns, self.first_token_line = len(self._cells(line)), self.next_line + i
                return

    def _cells(self, line: str) -> list[str]:
        if self.separator == "\t":
            return line.split("\t")
        # str.split() would also cut at no-break and ideographic spaces, which are parts of tokens
        return [cell for cell in line.replace("\t", " ").split(" ") if cell]

    def _cut(
        self, text: np.ndarray, starts: np.ndarray, ends: np.ndarray, comment: np.ndarray
    ) -> tuple[ColumnTable, np.ndarray]:
        """The tokens, and the kinds of the lines; some lines at a time, to save memory."""
        from palmette._kernels.column_text import cut_cells

        n_lines = len(starts)
        kinds, offsets, state = (
            np.zeros(n_lines, np.uint8),
            np.zeros(n_lines + 1, np.int64),
            np.zeros(2, np.int64),
        )
        cells = [TextIndex() for _ in range(self.n_columns)]
        codes: list[list[np.ndarray]] = [[np.empty(0, np.int32)] for _ in cells]
        tabs = self.separator == "\t"
        for lo in range(0, n_lines if self.n_columns else 0, _LINES_AT_A_TIME):
            some = slice(lo, min(lo + _LINES_AT_A_TIME, n_lines))
            shape = self.n_columns, some.stop - lo
            cell_starts, cell_stops = np.empty(shape, np.int64), np.empty(shape, np.int64)
            bad = cut_cells(
                text, starts[some], ends[some], comment[some], self.conllu, tabs, kinds[some], state, offsets,
                cell_starts, cell_stops,
            )  # fmt: skip
            if bad >= 0:
                self._refuse(lo + bad, text[starts[lo + bad] : ends[lo + bad]].tobytes().decode())
            n_tokens = int((kinds[some] == TOKEN).sum())
            for own, index, a, b in zip(codes, cells, cell_starts, cell_stops):
                own.append(index.add(spans_in(text, a[:n_tokens], b[:n_tokens])))
        n_sentences = int(state[1])
        if state[0]:  # no blank line after the last sentence
            n_sentences += 1
            offsets[n_sentences] = offsets[n_sentences - 1] + state[0]
        columns = tuple(np.concatenate(own) for own in codes)
        table = ColumnTable(
            columns, tuple(index.trimmed() for index in cells), offsets[: n_sentences + 1].copy()
        )
        return table, kinds

    def _check_sentences(
        self, table: ColumnTable, kinds: np.ndarray, starts: np.ndarray, ends: np.ndarray
    ) -> None:
        """Refuse sentences that are too long to work with."""
        lines = np.flatnonzero(kinds == TOKEN)
        first, last = lines[table.offsets[:-1]], lines[table.offsets[1:] - 1]
        long = np.flatnonzero(ends[last] - starts[first] > LONGEST_SENTENCE)
        if len(long):
            raise self.too_long(self.next_line + int(first[long[0]]))

    def too_long(self, line: int) -> DataFileError:
        """The error for the sentence that begins in a line."""
        return DataFileError(
            f"{self.source}:{line}: the sentence here is longer than {in_words(LONGEST_SENTENCE)}; put blank lines "
            f"between sentences, or cut it into shorter ones"
        )

    def _refuse(self, line: int, text: str) -> None:
        raise DataFileError(
            f"{self.source}:{self.next_line + line}: expected {_count(self.n_columns, self.separator)} as in line "
            f"{self.first_token_line}, found {len(self._cells(text))}: {_shortened(text)}"
        )


def _is_blank(line: bytes) -> bool:
    # bytes know the white space of ASCII only, and not all of it
    return line.isspace() or (not 32 < line[0] < 128 and line.decode("utf-8", "replace").isspace())


def _count(n_columns: int, separator: str) -> str:
    between = "tabs" if separator == "\t" else "blanks"
    return f"{n_columns} columns separated by {between}" if n_columns > 1 else "1 column"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
