"""Classification with wrong labels: stratified noise, nested cross-validation, and paths over the penalty.

The protocol of Table 1 in Do, Le, Teo, Chapelle and Smola, Tighter bounds for structured estimation, NIPS 2008: a
fixed share of the rows of each class is chosen and their labels are permuted among them, before folds are cut, so that
test labels are as noisy as those of training; the penalty is chosen by an inner cross-validation on the training part.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.estimators import CRF, SSVM
from palmette.structures import Multiclass

LEARNERS = ("logistic", "convex", "ramp from convex", "ramp from logistic")
_FITTED = ("encoder_", "codec_", "scorer_", "coef_", "result_")


def shuffled(y: Any, share: float, seed: int) -> np.ndarray:
    """Labels of which a share is permuted: as many of each class are chosen, and get the labels of one another.

    Some get the label that they had, so that fewer than ``share`` are wrong.

    >>> shuffled(["a"] * 50 + ["b"] * 50, 0.2, seed=0).tolist().count("a")
    50
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be between 0 and 1, got {share!r}")
    given, rng = np.asarray(y), np.random.default_rng(seed)
    members = [np.flatnonzero(given == label) for label in np.unique(given)]
    chosen = np.concatenate([rng.permutation(rows)[: round(share * len(rows))] for rows in members])
    out = given.copy()
    out[chosen] = given[rng.permutation(chosen)]
    return out


@dataclass(frozen=True)
class Folds:
    """Stratified folds. A class with one row cannot be in training and in test: it stays in every training part.

    Attributes
    ----------
    fold : ndarray of int, shape (n_samples,)
        Number of each row's fold; -1 for rows that are never tested.
    lonely : list
        The classes with one row.
    """

    fold: np.ndarray
    n_folds: int
    lonely: list[Any] = field(default_factory=list)

    @classmethod
    def cut(cls, y: np.ndarray, n_folds: int, seed: int) -> Folds:
        """Deal the rows of each class out to the folds in turn, in random order.

        >>> folds = Folds.cut(np.array(list("aaaabbbc")), 2, seed=0)
        >>> folds.lonely, int(np.sum(folds.fold < 0))
        (['c'], 1)
        """
        if n_folds < 2:
            raise ValueError(f"cross-validation needs at least 2 folds, got {n_folds!r}")
        rng, fold, dealt, lonely = np.random.default_rng(seed), np.full(len(y), -1), 0, []
        for label in np.unique(y):
            rows = rng.permutation(np.flatnonzero(y == label))
            if len(rows) == 1:
                lonely.append(label.item())
                continue
            fold[rows] = (dealt + np.arange(len(rows))) % n_folds
            dealt += len(rows)
        if np.all(fold < 0):
            raise ValueError("every class has one row only: there is nothing to test on")
        return cls(fold, n_folds, lonely)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of the training and of the test rows of each fold that has test rows."""
        for k in range(self.n_folds):
            test = np.flatnonzero(self.fold == k)
            if len(test):
                yield np.flatnonzero(self.fold != k), test


def standardised(train: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Tables with the means and deviations of the columns of ``train`` taken out; constant columns become 0."""
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale <= 1e-12 * (1.0 + np.abs(mean))] = 1.0
    return [(table - mean) / scale for table in (train, *others)]


def some_rows(y: np.ndarray, n_rows: int, seed: int) -> np.ndarray:
    """At most ``n_rows`` rows, of each class its share, but at least two (one if there is no other)."""
    if len(y) <= n_rows:
        return np.arange(len(y))
    rng, chosen = np.random.default_rng(seed), []
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen.append(rows[: max(2, round(n_rows * len(rows) / len(y)))])
    return np.sort(np.concatenate(chosen))


def path(
    X: np.ndarray, y: np.ndarray, strengths: Sequence[float], tol: float
) -> Iterator[tuple[str, float, Any]]:
    """Learner, C and fitted model, for ascending C: each starts where the one before it ended.

    The ramp loss starts from the convex solution and from logistic regression with the same C.
    """
    options: dict[str, Any] = {"tol": tol, "n_jobs": 1, "warm_start": True}
    logistic, convex = CRF(Multiclass(), **options), SSVM(Multiclass(), **options)
    for C in sorted(strengths):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield "logistic", C, logistic.set_params(C=C).fit(X, y)
            yield "convex", C, convex.set_params(C=C).fit(X, y)
            for name, start in (("convex", convex), ("logistic", logistic)):
                yield f"ramp from {name}", C, ramp_from(start, C, tol).fit(X, y)


def ramp_from(start: Any, C: float, tol: float) -> SSVM:
    """A ramp loss learner that will start from the weights of another model."""
    model = SSVM(Multiclass(), loss="ramp", C=C, tol=tol, n_jobs=1, warm_start=True)
    for name in _FITTED:
        setattr(model, name, getattr(start, name))
    return model


@dataclass(frozen=True)
class NestedResult:
    """What one outer fold gave: counts of right answers by learner, and what was chosen for it."""

    n_test: int
    noisy: dict[str, int]
    clean: dict[str, int]
    C: dict[str, float]
    validated: dict[str, float]
    seconds: float


def nested_fold(
    X: np.ndarray, noisy: np.ndarray, clean: np.ndarray, train: np.ndarray, test: np.ndarray,
    strengths: Sequence[float], *, n_inner: int, seed: int, tol: float = 1e-3, selection_tol: float = 1e-2,
    selection_rows: int = 8000,
) -> NestedResult:  # fmt: skip
    """Choose C for each learner on the training rows, train, and count right answers on the test rows.

    ``ramp`` is the ramp loss from the start that was the better one in the inner cross-validation.
    """
    started = time.process_time()
    chosen, validated = choose(
        X[train],
        noisy[train],
        strengths,
        n_inner=n_inner,
        seed=seed,
        tol=selection_tol,
        n_rows=selection_rows,
    )
    table, questions = standardised(X[train], X[test])
    right: dict[str, dict[str, int]] = {"noisy": {}, "clean": {}}
    for learner, C, model in path(table, noisy[train], sorted(set(chosen.values())), tol):
        if chosen[learner] == C:
            answers = model.predict(questions)
            right["noisy"][learner] = int(np.sum(answers == noisy[test]))
            right["clean"][learner] = int(np.sum(answers == clean[test]))
    best = max(LEARNERS[2:], key=lambda name: validated[name])
    for counts in (*right.values(), chosen, validated):
        counts["ramp"] = counts[best]
    seconds = time.process_time() - started
    return NestedResult(len(test), right["noisy"], right["clean"], chosen, validated, seconds)


def choose(
    X: np.ndarray,
    y: np.ndarray,
    strengths: Sequence[float],
    *,
    n_inner: int,
    seed: int,
    tol: float,
    n_rows: int,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """C of each learner by inner cross-validation, and its accuracy there; the smallest C among equals."""
    rows = some_rows(y, n_rows, seed)
    X, y = X[rows], y[rows]
    right: dict[str, dict[float, int]] = {name: dict.fromkeys(sorted(strengths), 0) for name in LEARNERS}
    n_tested = 0
    for train, test in Folds.cut(y, n_inner, seed):
        table, questions = standardised(X[train], X[test])
        n_tested += len(test)
        for learner, C, model in path(table, y[train], strengths, tol):
            right[learner][C] += int(np.sum(model.predict(questions) == y[test]))
    chosen = {name: max(counts, key=lambda C: counts[C]) for name, counts in right.items()}
    return chosen, {name: right[name][chosen[name]] / n_tested for name in LEARNERS}


def accuracy_targets(
    sets: Sequence[str], shares: Mapping[tuple[str, float], Mapping[str, float]]
) -> list[tuple[str, float, float]]:
    """What is wanted of accuracies in % by set and share of noise, as far as there are some: name, least, value."""
    gains = {key: found["ramp"] - found["convex"] for key, found in shares.items()}
    noisy = [gains[name, 0.2] for name in sets if (name, 0.2) in gains]
    rows: list[tuple[str, float, float]] = []
    if len(noisy) == len(sets):
        rows.append(("20 %: sets on which ramp is above convex", 5, sum(gain > 0 for gain in noisy)))
    for name, gain, level in (("letter", 12.0, 63.0), ("satimage", 2.5, 70.5), ("segment", 4.0, None)):
        if (name, 0.2) in gains:
            rows.append((f"{name}, 20 %: ramp - convex", gain, gains[name, 0.2]))
            if level is not None:
                rows.append((f"{name}, 20 %: ramp", level, shares[name, 0.2]["ramp"]))
    clean = [name for name in sets if (name, 0.0) in gains]
    return rows + [(f"{name}, 0 %: ramp - convex", -1.0, gains[name, 0.0]) for name in clean]
