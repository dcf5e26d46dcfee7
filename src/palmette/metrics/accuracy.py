"""Accuracy over all tokens of all sequences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from palmette.data.annotation import is_partial, told_parts

Labels = Sequence[Sequence[Hashable]]


def token_accuracy(Y_true: Labels, Y_pred: Labels) -> float:
    """Share of tokens whose label is right, over all sequences together.

    Parameters
    ----------
    Y_true, Y_pred : list of list of labels
        Of equal lengths. True labels that are ``UNKNOWN`` do not count; any label of a ``OneOf`` is right.

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
        raise ValueError("accuracy needs at least one token with a label; Y_true has none")
    return correct / total


def sequence_accuracy(Y_true: Labels, Y_pred: Labels) -> float:
    """Share of samples whose whole output is right.

    Parameters
    ----------
    Y_true, Y_pred : list of lists
        Labels of positions, or segments ``(start, stop, label)``. A sample is right if all that is known of it is;
        samples of ``UNKNOWN`` labels alone do not count.

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
    right = [_is_right(true, predicted) for true, predicted in zip(Y_true, Y_pred)]
    counted = [each for each in right if each is not None]
    if not counted:
        raise ValueError("accuracy needs at least one sample with a label; Y_true has none")
    return sum(counted) / len(counted)


def _is_right(true: Sequence[Hashable], predicted: Sequence[Hashable]) -> bool | None:
    """Whether an output is right as far as it is known; None if nothing is."""
    if not is_partial(true):
        return list(true) == list(predicted)
    told, found = told_parts(true, predicted)
    return told == found and len(true) == len(predicted) if told else None


def known_labels(Y_true: Labels, Y_pred: Labels) -> tuple[Labels, Labels]:
    """Both without the positions whose true label is unknown, after checking the lengths."""
    check_lengths(Y_true, Y_pred)
    if not any(map(is_partial, Y_true)):
        return Y_true, Y_pred
    told = [told_parts(*pair) for pair in zip(Y_true, Y_pred)]
    return [true for true, _ in told], [predicted for _, predicted in told]


def count_correct(Y_true: Labels, Y_pred: Labels) -> tuple[int, int]:
    """Return the number of tokens that are right and the number of known ones, after checking the lengths."""
    Y_true, Y_pred = known_labels(Y_true, Y_pred)
    correct = sum(a == b for pair in zip(Y_true, Y_pred) for a, b in zip(*pair))
    return correct, sum(map(len, Y_true))


def refuse_partial(Y_true: Sequence[Sequence[Any]], what: str) -> None:
    """Raise ValueError if a label, or that of a segment, is UNKNOWN or OneOf several, and name the first place."""
    for i, y in enumerate(Y_true):
        labels = [part[-1] if isinstance(part, tuple) and part else part for part in y]
        if is_partial(labels):
            t = next(t for t, label in enumerate(labels) if is_partial([label]))
            raise ValueError(
                f"Y_true[{i}][{t}] is {y[t]!r}, and {what} need complete outputs: use the model's own score or "
                "token_accuracy, which leave unknown labels out, or leave the sample out"
            )


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
