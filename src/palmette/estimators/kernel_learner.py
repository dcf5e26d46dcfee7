"""Attributes of learners with a kernel: support rows and their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from palmette.contracts.solver import Solver
from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded
from palmette.errors import MissingCapability
from palmette.estimators.base import StructuredEstimator
from palmette.estimators.kernel_features import Keep, kept, mapped
from palmette.estimators.kernel_fit import check_kernel_settings, fit_kernel
from palmette.estimators.settings import Encoding, KernelOptions
from palmette.estimators.training import layout_weights
from palmette.kernels import Kernel, Nystroem, Precomputed, resolve_kernel
from palmette.kernels.feature_map import KernelValues
from palmette.objectives.kernel_scorer import KernelScorer
from palmette.regularizers import Decomposition, GroupLasso
from palmette.solvers.kernel_frank_wolfe import KernelFrankWolfe


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(StructuredEstimator):
    """A learner that may have a ``kernel``, with the parameters that all learners share."""

    functions = ("kernel",)  # parameters that may be functions
    usual_share = 0.1  # of the spread of array columns: the L2 penalty where none is given

    regularizer: Decomposition | GroupLasso | Sequence[Decomposition | GroupLasso] | None = None
    kernel: Kernel | Nystroem | str | Callable[..., Any] | None = None
    kernel_options: KernelOptions | None = None
    solver: Solver | str = "auto"
    tol: float | None = 1e-4
    max_iter: int | None = None
    encoding: Encoding | None = None
    n_jobs: int = -1
    random_state: Any = 0
    verbose: int = 0
    callbacks: Sequence[Callable[..., Any]] | None = None
    warm_start: bool = False

    @property
    def support_(self) -> Any:
        """Training rows with a coefficient, as the kernel compares them; of ``Precomputed`` the numbers of columns."""
        scorer = self._kernel_scorer()
        return scorer.support if isinstance(scorer, KernelScorer) else scorer.feature_map.landmarks_

    @property
    def n_support_(self) -> int:
        """Number of training rows with a coefficient."""
        return int(self.support_.shape[0])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficient of each support row and label, shape (n_support_, n_classes)."""
        scorer = self._kernel_scorer()
        return self.coef_[scorer.blocks["node"]].reshape(self.n_support_, -1)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``; see :class:`~palmette.estimators.base.StructuredEstimator`.

        Returns
        -------
        self
        """
        check_kernel_settings(self)
        if self.kernel is not None and "kernel" in getattr(self.structure, "lacks", {}):
            reason = self.structure.lacks["kernel"]
            raise MissingCapability(
                f"kernel={self.kernel!r} does not go with {type(self.structure).__name__}: {reason}"
            )
        if self.kernel is not None and self._in_kernel_dual():
            return fit_kernel(self, X, y, sample_weight)
        return super().fit(X, y, sample_weight)

    def _lay_out(self, data: Encoded) -> tuple[Encoded, Any, Keep]:
        if self.kernel is None:
            return super()._lay_out(data)
        kernel = resolve_kernel(self.kernel)
        kernel.check()
        own, feature_map = mapped(self, kernel, data)
        scorer = layout_weights(self, own, intercept=None if isinstance(kernel, Nystroem) else False)
        return own, scorer, kept(feature_map, int(data.samples.batch.rows.shape[1]), scorer)

    def _has_kernel_dual(self) -> bool:
        """Whether the loss has a dual that takes kernels as they are."""
        return False

    def _in_kernel_dual(self) -> bool:
        """Whether a fit works in that dual: of labels at rows, unless a solver of weights is wanted."""
        named = self.solver if isinstance(self.solver, str) else ""
        wanted = named in ("auto", "frank_wolfe", "kernel_frank_wolfe") or isinstance(
            self.solver, KernelFrankWolfe
        )
        exact = not isinstance(resolve_kernel(self.kernel), Nystroem)
        return exact and wanted and self.structure.label_per_row and self._has_kernel_dual()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.pairwise = precomputed and tags.input_tags.two_d_array
        return tags

    def _kernel_scorer(self) -> Any:
        check_is_fitted(self, "coef_")
        exact = isinstance(getattr(self.scorer_, "feature_map", None), KernelValues)
        if not exact and not isinstance(self.scorer_, KernelScorer):
            raise AttributeError(
                "the model has weights, not support rows: it was fitted without a kernel, or with Nystroem"
            )
        return self.scorer_


@dataclass(eq=False, repr=False, kw_only=True)
class LabelEstimator(KernelEstimator):
    """A learner whose outputs are made of labels."""

    structure: Structure = field(kw_only=False)
    edge_features: str | Sequence[Any] | Callable[..., Any] | None = None
    fit_intercept: bool | str = "auto"
    classes: Sequence[Any] | None = None
    class_weight: Mapping[Any, float] | str | None = None
