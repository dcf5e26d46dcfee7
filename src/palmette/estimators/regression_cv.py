"""Output-kernel regressions whose kernel and penalty are chosen by cross-validation, without fits for each penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.estimators.output_regression import ballots_of
from palmette.estimators.regression_data import Outputs
from palmette.estimators.regression_search import Folds, Search, counts, grid_of
from palmette.estimators.sorr import SORR
from palmette.estimators.sosc import SOSC
from palmette.registry import register
from palmette.regression import BallPath, held_out_ball, held_out_ridge


@register("learner")
class SORRCV(Search, SORR):
    """:class:`~palmette.SORR` whose kernel and penalty are chosen by cross-validation.

    One reduction of each kernel matrix serves all penalties and folds: held-out predictions follow from those of all
    samples by identities, so they are those of fits without the held-out samples, up to rounding. The reduction
    costs some five fits of one penalty, which are Cholesky factors, and each penalty with all its folds about half of
    one: ten folds and 20 penalties took 13 to 20 fits, not 200 (CPU time, 500 to 2,000 samples).

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

    copies = 6
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

    @property
    def strengths_are_given(self) -> bool:
        """Whether ``l2s`` is a list."""
        return not counts(self.l2s)

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
    With ``radii`` it is over the radius itself, as a bound by sample compression wants it: a list fixed beforehand.
    Every fold has one pair of eigendecompositions for all strengths, and its held-out predictions are those of a fit.
    So ten folds and 20 multipliers cost 9 to 15 fits (CPU time, 500 to 2,000 samples), not 200.

    Unlike SORR, no identity takes folds from the decomposition of all samples for less. ``K (K^2 + s I)^-1`` is the
    real part of ``(K + i sqrt(s) I)^-1``, which has such an identity, but ``s = m b / l`` differs for every eigenvalue
    ``l`` of the outputs in every fold: each of r directions would cost what a penalty of SORR does, in complex numbers.

    Parameters
    ----------
    output, fit_intercept, decode_intercept, task_loss, verbose
        As for :class:`~palmette.SOSC`.
    kernels, cv, scoring, random_state
        As for :class:`~palmette.SORRCV`.
    multipliers : int or list of float, optional
        Values of ``b``, or how many; 20 if there are no ``radii``.
    radii : list of float, optional
        Values of R, instead of multipliers.

    Attributes
    ----------
    kernel_, R_ : kernel and float
        What was chosen.
    multipliers_, or radii_ : ndarray of shape (n_kernels, n_strengths)
    cv_scores_ : ndarray of shape (n_kernels, n_strengths, n_folds)
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
        multipliers: Any = None,
        radii: Any = None,
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
        self.radii = radii
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
        if self.radii is not None and self.multipliers is not None:
            raise ValueError(
                f"give multipliers or radii, not both: got multipliers={self.multipliers!r:.60} and "
                f"radii={self.radii!r:.60}"
            )
        if counts(self.radii):
            raise ValueError(f"radii must be a list of numbers above 0, got {self.radii!r}")
        self._grid(1.0)

    @property
    def strengths_are_given(self) -> bool:
        """Whether ``radii`` are: the radius of a multiplier follows from the data."""
        return self.radii is not None

    def _grid(self, unit: float) -> np.ndarray:
        """Radii or multipliers, the strongest constraint first."""
        if self.radii is not None:
            return grid_of("radii", self.radii, 1.0, 1)[::-1]
        return grid_of("multipliers", 20 if self.multipliers is None else self.multipliers, unit, 2)

    def _path(self, gram: np.ndarray, folds: Folds) -> tuple[np.ndarray, np.ndarray]:
        outputs, rows = folds.outputs, folds.outputs.rows
        grid = self._grid(mean_diagonal(gram) ** 2 * spread_of_outputs(outputs, rows))
        path = held_out_ball(
            gram, rows, grid, folds.pairs, outputs.weight, bool(self.fit_intercept), outputs.space.metric,
            rows if self.scoring == "squared" else ballots_of(outputs, rows), self.radii is not None,
            watch=lambda fold: self._say("fold %d is done", fold),
        )  # fmt: skip
        return grid, self._scores(folds, path, rows)

    def _note_choice(self, grids: np.ndarray, place: tuple[int, int]) -> None:
        for name in ("multipliers_", "radii_"):
            self.__dict__.pop(name, None)
        setattr(self, "multipliers_" if self.radii is None else "radii_", grids)
        self._chosen = float(grids[place])

    def _at(self, path: BallPath) -> Any:
        return path.at_multiplier(self._chosen) if self.radii is None else path.at_radius(self._chosen)

    def _note_result(self) -> None:
        self.R_ = self.result_.radius if self.radii is None else self._chosen
        self.best_params_ = {"kernel": self.kernel_, "R": self.R_}


def mean_diagonal(gram: np.ndarray) -> float:
    """Mean of ``K(x, x)``; 1 where all are 0."""
    return float(gram.diagonal().mean()) or 1.0


def spread_of_outputs(outputs: Outputs, rows: np.ndarray) -> float:
    """Mean eigenvalue of the output kernel over all samples, for each sample."""
    metric = outputs.space.metric
    total = np.einsum("ij,ij->", rows, rows if metric is None else rows @ metric)
    return float(total) / len(rows) / min(rows.shape) or 1.0
