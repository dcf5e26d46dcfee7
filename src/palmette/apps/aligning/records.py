"""Sequences and aligned pairs of them, as files have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.errors import DataFileError

GAPS = "-.~"
"""Characters of a row that stand for a gap."""


@dataclass(frozen=True)
class SequenceRecord:
    """A sequence of a file.

    Parameters
    ----------
    name : str
    sequence : str
        Letters as they stand in the file.
    source : str
        File and line where it begins, for messages.
    """

    name: str
    sequence: str
    source: str = ""

    def __len__(self) -> int:
        return len(self.sequence)


@dataclass(frozen=True, eq=False)
class PairRecord:
    """Two sequences, perhaps with an alignment.

    Parameters
    ----------
    a, b : SequenceRecord
    matches : ndarray of int64, shape (k, 2), optional
        Aligned positions (i, j) from 0, both strictly increasing; None: the alignment is not known.
    core : ndarray of bool, shape (k,), optional
        Which matches are certain (core columns); all of them by default.
    name : str
        Of the pair; by default made of both names.
    whole : bool
        Whether the other positions are known, too: they are against gaps. Else nothing is known of them.
    source : str
        File and line where it begins, for messages.

    Examples
    --------
    >>> pair = PairRecord.from_rows("ACD-e", "A-DFe")
    >>> pair.matches.tolist(), pair.core.tolist(), pair.a.sequence
    ([[0, 0], [2, 1], [3, 3]], [True, True, False], 'ACDe')
    >>> pair.rows
    ('ACD-e', 'A-DFe')
    """

    a: SequenceRecord
    b: SequenceRecord
    matches: np.ndarray | None = None
    core: np.ndarray | None = None
    name: str = ""
    source: str = ""
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{self.a.name}_{self.b.name}")
        if self.matches is None:
            return
        matches = check_matches(self.matches, len(self.a), len(self.b), self.source or self.name)
        core = np.ones(len(matches), bool) if self.core is None else np.asarray(self.core, bool)
        if core.shape != (len(matches),):
            raise ValueError(
                f"{self.name}: core has shape {core.shape}, but there are {len(matches)} matches"
            )
        object.__setattr__(self, "matches", matches)
        object.__setattr__(self, "core", core)

    @classmethod
    def from_rows(
        cls, row_a: str, row_b: str, names: tuple[str, str] = ("a", "b"), *, name: str = "", source: str = ""
    ) -> PairRecord:
        """An aligned pair from two rows with gaps; columns of two upper-case letters are core columns.

        If all letters have one case, that says nothing: all matches are core columns, and the gaps are known, too.
        """
        where = source or name or f"{names[0]}_{names[1]}"
        if len(row_a) != len(row_b):
            raise DataFileError(
                f"{where}: the rows of {names[0]!r} and {names[1]!r} have {len(row_a)} and {len(row_b)} columns; rows "
                "of an alignment have one length"
            )
        a, b = (np.frombuffer(row.encode("utf-32-le"), np.uint32) for row in (row_a, row_b))
        is_a, is_b = (~np.isin(row, [ord(gap) for gap in GAPS]) for row in (a, b))
        column = np.flatnonzero(is_a & is_b)
        matches = np.stack([np.cumsum(is_a)[column] - 1, np.cumsum(is_b)[column] - 1], axis=1)
        core = np.array([row_a[t].isupper() and row_b[t].isupper() for t in column], bool)
        whole = not any(map(str.islower, row_a + row_b)) or not any(map(str.isupper, row_a + row_b))
        if whole:
            core[:] = True
        first, second = ("".join(each for each in row if each not in GAPS) for row in (row_a, row_b))
        return cls(
            SequenceRecord(names[0], check_sequence(first, f"{where}: {names[0]}"), source),
            SequenceRecord(names[1], check_sequence(second, f"{where}: {names[1]}"), source),
            matches, core, name, source, whole,
        )  # fmt: skip

    @property
    def rows(self) -> tuple[str, str]:
        """Both sequences with gaps; between two matches the letters of a come before those of b."""
        if self.matches is None:
            raise ValueError(f"{self.name}: the alignment is not known, so there are no rows")
        return aligned_rows(self.a.sequence, self.b.sequence, self.matches)

    @property
    def core_matches(self) -> np.ndarray:
        """The matches of core columns, shape (k, 2)."""
        if self.matches is None or self.core is None:
            raise ValueError(f"{self.name}: the alignment is not known")
        return self.matches[self.core]

    def marked_rows(self) -> tuple[str, str]:
        """Rows whose case says what is known: core columns in upper case, the rest too if it is known."""
        core = self.core_matches
        sequences = [
            record.sequence.upper() if self.whole else _cased(record.sequence, core[:, side])
            for side, record in enumerate((self.a, self.b))
        ]
        return aligned_rows(sequences[0], sequences[1], self.matches)

    @property
    def identity(self) -> float:
        """Percentage of core columns whose letters are equal; NaN without any."""
        same = [self.a.sequence[i].upper() == self.b.sequence[j].upper() for i, j in self.core_matches]
        return 100.0 * sum(same) / len(same) if same else float("nan")


def aligned_rows(a: str, b: str, matches: Any, gap: str = "-") -> tuple[str, str]:
    """Two sequences with gaps, so that matched positions are in one column.

    >>> aligned_rows("ACD", "AFD", [(0, 0), (2, 2)])
    ('AC-D', 'A-FD')
    """
    above, below = [], []
    i = j = 0
    for k, l in [*map(tuple, matches), (len(a), len(b))]:
        above += [a[i:k], gap * (l - j), a[k : k + 1]]
        below += [gap * (k - i), b[j:l], b[l : l + 1]]
        i, j = k + 1, l + 1
    return "".join(above), "".join(below)


def check_matches(matches: object, n: int, m: int, where: str) -> np.ndarray:
    """Matches of sequences of n and m letters as an array of int64, shape (k, 2); refused unless they ascend.

    >>> check_matches([(0, 1), (1, 0)], 2, 2, "pair")
    Traceback (most recent call last):
    ValueError: pair: the matches (0, 1) and (1, 0) cross; both positions must ascend, leave one out
    """
    found = np.asarray(matches, np.int64).reshape(-1, 2)
    for length, each, name in ((n, found[:, 0], "first"), (m, found[:, 1], "second")):
        outside = np.flatnonzero((each < 0) | (each >= length))
        if len(outside):
            i, j = found[outside[0]].tolist()
            raise ValueError(
                f"{where}: the match ({i}, {j}) is outside: the {name} sequence has positions 0 to {length - 1}"
            )
    wrong = np.flatnonzero((np.diff(found, axis=0) <= 0).any(axis=1))
    if len(wrong):
        one, two = (tuple(found[wrong[0] + k].tolist()) for k in (0, 1))
        raise ValueError(
            f"{where}: the matches {one} and {two} cross; both positions must ascend, leave one out"
        )
    return found


def check_sequence(sequence: str, where: str) -> str:
    """A sequence without gaps, digits and other characters that are no letters; ``*`` is one."""
    for position, letter in enumerate(sequence, 1):
        if letter in GAPS:
            raise DataFileError(
                f"{where}: character {position} of the sequence is a gap ({letter!r}); remove gaps, or give the file "
                "as aligned FASTA (.afa)"
            )
        if not letter.isalpha() and letter != "*":
            raise DataFileError(f"{where}: character {position} of the sequence ({letter!r}) is no letter")
    if not sequence:
        raise DataFileError(
            f"{where}: the sequence is empty; give at least one letter, or leave the entry out"
        )
    return sequence


def check_same(pair: PairRecord, a: str, b: str) -> PairRecord:
    """Refuse a reference whose sequences are not those that are aligned; case does not matter.

    >>> check_same(PairRecord.from_rows("AC", "AD", name="p"), "AC", "AE")
    Traceback (most recent call last):
    palmette.errors.DataFileError: p: position 1 of 'b' is D in the reference, but E in the input
    """
    for record, letters in ((pair.a, a), (pair.b, b)):
        where = f"{pair.source + ': ' if pair.source else ''}{pair.name}"
        if len(record) != len(letters):
            raise DataFileError(
                f"{where}: {record.name!r} has {len(record)} letters in the reference, but {len(letters)} in the input"
            )
        for position, (known, given) in enumerate(zip(record.sequence.upper(), letters.upper())):
            if known != given:
                raise DataFileError(
                    f"{where}: position {position} of {record.name!r} is {known} in the reference, but {given} in the "
                    "input"
                )
    return pair


def check_distinct(records: Iterable[SequenceRecord | PairRecord]) -> dict[str, SequenceRecord | PairRecord]:
    """Records by name; two of one name are refused, where names say which is which."""
    seen: dict[str, SequenceRecord | PairRecord] = {}
    for record in records:
        other = seen.setdefault(record.name, record)
        if other is not record:
            raise DataFileError(
                f"{record.source}: {record.name!r} is also the name of {other.source}; rename one"
            )
    return seen


def pairs_of(records: Sequence[SequenceRecord], where: str) -> list[PairRecord]:
    """Sequences two by two: the first with the second, the third with the fourth, and so on."""
    if len(records) % 2 or not records:
        raise DataFileError(
            f"{where}: {len(records)} sequences cannot be aligned two by two; give an even number, or two files"
        )
    return [
        PairRecord(one, two, name=_common(one.name, two.name), source=one.source)
        for one, two in zip(records[::2], records[1::2])
    ]


def _cased(sequence: str, core: Iterable[int]) -> str:
    letters = list(sequence.lower())
    for position in core:
        letters[position] = letters[position].upper()
    return "".join(letters)


def _common(one: str, two: str) -> str:
    """What both names of ``pair|name|A`` and ``pair|name|B`` say of the pair; nothing for other names."""
    first, second = one.split("|"), two.split("|")
    tagged = len(first) == len(second) == 3 and first[0] == second[0]
    return first[0] if tagged and (first[2], second[2]) == ("A", "B") else ""
