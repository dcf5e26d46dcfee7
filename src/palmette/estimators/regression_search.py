"""What searches of kernels and strengths share: folds, scores of held-out predictions, and grids."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from palmette.errors import MissingCapability
from palmette.estimators.folds import splits_of
from palmette.estimators.regression_data import Inputs, Outputs
from palmette.kernels import Nystroem, resolve_kernel
from palmette.memory import in_words

MOST = 10_000  # strengths of a grid
WIDEST, NARROWEST = 10.0, 1e-6  # penalties, relative to the mean of K(x, x)


class Folds(NamedTuple):
    """Samples held out, and how their predictions are scored."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    X: Any
    outputs: Outputs

    @property
    def held(self) -> list[np.ndarray]:
        """Numbers of the samples that each fold holds out."""
        return [held for _, held in self.pairs]

    def task_scores(self, votes: Sequence[np.ndarray], task_loss: Any) -> np.ndarray:
        """One minus the mean task loss of the pre-images of each fold."""
        everyone = np.concatenate(self.held)
        found = self.outputs.space.pre_images(np.concatenate(votes), taken(self.X, everyone)).outputs
        return 1.0 - self._means(self.outputs.losses(found, task_loss, everyone))

    def squared_scores(self, votes: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Minus the mean squared distance of predictions and outputs of each fold."""
        off, metric = np.concatenate(votes) - rows[np.concatenate(self.held)], self.outputs.space.metric
        return -self._means(np.einsum("ij,ij->i", off, off if metric is None else off @ metric))

    def _means(self, values: np.ndarray) -> np.ndarray:
        parts = np.split(values, np.cumsum([len(b) for b in self.held])[:-1])
        weight = self.outputs.weight
        return np.array([weight[b] @ part / weight[b].sum() for b, part in zip(self.held, parts)])


def taken(X: Any, numbers: np.ndarray) -> Any:
    """Some of the samples."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[numbers]
    if hasattr(X, "iloc"):
        return X.iloc[numbers]
    return [X[i] for i in numbers]


class Search:
    """What the learners with a search share: a path for every kernel, and the fit with the best of all."""

    kernels: Any
    cv: Any
    scoring: str
    random_state: Any
    remedy = "use GridSearchCV over the plain learner with kernel=Nystroem(...), or fewer samples"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose kernel and strength by cross-validation, then learn from all samples with them.

        Parameters
        ----------
        X, y, sample_weight
            As for the plain learner. Weights count in training and in the scores, not in settings of kernels that
            follow from the inputs, such as ``gamma="scale"``.
        groups : array-like of shape (m,), optional
            Samples of one group are held out together.

        Returns
        -------
        self
        """
        model: Any = self
        started = time.perf_counter()
        model.check()
        kernels = self._kernels()
        X = model._checked(kernels[0], X, reset=True)
        outputs = Outputs.of(model.output, model.task_loss, X, y, sample_weight)
        if not hasattr(X, "__getitem__"):
            X = list(X)
        folds = Folds(self._splits(outputs, groups), X, outputs)
        grids, scores, best, kept = [], [], -np.inf, None
        for number, kernel in enumerate(kernels):
            inputs = Inputs.of(kernel, X)
            gram = inputs.gram(model.copies, type(self).__name__, self.remedy)
            model._say("%r, %d samples, %s", kernel, len(gram), in_words(8.0 * model.copies * gram.size))
            grid, found = self._path(gram, folds)
            grids.append(grid)
            scores.append(found)
            means = found.mean(axis=1)
            if means.max() > best:
                best, place, kept = float(means.max()), (number, int(means.argmax())), (inputs, gram)
        assert kept is not None
        self.kernel_, self.cv_scores_, self.best_score_ = kernels[place[0]], np.array(scores), best
        self._note_choice(np.array(grids), place)
        model._learn(*kept, outputs)
        self._note_result()
        model._say_end(started)
        return self

    def _kernels(self) -> list[Any]:
        given = self.kernels if isinstance(self.kernels, list | tuple) else [self.kernels]
        if not given:
            raise ValueError("kernels is empty: give at least one kernel to try")
        found = [resolve_kernel(kernel, f"kernels[{k}]") for k, kernel in enumerate(given)]
        for kernel in found:
            kernel.check()
            if isinstance(kernel, Nystroem):
                raise MissingCapability(
                    f"{type(self).__name__} cannot hold out samples of {kernel!r}: use GridSearchCV over "
                    f"{type(self).__name__[:-2]}, or a kernel without Nystroem"
                )
        return found

    def _splits(self, outputs: Outputs, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        y, items = outputs.y, _all_labels(outputs.y)
        rare = isinstance(self.cv, int) and items and min(np.unique(y, return_counts=True)[1]) < self.cv
        pairs = splits_of(self.cv, y, groups, items=items and not rare, random_state=self.random_state)
        for k, (train, held) in enumerate(pairs):
            if len(np.intersect1d(train, held)) or len(train) + len(held) != len(y):
                raise ValueError(
                    f"cv={self.cv!r:.60}: fold {k} learns from {len(train)} and holds out {len(held)} of {len(y)} "
                    "samples; held-out residuals need folds that learn from all samples that they do not hold out"
                )
            for part, what in ((train, "training"), (held, "held-out")):
                if not outputs.weight[part].any():
                    raise ValueError(
                        f"all {what} samples of fold {k} have the weight 0: give other folds or weights"
                    )
        return pairs

    def _scores(self, folds: Folds, path: Iterable[Any], rows: np.ndarray) -> np.ndarray:
        model: Any = self
        found = []
        for strength in path:
            votes = [
                each.votes if model.decode_intercept else each.votes - each.intercept for each in strength
            ]
            found.append(
                folds.squared_scores([each.votes for each in strength], rows)
                if self.scoring == "squared"
                else folds.task_scores(votes, model.task_loss)
            )
        return np.array(found)

    @property
    def strengths_are_given(self) -> bool:
        """Whether the strengths that were tried are the user's, not relative to the data."""
        raise NotImplementedError

    def _check_search(self) -> None:
        if self.scoring not in ("task", "squared"):
            raise ValueError(f"scoring must be 'task' or 'squared', got {self.scoring!r}")

    def _path(self, gram: np.ndarray, folds: Folds) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _note_choice(self, grids: np.ndarray, place: tuple[int, int]) -> None:
        raise NotImplementedError

    def _note_result(self) -> None:
        pass


def _all_labels(y: list[Any]) -> bool:
    return all(isinstance(label, str | int | np.integer | bool) for label in y)


def counts(given: Any) -> bool:
    """Whether a number of strengths is given, not the strengths."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def grid_of(name: str, given: Any, unit: float, power: int) -> np.ndarray:
    """The strengths to try, the strongest first; a number of them stands for a grid relative to ``unit``."""
    if counts(given):
        if not 1 <= given <= MOST:
            raise ValueError(f"{name} must be from 1 to {MOST}, or a list of numbers, got {given!r}")
        return unit * np.geomspace(WIDEST, NARROWEST, int(given)) ** power if given > 1 else np.array([unit])
    found = np.ravel(given).tolist()
    numbers = all(isinstance(value, Real) and 0.0 < float(value) < np.inf for value in found)
    if not found or not numbers:
        raise ValueError(f"{name} must be finite numbers above 0, got {given!r:.60}")
    return np.array(sorted({float(value) for value in found}, reverse=True))
