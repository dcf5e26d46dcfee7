"""Common base of the output-kernel regressions: predict votes in the output space, then search their pre-images."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from palmette.contracts.structure import Structure
from palmette.errors import MissingCapability, warn_caller
from palmette.estimators.regression_data import (
    FEWER,
    Inputs,
    Landmarks,
    Outputs,
    as_given,
    dense,
    losses,
    paired,
)
from palmette.estimators.regression_files import RegressionFiles
from palmette.estimators.training import checked_weights
from palmette.kernels import Kernel, Nystroem, resolve_kernel
from palmette.outputs import OutputSpace, PreImages
from palmette.regression import RegressionResult, Weighted

logger = logging.getLogger("palmette")


class OutputRegression(RegressionFiles, BaseEstimator):
    """Base of ``SORR`` and ``SOSC``: a regression in the space of an output kernel."""

    kernel_: Any  # what was learnt with
    functions = ("kernel", "output", "task_loss")  # parameters that may be functions
    copies = 3  # matrices of m x m numbers that a fit holds
    remedy = FEWER  # where they do not fit into memory

    output: Any
    kernel: Any
    fit_intercept: bool
    decode_intercept: bool
    task_loss: Any
    verbose: int
    inputs_: Inputs
    space_: OutputSpace
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    result_: RegressionResult
    given_as_: str

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``.

        Parameters
        ----------
        X : table of shape (m, n_features), or list of m objects
            What the kernel compares; for ``kernel="precomputed"`` the kernel values of all pairs, (m, m).
        y : list of m outputs
        sample_weight : array of shape (m,), optional
            At least 0. A sample of weight 2 counts as two equal samples. Settings of kernels that follow from the data,
            such as ``gamma="scale"`` and ``idf``, take all rows alike, those of weight 0 included.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        self.check()
        kernel = resolve_kernel(self.kernel)
        kernel.check()
        self.kernel_ = kernel
        X = self._checked(kernel, X, reset=True)
        outputs = Outputs.of(self.output, self.task_loss, X, y, sample_weight)
        if isinstance(kernel, Nystroem):
            self._learn_many(Landmarks.of(kernel, X), outputs)
        else:
            inputs = Inputs.of(kernel, X)
            self._learn(inputs, inputs.gram(self.copies, type(self).__name__, self.remedy), outputs)
        self._say_end(started)
        return self

    def check(self) -> None:
        """Refuse settings that make no sense."""
        for name in ("fit_intercept", "decode_intercept"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        by_structure = isinstance(self.output, Structure)  # whose losses have names and tables, too
        if self.task_loss is not None and not callable(self.task_loss) and not by_structure:
            raise TypeError(
                f"task_loss must be a function of a true and a predicted output, got {self.task_loss!r}; losses "
                "by name are those of a structure given as output"
            )

    def _learn(self, inputs: Inputs, gram: np.ndarray, outputs: Outputs) -> None:
        """Set the coefficients from the Gram matrix of all inputs."""
        raise NotImplementedError

    def _learn_many(self, landmarks: Landmarks, outputs: Outputs) -> None:
        """Set the coefficients of landmarks."""
        raise NotImplementedError

    def _keep(
        self, inputs: Inputs, outputs: Outputs, votes: tuple[np.ndarray, np.ndarray], result: RegressionResult
    ) -> None:
        self.inputs_, self.space_, self.given_as_ = inputs, outputs.space, outputs.given_as
        self.dual_coef_, self.intercept_ = votes
        self.weight_, self.result_, self.objective_ = outputs.weight, result, result.objective
        if not result.converged:
            warn_caller(
                f"{type(self).__name__}: the optimality conditions hold to {result.kkt:.2g} of the gradient at zero "
                f"after {result.n_steps} steps, and more was wanted: the kernel is ill-conditioned for these settings, "
                "penalise more or allow more iterations",
                UserWarning,
            )

    # -- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The best output of every input, as an array if ``y`` was one, else as a list.

        :meth:`pre_images` says what is proven of it.
        """
        found = self.pre_images(X).outputs
        return as_given(found, self.given_as_)

    def pre_images(self, X: Any) -> PreImages:
        """Best outputs, their values, proven bounds, which of them are exact, and the method of the search."""
        votes = self.votes(X)
        return self.space_.pre_images(votes, X)

    def votes(self, X: Any) -> np.ndarray:
        """Predictions in the output space, ``sum_i a_i(x) ballot_i``, shape (n, p)."""
        check_is_fitted(self, "dual_coef_")
        parts = [values @ self.dual_coef_ for _, values in self._values(X)]
        found = np.concatenate([np.empty((0, self.dual_coef_.shape[1])), *parts])
        if not np.all(np.isfinite(found)):
            i = int(np.argwhere(~np.isfinite(found))[0, 0])
            raise ValueError(
                f"the votes for X[{i}] are NaN or infinite: the kernel or the coefficients overflow"
            )
        return found + self.intercept_ if self.decode_intercept else found

    def coefficients(self, X: Any) -> np.ndarray:
        """``a(x)`` of the training outputs for every input, shape (n, m); with an intercept each row sums to 1."""
        check_is_fitted(self, "dual_coef_")
        if isinstance(self.kernel_, Nystroem):
            raise MissingCapability(
                "with Nystroem there are no coefficients of training samples, but of landmarks: dual_coef_"
            )
        plain = Weighted.of(
            self.inputs_.gram(self.copies, "coefficients"), self.weight_, bool(self.fit_intercept)
        )
        cross = np.concatenate([values for _, values in self._values(X)])
        return plain.coefficients_of(self._plain_coefficients(plain, plain.inputs(cross)))

    def _plain_coefficients(self, plain: Weighted, inputs: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One minus the mean task loss: the share of right outputs for Dirac's kernel.

        The loss is ``task_loss``, or without one that of the output kernel
        (:meth:`palmette.outputs.OutputSpace.kernel_losses`), which counts wrong symbols or levels for Hamming's kernel
        and that of paths.
        """
        check_is_fitted(self, "dual_coef_")
        true, _ = paired(X, y)
        weight = checked_weights(sample_weight, len(true))
        self.space_.check_given(true, X)
        found = losses(self.space_, self.task_loss, true, self.pre_images(X).outputs)
        return float(1.0 - weight @ found / weight.sum())

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def support_(self) -> Any:
        """Training inputs with coefficients, as the kernel compares them: all, or the landmarks of Nystroem."""
        check_is_fitted(self, "dual_coef_")
        return self.inputs_.support

    def _values(self, X: Any) -> Any:
        inputs = self.inputs_
        X = self._checked(inputs.kernel, X, reset=False)
        return inputs.values(X)

    def _checked(self, kernel: Any, X: Any, reset: bool) -> Any:
        """Inputs of a kernel of objects as they are; those of others as a table of finite numbers."""
        inner = resolve_kernel(kernel.kernel) if isinstance(kernel, Nystroem) else kernel
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if not isinstance(inner, Kernel) or inner.objects:
            return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)

    def _say(self, text: str, *values: Any) -> None:
        """A line of progress."""
        if self.verbose and not logger.hasHandlers():
            print(f"{type(self).__name__}: {text % values}", file=sys.stderr)
        else:
            logger.log(
                logging.INFO if self.verbose else logging.DEBUG, f"%s: {text}", type(self).__name__, *values
            )

    def _say_end(self, started: float) -> None:
        """The last line of a fit."""
        result = self.result_
        self._say(
            "ended after %d steps, objective %.6g, optimality conditions to %.2g, %s, %.2f s",
            result.n_steps, result.objective, result.kkt, "converged" if result.converged else "not converged",
            time.perf_counter() - started,
        )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self.kernel, "precomputed", self.kernel == "precomputed")
        return tags


def ballots_of(outputs: Outputs, rows: np.ndarray) -> np.ndarray:
    """What votes are sums of: the rows themselves, unless the space has others."""
    return rows if outputs.space.ballots is outputs.space.rows else dense(outputs.space.ballots, "votes")
