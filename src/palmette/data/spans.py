"""Spans in label sequences: found, and written in another encoding, all sequences at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from palmette.data.flat_labels import Codes, FlatLabels, flatten_labels
from palmette.data.span_checks import check_letters, check_order, detected
from palmette.data.span_encodings import OUTSIDE, PLACE, get_encoding, split_label

_CODE_OF_PLACE = {"B": 1, "I": 2, "E": 3, "S": 4}  # 0 is outside
_BEGINS = np.array([False, True, False, False, True])
_CLOSED = np.array([True, False, False, True, True])  # nothing continues after these


class FlatSpans(NamedTuple):
    """Spans of all sequences, from left to right.

    Attributes
    ----------
    starts, stops : ndarray of int64, shape (n_spans,)
        A span has the positions ``starts[k]`` to ``stops[k] - 1``, counted over all sequences.
    kinds : ndarray of int64, shape (n_spans,)
        Its type, an index into `names`.
    sequences : ndarray of int64, shape (n_spans,)
        The sequence that it is in.
    names : list of str
    """

    starts: np.ndarray
    stops: np.ndarray
    kinds: np.ndarray
    sequences: np.ndarray
    names: list[str]


def find_spans(Y: Sequence[Sequence[Hashable]] | FlatLabels) -> FlatSpans:
    """Spans of label sequences in any encoding, read as conlleval reads them.

    ``B`` and ``S`` begin a span; ``I`` and ``E`` continue one of the same type and else begin one; nothing
    continues after ``E`` or ``S``. Other labels are outside.

    Parameters
    ----------
    Y : list of list of str, or FlatLabels

    Examples
    --------
    >>> spans = find_spans([["B-NP", "I-NP", "O"], ["I-VP"]])
    >>> spans.starts, spans.stops, [spans.names[k] for k in spans.kinds], spans.sequences
    (array([0, 3]), array([2, 4]), ['NP', 'VP'], array([0, 1]))
    """
    flat = Y if isinstance(Y, FlatLabels) else flatten_labels(Y)
    names = Codes()
    meaning = [_place_and_kind(label, names) for label in flat.labels]
    place, kind = np.array(meaning, np.int64).reshape(-1, 2)[flat.codes].T
    filled = np.diff(flat.offsets) > 0
    before = np.roll(place, 1)
    before[flat.offsets[:-1][filled]] = 0
    begins = (place > 0) & (_BEGINS[place] | _CLOSED[before] | _changes(kind))
    last = np.roll(begins | (place == 0), -1)
    last[flat.offsets[1:][filled] - 1] = True
    starts, stops = np.flatnonzero(begins), np.flatnonzero((place > 0) & last) + 1
    sequences = np.searchsorted(flat.offsets, starts, side="right") - 1
    return FlatSpans(starts, stops, kind[starts], sequences, list(names))


def _place_and_kind(label: Hashable, names: Codes) -> tuple[int, int]:
    letter, kind = split_label(label) if isinstance(label, str) else ("", "")
    return (_CODE_OF_PLACE[PLACE[letter]], names[kind]) if letter in PLACE else (0, -1)


def _changes(values: np.ndarray) -> np.ndarray:
    """Whether each value differs from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


def write_spans(spans: FlatSpans, offsets: np.ndarray, encoding: str) -> list[list[str]]:
    """Labels of sequences in which exactly the given spans are marked.

    Parameters
    ----------
    spans : FlatSpans
        Without overlaps.
    offsets : ndarray of shape (n_sequences + 1,)
        Bounds of the sequences.
    encoding : str

    Examples
    --------
    >>> flat = flatten_labels([["B-NP", "I-NP", "I-NP", "O", "B-VP"]])
    >>> write_spans(find_spans(flat), flat.offsets, "IOBES")
    [['B-NP', 'I-NP', 'E-NP', 'O', 'S-VP']]
    """
    grammar = get_encoding(encoding)
    letters = [*grammar.head, grammar.tail, grammar.single, "B"]
    tail, single, marked = len(letters) - 3, len(letters) - 2, len(letters) - 1
    lengths = spans.stops - spans.starts
    owner = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    letter = np.minimum(within, len(grammar.head) - 1)
    letter[within == lengths[owner] - 1] = tail
    letter[lengths[owner] == 1] = single
    if grammar.marks_neighbours:
        touches = (spans.starts[1:] == spans.stops[:-1]) & ~_changes(spans.kinds)[1:]
        touches &= ~_changes(spans.sequences)[1:]
        letter[(np.cumsum(lengths) - lengths)[1:][touches]] = marked
    names = [f"{a}-{kind}" if kind else a for kind in spans.names for a in letters]
    table = np.array([OUTSIDE, *names], object)
    cells = np.zeros(int(offsets[-1]), np.int64)
    cells[spans.starts[owner] + within] = 1 + spans.kinds[owner] * len(letters) + letter
    written, bounds = table[cells].tolist(), offsets.tolist()
    return [written[a:b] for a, b in zip(bounds, bounds[1:])]


def convert_spans(
    labels: Sequence[Sequence[str]], source: str, target: str, invalid: Literal["raise", "repair"] = "raise"
) -> list[list[str]]:
    """Write the spans of label sequences in another encoding.

    Parameters
    ----------
    labels : list of list of str
    source, target : {"IOB1", "IOB2", "IOBES", "BILOU", "BMES", "BMES6"}
        See :mod:`palmette.data.span_encodings`; a source ``"auto"`` is found by `detect_encoding`.
    invalid : {"raise", "repair"}, default="raise"
        What to do with labels that cannot follow each other, such as ``I-NP`` after ``O`` in IOB2: refuse
        them, or read them as conlleval does, where a stray ``I-NP`` begins a span.

    Returns
    -------
    list of list of str

    Raises
    ------
    SpanError
        A label that the source does not have, or labels that cannot follow each other; its attributes
        `sentence` and `position` say where.

    Examples
    --------
    >>> convert_spans([["B-NP", "I-NP", "O", "B-VP"]], "IOB2", "IOBES")
    [['B-NP', 'E-NP', 'O', 'S-VP']]
    >>> convert_spans([["O", "I-NP"]], "IOB2", "IOB2", invalid="repair")
    [['O', 'B-NP']]
    >>> convert_spans([["O", "I-NP"]], "IOB2", "IOB2")
    Traceback (most recent call last):
    palmette.errors.SpanError: sentence 0, position 1: 'I-NP' after 'O' is not valid in IOB2; ...
    """
    if invalid not in ("raise", "repair"):
        raise ValueError(f'invalid must be "raise" or "repair", got {invalid!r}')
    get_encoding(target)
    flat = flatten_labels(labels)
    grammar = detected(flat) if source == "auto" else get_encoding(source)
    check_letters(flat, grammar)
    if invalid == "raise":
        check_order(flat, grammar)
    return write_spans(find_spans(flat), flat.offsets, target)
