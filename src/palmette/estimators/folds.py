"""Cross-validation inside a fit: inputs that are encoded once, cut into folds, and scored setting by setting."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from palmette.contracts.executor import State
from palmette.data.annotation import is_partial
from palmette.estimators.training import seed_of
from palmette.executors.choose import executor_for
from palmette.features.encoded import EncodedInputs
from palmette.stages import stage, step_callbacks

Scorer = Callable[[Any, Any, Any], float]  # of a model, inputs and outputs


class Part(NamedTuple):
    """Some samples: what ``fit`` and ``score`` take."""

    X: EncodedInputs
    y: list[Any]
    weight: np.ndarray | None


class Fold(NamedTuple):
    """The samples to learn from, and those held out."""

    train: Part
    held: Part


def cut_folds(
    X: EncodedInputs, y: Sequence[Any], weight: np.ndarray | None, splits: Iterable[tuple[Any, Any]]
) -> list[Fold]:
    """The folds of encoded samples, from the numbers of their samples.

    The columns are those of all samples. That gives nothing away: a column that no training sample of a fold has gets
    no weight there, or one that the data does not move from 0.
    """

    def part(numbers: Any, what: str) -> Part:
        numbers = np.asarray(numbers)
        if weight is not None and not np.any(weight[numbers]):
            raise ValueError(
                f"{what} have only samples of weight 0, {len(numbers)} in all: give other folds or other weights"
            )
        return Part(X[numbers], [y[i] for i in numbers], None if weight is None else weight[numbers])

    return [
        Fold(
            part(train, f"the training samples of fold {k}"), part(held, f"the held-out samples of fold {k}")
        )
        for k, (train, held) in enumerate(splits)
    ]


def copy_for_folds(learner: Any, **settings: Any) -> Any:
    """A copy of a learner, not fitted and without callbacks, which may hold what cannot be copied."""
    return clone(type(learner)(**{**learner.get_params(deep=False), "callbacks": None, **settings}))


def splits_of(
    cv: Any, y: Sequence[Any], groups: Any, *, items: bool, random_state: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Numbers of the training and held-out samples of every fold.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or iterable of pairs of indices
        An int stands for as many shuffled folds: of whole groups if there are ``groups``, else with as many samples of
        each class (``items``, all known), else of samples.
    y : list
        Outputs, one per sample.
    groups : array-like of shape (n_samples,) or None
    items : bool
        Whether outputs are single labels.
    random_state : int, RandomState or None
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv

    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (len(y),):
            raise ValueError(
                f"groups must have one entry per sample, {len(y)} in all, got an array of shape {groups.shape}"
            )
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        n = len(y) if groups is None else len(np.unique(groups))
        if not 2 <= cv <= n:
            what = "samples" if groups is None else "groups"
            raise ValueError(f"cv={cv} folds need at least 2 and at most as many as {what}, which are {n}")
        shuffled = {"shuffle": True, "random_state": seed_of(random_state)}
        if groups is not None:
            splitter: Any = GroupKFold(int(cv), **shuffled)
        else:
            splitter = (StratifiedKFold if items and not is_partial(y) else KFold)(int(cv), **shuffled)
    else:
        splitter = check_cv(cv)
    found = list(splitter.split(np.zeros((len(y), 1)), y if items else None, groups))
    if not found:
        raise ValueError(f"cv={cv!r:.60} gives no folds")
    return found


@contextmanager
def placed_folds(learner: Any, folds: Sequence[Fold]) -> Iterator[Callable[..., np.ndarray]]:
    """A function of a setting and a scorer: the held-out scores of all folds, each fitted where its samples are.

    A copy of the learner stays with every fold; with ``warm_start`` it goes on from the setting before.
    """
    with executor_for(1, whole_fits=True) as executor:
        names = [f"fold {k} of {len(folds)}" if len(folds) > 1 else "" for k in range(1, len(folds) + 1)]
        placed = executor.place([(learner, fold, name) for fold, name in zip(folds, names)])

        def scores(setting: Mapping[str, Any], scorer: Scorer | None = None) -> np.ndarray:
            return np.array(executor.run(score_fold, placed, setting, scorer), float)

        try:
            yield scores
        finally:
            executor.release(placed)


def score_fold(
    task: tuple[Any, Fold, str], state: State, setting: Mapping[str, Any], scorer: Scorer | None
) -> float:
    """Fit the training part of a fold with a setting and score its held-out part, by the model's own score by default.

    Warnings are left out: those of the fit on all samples are enough.
    """
    learner, fold, name = task
    if "model" not in state:
        state["model"] = clone(learner)
        state["model"]._same_samples = learner.warm_start
    with warnings.catch_warnings(), stage(name):
        warnings.simplefilter("ignore")
        model = state["model"].set_params(**setting, callbacks=step_callbacks() or None).fit(*fold.train)
        return model.score(*fold.held) if scorer is None else scorer(model, fold.held.X, fold.held.y)
