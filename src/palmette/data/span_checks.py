"""Which encoding labels are in, and whether they follow its rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.flat_labels import FlatLabels, flatten_labels
from palmette.data.span_encodings import (
    ENCODINGS,
    Encoding,
    allowed_transitions,
    belongs,
    foreign,
    get_encoding,
)
from palmette.errors import SpanError


def check_spans(labels: Sequence[Sequence[str]], encoding: str) -> None:
    """Raise SpanError at the first label that the encoding does not have or that cannot stand where it does.

    Examples
    --------
    >>> check_spans([["B-NP", "E-NP"], ["S-NP", "B-NP"]], "IOBES")
    Traceback (most recent call last):
    palmette.errors.SpanError: sentence 1, position 1: 'B-NP' at the end of a sentence is not valid in IOBES; ...
    """
    flat, grammar = flatten_labels(labels), get_encoding(encoding)
    check_letters(flat, grammar)
    check_order(flat, grammar)


def detect_encoding(labels: Sequence[Sequence[str]]) -> str:
    """Name of the encoding of a data set: of those with all its letters, the one with fewest violations.

    Where several do equally well, the first of IOB2, IOB1, IOBES, BILOU, BMES and BMES6.

    Examples
    --------
    >>> detect_encoding([["I-NP", "O"], ["O", "I-NP", "B-NP"]]), detect_encoding([["B", "M", "E", "S"]])
    ('IOB1', 'BMES')
    """
    return detected(flatten_labels(labels)).name


def detected(flat: FlatLabels) -> Encoding:
    """The encoding of flat labels; SpanError if they are in none."""
    fitting = [each for each in ENCODINGS.values() if all(belongs(label, each) for label in flat.labels)]
    if not fitting:
        first = min(flat.labels, key=lambda label: any(belongs(label, each) for each in ENCODINGS.values()))
        raise SpanError(
            f"the labels ({', '.join(map(repr, flat.labels[:10]))}, ...) are in no span encoding, "
            f"see {first!r}; known: {', '.join(ENCODINGS)}"
        )
    return min(fitting, key=lambda each: len(_violations(flat, each)))


def check_letters(flat: FlatLabels, grammar: Encoding) -> None:
    """Raise SpanError at a label that does not belong to the encoding."""
    for code, label in enumerate(flat.labels):
        if not belongs(label, grammar):
            sentence, position = flat.place(int(np.argmax(flat.codes == code)))
            where = f"sentence {sentence}, position {position}"
            raise SpanError(f"{where}: {foreign(label, grammar)}", sentence, position)


def check_order(flat: FlatLabels, grammar: Encoding) -> None:
    """Raise SpanError at the first label that may not stand where it does."""
    wrong = _violations(flat, grammar)
    if not wrong:
        return
    t, how = min(wrong)
    sentence, position = flat.place(t)
    label, before = flat.labels[flat.codes[t]], flat.labels[flat.codes[t - 1]]
    raise SpanError(
        f"sentence {sentence}, position {position}: {label!r} {how.format(before)} is not valid in "
        f"{grammar.name}; correct it, or repair labels with invalid='repair' ({len(wrong)} in all)",
        sentence,
        position,
    )


def _violations(flat: FlatLabels, grammar: Encoding) -> list[tuple[int, str]]:
    """Positions that break a rule and which one; a pair counts at its second position."""
    tables = allowed_transitions(flat.labels, grammar.name)
    filled = np.diff(flat.offsets) > 0
    starts, ends = flat.offsets[:-1][filled], flat.offsets[1:][filled] - 1
    seconds = np.setdiff1d(np.arange(len(flat.codes)), starts, assume_unique=True)
    codes = flat.codes
    broken = (
        ("at the start of a sentence", starts[~tables.start[codes[starts]]]),
        ("after {!r}", seconds[~tables.transition[codes[seconds - 1], codes[seconds]]]),
        ("at the end of a sentence", ends[~tables.end[codes[ends]]]),
    )
    return [(t, how) for how, positions in broken for t in positions.tolist()]
