"""Scores of labelled sequences: the main one first, then what is good to know beside it.

A score function takes the training part, the part that was labelled (both as loaded), and the labels; it returns
tallies by name, from which come values, intervals and significance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.utils import Bunch

from palmette.data.words import join_words
from palmette.metrics import Tally, tally_accuracy, tally_chunks, tally_words

Labels = Sequence[Sequence[str]]
Scoring = Callable[[Bunch, Bunch, Labels], dict[str, Tally]]


def score_accuracy(train: Bunch, data: Bunch, labels: Labels) -> dict[str, Tally]:
    """Share of labels that are right, for sequences of anything.

    >>> score_accuracy(None, Bunch(target=[["A", "B"]]), [["A", "A"]])["accuracy %"].score
    0.5
    """
    return {"accuracy %": tally_accuracy(data.target, labels)}


def score_tags(train: Bunch, data: Bunch, labels: Labels) -> dict[str, Tally]:
    """Share of tags that are right; and of those of words that the training part does not have.

    >>> train, test = Bunch(data=[[("a",)]]), Bunch(data=[[("a",), ("b",)]], target=[["A", "B"]])
    >>> [tally.score for tally in score_tags(train, test, [["A", "A"]]).values()]
    [0.5, 0.0]
    """
    known = {token[0] for sentence in train.data for token in sentence}
    new = [[token[0] not in known for token in sentence] for sentence in data.data]
    right = [sum(unseen and a == b for unseen, a, b in zip(*each)) for each in zip(new, data.target, labels)]
    unknown = Tally("accuracy of unknown words", np.array(right), np.array([sum(each) for each in new]))
    return {**score_accuracy(train, data, labels), "unknown words %": unknown}


def score_chunks(train: Bunch, data: Bunch, labels: Labels) -> dict[str, Tally]:
    """F1 of chunks as the CoNLL script counts them; and the share of labels that are right.

    >>> scores = score_chunks(None, Bunch(target=[["B-NP", "I-NP", "B-VP"]]), [["B-NP", "B-NP", "B-VP"]])
    >>> {name: round(tally.score, 3) for name, tally in scores.items()}
    {'F1 %': 0.4, 'accuracy %': 0.667}
    """
    return {"F1 %": tally_chunks(data.target, labels), "accuracy %": tally_accuracy(data.target, labels)}


def score_words(train: Bunch, data: Bunch, labels: Labels) -> dict[str, Tally]:
    """F1 of segmented words; and recall of words that the training part does not have (OOV) and has (IV).

    >>> train = Bunch(words=[["ab", "c"]])
    >>> test = Bunch(data=[[("a",), ("b",), ("c",), ("d",)]], words=[["ab", "cd"]])
    >>> {name: tally.score for name, tally in score_words(train, test, [["B", "E", "S", "S"]]).items()}
    {'F1 %': 0.4, 'OOV recall %': 0.0, 'IV recall %': 1.0}
    """
    vocabulary = {word for words in train.words for word in words}
    found = join_words([[token[0] for token in line] for line in data.data], labels)
    names = {"f1": "F1 %", "oov_recall": "OOV recall %", "iv_recall": "IV recall %"}
    return {shown: tally_words(data.words, found, name, vocabulary) for name, shown in names.items()}
