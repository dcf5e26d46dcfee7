"""Folders of the Cell Tracking Challenge: masks as movies, masks with a track file as lineages."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from palmette.apps.tracking.ctc_tracks import TrackRow, read_ctc_tracks
from palmette.apps.tracking.extras import extra
from palmette.apps.tracking.masks import measured
from palmette.errors import DataFileError
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

KINDS = ("mask", "man_track", "man_seg", "t")
"""How names of files begin: results, tracking truth, segmentation truth, raw images."""

_NAME = re.compile(r"(mask|man_track|man_seg|t)(\d+)\.tiff?", re.IGNORECASE)
_TRACK_FILES = {"mask": "res_track.txt", "man_track": "man_track.txt"}


class FrameFiles:
    """The images of a folder by frame, read one at a time: ``mask000.tif``, ``man_track000.tif``, ...

    Parameters
    ----------
    folder : path
    kind : {"mask", "man_track", "man_seg", "t"}, optional
        How the names begin; by default that of the masks in the folder, which must have one kind only.

    Raises
    ------
    DataFileError
        No masks, masks of several kinds, or a frame that is lacking between the first and the last.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, tifffile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for frame in range(2):
    ...         tifffile.imwrite(pathlib.Path(folder) / f"mask00{frame}.tif", np.eye(3, dtype=np.uint16))
    ...     files = FrameFiles(folder)
    ...     len(files), list(files.frames), files.kind, files.image(1).shape
    (2, [0, 1], 'mask', (3, 3))
    """

    def __init__(self, folder: str | os.PathLike[str], kind: str | None = None) -> None:
        self.folder = Path(folder)
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
        if not self.folder.is_dir():
            raise DataFileError(f"{self.folder}: not a folder; name one with files such as mask000.tif")
        found = _files_by_kind(self.folder)
        kinds = [each for each in KINDS if each in found and each != "t"] if kind is None else [kind]
        if not kinds or kinds[0] not in found:
            wanted = " or ".join(f"{each}000.tif" for each in ([kind] if kind else KINDS[:3]))
            raise DataFileError(f"{self.folder}: no files such as {wanted}; name the folder that has them")
        if len(kinds) > 1:
            raise DataFileError(
                f"{self.folder}: masks of several kinds ({', '.join(kinds)}); choose one with kind={kinds[0]!r}"
            )
        self.kind = kinds[0]
        self._paths = found[self.kind]
        self.frames = range(min(self._paths), max(self._paths) + 1)
        lacking = next((frame for frame in self.frames if frame not in self._paths), None)
        if lacking is not None:
            raise DataFileError(
                f"{self.folder}: frame {lacking} is lacking ({self.kind}{lacking:0{self.digits}d}.tif), though the "
                f"frames {self.frames[0]} to {self.frames[-1]} are there; add it, an image of zeros if it has no "
                "objects"
            )

    @property
    def digits(self) -> int:
        """How many digits the numbers in the names have."""
        return max(len(re.findall(r"\d+", path.name)[-1]) for path in self._paths.values())

    def __len__(self) -> int:
        return len(self.frames)

    def path(self, frame: int) -> Path:
        """The file of a frame."""
        return self._paths[frame]

    def image(self, frame: int) -> np.ndarray:
        """The image of a frame."""
        path = self._paths[frame]
        tifffile = extra("tifffile", "images of the Cell Tracking Challenge")
        try:
            return np.asarray(tifffile.imread(path))
        except (tifffile.TiffFileError, ValueError, OSError) as error:
            remedy = "pip install imagecodecs" if "imagecodecs" in str(error) else "replace the file"
            raise DataFileError(f"{path}: frame {frame} cannot be read ({error}); {remedy}") from error


def _files_by_kind(folder: Path) -> dict[str, dict[int, Path]]:
    found: dict[str, dict[int, Path]] = defaultdict(dict)
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        kind, frame = match[1].lower(), int(match[2])
        if frame in found[kind]:
            raise DataFileError(
                f"{folder}: frame {frame} has two files, {found[kind][frame].name} and {path.name}; remove one"
            )
        found[kind][frame] = path
    return found


def is_ctc_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with masks of the challenge.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     is_ctc_folder(folder)
    False
    """
    return Path(path).is_dir() and any(
        match is not None and match[1].lower() != "t" for match in map(_NAME.fullmatch, os.listdir(path))
    )


class CTCMovie:
    """The masks of a folder as detections, measured frame by frame whenever the movie is gone through.

    Parameters
    ----------
    folder : path
        A folder with ``mask000.tif``, ``man_track000.tif`` or ``man_seg000.tif``, a file for every frame.
    images : path, optional
        The folder of the raw images ``t000.tif``, for intensities.
    kind : str, optional
        Which masks; see :class:`FrameFiles`.
    spacing : float or one per axis, optional
        The size of a pixel.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, tifffile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for frame in range(2):
    ...         tifffile.imwrite(pathlib.Path(folder) / f"mask00{frame}.tif", np.eye(3, dtype=np.uint16))
    ...     [(cells.frame, cells.position.tolist()) for cells in CTCMovie(folder)]
    [(0, [[1.0, 1.0]]), (1, [[1.0, 1.0]])]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        images: str | os.PathLike[str] | None = None,
        kind: str | None = None,
        spacing: float | Sequence[float] | None = None,
    ) -> None:
        self.masks = FrameFiles(folder, kind)
        self.images = None if images is None else FrameFiles(images, "t")
        self.spacing = spacing
        if self.images is not None:
            lacking = next((frame for frame in self.masks.frames if frame not in self.images.frames), None)
            if lacking is not None:
                raise DataFileError(
                    f"{self.images.folder}: frame {lacking} has a mask ({self.masks.path(lacking)}), but no image "
                    f"t{lacking:0{self.images.digits}d}.tif; add it, or do without images"
                )

    def __len__(self) -> int:
        return len(self.masks)

    def __iter__(self) -> Iterator[Detections]:
        shape = None
        for frame in self.masks.frames:
            labels = self.masks.image(frame)
            if shape is not None and labels.shape != shape:
                raise DataFileError(
                    f"{self.masks.path(frame)}: frame {frame} has shape {labels.shape}, the frames before it {shape}; "
                    "all frames of a movie have one shape"
                )
            shape = labels.shape
            image = None if self.images is None else self.images.image(frame)
            yield measured(labels, image, frame, self.spacing)


def read_ctc_lineage(
    folder: str | os.PathLike[str],
    tracks: str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    gaps: str = "error",
) -> Lineage:
    """Read who descends from whom from masks and their track file.

    A label is linked from frame to frame, and the last detection of a parent to the first of each child.

    Parameters
    ----------
    folder : path
        A folder with masks, such as ``01_GT/TRA`` or ``01_RES``. They are read one at a time.
    tracks : path, optional
        The track file; by default ``man_track.txt`` or ``res_track.txt`` of the folder.
    kind : str, optional
        Which masks; see :class:`FrameFiles`.
    gaps : {"error", "link"}, default="error"
        What to do where a label lacks in frames between the first and the last of its track: refuse, or link over it.

    Returns
    -------
    Lineage
        Ids are labels, those of :class:`CTCMovie`.

    Raises
    ------
    DataFileError
        A track whose label is not in a mask, a label in a mask that no track has in this frame, and all that
        :func:`read_ctc_tracks` refuses; the message names frame, label and remedy.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, tifffile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "man_track.txt").write_text("1 0 0 0\\n2 1 1 1\\n3 1 1 1\\n")
    ...     tifffile.imwrite(folder / "man_track000.tif", np.array([[1, 1]], np.uint16))
    ...     tifffile.imwrite(folder / "man_track001.tif", np.array([[2, 3]], np.uint16))
    ...     read_ctc_lineage(folder).links(0, 1)
    [(1, 2), (1, 3)]
    """
    if gaps not in ("error", "link"):
        raise ValueError(f"gaps must be 'error' or 'link', got {gaps!r}")
    masks = FrameFiles(folder, kind)
    path = Path(tracks) if tracks is not None else _track_file(masks)
    rows = {row.label: row for row in read_ctc_tracks(path)}
    for row in rows.values():
        if row.begin < masks.frames[0] or row.end > masks.frames[-1]:
            raise DataFileError(
                f"{path}: track {row.label} lives from frame {row.begin} to {row.end}, but {masks.folder} has masks "
                f"of the frames {masks.frames[0]} to {masks.frames[-1]}; add the masks, or correct the track"
            )
    nodes: list[tuple[int, int]] = []
    last: dict[int, int] = {}  # the frame where each label was seen last
    links = []
    for frame in masks.frames:
        present = np.unique(masks.image(frame))
        labels = present[present > 0].tolist()
        _check_labels(frame, labels, rows, path, masks, gaps)
        for label in labels:
            node = (frame, label)
            nodes.append(node)
            parent = rows[label].parent
            if label in last:
                links.append(((last[label], label), node))
            elif parent:
                links.append(((last[parent], parent), node))
            last[label] = frame
    return Lineage.from_links(nodes, links)


def _track_file(masks: FrameFiles) -> Path:
    names = [_TRACK_FILES[masks.kind]] if masks.kind in _TRACK_FILES else list(_TRACK_FILES.values())
    for name in names:
        if (masks.folder / name).is_file():
            return masks.folder / name
    raise DataFileError(
        f"{masks.folder}: no track file {' or '.join(names)} beside the masks; add it, or name it (tracks, --lineage)"
    )


def _check_labels(
    frame: int, labels: list[int], rows: dict[int, TrackRow], path: Path, masks: FrameFiles, gaps: str
) -> None:
    """Labels of a mask and tracks that live in its frame are the same; with gaps="link", only at the tracks' ends."""
    for label in labels:
        if label not in rows:
            raise DataFileError(
                f"{masks.path(frame)}: frame {frame} has the label {label}, which has no line in {path}; add the "
                "line, or set its pixels to 0"
            )
        row = rows[label]
        if not row.begin <= frame <= row.end:
            raise DataFileError(
                f"{masks.path(frame)}: frame {frame} has the label {label}, but its track in {path} lives from frame "
                f"{row.begin} to {row.end}; correct the line, or set its pixels to 0"
            )
    present = set(labels)
    for row in rows.values():
        inside = row.begin < frame < row.end
        if row.begin <= frame <= row.end and row.label not in present and not (inside and gaps == "link"):
            remedy = ", or link over the gap with gaps='link'" if inside else ""
            raise DataFileError(
                f"{path}: track {row.label} lives from frame {row.begin} to {row.end}, but the mask of frame {frame} "
                f"({masks.path(frame)}) has no label {row.label}; correct the line or the mask{remedy}"
            )
