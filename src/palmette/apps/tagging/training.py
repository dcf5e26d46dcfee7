"""One training of a tagger from column files, as the command line asks for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.averaging import check_models
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.evaluation import Evaluation
from palmette.apps.tagging.learners import check_together, make_learner
from palmette.apps.tagging.named_features import CONLLU, check_named, read_text, unread_columns
from palmette.apps.tagging.span_labels import spans_in_words
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.training_files import common_columns
from palmette.apps.tagging.unknown_labels import warn_of_unknown_labels
from palmette.apps.task import Callback, Options, Training, Watch
from palmette.apps.tuning import check_folds, check_tuning
from palmette.data.annotation import AnnotationCounts
from palmette.features.templates import Template
from palmette.metrics import looks_like_chunks
from palmette.regularizers import Decomposition, GroupLasso
from palmette.structures import Chain


class TaggingTraining(Training):
    """Learn a tagger from column files."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        self.algorithm = given.pop("algorithm")
        self.own = {
            name: given.pop(name)
            for name in (
                "label_column",
                "unknown",
                "one_of",
                "encoding",
                "invalid",
                "clusters",
                "constrained",
                "prune",
                "features",
                "columns",
                "models",
            )
        }
        self.own["edges"] = given.pop("edges") or None
        self.cluster_text = given.pop("cluster_text")
        if self.cluster_text is not None and self.own["features"] is None and self.own["clusters"] is None:
            raise ValueError("--cluster-text is for word clusters; give --clusters or --features too")
        for name in ("columns", "edges"):
            if self.own[name] is not None and self.own["features"] is None:
                raise ValueError(f"--{name} is for a feature set by name; give --features too")
        if self.own["features"] is not None:
            own = {name: self.own[name] for name in ("features", "columns", "clusters")}
            check_named(**own, more_text=self.cluster_text is not None)
        path = given.pop("template")
        if path is not None and self.own["features"] is not None:
            raise ValueError("--features and --template exclude each other: a feature set has a template")
        template = None if path is None else Template.load(path)
        self.own |= {"template": template, "tune": tune}
        penalties = _regularizers(*(given.pop(name) for name in ("cut_size", "group_lasso", "group_by")))
        structure = Chain(given.pop("order"))
        self.options = {**given, "structure": structure, "regularizer": penalties}
        self.tune = tune
        learner = make_learner(self.algorithm, **self.options)
        check_together(learner, template, self.own["constrained"])
        check_tuning(learner, tune, has_dev)
        check_models(self.algorithm, self.own["models"])

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the column files."""
        self.texts = [read_columns(path) for path in data]
        check_folds(self.tune, self._n_sentences(), "sentences", "--folds")
        self.held_out = None if dev is None else read_columns(dev)
        self.own["cluster_text"] = None if self.cluster_text is None else read_text(self.cluster_text)
        common_columns(self.texts if self.held_out is None else [*self.texts, self.held_out])

    def _n_sentences(self) -> int:
        return sum(len(text.table) for text in self.texts)

    def size(self) -> str:
        """The number of sentences."""
        n = self._n_sentences()
        return f"{n:,} sentence{'' if n == 1 else 's'}"

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Tagger:
        """Learn a tagger."""
        return Tagger.train(
            self.texts, algorithm=self.algorithm, dev=self.held_out, watch=watch, callbacks=list(callbacks),
            **self.own, **self.options,
        )  # fmt: skip

    def evaluate(self, application: Tagger) -> Evaluation:
        """Labels against those of the held-out file."""
        assert self.held_out is not None
        warn_of_unknown_labels(application, self.held_out)
        return application.evaluate(self.held_out)

    def facts(self, application: Tagger) -> dict[str, Any]:
        """Sizes of the data and of the model."""
        model = application.model
        return {
            "sentences": self._n_sentences(),
            "tokens": sum(text.table.n_tokens for text in self.texts),
            "labels": len(model.codec_.classes_),
            "features": model.encoder_.n_columns,
            "models": self.own["models"],
            **_annotated(model.annotation_),
            "cut_size": getattr(getattr(model, "decomposition_", None), "size", None),
        }

    def rows(self, application: Tagger) -> list[list[str]]:
        """The same in words."""
        facts = self.facts(application)
        cut_size, models = facts.pop("cut_size"), facts.pop("models")
        rows = [
            ["data", ", ".join(_counted(number, what.replace("_", " ")) for what, number in facts.items())]
        ]
        if self.texts[0].conllu:
            place = application.label_column
            rows.append(["label", ", ".join([f"column {place}", *CONLLU[place : place + 1]])])
        if (spans := self._spans(application)) is not None:
            rows.append(["spans", spans])
        if application.features is not None:
            rows.append(["feature set", application.features.summary()])
        if models > 1:
            rows.append(["mean of", f"{models} perceptrons"])
        unread = unread_columns(application)
        if unread and not self.texts[0].conllu:
            rows.append(["not read", ", ".join(f"column {k}" for k in unread) + self._how_to_read()])
        return rows if cut_size is None else [*rows, ["cut size", f"{cut_size:g}"]]

    def _spans(self, application: Tagger) -> str | None:
        """What is known of the encoding of spans, if labels are some."""
        spans = application.spans
        if spans is not None:
            return spans.own if spans.own == spans.inner else spans.in_words()
        classes = list(map(str, application.model.codec_.classes_))
        if application.marks or not looks_like_chunks(classes):
            return None
        return spans_in_words(self.texts, application.label_column)

    def _how_to_read(self) -> str:
        if self.own["features"] is None or self.own["columns"] is not None:
            return ""
        return " (--columns says what they hold, such as word,pos,label)"


def _counted(n: int, things: str) -> str:
    """A number of things, whose name is that of several.

    >>> _counted(1, "sentences without labels")
    '1 sentence without labels'
    """
    return f"{n:,} " + (re.sub(r"s\b", "", things, count=1) if n == 1 else things)


def _annotated(counts: AnnotationCounts) -> dict[str, int]:
    """What is not annotated, if anything."""
    if not (counts.unknown or counts.one_of):
        return {}
    return {
        "unknown_labels": counts.unknown,
        "one_of_labels": counts.one_of,
        "sentences_without_labels": counts.n_empty,
    }


def _regularizers(cut_size: str | None, group_lasso: float | None, group_by: str | None) -> list[Any] | None:
    """What cuts sentences and drops groups of features."""
    if group_by is not None and group_lasso is None:
        raise ValueError(
            "--group-by says what the groups of --group-lasso are; give --group-lasso WEIGHT too"
        )
    parts: list[Any] = []
    if cut_size is not None:
        try:
            parts.append(Decomposition(cut_size if cut_size == "auto" else float(cut_size)))
        except ValueError:
            raise ValueError(f"--cut-size takes a number of at least 1, or auto, got {cut_size!r}") from None
    if group_lasso is not None:
        parts.append(GroupLasso(group_lasso, group_by or "template"))
    return parts or None
