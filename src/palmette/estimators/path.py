"""Paths of penalties: held-out scores from strong to weak penalties, each fit started from the previous one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.errors import MissingCapability, warn_caller
from palmette.estimators.folds import Fold, copy_for_folds, placed_folds
from palmette.estimators.strengths import checked_strength, times_usual, wanted_tol
from palmette.stages import stage

logger = logging.getLogger("palmette")

# Where no penalties are given: multiples of the usual one. Those of even places are powers of ten.
MULTIPLES = (1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
START = tuple(map(MULTIPLES.index, (10.0, 1.0, 0.1)))
GAIN = 0.02
DECIMALS = 12  # of mean scores: what rounding leaves of a tie is no gain
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
        return _mean(self.scores)

    @property
    def best(self) -> int:
        """Place of the best penalty, of equally good ones of the strongest; if all multiples are, of the usual one."""
        if self.multiples and self.is_flat:
            return int(np.argmin(np.abs(np.log(self.values))))
        return int(np.argmax(self.means))

    @property
    def is_flat(self) -> bool:
        """Whether all penalties do equally well, so that the scores do not tell which one to choose."""
        return bool(np.ptp(self.means) == 0.0)

    def setting(self) -> dict[str, Any]:
        """The parameter ``l2`` of a learner, at the best place."""
        return _setting(self.values[self.best], self.multiples)

    def note_on(self, fitted: Any) -> None:
        """Tell a learner that was fitted with the best penalty how it was found."""
        unit = 1.0
        if self.multiples and getattr(fitted, "l2_node", None) is None:
            unit = fitted.l2_ / self.values[self.best]
        fitted.l2s_, fitted.cv_scores_ = unit * self.values, self.scores
        fitted.best_params_, fitted.best_score_ = self.setting(), float(self.scores[self.best].mean())


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
        Penalties, or multiples of the usual one such as "3x", all of which are tried. By default the multiples 10, 1
        and 0.1, weaker or stronger powers of ten as long as the score gains, and one between the best two.
    scoring : callable or name, optional
        A scorer, or its name for :func:`palmette.metrics.get_scorer`; ``learner.score`` by default.
    search_tol : float, optional
        ``tol`` of these fits; by default that of the learner, but not below 0.03.

    Returns
    -------
    Path
        A ``KeyboardInterrupt`` has what was found before as its attribute ``path``, if that is any penalty.
    """
    from palmette.metrics import get_scorer

    scorer = None if scoring is None else get_scorer(scoring)
    tol = max(wanted_tol(learner), SEARCH_TOL) if search_tol is None else search_tol
    # A kernel has no weights to go on from.
    warm = {} if learner.kernel is not None else {"warm_start": True}
    model = copy_for_folds(learner, verbose=0, tol=tol, **warm)
    given, multiples = ([], True) if l2s is None else penalties_given(l2s)
    found: dict[float, np.ndarray] = {}

    def mean_at(value: float) -> float:
        setting = _setting(value, multiples)
        with stage(f"l2={setting['l2']}{_so_far(found, multiples)}"):
            found[value] = row = scores(setting, scorer)
        level = logging.INFO if learner.verbose else logging.DEBUG
        logger.log(level, "%s, l2=%s: score %.6g", type(learner).__name__, setting["l2"], row.mean())
        if not np.all(np.isfinite(row)):
            fold = int(np.argmin(np.isfinite(row)))
            raise ValueError(
                f"the score of fold {fold} is {row[fold]} at l2={setting['l2']}; it must be finite"
            )
        return float(_mean(row))

    try:
        with placed_folds(model, folds) as scores:
            if l2s is None:
                _walk(mean_at)
            else:
                for value in given:
                    mean_at(value)
    except KeyboardInterrupt as stop:
        if found:
            stop.path = _path(found, multiples)  # type: ignore[attr-defined]
        raise
    path = _path(found, multiples)
    if len(found) > 1 and path.is_flat:
        warn_caller(
            f"{type(learner).__name__}: the held-out score is {path.means[0]:.6g} with each of {len(found)} penalties "
            f"and does not show which one is best: l2={path.setting()['l2']} is taken. Give another scoring, or more "
            "samples.",
            UserWarning,
        )
    return path


def _so_far(found: Mapping[float, np.ndarray], multiples: bool) -> str:
    """The best penalty before another is tried, in words."""
    if not found:
        return ""
    path = _path(found, multiples)
    return f" (best: {path.setting()['l2']}, {path.means[path.best]:.4f})"


def _path(found: Mapping[float, np.ndarray], multiples: bool) -> Path:
    values = sorted(found, reverse=True)
    return Path(np.array(values), np.array([found[value] for value in values]), multiples)


def penalties_given(l2s: Any) -> tuple[list[float], bool]:
    """The penalties of a path, the strongest first, and whether they are multiples of the usual one.

    >>> penalties_given([1, 10.0]), penalties_given(["0.1x", "3x"])
    (([10.0, 1.0], False), ([3.0, 0.1], True))
    """
    listed = np.ravel(np.asarray(l2s, dtype=object)).tolist()
    if not listed:
        raise ValueError("l2s is empty: give the penalties to choose from, or None")
    texts = [value for value in listed if isinstance(value, str)]
    if texts and len(texts) < len(listed):
        raise ValueError(
            f"l2s mixes numbers and multiples of the usual penalty such as {texts[0]!r}: use one kind"
        )
    check = times_usual if texts else checked_strength
    return sorted({check("l2s", value) for value in listed}, reverse=True), bool(texts)


def _walk(mean_at: Callable[[float], float]) -> None:
    """Look at powers of ten around the usual penalty, beyond an end that is the best, and then between the best two.

    An end is the best if it is so by at least GAIN of the range of the scores so far: on a plateau, whose weak end
    takes the longest, the walk ends. Scores that are all the same tell nothing: a strong penalty predicts the most
    frequent output everywhere, and the walk goes on to weaker ones until something moves.
    """
    means = {place: mean_at(MULTIPLES[place]) for place in START}
    for end, step in ((START[-1], 2), (START[0], -2)):
        while 0 <= end + step < len(MULTIPLES) and _leads(means, end):
            end += step
            means[end] = mean_at(MULTIPLES[end])
        if len(set(means.values())) == 1:
            return
    best = max(sorted(means), key=means.__getitem__)
    beside = max((place for place in (best - 2, best + 2) if place in means), key=means.__getitem__)
    mean_at(MULTIPLES[(best + beside) // 2])


def _leads(means: Mapping[int, float], end: int) -> bool:
    """Whether the score at an end is better than all others by GAIN of their range, or all are the same."""
    others = max(mean for place, mean in means.items() if place != end)
    return means[end] >= others + GAIN * (max(means.values()) - min(means.values()))


def _mean(scores: np.ndarray) -> np.ndarray:
    return np.round(scores.mean(axis=-1), DECIMALS)


def _setting(value: float, multiple: bool) -> dict[str, Any]:
    value = float(value)
    return {"l2": repr(value).removesuffix(".0") + "x" if multiple else value}


def refuse_gram(learner: Any) -> None:
    """Folds of a Gram matrix would have to choose among its columns too."""
    if learner.__sklearn_tags__().input_tags.pairwise:
        raise MissingCapability(
            f"{type(learner).__name__} cannot cut a Gram matrix into folds, which kernel={learner.kernel!r} is given: "
            "use GridSearchCV over l2, or another kernel"
        )
