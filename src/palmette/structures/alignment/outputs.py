"""Alignments as users write them, read beside the sequences that they are about: rows, matches, partners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, OneOf
from palmette.structures.alignment.batch import AlignmentBatch

GAPS = "-.~"
"""Characters of a row that stand for a gap."""


class Core:
    """Matches that are certain, of an alignment of which nothing else is known.

    Parameters
    ----------
    matches : iterable of (i, j)
        Positions of both sequences from 0, increasing in both.

    Examples
    --------
    >>> Core([(0, 0), (2, 1)])
    Core([(0, 0), (2, 1)])
    """

    __slots__ = ("matches",)

    def __init__(self, matches: Iterable[tuple[int, int]]) -> None:
        self.matches = [(int(i), int(j)) for i, j in matches]

    def __repr__(self) -> str:
        return f"Core({self.matches!r})"

    def __len__(self) -> int:
        return len(self.matches)


class Coded:
    """The codes of one alignment, -1 where nothing is known; what the codec takes without a second look."""

    __slots__ = ("codes",)

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)


def is_rows(y: Any) -> bool:
    """Whether an alignment is written as two rows of letters and gaps."""
    return isinstance(y, list | tuple) and len(y) == 2 and all(isinstance(row, str) for row in y)


def is_partners(y: Any) -> bool:
    """Whether an alignment is written as the partners of all positions."""
    items = y.tolist() if isinstance(y, np.ndarray) and y.ndim == 1 else y
    if not isinstance(items, list | tuple) or not len(items):
        return False
    return items[0] is UNKNOWN or isinstance(items[0], int | np.integer | OneOf)


def read_outputs(
    Y: Iterable[Any], batch: AlignmentBatch, reading: Mapping[str, int], n_values: int, core: str
) -> list[Any]:
    """Alignments in a form that needs no lengths: partners as they are, others as :class:`Coded`.

    ``reading`` gives the numbers of letters, of which symbols are ``letter * n_values + value of a track``.
    """
    found = []
    for i, y in enumerate(Y):
        lo, n, hi = int(batch.offsets[i]), int(batch.splits[i]), int(batch.offsets[i + 1])
        where, m = f"y[{i}]", hi - lo - n
        if isinstance(y, Coded) or is_partners(y):
            found.append(y)
        elif is_rows(y):
            codes, letters = rows_codes(y, core, where, reading)
            _check_letters(letters, batch.letters[lo:hi] // n_values, n, where)
            found.append(Coded(codes))
        else:
            known = isinstance(y, Core)
            found.append(
                Coded(match_codes(y.matches if known else y, n, m, where, UNKNOWN_CODE if known else 0))
            )
    return found


def match_codes(matches: Any, n: int, m: int, where: str, other: int = 0) -> np.ndarray:
    """Codes of matches of sequences of n and m positions; ``other`` at positions without.

    >>> match_codes([(0, 0), (2, 1)], 3, 2, "y[0]")
    array([1, 0, 2, 1, 3], dtype=int32)
    """
    try:
        pairs = np.array([(int(i), int(j)) for i, j in matches], np.int64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} is {matches!r:.60}, expected two rows with gaps, matches (i, j), Core(matches), or the partners "
            "of all positions"
        ) from None
    codes = np.full(n + m, other, np.int32)
    bad = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= (n, m)).any(axis=1))
    if len(bad):
        raise ValueError(
            f"{where} matches {tuple(pairs[bad[0]].tolist())}, but its sequences have {n} and {m} letters"
        )
    turned = np.flatnonzero((np.diff(pairs, axis=0) <= 0).any(axis=1))
    if len(turned):
        before, after = (tuple(pairs[turned[0] + k].tolist()) for k in (0, 1))
        raise ValueError(
            f"{where} has the matches {before} and {after}: positions of both sequences must increase"
        )
    codes[pairs[:, 0]], codes[n + pairs[:, 1]] = pairs[:, 1] + 1, pairs[:, 0] + 1
    return codes


def rows_codes(
    rows: tuple[str, str], core: str, where: str, reading: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two rows of an alignment, and the letters that they have, -1 for one that is no letter."""
    if len(rows[0]) != len(rows[1]):
        raise ValueError(f"{where} has rows of {len(rows[0])} and {len(rows[1])} columns")
    letters = [np.array([letter not in GAPS for letter in row], bool) for row in rows]
    upper = [np.array([letter.isupper() for letter in row], bool) for row in rows]
    whole = core == "all" or not any(letter.islower() for row in rows for letter in row)
    both = letters[0] & letters[1]
    known = both if whole else both & upper[0] & upper[1]
    at = [np.cumsum(own) - 1 for own in letters]
    n, m = int(letters[0].sum()), int(letters[1].sum())
    codes = np.full(n + m, 0 if whole else UNKNOWN_CODE, np.int32)
    codes[at[0][known]], codes[n + at[1][known]] = at[1][known] + 1, at[0][known] + 1
    text = "".join(row[t] for row, own in zip(rows, letters) for t in np.flatnonzero(own))
    return codes, np.array([reading.get(letter, -1) for letter in text], np.int64)


def _check_letters(mine: np.ndarray, theirs: np.ndarray, n: int, where: str) -> None:
    if len(mine) != len(theirs):
        raise ValueError(
            f"{where} has {len(mine)} letters in both rows, but the sequences of X have {len(theirs)}"
        )
    wrong = np.flatnonzero(mine != theirs)
    if len(wrong):
        t = int(wrong[0])
        which, at = (0, t) if t < n else (1, t - n)
        raise ValueError(
            f"{where}[{which}] is about another sequence: its letter {at} (0-based, without gaps) differs from "
            f"{where.replace('y', 'X')}[{which}][{at}]"
        )


def matches_of(codes: np.ndarray) -> list[tuple[int, int]]:
    """The matches (i, j) of the codes of one alignment; where it is split is told by the matches themselves.

    >>> matches_of(np.array([1, 0, 2, 1, 3]))
    [(0, 0), (2, 1)]
    """
    codes = np.asarray(codes)
    matched = np.flatnonzero((codes > 0) & (codes <= len(codes)))
    first = matched[: len(matched) // 2]
    return list(zip(first.tolist(), (codes[first] - 1).tolist()))
