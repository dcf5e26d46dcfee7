"""Readers and writers by what a file is: the formats of sequences and structures in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from palmette.apps.folding.fasta import format_dot_bracket, format_fasta, read_dot_bracket, read_fasta
from palmette.apps.folding.pair_tables import format_bpseq, format_ct, read_bpseq, read_ct
from palmette.apps.folding.records import RNARecord
from palmette.apps.folding.stockholm import as_alignments, format_stockholm, read_stockholm
from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines


class Format(NamedTuple):
    """A format of files: its reader, its writer, and the ends of its names."""

    read: Callable[..., Iterator[RNARecord]]
    text: Callable[[Iterable[RNARecord]], Iterator[str]]
    suffixes: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "fasta": Format(read_fasta, format_fasta, (".fa", ".fasta", ".fna", ".fas")),
    "dot-bracket": Format(
        read_dot_bracket, format_dot_bracket, (".dbn", ".db", ".dot", ".vienna", ".dotbracket")
    ),
    "ct": Format(read_ct, format_ct, (".ct",)),
    "bpseq": Format(read_bpseq, format_bpseq, (".bpseq",)),
    "stockholm": Format(
        read_stockholm,
        lambda records: format_stockholm(as_alignments(records)),
        (".sto", ".stk", ".stockholm", ".seed"),
    ),
}
"""Known formats by name; a format of your own may be added."""


def read_records(
    path: str | os.PathLike[str], format: str | None = None, *, pseudoknots: str = "error", **options: Any
) -> list[RNARecord]:
    """Read the sequences of a file, with structures where it has some.

    Parameters
    ----------
    path : path
        ``.gz`` and ``.xz`` are unpacked; ``-`` is standard input, which holds FASTA or dot-bracket unless `format` says
        otherwise.
    format : {"fasta", "dot-bracket", "ct", "bpseq", "stockholm"}, optional
        By default by the name of the file, else by what its first lines look like.
    pseudoknots : {"error", "drop", "keep"}
        What to do with pairs that cross. ``"drop"`` keeps the largest nested set, and the record says what was dropped.

    Raises
    ------
    DataFileError
        With file, line and position: brackets without a partner, crossing pairs, rows of the wrong length, ...

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.dbn"
    ...     _ = path.write_text(">a\\nGGAAACC\\n((...))\\n")
    ...     read_records(path)[0].pairs
    ((0, 6), (1, 5))
    """
    chosen = _named(format) if format is not None else _recognised(path)
    if chosen.read is not read_fasta:
        options["pseudoknots"] = pseudoknots
    return list(chosen.read(path, **options))


def write_records(
    path: str | os.PathLike[str], records: Iterable[RNARecord], format: str | None = None
) -> None:
    """Write sequences and structures; the file appears when it is complete.

    Parameters
    ----------
    path : path
    records : iterable of RNARecord
    format : str, optional
        By default by the name of the file, else dot-bracket.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.bpseq"
    ...     write_records(path, [RNARecord("a", "GAAAC", ((0, 4),))])
    ...     path.read_text()
    '# a\\n1 G 5\\n2 A 0\\n3 A 0\\n4 A 0\\n5 C 1\\n'
    """
    chosen = _named(format) if format is not None else _by_name(path) or FORMATS["dot-bracket"]
    with write_atomically(path) as file:
        for text in chosen.text(records):
            file.write(text.encode())


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {name!r}")
    return FORMATS[name]


def _by_name(path: str | os.PathLike[str]) -> Format | None:
    name = os.fspath(path).lower()
    for packed in (".gz", ".xz"):
        name = name.removesuffix(packed)
    return next((each for each in FORMATS.values() if name.endswith(each.suffixes)), None)


def _recognised(path: str | os.PathLike[str]) -> Format:
    """The format of a file: FASTA files may have structures, so they are read as dot-bracket."""
    found = _by_name(path)
    if found is None and os.fspath(path) != "-":
        found = _by_content(path)
    return FORMATS["dot-bracket"] if found is None or found.read is read_fasta else found


def _by_content(path: str | os.PathLike[str]) -> Format:
    for raw in read_lines(path):
        text = raw.strip().lstrip("\ufeff")
        if not text or (text.startswith(("#", ";")) and not text.startswith("# STOCKHOLM")):
            continue
        if text.startswith("# STOCKHOLM"):
            return FORMATS["stockholm"]
        columns = text.split()
        if columns[0].isdigit():
            is_position = len(columns) == 3 and columns[2].isdigit() and len(columns[1]) == 1
            return FORMATS["bpseq" if is_position else "ct"]
        if text.startswith(">") or len(columns) == 1:
            return FORMATS["dot-bracket"]
        break
    raise DataFileError(
        f"{os.fspath(path)}: this is none of {', '.join(FORMATS)}; name the file so, or say which with format="
    )
