"""CT and BPSEQ: a line per position with its letter and its partner. Positions count from 1, and 0 is no partner."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import IO, Any

from palmette.apps.folding.records import RNARecord, check_policy, check_sequence, settle
from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name

_ENERGY = re.compile(r"^(?:d?G|energy)\s*=\s*\S+\s*", re.IGNORECASE)


class _Table:
    """The lines of one structure, checked one by one."""

    def __init__(self, name: str, source: str, pseudoknots: str) -> None:
        self.name, self.source, self.pseudoknots = name, source, pseudoknots
        self.letters: list[str] = []
        self.partners: list[int] = []
        self.lines: list[str] = []

    def add(self, position: str, letter: str, partner: str, where: str) -> None:
        expected = len(self.letters) + 1
        numbers = _whole(position, "position", where), _whole(partner, "partner", where)
        if numbers[0] != expected:
            raise DataFileError(f"{where}: position {numbers[0]} stands where {expected} is expected")
        if numbers[1] < 0 or numbers[1] == expected:
            raise DataFileError(
                f"{where}: position {expected} cannot be paired with {numbers[1]}; 0 is unpaired"
            )
        if len(letter) != 1:
            raise DataFileError(f"{where}: {letter!r} is not one letter")
        self.letters.append(check_sequence(letter, where))
        self.partners.append(numbers[1])
        self.lines.append(where)

    def record(self) -> RNARecord:
        n = len(self.letters)
        for i, (j, where) in enumerate(zip(self.partners, self.lines), 1):
            if j > n:
                raise DataFileError(f"{where}: position {i} is paired with {j}, and there are {n} positions")
            if j and self.partners[j - 1] != i:
                back = self.partners[j - 1] or "nothing"
                raise DataFileError(
                    f"{where}: position {i} is paired with {j}, but {j} with {back}; both lines must agree"
                )
        pairs = [(i, j - 1) for i, j in enumerate(self.partners) if j - 1 > i]
        kept, dropped = settle(pairs, self.pseudoknots, self.source)
        return RNARecord(self.name, check_sequence("".join(self.letters), self.source), kept, dropped,
                         source=self.source)  # fmt: skip


def read_ct(
    path: str | os.PathLike[str], *, pseudoknots: str = "error", stream: IO[Any] | None = None
) -> Iterator[RNARecord]:
    """Yield the structures of a connectivity table (CT).

    A header ``n name`` (``ENERGY = x`` or ``dG = x`` may stand between), then n lines ``i letter i-1 i+1 partner i``.

    Examples
    --------
    >>> import io
    >>> text = "5 hairpin\\n1 G 0 2 5 1\\n2 A 1 3 0 2\\n3 A 2 4 0 3\\n4 A 3 5 0 4\\n5 C 4 0 1 5\\n"
    >>> next(read_ct("-", stream=io.StringIO(text))).structure
    '(...)'
    """
    check_policy(pseudoknots)
    file, table, missing, number = source_name(path), None, 0, 0
    for number, raw in enumerate(read_lines(path, stream), 1):
        text, where = raw.strip(), f"{file}:{number}"
        if not text or text.startswith("#"):
            continue
        if not missing:
            count, _, name = text.partition(" ") if " " in text else text.partition("\t")
            missing = _whole(count, "number of positions", where)
            if missing < 1:
                raise DataFileError(f"{where}: a structure of {missing} positions; give at least 1")
            table = _Table(_ENERGY.sub("", name.strip()).split(None, 1)[0] if name.strip() else
                           _stem(path), where, pseudoknots)  # fmt: skip
            continue
        columns = text.split()
        if len(columns) < 5:
            raise DataFileError(f"{where}: {len(columns)} columns; a line is 'i letter i-1 i+1 partner i'")
        assert table is not None
        table.add(columns[0], columns[1], columns[4], where)
        missing -= 1
        if not missing:
            yield table.record()
    if missing:
        raise DataFileError(f"{file}:{number}: the file ends here, {missing} positions too early")
    if table is None:
        raise DataFileError(f"{file}:{max(number, 1)}: there is no structure in the file")


def read_bpseq(
    path: str | os.PathLike[str], *, pseudoknots: str = "error", stream: IO[Any] | None = None
) -> Iterator[RNARecord]:
    """Yield the structures of a BPSEQ file: lines ``i letter partner``; each begins where i is 1.

    Lines that do not begin with a number are comments. ``# name`` above a structure names it, else the file does.

    Examples
    --------
    >>> import io
    >>> text = "# hairpin\\n1 G 5\\n2 A 0\\n3 A 0\\n4 A 0\\n5 C 1\\n"
    >>> [(r.name, r.structure) for r in read_bpseq("-", stream=io.StringIO(text))]
    [('hairpin', '(...)')]
    """
    check_policy(pseudoknots)
    file, table, name, number = source_name(path), None, "", 0
    for number, raw in enumerate(read_lines(path, stream), 1):
        text, where = raw.strip(), f"{file}:{number}"
        if not text[:1].isdigit():
            if text.startswith("#") and text[1:].strip():
                name = text[1:].split(None, 1)[0]
            continue
        columns = text.split()
        if len(columns) != 3:
            raise DataFileError(f"{where}: {len(columns)} columns; a line is 'i letter partner'")
        if table is None or columns[0] == "1":
            if table is not None:
                yield table.record()
            table, name = _Table(name or _stem(path), where, pseudoknots), ""
        table.add(columns[0], columns[1], columns[2], where)
    if table is None:
        raise DataFileError(f"{file}:{max(number, 1)}: there is no structure in the file")
    yield table.record()


def format_ct(records: Iterable[RNARecord]) -> Iterator[str]:
    """The text of a CT file, structure by structure."""
    for record in records:
        n = len(record)
        lines = [f"{n:5d} {record.name}\n"]
        lines += [
            f"{i:5d} {letter} {i - 1:7d} {(i + 1) % (n + 1):4d} {partner:4d} {i:4d}\n"
            for i, (letter, partner) in enumerate(zip(record.sequence, _partners(record)), 1)
        ]
        yield "".join(lines)


def format_bpseq(records: Iterable[RNARecord]) -> Iterator[str]:
    """The text of a BPSEQ file, structure by structure."""
    for record in records:
        lines = [f"# {record.name}\n"]
        lines += [f"{i} {x} {j}\n" for i, (x, j) in enumerate(zip(record.sequence, _partners(record)), 1)]
        yield "".join(lines)


def _partners(record: RNARecord) -> list[int]:
    if record.pairs is None:
        raise ValueError(
            f"{record.name!r} has no structure, which CT and BPSEQ must have; write FASTA, or fold it"
        )
    partners = [0] * len(record)
    for i, j in record.pairs:
        partners[i], partners[j] = j + 1, i + 1
    return partners


def _whole(text: str, what: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataFileError(f"{where}: the {what} {text[:20]!r} is not a whole number") from None


def _stem(path: str | os.PathLike[str]) -> str:
    name = PurePath(source_name(path)).name
    return "sequence" if name == "<stdin>" else name.split(".")[0]
