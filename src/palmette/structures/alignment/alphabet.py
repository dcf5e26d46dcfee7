"""Letters of sequences as numbers: alphabets, and what further letters are read as.

Proteins have the 20 amino acids in the order of substitution matrices, then B (N or D), Z (Q or E) and X (any). Letters
beyond them are read as the nearest: selenocysteine U as C, pyrrolysine O as K, J (I or L) as L, and the end of
translation ``*`` as X. Nucleotides have N for everything that IUPAC calls ambiguous; T and U are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX"
_AMBIGUOUS = dict.fromkeys("RYSWKMBDHVX", "N")

ALPHABETS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType({
    "protein": (PROTEIN, {"U": "C", "O": "K", "J": "L", "*": "X"}),
    "dna": ("ACGTN", {"U": "T", **_AMBIGUOUS}),
    "rna": ("ACGUN", {"T": "U", **_AMBIGUOUS}),
})  # fmt: skip
"""The letters of each alphabet in their order, and what others are read as."""

HYDROPHILIC = frozenset("DEGKNQPRS")
"""Amino acids between which gaps are likelier."""


def letters_of(alphabet: Any) -> str:
    """The letters of an alphabet: one of those known by name, or a string of letters of your own.

    >>> letters_of("dna"), letters_of("01")
    ('ACGTN', '01')
    """
    if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) < len(alphabet):
        raise ValueError(
            f"alphabet must be {', '.join(map(repr, ALPHABETS))} or a string of different letters, got {alphabet!r}"
        )
    return ALPHABETS[alphabet][0] if alphabet in ALPHABETS else alphabet


def reading(alphabet: str, own: Mapping[str, str] | None = None) -> dict[str, int]:
    """The number of each letter, small ones too, with a user's letters added.

    >>> table = reading("protein", {"1": "A"})
    >>> table["1"], table["r"], table["*"]
    (0, 1, 22)
    """
    letters = letters_of(alphabet)
    table = {letter: letter for letter in letters}
    table |= ALPHABETS[alphabet][1] if alphabet in ALPHABETS else {}
    for letter, meaning in (own or {}).items():
        if not isinstance(letter, str) or len(letter) != 1:
            raise ValueError(f"letters names {letter!r}: a letter is one character")
        if not isinstance(meaning, str) or len(meaning) != 1 or meaning not in letters:
            raise ValueError(f"letters reads {letter!r} as {meaning!r}: expected one of {letters}")
        table[letter] = meaning
    numbers = {letter: letters.index(meaning) for letter, meaning in table.items()}
    small = {letter.lower(): n for letter, n in numbers.items() if letter.lower() not in numbers}
    return {**small, **numbers}


def letter_codes(text: Any, where: str, table: Mapping[str, int], what: str = "sequence") -> np.ndarray:
    """A sequence as numbers, int16; a letter without a meaning is refused, naming its position.

    >>> letter_codes("Arn", "X[0][0]", reading("protein"))
    array([0, 1, 2], dtype=int16)
    """
    if not isinstance(text, str):
        raise TypeError(f"{where} must be a string of letters, got {type(text).__name__}")
    try:
        return np.fromiter(map(table.__getitem__, text), np.int16, len(text))
    except KeyError:
        at, letter = next((t, each) for t, each in enumerate(text) if each not in table)
        remedy = (
            "an input has no gaps: give the sequence alone"
            if letter in "-.~"
            else f"give it a meaning with Alignment(letters={{{letter!r}: ...}}), or remove it"
            if what == "sequence"
            else f"values of the track are {''.join(table)}"
        )
        raise ValueError(
            f"{where}, position {at} (0-based): {letter!r} is no letter of the {what}; {remedy}"
        ) from None
