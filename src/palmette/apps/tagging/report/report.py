"""The report of an evaluation: all that it says, and its page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palmette import __version__
from palmette.apps.tagging.evaluation import Evaluation
from palmette.apps.tagging.report.cases import Case, surest_errors
from palmette.apps.tagging.report.confidence import Confidence
from palmette.apps.tagging.report.confusion import commonest_mistakes, span_confusion, token_confusion
from palmette.apps.tagging.report.scores import Scores
from palmette.apps.tagging.report.show_cases import show_reliability, show_sentences, show_sure_errors
from palmette.apps.tagging.report.show_model import (
    show_edge_features,
    show_features,
    show_learning,
    show_transitions,
    show_tuning,
)
from palmette.apps.tagging.report.show_scores import show_scores, show_spans, show_tokens, show_types
from palmette.inspection import NamedWeights, is_nameable
from palmette.io import write_atomically
from palmette.page import Part, contents, facts, page, tag

Labels = Sequence[Sequence[str]]

_SURE_ERRORS = 20


@dataclass(frozen=True)
class EvaluationReport:
    """An evaluation for people to read, made by one of the functions beside.

    Parameters
    ----------
    title : str
    source : str
        Where the sentences come from; may be empty.
    words, true, predicted : list of list of str
        Of every sentence: what to show for each token, and its two labels.
    evaluation : Evaluation
        The counts, as ``palmette evaluate`` prints them.
    scores : Scores
        The same as scores with intervals.
    cases : tuple of Case
        The worst sentences, worst first.
    confidence : Confidence or None
        None without a model that has probabilities.
    model : estimator or None
    label_counts : Counter
        How often each label of the model, or unknown to it, is the true one.
    template : str
        What made the features, if a template did.
    """

    title: str
    source: str
    words: Labels
    true: Labels
    predicted: Labels
    evaluation: Evaluation
    scores: Scores
    cases: tuple[Case, ...]
    confidence: Confidence | None = None
    model: Any = None
    label_counts: Counter[Any] = field(default_factory=Counter)
    template: str = ""

    def parts(self) -> list[Part]:
        """The parts of the page, in order; what does not apply is left out."""
        found: list[Part | None] = [show_scores(self.scores), show_types(self.scores)]
        if self.evaluation.has_chunks:
            found.append(show_spans(span_confusion(self.true, self.predicted)))
        labels, counts = token_confusion(self.true, self.predicted)
        mistakes = commonest_mistakes(self.words, self.true, self.predicted)
        found.append(show_tokens(labels, counts, mistakes, folded=self.evaluation.has_chunks))
        calibrated = self.confidence is None or self.confidence.calibrated
        found.append(show_sentences(self.cases, calibrated))
        if self.confidence is not None:
            errors = surest_errors(self.true, self.predicted, self.confidence, _SURE_ERRORS)
            right = [[a == b for a, b in zip(*pair)] for pair in zip(self.true, self.predicted)]
            found.append(show_sure_errors(errors, self.words))
            found.append(show_reliability(self.confidence.bins(right), calibrated))
        if self.model is not None and is_nameable(self.model):
            weights, labels_by_count = NamedWeights(self.model), self._labels_by_count()
            found += [
                show_features(weights, labels_by_count, self.template),
                show_transitions(weights, labels_by_count),
                show_edge_features(weights),
            ]
        if self.model is not None:
            found += [show_learning(self.model), show_tuning(self.model)]
        return [part for part in found if part is not None]

    def html(self) -> str:
        """The report as one page that needs no other file."""
        parts = self.parts()
        head = tag("header", tag("h1", self.title), facts(self._facts()), contents(parts))
        foot = tag("footer", f"Written by palmette {__version__}.")
        return page(self.title, head, *(part.html() for part in parts), foot)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears when it is complete."""
        with write_atomically(path) as file:
            file.write(self.html().encode("utf-8"))

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.evaluation
        size = f"{counts.sentences:,} sentences, {counts.report.tokens:,} tokens"
        pairs = [("data", f"{self.source}: {size}" if self.source else size)]
        if self.model is not None:
            model, coef = self.model, self.model.coef_
            name = f"{type(model).__name__} on {type(model.structure).__name__}"
            n_labels, n_features = len(model.codec_.classes_), model.encoder_.n_columns
            pairs += [
                ("model", f"{name}, {n_labels} labels, {n_features:,} features"),
                ("weights", f"{len(coef):,}, {int((coef != 0).sum()):,} of them not 0"),
            ]
            strange = sorted(str(label) for label in self.label_counts.keys() - set(model.codec_.classes_))
            if strange and is_nameable(model):
                pairs.append(
                    ("unknown", f"{', '.join(strange)}: labels of the data that the model does not have")
                )
        return pairs

    def _labels_by_count(self) -> list[Any]:
        """Labels of the model, the commonest in the truth first."""
        return sorted(self.model.codec_.classes_, key=lambda label: -self.label_counts[label])
