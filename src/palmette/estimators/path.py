"""Paths of penalties: held-out scores from strong to weak ones, each fit going on where the last one ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from palmette.errors import MissingCapability
from palmette.estimators.folds import Fold, Part, fold_scores
from palmette.estimators.strengths import checked_strength, wanted_tol

logger = logging.getLogger("palmette")

# Where no penalties are given: multiples of the usual one, from FIRST on towards the weak ones while the score gains.
MULTIPLES = (1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
FIRST = MULTIPLES.index(30.0)
GAIN = 0.02
SEARCH_TOL = 0.03  # a relative gap of the objective at which held-out scores hardly move any more


@dataclass(frozen=True)
class Path:
    """Penalties from strong to weak and what held-out samples say about them.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        Penalties, or multiples of the usual one.
    scores : ndarray of shape (n_values, n_folds)
    multiples : bool
    """

    values: np.ndarray
    scores: np.ndarray
    multiples: bool

    @property
    def means(self) -> np.ndarray:
        """Mean score of every penalty."""
        return self.scores.mean(axis=1)

    @property
    def best(self) -> int:
        """Place of the best penalty, of equally good ones that of the strongest."""
        return int(np.argmax(self.means))

    def setting(self, place: int | None = None) -> dict[str, Any]:
        """The parameter ``l2`` of a learner, at the best place or another one."""
        return _setting(self.values[self.best if place is None else place], self.multiples)

    def note_on(self, fitted: Any) -> None:
        """Tell a learner that was fitted with the best penalty how it was found."""
        unit = 1.0
        if self.multiples and getattr(fitted, "l2_node", None) is None:
            unit = fitted.l2_ / self.values[self.best]
        fitted.l2s_, fitted.cv_scores_ = unit * self.values, self.scores
        fitted.best_params_, fitted.best_score_ = self.setting(), float(self.means[self.best])


def penalty_path(
    learner: Any,
    folds: Sequence[Fold],
    *,
    l2s: Any = None,
    scoring: Any = None,
    search_tol: float | None = None,
) -> Path:
    """Held-out scores of a learner along a path of penalties.

    Parameters
    ----------
    learner : CRF, SSVM or PlackettLuce
        Not fitted; a copy of it is fitted on each fold. Without a kernel it goes on from the weights or the dual
        variables of the penalty before.
    folds : list of Fold
    l2s : array-like, optional
        Penalties, all of which are tried. By default multiples of the usual penalty: 30, 10, 3, 1, ... until the score
        falls or hardly gains, and on from 30 to stronger ones if that was the best.
    scoring : callable or name, optional
        A scorer, or its name for :func:`palmette.metrics.get_scorer`; ``learner.score`` by default.
    search_tol : float, optional
        ``tol`` of these fits; by default that of the learner, but not below 0.03.

    Returns
    -------
    Path
    """
    from palmette.metrics import get_scorer

    scorer = None if scoring is None else get_scorer(scoring)
    tol = max(wanted_tol(learner), SEARCH_TOL) if search_tol is None else search_tol
    models = [clone(learner).set_params(callbacks=None, verbose=0, tol=tol) for _ in folds]
    for model in models:
        if getattr(learner, "kernel", None) is None:  # which has no weights to go on from
            model.set_params(warm_start=True)
            model._same_samples = True
    found: dict[float, np.ndarray] = {}

    def mean_at(value: float) -> float:
        setting = _setting(value, l2s is None)
        found[value] = row = fold_scores(models, setting, folds, None if scorer is None else _score(scorer))
        level = logging.INFO if learner.verbose else logging.DEBUG
        logger.log(level, "%s, l2=%s: score %.6g", type(learner).__name__, setting["l2"], row.mean())
        if not np.all(np.isfinite(row)):
            fold = int(np.argmin(np.isfinite(row)))
            raise ValueError(
                f"the score of fold {fold} is {row[fold]} at l2={setting['l2']}; it must be finite"
            )
        return float(row.mean())

    if l2s is None:
        _walk(mean_at)
    else:
        for value in penalties_given(l2s):
            mean_at(value)
    values = sorted(found, reverse=True)
    return Path(np.array(values), np.array([found[value] for value in values]), l2s is None)


def penalties_given(l2s: Any) -> list[float]:
    """The penalties of a path, the strongest first."""
    values = {checked_strength("l2s", value) for value in np.ravel(l2s).tolist()}
    if not values:
        raise ValueError("l2s is empty: give the penalties to choose from, or None")
    return sorted(values, reverse=True)


def _walk(mean_at: Callable[[float], float]) -> None:
    """Go from FIRST to weaker multiples as long as the score gains, and to stronger ones if it fell at once.

    A gain counts if it is at least GAIN of the range of the scores so far. On a plateau, whose weak end takes the
    longest, the walk ends.
    """
    means = [mean_at(MULTIPLES[FIRST])]
    for places in (MULTIPLES[FIRST + 1 :], MULTIPLES[FIRST - 1 :: -1]):
        for value in places:
            best, worst = max(means), min(means)
            means.append(mean_at(value))
            if means[-1] <= best + GAIN * (max(best, means[-1]) - worst):
                break
        if max(means) > means[0]:
            return


def _setting(value: float, multiple: bool) -> dict[str, Any]:
    return {"l2": f"{value:g}x" if multiple else float(value)}


def _score(scorer: Any) -> Callable[[Any, Part], float]:
    return lambda model, held: scorer(model, held.X, held.y)


def refuse_gram(learner: Any) -> None:
    """Folds of a Gram matrix would have to choose among its columns too."""
    if learner.__sklearn_tags__().input_tags.pairwise:
        raise MissingCapability(
            f"{type(learner).__name__} cannot cut a Gram matrix into folds, which kernel={learner.kernel!r} is given: "
            "use GridSearchCV over l2, or another kernel"
        )
