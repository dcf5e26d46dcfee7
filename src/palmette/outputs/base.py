"""The contract between output-kernel regression and the outputs that it predicts."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator


class PreImages(NamedTuple):
    """Outputs that fit predictions in the output space best, and what is proven of them."""

    outputs: list[Any]
    values: np.ndarray  # objective of each output, which is minimised, (n,)
    bounds: np.ndarray  # proven lower bounds of the minima, (n,)
    method: str  # such as "vote", "candidates", "tree", "branch and bound", "beam"

    @property
    def exact(self) -> np.ndarray:
        """Whether each output is proven to be the best, bool (n,)."""
        return self.values <= self.bounds + 1e-9 * np.maximum(1.0, np.abs(self.values))


class OutputSpace(BaseEstimator):
    r"""Outputs as vectors: ``K_Y(y_i, y_j) = <psi_i, psi_j>_M``.

    After :meth:`fit` every training output is a row ``psi_i`` of :attr:`rows`, shape (m, q). With explicit features
    :attr:`metric` is None and ``K_Y = rows rows'``. Of a kernel that is only known as a function the q coordinates are
    the distinct training outputs, and ``K_Y = rows metric rows'`` with their Gram matrix. A regression predicts *votes*
    ``v(x) = sum_i a_i(x) ballot_i``, shape (n, p), and never forms the m x m matrix ``K_Y`` unless it is asked to. The
    :attr:`ballots` are the rows, unless a task loss decodes: then they are what the loss needs to know of ``y_i``.
    """

    rows: sparse.csr_array  # (m, q)
    metric: np.ndarray | None = None  # (q, q), or None for the identity
    constant_norm: bool  # whether K_Y(y, y) is the same for all outputs that one input can have

    @property
    def ballots(self) -> sparse.csr_array:
        """What votes are sums of, shape (m, p)."""
        return self.rows

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs; ``X`` for spaces whose outputs depend on the input's size."""
        raise NotImplementedError

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """``argmin_y K_Y(y, y) - 2 <psi(y), v>_M`` for every row of ``votes``."""
        raise NotImplementedError

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y`` of all pairs of given outputs, shape (len(left), len(right))."""
        raise NotImplementedError

    def norms(self, outputs: Any) -> np.ndarray:
        """``K_Y(y, y)`` of given outputs."""
        raise NotImplementedError

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y(left_i, right_i)``, shape (len(left),)."""
        raise NotImplementedError

    def kernel_losses(self, true: Any, predicted: Any) -> np.ndarray:
        r"""Output-kernel loss of each prediction.

        Where ``K(y, y)`` is the same for all outputs of an input it is ``(K(y, y) + K(y', y')) / 2 - K(y, y')``, which
        is the 0/1 loss of Dirac's kernel and the Hamming loss of that of Hamming. Elsewhere half is not enough: "ab"
        and "abcd" have the Hamming distance 2, and half of the squared distance of their features is 1. So then it is
        ``K(y, y) + K(y', y') - 2 K(y, y')``, which is at least the loss.
        """
        squared = self.norms(true) + self.norms(predicted) - 2.0 * self.pairs(true, predicted)
        return 0.5 * squared if self.constant_norm else squared
