"""Readers and writers by what a path is: the formats of movies and lineages in one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from palmette.apps.tracking.ctc import is_ctc_folder
from palmette.apps.tracking.geff_graph import is_geff
from palmette.errors import DataFileError
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

_HERE = "palmette.apps.tracking"


class Format(NamedTuple):
    """A format of files.

    Attributes
    ----------
    what : str
        What such a path is, for people.
    is_it : callable or None
        Whether a path is of this format; None if only its name can say so.
    movie, lineage, write : str or None
        ``"module:name"`` of what reads a movie, reads a lineage, writes a lineage; None if there is nothing such.
    needs : str or None
        What the writer needs beside path and lineage: ``"movie"``, ``"masks"`` or None.
    """

    what: str
    is_it: Callable[[str | os.PathLike[str]], bool] | None
    movie: str | None = None
    lineage: str | None = None
    write: str | None = None
    needs: str | None = None


def _is_csv(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith((".csv", ".csv.gz", ".csv.xz")) and not Path(path).is_dir()


FORMATS: dict[str, Format] = {
    "ctc": Format(
        "a folder of the Cell Tracking Challenge (mask000.tif, ... or man_track000.tif, ...)",
        is_ctc_folder, f"{_HERE}.ctc:CTCMovie", f"{_HERE}.ctc:read_ctc_lineage", f"{_HERE}.ctc_results:write_ctc",
        "masks",
    ),
    "csv": Format(
        "a table (.csv, .csv.gz, .csv.xz)",
        _is_csv, f"{_HERE}.tables:TableMovie", f"{_HERE}.lineage_tables:read_lineage_table",
        f"{_HERE}.lineage_tables:write_lineage_table",
    ),
    "geff": Format(
        "a GEFF (a folder .geff or .zarr with nodes and edges)",
        is_geff, f"{_HERE}.geff_files:GeffMovie", f"{_HERE}.geff_files:read_geff_lineage",
        f"{_HERE}.geff_files:write_geff", "movie",
    ),
    "links": Format("a table of links (.csv)", None, write=f"{_HERE}.lineage_tables:write_links"),
    "napari": Format(
        "a table of tracks for napari (.csv)", None, write=f"{_HERE}.napari_tracks:write_napari_tracks", needs="movie"
    ),
}  # fmt: skip
"""Known formats by name; a format of your own may be added."""


def read_movie(
    path: str | os.PathLike[str], format: str | None = None, **options: Any
) -> Iterable[Detections]:
    """Open a movie: an iterable of the detections of its frames, read when it is gone through, as often as wanted.

    Parameters
    ----------
    path : path
        A folder of masks, a CSV of detections or a GEFF.
    format : {"ctc", "csv", "geff"}, optional
        By default what the path is.
    **options
        Those of :class:`CTCMovie` (images, kind, spacing), :class:`TableMovie` and :class:`GeffMovie` (features,
        shape).

    Raises
    ------
    DataFileError
        A path that is none of these; the message lists what is understood.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cells.csv"
    ...     _ = path.write_text("frame,id,y,x\\n0,1,5,6\\n1,1,5,7\\n")
    ...     [len(cells) for cells in read_movie(path)]
    [1, 1]
    """
    return _loaded(_chosen(path, format, "movie").movie)(path, **options)


def read_lineage(path: str | os.PathLike[str], format: str | None = None, **options: Any) -> Lineage:
    """Read a lineage: masks with their track file, a CSV ``frame,id,track,parent`` or a GEFF.

    Parameters
    ----------
    path : path
    format : {"ctc", "csv", "geff"}, optional
        By default what the path is.
    **options
        Those of :func:`read_ctc_lineage` (tracks, kind, gaps).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "lineage.csv"
    ...     _ = path.write_text("frame,id,track,parent\\n0,1,1,0\\n1,4,1,0\\n")
    ...     read_lineage(path).links(0, 1)
    [(1, 4)]
    """
    return _loaded(_chosen(path, format, "lineage").lineage)(path, **options)


def write_lineage(
    path: str | os.PathLike[str],
    format: str,
    lineage: Lineage,
    *,
    movie: Iterable[Detections] | None = None,
    masks: Any = None,
    **options: Any,
) -> None:
    """Write a lineage.

    Parameters
    ----------
    path : path
        A folder for ``"ctc"`` and ``"geff"``, else a file.
    format : {"ctc", "csv", "geff", "links", "napari"}
    lineage : Lineage
    movie : iterable of Detections, optional
        Where the detections are: for ``"geff"`` and ``"napari"``.
    masks : path or FrameFiles, optional
        In which they were found: for ``"ctc"``. By default those of `movie`, if it is a :class:`CTCMovie`.
    **options
        Those of :func:`write_ctc` (overwrite) and :func:`write_geff` (units, scale, overwrite).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "lineage.csv"
    ...     write_lineage(path, "csv", Lineage.from_links([(0, 1), (1, 4)], [((0, 1), (1, 4))]))
    ...     len(read_lineage(path))
    2
    """
    chosen = _named(format, "write")
    given = {"movie": movie, "masks": getattr(movie, "masks", None) if masks is None else masks}
    arguments = []
    if chosen.needs is not None:
        if given[chosen.needs] is None:
            wanted = "masks that were tracked" if chosen.needs == "masks" else "positions of the detections"
            raise ValueError(
                f"{os.fspath(path)}: the format {format!r} needs the {wanted}: pass {chosen.needs}="
            )
        arguments.append(given[chosen.needs])
    _loaded(chosen.write)(path, lineage, *arguments, **options)


def _named(name: str, purpose: str) -> Format:
    known = [each for each, entry in FORMATS.items() if getattr(entry, purpose) is not None]
    if name not in known:
        raise ValueError(f"format must be one of {', '.join(map(repr, known))}, got {name!r}")
    return FORMATS[name]


def _chosen(path: str | os.PathLike[str], name: str | None, purpose: str) -> Format:
    if name is not None:
        return _named(name, purpose)
    known = [
        each for each in FORMATS.values() if getattr(each, purpose) is not None and each.is_it is not None
    ]
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file or folder; correct the path")
    for entry in known:
        if entry.is_it is not None and entry.is_it(path):
            return entry
    listed = "; ".join(entry.what for entry in known)
    raise DataFileError(
        f"{os.fspath(path)}: this is no {purpose} that is understood. Understood are: {listed}"
    )


def _loaded(place: str | None) -> Any:
    assert place is not None
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
