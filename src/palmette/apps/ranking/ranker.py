"""A ranker: a model of rankings together with how it reads its features."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from palmette.apps.interrupted import handing_over
from palmette.apps.ranking.evaluation import RankingEvaluation, evaluate_scores
from palmette.apps.ranking.learners import make_ranker
from palmette.apps.tuning import check_folds, check_tuning, fit_tuned
from palmette.data.checks import check_whole, entry
from palmette.data.letor import Queries, check_reading, widened
from palmette.errors import DataFileError, ModelFileError
from palmette.estimators.folds import Part
from palmette.features.encoded import EncodedInputs

SCALES = ("query", "none")


@dataclass(frozen=True)
class Ranker:
    """Ranks the documents of LETOR files.

    Made by :meth:`train` or :meth:`load`.

    Parameters
    ----------
    model : SSVM or PlackettLuce
        Fitted on scaled features.
    n_features : int
        Columns of the training data.
    scale : {"query", "none"}
        Whether features are scaled to [0, 1] within each query.
    reading : dict
        Options of `palmette.data.read_letor` with which the training files were read, and others shall be.
    seconds : dict of str to float
        What training spent on encode and solve.

    Examples
    --------
    >>> import io
    >>> from palmette.data import read_letor
    >>> text = "2 qid:1 1:3 2:1\\n0 qid:1 1:1 2:2\\n1 qid:2 1:5 2:0\\n0 qid:2 1:4 2:0\\n"
    >>> queries = read_letor("-", stream=io.StringIO(text))
    >>> ranker = Ranker.train(queries, algorithm="plackett-luce")
    >>> [scores.argmax() for scores in ranker.scores(queries)]
    [np.int64(0), np.int64(0)]
    """

    model: Any
    n_features: int
    scale: str = "query"
    reading: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def train(
        cls,
        queries: Queries,
        *,
        algorithm: str = "plackett-luce",
        scale: str = "query",
        reading: dict[str, Any] | None = None,
        tune: str | int | None = None,
        dev: Queries | None = None,
        **options: Any,
    ) -> Ranker:
        """Learn from queries.

        Parameters
        ----------
        queries : Queries
            As `palmette.data.read_letor` returns them.
        algorithm : {"plackett-luce", "ramp", "ssvm"}
        scale : {"query", "none"}, default="query"
            Features scaled to [0, 1] within each query (a feature that is constant there is 0), or as they are.
            Only dense tables are scaled.
        reading : dict, optional
            Options of `palmette.data.read_letor`, to keep.
        tune : "dev" or int, optional
            Choose ``l2`` by NDCG on the queries of `dev`, or on so many folds of the queries; ``model.cv_scores_`` has
            the curve.
        dev : Queries, optional
        **options
            Of `palmette.apps.ranking.make_ranker`: ``radius``, ``l2``, ``top``, ...

        Returns
        -------
        Ranker

        Raises
        ------
        TrainingInterrupted
            After Ctrl-C, a KeyboardInterrupt whose ``application`` is the ranker with the best weights so far.
        """
        learner = make_ranker(algorithm, tuned=tune is not None, **options)
        check_tuning(learner, tune, dev is not None)
        check_folds(tune, len(queries.y), "queries")
        place = f"{queries.source}:{queries.lines[0][0]}"
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
        if not queries.n_features:
            raise DataFileError(f"{place}: the documents have no features; there is nothing to learn from")
        if not any(len(y) > 1 and y.min() < y.max() for y in queries.y):
            raise DataFileError(
                f"{place}: no query has documents of different grades, so that every order is as good as any other; "
                "give data with grades"
            )
        X = scaled(queries.X, scale)
        ranker = cls(learner, queries.n_features, scale, dict(reading or {}))
        with handing_over(ranker):
            if tune is None:
                learner.fit(X, queries.y)
            else:
                encoded, held = learner.encode(X), None
                if tune == "dev" and dev is not None:
                    tables = scaled([widened(table, queries.n_features) for table in dev.X], scale)
                    held = Part(
                        EncodedInputs(encoded.encoder.transform(tables), encoded.encoder), dev.y, None
                    )
                way = {"held": held} if tune == "dev" else {"n_folds": int(tune)}
                fit_tuned(learner, Part(encoded, queries.y, None), **way)
        return replace(ranker, seconds=dict(learner.fit_seconds_))

    def scores(self, queries: Queries) -> list[np.ndarray]:
        """Scores of the documents of each query, higher is better."""
        return self.model.row_scores(self.inputs(queries))

    def inputs(self, queries: Queries) -> list[Any]:
        """The documents of each query as the model takes them."""
        if queries.n_features > self.n_features:
            raise DataFileError(
                f"{queries.source}:{queries.lines[0][0]}: the file has {queries.n_features} features, the training "
                f"data had {self.n_features}; give a file with the same features"
            )
        tables = [widened(table, self.n_features) for table in queries.X]
        return scaled(tables, self.scale)

    def evaluate(self, queries: Queries, ties: Any = "average") -> RankingEvaluation:
        """Compare the scores of documents with their grades."""
        return evaluate_scores(queries.y, self.scores(queries), ties)

    # -- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to one file; a file that was there is replaced when the new one is complete."""
        own = {name: getattr(self, name) for name in ("n_features", "scale", "reading")}
        self.model.save(path, extra={"task": "ranking", **own})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ranker:
        """Read a ranker; other model files are refused (`palmette.load` reads them)."""
        from palmette.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Ranker:
        """Return the ranker whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "ranking":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} is not a ranker: neither 'palmette train --task ranking' nor "
                f"Ranker.save wrote it; read it in Python with palmette.load"
            )
        try:
            n_columns = model.encoder_.n_columns
            n_features = check_whole("n_features", extra.get("n_features"), n_columns, n_columns)
            reading, scale = entry(extra, "reading", dict, "the ranker"), extra.get("scale")
            known = {"missing", "split", "zero_based"}
            if model.encoder_.named or scale not in SCALES or not set(reading) <= known:
                raise ValueError(
                    f"features {model.encoder_.kind}, scale {scale!r:.60}, reading {reading!r:.100}"
                )
            check_reading(**reading)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the ranker is damaged ({error})") from error
        return cls(model, n_features, scale, reading)


def scaled(X: Sequence[Any], scale: str) -> list[Any]:
    """Tables of features, scaled within each query if ``scale`` is "query".

    >>> scaled([np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]])], "query")[0]
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """
    if scale == "none":
        return list(X)
    tables = []
    for i, table in enumerate(X):
        if sparse.issparse(table):
            raise ValueError(
                f"X[{i}] is sparse: scaling within queries would fill its zeros; use scale='none' (--scale none)"
            )
        low = table.min(axis=0)
        width = table.max(axis=0) - low
        tables.append(np.divide(table - low, width, out=np.zeros(table.shape), where=width > 0))
    return tables
