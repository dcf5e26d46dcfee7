"""Agreement of predicted with true tags: tokens, whole sentences and, where labels are chunks, chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palmette.data.annotation import is_partial, told_parts
from palmette.metrics import ChunkCounts, ChunkReport, chunk_report, format_chunk_table, looks_like_chunks


@dataclass(frozen=True)
class Evaluation:
    """Counts of what is right.

    Parameters
    ----------
    sentences, correct_sentences : int
        All sentences, and those whose every label is right; of partial annotation every known label.
    report : ChunkReport
        Tokens and chunks.
    has_chunks : bool
        Whether the true labels encode chunks; otherwise the chunks of `report` mean nothing.

    Examples
    --------
    >>> evaluation = evaluate_labels([["DT", "NN"], ["VB"]], [["DT", "VB"], ["VB"]])
    >>> print(evaluation.format())
    accuracy:  66.67% (2 of 3 tokens)
    sentences entirely right:  50.00% (1 of 2)
    """

    sentences: int
    correct_sentences: int
    report: ChunkReport
    has_chunks: bool

    @property
    def accuracy(self) -> float:
        """Share of tokens whose label is right."""
        return self.report.accuracy

    @property
    def sentence_accuracy(self) -> float:
        """Share of sentences whose every label is right."""
        return self.correct_sentences / self.sentences if self.sentences else 0.0

    @property
    def f1(self) -> float | None:
        """F1 of all chunks together; None where labels are no chunks."""
        return self.report.overall.f1 if self.has_chunks else None

    def to_dict(self) -> dict[str, Any]:
        """Keys sentences, correct_sentences, sentence_accuracy, tokens, correct_tokens, accuracy, chunks.

        ``chunks`` is None, or has ``overall`` and ``by_type`` (`palmette.metrics.ChunkReport.to_dict`).
        """
        report = self.report.to_dict()
        chunks = {"overall": report["overall"], "by_type": report["by_type"]}
        return {
            "sentences": self.sentences,
            "correct_sentences": self.correct_sentences,
            "sentence_accuracy": self.sentence_accuracy,
            "tokens": self.report.tokens,
            "correct_tokens": self.report.correct_tokens,
            "accuracy": self.accuracy,
            "chunks": chunks if self.has_chunks else None,
        }

    def format(self) -> str:
        """Write the table that conlleval prints, or the accuracy alone; then the sentences."""
        report = self.report
        tokens = (
            f"accuracy: {100 * self.accuracy:6.2f}% ({report.correct_tokens:,} of {report.tokens:,} tokens)"
        )
        return (
            f"{format_chunk_table(report) if self.has_chunks else tokens}\n"
            f"sentences entirely right: {100 * self.sentence_accuracy:6.2f}% "
            f"({self.correct_sentences:,} of {self.sentences:,})"
        )

    def headline(self) -> str:
        """Return the figures in a few words.

        >>> evaluate_labels([["B-NP", "O"]], [["B-NP", "O"]]).headline()
        'accuracy 100.00%, chunk F1 100.00'
        """
        f1 = "" if self.f1 is None else f", chunk F1 {100 * self.f1:.2f}"
        return f"accuracy {100 * self.accuracy:.2f}%{f1}"


def evaluate_labels(true: Sequence[Sequence[Any]], predicted: Sequence[Sequence[str]]) -> Evaluation:
    """Compare labels, sentence by sentence, of equal lengths; labels that training never had are wrong.

    True labels that are UNKNOWN do not count, nor do sentences of such labels alone; any label of a OneOf is right.
    Chunks are not counted then, since where they begin and end is not known.

    >>> from palmette import UNKNOWN
    >>> evaluate_labels([["B-NP", UNKNOWN], [UNKNOWN]], [["B-NP", "O"], ["O"]]).headline()
    'accuracy 100.00%'
    """
    if any(map(is_partial, true)):
        told = [pair for pair in map(told_parts, true, predicted) if pair[0]]
        n_tokens, n_right = sum(len(t) for t, _ in told), sum(a == b for t, p in told for a, b in zip(t, p))
        report = ChunkReport(n_tokens, n_right, ChunkCounts(0, 0, 0), {})
        return Evaluation(len(told), sum(t == p for t, p in told), report, has_chunks=False)
    report = chunk_report(true, predicted)
    correct = sum(list(t) == list(p) for t, p in zip(true, predicted))
    has_chunks = looks_like_chunks({label for labels in true for label in labels})
    return Evaluation(len(true), correct, report, has_chunks)
