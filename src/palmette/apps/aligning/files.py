"""Readers and writers by what a file is: the formats of sequences and alignments in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from palmette.apps.aligning.fasta import (
    format_aligned_fasta,
    format_fasta,
    read_aligned_fasta,
    read_fasta,
    read_pairs,
)
from palmette.apps.aligning.paf import format_paf, read_paf
from palmette.apps.aligning.records import GAPS, PairRecord, SequenceRecord
from palmette.io.atomic import write_atomically
from palmette.io.fasta import entries


class Format(NamedTuple):
    """A format of files: its reader, its writer, and the ends of its names."""

    read: Callable[..., Iterator[PairRecord]]
    text: Callable[[Iterable[PairRecord]], Iterator[str]]
    suffixes: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "aligned-fasta": Format(read_aligned_fasta, format_aligned_fasta, (".afa", ".aln", ".afasta")),
    "paf": Format(read_paf, format_paf, (".paf",)),
    "fasta": Format(read_pairs, format_fasta, (".fa", ".fasta", ".faa", ".fna", ".fas")),
}
"""Known formats by name; a format of your own may be added."""


def read_sequences(path: str | os.PathLike[str]) -> list[SequenceRecord]:
    """Read the sequences of a FASTA file, packed or not; ``-`` is standard input."""
    return list(read_fasta(path))


def read_alignments(
    path: str | os.PathLike[str], format: str | None = None, *, sequences: Mapping[str, str] | None = None
) -> list[PairRecord]:
    """Read the pairs of a file, with alignments where it has some.

    Parameters
    ----------
    path : path
        ``.gz`` and ``.xz`` are unpacked; ``-`` is standard input, which holds aligned FASTA unless `format` says
        otherwise.
    format : {"aligned-fasta", "paf", "fasta"}, optional
        By default by the name of the file; a FASTA file with gaps is aligned.
    sequences : dict of str to str, optional
        The letters by name, which PAF needs.

    Raises
    ------
    DataFileError
        With file, line and position: rows of different lengths, an odd number of rows, an empty sequence, ...

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.afa"
    ...     _ = path.write_text(">x\\nMK-V\\n>y\\nM-AV\\n")
    ...     read_alignments(path)[0].matches.tolist()
    [[0, 0], [2, 2]]
    """
    chosen = _named(format) if format is not None else _recognised(path)
    if chosen.read is read_paf:
        if sequences is None:
            raise ValueError(f"{os.fspath(path)}: PAF has no letters; give sequences={{name: letters}}")
        return list(read_paf(path, sequences))
    return list(chosen.read(path))


def write_alignments(
    path: str | os.PathLike[str], pairs: Iterable[PairRecord], format: str | None = None, **options: Any
) -> None:
    """Write aligned pairs; the file appears when it is complete.

    Parameters
    ----------
    path : path
    pairs : iterable of PairRecord
    format : str, optional
        By default by the name of the file, else aligned FASTA.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.paf"
    ...     write_alignments(path, [PairRecord.from_rows("MK-V", "M-AV", ("x", "y"))])
    ...     path.read_text().split()[-1]
    'cg:Z:1=1I1D1='
    """
    chosen = _named(format) if format is not None else _by_name(path) or FORMATS["aligned-fasta"]
    if chosen.read is read_pairs and _by_name(path) is chosen and format is None:
        chosen = FORMATS["aligned-fasta"]  # what was aligned is written so, whatever the file is called
    with write_atomically(path) as file:
        for text in chosen.text(pairs, **options):
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
    found = _by_name(path)
    if os.fspath(path) == "-":
        return FORMATS["aligned-fasta"]
    if found is None or found.read is read_pairs:
        gapped = any(
            set(GAPS) & set(text) for *_, lines in entries(path, None, headed=True) for _, text in lines
        )
        return FORMATS["aligned-fasta" if gapped else "fasta"]
    return found
