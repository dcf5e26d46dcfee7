"""Substitution matrices in NCBI's format: a line of letters, then a line of scores for each letter."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import IO, Any

import numpy as np

from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines, source_name

HALF_BIT = math.log(2.0) / 2.0
"""What one unit of BLOSUM62 is in nats."""


@dataclass(frozen=True, eq=False)
class SubstitutionMatrix:
    """Scores of matched letters.

    Parameters
    ----------
    letters : str
    scores : ndarray of shape (n_letters, n_letters)
        Symmetric.
    name : str

    Examples
    --------
    >>> blosum = read_matrix("BLOSUM62")
    >>> blosum["W", "W"], blosum["A", "r"], len(blosum.letters)
    (11.0, -1.0, 24)
    """

    letters: str
    scores: np.ndarray
    name: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> float:
        i, j = (self.letters.index(letter.upper()) for letter in pair)
        return float(self.scores[i, j])

    def __contains__(self, letter: str) -> bool:
        return letter.upper() in self.letters


def read_matrix(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> SubstitutionMatrix:
    """Read a matrix in NCBI's format; ``"BLOSUM62"`` is the one of the package.

    Lines from ``#`` on are comments. ``.gz`` and ``.xz`` are unpacked.

    Raises
    ------
    DataFileError
        With file and line: a letter that is there twice or has no line, a line of another length, a score that is no
        finite number, two scores of one pair of letters.

    Examples
    --------
    >>> import io
    >>> read_matrix("-", stream=io.StringIO("   A  C\\nA  2 -1\\nC -1  3\\n")).scores
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    if os.fspath(path) == "BLOSUM62" and not os.path.exists(path):
        text = (files("palmette.apps.aligning") / "matrices" / "BLOSUM62.txt").read_text()
        return _parsed(iter(text.splitlines()), "BLOSUM62", "BLOSUM62")
    name = os.path.basename(os.fspath(path)).split(".")[0]
    return _parsed(read_lines(path, stream), source_name(path), name)


def write_matrix(path: str | os.PathLike[str], matrix: SubstitutionMatrix) -> None:
    """Write a matrix in NCBI's format; the file appears when it is complete."""
    cells = [[f"{value:g}" for value in row] for row in matrix.scores.tolist()]
    width = max(len(cell) for row in cells for cell in row) + 1
    with write_atomically(path) as file:
        file.write((" " + "".join(f"{letter:>{width}}" for letter in matrix.letters) + "\n").encode())
        for letter, row in zip(matrix.letters, cells):
            file.write((letter + "".join(f"{cell:>{width}}" for cell in row) + "\n").encode())


def _parsed(lines: Iterator[str], file: str, name: str) -> SubstitutionMatrix:
    letters, rows, number = "", {}, 0
    for number, raw in enumerate(lines, 1):
        columns, where = raw.partition("#")[0].split(), f"{file}:{number}"
        if not columns:
            continue
        if not letters:
            for each in columns:
                if len(each) != 1 or columns.count(each) > 1:
                    raise DataFileError(
                        f"{where}: {each[:20]!r} is not one letter, or there twice; the first line has the letters"
                    )
            letters = "".join(columns).upper()
            continue
        letter = columns[0].upper()
        if letter not in letters or len(letter) != 1 or letter in rows:
            raise DataFileError(f"{where}: {letter[:20]!r} is no letter of the first line, or there twice")
        if len(columns) - 1 != len(letters):
            raise DataFileError(f"{where}: {letter} has {len(columns) - 1} scores for {len(letters)} letters")
        rows[letter] = [_score(text, where) for text in columns[1:]]
    if not letters:
        raise DataFileError(f"{file}:{max(number, 1)}: there is no matrix in the file")
    missing = [letter for letter in letters if letter not in rows]
    if missing:
        raise DataFileError(f"{file}:{number}: {missing[0]} has no line; give one for each letter")
    scores = np.array([rows[letter] for letter in letters])
    uneven = np.argwhere(scores != scores.T)
    if len(uneven):
        one, two = (letters[k] for k in uneven[0])
        raise DataFileError(
            f"{file}: {one}{two} scores {scores[tuple(uneven[0])]:g}, but {two}{one} {scores.T[tuple(uneven[0])]:g}; a "
            "matrix is symmetric"
        )
    return SubstitutionMatrix(letters, scores, name)


def _score(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise DataFileError(f"{where}: the score {text[:20]!r} is not a number") from None
    if not math.isfinite(value):
        raise DataFileError(f"{where}: the score {text} is not finite")
    return value
