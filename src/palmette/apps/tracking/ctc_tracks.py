"""Track files of the Cell Tracking Challenge: a line ``label begin end parent`` for each track."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines
from palmette.structures.tracking.lineage import Lineage


class TrackRow(NamedTuple):
    """A line of a track file: its label, first and last frame, and the label of its parent (0 for none)."""

    label: int
    begin: int
    end: int
    parent: int


class NumberedTrack(NamedTuple):
    """A line of a track file, and the numbers of its detections in the lineage."""

    row: TrackRow
    nodes: tuple[int, ...]


def read_ctc_tracks(path: str | os.PathLike[str]) -> list[TrackRow]:
    """Read ``man_track.txt`` or ``res_track.txt``.

    Raises
    ------
    DataFileError
        A line that is not four whole numbers, a label that occurs twice, a track that ends before it begins, a parent
        that is not in the file or does not end before its child begins; the message names line, label and remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "man_track.txt"
    ...     _ = path.write_text("1 0 4 0\\n2 5 9 1\\n3 5 7 1\\n")
    ...     read_ctc_tracks(path)[1]
    TrackRow(label=2, begin=5, end=9, parent=1)
    """
    name = os.fspath(path)
    rows: dict[int, TrackRow] = {}
    lines: dict[int, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        row = _parsed(line, f"{name}:{number}")
        if row.label in rows:
            raise DataFileError(
                f"{name}:{number}: the label {row.label} stands already in line {lines[row.label]}; give each track a "
                "label of its own"
            )
        rows[row.label], lines[row.label] = row, number
    for row in rows.values():
        _check_parent(row, rows, f"{name}:{lines[row.label]}")
    return list(rows.values())


def _parsed(line: str, where: str) -> TrackRow:
    try:
        label, begin, end, parent = map(int, line.split())
    except ValueError:
        raise DataFileError(
            f"{where}: {line.strip()!r} is not four whole numbers: label, first frame, last frame, label of the "
            "parent (0 for none)"
        ) from None
    if label < 1 or begin < 0 or parent < 0:
        raise DataFileError(
            f"{where}: {line.strip()!r}: labels count from 1, frames from 0; correct the line"
        )
    if end < begin:
        raise DataFileError(
            f"{where}: track {label} ends in frame {end}, before it begins in frame {begin}; exchange the two"
        )
    return TrackRow(label, begin, end, parent)


def _check_parent(row: TrackRow, rows: dict[int, TrackRow], where: str) -> None:
    if not row.parent:
        return
    if row.parent not in rows:
        raise DataFileError(
            f"{where}: track {row.label} has the parent {row.parent}, which has no line; add it, or set the parent to "
            "0"
        )
    if rows[row.parent].end >= row.begin:
        raise DataFileError(
            f"{where}: track {row.label} begins in frame {row.begin}, but its parent {row.parent} ends in frame "
            f"{rows[row.parent].end}; a parent ends before its children begin: correct one of the frames, or set the "
            "parent to 0"
        )


def write_ctc_tracks(path: str | os.PathLike[str], rows: Iterable[TrackRow]) -> None:
    """Write a track file, whole or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ctc_tracks(pathlib.Path(folder) / "res_track.txt", [TrackRow(1, 0, 4, 0), TrackRow(2, 5, 9, 1)])
    ...     print((pathlib.Path(folder) / "res_track.txt").read_text(), end="")
    1 0 4 0
    2 5 9 1
    """
    with write_atomically(path) as file:
        for row in rows:
            file.write((" ".join(map(str, row)) + "\n").encode())


def numbered_tracks(lineage: Lineage) -> list[NumberedTrack]:
    """Tracks without gaps, with the labels 1, 2, ...: where a track of the lineage lacks a frame, another begins.

    The part behind a gap has the part before it as parent. Of a detection with several parents only the first is the
    parent of its track, since the format has no merges.

    Examples
    --------
    >>> gap = Lineage.from_links([(0, 5), (1, 5), (4, 6)], [((0, 5), (1, 5)), ((1, 5), (4, 6))])
    >>> [track.row for track in numbered_tracks(gap)]
    [TrackRow(label=1, begin=0, end=1, parent=0), TrackRow(label=2, begin=4, end=4, parent=1)]
    """
    pieces: list[tuple[int, np.ndarray, int]] = []  # first frame, nodes, label of the run that is the parent
    last_piece: dict[int, int] = {}  # of each run
    parent_piece: list[int | None] = []
    runs = lineage.tracks()
    for run in runs:
        nodes = np.array(run.nodes)
        cuts = np.flatnonzero(np.diff(lineage.frame[nodes]) > 1) + 1
        for k, piece in enumerate(np.split(nodes, cuts)):
            parent_piece.append(None if k == 0 else len(pieces) - 1)
            pieces.append((int(lineage.frame[piece[0]]), piece, run.parent))
        last_piece[run.label] = len(pieces) - 1
    order = sorted(range(len(pieces)), key=lambda k: (pieces[k][0], int(lineage.id[pieces[k][1][0]])))
    label_of = {k: label for label, k in enumerate(order, 1)}
    found = []
    for k in order:
        begin, nodes, run_parent = pieces[k]
        before = parent_piece[k]
        if before is None and run_parent:
            before = last_piece[run_parent]
        row = TrackRow(
            label_of[k], begin, int(lineage.frame[nodes[-1]]), 0 if before is None else label_of[before]
        )
        found.append(NumberedTrack(row, tuple(nodes.tolist())))
    return found
