"""The task of classification into a tree on the command line: a path and features in every line."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.options import Option, readable
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task

if TYPE_CHECKING:
    from palmette.apps.hierarchies.classifier import PathClassifier

_ABOUT = {
    "predict": "One line per record: its path, with --scores and its score; the path in the file may be empty or '?'.",
    "evaluate": "Accuracy at each level, hierarchical precision, recall and F1, frequent confusions, of the paths that "
    "--model predicts: it is needed, since files of records hold no predictions.",
}
_OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="crf", choices=("crf", "ssvm", "perceptron")),
        Option("l2", "L2 penalty; by default by the scale of the features.", float),
        Option("l1", "L1 penalty of crf, for sparse models; 0 by default.", float),
        Option("task_loss", "What ssvm bounds; common_path by default.",
               choices=("common_path", "symmetric_difference", "first_mistakes", "zero_one")),
        Option("features", "What follows the path: numbers, names of features, or text by words or by letters.",
               default="auto", choices=("auto", "numbers", "names", "words", "letters")),
        Option("ngram", "With --features letters: the length of runs of letters.", int, 4),
        Option("separator", "What is between the labels of a path.", default="."),
        Option("tree", "File with a path per line: the whole tree, classes without records included.",
               metavar="FILE", check=readable),
        Option("inner_ends", "Paths may end inside the tree.", bool, False),
        Option("multi_label", "Records have several paths, with | between them.", bool, False),
    ),
    "predict": (Option("scores", "Write the score of each path behind it.", bool, False),),
}  # fmt: skip


class _Hierarchies(Task):
    """Classify records into a tree of classes."""

    name = "hierarchy"
    summary = "classify records into a tree of classes"
    files = "records, one per line: PATH, a tab, and numbers, names of features or text, separated by tabs"
    about = _ABOUT
    options = _OPTIONS
    fact_names = ("features", "nodes", "levels")

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.hierarchies.training import HierarchyTraining

        return HierarchyTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> PathClassifier:
        from palmette.apps.hierarchies.classifier import PathClassifier

        return PathClassifier.from_model(model, source)

    def predict(self, application: PathClassifier, data: str, out: IO[str], options: Options) -> None:
        """Write the path of every record."""
        from palmette.apps.hierarchies.records import BETWEEN_PATHS

        records = _read(application, data, without_paths=True)
        found = application.predict(records)
        values = application.model.predict_score(records.X) if options["scores"] else [None] * len(found)
        for path, value in zip(found, values):
            text = BETWEEN_PATHS.join(path) if isinstance(path, list) else path
            out.write(text + ("\n" if value is None else f"\t{float(value)!r}\n"))

    def samples(self, application: PathClassifier, data: str, options: Options) -> tuple[Any, Any]:
        """Records and their paths."""
        records = _read(application, data)
        return application.inputs(records), records.y

    def evaluate(
        self, application: PathClassifier | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Accuracy at each level, measures of nodes, confusions."""
        if application is None:
            raise ValueError(
                f"{data}: files of records hold no predictions; give the --model that classifies them"
            )
        evaluation = application.evaluate(_read(application, data))
        return {"task": self.name, **evaluation.to_dict()}, evaluation.format()

    def inspect(self, application: PathClassifier) -> Inspection:
        reading, tree = application.reading, application.model.structure_.nodes
        facts = {"features": reading.features, "nodes": len(tree), "levels": tree.depth}
        text = f"PATH (labels with {reading.separator!r} between), a tab, features: {reading.features}"
        return Inspection(facts, [["input", text], ["tree", f"{len(tree):,} classes on {tree.depth} levels"]])


def _read(application: PathClassifier, data: str, without_paths: bool = False) -> Any:
    from palmette.apps.hierarchies.records import read_records

    return read_records(data, application.reading, without_paths=without_paths)


register_task(_Hierarchies())
