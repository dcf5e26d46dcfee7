"""Sentences as columns of cell codes: what feature templates read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import numpy as np

from palmette.data.checks import check_array, check_codes, check_offsets
from palmette.data.ragged import offsets_from_lengths
from palmette.features.attributes import describe
from palmette.features.texts import TextIndex


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Tokens of some sentences, column by column; equal cells of a column have equal codes.

    Parameters
    ----------
    codes : tuple of ndarray of int32, shape (n_tokens,)
        One array per column.
    cells : tuple of TextIndex
        For each column its distinct cells, by code.
    offsets : ndarray of int64, shape (n_sentences + 1,)
        Sentence i owns the tokens ``offsets[i]:offsets[i + 1]``.

    Examples
    --------
    >>> table = ColumnTable.from_sentences([[("the", "DT"), ("cat", "NN")], [("the", "DT")]])
    >>> len(table), table.n_columns, table.codes[0], table.cells[1].strings()
    (2, 2, array([0, 1, 0], dtype=int32), ['DT', 'NN'])
    >>> table.sentences()
    [[('the', 'DT'), ('cat', 'NN')], [('the', 'DT')]]
    """

    codes: tuple[np.ndarray, ...]
    cells: tuple[TextIndex, ...]
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.codes)

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all sentences."""
        return int(self.offsets[-1])

    def check(self) -> None:
        """Raise ValueError unless every code is that of a cell, and every token belongs to a sentence."""
        if len(self.codes) != len(self.cells):
            raise ValueError(
                f"the table has {len(self.codes)} columns of codes and {len(self.cells)} of cells"
            )
        check_offsets("offsets", self.offsets, len(self.codes[0]) if self.codes else 0)
        for k, (codes, cells) in enumerate(zip(self.codes, self.cells)):
            check_codes(
                f"codes[{k}]", check_array(f"codes[{k}]", codes, np.int32, 1, self.n_tokens), len(cells)
            )

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sequence[Sequence[str]]]) -> ColumnTable:
        """Columns of tokens that are tuples of strings, all of one width."""
        offsets = offsets_from_lengths([len(sentence) for sentence in sentences])
        tokens = list(chain.from_iterable(sentences))
        if len(set(map(len, tokens))) > 1 or any(issubclass(kind, str) for kind in set(map(type, tokens))):
            raise _bad_token(sentences)
        codes, cells = [], []
        for number in range(len(tokens[0]) if tokens else 0):
            index = TextIndex()
            try:
                codes.append(index.add(list(map(itemgetter(number), tokens))))
            except TypeError:
                raise _bad_token(sentences) from None
            cells.append(index.trimmed())
        return cls(tuple(codes), tuple(cells), offsets)

    @classmethod
    def concatenated(cls, tables: Sequence[ColumnTable]) -> ColumnTable:
        """The sentences of some tables of equal width, one after the other."""
        if len(tables) == 1:
            return tables[0]
        codes, cells = [], []
        for column in range(tables[0].n_columns):
            index = TextIndex()
            new = [index.add(table.cells[column].spans()) for table in tables]
            codes.append(np.concatenate([own[table.codes[column]] for own, table in zip(new, tables)]))
            cells.append(index.trimmed())
        lengths = np.concatenate([np.diff(table.offsets) for table in tables])
        return cls(tuple(codes), tuple(cells), offsets_from_lengths(lengths))

    def taken(self, sentences: np.ndarray) -> ColumnTable:
        """Some of the sentences, by their numbers.

        >>> table = ColumnTable.from_sentences([[("the",), ("cat",)], [("sat",)], [("on",), ("it",)]])
        >>> table.taken(np.array([2, 0])).sentences()
        [[('on',), ('it',)], [('the',), ('cat',)]]
        """
        lengths = np.diff(self.offsets)[sentences]
        offsets = offsets_from_lengths(lengths)
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][sentences] - offsets[:-1], lengths)
        return ColumnTable(tuple(codes[tokens] for codes in self.codes), self.cells, offsets)

    def with_empty(self, place: int) -> ColumnTable:
        """The same columns with one of empty cells put before column `place`."""
        codes, cells = list(self.codes), list(self.cells)
        codes.insert(place, np.zeros(self.n_tokens, np.int32))
        cells.insert(place, TextIndex([""]))
        return ColumnTable(tuple(codes), tuple(cells), self.offsets)

    def with_column(self, source: int, cells: Sequence[str]) -> ColumnTable:
        """The same columns, followed by one whose cells depend on those of another.

        Parameters
        ----------
        source : int
            The other column.
        cells : list of str
            The new cell for each distinct one there, in the order of ``self.cells[source]``.
        """
        index = TextIndex()
        codes = index.add(cells)[self.codes[source]]
        return ColumnTable((*self.codes, codes), (*self.cells, index.trimmed()), self.offsets)

    def blocks(self, n_tokens: int) -> Iterator[tuple[int, int]]:
        """Cut into runs of sentences of about so many tokens each: first and last (exclusive) sentence."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + n_tokens, side="right")) - 1
            stop = max(stop, start + 1)
            yield start, stop
            start = stop

    def column(self, number: int) -> list[list[str]]:
        """The cells of one column, sentence by sentence; equal ones are one object."""
        flat = self._flat(number)
        return [flat[a:b] for a, b in zip(self.offsets.tolist(), self.offsets[1:].tolist())]

    def sentences(self) -> list[list[tuple[str, ...]]]:
        """The tokens as tuples."""
        tokens = list(zip(*(self._flat(number) for number in range(self.n_columns))))
        return [tokens[a:b] for a, b in zip(self.offsets.tolist(), self.offsets[1:].tolist())]

    def _flat(self, number: int) -> list[str]:
        return np.array(self.cells[number].strings(), object)[self.codes[number]].tolist()


def _bad_token(sentences: Sequence[Sequence[Sequence[str]]]) -> Exception:
    """The error that names the first token which is not a tuple of strings, or of another width than the first."""
    width = None
    for s, sentence in enumerate(sentences):
        for t, token in enumerate(sentence):
            where = f"sentence {s}, token {t}"
            if isinstance(token, str) or not all(isinstance(cell, str) for cell in token):
                return TypeError(
                    f"{where}: expected a tuple of strings, one per column; found {describe(token)}"
                )
            width = len(token) if width is None else width
            if len(token) != width:
                return ValueError(
                    f"{where}: expected {width} columns as in the first token, found {token!r:.60}"
                )
    return TypeError("tokens must be tuples of strings")
