"""How labels encode spans: which letters an encoding has, and which label may follow which.

========  ==========================================================================================
encoding  a span is written as
========  ==========================================================================================
IOB1      ``I I I``; its first label is ``B`` only where a span of the same type ends just before it
IOB2      ``B I I``
IOBES     ``B I E``, or ``S`` where it is one position long
BILOU     the same as IOBES with the letters ``B I L`` and ``U``
BMES      the same as IOBES with the letters ``B M E`` and ``S``
BMES6     ``B B2 B3 M M E``: the second and third position have letters of their own
========  ==========================================================================================

A label is a letter, a hyphen and the type of the span (``B-NP``), or the letter alone where spans have no type;
``O`` is outside of spans. Word segmentation has spans without types and nothing outside: four tags (BMES) or six.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

OUTSIDE = "O"

PLACE = {"B": "B", "I": "I", "M": "I", "B2": "I", "B3": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
"""What a letter means in any encoding: begins a span (B), continues it (I), ends it (E), is one alone (S)."""


@dataclass(frozen=True)
class Encoding:
    """The grammar of one encoding.

    Parameters
    ----------
    name : str
    head : tuple of str
        Letters of the first positions of a long span, then of all up to the last.
    tail : str
        Letter of the last position of a span of two or more.
    single : str
        Letter of a span of one position.
    marks_neighbours : bool
        Whether the first letter depends on the span before (IOB1).
    """

    name: str
    head: tuple[str, ...]
    tail: str
    single: str
    marks_neighbours: bool = False

    @property
    def letters(self) -> frozenset[str]:
        """All letters of the encoding."""
        return frozenset((*self.head, self.tail, self.single, *("B" * self.marks_neighbours)))

    @property
    def first(self) -> frozenset[str]:
        """Letters that a span may begin with."""
        return frozenset((self.head[0], self.single, *("B" * self.marks_neighbours)))

    @property
    def last(self) -> frozenset[str]:
        """Letters that a span may end with."""
        return frozenset((self.tail, self.single, *("B" * self.marks_neighbours)))

    @property
    def inside(self) -> frozenset[tuple[str, str]]:
        """Pairs of letters of neighbouring positions of one span."""
        steps = zip(self.head, (*self.head[1:], self.head[-1]))
        ends = ((letter, self.tail) for letter in self.head)
        return frozenset((*steps, *ends, *([("B", "I")] * self.marks_neighbours)))


ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("IOB2", ("B", "I"), "I", "B"),
        Encoding("IOB1", ("I",), "I", "I", marks_neighbours=True),
        Encoding("IOBES", ("B", "I"), "E", "S"),
        Encoding("BILOU", ("B", "I"), "L", "U"),
        Encoding("BMES", ("B", "M"), "E", "S"),
        Encoding("BMES6", ("B", "B2", "B3", "M"), "E", "S"),
    )
}
"""The encodings by name; where a data set fits several, the first counts."""


def get_encoding(name: str) -> Encoding:
    """The encoding of that name.

    >>> get_encoding("IOBES").last == {"E", "S"}
    True
    """
    try:
        return ENCODINGS[name]
    except (KeyError, TypeError):
        raise ValueError(f"unknown span encoding {name!r}; known: {', '.join(ENCODINGS)}") from None


class Transitions(NamedTuple):
    """Which labels may begin a sequence, follow each other and end it.

    Attributes
    ----------
    start : ndarray of bool, shape (n_labels,)
    transition : ndarray of bool, shape (n_labels, n_labels)
        Entry ``[a, b]``: whether label b may follow label a.
    end : ndarray of bool, shape (n_labels,)
    """

    start: np.ndarray
    transition: np.ndarray
    end: np.ndarray


def allowed_transitions(labels: Sequence[str], encoding: str) -> Transitions:
    """Tables of what an encoding allows, for constrained decoding and for checks.

    Parameters
    ----------
    labels : sequence of str
        The labels in the order of their codes, such as ``classes_`` of a model.
    encoding : {"IOB1", "IOB2", "IOBES", "BILOU", "BMES", "BMES6"}

    Returns
    -------
    Transitions
        ``start`` and ``end`` of shape (n_labels,), ``transition`` of shape (n_labels, n_labels), all bool.

    Examples
    --------
    >>> tables = allowed_transitions(["B-NP", "I-NP", "I-VP", "O"], "IOB2")
    >>> tables.start, tables.end
    (array([ True, False, False,  True]), array([ True,  True,  True,  True]))
    >>> tables.transition
    array([[ True,  True, False,  True],
           [ True,  True, False,  True],
           [ True, False,  True,  True],
           [ True, False, False,  True]])
    """
    grammar = get_encoding(encoding)
    letters, kinds, outside = _split(labels, grammar)
    first, last = np.isin(letters, list(grammar.first)), np.isin(letters, list(grammar.last))
    same_kind = (kinds[:, None] == kinds) & ~outside[:, None] & ~outside
    boundary = (last | outside)[:, None] & (first | outside)
    start = first | outside
    if grammar.marks_neighbours:
        marked = letters == "B"
        boundary &= ~marked | same_kind
        start = ~marked
    inside = np.array([[(a, b) in grammar.inside for b in letters] for a in letters], bool)
    inside = inside.reshape(len(labels), len(labels)) & same_kind
    return Transitions(start, boundary | inside, last | outside)


def split_label(label: str) -> tuple[str, str]:
    """Letter and type of a label; the type is empty where there is none.

    >>> split_label("B-cell-line"), split_label("S"), split_label("O")
    (('B', 'cell-line'), ('S', ''), ('O', ''))
    """
    letter, _, kind = label.partition("-")
    return letter, kind


def _split(labels: Sequence[str], grammar: Encoding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Letters, types and whether outside, for each label."""
    for code, label in enumerate(labels):
        if not belongs(label, grammar):
            raise ValueError(f"labels[{code}]: {foreign(label, grammar)}")
    letters, kinds = zip(*map(split_label, labels)) if len(labels) else ((), ())
    outside = np.array([label == OUTSIDE for label in labels], bool)
    return np.array(letters, np.str_), np.array(kinds, np.str_), outside


def belongs(label: object, grammar: Encoding) -> bool:
    """Whether a label has a letter of the encoding, or is ``O``."""
    return isinstance(label, str) and (label == OUTSIDE or split_label(label)[0] in grammar.letters)


def foreign(label: object, grammar: Encoding) -> str:
    """What to say about a label that does not belong to an encoding."""
    letters = ", ".join(sorted(grammar.letters))
    return (
        f"{label!r} is not a label of the encoding {grammar.name}: those are O and the letters {letters}, "
        "each alone or with a type, such as B-NP; name the encoding that the data has"
    )
