"""Several perceptrons as one model: which sentences came last is chance, and the mean of the weights has less of it."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from palmette.apps.settings import is_number
from palmette.estimators.folds import copy_for_folds
from palmette.estimators.training import seed_of
from palmette.stages import stage, step_callbacks


def check_models(algorithm: str, models: Any) -> None:
    """Refuse a number of models that is none, or learners whose optimum depends on no order.

    >>> check_models("crf", 5)
    Traceback (most recent call last):
    ValueError: models=5 (--models) averages perceptrons, which depend on the order of the sentences; ...
    """
    if not is_number(models, Integral) or models < 1:
        raise ValueError(f"models (--models) must be at least 1, got {models!r}")
    if models > 1 and algorithm != "perceptron":
        raise ValueError(
            f"models={models} (--models) averages perceptrons, which depend on the order of the sentences; {algorithm} "
            "has one optimum: leave it out, or use --algorithm perceptron"
        )


def fit_averaged(learner: Any, X: Any, y: Any, models: int) -> None:
    """Fit a perceptron that has the mean weights of several, each with its own order of the sentences.

    Scores are linear in the weights, so that its labels are those of the highest sum of scores of all.

    Parameters
    ----------
    learner : Perceptron
    X : EncodedInputs
    y : list of list of labels
    models : int
        The seeds are ``models * seed``, ``models * seed + 1``, ...

    Notes
    -----
    The objective of the mean is not evaluated: it is NaN in ``objective_`` and ``result_``. Ctrl-C leaves the mean of
    those that are finished, once the first is, and ``KeyboardInterrupt`` goes on.
    """
    first = models * seed_of(learner.random_state)
    with stage(f"perceptron 1 of {models}"):
        learner.set_params(random_state=first % 2**32).fit(X, y)
    weights = [learner.coef_]
    try:
        for k in range(1, models):
            with stage(f"perceptron {k + 1} of {models}"):
                other = copy_for_folds(learner, random_state=(first + k) % 2**32, verbose=0)
                weights.append(other.set_params(callbacks=step_callbacks() or None).fit(X, y).coef_)
                learner.fit_seconds_["solve"] += sum(other.fit_seconds_.values())
    finally:  # after Ctrl-C too, with those that are finished
        learner.coef_ = np.mean(weights, axis=0)
        vars(learner).pop("_pass_state", None)  # it would go on from the first alone
        learner.result_ = replace(learner.result_, w=learner.coef_, state=None)
        if len(weights) > 1:  # the objective of the mean is another one
            step = learner.result_.step._replace(primal=np.nan, lower=np.nan)
            history = (*learner.result_.history[:-1], step)
            learner.result_ = replace(learner.result_, step=step, history=history)
            learner.objective_ = np.nan
