"""scikit-learn's scores over the positions of all sequences; takes the place of sklearn_crfsuite.metrics."""

from __future__ import annotations

from typing import Any

from sklearn import metrics

from palmette.compat.utils import flatten
from palmette.metrics.accuracy import check_lengths

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "flatten",
    "sequence_accuracy_score",
]


def _flat(y_true: Any, y_pred: Any) -> tuple[list[Any], list[Any]]:
    check_lengths(y_true, y_pred)
    return flatten(y_true), flatten(y_pred)


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Share of positions with the right label.

    >>> flat_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    return float(metrics.accuracy_score(*_flat(y_true, y_pred)))


def flat_precision_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """``sklearn.metrics.precision_score`` of all positions."""
    return metrics.precision_score(*_flat(y_true, y_pred), **kwargs)


def flat_recall_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """``sklearn.metrics.recall_score`` of all positions."""
    return metrics.recall_score(*_flat(y_true, y_pred), **kwargs)


def flat_f1_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """``sklearn.metrics.f1_score`` of all positions.

    >>> flat_f1_score([["A", "B"], ["A"]], [["A", "A"], ["A"]], average="micro", labels=["A"])
    0.8
    """
    return metrics.f1_score(*_flat(y_true, y_pred), **kwargs)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """``sklearn.metrics.fbeta_score`` of all positions."""
    return metrics.fbeta_score(*_flat(y_true, y_pred), beta=beta, **kwargs)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """``sklearn.metrics.classification_report`` of all positions."""
    return metrics.classification_report(*_flat(y_true, y_pred), labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Share of sequences without a wrong label, whatever their lengths; 0 if there is no sequence.

    >>> sequence_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.5
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}")
    right = sum(list(true) == list(predicted) for true, predicted in zip(y_true, y_pred))
    return right / len(y_true) if len(y_true) else 0.0
