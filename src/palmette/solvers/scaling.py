"""Smooth problems in coordinates in which all columns have about the same size.

A method that goes by gradients needs a number of steps that grows with the ratio of the largest to the smallest
curvature. Columns of very different size (a year beside a flag) make that ratio large, so that a run seems to stand
still far from the optimum. In the coordinates ``v = w / factor`` with

    ``factor_j = 2^round(-log2(sqrt((sum_i c_i x_ij^2 + l2_j) / sum_i c_i)))``

every real-valued column has about the curvature of a flag that is always 1. The objective is the same, and so are all
values and bounds. Factors are powers of two, so that nothing is rounded on the way there and back. Columns of zeros and
ones keep the factor 1: problems that have no others are left as they are.

A column that is far from 0 all over (a year) is much like the intercept. Where intercepts have no penalty they take its
mean, ``b_k' = b_k + sum_j mean_j w_jk``, which centres the column and leaves the objective as it is, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.loops import find

# What does not depend on the coordinates.
_SAME = {"convex", "decomposition", "loosen", "refine", "samples", "scorer", "structure", "surrogate"}


class Centring(NamedTuple):
    """Weights of columns that are centred, with the means of their columns and the places of their intercepts."""

    weights: np.ndarray
    mean: np.ndarray
    bias: np.ndarray


class ScaledProblem:
    """``problem`` as a function of ``v``, with ``w = factor v`` but for intercepts, from which means are taken.

    Parameters
    ----------
    given : Problem
        The problem as a function of ``w``.
    factor : ndarray of shape (n_params,)
        Positive numbers, one per weight; the same all over a group of weights that are penalised together.
    centring : Centring, optional
        The intercepts have no penalty, and the factor 1.
    """

    def __init__(self, given: Any, factor: np.ndarray, centring: Centring | None = None) -> None:
        self.given, self.factor, self.centring = given, factor, centring
        self.n_params, self.smooth = given.n_params, given.smooth
        self.regularizer = given.regularizer.rescaled(factor)

    def __getattr__(self, name: str) -> Any:
        if name not in _SAME:
            raise AttributeError(f"a problem in scaled coordinates has no {name!r}")
        return getattr(self.given, name)

    def loss(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Value of the data term and its gradient with respect to ``v``."""
        value, gradient = self.given.loss(self.outward(v))
        if self.centring is not None:
            weights, mean, bias = self.centring
            gradient[weights] -= mean * gradient[bias]
        gradient *= self.factor
        return value, gradient

    def diagonal(self, v: np.ndarray) -> np.ndarray:
        """The variances of the model with respect to ``v``, where the given problem has them and nothing is centred."""
        return self.factor**2 * find("diagonal", self.given)(self.given)(self.outward(v))

    def outward(self, v: np.ndarray) -> np.ndarray:
        """The weights that belong to ``v``."""
        w = self.factor * v
        self._take_means(w, -1.0)
        return w

    def inward(self, w: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`outward`."""
        v = w.copy()
        self._take_means(v, 1.0)
        return v / self.factor

    def _take_means(self, w: np.ndarray, sign: float) -> None:
        if self.centring is not None:
            weights, mean, bias = self.centring
            w += sign * np.bincount(bias, mean * w[weights], len(w))


def in_scale(problem: SampledProblem) -> Any:
    """The problem in good coordinates; itself where it is in good ones, or where nothing is known of its columns."""
    if not hasattr(getattr(problem, "scorer", None), "weight_columns"):
        return problem
    samples, reg = problem.samples, problem.regularizer
    squares, rows = column_squares(samples.batch, samples.weight)
    if not np.any(squares):
        return problem
    centring = None
    if _free_intercepts(problem):
        mean, squares = _centred(samples.batch, samples.weight, squares)
        centring = _centring(problem.scorer, mean)
    column = problem.scorer.weight_columns()
    weights = np.flatnonzero(column >= 0)
    column = column[weights]
    l2 = np.full(len(squares), np.inf)
    np.minimum.at(l2, column, reg.l2[weights])
    # A column is scaled as a whole, and so is a group of weights that are penalised together.
    size = np.where(squares > 0.0, (squares + l2) / rows, 1.0)
    exponent = np.zeros(problem.n_params)
    exponent[weights] = -0.5 * np.log2(size[column])
    factor = np.exp2(np.round(reg.common(exponent)))
    plain = centring is None and np.all(factor == 1.0)
    return problem if plain else ScaledProblem(problem, factor, centring)


def _free_intercepts(problem: SampledProblem) -> bool:
    """Whether every label has an intercept of its own, without a penalty."""
    scorer, reg = problem.scorer, problem.regularizer
    bias = scorer.blocks.get("bias", slice(0, 0))
    free = set(range(bias.start, bias.stop)) <= set(reg.unpenalised.tolist())
    return 0 < bias.stop - bias.start == scorer.n_labels and free


def _centring(scorer: Any, mean: np.ndarray) -> Centring | None:
    """The centring of the features of positions by these means; None if all are 0."""
    column, label = scorer.coordinates()
    moved = np.flatnonzero(mean[column])
    if not len(moved):
        return None
    blocks = scorer.blocks
    return Centring(blocks["node"].start + moved, mean[column[moved]], blocks["bias"].start + label[moved])


def _centred(batch: Any, weight: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of the columns of positions that are far from 0 all over, else 0; and all sums of squares about them."""
    table, offsets = batch.feature_tables()[0]
    own = np.repeat(weight, np.diff(offsets))
    if isinstance(table, SparseRows):  # whose columns are 0 almost everywhere
        return np.zeros(table.n_columns), squares
    mean = own @ table / own.sum()
    about = np.array([own @ (table[:, j] - mean[j]) ** 2 for j in range(len(mean))])
    far = (squares[: len(mean)] > 2.0 * about) & (about > 0.0)
    squares = squares.copy()
    squares[: len(mean)][far] = about[far]
    return np.where(far, mean, 0.0), squares


def column_squares(batch: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sum_i c_i x_ij^2`` of every real-valued column, 0 for columns of zeros and ones; and ``sum_i c_i``.

    Columns are those of all tables of features, one after the other (``Batch.feature_tables``); ``c_i`` is the weight
    of the sample that row i belongs to.

    >>> from palmette.data.batch import Batch
    >>> column_squares(Batch(np.array([[1.0, 3.0], [0.0, 4.0]]), np.array([0, 2])), np.ones(1))
    (array([ 0., 25.]), array([2., 2.]))
    """
    squares, rows = [], []
    for table, offsets in batch.feature_tables():
        own = np.repeat(weight, np.diff(offsets))
        found = _sparse_squares(table, own) if isinstance(table, SparseRows) else _dense_squares(table, own)
        squares.append(found)
        rows.append(np.full(len(found), own.sum()))
    return np.concatenate(squares), np.concatenate(rows)


def _dense_squares(table: np.ndarray, weight: np.ndarray) -> np.ndarray:
    real = np.any((table != 0.0) & (table != 1.0), axis=0)
    with np.errstate(over="ignore"):
        squares = np.einsum("i,ij,ij->j", weight, table, table)
    return np.where(real & np.isfinite(squares), squares, 0.0)


def _sparse_squares(table: SparseRows, weight: np.ndarray) -> np.ndarray:
    squares = np.zeros(table.n_columns)
    if not len(table.values):
        return squares
    part = slice(int(table.indptr[0]), int(table.indptr[-1]))
    column, value = table.indices[part], table.values[part]
    real = np.zeros(table.n_columns, bool)
    real[column[(value != 0.0) & (value != 1.0)]] = True
    with np.errstate(over="ignore"):
        found = np.bincount(column, np.repeat(weight, np.diff(table.indptr)) * value * value, table.n_columns)
    return np.where(real & np.isfinite(found), found, 0.0)
