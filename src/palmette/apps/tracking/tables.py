"""Detections as CSV: a line for each object, read frame by frame."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from palmette.errors import DataFileError
from palmette.io.lines import read_lines
from palmette.structures.tracking.detections import Detections

LONGEST_GAP = 10_000
"""Frames without detections between two with some, at most: more are a mistake in the column ``frame``."""

BOX_COLUMNS = ("z0", "y0", "x0", "z1", "y1", "x1")
"""The columns of bounding boxes; in 2-d those without z."""


class _Block(NamedTuple):
    """Consecutive lines of one frame."""

    frame: int
    line: int  # number of the first
    offset: int  # bytes before it
    n_lines: int


class TableMovie:
    """A CSV of detections as a movie, of which one frame at a time is in memory.

    The first line names the columns. ``frame``, ``id``, ``y`` and ``x`` must be there; ``z`` makes positions 3-d, and
    ``y0, x0, y1, x1`` (with ``z0`` and ``z1`` in 3-d) are bounding boxes. All other columns with numbers are features;
    a column whose first value is no number is left out (``left_out`` lists them). Lines of a frame should stand
    together, and frames in ascending order; in a file that is not compressed any order will do. Frames without
    detections between the first and the last are empty.

    Parameters
    ----------
    path : path
        Plain, ``.gz`` or ``.xz``. It is gone through once here, to find the frames, and again for every iteration.
    features : list of str, optional
        Columns to be features, instead of all.
    shape : tuple of float, optional
        The size of the image.

    Raises
    ------
    DataFileError
        A column that lacks, a value that is no number, NaN or infinite; the message names line, frame and id.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cells.csv"
    ...     _ = path.write_text("frame,id,y,x,area,name\\n0,1,5,6,30,a\\n0,2,7,8,31,b\\n2,1,5,7,29,c\\n")
    ...     movie = TableMovie(path)
    ...     [(cells.frame, cells.ids.tolist(), cells.features["area"].tolist()) for cells in movie], movie.left_out
    ([(0, [1, 2], [30.0, 31.0]), (1, [], []), (2, [1], [29.0])], ['name'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        shape: tuple[float, ...] | None = None,
    ) -> None:
        self.path, self.shape = path, shape
        self._blocks: list[_Block] = []
        self._read_header(features)
        self._sorted = all(a.frame <= b.frame for a, b in zip(self._blocks, self._blocks[1:]))
        if not self._sorted and os.fspath(path).endswith((".gz", ".xz")):
            before, late = next((a, b) for a, b in zip(self._blocks, self._blocks[1:]) if a.frame > b.frame)
            raise DataFileError(
                f"{os.fspath(path)}:{late.line}: frame {late.frame} comes behind frame {before.frame}; sort the lines "
                "by frame, or unpack the file"
            )
        self._blocks.sort()
        for a, b in zip(self._blocks, self._blocks[1:]):
            if b.frame - a.frame > LONGEST_GAP + 1:
                raise DataFileError(
                    f"{os.fspath(path)}:{b.line}: frame {b.frame} follows frame {a.frame} of line {a.line}, with no "
                    "detections between them; correct the number of the frame"
                )

    @property
    def frames(self) -> range:
        """The frames, with those that have no detections."""
        return range(self._blocks[0].frame, self._blocks[-1].frame + 1) if self._blocks else range(0)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Detections]:
        expected = self.frames.start
        waiting: list[tuple[int, list[str]]] = []
        blocks = self._blocks
        for k, (block, rows) in enumerate(zip(blocks, self._rows_of_blocks())):
            for frame in range(expected, block.frame):
                yield self._detections(frame, [])
            expected = block.frame + 1
            waiting += rows
            if k + 1 == len(blocks) or blocks[k + 1].frame != block.frame:
                yield self._detections(block.frame, waiting)
                waiting = []

    # -- the first pass: columns and frames --------------------------------------------------------------------------

    def _read_header(self, features: Sequence[str] | None) -> None:
        name, lengths = os.fspath(self.path), [0]

        def measured_lines() -> Iterator[str]:
            for line in read_lines(self.path):
                lengths[0] += len(line.encode())
                yield line

        reader = csv.reader(measured_lines(), skipinitialspace=True)
        header = [each.strip().removeprefix("\ufeff") for each in next(reader, [])]
        for column in ("frame", "id", "y", "x"):
            if column not in header:
                raise DataFileError(
                    f"{name}:1: no column {column!r}; the first line must name the columns, frame, id, y and x among "
                    "them"
                )
        twice = next((each for each in header if header.count(each) > 1), None)
        if twice is not None:
            raise DataFileError(
                f"{name}:1: the column {twice!r} occurs twice; give columns names of their own"
            )
        self._n_columns, self._header = len(header), header
        at, first = header.index("frame"), True
        start, line_start = lengths[0], reader.line_num
        for row in reader:
            if row:
                if first:
                    self._choose_columns(row, features)
                    first = False
                self._note_line(row, at, line_start + 1, start)
            start, line_start = lengths[0], reader.line_num
        if first:
            self._choose_columns(["0"] * len(header), features)

    def _note_line(self, row: list[str], at: int, line: int, offset: int) -> None:
        try:
            frame = _whole(row[at])
        except (ValueError, IndexError):
            raise DataFileError(
                f"{os.fspath(self.path)}:{line}: the frame is {row[at] if at < len(row) else ''!r}, expected a whole "
                "number; correct it"
            ) from None
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.frame == frame and last.line + last.n_lines == line:
            self._blocks[-1] = last._replace(n_lines=last.n_lines + 1)
        else:
            self._blocks.append(_Block(frame, line, offset, 1))

    def _choose_columns(self, row: list[str], features: Sequence[str] | None) -> None:
        header = self._header
        self._axes = [axis for axis in ("z", "y", "x") if axis in header]
        corners = [each for each in BOX_COLUMNS if each[0] in self._axes]
        self._corners = corners if set(corners) <= set(header) else []
        others = [each for each in header if each not in ("frame", "id", *self._axes, *self._corners)]
        if features is not None:
            unknown = [each for each in features if each not in others]
            if unknown:
                raise ValueError(
                    f"features: {os.fspath(self.path)} has no column {unknown[0]!r}; it has "
                    f"{', '.join(others) or 'none'}"
                )
        chosen = others if features is None else list(features)
        self.feature_names = [
            each for each in chosen if features is not None or _is_number(row, header.index(each))
        ]
        self.left_out = [each for each in others if each not in self.feature_names]
        self._columns = ["id", *self._axes, *self._corners, *self.feature_names]
        self._places = [header.index(each) for each in self._columns]

    # -- later passes ------------------------------------------------------------------------------------------------

    def _rows_of_blocks(self) -> Iterator[list[tuple[int, list[str]]]]:
        """For each block the numbers of its lines and their fields."""
        if self._sorted:
            lines = enumerate(read_lines(self.path), 1)
            for block in self._blocks:
                own = (each for each in lines if each[0] >= block.line)
                yield _fields(islice(own, block.n_lines))
            return
        with open(self.path, "rb") as file:
            for block in self._blocks:
                file.seek(block.offset)
                found = (file.readline().decode() for _ in range(block.n_lines))
                yield _fields(enumerate(found, block.line))

    def _detections(self, frame: int, rows: list[tuple[int, list[str]]]) -> Detections:
        table = self._numbers(frame, rows)
        n_axes, n_corners = len(self._axes), len(self._corners)
        position, boxes = table[:, 1 : 1 + n_axes], table[:, 1 + n_axes : 1 + n_axes + n_corners]
        values = table[:, 1 + n_axes + n_corners :]
        ids = [_whole(row[self._places[0]]) for _, row in rows]
        known: dict[int, int] = {}
        for own, (line, _) in zip(ids, rows):
            if own in known:
                raise DataFileError(
                    f"{os.fspath(self.path)}:{line}: frame {frame} has the id {own} twice, first in line "
                    f"{known[own]}; ids must differ within a frame"
                )
            known[own] = line
        features = {name: values[:, k] for k, name in enumerate(self.feature_names)}
        return Detections(
            position, features, np.array(ids, np.int64), boxes if n_corners else None, frame, self.shape
        )

    def _numbers(self, frame: int, rows: list[tuple[int, list[str]]]) -> np.ndarray:
        try:
            chosen = [[row[place] for place in self._places] for _, row in rows]
            table = np.array(chosen, dtype=object).reshape(-1, len(self._places)).astype(float)
            if np.isfinite(table).all() and (table[:, 0] == np.floor(table[:, 0])).all():
                return table
        except (ValueError, IndexError):
            pass
        raise DataFileError(self._first_fault(frame, rows))

    def _first_fault(self, frame: int, rows: list[tuple[int, list[str]]]) -> str:
        for line, row in rows:
            for column, place in zip(self._columns, self._places):
                text = row[place].strip() if place < len(row) else ""
                where = f"{os.fspath(self.path)}:{line}: frame {frame}"
                if column == "id":
                    if not _is_whole(text):
                        return f"{where}: the id is {text!r}, expected a whole number; correct it"
                    continue
                own = row[self._places[0]].strip()
                if not _is_number([text], 0) or not np.isfinite(float(text)):
                    column_too = ", or the column (features=[...])" if column in self.feature_names else ""
                    return (
                        f"{where}, id {own}: the column {column!r} is {text or 'empty'!r}, expected a finite number; "
                        f"measure it again, or leave out the line{column_too}"
                    )
        raise AssertionError("a table without fault was refused")


def _fields(lines: Iterable[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    numbered = list(lines)
    rows = csv.reader((text for _, text in numbered), skipinitialspace=True)
    return [(number, row) for (number, _), row in zip(numbered, rows)]


def _is_number(row: list[str], place: int) -> bool:
    try:
        float(row[place])
    except (ValueError, IndexError):
        return False
    return True


def _whole(text: str) -> int:
    """A whole number, which may be written as 3.0.

    >>> _whole("3"), _whole(" 4.0")
    (3, 4)
    """
    try:
        return int(text)
    except ValueError:
        value = float(text)
        if not value.is_integer():
            raise ValueError(text) from None
        return int(value)


def _is_whole(text: str) -> bool:
    try:
        _whole(text)
    except (ValueError, OverflowError):
        return False
    return True
