"""Accuracy over all tokens of all sequences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

Labels = Sequence[Sequence[Hashable]]


def token_accuracy(Y_true: Labels, Y_pred: Labels) -> float:
    """Share of tokens whose label is right, over all sequences together.

    Parameters
    ----------
    Y_true, Y_pred : list of list of labels
        Of equal lengths.

    Returns
    -------
    float
        ``sum_i sum_t [y_it = y'_it] / sum_i T_i``.

    Examples
    --------
    >>> token_accuracy([["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]])
    0.75
    """
    correct, total = count_correct(Y_true, Y_pred)
    if not total:
        raise ValueError("accuracy needs at least one token; Y_true has none")
    return correct / total


def sequence_accuracy(Y_true: Labels, Y_pred: Labels) -> float:
    """Share of samples whose whole output is right.

    Parameters
    ----------
    Y_true, Y_pred : list of lists
        Labels of positions, or segments ``(start, stop, label)``.

    Returns
    -------
    float
        ``1/n sum_i [y_i = y'_i]``.

    Examples
    --------
    >>> sequence_accuracy([["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]])
    0.5
    """
    check_samples(Y_true, Y_pred)
    if not len(Y_true):
        raise ValueError("accuracy needs at least one sample; Y_true has none")
    return sum(list(true) == list(predicted) for true, predicted in zip(Y_true, Y_pred)) / len(Y_true)


def count_correct(Y_true: Labels, Y_pred: Labels) -> tuple[int, int]:
    """Return the number of tokens that are right and the number of all, after checking the lengths."""
    check_lengths(Y_true, Y_pred)
    correct = sum(a == b for pair in zip(Y_true, Y_pred) for a, b in zip(*pair))
    return correct, sum(map(len, Y_true))


def check_samples(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> None:
    """Raise ValueError unless both have as many samples."""
    if len(Y_true) != len(Y_pred):
        raise ValueError(f"Y_true has {len(Y_true)} samples, Y_pred has {len(Y_pred)}; give the same samples")


def check_lengths(Y_true: Labels, Y_pred: Labels) -> None:
    """Raise ValueError unless both have the same samples, of the same lengths."""
    check_samples(Y_true, Y_pred)
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred)):
        if len(true) != len(predicted):
            raise ValueError(f"sample {i}: Y_true has {len(true)} labels, Y_pred has {len(predicted)}")
