"""Output spaces of kernels with explicit features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.kernels import Kernel
from palmette.kernels.base import inverse_roots
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import squared_norms
from palmette.outputs.base import OutputSpace


class ExplicitOutputs(OutputSpace):
    """Outputs whose kernel has explicit features: those of :meth:`Kernel.prepare`, without the column of the rest."""

    closed: ClassVar[bool] = True
    """Whether outputs are made only of what training outputs have."""
    kernel: Any

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs."""
        own, outputs = clone(self), as_objects(y, "y")
        if not outputs:
            raise ValueError("y has no outputs; a regression needs at least one")
        support = own.make_support(outputs)
        named = own.make_kernel().calling("y" if support is outputs else "tree")
        own.kernel_ = named.bind(support).calling("y")
        own.learn(outputs, X)
        own.rows = own.features(outputs)[:, :-1]
        return own

    def make_kernel(self) -> Kernel:
        """The kernel, not bound yet."""
        return self.kernel

    def make_support(self, outputs: list[Any]) -> list[Any]:
        """The outputs that features are for; here those of training."""
        return outputs

    def check_rows(self) -> None:
        """As many columns as there are features."""
        width = getattr(self.kernel_, "n_features", self.rows.shape[1])
        if width != self.rows.shape[1]:
            raise ValueError(
                f"the kernel of outputs has {width} features, but rows have {self.rows.shape[1]} columns"
            )

    def learn(self, outputs: list[Any], X: Any) -> None:
        """Whatever else the pre-images need; sets ``constant_norm``."""
        raise NotImplementedError

    def features(self, outputs: list[Any]) -> sparse.csr_array:
        """Features, divided by their length if the kernel is normalised; the last column is what votes cannot reach."""
        rows = self.kernel_.prepare(outputs)
        if self.kernel_.normalize:
            rows = sparse.csr_array(sparse.diags_array(inverse_roots(squared_norms(rows))) @ rows)
        return rows

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Kernel values of all pairs, of any outputs."""
        return self.kernel_(left, right)

    def norms(self, outputs: Any) -> np.ndarray:
        """``K_Y(y, y)`` of given outputs."""
        return squared_norms(self.features(as_objects(outputs, "outputs")))

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y(left_i, right_i)``, of any outputs."""
        return pair_products(self.kernel_.bind(right), as_objects(left), as_objects(right))

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """``K_Y(y, y) - 2 <psi(y), v>`` of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        outputs = as_objects(outputs, "outputs")
        rows = self.features(outputs)
        if self.closed:
            self._refuse_outside(outputs, rows)
        return squared_norms(rows) - 2.0 * (rows[:, :-1] @ np.asarray(votes, float).T).T

    def _refuse_outside(self, outputs: list[Any], rows: sparse.csr_array) -> None:
        for i in np.flatnonzero(rows[:, [-1]].toarray()):
            raise ValueError(
                f"outputs[{i}] = {outputs[i]!r:.60} has something that no training output has, so that "
                f"{type(self).__name__} cannot predict it; leave it out"
            )


def pair_products(kernel: Kernel, left: list[Any], right: list[Any]) -> np.ndarray:
    """``K(left_i, right_i)`` of a kernel bound to ``right``."""
    x, y = kernel.prepare(left), kernel.prepare(right)
    found = np.asarray(x.multiply(y).sum(axis=1), float).ravel()
    if kernel.normalize:
        found *= inverse_roots(squared_norms(x)) * inverse_roots(squared_norms(y))
    return found
