"""Files of classified records: a path, then numbers, names of features or text, separated by tabs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from palmette.data.annotation import UNKNOWN
from palmette.data.paths import read_path
from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name

FEATURES = ("auto", "numbers", "names", "words", "letters")
BETWEEN_PATHS = "|"


@dataclass(frozen=True)
class Reading:
    """How records are read.

    Parameters
    ----------
    features : {"auto", "numbers", "names", "words", "letters"}
        Columns of numbers; columns with the name of a feature each; one column of text, by its words or by runs of
        ``ngram`` letters (of sequences). "auto": numbers where all cells are, else words of one column, names of
        several.
    ngram : int
    separator : str
        Between the labels of a path.
    multi_label : bool
        Whether a record has several paths, with ``|`` between them.
    """

    features: str = "auto"
    ngram: int = 4
    separator: str = "."
    multi_label: bool = False

    def check(self) -> Reading:
        """Raise ValueError for settings that make no sense."""
        if self.features not in FEATURES:
            raise ValueError(f"features must be one of {', '.join(FEATURES)}, got {self.features!r}")
        if isinstance(self.ngram, bool) or not isinstance(self.ngram, int) or self.ngram < 1:
            raise ValueError(f"ngram must be an integer of at least 1, got {self.ngram!r}")
        if not isinstance(self.separator, str) or not self.separator or "\t" in self.separator:
            raise ValueError(f"separator must be a string without tabs, got {self.separator!r}")
        if not isinstance(self.multi_label, bool):
            raise ValueError(f"multi_label must be True or False, got {self.multi_label!r}")
        return self


@dataclass(frozen=True)
class Records:
    """Records of files.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), or list of list of str
    y : list of str, or list of list of str
        Paths as they are written; with several each a list of them.
    reading : Reading
        How they were read, features no longer "auto".
    source : str
    """

    X: Any
    y: list[Any]
    reading: Reading
    source: str

    def __len__(self) -> int:
        return len(self.y)


def read_records(
    paths: str | Sequence[str], reading: Reading | None = None, stream: IO[Any] | None = None, *,
    without_paths: bool = False,
) -> Records:  # fmt: skip
    r"""Read files of records; ``without_paths`` what is in their place is not looked at.

    >>> import io
    >>> found = read_records("-", stream=io.StringIO("animal.dog\tbarks loudly\nplant.oak\tgreen\n"))
    >>> found.y, found.X
    (['animal.dog', 'plant.oak'], [['barks', 'loudly'], ['green']])
    """
    reading = Reading() if reading is None else reading
    reading.check()
    files = [paths] if isinstance(paths, str) else list(paths)
    rows: list[tuple[str, str, list[str]]] = []  # place, path, cells
    for path in files:
        for number, line in enumerate(read_lines(path, stream), 1):
            text = line.rstrip("\r\n")
            if not text.strip() or text.startswith("#"):
                continue
            place = f"{source_name(path)}:{number}"
            label, *cells = text.split("\t")
            if not cells:
                raise DataFileError(f"{place}: {text!r:.60} has no tab; a line is PATH, a tab, and features")
            rows.append((place, label.strip(), cells))
    if not rows:
        raise DataFileError(
            f"{source_name(files[0])}: there is no record; a line is PATH, a tab, and features"
        )
    kind = _kind([cells for _, _, cells in rows]) if reading.features == "auto" else reading.features
    y = [UNKNOWN if without_paths else _label(label, reading, place) for place, label, _ in rows]
    own = Reading(kind, reading.ngram, reading.separator, reading.multi_label)
    return Records(_features(rows, own), y, own, source_name(files[0]))


def _kind(rows: Sequence[list[str]]) -> str:
    if all(_is_number(cell) for cells in rows for cell in cells):
        return "numbers"
    return "words" if all(len(cells) == 1 for cells in rows) else "names"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _label(text: str, reading: Reading, place: str) -> Any:
    parts = text.split(BETWEEN_PATHS) if reading.multi_label else [text]
    for part in parts if text or not reading.multi_label else []:
        try:
            read_path(part, reading.separator, "the path")
        except ValueError as error:
            raise DataFileError(f"{place}: {error}") from None
    return (parts if text else []) if reading.multi_label else text


def _features(rows: Sequence[tuple[str, str, list[str]]], reading: Reading) -> Any:
    if reading.features == "numbers":
        return _numbers(rows)
    if reading.features == "names":
        return [[cell for cell in cells if cell] for _, _, cells in rows]
    found = []
    for place, _, cells in rows:
        if len(cells) != 1:
            raise DataFileError(
                f"{place}: {len(cells)} columns after the path, and --features {reading.features} reads one of text; "
                "use --features names"
            )
        found.append(words(cells[0]) if reading.features == "words" else ngrams(cells[0], reading.ngram))
    return found


def _numbers(rows: Sequence[tuple[str, str, list[str]]]) -> np.ndarray:
    width = len(rows[0][2])
    table = np.empty((len(rows), width))
    for k, (place, _, cells) in enumerate(rows):
        if len(cells) != width:
            raise DataFileError(
                f"{place}: {len(cells)} numbers, but the first record has {width}; give as many"
            )
        for column, cell in enumerate(cells):
            if not _is_number(cell) or not np.isfinite(float(cell)):
                raise DataFileError(
                    f"{place}: column {column + 2} is {cell!r:.40}, no finite number; write one, or read names of "
                    "features by --features names"
                )
            table[k, column] = float(cell)
    return table


def words(text: str) -> list[str]:
    """The different words of a text in lower case.

    >>> words("The cat, the hat")
    ['the', 'cat', 'hat']
    """
    return list(dict.fromkeys(re.findall(r"\w+", text.lower())))


def ngrams(text: str, n: int) -> list[str]:
    """The different runs of n letters; of a shorter text itself.

    >>> ngrams("ABAB", 2)
    ['AB', 'BA']
    """
    if len(text) < n:
        return [text]
    return list(dict.fromkeys(text[k : k + n] for k in range(len(text) - n + 1)))


def read_tree(path: str, separator: str) -> list[str]:
    """The paths of a file, one per line."""
    found = []
    for number, line in enumerate(read_lines(path), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            read_path(text, separator, "the path")
        except ValueError as error:
            raise DataFileError(f"{source_name(path)}:{number}: {error}") from None
        found.append(text)
    if not found:
        raise DataFileError(f"{source_name(path)}: there is no path; a tree is a path per line")
    return found
