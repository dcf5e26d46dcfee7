"""Learners of page labels: one page at a time, or all pages of a school together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ramify.apps.webgraph.page_graph import PageGraph
from ramify.apps.webgraph.sites import Collection
from ramify.apps.webgraph.soft_hinge import SoftSSVM
from ramify.estimators.crf import CRF
from ramify.estimators.ssvm import SSVM
from ramify.structures.multiclass import Multiclass

LEARNERS = ("SVM", "RMN", "M3N")


@dataclass(frozen=True)
class FittedPages:
    """A learner fitted on some schools of a collection.

    Attributes
    ----------
    model : estimator
    predict : callable
        ``predict(school)`` returns a label for each page of it.
    """

    model: Any
    predict: Callable[[str], list[str]]

    @property
    def gap(self) -> float:
        """Proven relative suboptimality of the training."""
        result = self.model.result_
        return float(result.gap / abs(result.primal)) if result.primal else 0.0

    @property
    def reason(self) -> str:
        """Why the training ended."""
        return self.model.result_.reason


@dataclass(frozen=True)
class PageLearner:
    """Fits a model on some schools of a collection.

    Attributes
    ----------
    model : estimator
    together : bool
        Whether the sample is a school with its edges, rather than a page.
    """

    model: Any
    together: bool

    def fit(self, pages: Collection, train: Sequence[str]) -> FittedPages:
        """Fit on the schools named `train`, with their words."""
        rows = pages.matrices(train)
        if not self.together:
            X = sparse.vstack([rows[name] for name in train]).tocsr()
            self.model.fit(X, np.concatenate([pages[name].labels for name in train]))
            return FittedPages(self.model, lambda name: list(self.model.predict(rows[name])))

        def graph(name: str) -> tuple:
            return rows[name], pages[name].pairs, pages[name].features

        self.model.fit([graph(name) for name in train], [pages[name].labels for name in train])
        return FittedPages(self.model, lambda name: list(self.model.predict([graph(name)])[0]))


def page_learner(
    name: str, l2_node: float, l2_edge: float = 0.0, *, tol: float = 0.01, n_jobs: int = -1
) -> PageLearner:
    """A learner by its name in the literature.

    Parameters
    ----------
    name : {"SVM", "RMN", "M3N"}
        A multiclass SVM on single pages; a relational Markov network, which is a conditional random field on the graph
        of a school with tree-reweighted sums; a max-margin Markov network on it, whose relaxed hinge is rounded off at
        the temperature of :class:`~ramify.apps.webgraph.soft_hinge.SoftSSVM`.
    l2_node, l2_edge : float
        Penalties of words and of edges.
    tol : float, default=0.01
        Relative suboptimality wanted.
    n_jobs : int, default=-1

    Examples
    --------
    >>> page_learner("M3N", 50.0, 0.3).model
    SoftSSVM(l2_bias=50.0, l2_edge=0.3, l2_node=50.0,
             structure=PageGraph(edge_bias=False), tol=0.01)
    """
    shared: dict[str, Any] = {"l2_node": l2_node, "l2_bias": l2_node, "tol": tol, "n_jobs": n_jobs}
    if name == "SVM":
        return PageLearner(SSVM(Multiclass(), **shared), together=False)
    if name not in LEARNERS:
        raise ValueError(f"learner must be one of {', '.join(LEARNERS)}, got {name!r}")
    # Without a bias an edge speaks only through its features, which are scaled by the degrees of its pages.
    kind = CRF if name == "RMN" else SoftSSVM
    return PageLearner(kind(PageGraph(edge_bias=False), l2_edge=l2_edge, **shared), together=True)
