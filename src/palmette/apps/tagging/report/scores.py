"""The scores of a report, each with its bootstrap interval, over all and by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.metrics import (
    ChunkCounts,
    Interval,
    Tally,
    bootstrap_interval,
    chunks,
    tally_accuracy,
    tally_chunks,
)

Labels = Sequence[Sequence[str]]

LEVEL, RESAMPLES = 0.95, 2000


@dataclass(frozen=True)
class TypeScore:
    """Counts of one type of chunk or of one label, and the interval of its F1."""

    name: str
    counts: ChunkCounts
    f1: Interval


@dataclass(frozen=True)
class Scores:
    """What a report says in numbers.

    Parameters
    ----------
    headline : dict of str to Interval
        Chunk F1, precision and recall if labels are chunks; token accuracy; sentences entirely right.
    by_type : tuple of TypeScore
        Of types of chunks if labels are chunks, else of labels; the commonest in the truth first.
    has_chunks : bool
    """

    headline: dict[str, Interval]
    by_type: tuple[TypeScore, ...]
    has_chunks: bool


def score_labels(true: Labels, predicted: Labels, has_chunks: bool) -> Scores:
    """Score labels of the same sentences; sentences are resampled for the intervals.

    Examples
    --------
    >>> scores = score_labels([["B-NP", "I-NP"], ["B-NP", "O"]], [["B-NP", "O"], ["B-NP", "O"]], True)
    >>> {name: interval.score for name, interval in scores.headline.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'F1': 0.5, 'precision': 0.5, 'recall': 0.5, 'token accuracy': 0.75, 'sentences right': 0.5}
    >>> scores.by_type[0].name, scores.by_type[0].counts
    ('NP', ChunkCounts(gold=2, predicted=2, correct=1))
    """
    tallies = {}
    if has_chunks:
        shown = {"F1": "f1", "precision": "precision", "recall": "recall"}
        tallies = {name: tally_chunks(true, predicted, score) for name, score in shown.items()}
    tallies["token accuracy"] = tally_accuracy(true, predicted)
    right = np.array([list(a) == list(b) for a, b in zip(true, predicted)], np.int64)
    tallies["sentences right"] = Tally("sentence accuracy", right, np.ones_like(right))
    headline = {name: _interval(tally) for name, tally in tallies.items()}
    return Scores(headline, _by_type(true, predicted, has_chunks), has_chunks)


def _by_type(true: Labels, predicted: Labels, has_chunks: bool) -> tuple[TypeScore, ...]:
    """Counts of each type by sentence, summed and resampled."""
    rows: dict[str, np.ndarray] = {}
    for i, pair in enumerate(zip(true, predicted)):
        gold, found = (_items(labels, has_chunks) for labels in pair)
        for which, items in enumerate((gold, found, gold & found)):
            for kind, n in Counter(item[0] for item in items).items():
                rows.setdefault(kind, np.zeros((3, len(true)), np.int64))[which, i] = n
    scored = []
    for kind, (gold_n, found_n, both) in rows.items():
        counts = ChunkCounts(int(gold_n.sum()), int(found_n.sum()), int(both.sum()))
        scored.append(TypeScore(kind, counts, _interval(Tally("f1", 2 * both, gold_n + found_n))))
    return tuple(sorted(scored, key=lambda each: (-each.counts.gold, -each.counts.predicted, each.name)))


def _items(labels: Sequence[str], has_chunks: bool) -> set[tuple[Any, ...]]:
    return set(chunks(labels)) if has_chunks else {(label, t) for t, label in enumerate(labels)}


def _interval(tally: Tally) -> Interval:
    return bootstrap_interval(tally, level=LEVEL, n_resamples=RESAMPLES)
