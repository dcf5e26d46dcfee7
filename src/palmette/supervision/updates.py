"""Models from answers: a perceptron between queries, the user's learner now and then and at the end."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from palmette.errors import EmptyModelWarning, MissingCapability
from palmette.estimators import Perceptron
from palmette.estimators.base import StructuredEstimator

UPDATES = ("perceptron", "refit")
_SHARED = (
    "kernel", "kernel_options", "encoding", "edge_features", "fit_intercept", "classes", "class_weight",
    "n_jobs", "random_state",
)  # fmt: skip


def check_model(model: Any, unit: str) -> None:
    """Raise TypeError for anything but a learner of this package, and for one that cannot learn from parts."""
    if not isinstance(model, StructuredEstimator):
        raise TypeError(
            f"model must be a learner with a structure, such as CRF(Chain()) or SSVM(Ranking()), got {model!r:.60}"
        )
    if unit == "sample" or model.structure.layout == "items":
        return
    try:
        model._partial_surrogate(tuple(model.classes or ("a", "b")))
    except MissingCapability as error:
        raise MissingCapability(
            f"answers to unit={unit!r} annotate samples in part: {error}; or ask for whole samples by unit='sample'"
        ) from error
    except ValueError:
        return  # costs of labels that are not known yet


def perceptron_of(model: StructuredEstimator, passes: int) -> Perceptron:
    """The averaged perceptron with the structure and the features of a learner."""
    given = model.get_params(deep=False)
    shared = {name: given[name] for name in _SHARED if name in given}
    return Perceptron(model.structure, **shared, max_iter=passes)


def trained(
    model: StructuredEstimator, kind: str, passes: int, X: Any, y: Sequence[Any]
) -> StructuredEstimator:
    """A new model of the answers so far, which depends on nothing else."""
    learner = perceptron_of(model, passes) if kind == "perceptron" else clone(model)
    with warnings.catch_warnings():
        if kind == "perceptron":  # the first answers often have one label only
            warnings.simplefilter("ignore", EmptyModelWarning)
        learner.fit(X, y)
    return learner
