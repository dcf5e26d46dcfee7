"""From labels, a model or a tagger to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from palmette.apps.tagging.columns import ColumnText
from palmette.apps.tagging.evaluation import evaluate_labels
from palmette.apps.tagging.report.cases import Case, worst_sentences
from palmette.apps.tagging.report.confidence import Confidence, confidence_of
from palmette.apps.tagging.report.report import EvaluationReport
from palmette.apps.tagging.report.scores import score_labels
from palmette.apps.tagging.tagger import Tagger
from palmette.data.annotation import is_partial
from palmette.features.encoded import EncodedInputs
from palmette.inspection import Explainer, is_nameable

Place = Callable[[int], str]


def report_on_labels(
    true: Sequence[Sequence[Any]],
    predicted: Sequence[Sequence[Any]],
    *,
    words: Sequence[Sequence[Any]] | None = None,
    title: str = "Evaluation",
    source: str = "",
    place: Place = lambda sentence: "",
    worst: int = 10,
    asked: Asked | None = None,
) -> EvaluationReport:
    """Report on predictions, wherever they come from.

    Parameters
    ----------
    true, predicted : list of list of labels
        Of equal lengths.
    words : list of list of str, optional
        What to show for each token; its number by default.
    title, source : str
        What the page is about, and where the sentences are from.
    place : callable, optional
        Says where a sentence, numbered from 0, stands; such as ``file:line``.
    worst : int, default=10
        Sentences to show.
    asked : Asked, optional
        The answers of a model, for what only it can tell.

    Returns
    -------
    EvaluationReport

    Examples
    --------
    >>> report = report_on_labels([["B-NP", "I-NP"]], [["B-NP", "O"]], words=[["red", "<cars>"]])
    >>> report.evaluation.headline()
    'accuracy 50.00%, chunk F1 0.00'
    >>> "&lt;cars&gt;" in report.html()
    True
    """
    if not len(true):
        raise ValueError("there are no sentences to report on")
    _refuse_partial(true, place)
    shown, guessed = (
        [[str(label) for label in labels] for labels in outputs] for outputs in (true, predicted)
    )
    evaluation = evaluate_labels(shown, guessed)
    scores = score_labels(shown, guessed, evaluation.has_chunks)
    tokens = [[str(word) for word in sentence] for sentence in _words(words, shown)]
    confidence = None if asked is None else asked.confidence
    failed = worst_sentences(shown, guessed, confidence, worst)
    cases = tuple(Case(i, place(i), tokens[i], shown[i], guessed[i]) for i in failed)
    report = EvaluationReport(title, source, tokens, shown, guessed, evaluation, scores, cases)
    if asked is None:
        return report
    counts = Counter(label for labels in asked.true for label in labels)
    done = tuple(map(asked.completed, cases))
    return replace(report, cases=done, confidence=confidence, model=asked.model, label_counts=counts)


def report_on_model(
    model: Any,
    X: Sequence[Any],
    y: Sequence[Sequence[Any]],
    *,
    words: Sequence[Sequence[Any]] | None = None,
    title: str = "Evaluation",
    source: str = "",
    place: Place = lambda sentence: "",
    worst: int = 10,
) -> EvaluationReport:
    """Report on a fitted chain model: predictions, probabilities, reasons, weights, certificate.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        On ``Chain``; of a ``SemiMarkov`` model that has IOB2 labels, probabilities and weights are left out.
    X : list of sequences, or what ``model.encode`` makes of them
    y : list of list of labels
    words, title, source, place, worst
        As of :func:`report_on_labels`.

    Returns
    -------
    EvaluationReport

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X, Y = [[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]]
    >>> report = report_on_model(CRF(Chain(), l2=0.1).fit(X, Y), X, Y)
    >>> [part.title for part in report.parts()][-3:]
    ['Strongest features', 'Transitions', 'Learning']
    """
    if model.structure.layout != "sequences":
        name = type(model.structure).__name__
        raise ValueError(f"a report needs sequences of labels; {name} has one label per sample: use Chain()")
    _refuse_partial(y, place)
    asked = Asked.of(model, X, y)
    shown: dict[str, Any] = {"words": words, "title": title, "source": source, "place": place, "worst": worst}
    return report_on_labels(asked.true, asked.predicted, **shown, asked=asked)


def report_on_tagger(
    tagger: Tagger, data: ColumnText, *, title: str = "Evaluation", worst: int = 10
) -> EvaluationReport:
    """Report on a tagger and a column file that has labels.

    Parameters
    ----------
    tagger : Tagger
    data : ColumnText
    title, worst
        As of :func:`report_on_labels`.

    Returns
    -------
    EvaluationReport
    """
    true = tagger.true_labels(data)
    _refuse_partial(true, data.location)
    predicted = tagger.predict(data)
    asked = Asked.of(tagger.model, tagger.columns(data), tagger.labels_for_model(data))
    shown: dict[str, Any] = {"title": title, "source": data.source, "place": data.location, "worst": worst}
    report = report_on_labels(true, predicted, words=words_of(data), **shown, asked=asked)
    return replace(report, template=tagger.template.text)


def words_of(data: ColumnText) -> list[list[str]]:
    """The column that people read: the first, in CoNLL-U the word form."""
    column = 1 if data.conllu else 0
    return [[token[column] for token in sentence] for sentence in data.sentences]


@dataclass(frozen=True)
class Asked:
    """A model and what it says of some sentences, in its own labels, which need not be those of the file."""

    model: Any
    X: EncodedInputs
    true: list[list[Any]]
    predicted: list[list[Any]]
    confidence: Confidence | None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> Asked:
        """Ask a model about sentences and their labels."""
        encoded, true = model.encode(X), list(y)
        predicted = model.predict(encoded)
        if [len(labels) for labels in predicted] != encoded.lengths.tolist():
            raise ValueError(
                "a report needs one label per position, and this model gives segments: fit it on IOB2 labels"
            )
        confidence = confidence_of(model, encoded, true, predicted) if is_nameable(model) else None
        return cls(model, encoded, true, predicted, confidence)

    @cached_property
    def explainer(self) -> Explainer:
        """One for all sentences: it keeps the names of features."""
        return Explainer(self.model)

    def completed(self, case: Case) -> Case:
        """A sentence with probabilities and reasons."""
        if self.confidence is None:
            return case
        i, found = case.index, self.confidence
        lead, log_true = float(found.lead[i]), float(found.log_true[i])
        case = replace(
            case, p_true=found.true[i], p_predicted=found.predicted[i], lead=lead, log_true=log_true
        )
        if lead == np.inf:
            return case
        reasons = self.explainer.compare(self.X[i : i + 1], self.predicted[i], self.true[i])
        return replace(case, reasons=reasons)


def _refuse_partial(true: Sequence[Sequence[Any]], place: Place) -> None:
    """A report shows mistakes one by one, and what is not known is neither right nor wrong."""
    for i, labels in enumerate(true):
        if is_partial(labels):
            raise ValueError(
                f"{place(i) or f'sentence {i}'}: not all labels are known, and a report needs complete ones: leave the "
                "report (--report) or the sentence out"
            )


def _words(words: Sequence[Sequence[Any]] | None, labels: Sequence[Sequence[str]]) -> Sequence[Sequence[Any]]:
    if words is None:
        return [[f"#{t}" for t in range(1, len(sentence) + 1)] for sentence in labels]
    if list(map(len, words)) != list(map(len, labels)):
        raise ValueError("words and labels have different lengths; give one word for each label")
    return words
