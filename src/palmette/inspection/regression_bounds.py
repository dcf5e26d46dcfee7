"""The bounds of output-kernel regression: each takes the samples of a report and answers with a `Bound`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from palmette.bounds import compression_bound, pac_bayes_bound, quadratic_bound, saturated_bound
from palmette.estimators.regression_data import Outputs, losses
from palmette.inspection.bound import Bound, DoesNotApplyError
from palmette.inspection.given import Given
from palmette.objectives.kernel_scorer import kernel_norm

VARIANCES = tuple(10.0 ** np.linspace(-3.0, 0.0, 7))  # of Theorem 4, of which the best counts


class Measured:
    """A fitted SORR or SOSC, the data it was trained on, and held-out data if any."""

    def __init__(
        self, model: Any, train: tuple[Any, Any], test: tuple[Any, Any] | None, given: Given
    ) -> None:
        self.model, self.train, self.test, self.given = model, train, test, given
        if model.task_loss is not None:
            raise ValueError(
                "bounds are about predictions whose vectors are nearest, and this model decodes by task_loss: fit it "
                "without"
            )
        if model.fit_intercept and not model.decode_intercept:
            raise ValueError("bounds need predictions that see the intercept: fit with decode_intercept=True")
        self._check_trained_on()

    def _check_trained_on(self) -> None:
        """Refuse other data than that of the training, as far as outputs tell it."""
        n, m = len(self.train[1]), len(self.model.weight_)
        if n != m:
            raise ValueError(
                f"y has {n} outputs, but the model learnt from {m} samples: X and y are the data that it was trained "
                "on, and held-out data go to X_test and y_test"
            )
        known, given = self.model.space_.rows, self.space.rows
        odd = np.arange(0) if known.shape != given.shape else np.unique((known != given).nonzero()[0])
        if known.shape != given.shape or len(odd):
            which = "the outputs are not those of the training"
            if len(odd):
                which = f"y[{odd[0]}] is {self.train[1][odd[0]]!r:.60}, and was another output in training"
            raise ValueError(
                f"{which}: X and y are the data that the model was trained on, in their order, and held-out data go to "
                "X_test and y_test"
            )

    @cached_property
    def outputs(self) -> Outputs:
        """The training outputs in their space, which model files do not hold."""
        return Outputs.of(self.model.output, None, *self.train, None)

    @property
    def space(self) -> Any:
        """The space of the training outputs."""
        return self.outputs.space

    @property
    def m(self) -> int:
        """Number of training samples."""
        return len(self.outputs.y)

    @property
    def constant(self) -> float:
        """The c of Lemma 1."""
        return 2.0 if self.space.constant_norm else 4.0

    @cached_property
    def output_bound(self) -> float:
        """Largest ``K_Y(y, y)``, so that no ``|K_Y(y, y')|`` is above."""
        given = [self.train[1], *([] if self.test is None else [self.test[1]])]
        return float(max(np.max(self.space.norms(list(y))) for y in given))

    @cached_property
    def largest(self) -> float:
        """Largest loss: ``K(y,y) - K(y,y')`` is at most the norm if the kernel is nowhere below 0, else twice that."""
        rows, metric = self.space.rows, self.space.metric
        positive = rows.data.min(initial=0.0) >= 0.0 and (metric is None or metric.min(initial=0.0) >= 0.0)
        return self.output_bound * (1.0 if self.space.constant_norm else 2.0) * (1.0 if positive else 2.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """``K_X(x, x)`` of all inputs."""
        kernel = self.model.inputs_.kernel
        if kernel.precomputed:
            raise DoesNotApplyError("K_X(x, x) of new inputs is not known for a precomputed kernel")
        given = [self.train[0], *([] if self.test is None else [self.test[0]])]
        return np.concatenate([kernel.diagonal(kernel.prepare(kernel.admit(X))) for X in given])

    @cached_property
    def squared_norm(self) -> float:
        """``|W|^2 + |b|^2`` with the intercept b, in the metric of the outputs."""
        model, metric = self.model, self.space.metric
        root = np.eye(model.dual_coef_.shape[1]) if metric is None else _root(metric)
        own = kernel_norm(model.inputs_.kernel, model.inputs_.support, model.dual_coef_ @ root)
        return own**2 + float(np.sum((model.intercept_ @ root) ** 2))

    @cached_property
    def residuals(self) -> np.ndarray:
        """``|Y(y) - W X(x)|^2`` of the training samples."""
        votes, rows, metric = self.model.votes(self.train[0]), self.outputs.rows, self.space.metric
        gaps = rows - votes
        return np.maximum(np.sum(gaps * (gaps if metric is None else gaps @ metric), axis=1), 0.0)

    @cached_property
    def losses(self) -> tuple[float, float]:
        """Mean loss on the training and on the held-out data, of predictions that are proven to be nearest."""
        found = []
        for own in (self.train, self.test):
            if own is None:
                found.append(np.nan)
                continue
            X, y = own
            images = self.model.pre_images(X)
            if not np.all(images.exact):
                raise DoesNotApplyError(
                    f"{np.sum(~images.exact)} predictions are not proven to be nearest ({images.method})"
                )
            found.append(float(losses(self.space, None, list(y), images.outputs).mean()))
        return found[0], found[1]

    def check_plain(self) -> None:
        """Refuse samples that count differently."""
        if np.ptp(self.model.weight_) > 0.0:
            raise DoesNotApplyError("sample_weight makes samples count differently")


def _root(metric: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(metric)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def lemma_1(data: Measured) -> Bound:
    """Lemma 1."""
    own = quadratic_bound(data.residuals, data.constant)
    return _of_samples(data, own)


def lemma_2(data: Measured) -> Bound:
    """Lemma 2, with a the largest loss."""
    own = saturated_bound(data.residuals, data.constant, data.largest, data.largest)
    return _of_samples(data, own)


def _of_samples(data: Measured, values: np.ndarray) -> Bound:
    loss, _ = data.losses
    return Bound(
        "loss of the training samples", value=float(values.mean()), training=float(values.mean()), worst=data.largest,
        held_out=loss, given={"constant": data.constant, "largest": data.largest},
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
    data.check_plain()
    low, high = float(data.diagonal.min()), float(data.diagonal.max())
    if high - low > 1e-6 * high:
        raise DoesNotApplyError(
            f"K_X(x, x) must be the same for all inputs, and is from {low:.4g} to {high:.4g}: use normalize=True"
        )
    # An intercept is the weight of one more feature, 1; inputs are divided by their size, losses by the largest one.
    size = high + bool(data.model.fit_intercept)
    numbers: dict[str, Any] = {
        "mean_residual": float(data.residuals.mean()) / data.largest,
        "squared_norm": data.squared_norm * size / data.largest, "m": data.m,
        "dimension": data.given.output_dimension or data.outputs.rows.shape[1], "constant": data.constant,
        "delta": data.given.delta,
    }  # fmt: skip
    variances = data.given.variances or VARIANCES
    value = data.largest * pac_bayes_bound(**numbers, variance=variances, form=form)
    train, test = data.losses
    return Bound(
        "loss of a sample", value=value, training=train, worst=data.largest, held_out=test,
        given=numbers | {"variance": variances, "largest": data.largest},
        note="not proven: for comparison" if form == "printed" else "for outputs in the span of those of training",
    )  # fmt: skip


def theorem_5(data: Measured) -> Bound:
    """Theorem 5."""
    data.check_plain()
    model, m = data.model, data.m
    if m < 8:
        raise DoesNotApplyError(f"m must be at least 8, got {m} samples")
    if model.fit_intercept:
        raise DoesNotApplyError("it is about predictors without an intercept")
    if model.support_.shape[0] != m:
        raise DoesNotApplyError("Nystroem has coefficients of landmarks, and it is about those of samples")
    # |A_ij| <= R by the constraint; (K + l2 I)^-1 has no entry above 1 / l2.
    entry = float(model.R) if hasattr(model, "R") else 1.0 / float(model.l2_)
    numbers: dict[str, Any] = {
        "mean_residual": float(data.residuals.mean()), "k": m**2 * entry, "m": m,
        "input_bound": float(data.diagonal.max()), "output_bound": data.output_bound, "constant": data.constant,
        "delta": data.given.delta, "n_tried": data.given.n_tried,
    }  # fmt: skip
    train, test = data.losses
    return Bound(
        "loss of a sample", value=compression_bound(**numbers), training=train, worst=data.largest, held_out=test,
        given=numbers,
    )  # fmt: skip


BOUNDS: dict[str, Callable[[Any], Bound]] = {
    "squared error (regression, Lemma 1)": lemma_1,
    "saturated error (regression, Lemma 2)": lemma_2,
    "PAC-Bayes (regression, Theorem 4)": theorem_4,
    "sample compression (regression, Theorem 5)": theorem_5,
}
PRINTED: dict[str, Callable[[Any], Bound]] = {
    "PAC-Bayes (regression, Theorem 4, AS PRINTED)": printed_theorem_4
}
