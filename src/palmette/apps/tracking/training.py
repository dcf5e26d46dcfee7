"""One training of a tracker from movies with lineages, as the command line asks for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from palmette.apps.task import Callback, Options, Training, Watch
from palmette.apps.tracking.ctc import is_ctc_folder, read_ctc_lineage
from palmette.apps.tracking.files import read_lineage, read_movie
from palmette.apps.tracking.lineage_tables import LINK_COLUMNS, read_links
from palmette.apps.tracking.measures import TrackingReport, evaluate_lineage
from palmette.apps.tracking.movies import Movie, check_truth
from palmette.apps.tracking.tracker import Tracker
from palmette.errors import DataFileError
from palmette.io.lines import read_lines
from palmette.structures.tracking.lineage import Lineage


def opened(path: str, images: str | None) -> Any:
    """A movie; only masks take images."""
    if images is None:
        return read_movie(path)
    if not os.path.isdir(path) or not is_ctc_folder(path):
        raise ValueError(
            f"--images gives intensities to CTC masks, and {path} is something else: leave it out"
        )
    return read_movie(path, images=images)


def read_annotated(path: str, lineage: str | None, images: str | None) -> Movie:
    """A movie and its lineage: from one folder or file, or the lineage from a file of its own.

    That is a table of tracks (``frame,id,track,parent``), of links (``frame_from,id_from,frame_to,id_to``), or the
    track file of masks (``man_track.txt``).
    """
    frames = list(opened(path, images))
    source = path if lineage is None else lineage
    if os.path.isfile(source) and next(iter(read_lines(source)), "").startswith(LINK_COLUMNS[0]):
        nodes = [(int(frame.frame), own) for frame in frames for own in frame.ids.tolist()]
        links = read_links(source)
        try:
            return frames, Lineage.from_links(nodes, links)
        except ValueError as error:
            raise ValueError(
                f"{source}: {error}: leave the link out, or add the detection to {path}"
            ) from None
    if lineage is not None and os.path.isfile(lineage) and lineage.endswith(".txt") and is_ctc_folder(path):
        return frames, read_ctc_lineage(path, tracks=lineage)
    try:
        return frames, read_lineage(source)
    except DataFileError as error:
        if lineage is None and "no column 'track'" in str(error):
            raise DataFileError(f"{error}; or give the true links with --lineage") from None
        raise


class TrackingTraining(Training):
    """Learn a tracker from movies."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        self.algorithm = given.pop("algorithm")
        self.lineage, self.images, self.dev_lineage = (
            given.pop(name) for name in ("lineage", "images", "dev_lineage")
        )
        events, used = given.pop("events"), given.pop("measurements")
        given["measurements"] = None if used is None else tuple(filter(None, map(str.strip, used.split(","))))
        given["events"] = None if events is None else tuple(kind.strip() for kind in events.split(","))
        given["complete"] = not given.pop("partial")
        given["window"] = given.pop("window") or 2
        self.options, self.tune = given, tune

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the movies."""
        lineages = [None] * len(data) if self.lineage is None else self.lineage.split(",")
        if len(lineages) != len(data):
            raise ValueError(
                f"--lineage names {len(lineages)} files, but there are {len(data)} movies: give one each, with commas"
            )
        self.movies = [read_annotated(path, own, self.images) for path, own in zip(data, lineages)]
        check_truth(self.movies)
        self.dev = [] if dev is None else [read_annotated(dev, self.dev_lineage, self.images)]

    def size(self) -> str:
        """The numbers of frames, detections and links."""
        frames = sum(len(frames) for frames, _ in self.movies)
        cells = sum(len(frame) for frames, _ in self.movies for frame in frames)
        links = sum(len(lineage.edges) for _, lineage in self.movies)
        movies = "1 movie" if len(self.movies) == 1 else f"{len(self.movies)} movies"
        return f"{movies} of {frames:,} frames, {cells:,} detections, {links:,} links"

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Tracker:
        """Learn a tracker."""
        own = {name: value for name, value in self.options.items() if value is not None}
        return Tracker.train(
            self.movies,
            learner=self.algorithm,
            tune=self.tune,
            dev=self.dev,
            callbacks=list(callbacks),
            **own,
        )

    def warning(self, application: Tracker) -> str | None:
        """What the movies have that events cannot express."""
        repairs = application.repairs
        if not repairs:
            return None
        shown = "; ".join(str(own) for own in repairs[:3])
        more = f"; and {len(repairs) - 3} more" if len(repairs) > 3 else ""
        places = "1 place" if len(repairs) == 1 else f"{len(repairs)} places"
        return f"{places} of the lineages cannot be explained by the events; mended: {shown}{more}"

    def evaluate(self, application: Tracker) -> TrackingReport:
        """Track the held-out movie and compare."""
        (frames, lineage), *_ = self.dev
        return evaluate_lineage(lineage, application.track(frames).lineage)

    def facts(self, application: Tracker) -> dict[str, Any]:
        """Numbers of the movies."""
        return {
            "movies": len(self.movies),
            "frames": sum(len(frames) for frames, _ in self.movies),
            "detections": sum(len(frame) for frames, _ in self.movies for frame in frames),
            "links": sum(len(lineage.edges) for _, lineage in self.movies),
            "measurements": list(application.measurements),
            "repairs": [str(own) for own in application.repairs],
        }

    def rows(self, application: Tracker) -> list[list[str]]:
        """The same in words."""
        reach = application.model.structure.max_distance
        return [
            ["data", self.size()],
            ["events", f"{', '.join(application.kinds)}; links of at most {reach:.4g}"],
            ["uses", ", ".join(application.measurements) or "positions alone"],
        ]
