"""Columns that tell names of genes, proteins and cells: stems, parts of compounds, symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from sklearn.base import BaseEstimator

from palmette.features.sets.stateless import Stateless
from palmette.registry import register

Sentences = Sequence[Sequence[tuple[str, ...]]]

_DIGITS = re.compile(r"\d+")
_GREEK = "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|sigma|tau|omega"
_SIGNS = {  # letters of a word's signs, and what has them
    "G": re.compile(rf"(?i)({_GREEK})$"),
    "g": re.compile(rf"(?i).*({_GREEK})"),
    "R": re.compile(r"[IVX]+$"),
    "N": re.compile(r"[ACGTU]{3,}$"),
    "L": re.compile(r"[A-Z]$"),
    "D": re.compile(r"\d+$"),
    "d": re.compile(r".*\d"),
    "m": re.compile(r".+[A-Z]"),
    "-": re.compile(r".*-"),
    "/": re.compile(r".*/"),
}


@register("columns", "biology")
class BioColumns(Stateless, BaseEstimator):
    """Four columns behind those of a token: stem of the word, of its first and of its last hyphen part, and signs.

    Examples
    --------
    >>> BioColumns().transform([[("NF-kappaB",), ("receptors",), ("IL-12",)]])[0]
    [('NF-kappaB', 'nf-kappab', 'nf', 'kappab', 'gm-'), ('receptors', 'receptor', 'receptor', 'receptor', '.'), \
('IL-12', 'il-0', 'il', '0', 'dm-')]
    """

    column_names = ("stem", "first", "last", "signs")

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Sentences with the columns, the last ones."""
        extended = {token: (*token, *_cells(token[0])) for token in set(chain.from_iterable(X))}
        return [[extended[token] for token in sentence] for sentence in X]


def _cells(word: str) -> tuple[str, str, str, str]:
    first, *_, last = word.split("-") if "-" in word else (word, word)
    return stem(word), stem(first), stem(last), signs(word)


def stem(word: str) -> str:
    """A word in lower case, digits written as one 0, without the s of the plural.

    >>> stem("Genes"), stem("IL-12s"), stem("virus"), stem("class")
    ('gene', 'il-0', 'virus', 'class')
    """
    word = _DIGITS.sub("0", word.lower())
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


def signs(word: str) -> str:
    """Which signs a word has, a letter each, ``.`` if none.

    Greek letter (``G``) or one inside (``g``), Roman number ``R``, bases ``N``, one capital ``L``, number ``D``,
    a digit inside ``d``, a capital inside ``m``, hyphen, slash.

    >>> signs("alpha"), signs("II"), signs("TATA"), signs("p53"), signs("cell")
    ('Gg', 'Rm', 'Nm', 'd', '.')
    """
    return "".join(letter for letter, pattern in _SIGNS.items() if pattern.match(word)) or "."
