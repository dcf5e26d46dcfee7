"""The learners of an aligner by name, and models whose weights are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from palmette.apps.settings import check_settings
from palmette.structures.alignment.alignment import Alignment
from palmette.structures.alignment.codec import AlignmentCodec

SOLVERS = {
    "crf": ("auto", "lbfgs", "stochastic", "bundle"),
    "ssvm": ("auto", "bundle", "one_slack", "n_slack", "frank_wolfe", "subgradient", "pegasos", "stochastic"),
    "soft_hinge": ("auto", "lbfgs", "stochastic"),
    "ramp": ("auto", "cccp"),
    "perceptron": ("perceptron", "passive_aggressive", "arow"),
}
ALGORITHMS = tuple(SOLVERS)


def make_learner(
    algorithm: str,
    structure: Alignment,
    start: Mapping[str, float] | None = None,
    *,
    missed: float | None = None,
    false: float | None = None,
    **options: Any,
) -> Any:
    """An estimator of alignments, its settings checked; with `start` its weights are there already.

    >>> make_learner("ssvm", Alignment(), missed=30.0).task_loss
    ColumnLoss(missed=30.0, false=0.0, relative=True)
    """
    from sklearn.base import clone

    from palmette.estimators import CRF, SSVM, LossOptions, Perceptron
    from palmette.structures.alignment.losses import ColumnLoss

    if algorithm not in SOLVERS:
        raise ValueError(f"algorithm={algorithm!r} is unknown; choose one of {', '.join(ALGORITHMS)}")
    given = {name: value for name, value in options.items() if value is not None}
    check_settings(algorithm, given, SOLVERS[algorithm])
    structure.bind(())
    if algorithm == "ssvm" and structure.ties != "best":
        # the hinge compares with one alignment: the best of those that agree with the core columns
        structure = clone(structure).set_params(ties="best")
    if algorithm == "perceptron" and "l2" in given:
        raise ValueError(
            "the perceptron has no penalty; leave l2 out, or choose crf, ssvm, soft_hinge or ramp"
        )
    costs = missed is not None or false is not None
    if costs and algorithm not in ("ssvm", "soft_hinge", "ramp"):
        raise ValueError(
            f"missed and false are costs of ssvm, soft_hinge and ramp; {algorithm} has none: leave them out"
        )
    if costs:
        given["task_loss"] = ColumnLoss(1.0 if missed is None else missed, 0.0 if false is None else false)
        given["task_loss"].bind(structure, ())
    if algorithm in ("ramp", "soft_hinge"):
        given["loss"] = algorithm
    if algorithm == "soft_hinge":  # scores as those of a likelihood, whose probabilities are decoded
        given["loss_options"] = LossOptions(temperature=1.0)
    learner: Any = {"crf": CRF, "perceptron": Perceptron}.get(algorithm, SSVM)(structure, **given)
    if start is not None:
        learner.set_params(warm_start=True)
        _set_weights(learner, start)
    return learner


def given_weights(structure: Alignment, weights: Mapping[str, float]) -> Any:
    """A CRF that was not fitted but has weights by name; it predicts, can be saved, and learns on from them."""
    from palmette.estimators import CRF

    structure.bind(())
    for name, value in weights.items():
        if not np.isfinite(value):
            raise ValueError(f"the weight {name!r} is {value!r}; it must be finite")
    model = CRF(structure, warm_start=True)
    _set_weights(model, weights)
    return model


def _set_weights(model: Any, weights: Mapping[str, float]) -> None:
    """What ``fit`` leaves behind, with weights that nobody has fitted."""
    from palmette.contracts.solver import Result, Step

    structure, step = model.structure, Step(0, 0.0, 0.0, np.nan, -np.inf)
    model.encoder_, model.scorer_ = structure.make_encoder(()), structure.scorer()
    model.codec_ = AlignmentCodec("matches", bool(structure.long_gaps))
    model.coef_ = model.scorer_.weights(weights)
    model.result_ = Result(model.coef_, step, (step,), True, "weights were given")
    model.objective_, model.n_iter_ = np.nan, 0
