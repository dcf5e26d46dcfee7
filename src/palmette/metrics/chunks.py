"""Chunk precision, recall and F1 as the CoNLL shared tasks count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from palmette.data.flat_labels import flatten_labels
from palmette.data.span_encodings import PLACE, split_label
from palmette.data.spans import FlatSpans, find_spans
from palmette.metrics.accuracy import count_correct, refuse_partial
from palmette.metrics.matching import matching

Tags = Sequence[Sequence[str]]


class Chunk(NamedTuple):
    """A labelled span: tokens ``start`` to ``stop - 1``."""

    type: str
    start: int
    stop: int


@dataclass(frozen=True)
class ChunkCounts:
    """Chunks in the truth, chunks predicted, and those in both; ratios are 0 where they are undefined."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """Share of the predicted chunks that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the true chunks that were found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, ``2 correct / (gold + predicted)``."""
        return 2 * self.correct / (self.gold + self.predicted) if self.correct else 0.0

    def to_dict(self) -> dict[str, float]:
        """Counts and ratios for JSON."""
        names = ("gold", "predicted", "correct", "precision", "recall", "f1")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class ChunkReport:
    """Agreement of predicted chunks with the true ones.

    Parameters
    ----------
    tokens, correct_tokens : int
        All tokens, and those whose label is right.
    overall : ChunkCounts
        Of all types together.
    by_type : dict of str to ChunkCounts
        Of each type that occurs, in alphabetical order.
    """

    tokens: int
    correct_tokens: int
    overall: ChunkCounts
    by_type: dict[str, ChunkCounts]

    @property
    def accuracy(self) -> float:
        """Share of tokens whose label is right."""
        return self.correct_tokens / self.tokens if self.tokens else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All counts and ratios for JSON: tokens, correct_tokens, accuracy, overall, by_type."""
        return {
            "tokens": self.tokens,
            "correct_tokens": self.correct_tokens,
            "accuracy": self.accuracy,
            "overall": self.overall.to_dict(),
            "by_type": {name: counts.to_dict() for name, counts in self.by_type.items()},
        }


def chunks(labels: Sequence[str]) -> list[Chunk]:
    """Chunks of one sequence of labels.

    Reads IOB1, IOB2, IOE and IOBES (also with the letters of BILOU and of four or six word tags) without
    being told which, as conlleval does: ``B`` and ``S`` always begin a chunk; ``I`` and ``E`` continue one
    of the same type and else begin one; nothing continues after ``E`` or ``S``. Any other label is outside.

    Examples
    --------
    >>> [tuple(chunk) for chunk in chunks(["B-NP", "I-NP", "O", "I-VP", "B-VP"])]
    [('NP', 0, 2), ('VP', 3, 4), ('VP', 4, 5)]
    """
    found: list[Chunk] = []
    open_type, start = None, 0
    for t, label in enumerate(labels):
        letter, kind = split_label(label)
        place = PLACE.get(letter)
        if open_type is not None and (place not in ("I", "E") or kind != open_type):
            found.append(Chunk(open_type, start, t))
            open_type = None
        if place is None:
            continue
        if open_type is None:
            open_type, start = kind, t
        if place in "ES":
            found.append(Chunk(open_type, start, t + 1))
            open_type = None
    if open_type is not None:
        found.append(Chunk(open_type, start, len(labels)))
    return found


def chunk_report(Y_true: Tags, Y_pred: Tags) -> ChunkReport:
    """Compare predicted with true chunks; one is correct if type, start and end are.

    Parameters
    ----------
    Y_true, Y_pred : list of list of str
        Labels of equal lengths. Labels that training never had are merely wrong.

    Returns
    -------
    ChunkReport

    Examples
    --------
    >>> report = chunk_report([["B-NP", "I-NP", "B-VP"]], [["B-NP", "I-NP", "I-NP"]])
    >>> report.overall
    ChunkCounts(gold=2, predicted=1, correct=0)
    """
    correct_tokens, tokens = count_correct(Y_true, Y_pred)
    gold, predicted, correct = matched_chunks(Y_true, Y_pred)
    n_kinds = len(gold.names)
    counts = [
        np.bincount(kinds, minlength=n_kinds) for kinds in (gold.kinds, predicted.kinds, gold.kinds[correct])
    ]
    by_type = {
        gold.names[k]: ChunkCounts(*(int(count[k]) for count in counts))
        for k in sorted(range(n_kinds), key=gold.names.__getitem__)
    }
    overall = ChunkCounts(*(int(count.sum()) for count in counts))
    return ChunkReport(tokens, correct_tokens, overall, by_type)


def matched_chunks(Y_true: Tags, Y_pred: Tags) -> tuple[FlatSpans, FlatSpans, np.ndarray]:
    """True chunks, predicted chunks, and the indices of the true ones that were predicted; same lengths."""
    refuse_partial(Y_true, "chunks")
    both = flatten_labels([*Y_true, *Y_pred])  # together, so that types have the same numbers
    spans, n, half = find_spans(both), len(Y_true), int(both.offsets[len(Y_true)])
    cut = int(np.searchsorted(spans.starts, half))
    starts, stops, kinds, sequences, names = spans
    gold = FlatSpans(starts[:cut], stops[:cut], kinds[:cut], sequences[:cut], names)
    predicted = FlatSpans(starts[cut:] - half, stops[cut:] - half, kinds[cut:], sequences[cut:] - n, names)
    true, found = matching(gold.starts, gold.stops, predicted.starts, predicted.stops)
    return gold, predicted, true[gold.kinds[true] == predicted.kinds[found]]


def looks_like_chunks(labels: Iterable[str]) -> bool:
    """Whether a set of labels encodes chunks: places such as ``B-NP``, or bare ones such as ``B`` and ``I``.

    Examples
    --------
    >>> looks_like_chunks(["B-NP", "I-NP", "O"]), looks_like_chunks(["NN", "DT"]), looks_like_chunks("BMES")
    (True, False, True)
    """
    places = set(labels) - {"O"}
    letters = {split_label(label)[0] for label in places}
    hyphens = {"-" in label for label in places}
    return letters <= PLACE.keys() and (
        hyphens == {True} or (hyphens == {False} and len(places) > 1 and "B" in places)
    )


def format_chunk_table(report: ChunkReport) -> str:
    """Write a report as conlleval prints it: percentages, then one line per type with the chunks predicted.

    Examples
    --------
    >>> print(format_chunk_table(chunk_report([["B-NP", "B-VP"]], [["B-NP", "O"]])))
    processed 2 tokens with 2 phrases; found: 1 phrases; correct: 1.
    accuracy:  50.00%; precision: 100.00%; recall:  50.00%; FB1:  66.67
                   NP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
                   VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
    """
    overall = report.overall
    lines = [
        f"processed {report.tokens} tokens with {overall.gold} phrases; "
        f"found: {overall.predicted} phrases; correct: {overall.correct}.",
        f"accuracy: {100 * report.accuracy:6.2f}%; {_percentages(overall)}",
    ]
    lines += [
        f"{kind:>17}: {_percentages(counts)}  {counts.predicted}"
        for kind, counts in report.by_type.items()
        if kind  # bare B and I have no type, and the overall line says it all
    ]
    return "\n".join(lines)


def _percentages(counts: ChunkCounts) -> str:
    precision, recall, f1 = 100 * counts.precision, 100 * counts.recall, 100 * counts.f1
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
