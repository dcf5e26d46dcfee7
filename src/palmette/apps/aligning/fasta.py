"""FASTA files of sequences, and aligned FASTA: rows with gaps, two of them for each pair."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from palmette.apps.aligning.records import GAPS, PairRecord, SequenceRecord, check_sequence, pairs_of
from palmette.errors import DataFileError
from palmette.io.fasta import entries, format_entry
from palmette.io.lines import source_name


def read_fasta(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> Iterator[SequenceRecord]:
    """Yield the sequences of a FASTA file.

    Examples
    --------
    >>> import io
    >>> [(r.name, r.sequence) for r in read_fasta("-", stream=io.StringIO(">a first\\nMKV\\nLA\\n>b\\nMK\\n"))]
    [('a', 'MKVLA'), ('b', 'MK')]
    """
    for name, source, lines in entries(path, stream, headed=True):
        for number, text in lines:
            check_sequence(text, f"{source_name(path)}:{number}")
        yield SequenceRecord(name, check_sequence("".join(text for _, text in lines), source), source)


def read_pairs(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> Iterator[PairRecord]:
    """Yield the pairs of a FASTA file without gaps: the first with the second, the third with the fourth, ..."""
    yield from pairs_of(list(read_fasta(path, stream=stream)), source_name(path))


def read_aligned_fasta(
    path: str | os.PathLike[str], *, stream: IO[Any] | None = None
) -> Iterator[PairRecord]:
    """Yield the aligned pairs of a file: rows with gaps (``-``, ``.``, ``~``), the first with the second, and so on.

    Columns of two upper-case letters are core columns; if all its letters have one case, all matches are.
    Columns that are gaps in both rows are left out. Names ``pair|name|A`` and ``pair|name|B`` name the pair, too.

    Examples
    --------
    >>> import io
    >>> text = ">x\\nMK-V\\n>y\\nMKAv\\n"
    >>> [(p.name, p.matches.tolist(), p.core.tolist()) for p in read_aligned_fasta("-", stream=io.StringIO(text))]
    [('x_y', [[0, 0], [1, 1], [2, 3]], [True, True, False])]
    """
    rows = []
    for name, source, lines in entries(path, stream, headed=True):
        row = "".join("".join(text.split()) for _, text in lines)
        for position, letter in enumerate(row, 1):
            if letter not in GAPS and not letter.isalpha() and letter != "*":
                raise DataFileError(
                    f"{source}: column {position} of {name!r} ({letter!r}) is neither a letter nor a gap"
                )
        rows.append((name, source, row))
    # Names and places of the pairs are those that the sequences would have.
    named = pairs_of([SequenceRecord(name, row, source) for name, source, row in rows], source_name(path))
    for pair in named:
        names = _own(pair.a.name), _own(pair.b.name)
        yield PairRecord.from_rows(
            pair.a.sequence, pair.b.sequence, names, name=pair.name, source=pair.source
        )


def format_aligned_fasta(pairs: Iterable[PairRecord]) -> Iterator[str]:
    """The text of an aligned FASTA file, pair by pair; letters that are not known are in lower case."""
    for pair in pairs:
        for side, record, row in zip("AB", (pair.a, pair.b), pair.marked_rows()):
            yield format_entry(f"{pair.name}|{record.name}|{side}", row, None)


def format_fasta(pairs: Iterable[PairRecord]) -> Iterator[str]:
    """The sequences of pairs without their alignment."""
    for pair in pairs:
        for side, record in zip("AB", (pair.a, pair.b)):
            yield format_entry(f"{pair.name}|{record.name}|{side}", record.sequence)


def _own(name: str) -> str:
    """The name of a sequence in ``pair|name|A``."""
    parts = name.split("|")
    return parts[1] if len(parts) == 3 and parts[2] in "AB" else name
