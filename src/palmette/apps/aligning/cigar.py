"""CIGAR strings: runs of matches and gaps, as PAF and SAM have them."""

from __future__ import annotations

import re

import numpy as np

_RUN = re.compile(r"(\d+)([A-Za-z=])")


class CigarError(ValueError):
    """A string that is no CIGAR of the sequences."""


def parse_cigar(cigar: str, start: tuple[int, int] = (0, 0)) -> tuple[np.ndarray, tuple[int, int]]:
    """The matches of a CIGAR string, and where it ends.

    ``M``, ``=`` and ``X`` are matched positions, ``I`` letters of the first sequence (the query) against a gap, ``D``
    and ``N`` letters of the second (the target); ``S`` skips letters of the first, ``H`` and ``P`` nothing.

    Parameters
    ----------
    cigar : str
    start : (int, int)
        The positions of both sequences where it begins.

    Returns
    -------
    matches : ndarray of int64, shape (k, 2)
    end : (int, int)

    Examples
    --------
    >>> matches, end = parse_cigar("2M1I1D1M")
    >>> matches.tolist(), end
    ([[0, 0], [1, 1], [3, 3]], (4, 4))
    """
    i, j = start
    runs: list[np.ndarray] = []
    at = 0
    while at < len(cigar):
        found = _RUN.match(cigar, at)
        if found is None:
            raise CigarError(
                f"character {at + 1} of the CIGAR: {cigar[at : at + 10]!r} is no run such as '12M'"
            )
        length, kind = int(found[1]), found[2]
        if kind in "M=X":
            runs.append(np.stack([np.arange(i, i + length), np.arange(j, j + length)], axis=1))
            i, j = i + length, j + length
        elif kind in "IS":
            i += length
        elif kind in "DN":
            j += length
        elif kind not in "HP":
            raise CigarError(
                f"character {at + 1} of the CIGAR: {kind!r} is none of M = X I D N S H P; correct it"
            )
        at = found.end()
    return (np.concatenate(runs) if runs else np.empty((0, 2), np.int64)), (i, j)


def format_cigar(matches: np.ndarray, n: int, m: int, same: np.ndarray | None = None) -> str:
    """The CIGAR string of a global alignment of n and m letters.

    Parameters
    ----------
    matches : array of shape (k, 2)
    n, m : int
    same : array of bool, shape (k,), optional
        Whether the letters of a match are equal; then matches are written as ``=`` and ``X``, else as ``M``.

    Examples
    --------
    >>> format_cigar([(0, 0), (2, 1)], 3, 3)
    '1M1I1M1D'
    """
    runs: list[tuple[int, str]] = []

    def add(length: int, kind: str) -> None:
        if length and runs and runs[-1][1] == kind:
            runs[-1] = (runs[-1][0] + length, kind)
        elif length:
            runs.append((length, kind))

    i = j = 0
    for k, (p, q) in enumerate(np.asarray(matches, np.int64).reshape(-1, 2).tolist()):
        add(p - i, "I")
        add(q - j, "D")
        add(1, "M" if same is None else "=" if same[k] else "X")
        i, j = p + 1, q + 1
    add(n - i, "I")
    add(m - j, "D")
    return "".join(f"{length}{kind}" for length, kind in runs)
