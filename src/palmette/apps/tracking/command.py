"""What ``palmette track`` does: open, track, write, draw."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palmette.apps.tracking.files import FORMATS, write_lineage
from palmette.apps.tracking.movies import BOXES
from palmette.apps.tracking.pins import Pins
from palmette.apps.tracking.tracker import Tracked, Tracker
from palmette.apps.tracking.training import opened

_BY_NAME = {".geff": "geff", ".zarr": "geff", ".csv": "csv"}


class Job:
    """A movie to track, with everything checked before any work starts.

    Parameters
    ----------
    movie : str
        Path of the movie.
    model, output, format, images, pins, forbid : str, optional
    overwrite : bool
    """

    def __init__(
        self, movie: str, model: str | None, output: str | None, format: str | None, images: str | None,
        pins: str | None, forbid: str | None, overwrite: bool,
    ) -> None:  # fmt: skip
        self.path, self.output, self.overwrite = movie, output, overwrite
        self.format = _format(output, format)
        self.movie: Any = opened(movie, images)
        if (
            self.format is not None
            and FORMATS[self.format].needs == "masks"
            and not hasattr(self.movie, "masks")
        ):
            raise ValueError(
                f"--format {self.format} needs masks, and {movie} has none: write csv, geff or napari"
            )
        if output is not None and not overwrite and os.path.isdir(output) and os.listdir(output):
            raise ValueError(f"{output} is there already: give another --output, or --overwrite")
        for path in (movie, model, pins, forbid):
            if output is not None and path is not None and os.path.realpath(output) == os.path.realpath(path):
                raise ValueError(
                    f"--output {output} would replace {path}, which is read: give another --output"
                )
        self.pins = _pins(pins, forbid)
        self.by_default = model is None
        self.tracker = Tracker.pretrained(self._measured()) if model is None else Tracker.load(model)

    def _measured(self) -> set[str]:
        first = next((frame for frame in self.movie if len(frame)), None)
        return set() if first is None else {*first.features, *([] if first.boxes is None else [BOXES])}

    @property
    def uses(self) -> str:
        """What the tracker measures, in words."""
        return ", ".join(self.tracker.measurements) or "positions alone"

    def run(self, time_limit: float | None, progress: Callable[[int], object]) -> Tracked:
        """Track the movie."""
        return self.tracker.track(self.movie, pins=self.pins, time_limit=time_limit, progress=progress)

    def write(self, tracked: Tracked) -> None:
        """Write the lineage, if it is wanted."""
        if self.output is None or self.format is None:
            return
        options = {"overwrite": self.overwrite} if self.format in ("ctc", "geff") else {}
        write_lineage(self.output, self.format, tracked.lineage, movie=self.movie, **options)

    def draw(self, tracked: Tracked, path: str) -> None:
        """Draw the lineage tree."""
        from palmette.plot import plot_lineage
        from palmette.plot.axes import save_figure

        save_figure(plot_lineage(tracked.lineage).figure_, path)

    def facts(self, tracked: Tracked) -> dict[str, Any]:
        """What JSON tells."""
        tracks = tracked.lineage.tracks()
        return {
            "movie": self.path, "output": self.output, "format": self.format, "detections": len(tracked.lineage),
            "links": len(tracked.lineage.edges), "tracks": len(tracks), "events": tracked.counts,
            "score": tracked.score, "lost": tracked.lost, "pretrained": self.by_default,
            "measurements": list(self.tracker.measurements), "false": list(map(list, tracked.false)),
            "empty": list(tracked.empty),
        }  # fmt: skip

    def warnings(self, tracked: Tracked) -> list[str]:
        """What the user should know of the movie and of the search."""
        found = []
        if tracked.empty:
            shown = ", ".join(map(str, tracked.empty[:5])) + (", ..." if len(tracked.empty) > 5 else "")
            over = ": tracks end there; a tracker trained with --window links over single frames"
            found.append(f"no detections in frame {shown}{'' if 'skip' in self.tracker.kinds else over}")
        if tracked.lost > 0.0:
            found.append(f"time ran out; a better solution could score at most {tracked.lost:.4g} more")
        return found

    def summary(self, tracked: Tracked) -> str:
        """The same in words."""
        lines = [tracked.headline()]
        if tracked.false:
            named = ", ".join(f"{own} of frame {frame}" for frame, own in tracked.false[:5])
            lines.append(f"called false and left out: {named}{', ...' if len(tracked.false) > 5 else ''}")
        if self.output is not None:
            lines.append(f"written: {self.output} ({self.format})")
        return "\n".join(lines)


def _format(output: str | None, format: str | None) -> str | None:
    if output is None:
        if format is not None:
            raise ValueError(f"--format {format} says how to write --output; give that, too")
        return None
    known = [name for name, entry in FORMATS.items() if entry.write is not None]
    if format is None:
        return _BY_NAME.get(Path(output).suffix, "csv")
    if format not in known:
        raise ValueError(f"--format must be one of {', '.join(known)}, got {format!r}")
    return format


def _pins(pins: str | None, forbid: str | None) -> Pins | None:
    from palmette.apps.tracking.lineage_tables import read_links

    if pins is None and forbid is None:
        return None
    return Pins(*(() if path is None else read_links(path) for path in (pins, forbid)))
