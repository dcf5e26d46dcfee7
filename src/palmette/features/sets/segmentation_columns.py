"""Columns that tell where words begin and end in text without spaces: kinds of characters, and a lexicon.

A token is a character, or a text that is never cut, such as a number or a word in another script: it counts as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from palmette.data.words import cut_words
from palmette.features.sets.counts import counts_from_state, counts_state
from palmette.features.sets.stateless import Stateless
from palmette.registry import register

Sentences = Sequence[Sequence[tuple[str, ...]]]
Word = tuple[str, ...]  # its characters

_NUMERALS = frozenset("零〇○一二三四五六七八九十百千万亿两几数点半第")
_UNITS_OF_TIME = frozenset("年月日时分秒")


@register("columns", "characters")
class CharacterColumns(Stateless, BaseEstimator):
    """Two columns behind those of a character: its kind, and whether it repeats the last one or the last but one.

    Examples
    --------
    >>> CharacterColumns().transform([[("高",), ("高",), ("7",), ("高",), ("。",)]])[0]
    [('高', 'C', '00'), ('高', 'C', '10'), ('7', 'D', '00'), ('高', 'C', '01'), ('。', 'P', '00')]
    """

    column_names = ("kind", "again")

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Lines with the columns, the last ones."""
        kinds = {character: kind(character) for character in {token[0] for line in X for token in line}}
        made = []
        for line in X:
            text = [token[0] for token in line]
            before = ["", "", *text]
            again = [f"{int(c == b)}{int(c == a)}" for a, b, c in zip(before, before[1:], text)]
            made.append([(*token, kinds[token[0]], mark) for token, mark in zip(line, again)])
        return made


def kind(character: str) -> str:
    """The kind of a character: digit D, Latin letter L, numeral N, unit of time T, punctuation P, other C.

    >>> "".join(map(kind, "7a三年，高"))
    'DLNTPC'
    """
    if character.isascii() and character.isalnum():
        return "D" if character.isdigit() else "L"
    if character in _NUMERALS:
        return "N"
    if character in _UNITS_OF_TIME:
        return "T"
    return "C" if character.isalnum() else "P"


@register("columns", "lexicon")
class LexiconColumns(BaseEstimator):
    """Three columns behind those of a character: how long are the words of the training text that fit around it.

    Lengths in characters (6 for more) of the longest word that begins there, that ends there, and that covers it with a
    character on either side; 1, 1 and 0 if there is none.

    `fit_transform` reads each tenth of the training lines with a lexicon of the other nine. A lexicon with the words
    of the line itself would know every word, and the learner would trust it too much.

    Parameters
    ----------
    min_count : int, default=1
        Words that occur less often are left out.
    longest : int, default=8
        So are words of more characters.
    n_folds : int, default=10

    Examples
    --------
    >>> X, y = [[(c,) for c in "abcab"]], [["B", "M", "E", "B", "E"]]
    >>> LexiconColumns().fit(X, y).transform([[("a",), ("b",), ("c",)]])
    [[('a', '3', '1', '0'), ('b', '1', '2', '3'), ('c', '1', '3', '0')]]
    """

    column_names = ("begins", "ends", "around")
    reads_labels = True

    def __init__(self, min_count: int = 1, *, longest: int = 8, n_folds: int = 10) -> None:
        self.min_count = min_count
        self.longest = longest
        self.n_folds = n_folds

    def fit(self, X: Sentences, y: Sequence[Sequence[str]]) -> LexiconColumns:
        """Collect the words of labelled lines, in any encoding of words."""
        self.counts_ = _count(_words(X, y))
        return self

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Lines with the columns, the last ones."""
        return self._extended(X, self.counts_)

    def fit_transform(self, X: Sentences, y: Sequence[Sequence[str]]) -> list[list[tuple[str, ...]]]:
        """Collect words, and read each part of the lines with the words of the others."""
        words = _words(X, y)
        self.counts_ = _count(words)
        bounds = [len(X) * k // self.n_folds for k in range(self.n_folds + 1)]
        made = []
        for a, b in zip(bounds, bounds[1:]):
            others = self.counts_.copy()
            others.subtract(_count(words[a:b]))
            made += self._extended(X[a:b], others)
        return made

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays, from which `from_state` makes the columns again."""
        return self.get_params(), counts_state(self.counts_)

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LexiconColumns:
        """The maker from what `state` returned."""
        maker = cls(**header)
        maker.counts_ = counts_from_state(arrays)
        return maker

    def _extended(self, X: Sentences, counts: Counter[Word]) -> list[list[tuple[str, ...]]]:
        lexicon = {w for w, n in counts.items() if n >= self.min_count and 2 <= len(w) <= self.longest}
        beginnings = {word[:size] for word in lexicon for size in range(2, len(word) + 1)}
        made = []
        for line in X:
            columns = _fitting(tuple(token[0] for token in line), lexicon, beginnings)
            made.append([(*token, *cells) for token, *cells in zip(line, *columns, strict=True)])
        return made


def _words(X: Sentences, y: Sequence[Sequence[str]]) -> list[list[Word]]:
    return cut_words([[token[0] for token in line] for line in X], y)


def _count(lines: Sequence[Sequence[Word]]) -> Counter[Word]:
    return Counter(chain.from_iterable(lines))


def _fitting(text: Word, lexicon: set[Word], beginnings: set[Word]) -> list[list[str]]:
    """Lengths of the longest words that begin, end and are around each place."""
    n = len(text)
    begin, end, around = [1] * n, [1] * n, [0] * n
    for a in range(n):
        for b in range(a + 2, n + 1):
            word = text[a:b]
            if word not in beginnings:
                break
            if word in lexicon:
                begin[a] = b - a
                end[b - 1] = max(end[b - 1], b - a)
                for t in range(a + 1, b - 1):
                    around[t] = max(around[t], b - a)
    return [[str(min(length, 6)) for length in lengths] for lengths in (begin, end, around)]
