"""Approximate feature maps of kernels, so that linear solvers can be used on large data."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.definite import check_definite
from palmette.kernels.feature_map import FeatureMap
from palmette.kernels.rows import Rows, as_rows, distinct
from palmette.registry import register

_LEAST = 1e-12  # eigenvalues below this, relatively, are rounding


@register("kernel")
class Nystroem(FeatureMap, TransformerMixin, BaseEstimator):
    r"""Features whose inner products approximate a kernel: ``phi(x) = K_mm^{-1/2} K(landmarks, x)``.

    ``SSVM(Chain(), kernel=Nystroem(RBF(), 500))`` maps the rows once and trains by the linear solvers: time and memory
    grow with the number of rows, not with its square. As a transformer of tables, or of lists of tables, it stands
    before any learner, CRF and Perceptron too.

    Parameters
    ----------
    kernel : kernel, name, function, or a scikit-learn transformer
        A transformer, such as ``RBFSampler`` (random features), is used as it is.
    n_components : int, default=100
        Number of landmarks, distinct training rows chosen at random; all of them make the map exact.
    random_state : int, default=0

    Examples
    --------
    >>> from palmette.kernels import RBF
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> features = Nystroem(RBF(gamma=0.1), 3).fit_transform(x)
    >>> np.allclose(features @ features.T, RBF(gamma=0.1)(x), atol=1e-5)
    True
    """

    def __init__(self, kernel: Any = "rbf", n_components: int = 100, random_state: int = 0) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def check(self) -> None:
        """Refuse settings that make no sense."""
        if not isinstance(self.n_components, Integral) or self.n_components < 1:
            raise ValueError(
                f"Nystroem: n_components must be an integer of at least 1, got {self.n_components!r}"
            )
        if not self._is_transformer:
            kernel = resolve_kernel(self.kernel)
            if not isinstance(kernel, Kernel) or kernel.precomputed:
                raise TypeError(f"Nystroem needs a kernel of features, got {self.kernel!r}")
            kernel.check()

    @property
    def _is_transformer(self) -> bool:
        return hasattr(self.kernel, "fit") and hasattr(self.kernel, "transform")

    @property
    def compares_objects(self) -> bool:
        """Whether inputs are objects instead of tables."""
        return not self._is_transformer and resolve_kernel(self.kernel).objects

    def _admitted(self, X: Any) -> Any:
        return resolve_kernel(self.kernel).admit(X) if self.compares_objects else _joined(X)

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose landmarks among the rows of a table, or of a list of tables, or among objects."""
        self.check()
        rows = self._admitted(X)
        if self._is_transformer:
            self.map_ = clone(self.kernel).fit(rows)
            self.n_features_out_ = int(self.map_.transform(rows[:1]).shape[1])
            return self
        bound = resolve_kernel(self.kernel).bind(rows)
        if bound.objects:
            rows = bound.prepare(rows)
        landmarks = rows[self.choose(rows)]
        self.landmarks_ = landmarks if bound.objects else bound.prepare(landmarks)
        check_definite(bound, self.landmarks_)
        values, vectors = np.linalg.eigh(np.asarray(bound.cross(self.landmarks_, self.landmarks_), float))
        keep = values > _LEAST * max(float(values[-1]), 1e-300)
        self.normalization_ = vectors[:, keep] / np.sqrt(values[keep])
        self.kernel_, self.n_features_out_ = bound, int(keep.sum())
        return self

    def choose(self, rows: Rows) -> np.ndarray:
        """Numbers of the rows that become landmarks, distinct ones at random, in their order."""
        first, _ = distinct(rows)
        rng = check_random_state(self.random_state)
        chosen = np.sort(rng.choice(len(first), min(int(self.n_components), len(first)), replace=False))
        found: np.ndarray = first[chosen]
        return found

    def transform(self, X: Any) -> Any:
        """The features of a table, shape (rows, at most n_components), or of each table of a list."""
        check_is_fitted(self, "n_features_out_")
        if self.compares_objects:
            return self.map_rows(self._admitted(X))
        if _is_list_of_tables(X):
            return [self.map_rows(as_rows(table)) for table in X]
        return self.map_rows(as_rows(X))

    def map_rows(self, rows: Rows) -> np.ndarray:
        """Features of rows, in double precision."""
        if self._is_transformer:
            found = self.map_.transform(rows)
            return np.asarray(found.toarray() if sparse.issparse(found) else found, float)
        return super().map_rows(rows)


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and (sparse.issparse(X[0]) or np.ndim(X[0]) == 2)


def _joined(X: Any) -> Rows:
    if not _is_list_of_tables(X):
        return as_rows(X)
    tables = [as_rows(table) for table in X]
    if any(map(sparse.issparse, tables)):
        return sparse.csr_array(sparse.vstack(tables))
    return np.concatenate(tables)
