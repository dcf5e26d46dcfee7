"""PAF: a line for each alignment, with a CIGAR string (``cg:Z:``). The letters are in other files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from palmette.apps.aligning.cigar import CigarError, format_cigar, parse_cigar
from palmette.apps.aligning.records import PairRecord, SequenceRecord
from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name

_COLUMNS = ("query", "query length", "query start", "query end", "strand", "target", "target length", "target start",
            "target end", "matches", "columns", "quality")  # fmt: skip


def read_paf(
    path: str | os.PathLike[str], sequences: Mapping[str, str], *, stream: IO[Any] | None = None
) -> Iterator[PairRecord]:
    """Yield the alignments of a PAF file; the query is a, the target b.

    Parameters
    ----------
    path : path
    sequences : dict of str to str
        Letters by the names of queries and targets.

    Raises
    ------
    DataFileError
        With file and line: a sequence that is missing or has another length, a line without ``cg:Z:``, a CIGAR string
        that does not fit, an alignment to the reverse strand.

    Examples
    --------
    >>> import io
    >>> line = "x\\t4\\t0\\t4\\t+\\ty\\t5\\t1\\t5\\t4\\t4\\t255\\tcg:Z:2M1I1D1M\\n"
    >>> [p.rows for p in read_paf("-", {"x": "MKVL", "y": "AMKAL"}, stream=io.StringIO(line))]
    [('-MKV-L', 'AMK-AL')]
    """
    file, number = source_name(path), 0
    for number, raw in enumerate(read_lines(path, stream), 1):
        if not raw.strip():
            continue
        yield _parsed(raw.rstrip("\r\n").split("\t"), sequences, f"{file}:{number}")
    if number == 0:
        raise DataFileError(f"{file}:1: there is no alignment in the file")


def format_paf(pairs: Iterable[PairRecord], scores: Iterable[float | None] | None = None) -> Iterator[str]:
    """The text of a PAF file, line by line, with an extended CIGAR string (``=``, ``X``); scores as ``AS:f:``.

    Gaps at the ends are outside of the aligned part, as the format has it.
    """
    from itertools import repeat

    for pair, score in zip(pairs, repeat(None) if scores is None else scores):
        matches = pair.matches
        if matches is None:
            raise ValueError(f"{pair.name}: the alignment is not known; PAF needs one")
        first = matches[0] if len(matches) else np.zeros(2, np.int64)
        last = matches[-1] + 1 if len(matches) else first
        a, b = pair.a.sequence.upper(), pair.b.sequence.upper()
        same = np.array([a[i] == b[j] for i, j in matches], bool)
        n, m = (last - first).tolist()
        cigar = format_cigar(matches - first, n, m, same)
        columns = int((last - first).sum()) - len(matches)
        fields = [pair.a.name, len(a), first[0], last[0], "+", pair.b.name, len(b), first[1], last[1], same.sum(),
                  columns, 255, *([] if score is None else [f"AS:f:{score:g}"]), f"cg:Z:{cigar}"]  # fmt: skip
        yield "\t".join(map(str, fields)) + "\n"


def _parsed(columns: list[str], sequences: Mapping[str, str], where: str) -> PairRecord:
    if len(columns) < len(_COLUMNS):
        raise DataFileError(
            f"{where}: {len(columns)} columns; PAF has at least {len(_COLUMNS)}, separated by tabs"
        )
    numbers = {name: _whole(text, name, where) for name, text in zip(_COLUMNS, columns)
               if name not in ("query", "strand", "target")}  # fmt: skip
    if columns[4] != "+":
        raise DataFileError(f"{where}: strand {columns[4][:5]!r}; only '+' is read: turn the query around")
    records = []
    for side, name in (("query", columns[0]), ("target", columns[5])):
        if name not in sequences:
            raise DataFileError(f"{where}: there is no sequence {name!r}; give its FASTA file, too")
        if len(sequences[name]) != numbers[f"{side} length"]:
            raise DataFileError(
                f"{where}: {name!r} has {numbers[f'{side} length']} letters here, but {len(sequences[name])} in "
                "its file"
            )
        records.append(SequenceRecord(name, sequences[name], where))
    cigar = next((text[5:] for text in columns[len(_COLUMNS) :] if text.startswith("cg:Z:")), None)
    if cigar is None:
        raise DataFileError(f"{where}: the line has no CIGAR string (cg:Z:); write the file with one")
    try:
        matches, end = parse_cigar(cigar, (numbers["query start"], numbers["target start"]))
    except CigarError as error:
        raise DataFileError(f"{where}: {error}") from error
    if end != (numbers["query end"], numbers["target end"]):
        raise DataFileError(
            f"{where}: the CIGAR string ends at {end[0]} and {end[1]}, the line says {numbers['query end']} and "
            f"{numbers['target end']}"
        )
    try:
        return PairRecord(records[0], records[1], matches, source=where, whole=True)
    except ValueError as error:
        raise DataFileError(str(error)) from error


def _whole(text: str, name: str, where: str) -> int:
    if not text.isdigit():
        raise DataFileError(f"{where}: the {name} {text[:20]!r} is no whole number of at least 0")
    return int(text)
