"""The bounds of output-kernel regression: each takes the samples of a report and answers with a `Bound`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from palmette.bounds import compression_bound, level, pac_bayes_bound, quadratic_bound, saturated_bound
from palmette.estimators.regression_data import Outputs
from palmette.inspection.bound import Bound, DoesNotApplyError
from palmette.inspection.given import Given
from palmette.inspection.regression_samples import Samples, check_trained_on
from palmette.objectives.kernel_scorer import kernel_norm

VARIANCES = tuple(10.0 ** np.linspace(-3.0, 0.0, 7))  # of Theorem 4, of which the best counts


class Measured:
    """A fitted SORR or SOSC, the data it was trained on, and held-out data if any."""

    def __init__(
        self, model: Any, train: tuple[Any, Any], test: tuple[Any, Any] | None, given: Given
    ) -> None:
        self.model, self.given = model, given
        if model.task_loss is not None:
            raise ValueError(
                "bounds are about predictions whose vectors are nearest, and this model decodes by task_loss: fit it "
                "without"
            )
        if model.fit_intercept and not model.decode_intercept:
            raise ValueError("bounds need predictions that see the intercept: fit with decode_intercept=True")
        # The training outputs in their space, which model files do not hold.
        self.space = Outputs.of(model.output, None, *train, None).space
        self.train = Samples(model, self.space, *train)
        self.test = None if test is None else Samples(model, self.space, *test)
        check_trained_on(model, self.train, self.space.rows)

    @property
    def every(self) -> list[Samples]:
        """Training and held-out samples."""
        return [self.train, *([] if self.test is None else [self.test])]

    @property
    def m(self) -> int:
        """Number of training samples."""
        return len(self.model.weight_)

    @property
    def constant(self) -> float:
        """The c of Lemma 1."""
        return 2.0 if self.space.constant_norm else 4.0

    @cached_property
    def output_bound(self) -> float:
        """Largest ``K_Y(y, y)``, so that no ``|K_Y(y, y')|`` is above."""
        return float(max(np.max(self.space.norms(own.outputs)) for own in self.every))

    @cached_property
    def largest(self) -> float:
        """Largest loss: ``K(y,y) - K(y,y')`` is at most the norm if the kernel is nowhere below 0, else twice that."""
        if not self.space.bounded:
            return np.inf
        rows, metric = self.space.rows, self.space.metric
        positive = rows.data.min(initial=0.0) >= 0.0 and (metric is None or metric.min(initial=0.0) >= 0.0)
        return self.output_bound * (1.0 if self.space.constant_norm else 2.0) * (1.0 if positive else 2.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """``K_X(x, x)`` of all inputs."""
        kernel = self.model.inputs_.kernel
        if kernel.precomputed:
            raise DoesNotApplyError("K_X(x, x) of new inputs is not known for a precomputed kernel")
        return np.concatenate([kernel.diagonal(kernel.prepare(kernel.admit(own.X))) for own in self.every])

    @cached_property
    def squared_norm(self) -> float:
        """``|W|^2 + |b|^2`` with the intercept b, in the metric of the outputs."""
        model, metric = self.model, self.space.metric
        root = np.eye(model.dual_coef_.shape[1]) if metric is None else _root(metric)
        own = kernel_norm(model.inputs_.kernel, model.inputs_.support, model.dual_coef_ @ root)
        return own**2 + float(np.sum((model.intercept_ @ root) ** 2))

    @property
    def held_out(self) -> float:
        """Mean loss on the held-out samples; NaN without any."""
        return np.nan if self.test is None else self.test.loss

    @property
    def n_kernels(self) -> int:
        """Kernels among which a search chose on the training data."""
        return len(getattr(self.model, "cv_scores_", [None]))

    def check_bounded(self) -> None:
        """Refuse outputs of any size."""
        if not self.space.bounded:
            raise DoesNotApplyError("outputs may be vectors of any length, so that no loss is the largest")

    def check_plain(self) -> None:
        """Refuse samples that count differently."""
        if np.ptp(self.model.weight_) > 0.0:
            raise DoesNotApplyError("sample_weight makes samples count differently")


def _root(metric: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(metric)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def lemma_1(data: Measured) -> Bound:
    """Lemma 1, on the samples that it is computed on."""
    return _of_samples(data, lambda residuals: quadratic_bound(residuals, data.constant))


def lemma_2(data: Measured) -> Bound:
    """Lemma 2, with a the largest loss."""
    data.check_bounded()
    return _of_samples(
        data, lambda residuals: saturated_bound(residuals, data.constant, data.largest, data.largest)
    )


def _of_samples(data: Measured, bound: Callable[[np.ndarray], np.ndarray]) -> Bound:
    shown = data.train if data.test is None else data.test
    for own in data.every:
        own.check_nearest()
    return Bound(
        f"loss of the {'training' if data.test is None else 'held-out'} samples",
        value=float(bound(shown.residuals).mean()), training=float(bound(data.train.residuals).mean()),
        worst=data.largest, held_out=data.held_out, given={"constant": data.constant, "largest": data.largest},
        note="holds for every sample, and says nothing of others",
    )  # fmt: skip


def theorem_4(data: Measured) -> Bound:
    """Theorem 4, with the noise that stays."""
    return _theorem_4(data, "derived")


def printed_theorem_4(data: Measured) -> Bound:
    """Theorem 4 as it is printed."""
    if data.constant != 2.0:
        raise DoesNotApplyError("the printed form is for outputs of one norm")
    return _theorem_4(data, "printed")


def _theorem_4(data: Measured, form: str) -> Bound:
    data.check_bounded()
    data.check_plain()
    data.train.check_nearest()
    low, high = float(data.diagonal.min()), float(data.diagonal.max())
    if high - low > 1e-6 * high:
        raise DoesNotApplyError(
            f"K_X(x, x) must be the same for all inputs, and is from {low:.4g} to {high:.4g}: use normalize=True"
        )
    # An intercept is the weight of one more feature, 1; inputs are divided by their size, losses by the largest one.
    size = high + bool(data.model.fit_intercept)
    numbers: dict[str, Any] = {
        "mean_residual": float(data.train.residuals.mean()) / data.largest,
        "squared_norm": data.squared_norm * size / data.largest, "m": data.m,
        "dimension": data.given.output_dimension or data.space.rows.shape[1], "constant": data.constant,
        "delta": data.given.delta / data.n_kernels,
    }  # fmt: skip
    variances = data.given.variances or VARIANCES
    value = data.largest * pac_bayes_bound(**numbers, variance=variances, form=form)
    return Bound(
        "loss of a sample", value=value, training=data.train.loss, worst=data.largest, held_out=data.held_out,
        given=numbers | {"variance": variances, "largest": data.largest},
        note="not proven: for comparison" if form == "printed" else "for outputs in the span of those of training",
    )  # fmt: skip


def theorem_5(data: Measured) -> Bound:
    """Theorem 5."""
    data.check_bounded()
    data.check_plain()
    model, m = data.model, data.m
    if model.weight_[0] != 1.0:
        raise DoesNotApplyError(
            f"it is about coefficients of samples that count once, and sample_weight is {model.weight_[0]:g}"
        )
    if m < 8:
        raise DoesNotApplyError(f"m must be at least 8, got {m} samples")
    if model.fit_intercept:
        raise DoesNotApplyError("it is about predictors without an intercept")
    if model.support_.shape[0] != m:
        raise DoesNotApplyError("Nystroem has coefficients of landmarks, and it is about those of samples")
    data.train.check_nearest()
    entry, n_tried, delta = _largest_entry(data)
    numbers: dict[str, Any] = {
        "mean_residual": float(data.train.residuals.mean()), "k": m**2 * entry, "m": m,
        "input_bound": float(data.diagonal.max()), "output_bound": data.output_bound, "constant": data.constant,
        "delta": delta, "n_tried": n_tried,
    }  # fmt: skip
    return Bound(
        "loss of a sample", value=compression_bound(**numbers), training=data.train.loss, worst=data.largest,
        held_out=data.held_out, given=numbers, note="for kernels that were fixed beforehand",
    )  # fmt: skip


def _largest_entry(data: Measured) -> tuple[float, int, float]:
    """A bound on ``|A_ij|``, of how many it was chosen on the training data, and the ``delta`` that is left.

    ``|A_ij| <= R`` by the constraint; ``(K + l2 I)^-1`` has no entry above ``1 / l2``. A strength that a search took
    from the data, not from a list, is on no grid: then the power of two above it counts, with its share of ``delta``.
    """
    model, delta = data.model, data.given.delta
    radius = getattr(model, "R_", getattr(model, "R", None))
    entry = 1.0 / model.l2_ if radius is None else float(radius)
    if not hasattr(model, "cv_scores_"):
        return entry, data.given.n_tried, delta
    if model.strengths_are_given:
        return entry, data.given.n_tried * model.cv_scores_.shape[0] * model.cv_scores_.shape[1], delta
    entry, delta = level(entry, delta) if entry > 0.0 else (1.0, delta)
    return entry, data.given.n_tried * data.n_kernels, delta


BOUNDS: dict[str, Callable[[Any], Bound]] = {
    "squared error (regression, Lemma 1)": lemma_1,
    "saturated error (regression, Lemma 2)": lemma_2,
    "PAC-Bayes (regression, Theorem 4)": theorem_4,
    "sample compression (regression, Theorem 5)": theorem_5,
}
PRINTED: dict[str, Callable[[Any], Bound]] = {
    "PAC-Bayes (regression, Theorem 4, AS PRINTED)": printed_theorem_4
}
