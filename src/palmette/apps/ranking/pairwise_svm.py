"""Ranking SVM: a support vector machine on differences of documents, by scikit-learn. The rival to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC


class PairwiseSVM(BaseEstimator):
    """Minimise ``C sum over pairs of weight max(0, 1 - <w, x_better - x_worse>)^p + |w|^2 / 2``.

    Pairs are documents of one query with different grades; p is 1 or 2. Nothing of palmette's learners is in it.

    Parameters
    ----------
    C : float, default=1.0
    by_query : bool, default=True
        Whether the pairs of a query weigh 1 together (or each).
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"

    Examples
    --------
    >>> X, y = [np.array([[0.0], [2.0], [1.0]])], [np.array([0, 2, 1])]
    >>> PairwiseSVM().fit(X, y).row_scores(X)[0].argsort()
    array([0, 2, 1])
    """

    def __init__(self, C: float = 1.0, by_query: bool = True, loss: str = "squared_hinge") -> None:
        self.C = C
        self.by_query = by_query
        self.loss = loss

    def fit(self, X: Sequence[np.ndarray], y: Sequence[Any]) -> PairwiseSVM:
        """Learn from queries and the grades of their documents."""
        differences, weights = pairs(X, y, self.by_query)
        # Half of the pairs turned round, since a classifier wants two classes.
        sign = np.where(np.arange(len(differences)) % 2, 1, -1)
        svm = LinearSVC(
            C=self.C, loss=self.loss, dual=self.loss == "hinge", fit_intercept=False, tol=1e-3, max_iter=1000
        )
        svm.fit(differences * sign[:, None], sign, sample_weight=weights)
        self.coef_ = svm.coef_[0]
        return self

    def row_scores(self, X: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Scores of the documents of each query."""
        return [np.asarray(table) @ self.coef_ for table in X]


def pairs(X: Sequence[np.ndarray], y: Sequence[Any], by_query: bool) -> tuple[np.ndarray, np.ndarray]:
    """Differences of better and worse documents of all queries, and their weights.

    >>> pairs([np.array([[0.0], [2.0], [5.0]])], [[0, 1, 1]], by_query=True)
    (array([[2.],
           [5.]]), array([0.5, 0.5]))
    """
    differences, weights = [], []
    for table, grades in zip(X, map(np.asarray, y)):
        better, worse = np.nonzero(grades[:, None] > grades[None, :])
        differences.append(np.asarray(table)[better] - np.asarray(table)[worse])
        weights.append(np.full(len(better), 1.0 / max(len(better), 1) if by_query else 1.0))
    found = np.concatenate(differences)
    if len(found) < 2:
        raise ValueError("there are fewer than two pairs of documents with different grades to learn from")
    return found, np.concatenate(weights)
