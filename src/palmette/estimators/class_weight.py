"""``class_weight``: weights of labels, as weights of the samples that have them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, OneOf
from palmette.errors import MissingCapability
from palmette.estimators.training import checked_weights, given_labels


def class_weighted(estimator: Any, y: Any, sample_weight: Any) -> Any:
    """Weights of samples times those of their labels; ``sample_weight`` as it is without a ``class_weight``.

    ``"balanced"`` gives the label k the weight ``W / (K W_k)``, where ``W_k`` is the weight of all samples that have
    it, ``W`` the weight of all and ``K`` the number of labels in ``y``; so all labels weigh the same in all. Samples of
    an unknown label, or of one of several, keep their weight.
    """
    given = estimator.class_weight
    if given is None:
        return sample_weight
    labels = given_labels(y, estimator.structure.layout)
    weight = checked_weights(sample_weight, len(labels))
    if isinstance(given, str):
        return weight * _balance(labels, weight)
    _check_table(given, labels)
    return weight * np.array([float(given.get(label, 1.0)) for label in labels])


def check_class_weight(estimator: Any) -> None:
    """Refuse weights of labels where an output is not one label."""
    given, structure = estimator.class_weight, estimator.structure
    if given is None:
        return
    if structure.layout != "items":
        raise MissingCapability(
            f"class_weight={given!r:.60}: an output of {type(structure).__name__} is not one class that could have a "
            "weight. What a wrong label costs is SSVM(..., task_loss=Hamming({label: cost})) of palmette.losses; "
            "fit(X, y, sample_weight=...) weighs whole samples"
        )
    if not isinstance(given, Mapping) and not (isinstance(given, str) and given == "balanced"):
        raise ValueError(
            f"class_weight must be 'balanced', a dict {{label: weight}} or None, got {given!r:.60}"
        )


def _balance(labels: list[Any], weight: np.ndarray) -> np.ndarray:
    """Of each sample: ``W / (K W_k)`` of its label k."""
    total: dict[Any, float] = {}
    for label, own in zip(labels, weight.tolist()):
        if _is_known(label):
            total[label] = total.get(label, 0.0) + own
    present, whole = sum(own > 0 for own in total.values()), sum(total.values())
    share = {label: whole / (present * own) if own > 0 else 0.0 for label, own in total.items()}
    return np.array([share.get(label, 1.0) for label in labels])


def _is_known(label: Any) -> bool:
    return label is not UNKNOWN and not isinstance(label, OneOf)


def _check_table(given: Mapping[str, Any], labels: list[Any]) -> None:
    for label, own in given.items():
        if isinstance(own, bool) or not isinstance(own, Real) or not 0.0 <= float(own) < np.inf:
            raise ValueError(
                f"class_weight[{label!r}] must be a finite number of at least 0, got {own!r:.60}"
            )
    present = dict.fromkeys(filter(_is_known, labels))
    unknown = [label for label in given if label not in present]
    missing = [label for label in present if label not in given]
    if unknown and missing:  # a label may be absent from a fold, but not mistaken for another
        raise ValueError(
            f"class_weight has {unknown[0]!r}, which is not a label of y, and y has {missing[0]!r}, without a weight "
            "there: correct the one, or give the other a weight, too"
        )
