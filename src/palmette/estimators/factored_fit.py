"""Kernels for every loss: linear learning on an exact factor of the Gram matrix.

With ``K = Phi Phi'`` (Cholesky with pivots, cut where what is left of the diagonal is below 1e-10 of its largest entry)
a kernel model on the training rows is a linear one on the rows of ``Phi``: the scores are ``Phi w`` and the penalty is
``|w|^2``, so every loss and every solver of linear models serves. If ``L`` are the rows of ``Phi`` that belong to the
pivots, ``K[:, pivots] = Phi L'``, so that ``L' coef = w`` gives the coefficients of those rows.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.base import clone

from palmette.errors import MissingCapability
from palmette.estimators.progress import seeing
from palmette.estimators.settings import settings_of
from palmette.estimators.training import encode_training, given_labels
from palmette.kernels.definite import check_definite
from palmette.kernels.rows import as_rows
from palmette.kernels.training_rows import KernelRows
from palmette.objectives.kernel_scorer import KernelScorer
from palmette.structures.graph.batch import GraphBatch

CUT = 1e-10  # relative to the largest entry of the diagonal
MISFIT = 1e-6  # of a factor relative to the matrix: beyond the rounding of kernels in single precision
BYTES_A_PAIR = 16  # the matrix and its factor


class Factor(NamedTuple):
    """``K = features features'``; ``pivots`` are the rows whose features are the lower triangle ``corner``."""

    features: np.ndarray
    pivots: np.ndarray
    corner: np.ndarray

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients of all rows, 0 but for the pivots, with ``K @ coefficients = features @ weights``."""
        out = np.zeros((len(self.features), weights.shape[1]))
        out[self.pivots] = solve_triangular(self.corner, weights, trans="T", lower=True)
        return out


def factorise(gram: np.ndarray) -> Factor:
    """Factor of a positive semi-definite matrix, which is overwritten.

    >>> factor = factorise(np.array([[4.0, 2.0, 4.0], [2.0, 2.0, 2.0], [4.0, 2.0, 4.0]]))
    >>> factor.features @ factor.features.T
    array([[4., 2., 4.],
           [2., 2., 2.],
           [4., 2., 4.]])
    >>> factor.features.shape
    (3, 2)
    """
    probe = np.random.default_rng(0).standard_normal(len(gram))
    image, most = gram @ probe, float(np.abs(gram).sum(axis=1).max(initial=0.0))
    tolerance = CUT * max(float(np.max(np.diag(gram), initial=0.0)), np.finfo(float).tiny)
    lower, order, rank, info = dpstrf(gram, tol=tolerance, lower=1, overwrite_a=1)
    if info < 0:
        raise ValueError(f"argument {-info} of the Cholesky factorisation is invalid")
    order, lower = order - 1, np.tril(lower)[:, :rank]
    features = np.empty_like(lower)
    features[order] = lower
    # Of a matrix with a negative eigenvalue the factorisation leaves out a part without a word.
    left = float(np.linalg.norm(image - features @ (features.T @ probe)))
    share = left / max(most * float(np.linalg.norm(probe)), np.finfo(float).tiny)
    if share > MISFIT:
        raise ValueError(
            f"the Gram matrix of the {len(gram)} distinct training rows is not positive semi-definite: its factor is "
            f"off by {share:.1e} of it. Use another kernel, or add a multiple of the identity to it."
        )
    return Factor(np.ascontiguousarray(features), order[:rank], lower[:rank])


def fit_factored(model: Any, kernel: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a learner with a kernel by its own linear solvers."""
    name = type(model.structure).__name__
    edge_kernel = settings_of(model, "kernel_options").edge_kernel
    if edge_kernel is not None:
        raise MissingCapability(
            f"edge_kernel={edge_kernel!r} goes with loss='hinge' and rescaling='margin' only: leave it out"
        )
    if not model.structure.label_per_row:
        raise MissingCapability(
            f"kernel={model.kernel!r} scores labels at positions, but {name} has none: use Chain(), Multiclass() "
            "or kernel=Nystroem(...)"
        )
    started = time.perf_counter()
    y = given_labels(y, model.structure.layout)
    data = encode_training(X, y, model.structure, model.classes, sample_weight, **model._encoding())
    batch = data.samples.batch
    if isinstance(batch, GraphBatch):
        raise MissingCapability(
            f"kernel={model.kernel!r} on Graph() goes with SSVM, loss='hinge' and rescaling='margin' only: use those, "
            "or kernel=Nystroem(...)"
        )
    model._note_features(X, reset=True)
    rows = KernelRows.of(kernel, as_rows(batch.rows))
    factor = factorise(_gram(rows, model))
    plain = clone(model).set_params(kernel=None, fit_intercept=False, encoding__states="all")
    plain.classes = list(data.codec.classes_)

    def kernelised(linear: Any, w: np.ndarray) -> tuple[KernelScorer, np.ndarray]:
        """Scorer and weights of the kernel model that has the scores of a linear one."""
        nodes = w[linear.blocks["node"]].reshape(-1, linear.n_labels)
        rest = w[linear.blocks["node"].stop :]
        own = replace(linear, n_columns=0)
        scorer = KernelScorer(rows.kernel, rows.support, data.encoder.n_columns, own)
        return scorer.of_support(np.concatenate([factor.coefficients(nodes).ravel(), rest]))

    plain.callbacks = [
        seeing(callback, lambda seen: model._snapshot(data, *kernelised(seen.scorer_, seen.coef_)))
        for callback in model.callbacks or ()
    ]
    features, offsets = factor.features[rows.unique], batch.offsets
    tables: Any = (
        features
        if model.structure.layout == "items"
        else [features[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    )
    factored = time.perf_counter()
    try:
        plain.fit(tables, y, sample_weight)
    finally:
        if hasattr(plain, "coef_"):  # after Ctrl-C too
            scorer, w = kernelised(plain.scorer_, plain.coef_)
            model._keep(data, scorer, replace(plain.result_, w=w))
            model.l2_ = plain.l2_
            model.fit_seconds_ = {"encode": factored - started, "solve": time.perf_counter() - factored}
    return model


def _gram(rows: KernelRows, model: Any) -> np.ndarray:
    """The Gram matrix in double precision, if it fits and is positive semi-definite."""
    n = rows.prepared.shape[0]
    needed, cache_size = BYTES_A_PAIR * n**2, settings_of(model, "kernel_options").cache_size
    if needed > 1e6 * float(cache_size):
        raise MissingCapability(
            f"kernel={model.kernel!r} with this loss needs {needed / 1e6:.2g} MB for {n} distinct rows, and "
            f"cache_size={cache_size:g}: raise cache_size, or use kernel=Nystroem(...)"
        )
    check_definite(rows.kernel, rows.prepared, 0)
    if getattr(rows.kernel, "precomputed", False):
        return np.array(rows.prepared, float)
    # in double precision, since the factor would see the rounding of single
    double = rows.prepared.astype(float)
    return np.array(rows.kernel.cross(double, double), float)
