"""Lists of lists of strings in one pass of C over all strings: what ``marshal`` writes is read by a kernel."""

from __future__ import annotations

import marshal
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from palmette.features.texts import Spans

_VERSION = 4
_WORD = 8  # bytes that kernels read at once, perhaps beyond the last text
_BYTES_A_TEXT = 6  # room for shorter ones is made when they come


class TextLists(NamedTuple):
    """Rows of texts: row r has the texts ``spans[texts[indptr[r]:indptr[r + 1]]]``."""

    lengths: np.ndarray  # int64: rows of each sample
    indptr: np.ndarray  # int64
    texts: np.ndarray  # int64; a string object that stands in several rows is one text
    spans: Spans


def read_lists(samples: list[Any]) -> TextLists | None:
    """Samples that are lists (or tuples) of lists (or tuples) of strings; None where there is anything else.

    >>> read = read_lists([[["a", "bé"], ("a",)]])
    >>> read.lengths, read.indptr, len(read.texts), read.spans.text[slice(read.spans.starts[1], read.spans.stops[1])]
    (array([2]), array([0, 2, 3]), 3, array([ 98, 195, 169], dtype=uint8))
    """
    return _read(samples) if _is_known_format() else None


def _read(samples: list[Any]) -> TextLists | None:
    from palmette._kernels.marshalled import FULL, UNREADABLE, cut_lists

    try:
        written = np.frombuffer(marshal.dumps(samples, _VERSION), np.uint8)
    except ValueError:  # it holds something that marshal does not know
        return None
    data = np.empty(len(written) + _WORD, np.uint8)
    data[: len(written)] = written
    data[len(written) :] = 0
    room = len(data) // _BYTES_A_TEXT + 16
    while True:
        known, indptr, texts, starts, stops = (np.empty(room, np.int64) for _ in range(5))
        lengths, hashes = np.empty(len(samples), np.int64), np.empty(room, np.uint64)
        n_rows, n_entries, n_texts = cut_lists(
            data, len(written), known, lengths, indptr, texts, starts, stops, hashes
        )
        if n_rows != FULL:
            break
        room *= 2
    if n_rows == UNREADABLE:
        return None
    spans = Spans(data, starts[:n_texts], stops[:n_texts], hashes[:n_texts])
    return TextLists(lengths, indptr[: n_rows + 1], texts[:n_entries], spans)


@cache
def _is_known_format() -> bool:
    """Whether this interpreter writes what the kernel reads; the documentation of ``marshal`` promises no format."""
    row = ["a", "", "é", "\ud800", "b" * 300, "é" * 300]
    read = _read([[row, tuple(row), row], ((*row, row[2]) * 50,)])
    if read is None:
        return False
    text = read.spans.text.tobytes()
    found = [text[a:b].decode("utf-8", "surrogatepass") for a, b in zip(read.spans.starts, read.spans.stops)]
    rows = [[found[k] for k in read.texts[a:b]] for a, b in zip(read.indptr, read.indptr[1:])]
    return rows == [row, row, row, [*row, row[2]] * 50] and read.lengths.tolist() == [3, 1]
