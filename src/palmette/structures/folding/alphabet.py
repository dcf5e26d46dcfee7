"""Letters of sequences as numbers: T is U, ambiguity codes and modified bases by a mapping that users can extend.

A letter stands for one of A, C, G, U where its chemistry says so; everything else that IUPAC names, and gaps between
strands, is unknown: it pairs with nothing and has no score of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.structures.folding.layout import LETTERS, UNKNOWN_LETTER

ALPHABET: Mapping[str, str] = MappingProxyType({
    **{letter: letter for letter in LETTERS},
    "T": "U",  # DNA
    "I": "G",  # inosine pairs with C, U (and A): nearest is G
    "P": "U",  # pseudouridine, as in Modomics' short form
    "D": "U",  # dihydrouridine
    **dict.fromkeys("NRYSWKMBHVX", "N"),  # IUPAC ambiguity codes; D means dihydrouridine here
})  # fmt: skip
"""What each letter is read as, before lower case and a user's own mapping: A, C, G, U, or N for unknown."""

UNKNOWN = "N"


def reading(own: Mapping[str, str] | None = None) -> dict[str, int]:
    """The number of each letter, small ones too, with a user's letters added.

    >>> reading({"7": "G"})["7"], reading()["t"], reading()["R"]
    (2, 3, 4)
    """
    table: dict[str, str] = {**ALPHABET}
    for letter, meaning in (own or {}).items():
        if not isinstance(letter, str) or len(letter) != 1:
            raise ValueError(f"alphabet names {letter!r}: a letter is one character")
        if meaning not in (*LETTERS, UNKNOWN):
            raise ValueError(
                f"alphabet reads {letter!r} as {meaning!r}: expected A, C, G, U, or N for unknown"
            )
        table[letter] = meaning
    numbers = {letter: UNKNOWN_LETTER if m == UNKNOWN else LETTERS.index(m) for letter, m in table.items()}
    small = {letter.lower(): n for letter, n in numbers.items() if letter.lower() not in numbers}
    return {**small, **numbers}


def letter_codes(text: Any, where: str, table: Mapping[str, int] | None = None) -> np.ndarray:
    """A sequence as numbers, int8; a letter without a meaning is refused, naming its position.

    >>> letter_codes("GAUN", "X[0]")
    array([2, 0, 3, 4], dtype=int8)
    """
    if not isinstance(text, str):
        raise TypeError(f"{where} must be a string of letters such as 'GGGAAACCC', got {type(text).__name__}")
    table = reading() if table is None else table
    try:
        return np.fromiter(map(table.__getitem__, text), np.int8, len(text))
    except KeyError:
        at, letter = next((t, each) for t, each in enumerate(text) if each not in table)
        raise ValueError(
            f"{where}, position {at} (0-based): {letter!r} is no letter of the alphabet; give it a meaning with "
            f"Folding(alphabet={{{letter!r}: 'A'}}) (or 'N' for unknown), or remove it"
        ) from None
