"""Outputs that are vectors of real numbers: the pre-image of a prediction is the prediction itself."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.data.checks import check_whole
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import as_rows, squared_norms
from palmette.outputs.base import OutputSpace, PreImages
from palmette.registry import register

MADE_OF = {list: "list", tuple: "tuple", np.ndarray: "array"}


@register("output")
class VectorOutputs(OutputSpace):
    r"""Vectors of real numbers under the linear kernel, ``K(y, y') = <y, y'>``.

    ``argmin_y |y|^2 - 2 <y, v>`` over all vectors is ``v = sum_i a_i(x) y_i``: a regression predicts a number for each
    coordinate, as ridge regression does. To predict one of some vectors, take ``CandidateOutputs(Linear())``.

    Examples
    --------
    >>> space = VectorOutputs().fit([[1.0, 0.0], [0.0, 2.0]])
    >>> found = space.pre_images(np.array([[0.5, 0.5]]) @ space.rows.toarray())
    >>> found.outputs, found.values, found.exact
    ([[0.5, 1.0]], array([-1.25]), array([ True]))
    """

    kept: ClassVar[tuple[str, ...]] = ("width_", "made_of_")
    constant_norm = False
    bounded: ClassVar[bool] = False

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs."""
        own, outputs = clone(self), as_objects(y, "y")
        if not outputs:
            raise ValueError("y has no outputs; a regression needs at least one")
        kinds = set(map(type, outputs))
        own.made_of_ = MADE_OF.get(kinds.pop(), "list") if len(kinds) == 1 else "list"
        table = _table(outputs, "y")
        own.width_ = table.shape[1]
        own.rows = sparse.csr_array(table)
        return own

    def check_kept(self) -> None:
        """A number of coordinates, and a form of outputs."""
        check_whole("width_", self.width_, 1)
        if self.made_of_ not in MADE_OF.values():
            raise ValueError(f"made_of_ is {self.made_of_!r}, expected one of {sorted(MADE_OF.values())}")

    def check_rows(self) -> None:
        """As many columns as outputs have numbers."""
        if self.rows.shape[1] != self.width_:
            raise ValueError(f"rows have {self.rows.shape[1]} columns, expected {self.width_}")

    def check_given(self, outputs: list[Any], X: Any) -> None:
        """As many numbers as training outputs have."""
        self._vectors(outputs, "y")

    def _vectors(self, outputs: Any, where: str = "outputs") -> np.ndarray:
        table = _table(as_objects(outputs, where), where)
        if table.shape[1] != self.width_:
            raise ValueError(f"{where}[0] has {table.shape[1]} numbers, training outputs have {self.width_}")
        return table

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The votes themselves."""
        votes = np.asarray(votes, float)
        values = -squared_norms(votes)
        made = {"list": list, "tuple": tuple}.get(self.made_of_)
        outputs = list(votes.copy()) if made is None else [made(row) for row in votes.tolist()]
        return PreImages(outputs, values, values, "mean")

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """``|y|^2 - 2 <y, v>`` of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        table = self._vectors(outputs)
        return squared_norms(table) - 2.0 * np.asarray(votes, float) @ table.T

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Inner products of all pairs."""
        return self._vectors(left) @ self._vectors(right).T

    def norms(self, outputs: Any) -> np.ndarray:
        """``|y|^2`` of given outputs."""
        return squared_norms(self._vectors(outputs))

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """Inner product of each pair."""
        return np.einsum("ij,ij->i", self._vectors(left), self._vectors(right))

    def kernel_losses(self, true: Any, predicted: Any) -> np.ndarray:
        """``|y - y'|^2`` of each prediction, without the cancellation of its parts."""
        return squared_norms(self._vectors(true) - self._vectors(predicted))


def _table(outputs: list[Any], where: str) -> np.ndarray:
    table = np.asarray(as_rows(outputs, where), float)
    odd = np.argwhere(~np.isfinite(table))
    if len(odd):
        i, j = odd[0]
        raise ValueError(
            f"{where}[{i}][{j}] is {table[i, j]}: give it a finite value, or leave the sample out"
        )
    return table
