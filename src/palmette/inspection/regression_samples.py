"""Samples as the bounds of output-kernel regression see them: residuals, losses, and whether a model knows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from palmette.estimators.regression_data import losses
from palmette.inspection.bound import DoesNotApplyError
from palmette.kernels import Nystroem
from palmette.kernels.objects import as_objects, hashable
from palmette.kernels.rows import PairedRows, Rows
from palmette.outputs import OutputSpace, PreImages

AT_ONCE = 512  # samples whose outputs are compared with each other's predictions at once
ROUNDING = 1e-9  # of rows of inputs, relative to the largest entry
TRAINED_ON = (
    "X and y are the data that the model was trained on, in their order, and held-out data go to X_test and "
    "y_test"
)


@dataclass
class Samples:
    """Inputs and outputs, and what a model says of them.

    Attributes
    ----------
    model : fitted SORR or SOSC
    space : OutputSpace
        Of the training outputs.
    X, y
    """

    model: Any
    space: OutputSpace
    X: Any
    y: Any

    @cached_property
    def outputs(self) -> list[Any]:
        """The outputs as a list."""
        return as_objects(self.y, "y")

    @cached_property
    def votes(self) -> np.ndarray:
        """Predicted vectors, (n, q)."""
        return np.asarray(self.model.votes(self.X))

    @cached_property
    def images(self) -> PreImages:
        """Predictions, which are proven to be nearest to the vectors."""
        found = self.model.space_.pre_images(self.votes, self.X)
        if not np.all(found.exact):
            raise DoesNotApplyError(
                f"{np.sum(~found.exact)} predictions are not proven to be nearest ({found.method})"
            )
        return found

    @cached_property
    def loss(self) -> float:
        """Mean loss of the predictions."""
        return float(losses(self.space, None, self.outputs, self.images.outputs).mean())

    @cached_property
    def residuals(self) -> np.ndarray:
        """``|Y(y) - W X(x)|^2`` of every sample."""
        votes, metric = self.votes, self.space.metric
        own = np.einsum("ij,ij->i", votes, votes if metric is None else votes @ metric)
        return np.maximum(self._values + own, 0.0)

    @cached_property
    def _values(self) -> np.ndarray:
        """What pre-images minimise, ``|Y(y) - W X(x)|^2 - |W X(x)|^2``, at the outputs of the samples."""
        try:
            self.space.values(
                self.votes[:1], self.outputs
            )  # an output that no prediction can be is named by its place
        except ValueError as error:
            raise DoesNotApplyError(str(error)) from None
        parts = [slice(i, i + AT_ONCE) for i in range(0, len(self.votes), AT_ONCE)]
        return np.concatenate(
            [np.diagonal(self.space.values(self.votes[part], self.outputs[part])) for part in parts]
        )

    def check_nearest(self) -> None:
        """Refuse outputs that are nearer than the prediction: those that are no candidates can be."""
        found = self._values
        nearer = np.flatnonzero(self.images.values > found + 1e-9 * np.maximum(1.0, np.abs(found)))
        if len(nearer):
            i = int(nearer[0])
            raise DoesNotApplyError(
                f"the output {self.outputs[i]!r:.60} of sample {i} is nearer to the vector predicted than all that can "
                "be predicted: it is not among the candidates"
            )


def check_trained_on(model: Any, train: Samples, rows: sparse.csr_array) -> None:
    """Refuse other data than that of the training, as far as a model knows it; ``rows`` are the given outputs'."""
    n, m = len(train.outputs), len(model.weight_)
    if n != m:
        raise ValueError(f"y has {n} outputs, but the model learnt from {m} samples: {TRAINED_ON}")
    known = model.space_.rows
    odd = np.arange(0) if known.shape != rows.shape else np.unique((known != rows).nonzero()[0])
    if known.shape != rows.shape:
        raise ValueError(f"the outputs are not those of the training: {TRAINED_ON}")
    if len(odd):
        raise ValueError(
            f"y[{odd[0]}] is {train.outputs[odd[0]]!r:.60}, and was another output in training: {TRAINED_ON}"
        )
    if not isinstance(model.kernel_, Nystroem):  # of which landmarks alone are kept
        kernel = model.inputs_.kernel
        prepared = kernel.prepare(kernel.admit(model._checked(kernel, train.X, reset=False)))
        other = first_odd(model.support_, prepared)
        if other is not None:
            raise ValueError(f"X[{other}] was another input in training: {TRAINED_ON}")


def first_odd(known: Rows, given: Rows) -> int | None:
    """The first row in which two prepared tables differ by more than rounding, if there is one.

    >>> first_odd(np.eye(3), np.eye(3)[[0, 2, 1]])
    1
    """
    if isinstance(known, PairedRows):
        sides = [first_odd(known.left, given.left), first_odd(known.right, given.right)]
        return min((side for side in sides if side is not None), default=None)
    if known.shape != given.shape:
        return 0
    if known.dtype == object:
        odd = [i for i, (a, b) in enumerate(zip(known, given)) if hashable(a) != hashable(b)]
    else:
        gap = abs(known - given)
        odd = np.unique((gap > ROUNDING * max(float(abs(known).max()), 1e-300)).nonzero()[0]).tolist()
    return int(odd[0]) if odd else None
