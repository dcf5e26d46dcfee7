"""Penalties of applications chosen on folds of the training data, or on data held out for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from palmette.errors import warn_caller
from palmette.estimators.folds import Fold, Part, cut_folds, splits_of
from palmette.estimators.path import penalty_path
from palmette.stages import stage

N_FOLDS = 3


def check_tuning(learner: Any, tune: str | int | None, has_dev: bool) -> None:
    """Refuse to choose a penalty that is given, that there is none of, or that there is nothing to choose by."""
    if tune is None:
        return
    if getattr(learner, "l2", 0.0) == 0.0:
        raise ValueError(
            f"tune chooses l2, and this {type(learner).__name__} has none: use crf, ssvm or plackett-luce, or ramp "
            "with solver cccp"
        )
    if learner.l2 is not None:
        raise ValueError(f"l2={learner.l2!r} and tune exclude each other: leave one out")
    if tune == "dev" and not has_dev:
        raise ValueError("tune='dev' needs dev, the data to choose by; or give a number of folds")
    if tune != "dev" and (isinstance(tune, bool) or not isinstance(tune, Integral) or tune < 2):
        raise ValueError(f"tune must be 'dev' or a number of folds of at least 2, got {tune!r}")


def check_folds(tune: str | int | None, n: int, what: str, name: str = "tune") -> None:
    """Refuse more folds than there are sentences or queries; ``name`` is what the user calls the setting.

    >>> check_folds(3, 1, "sentences", "--folds")
    Traceback (most recent call last):
    ValueError: --folds 3 needs at least 3 sentences, and the data has 1: give fewer folds, or held-out data
    """
    if isinstance(tune, Integral) and tune > n:
        shown = f"{name} {tune}" if name.startswith("--") else f"{name}={tune}"
        raise ValueError(
            f"{shown} needs at least {tune} {what}, and the data has {n}: give fewer folds, or held-out data"
        )


def fit_tuned(
    learner: Any, train: Part, *, held: Part | None = None, folds: Sequence[Fold] | None = None,
    n_folds: int = N_FOLDS, groups: Any = None, score: Callable[[Any, Any, Any], float] | None = None,
) -> Any:  # fmt: skip
    """Fit a learner on ``train`` with the penalty that does best on ``held``, on ``folds``, or on folds of ``train``.

    Parameters
    ----------
    learner : CRF, SSVM or PlackettLuce
        Without ``l2``.
    train, held : Part
        Encoded by the learner.
    folds : list of Fold, optional
        Where inputs depend on the fold; encoded each on its own.
    n_folds : int
    groups : array, optional
        Samples of one group are held out together.
    score : callable, optional
        ``score(model, X, y)``; the model's own by default.

    Returns
    -------
    learner
        Fitted, with ``l2s_``, ``cv_scores_``, ``best_params_`` and ``best_score_``. Ctrl-C ends the search: the learner
        is fitted with the best penalty so far, and then ``KeyboardInterrupt`` is raised again.
    """
    if held is not None:
        folds = [Fold(train, held)]
    elif folds is None:
        splits = splits_of(n_folds, train.y, groups, items=False, random_state=learner.random_state)
        folds = cut_folds(train.X, train.y, train.weight, splits)
    started = time.perf_counter()
    stop = None
    try:
        path = penalty_path(learner, folds, scoring=score)
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "path"):  # before the first penalty was tried
            raise
        path, stop = interrupt.path, interrupt
        warn_caller(
            f"the search was interrupted after {_penalties(len(path.values))}: the model is learnt with the best so "
            f"far, l2={path.setting()['l2']}; interrupt again to end that, too",
            UserWarning,
        )
    seconds = {"tune": time.perf_counter() - started}
    try:
        with stage(f"l2={path.setting()['l2']} on all training data"):
            learner.set_params(**path.setting()).fit(*train)
    finally:
        if hasattr(learner, "coef_"):  # after another Ctrl-C too
            learner.fit_seconds_ = seconds | getattr(learner, "fit_seconds_", {})
            path.note_on(learner)
    if stop is not None:
        raise stop
    return learner


def _penalties(n: int) -> str:
    return f"{n} penalty" if n == 1 else f"{n} penalties"


def tuning_record(model: Any) -> dict[str, Any] | None:
    """How the penalty of a model was chosen, for JSON; None if it was given."""
    if not hasattr(model, "cv_scores_"):
        return None
    curve = [
        {"l2": float(l2), "score": float(np.mean(scores)), "folds": [float(score) for score in scores]}
        for l2, scores in zip(model.l2s_, np.atleast_2d(model.cv_scores_))
    ]
    return {"l2": model.l2_, "score": model.best_score_, "curve": curve}


def tuning_rows(record: dict[str, Any] | None) -> Sequence[Sequence[str]]:
    """The same as rows of a summary.

    >>> tuning_rows({"l2": 3.0, "score": 0.9, "curve": [{"l2": 10.0, "score": 0.8}, {"l2": 3.0, "score": 0.9}]})
    [['tuned', 'l2 3, held-out score 0.9000'], ['curve', '10: 0.8000, 3: 0.9000']]
    """
    if record is None:
        return []
    shown = ", ".join(f"{each['l2']:.3g}: {each['score']:.4f}" for each in record["curve"])
    return [["tuned", f"l2 {record['l2']:.3g}, held-out score {record['score']:.4f}"], ["curve", shown]]
