"""Plackett-Luce loss: the negative log-likelihood of graded documents, as a random order drawn place by place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.samples import Partly
from palmette.structures.ranking.codec import grades_of, ranks_of
from palmette.surrogates.base import Evaluation

TIES = ("exact", "efron", "breslow")  # in the order of the kernels' numbers


@dataclass(frozen=True)
class PlackettLuceLoss:
    r"""``-log P(documents come in the order of their grades)`` under a Plackett-Luce model.

    A random order of documents with scores s is drawn place by place, each time with probabilities proportional to
    ``exp(s)`` among those that are left: ``P(order) = prod_i exp(s_i) / sum_{j >= i} exp(s_j)``. Grades say that every
    document comes before those of lower grades, and nothing about those of its own grade. With groups A of equal
    grades, the best first, and the weight ``W = sum exp(s)`` of what is below a group,

    ``P = prod_A P_A``,  ``P_A = int_0^inf prod_{d in A} (1 - exp(-exp(s_d) t)) W exp(-W t) dt``,

    the sum over the orders inside the groups ("exact", by quadrature to rounding), which for one document is
    ``exp(s_d) / (exp(s_d) + W)``. Two bounds of a group of m documents with the weight ``S = sum_{d in A} exp(s_d)``
    are cheaper:

    * "efron": ``P_A >= m! prod_{d in A} exp(s_d) / prod_{l < m} (W + (1 - l / m) S)``, with equality where the scores
      of a group are equal;
    * "breslow": ``P_A >= m! prod_{d in A} exp(s_d) / (W + S)^m``, which is lower.

    So ``0 <= exact <= efron <= breslow``, and all agree without ties. All three are convex in the scores: the bounds
    are sums of log-sum-exps, and the exact likelihood is the probability that noise with a log-concave density falls
    into a convex set that moves with the scores. The group of the lowest grade has a factor 1: nothing is below it.

    Parameters
    ----------
    ties : {"exact", "efron", "breslow"}
    top : int, optional
        Only the groups that begin among the first ``top`` places have a factor; all by default. For complete orders
        that is the likelihood of the first ``top`` places.

    Examples
    --------
    >>> loss = PlackettLuceLoss()
    >>> values, gradient = loss.on(np.log([1.0, 2.0, 3.0]), grades=np.array([1, 0, 0]), offsets=np.array([0, 3]))
    >>> np.exp(-values)  # 1 / (1 + 2 + 3)
    array([0.16666667])
    """

    ties: str = "exact"
    top: int | None = None

    smooth = True
    convex = True
    needs = ("best_equivalent",)  # grades in the annotation

    def __post_init__(self) -> None:
        if self.ties not in TIES:
            raise ValueError(f"ties must be one of {', '.join(map(repr, TIES))}, got {self.ties!r}")
        whole = isinstance(self.top, int | np.integer) and not isinstance(self.top, bool)
        if self.top is not None and not (whole and self.top >= 1):
            raise ValueError(
                f"top must be a number of places of at least 1 or None for all, got {self.top!r}"
            )

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every query."""
        theta.check()
        if isinstance(true, Partly):
            return self._of_known(structure, theta, true.annotation.codes, weight)
        true = np.asarray(true)
        order = np.empty(len(true), np.int64)  # the ranks of a true output follow its grades
        order[np.repeat(theta.offsets[:-1], np.diff(theta.offsets)) + ranks_of(true)] = np.arange(len(true))
        values, gradient = self._losses(theta.node, order, grades_of(true), theta.offsets, weight)
        return Evaluation(values, replace(theta, node=gradient))

    def _of_known(
        self, structure: Structure, theta: Any, codes: np.ndarray, weight: np.ndarray
    ) -> Evaluation:
        """Documents without a grade are left out: the order of the others has the same distribution without them."""
        rows = np.flatnonzero(codes >= 0)
        sample = np.repeat(np.arange(len(theta)), np.diff(theta.offsets))[rows]
        offsets = np.searchsorted(sample, np.arange(len(theta) + 1))
        grades = grades_of(codes[rows])
        order = np.lexsort((-grades, sample))
        values, own = self._losses(theta.node[rows], order, grades, offsets, weight)
        gradient = np.zeros_like(theta.node)
        gradient[rows] = own
        return Evaluation(values, replace(theta, node=gradient))

    def on(
        self, scores: np.ndarray, grades: np.ndarray, offsets: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values of queries given as plain arrays, and the weighted gradient by the scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
        grades : ndarray of int, shape (n_rows,)
            Higher is better.
        offsets : ndarray of int, shape (n_queries + 1,)
            Query q has the rows ``offsets[q]:offsets[q + 1]``.
        weight : ndarray of shape (n_queries,), optional

        Returns
        -------
        values : ndarray of shape (n_queries,)
        gradient : ndarray of shape (n_rows,)
        """
        scores, grades, offsets = np.asarray(scores, float), np.asarray(grades), np.asarray(offsets, np.int64)
        if scores.ndim != 1 or not np.all(np.isfinite(scores)):
            raise ValueError(
                f"scores must be one finite number per row, got shape {scores.shape} or NaN or infinity"
            )
        if (
            grades.shape != scores.shape
            or offsets[0] != 0
            or offsets[-1] != len(scores)
            or np.any(np.diff(offsets) < 0)
        ):
            raise ValueError(
                f"{len(scores)} scores need as many grades and offsets that rise from 0 to {len(scores)}, got grades "
                f"of shape {grades.shape} and offsets from {offsets[0]} to {offsets[-1]}"
            )
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        weight = np.ones(len(offsets) - 1) if weight is None else np.asarray(weight, float)
        return self._losses(scores, np.lexsort((-grades, query)), grades, offsets, weight)

    def _losses(
        self, scores: Any, order: Any, grades: Any, offsets: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.ranking.kernels.plackett_luce import losses

        values, gradient = np.empty(len(offsets) - 1), np.empty(len(scores))
        losses(
            np.ascontiguousarray(scores), np.ascontiguousarray(order), np.ascontiguousarray(grades, np.int64), offsets,
            np.ascontiguousarray(weight), TIES.index(self.ties), int(self.top or 0), values, gradient,
        )  # fmt: skip
        return values, gradient
