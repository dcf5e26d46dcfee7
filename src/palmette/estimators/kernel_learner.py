"""Attributes of learners with a kernel: support rows and their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from palmette.estimators.base import StructuredEstimator
from palmette.kernels import Precomputed
from palmette.objectives.kernel_scorer import KernelScorer


class KernelEstimator(StructuredEstimator):
    """A learner that may have a ``kernel``."""

    functions = ("kernel",)  # parameters that may be functions
    kernel: Any
    usual_share = 0.1  # of the spread of array columns: the L2 penalty where none is given

    @property
    def support_(self) -> Any:
        """Training rows with a coefficient, as the kernel compares them; of ``Precomputed`` the numbers of columns."""
        return self._kernel_scorer().support

    @property
    def n_support_(self) -> int:
        """Number of training rows with a coefficient."""
        return self._kernel_scorer().n_support

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficient of each support row and label, shape (n_support_, n_classes)."""
        return self._kernel_scorer().coefficients(self.coef_)

    def _has_kernel_dual(self) -> bool:
        """Whether the loss has a dual that takes kernels as they are."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.pairwise = precomputed and tags.input_tags.two_d_array
        return tags

    def _kernel_scorer(self) -> KernelScorer:
        check_is_fitted(self, "coef_")
        if not isinstance(self.scorer_, KernelScorer):
            raise AttributeError(
                "the model has weights, not support rows: it was fitted without a kernel, or with Nystroem"
            )
        return self.scorer_
