"""One training of a ranker from LETOR files, as the command line asks for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from palmette.apps.ranking.evaluation import RankingEvaluation
from palmette.apps.ranking.learners import make_ranker
from palmette.apps.ranking.ranker import Ranker
from palmette.apps.task import Callback, Options, Training, Watch
from palmette.apps.tuning import check_folds, check_tuning
from palmette.data.letor import Queries, read_letor
from palmette.errors import EmptyModelWarning

_REMEDY = {
    "plackett-luce": "a smaller --l1 or --l2",
    "ramp": "--algorithm plackett-luce, or a smaller --l2",
    "ssvm": "--algorithm plackett-luce or ramp, or a smaller --l2",
}


class RankingTraining(Training):
    """Learn a ranker from LETOR files."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        self.algorithm = given.pop("algorithm")
        self.scale = given.pop("scale")
        self.reading = {
            "missing": given.pop("missing"),
            "split": given.pop("split_queries"),
            "zero_based": given.pop("zero_based"),
        }
        self.options, self.tune = given, tune
        check_tuning(make_ranker(self.algorithm, tuned=tune is not None, **given), tune, has_dev)

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the LETOR files; held-out documents have the features of the others."""
        self.queries = Queries.joined([read_letor(path, **self.reading) for path in data])
        check_folds(self.tune, len(self.queries.y), "queries", "--folds")
        width = self.queries.n_features
        self.held_out = None if dev is None else read_letor(dev, n_features=width, **self.reading)

    def size(self) -> str:
        """The numbers of queries, documents, features and grades."""
        return self.queries.describe()

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Ranker:
        """Learn a ranker."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyModelWarning)  # `warning` says it
            return Ranker.train(
                self.queries, algorithm=self.algorithm, scale=self.scale, reading=self.reading, tune=self.tune,
                dev=self.held_out, callbacks=list(callbacks), **self.options,
            )  # fmt: skip

    def warning(self, application: Ranker) -> str | None:
        """Weights that are all 0, with a remedy in the words of the command line."""
        if application.model.coef_.any():
            return None
        return f"all weights are 0, so that the model has no order; try {_REMEDY[self.algorithm]}"

    def evaluate(self, application: Ranker) -> RankingEvaluation:
        """NDCG and its kin on the held-out queries."""
        assert self.held_out is not None
        return application.evaluate(self.held_out)

    def facts(self, application: Ranker) -> dict[str, Any]:
        """Numbers of the queries."""
        return self.queries.facts()

    def rows(self, application: Ranker) -> list[list[str]]:
        """The same in words."""
        return [["data", self.queries.describe()]]
