"""Lineages and links as CSV."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from palmette.apps.tracking.nodes import parent_tracks, track_labels
from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines
from palmette.structures.tracking.lineage import Lineage

Node = tuple[int, int]  # frame, id

LINEAGE_COLUMNS = ("frame", "id", "track", "parent")
LINK_COLUMNS = ("frame_from", "id_from", "frame_to", "id_to")


def write_lineage_table(path: str | os.PathLike[str], lineage: Lineage) -> None:
    """Write a lineage as CSV, whole or not at all: a line ``frame,id,track,parent`` for each detection.

    ``parent`` is the label of the track from which this track descends, 0 if there is none, several labels with spaces
    between them where tracks merge. Nothing is lost: :func:`read_lineage_table` returns the same lineage.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> cells = Lineage.from_links([(0, 7), (1, 3), (1, 4)], [((0, 7), (1, 3)), ((0, 7), (1, 4))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "lineage.csv"
    ...     write_lineage_table(path, cells)
    ...     print(path.read_text(), end="")
    ...     read_lineage_table(path).links(0, 1)
    frame,id,track,parent
    0,7,1,0
    1,3,2,1
    1,4,3,1
    [(7, 3), (7, 4)]
    """
    _write(path, LINEAGE_COLUMNS, lineage_rows(lineage))


def lineage_rows(lineage: Lineage) -> Iterator[tuple[int, int, int, str]]:
    """The rows of such a table, by frame and id."""
    labels = track_labels(lineage)
    parents = parent_tracks(lineage, labels)
    for frame, own, label in sorted(zip(lineage.frame.tolist(), lineage.id.tolist(), labels.tolist())):
        yield frame, own, label, " ".join(map(str, parents.get(label, [0])))


def read_lineage_table(path: str | os.PathLike[str]) -> Lineage:
    """Read what :func:`write_lineage_table` has written: detections of a track are linked in the order of frames.

    Raises
    ------
    DataFileError
        A line without four whole numbers, a track with two detections in one frame or with different parents, a parent
        that is not there or does not end before its child begins; the message names line, frame, id and track.

    Examples
    --------
    See :func:`write_lineage_table`.
    """
    name = os.fspath(path)
    tracks: dict[int, dict[int, int]] = defaultdict(dict)  # id by frame
    parents: dict[int, tuple[int, ...]] = {}
    for line, row in _rows(path, LINEAGE_COLUMNS, several="parent"):
        (frame,), (own,), (label,), above = row
        if frame in tracks[label]:
            raise DataFileError(
                f"{name}:{line}: track {label} has the detections {tracks[label][frame]} and {own} in frame {frame}; "
                "a track has one in a frame: give one of them another track"
            )
        tracks[label][frame] = own
        kept = tuple(each for each in above if each)
        if parents.setdefault(label, kept) != kept:
            raise DataFileError(
                f"{name}:{line}: frame {frame}, id {own}: track {label} has the parent {_listed(kept)} here and "
                f"{_listed(parents[label])} above; write the same in all lines of a track"
            )
    links: list[tuple[Node, Node]] = []
    for label, ids in tracks.items():
        frames = sorted(ids)
        links += [((a, ids[a]), (b, ids[b])) for a, b in zip(frames, frames[1:])]
        for parent in parents[label]:
            if parent not in tracks:
                raise DataFileError(
                    f"{name}: track {label}, which begins in frame {frames[0]}, has the parent {parent}, which has no "
                    "detection; add it, or write 0"
                )
            end = max(tracks[parent])
            if end >= frames[0]:
                raise DataFileError(
                    f"{name}: track {label} begins in frame {frames[0]}, but its parent {parent} ends in frame {end}; "
                    "a parent ends before its children begin: correct the frames, or write 0"
                )
            links.append(((end, tracks[parent][end]), (frames[0], ids[frames[0]])))
    nodes = ((frame, own) for ids in tracks.values() for frame, own in ids.items())
    return Lineage.from_links(nodes, links)


def write_links(path: str | os.PathLike[str], lineage: Lineage) -> None:
    """Write the links of a lineage as CSV, whole or not at all; detections without links are not in it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> cells = Lineage.from_links([(0, 7), (1, 3), (1, 4)], [((0, 7), (1, 3)), ((0, 7), (1, 4))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "links.csv"
    ...     write_links(path, cells)
    ...     print(path.read_text(), end="")
    ...     read_links(path)
    frame_from,id_from,frame_to,id_to
    0,7,1,3
    0,7,1,4
    [((0, 7), (1, 3)), ((0, 7), (1, 4))]
    """
    nodes = list(zip(lineage.frame.tolist(), lineage.id.tolist()))
    _write(path, LINK_COLUMNS, sorted((*nodes[a], *nodes[b]) for a, b in lineage.edges.tolist()))


def read_links(path: str | os.PathLike[str]) -> list[tuple[Node, Node]]:
    """Read links ``frame_from,id_from,frame_to,id_to``, such as those to be pinned; other columns are left out.

    Raises
    ------
    DataFileError
        A line without four whole numbers, or a link that does not go forward in time; the message names the line.

    Examples
    --------
    See :func:`write_links`.
    """
    links = []
    for line, row in _rows(path, LINK_COLUMNS):
        first, own, second, other = (each[0] for each in row)
        if first >= second:
            raise DataFileError(
                f"{os.fspath(path)}:{line}: the link from detection {own} of frame {first} to detection {other} of "
                f"frame {second} does not go forward in time; exchange the two"
            )
        links.append(((first, own), (second, other)))
    return links


# -- rows ------------------------------------------------------------------------------------------------------------


def _write(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with write_atomically(path) as file:
        for row in chain([columns], rows):
            file.write((",".join(map(str, row)) + "\n").encode())


def _rows(
    path: str | os.PathLike[str], columns: Sequence[str], several: str = ""
) -> Iterator[tuple[int, list[list[int]]]]:
    """Number of the line, and the whole numbers of the columns: one in each but in the column `several`."""
    name = os.fspath(path)
    reader = csv.reader(read_lines(path), skipinitialspace=True)
    header = [each.strip().removeprefix("\ufeff") for each in next(reader, [])]
    lacking = [column for column in columns if column not in header]
    if lacking:
        raise DataFileError(
            f"{name}:1: no column {lacking[0]!r}; the first line must name the columns {', '.join(columns)}"
        )
    places = [header.index(column) for column in columns]
    for row in reader:
        if not row:
            continue
        try:
            found = [[int(text) for text in row[place].split()] for place in places]
        except (ValueError, IndexError):
            found = [[]]
        if any(
            len(each) < 1 or (len(each) > 1 and column != several) for each, column in zip(found, columns)
        ):
            raise DataFileError(
                f"{name}:{reader.line_num}: {','.join(row)!r} has no whole number in each of the columns "
                f"{', '.join(columns)}"
            )
        yield reader.line_num, found


def _listed(labels: Sequence[int]) -> str:
    return " ".join(map(str, labels)) or "0"
