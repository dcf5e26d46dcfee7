"""What displays of aligned pairs share: columns, their confidence, colours of letters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

INK, GREY, LIGHT = "#25313d", "#9aa5b1", "#e4e8ec"
TRUE, FALSE = "#2a9d6f", "#e07a3f"
"""Core columns of a reference that are found, and columns that contradict it."""

_KINDS = {
    "AVILMC": "#8fb8de", "FWYH": "#c3a6d8", "KR": "#ee9a9a", "DE": "#d795c9", "STNQ": "#9fd6a3", "G": "#f2c58c",
    "P": "#e8dc83",
}  # fmt: skip
FILLS = {letter: fill for letters, fill in _KINDS.items() for letter in letters}
"""Fills of amino acids by side chain: aliphatic, aromatic, positive, negative, polar, glycine, proline."""

BASES = {"A": "#9fd6a3", "C": "#8fb8de", "G": "#f2c58c", "T": "#ee9a9a", "U": "#ee9a9a"}
"""Fills of nucleotides."""

_SIMILAR = ("STA", "NEQK", "NHQK", "NDEQ", "QHRK", "MILV", "MILF", "HY", "FYW")


@dataclass(frozen=True, eq=False)
class Columns:
    """An alignment as columns.

    Parameters
    ----------
    a, b : str
        The sequences.
    positions : ndarray of int64, shape (n_columns, 2)
        The position of each sequence in a column, from 0, and -1 for a gap. Between two matches letters of a come
        first.

    Examples
    --------
    >>> columns = Columns.of("ACD", "AFDE", [(0, 0), (2, 2)])
    >>> columns.rows, columns.marks
    (('AC-D-', 'A-FDE'), '|  | ')
    """

    a: str
    b: str
    positions: np.ndarray

    @classmethod
    def of(cls, a: str, b: str, matches: Any) -> Columns:
        """The columns of sequences with matched positions (i, j), both ascending."""
        found = np.asarray(matches, np.int64).reshape(-1, 2)
        inside = np.all(found >= 0) and np.all(found < [len(a), len(b)])
        if not inside or np.any(np.diff(found, axis=0) <= 0):
            raise ValueError(
                f"matches must ascend in both sequences of {len(a)} and {len(b)} letters; this list does not"
            )
        parts = []
        i = j = 0
        for k, l in [*found.tolist(), [len(a), len(b)]]:
            parts += [(p, -1) for p in range(i, k)] + [(-1, q) for q in range(j, l)] + [(k, l)]
            i, j = k + 1, l + 1
        return cls(a, b, np.array(parts[:-1], np.int64).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def rows(self) -> tuple[str, str]:
        """Both sequences with gaps."""
        above, below = (
            "".join("-" if p < 0 else letters[p] for p in self.positions[:, side].tolist())
            for side, letters in enumerate((self.a, self.b))
        )
        return above, below

    @property
    def is_match(self) -> np.ndarray:
        """Whether a column has two letters, shape (n_columns,)."""
        return np.all(self.positions >= 0, axis=1)

    @property
    def marks(self) -> str:
        """A character for each column: ``|`` equal letters, ``:`` similar ones, ``.`` others, a space beside a gap."""
        return "".join(_mark(x.upper(), y.upper()) for x, y in zip(*self.rows))

    def confidence(self, posteriors: Any, gaps_a: Any, gaps_b: Any) -> np.ndarray:
        """How probable each column is: its match, or that its letter stands against a gap; shape (n_columns,).

        Parameters
        ----------
        posteriors : array of shape (len(a), len(b))
        gaps_a, gaps_b : arrays of shape (len(a),) and (len(b),)
        """
        table = np.asarray(posteriors, float)
        of_a, of_b = np.asarray(gaps_a, float), np.asarray(gaps_b, float)
        wanted = (len(self.a), len(self.b))
        if table.shape != wanted or of_a.shape != wanted[:1] or of_b.shape != wanted[1:]:
            raise ValueError(
                f"posteriors and gaps have shapes {table.shape}, {of_a.shape} and {of_b.shape}, expected {wanted}, "
                f"{wanted[:1]} and {wanted[1:]} for these sequences"
            )
        i, j = self.positions.T
        found = np.where(i < 0, of_b[j], np.where(j < 0, of_a[i], table[i, j]))
        return np.clip(found, 0.0, 1.0)

    def agreement(self, reference: Any) -> np.ndarray:
        """Of each column 1 if it is one of the matches of a reference, -1 if it contradicts one, else 0."""
        core = np.asarray(reference, np.int64).reshape(-1, 2)
        partner = [np.full(len(letters), -1) for letters in (self.a, self.b)]
        for side in (0, 1):
            partner[side][core[:, side]] = core[:, 1 - side]
        i, j = self.positions.T
        right = self.is_match & (partner[0][i] == j)
        known = ((i >= 0) & (partner[0][i] >= 0)) | ((j >= 0) & (partner[1][j] >= 0))
        return np.where(right, 1, np.where(known, -1, 0))

    def blocks(self, width: int) -> Iterator[slice]:
        """Slices of at most `width` columns."""
        if isinstance(width, bool) or not isinstance(width, int) or width < 1:
            raise ValueError(f"width must be a number of columns of at least 1, got {width!r}")
        return (slice(start, start + width) for start in range(0, len(self), width))


def fill_of(letter: str, fills: dict[str, str]) -> str:
    """The colour behind a letter; light grey for others, and none behind a gap."""
    return "none" if letter == "-" else fills.get(letter.upper(), LIGHT)


def fills_for(a: str, b: str) -> dict[str, str]:
    """Colours of nucleotides if there are no other letters, else of amino acids."""
    return BASES if set((a + b).upper()) <= set("ACGTUN") else FILLS


def _mark(x: str, y: str) -> str:
    if "-" in (x, y):
        return " "
    if x == y:
        return "|"
    return ":" if any(x in group and y in group for group in _SIMILAR) else "."
