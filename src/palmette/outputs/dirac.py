"""Outputs that are equal or not: the training output with the most votes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from palmette.data.checks import check_type
from palmette.errors import warn_caller
from palmette.kernels import Dirac, Kernel
from palmette.kernels.objects import hashable
from palmette.outputs.base import PreImages
from palmette.outputs.explicit import ExplicitOutputs
from palmette.registry import register


@register("output")
class DiracOutputs(ExplicitOutputs):
    """Outputs under the Dirac kernel, whose kernel loss is the 0/1 loss; predictions are among the training outputs.

    Examples
    --------
    >>> space = DiracOutputs().fit(["cat", "dog", "cat"])
    >>> space.rows.toarray()
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    >>> found = space.pre_images(np.array([[0.2, 0.7]]))
    >>> found.outputs, found.values, found.exact
    (['dog'], array([-0.4]), array([ True]))
    """

    kept: ClassVar[tuple[str, ...]] = ("outputs_",)
    constant_norm = True

    def make_kernel(self) -> Kernel:
        """Dirac's."""
        return Dirac()

    def learn(self, outputs: list[Any], X: Any) -> None:
        """The distinct outputs as they were given."""
        _warn_of_reals(outputs)
        first: dict[Any, Any] = {}
        for output in outputs:
            first.setdefault(hashable(output), output)
        self.outputs_ = list(first.values())

    def check_kept(self) -> None:
        """One output for each column."""
        check_type("outputs_", self.outputs_, list)
        if list(map(hashable, self.outputs_)) != getattr(self.kernel_, "values_", None):
            raise ValueError("the outputs are not those of the kernel")

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The training output with the most votes; of several the first."""
        best = np.argmax(votes, axis=1)
        values = 1.0 - 2.0 * votes[np.arange(len(votes)), best]
        return PreImages([self.outputs_[k] for k in best], values, values, "vote")


def _warn_of_reals(outputs: list[Any]) -> None:
    """Real numbers are rarely equal, and that two are near each other Dirac's kernel does not see."""
    for i, output in enumerate(outputs):
        if isinstance(output, float | np.floating) and not float(output).is_integer():
            warn_caller(
                f"output='dirac' compares whole outputs, and y[{i}] = {output!r} is a real number: only equal numbers "
                "count as alike. Take output='linear' with one row for each output, np.reshape(y, (-1, 1)), to predict "
                "numbers; or make classes of them",
                UserWarning,
            )
            return
