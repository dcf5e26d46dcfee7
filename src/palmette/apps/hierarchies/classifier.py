"""A classifier into a tree: a model of paths together with how it reads its files."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from palmette.apps.hierarchies.evaluation import PathEvaluation, evaluate_paths
from palmette.apps.hierarchies.learners import make_learner
from palmette.apps.hierarchies.records import Reading, Records
from palmette.apps.interrupted import handing_over
from palmette.apps.tuning import check_folds, check_tuning, fit_tuned
from palmette.errors import DataFileError, ModelFileError
from palmette.estimators.folds import Part


@dataclass(frozen=True)
class PathClassifier:
    """Classifies records of files.

    Made by :meth:`train` or :meth:`load`.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        With the structure ``Hierarchy``.
    reading : Reading
        How the files of training were read, and others shall be.
    seconds : dict of str to float
        What training spent on encode and solve.

    Examples
    --------
    >>> import io
    >>> from palmette.apps.hierarchies import read_records
    >>> text = "animal.dog\\tbarks\\nanimal.cat\\tpurrs\\nplant.oak\\tgrows tall\\n"
    >>> classifier = PathClassifier.train(read_records("-", stream=io.StringIO(text)))
    >>> classifier.model.predict([["purrs"]])
    ['animal.cat']
    """

    model: Any
    reading: Reading
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def train(
        cls, records: Records, *, algorithm: str = "crf", tune: str | int | None = None, dev: Records | None = None,
        **options: Any,
    ) -> PathClassifier:  # fmt: skip
        """Learn from records.

        Parameters
        ----------
        records : Records
            As `palmette.apps.hierarchies.read_records` returns them.
        algorithm : {"crf", "ssvm", "perceptron"}
        tune : "dev" or int, optional
            Choose ``l2`` by hierarchical F1 on `dev`, or on so many folds.
        dev : Records, optional
        **options
            Of `palmette.apps.hierarchies.learners.make_learner`: ``l2``, ``task_loss``, ``tree``, ``inner_ends``, ...
        """
        reading = records.reading
        learner = make_learner(
            algorithm, separator=reading.separator, multi_label=reading.multi_label, **options
        )
        check_tuning(learner, tune, dev is not None)
        check_folds(tune, len(records), "records")
        classifier = cls(learner, reading)
        with handing_over(classifier):
            if tune is None:
                learner.fit(records.X, records.y)
            else:
                encoded, held = learner.encode(records.X), None
                if tune == "dev" and dev is not None:
                    X = learner.structure.admit(dev.X)
                    batch = encoded.encoder.transform(X)
                    held = Part(type(encoded)(batch, encoded.encoder), dev.y, None)
                way = {"held": held} if tune == "dev" else {"n_folds": int(tune)}
                fit_tuned(learner, Part(encoded, records.y, None), **way)
        return replace(classifier, seconds=dict(getattr(learner, "fit_seconds_", {})))

    def predict(self, records: Records) -> list[Any]:
        """The path of each record, or the list of its paths."""
        return list(self.model.predict(self.inputs(records)))

    def evaluate(self, records: Records) -> PathEvaluation:
        """Compare predicted paths with those of the records."""
        return evaluate_paths(
            records.y,
            self.predict(records),
            multi_label=self.reading.multi_label,
            separator=self.reading.separator,
        )

    def inputs(self, records: Records) -> Any:
        """Records as the model takes them."""
        if self.reading.features == "numbers":
            width, wanted = records.X.shape[1], self.model.encoder_.n_columns
            if width != wanted:
                raise DataFileError(
                    f"{records.source}: {width} numbers in a record, the training data had {wanted}; give as many"
                )
        return records.X

    # -- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the classifier to one file; a file that was there is replaced when the new one is complete."""
        self.model.save(path, extra={"task": "hierarchy", "reading": asdict(self.reading)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PathClassifier:
        """Read a classifier; other model files are refused (`palmette.load` reads them)."""
        from palmette.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> PathClassifier:
        """Return the classifier whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "hierarchy":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} is no classifier into a tree: neither 'palmette train --task "
                "hierarchy' nor PathClassifier.save wrote it; read it in Python with palmette.load"
            )
        try:
            reading = Reading(**extra["reading"]).check()
            codec = model.codec_
            if (reading.features == "numbers") == model.encoder_.named or reading.features == "auto":
                raise ValueError(f"features {model.encoder_.kind}, reading {reading!r:.100}")
            if (codec.separator, codec.multi_label) != (reading.separator, reading.multi_label):
                raise ValueError(f"paths with {codec.separator!r}, reading {reading!r:.100}")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the classifier is damaged ({error})") from error
        return cls(model, reading)
