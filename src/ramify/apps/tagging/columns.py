"""Column files (CoNLL style): one token a line, columns beside each other, blank lines between sentences."""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from ramify.apps.tagging.lines import read_lines, source_name
from ramify.errors import DataFileError

Token = tuple[str, ...]
Sentence = list[Token]

# What a line is: only token lines are tagged, the others are kept to be written back.
_LAYOUT, _TOKEN, _NOT_A_WORD = 0, 1, 2

_COMMENT = re.compile(r"# +[A-Za-z][\w.:-]* +=( |$)")
_CONLLU_NAME = re.compile(r"\.conllu(\.gz|\.xz)?$")
_MULTIWORD_OR_EMPTY = re.compile(r"\d+[-.]\d+$")


@dataclass(frozen=True)
class ColumnText:
    """A run of whole sentences of a column file, with all that is needed to write it back.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    sentences : list of list of tuple of str
        The tokens, each with all its columns.
    n_columns : int
        Columns of every token; 0 if there are no tokens.
    separator : str
        A tab or a blank.
    conllu : bool
        Whether it was read by the rules of CoNLL-U.
    first_line : int
        Number in the file of the first line held here.
    lines : list of str
        All lines as they were read, line ends included.
    kinds : bytearray
        For each line: layout (blank or comment), token, or a CoNLL-U line that is no word.

    Examples
    --------
    >>> import io
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
    sentences: list[Sentence]
    n_columns: int
    separator: str
    conllu: bool
    first_line: int
    lines: list[str]
    kinds: bytearray

    def location(self, sentence: int = 0, token: int = 0) -> str:
        """Where a token stands, as ``file:line``."""
        skip = sum(len(s) for s in self.sentences[:sentence]) + token
        for number, kind in enumerate(self.kinds, self.first_line):
            skip -= kind == _TOKEN
            if skip < 0:
                return f"{self.source}:{number}"
        raise IndexError(f"{self.source} has no token {token} in sentence {sentence} of this block")

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
        labels = [[token[index] for token in sentence] for sentence in self.sentences]
        for s, sentence in enumerate(labels):
            if "" in sentence:
                raise DataFileError(
                    f"{self.location(s, sentence.index(''))}: the label (column {index}) is empty; give "
                    f"every token a label, or remove a separator that ends the lines"
                )
        return labels

    def aligned(self, n_columns: int, label_column: int) -> list[Sentence]:
        """Sentences whose columns stand where a model expects them, with or without labels in the file.

        Parameters
        ----------
        n_columns : int
            Columns of the training file, the label included.
        label_column : int
            Index of the label among them, from 0.

        Returns
        -------
        list of list of tuple of str
            The sentences as they are, or with an empty label column put in its place.

        Raises
        ------
        DataFileError
            The file has neither `n_columns` nor ``n_columns - 1`` columns.
        """
        if not self.sentences or self.n_columns == n_columns:
            return self.sentences
        if self.n_columns != n_columns - 1:
            raise DataFileError(
                f"{self.location()}: expected {n_columns} columns as in training (the label in column "
                f"{label_column}), or {n_columns - 1} without the label; found {self.n_columns}"
            )
        if label_column == self.n_columns:
            return self.sentences
        return [[t[:label_column] + ("",) + t[label_column:] for t in s] for s in self.sentences]

    def write_with_column(self, out: IO[str], *predicted: Sequence[Sequence[str]]) -> None:
        """Write the input with one or more columns added, everything else unchanged, and flush.

        Parameters
        ----------
        out : text file
        *predicted : list of list of str
            For each new column its values, one list a sentence. Lines of CoNLL-U that are no words get ``_``.
        """
        for column in predicted:
            self._check_shape(column)
        values = iter([self.separator.join(map(str, v)) for s in zip(*predicted) for v in zip(*s)])
        nothing = self.separator.join("_" for _ in predicted)
        written = []
        for line, kind in zip(self.lines, self.kinds):
            if kind != _LAYOUT:
                body = line.rstrip("\r\n")
                end = line[len(body) :]
                body = body.rstrip(" \t") if self.separator == " " else body
                line = f"{body}{self.separator}{next(values) if kind == _TOKEN else nothing}{end}"
            written.append(line)
        out.writelines(written)
        out.flush()

    def _check_shape(self, column: Sequence[Sequence[str]]) -> None:
        if len(column) != len(self.sentences):
            raise ValueError(
                f"predictions for {len(column)} sentences, but there are {len(self.sentences)}; "
                f"give one list for each"
            )
        for s, (values, sentence) in enumerate(zip(column, self.sentences)):
            if len(values) != len(sentence):
                raise ValueError(
                    f"sentence {s} ({self.location(s)}) has {len(sentence)} tokens, "
                    f"but {len(values)} predictions; give one for each token"
                )


def read_columns(
    path: str | os.PathLike, *, stream: IO | None = None, conllu: bool | None = None
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
        A line whose number of columns differs from the first, bytes that are not UTF-8, no tokens at all.

    Notes
    -----
    Columns are separated by tabs if the first token line has one, else by blanks. Lines of white space
    separate sentences. Outside CoNLL-U a line is a comment only if it begins with ``# key =`` where a
    sentence may begin, because ``#`` is also a token.
    """
    for text in iter_columns(path, stream=stream, conllu=conllu, sentences_per_block=None):
        if text.sentences:
            return text
    raise DataFileError(f"{source_name(path)}:1: there are no tokens; expected one a line, in columns")


def iter_columns(
    path: str | os.PathLike,
    *,
    stream: IO | None = None,
    conllu: bool | None = None,
    sentences_per_block: int | None = 1000,
) -> Iterator[ColumnText]:
    """Read a column file in blocks of sentences, for filters that cannot wait for the end.

    The blocks written one after the other give the whole input again. Empty input gives no block, and a block
    without sentences holds only comments or blank lines. Parameters and errors are those of `read_columns`.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO("a X\\n\\nb Y\\n\\nc Z\\n")
    >>> [text.sentences for text in iter_columns("-", stream=stream, sentences_per_block=2)]
    [[[('a', 'X')], [('b', 'Y')]], [[('c', 'Z')]]]
    """
    source = source_name(path)
    if conllu is None:
        conllu = _CONLLU_NAME.search(source) is not None
    separator, n_columns, first_token_line = "", 0, 0
    sentences: list[Sentence] = []
    sentence: Sentence = []
    lines, kinds, first_line = [], bytearray(), 1

    for number, line in enumerate(read_lines(path, stream), 1):
        text = line.rstrip("\r\n")
        if number == 1:
            text = text.removeprefix("\ufeff")
        kind = _LAYOUT
        if not text or text.isspace():
            if sentence:
                sentences.append(sentence)
                sentence = []
        elif text[0] != "#" or not (conllu or (not sentence and _COMMENT.match(text))):
            if not n_columns:
                separator = "\t" if "\t" in text else " "
            cells = text.split("\t") if separator == "\t" else _split_at_blanks(text)
            if not n_columns:
                n_columns, first_token_line = len(cells), number
            elif len(cells) != n_columns:
                raise DataFileError(
                    f"{source}:{number}: expected {_count(n_columns, separator)} as in line "
                    f"{first_token_line}, found {len(cells)}: {_shortened(text)}"
                )
            if conllu and _MULTIWORD_OR_EMPTY.match(cells[0]):
                kind = _NOT_A_WORD
            else:
                kind = _TOKEN
                sentence.append(tuple(map(sys.intern, cells)))
        lines.append(line)
        kinds.append(kind)
        if len(sentences) == sentences_per_block:
            yield ColumnText(source, sentences, n_columns, separator, conllu, first_line, lines, kinds)
            sentences, lines, kinds, first_line = [], [], bytearray(), number + 1
    if sentence:
        sentences.append(sentence)
    if lines:
        yield ColumnText(source, sentences, n_columns, separator, conllu, first_line, lines, kinds)


def _split_at_blanks(text: str) -> list[str]:
    # str.split() would also cut at no-break and ideographic spaces, which are parts of tokens
    cells = text.replace("\t", " ").split(" ")
    return [cell for cell in cells if cell] if "" in cells else cells


def _count(n_columns: int, separator: str) -> str:
    between = "tabs" if separator == "\t" else "blanks"
    return f"{n_columns} columns separated by {between}" if n_columns > 1 else "1 column"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
