"""Output-kernel regressions whose kernel and penalty are chosen by cross-validation, which costs about one fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from palmette.errors import MissingCapability
from palmette.estimators.folds import splits_of
from palmette.estimators.output_regression import ballots_of
from palmette.estimators.regression_data import Inputs, Outputs
from palmette.estimators.sorr import SORR
from palmette.estimators.sosc import SOSC
from palmette.estimators.strengths import checked_strength
from palmette.kernels import Nystroem, resolve_kernel
from palmette.memory import in_words
from palmette.registry import register
from palmette.regression import BallPath, held_out_ball, held_out_ridge

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose kernel and strength by cross-validation, then learn from all samples with them.

        Parameters
        ----------
        X, y, sample_weight
            As for the plain learner. Weights count in training and in the scores.
        groups : array-like of shape (m,), optional
            Samples of one group are held out together.

        Returns
        -------
        self
        """
        model: Any = self
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
            gram = inputs.gram(model.copies, type(self).__name__)
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


def grid_of(name: str, given: Any, unit: float, power: int) -> np.ndarray:
    """The strengths to try, the strongest first; a number of them stands for a grid relative to ``unit``."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise ValueError(f"{name} must be at least 1, or a list of numbers, got {given!r}")
        return unit * np.geomspace(WIDEST, NARROWEST, int(given)) ** power if given > 1 else np.array([unit])
    found = sorted({checked_strength(name, value) for value in np.ravel(given).tolist()}, reverse=True)
    if not found or found[-1] == 0.0:
        raise ValueError(f"{name} must be numbers above 0, got {given!r:.60}")
    return np.array(found)


@register("learner")
class SORRCV(Search, SORR):
    """:class:`~palmette.SORR` whose kernel and penalty are chosen by cross-validation.

    One reduction of each kernel matrix serves all penalties and folds: held-out predictions follow from those of all
    samples by identities, so they are those of fits without the held-out samples, up to rounding.

    Parameters
    ----------
    output, fit_intercept, decode_intercept, task_loss, verbose
        As for :class:`~palmette.SORR`.
    kernels : list of kernels, or one, default="rbf"
    l2s : int or list of float, default=20
        Penalties, or how many: from 10 to 1e-6 times the mean of ``K(x, x)``.
    cv : int, splitter of scikit-learn, or iterable of pairs of indices, default=10
        Folds, each of which learns from all samples that it does not hold out. An int stands for shuffled ones: of
        whole ``groups`` if ``fit`` is given any, else with an equal share of each label where outputs are labels.
    scoring : {"task", "squared"}, default="task"
        Held-out score: one minus the mean task loss of predictions, or minus the mean squared distance in the output
        space, which needs no pre-images.
    random_state : int, default=0
        Of the folds.

    Attributes
    ----------
    kernel_, l2_ : kernel and float
        What was chosen; of equally good ones the first kernel and the strongest penalty.
    l2s_ : ndarray of shape (n_kernels, n_l2s)
    cv_scores_ : ndarray of shape (n_kernels, n_l2s, n_folds)
    best_params_ : dict
        ``SORR(output, **best_params_)`` is the model that was learnt in the end.
    best_score_ : float
    others
        As for :class:`~palmette.SORR`.

    Notes
    -----
    What depends on inputs alone is that of all samples: ``gamma="scale"`` and columns of n-grams. Candidates for
    pre-images are the outputs of all samples; one that only held-out samples have gets no votes.

    Examples
    --------
    >>> from palmette import SORRCV
    >>> from palmette.kernels import Polynomial
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SORRCV("dirac", kernels=[Polynomial(d) for d in (1, 2, 3)], cv=5, fit_intercept=True).fit(X, y)
    >>> model.cv_scores_.shape, bool(model.best_score_ > 0.95)
    ((3, 20, 5), True)
    """

    copies = 4
    kernel: Any = None
    l2 = None
    C = None
    tol = 1e-8
    max_iter = 200

    def __init__(
        self,
        output: Any = "dirac",
        *,
        kernels: Any = "rbf",
        l2s: Any = 20,
        cv: Any = 10,
        scoring: str = "task",
        fit_intercept: bool = False,
        decode_intercept: bool = True,
        task_loss: Any = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.output = output
        self.kernels = kernels
        self.l2s = l2s
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.decode_intercept = decode_intercept
        self.task_loss = task_loss
        self.random_state = random_state
        self.verbose = verbose

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        self._check_search()
        grid_of("l2s", self.l2s, 1.0, 1)

    def _path(self, gram: np.ndarray, folds: Folds) -> tuple[np.ndarray, np.ndarray]:
        outputs, rows = folds.outputs, folds.outputs.rows
        grid = grid_of("l2s", self.l2s, mean_diagonal(gram), 1)
        table = rows if self.scoring == "squared" else ballots_of(outputs, rows)
        weight = None if np.all(outputs.weight == 1.0) else outputs.weight
        path = held_out_ridge(gram, table, grid, folds.held, weight, bool(self.fit_intercept))
        return grid, self._scores(folds, path, rows)

    def _note_choice(self, grids: np.ndarray, place: tuple[int, int]) -> None:
        self.l2s_, self._chosen = grids, float(grids[place])
        self.best_params_ = {"kernel": self.kernel_, "l2": self._chosen}

    def _penalty(self) -> float:
        return self._chosen


@register("learner")
class SOSCCV(Search, SOSC):
    """:class:`~palmette.SOSC` (``constraint="l2"``) whose kernel and radius are chosen by cross-validation.

    The search is over the multiplier ``b`` of the constraint, which means the same for any number of samples, and the
    radius of the model is that of the best ``b`` on all samples: ``SOSC(output, **best_params_)`` is the same model.
    Every fold has one pair of eigendecompositions for all multipliers, and its held-out predictions are those of a fit.

    Parameters
    ----------
    output, fit_intercept, decode_intercept, task_loss, verbose
        As for :class:`~palmette.SOSC`.
    kernels, cv, scoring, random_state
        As for :class:`~palmette.SORRCV`.
    multipliers : int or list of float, default=20
        Values of ``b``, or how many.

    Attributes
    ----------
    kernel_, R_ : kernel and float
        What was chosen.
    multipliers_ : ndarray of shape (n_kernels, n_multipliers)
    cv_scores_ : ndarray of shape (n_kernels, n_multipliers, n_folds)
    best_params_, best_score_
        As for :class:`~palmette.SORRCV`.
    others
        As for :class:`~palmette.SOSC`.

    Examples
    --------
    >>> from palmette import SOSCCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SOSCCV("dirac", kernels="rbf", multipliers=8, cv=5).fit(X, y)
    >>> model.cv_scores_.shape, bool(model.best_score_ > 0.95), model.best_params_["R"] == model.result_.radius
    ((1, 8, 5), True, True)
    """

    copies = 6
    kernel: Any = None
    R = 1.0
    constraint = "l2"
    tol = 1e-8
    max_iter = 3000

    def __init__(
        self,
        output: Any = "dirac",
        *,
        kernels: Any = "rbf",
        multipliers: Any = 20,
        cv: Any = 10,
        scoring: str = "task",
        fit_intercept: bool = False,
        decode_intercept: bool = True,
        task_loss: Any = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.output = output
        self.kernels = kernels
        self.multipliers = multipliers
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.decode_intercept = decode_intercept
        self.task_loss = task_loss
        self.random_state = random_state
        self.verbose = verbose

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        self._check_search()
        grid_of("multipliers", self.multipliers, 1.0, 2)

    def _path(self, gram: np.ndarray, folds: Folds) -> tuple[np.ndarray, np.ndarray]:
        outputs, rows = folds.outputs, folds.outputs.rows
        unit = mean_diagonal(gram) ** 2 * spread_of_outputs(outputs, rows)
        grid = grid_of("multipliers", self.multipliers, unit, 2)
        path = held_out_ball(
            gram, rows, grid, folds.pairs, outputs.weight, bool(self.fit_intercept), outputs.space.metric,
            rows if self.scoring == "squared" else ballots_of(outputs, rows),
            watch=lambda fold: self._say("fold %d is done", fold),
        )  # fmt: skip
        return grid, self._scores(folds, path, rows)

    def _note_choice(self, grids: np.ndarray, place: tuple[int, int]) -> None:
        self.multipliers_, self._chosen = grids, float(grids[place])

    def _at(self, path: BallPath) -> Any:
        return path.at_multiplier(self._chosen)

    def _note_result(self) -> None:
        self.R_ = self.result_.radius
        self.best_params_ = {"kernel": self.kernel_, "R": self.R_}


def mean_diagonal(gram: np.ndarray) -> float:
    """Mean of ``K(x, x)``; 1 where all are 0."""
    return float(gram.diagonal().mean()) or 1.0


def spread_of_outputs(outputs: Outputs, rows: np.ndarray) -> float:
    """Mean eigenvalue of the output kernel over all samples, for each sample."""
    metric = outputs.space.metric
    total = np.einsum("ij,ij->", rows, rows if metric is None else rows @ metric)
    return float(total) / len(rows) / min(rows.shape) or 1.0
