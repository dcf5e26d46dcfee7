"""Decoding for a task loss: the output with the lowest expected loss, kernel or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.data.checks import check_array, check_finite, check_type, group
from palmette.kernels.objects import as_objects
from palmette.memory import check_size
from palmette.outputs.base import OutputSpace, PreImages
from palmette.outputs.candidates import best_of, distinct_outputs, indicators
from palmette.registry import register, revive, stored


@register("output")
class TaskLossOutputs(OutputSpace):
    r"""Regression in an output space, decoded by ``argmin_y sum_i a_i(x) D(y_i, y)`` for a task loss D.

    A regression whose coefficients ``a(x)`` estimate the conditional distribution of outputs is consistent for D when
    decoded so, whether D belongs to a kernel or not. Every candidate is tried.

    Parameters
    ----------
    space : OutputSpace
        In which the regression takes place.
    loss : callable
        ``loss(true, predicted)``, a number.
    candidates : list, optional
        By default the distinct training outputs.

    Examples
    --------
    >>> from palmette.outputs import DiracOutputs
    >>> space = TaskLossOutputs(DiracOutputs(), lambda true, found: abs(true - found)).fit([1, 2, 9])
    >>> space.pre_images(np.array([[0.4, 0.3, 0.3]])).outputs  # a weighted median, not the most frequent output
    [2]
    """

    kept: ClassVar[tuple[str, ...]] = ("outputs_", "candidates_", "losses_")

    def __init__(self, space: Any, loss: Any, candidates: Any = None) -> None:
        self.space = space
        self.loss = loss
        self.candidates = candidates

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs and their losses."""
        if not callable(self.loss):
            raise TypeError(
                f"task_loss must be a function of a true and a predicted output, got {self.loss!r}"
            )
        own, outputs = clone(self), as_objects(y, "y")
        own.space_ = self.space.fit(y, X)
        own.rows, own.metric, own.constant_norm = own.space_.rows, own.space_.metric, own.space_.constant_norm
        own.outputs_, number = distinct_outputs(outputs)
        own.ballots_ = indicators(number, len(own.outputs_))
        own.candidates_ = (
            own.outputs_ if self.candidates is None else as_objects(self.candidates, "candidates")
        )
        own.losses_ = loss_table(self.loss, own.outputs_, own.candidates_)
        return own

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Candidates and their losses, and the space; the loss itself is not needed any more."""
        header, arrays = super().state()
        header["space"], own = stored(self.space_)
        return header, arrays | {f"space.{name}": array for name, array in own.items()}

    @classmethod
    def from_state(cls, header: Any, arrays: Mapping[str, np.ndarray], output: Any = None) -> Self:
        """Inverse of :meth:`state`."""
        own = super().from_state(header, arrays, output)
        own.space_ = own.space = revive(
            "output",
            header.get("space"),
            group(arrays, "space"),
            {"output": getattr(output, "space", output)},
        )
        return own

    def check_kept(self) -> None:
        """A column of losses for each candidate."""
        check_type("candidates_", self.candidates_, list)
        check_array("losses_", self.losses_, np.float64, 2, len(check_type("outputs_", self.outputs_, list)))
        losses = check_finite("losses_", self.losses_)
        if losses.shape[1] != len(self.candidates_) or not self.candidates_:
            raise ValueError(f"losses_ has {losses.shape[1]} columns for {len(self.candidates_)} candidates")

    @property
    def ballots(self) -> sparse.csr_array:
        """Which of the distinct training outputs each one is."""
        return self.ballots_

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The candidate with the lowest sum of losses."""
        best, values = best_of(votes, self.losses_.T)
        return PreImages([self.candidates_[k] for k in best], values, values, "candidates")

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """Sums of losses of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        if self.loss is None:
            raise ValueError(
                "a loaded model knows the losses of its candidates only: give the task loss again"
            )
        table = loss_table(self.loss, self.outputs_, as_objects(outputs, "outputs"))
        return np.asarray(votes, float) @ table

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """That of the space of the regression."""
        return self.space_.gram(left, right)

    def norms(self, outputs: Any) -> np.ndarray:
        """Those of the space of the regression."""
        return self.space_.norms(outputs)

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """Those of the space of the regression."""
        return self.space_.pairs(left, right)


def loss_table(loss: Any, true: list[Any], candidates: list[Any]) -> np.ndarray:
    """Loss of every candidate against every true output, shape (true, candidates); what is no number is named."""
    check_size(
        f"the losses of {len(candidates):,} candidates against {len(true):,} different outputs",
        8.0 * len(true) * len(candidates),
        "give fewer candidates, or a task loss of a structure by name",
    )
    table = np.empty((len(true), len(candidates)))
    for i, y in enumerate(true):
        for k, candidate in enumerate(candidates):
            try:
                table[i, k] = loss(y, candidate)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"task_loss cannot compare the true output {y!r:.60} with candidates[{k}] = {candidate!r:.60}: "
                    f"{error}"
                ) from error
            if not np.isfinite(table[i, k]):
                raise ValueError(
                    f"task_loss is {table[i, k]} for the true output {y!r:.60} and candidates[{k}] = {candidate!r:.60}"
                )
    return table
