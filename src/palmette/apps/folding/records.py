"""A sequence of RNA with its structure, as files have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palmette.errors import DataFileError
from palmette.structures.folding.brackets import (
    BracketError,
    Pair,
    crossing,
    format_brackets,
    nested,
    parse_brackets,
)

PSEUDOKNOTS = ("error", "drop", "keep")
"""What readers do with pairs that cross: refuse them, leave out the fewest, or keep them."""


@dataclass(frozen=True)
class RNARecord:
    """A sequence, perhaps with a structure.

    Parameters
    ----------
    name : str
    sequence : str
        Letters as they stand in the file.
    pairs : tuple of (int, int), optional
        Base pairs (i, j), i < j, from 0, by their first position; None: the structure is not known.
    dropped : tuple of (int, int)
        Pairs that crossed others and were left out.
    lost : int
        Pairs of a consensus structure of which this sequence has a gap at an end.
    group : str
        The family or alignment that it comes from, if its file names one.
    source : str
        File and line where it begins, for messages.

    Examples
    --------
    >>> RNARecord("hairpin", "GGAAACC", ((0, 6), (1, 5))).structure
    '((...))'
    """

    name: str
    sequence: str
    pairs: tuple[Pair, ...] | None = None
    dropped: tuple[Pair, ...] = ()
    lost: int = 0
    group: str = ""
    source: str = ""

    def __len__(self) -> int:
        return len(self.sequence)

    @property
    def structure(self) -> str | None:
        """Dot-bracket string; pairs that cross others have brackets of another kind."""
        return None if self.pairs is None else format_brackets(self.pairs, len(self.sequence))


def check_policy(pseudoknots: str) -> str:
    """Refuse an unknown policy."""
    if pseudoknots not in PSEUDOKNOTS:
        raise ValueError(
            f"pseudoknots must be one of {', '.join(map(repr, PSEUDOKNOTS))}, got {pseudoknots!r}"
        )
    return pseudoknots


def settle(pairs: Sequence[Pair], pseudoknots: str, where: str) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The pairs to keep and those to leave out, if some cross; positions in the message count from 1, as in files.

    >>> settle([(0, 8), (4, 10)], "drop", "a.ct:1")
    (((0, 8),), ((4, 10),))
    >>> settle([(0, 8), (4, 10)], "error", "a.ct:1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    palmette.errors.DataFileError: a.ct:1: the pairs 1-9 and 5-11 cross (a pseudoknot), ...
    """
    first = crossing(pairs)
    if pseudoknots == "keep" or first is None:
        return tuple(sorted(pairs)), ()
    kept, left = nested(pairs)
    if pseudoknots == "drop":
        return tuple(kept), tuple(left)
    (i, j), (k, l) = first
    raise DataFileError(
        f"{where}: the pairs {i + 1}-{j + 1} and {k + 1}-{l + 1} cross (a pseudoknot), and {len(left)} pairs must go "
        f"so that none do; read with pseudoknots='drop' to leave them out, or 'keep'"
    )


def parsed(text: str, where: str) -> list[Pair]:
    """The pairs of a structure that stands in a file; errors name file, line and character."""
    try:
        return parse_brackets(text)
    except BracketError as error:
        said = str(error).partition(": ")[2]
        raise DataFileError(f"{where}: character {error.position + 1} of the structure: {said}") from error


def check_sequence(sequence: str, where: str) -> str:
    """A sequence without gaps, digits and other characters that are no letters."""
    for position, letter in enumerate(sequence, 1):
        if letter in "-._~*":
            raise DataFileError(
                f"{where}: character {position} of the sequence is a gap ({letter!r}); remove gaps, or give the "
                "alignment as Stockholm"
            )
        if letter == "&":
            raise DataFileError(
                f"{where}: character {position} of the sequence is '&', which joins two strands; fold one at a time"
            )
        if letter.isspace() or letter.isdigit() or letter in "()[]{}<>":
            raise DataFileError(f"{where}: character {position} of the sequence ({letter!r}) is no letter")
    if not sequence:
        raise DataFileError(
            f"{where}: the sequence is empty; give at least one letter, or leave the entry out"
        )
    return sequence


def check_distinct(records: Iterable[RNARecord]) -> list[RNARecord]:
    """All records; two of one name are refused, where names say which is which."""
    seen: dict[str, RNARecord] = {}
    for record in records:
        other = seen.setdefault(record.name, record)
        if other is not record:
            raise DataFileError(
                f"{record.source}: {record.name!r} is also the name of {other.source}; rename one"
            )
    return list(seen.values())
