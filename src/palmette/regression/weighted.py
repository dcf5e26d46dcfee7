"""Weights of samples and the intercept: a change of variables, after which no solver knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Weighted:
    r"""A problem in which weights and intercept have vanished.

    A sample of weight 2 counts as two equal samples. With ``S = diag(sqrt(w))`` and the centring ``H = I - 1
    w'/sum(w)`` (``H = I`` without an intercept) the plain problem has the Gram matrix ``S H K H' S`` and the output
    rows ``S H rows``. Coefficients ``A`` of the plain problem are those of ``S A S`` in the given one, between
    centred samples.

    Attributes
    ----------
    gram : ndarray of shape (m, m)
    root : ndarray of shape (m,)
        ``sqrt(w)``.
    means : ndarray of shape (m,) or None
        Mean kernel value of every sample; None without an intercept.
    """

    gram: np.ndarray
    root: np.ndarray
    means: np.ndarray | None

    @classmethod
    def of(cls, gram: np.ndarray, weight: np.ndarray, fit_intercept: bool) -> Weighted:
        """The plain problem of samples with weights (m,), at least 0; ``gram`` is left as it is."""
        means = None
        if fit_intercept:
            share = weight / weight.sum()
            means = gram @ share
            gram = gram - means[:, None]
            gram -= means - share @ means
        root = np.sqrt(weight)
        if np.any(weight != 1.0):
            gram = root[:, None] * gram * root
        return cls(gram, root, means)

    @property
    def total(self) -> float:
        """Sum of weights."""
        return float(self.root @ self.root)

    @property
    def share(self) -> np.ndarray:
        """Weights that sum to 1."""
        share: np.ndarray = self.root**2 / self.total
        return share

    def outputs(self, table: np.ndarray) -> np.ndarray:
        """Rows or ballots of the samples (m, p) as the plain problem has them."""
        if self.means is not None:
            table = table - self.share @ table
        return self.root[:, None] * table

    def votes_of(self, solution: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``dual`` (m, p) and ``intercept`` (p,) of votes ``k(x)' dual + intercept``.

        ``solution`` (m, p) is ``A' outputs(table)`` of the plain problem.
        """
        dual = np.ascontiguousarray(self.root[:, None] * solution)  # as a loaded model has it
        if self.means is None:
            return dual, np.zeros(dual.shape[1])
        dual -= np.outer(self.share, dual.sum(axis=0))
        return dual, self.share @ table - self.means @ dual

    def inputs(self, cross: np.ndarray) -> np.ndarray:
        """Kernel values (n, m) of new inputs with the training inputs, as the plain problem has them."""
        if self.means is not None:
            cross = cross - self.means
            cross -= (cross @ self.share)[:, None]
        return cross * self.root

    def coefficients_of(self, plain: np.ndarray) -> np.ndarray:
        """``a(x)`` of the training outputs, (n, m), from those of the plain problem."""
        found = plain * self.root
        if self.means is not None:
            found += np.outer(1.0 - found.sum(axis=1), self.share)
        return found
