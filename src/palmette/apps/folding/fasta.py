"""FASTA, and dot-bracket (Vienna) files, which are FASTA with a structure below each sequence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from palmette.apps.folding.records import RNARecord, check_policy, check_sequence, parsed, settle
from palmette.errors import DataFileError
from palmette.io.fasta import entries, format_entry
from palmette.io.lines import source_name

_STRUCTURE = set(".()[]{}<>")


def read_fasta(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> Iterator[RNARecord]:
    """Yield the sequences of a FASTA file: ``>name text`` above lines of letters. Lines from ``;`` on are comments.

    Examples
    --------
    >>> import io
    >>> [(r.name, r.sequence) for r in read_fasta("-", stream=io.StringIO(">a first\\nGGAA\\nACC\\n>b\\nAU\\n"))]
    [('a', 'GGAAACC'), ('b', 'AU')]
    """
    for name, source, lines in entries(path, stream, headed=True):
        sequence = "".join(text for _, text in lines)
        for number, text in lines:
            check_sequence(text, f"{source_name(path)}:{number}")
        yield RNARecord(name, check_sequence(sequence, source), source=source)


def read_dot_bracket(
    path: str | os.PathLike[str], *, pseudoknots: str = "error", stream: IO[Any] | None = None
) -> Iterator[RNARecord]:
    """Yield sequences with structures: ``>name``, the letters, then the dot-bracket string, each in one or more lines.

    What follows a structure after a space, such as an energy, is not read. A sequence without a structure has
    ``pairs=None``. Headers may be missing where there is one sequence.

    Examples
    --------
    >>> import io
    >>> text = ">a\\nGGAAACC\\n((...)) (-1.20)\\n"
    >>> [(r.name, r.structure) for r in read_dot_bracket("-", stream=io.StringIO(text))]
    [('a', '((...))')]
    """
    check_policy(pseudoknots)
    for name, source, lines in entries(path, stream, headed=False):
        letters, brackets, first = "", "", 0
        for number, text in lines:
            where = f"{source_name(path)}:{number}"
            if first or _STRUCTURE & set(text.split(None, 1)[0]):
                first = first or number
                if brackets and len(brackets) == len(letters):
                    raise DataFileError(
                        f"{where}: a second structure of {name!r}; give one for each sequence"
                    )
                brackets += text.split(None, 1)[0]
            else:
                letters += check_sequence(text, where)
        check_sequence(letters, source)
        if not first:
            yield RNARecord(name, letters, source=source)
            continue
        where = f"{source_name(path)}:{first}"
        if len(brackets) != len(letters):
            raise DataFileError(
                f"{where}: the structure of {name!r} has {len(brackets)} characters, the sequence {len(letters)}"
            )
        kept, dropped = settle(parsed(brackets, where), pseudoknots, where)
        yield RNARecord(name, letters, kept, dropped, source=source)


def format_fasta(records: Iterable[RNARecord]) -> Iterator[str]:
    """The text of a FASTA file, entry by entry."""
    for record in records:
        yield format_entry(record.name, record.sequence)


def format_dot_bracket(records: Iterable[RNARecord]) -> Iterator[str]:
    """The text of a dot-bracket file, entry by entry; sequences without a structure have none."""
    for record in records:
        structure = record.structure
        yield f">{record.name}\n{record.sequence}\n" + ("" if structure is None else f"{structure}\n")
