"""The task of tracking on the command line: movies of detections, a tracker, TRA and the event loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.options import Option
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task

if TYPE_CHECKING:
    from palmette.apps.tracking.tracker import Tracker


def _above_zero(value: float) -> float:
    if not value > 0.0:
        raise ValueError(f"--max-distance must be above 0, got {value:g}")
    return value


def _window(value: int) -> int:
    if value < 2:
        raise ValueError(f"--window must be at least 2 frames, got {value}")
    return value


_LINEAGE = Option(
    "lineage", "Table of true tracks or links, where the movie has none; of several movies with commas."
)
_IMAGES = Option("images", "Folder of the raw images, for intensities of CTC masks.")
_OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="ssvm", choices=("ssvm", "perceptron")),
        Option("l2", "L2 penalty; 10 by default.", float),
        Option("l1", "L1 penalty, for sparse models; 0 by default.", float),
        Option("events", "Kinds of events with commas; move,divide,appear,disappear by default.", metavar="KINDS"),
        Option("max_distance", "No link is longer; 1.25 times the longest true one by default.", float,
               check=_above_zero),
        Option("measurements", "Measurements to use, with commas; all that every frame has by default.",
               metavar="NAMES"),
        Option("window", "Frames that are explained together; 2 by default.", int, check=_window),
        Option("partial", "Lineages are not complete: what is not linked is unknown.", bool, False),
        _IMAGES,
        _LINEAGE,
        Option("dev_lineage", "File of the true links of --dev, where that has none."),
    ),
    "evaluate": (_LINEAGE, _IMAGES),
    "predict": (_IMAGES,),
}  # fmt: skip


class _Tracking(Task):
    """Track the objects of movies."""

    name = "tracking"
    summary = "link the detections of movies to lineages"
    files = (
        "movies of detections: a folder of CTC masks, a table (frame,id,y,x,...) or a GEFF, with true links"
    )
    about = {  # noqa: RUF012
        "predict": "A table frame,id,track,parent. 'palmette track' writes other formats, too.",
        "evaluate": "Tracks the movie with --model, and compares with its true links: TRA, DET, LNK, AOGM, divisions, "
        "complete tracks, events.",
    }
    options = _OPTIONS
    fact_names = ("measurements", "window", "events")
    reads_folders = True

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.tracking.training import TrackingTraining

        return TrackingTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> Tracker:
        from palmette.apps.tracking.tracker import Tracker

        return Tracker.from_model(model, source)

    def predict(self, application: Tracker, data: str, out: IO[str], options: Options) -> None:
        """Write the lineage as a table."""
        from palmette.apps.tracking.lineage_tables import LINEAGE_COLUMNS, lineage_rows
        from palmette.apps.tracking.training import opened

        lineage = application.track(opened(data, options["images"])).lineage
        out.writelines(",".join(map(str, row)) + "\n" for row in (LINEAGE_COLUMNS, *lineage_rows(lineage)))

    def samples(self, application: Tracker, data: str, options: Options) -> tuple[Any, Any]:
        """Candidate events of the windows of a movie, and which of them happen."""
        from palmette.apps.tracking.movies import training_samples
        from palmette.apps.tracking.training import read_annotated

        movie = read_annotated(data, None, None)
        structure = application.model.structure
        return training_samples([movie], structure, application.measurements, application.window, True)[:2]

    def evaluate(
        self, application: Tracker | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Track a movie and compare with its true links."""
        from palmette.apps.tracking.measures import evaluate_lineage
        from palmette.apps.tracking.training import read_annotated

        if application is None:
            raise ValueError(f"{data}: give the --model that tracks it")
        frames, lineage = read_annotated(data, options["lineage"], options["images"])
        report = evaluate_lineage(lineage, application.track(frames).lineage)
        return {"task": self.name, **report.to_dict()}, report.format()

    def inspect(self, application: Tracker) -> Inspection:
        used = ", ".join(application.measurements) or "positions alone"
        facts = {
            "measurements": list(application.measurements),
            "window": application.window,
            "events": list(application.kinds),
        }
        rows = [["uses", used], ["events", ", ".join(application.kinds)]]
        return Inspection(
            facts, rows, feature_names=application.model.encoder_.feature_names, shows_labels=False
        )


register_task(_Tracking())
