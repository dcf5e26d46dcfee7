"""Constraints of users, checked against the sequences and against each other before anything is aligned."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from palmette.apps.aligning.records import PairRecord
from palmette.errors import DataFileError
from palmette.io.fasta import entries
from palmette.structures.alignment.restrictions import AlignmentRestriction

_PART = re.compile(r"(?:(\d+)([=!])(\d+)|([ab])(\d+)([-+]))\Z")
SYNTAX = "12=15 (matched), 12!15 (not matched), a12- (against a gap), a12+ (matched with something), b7-, b7+"


@dataclass(frozen=True)
class Constraint:
    """What an alignment must have; positions count from 0.

    Parameters
    ----------
    forced, forbidden : tuples of (i, j)
        Matches that must be there, and that may not be.
    gaps, matched : pairs of tuples of int
        Positions of both sequences that are against a gap, or matched with something.

    Examples
    --------
    >>> Constraint.parse("1=2 3!3 a2- b4+")
    Constraint(forced=((0, 1),), forbidden=((2, 2),), gaps=((1,), ()), matched=((), (3,)))
    """

    forced: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    gaps: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    matched: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    @classmethod
    def parse(cls, text: str, where: str = "constraint") -> Constraint:
        """Read parts that are separated by spaces or commas; positions count from 1, as in files.

        ``12=15``: position 12 of a is matched with 15 of b; ``12!15``: it is not; ``a12-``: position 12 of a is against
        a gap; ``a12+``: it is matched with something; ``b7-`` and ``b7+`` likewise.
        """
        forced: list[tuple[int, int]] = []
        forbidden: list[tuple[int, int]] = []
        gaps: dict[str, list[int]] = {"a": [], "b": []}
        matched: dict[str, list[int]] = {"a": [], "b": []}
        for part in text.replace(",", " ").split():
            found = _PART.match(part)
            if found is None:
                raise ValueError(f"{where}: {part[:20]!r} is none of {SYNTAX}")
            i, sign, j, side, position, kind = found.groups()
            if "0" in (i, j, position):
                raise ValueError(f"{where}: {part!r} has a position 0; positions count from 1 here")
            if sign is not None:
                (forced if sign == "=" else forbidden).append((int(i) - 1, int(j) - 1))
            else:
                (gaps if kind == "-" else matched)[side].append(int(position) - 1)
        return cls(
            tuple(forced), tuple(forbidden), (tuple(gaps["a"]), tuple(gaps["b"])),
            (tuple(matched["a"]), tuple(matched["b"])),
        )  # fmt: skip

    def restriction(
        self, n: int, m: int, n_kinds: int = 1, where: str = "constraint"
    ) -> AlignmentRestriction:
        """The alignments of n and m letters that it allows; refuses positions outside and matches that cross."""
        for length, side, positions in (
            (n, "first", [*(i for i, _ in (*self.forced, *self.forbidden)), *self.gaps[0], *self.matched[0]]),
            (
                m,
                "second",
                [*(j for _, j in (*self.forced, *self.forbidden)), *self.gaps[1], *self.matched[1]],
            ),
        ):
            outside = [each for each in positions if not 0 <= each < length]
            if outside:
                raise ValueError(
                    f"{where}: position {outside[0]} (from 0) is outside: the {side} sequence has {length} letters"
                )
        for (i, j), (k, l) in _neighbours(self.forced):
            if k == i or l <= j:
                raise ValueError(f"{where}: the matches {i}={j} and {k}={l} (from 0) cross; leave one out")
        try:
            return AlignmentRestriction.of(
                [(n, m)], forced=[self.forced], forbidden=[self.forbidden], gaps=[self.gaps], matched=[self.matched],
                n_kinds=n_kinds,
            )  # fmt: skip
        except ValueError as error:
            raise ValueError(f"{where}: {str(error).removeprefix('sample 0: ')}") from error


def read_constraints(given: str, pairs: Sequence[PairRecord]) -> dict[str, Constraint]:
    """Constraints by the names of pairs, from a file, or one string for a single pair.

    Parameters
    ----------
    given : str
        The path of a file with ``>name of the pair`` and the parts of its constraint below; or a constraint itself.
    pairs : sequence of PairRecord
        What is to be aligned.
    """
    if not os.path.exists(given):
        parts = given.replace(",", " ").split()
        if parts and all(_PART.match(part) for part in parts):
            if len(pairs) != 1:
                raise ValueError(
                    f"{given[:40]!r} constrains one pair, and there are {len(pairs)}: give a file with '>name' above "
                    "each constraint"
                )
            return {pairs[0].name: Constraint.parse(given)}
        raise FileNotFoundError(f"{given}: there is no such file, and it is no constraint such as {SYNTAX}")
    known = {pair.name for pair in pairs}
    found: dict[str, Constraint] = {}
    for name, source, lines in entries(given, None, headed=len(pairs) != 1):
        if len(pairs) == 1:
            name = pairs[0].name
        if name not in known:
            raise DataFileError(f"{source}: there is no pair {name!r} to constrain")
        if name in found:
            raise DataFileError(
                f"{source}: {name!r} is constrained twice; give all parts below one '>{name}'"
            )
        try:
            found[name] = Constraint.parse(" ".join(text for _, text in lines), source)
        except ValueError as error:
            raise DataFileError(str(error)) from error
    return found


def _neighbours(
    matches: Sequence[tuple[int, int]],
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    ordered = sorted(set(matches))
    return list(zip(ordered[:-1], ordered[1:]))
