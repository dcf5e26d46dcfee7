"""Confusions of spans and tokens, with the words of the most frequent ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palmette.metrics import chunks

Labels = Sequence[Sequence[str]]

FATES = ("boundary", "boundary and type", "absent")
"""What happens to a span that has no counterpart with the same boundaries: it overlaps one of its own type, it
overlaps only others, or it overlaps none (a true one is missed, a predicted one spurious)."""

OTHERS = "..."  # the labels that do not stand alone in a large matrix


@dataclass(frozen=True)
class SpanConfusion:
    """True spans against predicted spans.

    Parameters
    ----------
    types : tuple of str
        All types, the commonest in the truth first.
    same : ndarray of int, shape (n_types, n_types)
        Spans with equal boundaries: true type (row), predicted type (column). The diagonal is right.
    true, predicted : ndarray of int, shape (n_types, 3)
        The other true and the other predicted spans of each type, by :data:`FATES`.

    Notes
    -----
    Every span is counted once: ``same.sum(axis=1) + true.sum(axis=1)`` are the true spans of each type,
    ``same.sum(axis=0) + predicted.sum(axis=1)`` the predicted ones.
    """

    types: tuple[str, ...]
    same: np.ndarray
    true: np.ndarray
    predicted: np.ndarray


def span_confusion(true: Labels, predicted: Labels) -> SpanConfusion:
    """Compare the spans of two labellings of the same sentences.

    Examples
    --------
    >>> confusion = span_confusion([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "O", "B-PP", "B-NP"]])
    >>> confusion.types
    ('NP', 'VP', 'PP')
    >>> confusion.same.tolist()  # the VP was taken for an NP
    [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    >>> confusion.true.tolist()  # the first NP ends elsewhere
    [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    >>> confusion.predicted.tolist()  # a PP out of nothing
    [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    """
    same: Counter[tuple[str, str]] = Counter()
    fates: tuple[Counter[tuple[str, int]], ...] = (Counter(), Counter())
    totals: tuple[Counter[str], ...] = (Counter(), Counter())
    for labels, guesses in zip(true, predicted):
        sides = chunks(labels), chunks(guesses)
        where = [{(span.start, span.stop): span.type for span in spans} for spans in sides]
        same.update((kind, where[1][place]) for place, kind in where[0].items() if place in where[1])
        for side in (0, 1):
            totals[side].update(span.type for span in sides[side])
            at: list[str | None] = [None] * len(labels)  # the type of the other side at each token
            for span in sides[1 - side]:
                at[span.start : span.stop] = [span.type] * (span.stop - span.start)
            for span in sides[side]:
                if (span.start, span.stop) not in where[1 - side]:
                    met = {kind for kind in at[span.start : span.stop] if kind is not None}
                    fates[side][span.type, 0 if span.type in met else 1 if met else 2] += 1
    gold, found = totals
    types = sorted(gold | found, key=lambda kind: (-gold[kind], -found[kind], kind))
    return SpanConfusion(
        tuple(types),
        np.array([[same[a, b] for b in types] for a in types], np.int64).reshape(len(types), len(types)),
        *(
            np.array([[fate[a, k] for k in range(len(FATES))] for a in types], np.int64).reshape(
                -1, len(FATES)
            )
            for fate in fates
        ),
    )


def token_confusion(true: Labels, predicted: Labels, most: int = 25) -> tuple[list[str], np.ndarray]:
    """Counts of true (row) against predicted label (column) over all tokens.

    Of more than `most` labels those with the most errors stand alone and the others together, last, as ``"..."``.

    Examples
    --------
    >>> token_confusion([["a", "b", "c", "c"]], [["b", "b", "c", "c"]], most=2)
    (['a', 'b', '...'], array([[0, 1, 0],
           [0, 1, 0],
           [0, 0, 2]]))
    """
    pairs = Counter(pair for sentence in zip(true, predicted) for pair in zip(*sentence))
    labels = sorted({label for pair in pairs for label in pair})
    if len(labels) > most:
        errors: Counter[str] = Counter()
        for (a, b), n in pairs.items():
            if a != b:
                errors.update({a: n, b: n})
        labels = sorted(sorted(labels, key=lambda label: (-errors[label], label))[:most]) + [OTHERS]
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for (a, b), n in pairs.items():
        counts[place.get(a, len(labels) - 1), place.get(b, len(labels) - 1)] += n
    return labels, counts


@dataclass(frozen=True)
class Mistake:
    """How often one label was taken for another, and the words where it happened most, with their counts."""

    true: str
    predicted: str
    count: int
    words: tuple[tuple[str, int], ...]


def commonest_mistakes(words: Labels, true: Labels, predicted: Labels, top: int = 15) -> list[Mistake]:
    """The label pairs of the most errors, the commonest first, each with up to six words.

    Examples
    --------
    >>> commonest_mistakes([["a", "b"]], [["X", "Y"]], [["X", "X"]])
    [Mistake(true='Y', predicted='X', count=1, words=(('b', 1),))]
    """
    at: dict[tuple[str, str], Counter[str]] = {}
    for sentence in zip(words, true, predicted):
        for word, a, b in zip(*sentence):
            if a != b:
                at.setdefault((a, b), Counter())[word] += 1
    ranked = sorted(at.items(), key=lambda item: (-item[1].total(), item[0]))
    return [Mistake(*pair, found.total(), tuple(found.most_common(6))) for pair, found in ranked[:top]]
