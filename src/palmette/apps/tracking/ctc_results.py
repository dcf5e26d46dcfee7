"""Results in the form of the Cell Tracking Challenge: ``res_track.txt`` and masks with the labels of tracks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from palmette.apps.tracking.ctc import FrameFiles
from palmette.apps.tracking.ctc_tracks import numbered_tracks, write_ctc_tracks
from palmette.apps.tracking.extras import extra
from palmette.errors import DataFileError, warn_caller
from palmette.io.atomic import write_atomically
from palmette.structures.tracking.lineage import Lineage

_MOST_TRACKS = np.iinfo(np.uint16).max  # what the masks of the challenge can hold


def write_ctc(
    folder: str | os.PathLike[str],
    lineage: Lineage,
    masks: FrameFiles | str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write a lineage as ``mask000.tif``, ... and ``res_track.txt``.

    Every mask is the given one with the labels of tracks instead of those of detections; pixels of objects that are
    not in the lineage become 0. Masks are read and written one at a time. Every file is whole or not there, and the
    track file is written last: a folder that has it is complete.

    A gap in a track is written as a track that ends and a child of it that begins behind the gap. A detection with
    several parents keeps the first, since the format has no merges; a warning says how many links this loses.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    lineage : Lineage
        Its ids are labels of the masks.
    masks : FrameFiles or path
        The masks in which the detections were found.
    overwrite : bool, default=False
        Whether to replace results that are in the folder.

    Raises
    ------
    FileExistsError
        The folder has masks or a track file, and `overwrite` is false, or they are the masks given.
    DataFileError
        A detection of the lineage that is not in its mask; the message names frame and label.

    Examples
    --------
    >>> import pathlib, tempfile, tifffile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     found, results = pathlib.Path(name) / "found", pathlib.Path(name) / "results"
    ...     found.mkdir()
    ...     for frame, label in enumerate([7, 4]):
    ...         tifffile.imwrite(found / f"mask00{frame}.tif", np.array([[0, label]], np.uint16))
    ...     write_ctc(results, Lineage.from_links([(0, 7), (1, 4)], [((0, 7), (1, 4))]), found)
    ...     (results / "res_track.txt").read_text(), tifffile.imread(results / "mask001.tif").tolist()
    ('1 0 1 0\\n', [[0, 1]])
    """
    masks = masks if isinstance(masks, FrameFiles) else FrameFiles(masks)
    target = Path(folder)
    tifffile = extra("tifffile", "masks of the Cell Tracking Challenge")
    tracks = numbered_tracks(lineage)
    if len(tracks) > _MOST_TRACKS:
        raise ValueError(
            f"{len(tracks)} tracks, but masks of the challenge hold {_MOST_TRACKS} labels: write GEFF or CSV instead"
        )
    label_of = np.zeros(len(lineage), np.int64)
    for track in tracks:
        label_of[list(track.nodes)] = track.row.label
    _check_frames(lineage, masks)
    old = _old_results(target, masks, overwrite)
    _warn_of_merges(lineage)
    target.mkdir(parents=True, exist_ok=True)
    (target / "res_track.txt").unlink(missing_ok=True)  # what follows is not complete
    order = np.argsort(lineage.frame, kind="stable")
    bounds = np.searchsorted(lineage.frame[order], [masks.frames[0], *(frame + 1 for frame in masks.frames)])
    digits = max(3, masks.digits)
    for frame, start, stop in zip(masks.frames, bounds[:-1], bounds[1:]):
        nodes = order[start:stop]
        relabelled = _relabelled(masks, frame, lineage.id[nodes], label_of[nodes])
        path = target / f"mask{frame:0{digits}d}.tif"
        with write_atomically(path) as file:
            tifffile.imwrite(file, relabelled, photometric="minisblack", compression="zlib")
        old.discard(path)
    for path in old:
        path.unlink(missing_ok=True)
    write_ctc_tracks(target / "res_track.txt", (track.row for track in tracks))


def _relabelled(masks: FrameFiles, frame: int, ids: np.ndarray, labels: np.ndarray) -> np.ndarray:
    image = masks.image(frame)
    present, places = np.unique(image, return_inverse=True)
    at = np.searchsorted(present, ids)
    absent = np.flatnonzero(
        (at == len(present)) | (present[at.clip(max=len(present) - 1)] != ids) | (ids == 0)
    )
    if len(absent):
        raise DataFileError(
            f"{masks.path(frame)}: frame {frame} has no label {ids[absent[0]]}, but the lineage has such a detection; "
            "give the masks in which the detections were found"
        )
    table = np.zeros(len(present), np.uint16)
    table[at] = labels
    return table[places.reshape(image.shape)]


def _check_frames(lineage: Lineage, masks: FrameFiles) -> None:
    outside = np.flatnonzero((lineage.frame < masks.frames[0]) | (lineage.frame > masks.frames[-1]))
    if len(outside):
        node = outside[0]
        raise DataFileError(
            f"{masks.folder}: there is no mask of frame {lineage.frame[node]}, but the lineage has detection "
            f"{lineage.id[node]} there; give masks of all frames"
        )


def _old_results(target: Path, masks: FrameFiles, overwrite: bool) -> set[Path]:
    """Masks that are in the folder; an error if they may not be replaced."""
    if not target.exists():
        return set()
    if target.samefile(masks.folder) and masks.kind == "mask":
        raise FileExistsError(
            f"{target}: the masks given are there and would be lost; write to another folder"
        )
    old = {path for path in target.iterdir() if path.name.startswith("mask") and path.suffix == ".tif"}
    if (old or (target / "res_track.txt").exists()) and not overwrite:
        raise FileExistsError(f"{target}: the folder has results; pass overwrite=True, or name another")
    return old


def _warn_of_merges(lineage: Lineage) -> None:
    lost: Any = np.maximum(lineage.n_parents - 1, 0)
    if lost.any():
        node = int(np.flatnonzero(lost)[0])
        warn_caller(
            f"{lost.sum()} links are not written: detections with several parents keep the first of them, since the "
            f"format has no merges (first: detection {lineage.id[node]} of frame {lineage.frame[node]}); GEFF and CSV "
            "keep all",
            UserWarning,
        )
