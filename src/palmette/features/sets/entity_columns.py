"""Columns that tell names: how often the word was part of one in the training text, and how it is written there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from palmette.features.sets.counts import Counts, counts_from_state, counts_state
from palmette.registry import register

Sentences = Sequence[Sequence[tuple[str, ...]]]

_OUTSIDE = "O"
# How a word is written; a capital at the start of a sentence says nothing. Types are kept with a hyphen before them.
_LOWER, _UPPER = "lower", "upper"
_SHARES = ((1.0, "all"), (0.5, "most"), (0.1, "some"), (0.0, "few"))


@register("columns", "entities")
class EntityColumns(BaseEstimator):
    """Two columns behind those of a word: its kind of name in the training text, and its usual case there.

    The kind is the type of name that the word, in lower case, was most often part of, and the share of its occurrences
    inside any name: ``location:most`` is above one half, ``:some`` above one tenth. ``O`` is a word outside of all
    names, ``o`` one that occurs once or twice, ``?`` one that does not occur. The case is ``l`` (never with a capital
    inside of a sentence), ``U`` (always), ``lu`` and ``ul`` (more often without, with), ``?``.

    `fit_transform` reads each tenth of the training sentences with the counts of the other nine. With those of the
    sentence itself every name would be known, and the learner would trust the column too much.

    Parameters
    ----------
    n_folds : int, default=10

    Examples
    --------
    >>> X = [[("In",), ("Paris",), ("we",), ("met",), ("Paris",)]]
    >>> maker = EntityColumns().fit(X, [["O", "B-LOC", "O", "O", "B-PER"]])
    >>> maker.transform([[("paris",), ("In",), ("we",), ("Rome",)]])
    [[('paris', 'PER:all', 'U'), ('In', 'o', '?'), ('we', 'o', 'l'), ('Rome', '?', '?')]]
    """

    column_names = ("known", "case")
    reads_labels = True

    def __init__(self, n_folds: int = 10) -> None:
        self.n_folds = n_folds

    def fit(self, X: Sentences, y: Sequence[Sequence[str]]) -> EntityColumns:
        """Count the words of labelled sentences."""
        self.counts_ = _count(X, y)
        return self

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Sentences with the columns, the last ones."""
        return _extended(X, self.counts_)

    def fit_transform(self, X: Sentences, y: Sequence[Sequence[str]]) -> list[list[tuple[str, ...]]]:
        """Count words, and read each part of the sentences with the counts of the others."""
        self.fit(X, y)
        bounds = [len(X) * k // self.n_folds for k in range(self.n_folds + 1)]
        made = []
        for a, b in zip(bounds, bounds[1:]):
            others = self.counts_.copy()
            others.subtract(_count(X[a:b], y[a:b]))
            made += _extended(X[a:b], others)
        return made

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays, from which `from_state` makes the columns again."""
        return self.get_params(), counts_state(self.counts_)

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> EntityColumns:
        """The maker from what `state` returned."""
        maker = cls(**header)
        maker.counts_ = counts_from_state(arrays, 2)
        return maker


def _count(X: Sentences, y: Sequence[Sequence[str]]) -> Counts:
    """How often each word has each type and is written in each way."""
    counts: Counts = Counter()
    for sentence, labels in zip(X, y):
        for t, (token, label) in enumerate(zip(sentence, labels)):
            word, written = token[0].lower(), token[0]
            counts[word, _type(label)] += 1
            if written.islower():
                counts[word, _LOWER] += 1
            elif t and written[:1].isupper():
                counts[word, _UPPER] += 1
    return counts


def _type(label: str) -> str:
    """The mark of a label: its type, or itself if it has none.

    >>> _type("B-PER"), _type("PER"), _type("O")
    ('-PER', '-PER', 'O')
    """
    if label == _OUTSIDE:
        return label
    return f"-{label.partition('-')[2] if '-' in label else label}"


def _extended(X: Sentences, counts: Counts) -> list[list[tuple[str, ...]]]:
    by_word: dict[str, dict[str, int]] = defaultdict(dict)
    for (word, mark), count in counts.items():
        if count > 0:
            by_word[word][mark] = count
    cells: dict[str, tuple[str, str]] = {}
    for word in {token[0].lower() for sentence in X for token in sentence}:
        marks = by_word.get(word, {})
        cells[word] = _kind(marks), _case(marks.get(_LOWER, 0), marks.get(_UPPER, 0))
    return [[(*token, *cells[token[0].lower()]) for token in sentence] for sentence in X]


def _kind(marks: Mapping[str, int]) -> str:
    labels = {mark: count for mark, count in marks.items() if mark not in (_LOWER, _UPPER)}
    total, outside = sum(labels.values()), labels.pop(_OUTSIDE, 0)
    if not labels:
        return "?" if not total else _OUTSIDE if total > 2 else _OUTSIDE.lower()
    kind = max(labels, key=lambda mark: (labels[mark], mark)).removeprefix("-")
    inside = (total - outside) / total
    return f"{kind}:{next(name for bound, name in _SHARES if inside > bound or inside == bound == 1.0)}"


def _case(lower: int, upper: int) -> str:
    if not lower or not upper:
        return "l" if lower else "U" if upper else "?"
    return "lu" if lower > upper else "ul"
