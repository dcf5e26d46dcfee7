"""One training of a classifier into a tree, as the command line asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.hierarchies.classifier import PathClassifier
from palmette.apps.hierarchies.evaluation import PathEvaluation
from palmette.apps.hierarchies.learners import make_learner
from palmette.apps.hierarchies.records import Reading, Records, read_records, read_tree
from palmette.apps.task import Callback, Options, Training, Watch
from palmette.apps.tuning import check_folds, check_tuning


class HierarchyTraining(Training):
    """Learn paths from files of records."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        self.algorithm = given.pop("algorithm")
        self.reading = Reading(
            given.pop("features"), given.pop("ngram"), given.pop("separator"), given.pop("multi_label")
        ).check()
        tree = given.pop("tree")
        self.options, self.tune = given, tune
        check_tuning(make_learner(self.algorithm, **given), tune, has_dev)
        if tree is not None:
            self.options["tree"] = read_tree(tree, self.reading.separator)

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the files; held-out records are read like the others."""
        self.records = read_records(list(data), self.reading)
        check_folds(self.tune, len(self.records), "records", "--folds")
        self.held_out: Records | None = None if dev is None else read_records(dev, self.records.reading)

    def size(self) -> str:
        """The number of records, and how they are read."""
        return f"{len(self.records):,} records, features: {self.records.reading.features}"

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> PathClassifier:
        """Learn a classifier."""
        return PathClassifier.train(
            self.records, algorithm=self.algorithm, tune=self.tune, dev=self.held_out, callbacks=list(callbacks),
            **self.options,
        )  # fmt: skip

    def evaluate(self, application: PathClassifier) -> PathEvaluation:
        """Levels and nodes on the held-out records."""
        assert self.held_out is not None
        return application.evaluate(self.held_out)

    def facts(self, application: PathClassifier) -> dict[str, Any]:
        """Numbers of records, nodes and levels."""
        tree = application.model.structure_.nodes
        return {"records": len(self.records), "nodes": len(tree), "levels": tree.depth}

    def rows(self, application: PathClassifier) -> list[list[str]]:
        """The same in words."""
        tree = application.model.structure_.nodes
        return [["data", f"{self.size()}; {len(tree):,} classes on {tree.depth} levels"]]
