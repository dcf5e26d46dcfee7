"""Learners of page labels: one page at a time, or all pages of a school together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from palmette.apps.webgraph.edges import FEATURES
from palmette.apps.webgraph.sites import Collection
from palmette.estimators.crf import CRF
from palmette.estimators.settings import LossOptions
from palmette.estimators.ssvm import SSVM
from palmette.structures.chain.multiclass import Multiclass
from palmette.structures.graph.graph import Graph
from palmette.structures.graph.inputs import GraphInput

LEARNERS = ("SVM", "RMN", "M3N")
UNDIRECTED = ["both ways", "neighbours"]


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
        if not len(train):
            raise ValueError(f"no school to learn from; choose from {', '.join(pages.names)}")
        rows = pages.matrices(train)
        if not self.together:
            X = sparse.vstack([rows[name] for name in train]).tocsr()
            self.model.fit(X, np.concatenate([pages[name].labels for name in train]))
            return FittedPages(self.model, lambda name: list(self.model.predict(rows[name])))

        def graph(name: str) -> GraphInput:
            return typed_graph(rows[name], pages[name].pairs, pages[name].features)

        self.model.fit([graph(name) for name in train], [pages[name].labels for name in train])
        return FittedPages(self.model, lambda name: list(self.model.predict([graph(name)])[0]))


def typed_graph(rows: Any, pairs: np.ndarray, features: np.ndarray) -> GraphInput:
    """A graph with an edge for each kind of connection of a pair, whose one feature is its weight.

    Links one way have a direction and the other kinds have none, so a pair that is connected in two ways has two edges.

    >>> graph = typed_graph(np.eye(2), np.array([[1, 0]]), np.array([[0.5, 0.0, 0.5]]))
    >>> graph.edges.tolist(), graph.edge_types, graph.edge_features.tolist()
    ([[1, 0], [1, 0]], ['link', 'neighbours'], [[0.5], [0.5]])
    """
    kind, edge = np.nonzero(features.T)
    return GraphInput(
        rows, pairs[edge], features[edge, kind][:, None], edge_types=[FEATURES[k] for k in kind.tolist()]
    )


def page_learner(
    name: str,
    l2_node: float,
    l2_edge: float = 0.0,
    temperature: float = 0.2,
    *,
    tol: float = 0.002,
    n_jobs: int = -1,
) -> PageLearner:
    """A learner by its name in the literature.

    Parameters
    ----------
    name : {"SVM", "RMN", "M3N"}
        A multiclass SVM on single pages; a relational Markov network, which is a conditional random field on the graph
        of a school with tree-reweighted sums; a max-margin Markov network on it, whose relaxed hinge is rounded off
        (:class:`~palmette.surrogates.SoftHinge`).
    l2_node, l2_edge : float
        Penalties of words and of edges.
    temperature : float, default=0.2
        Of the M3N: how far its hinge is rounded off.
    tol : float, default=0.002
        Relative suboptimality to reach; L-BFGS also ends where ten iterations bring less.
    n_jobs : int, default=-1

    Examples
    --------
    >>> learner = page_learner("M3N", 50.0, 0.3)
    >>> type(learner.model).__name__, learner.model.structure.symmetric
    ('SSVM', ['both ways', 'neighbours'])
    """
    shared: dict[str, Any] = {"l2_node": l2_node, "l2_bias": l2_node, "tol": tol, "n_jobs": n_jobs}
    if name == "SVM":
        return PageLearner(SSVM(Multiclass(), **shared), together=False)
    if name not in LEARNERS:
        raise ValueError(f"learner must be one of {', '.join(LEARNERS)}, got {name!r}")
    # Without a bias an edge speaks only through its features, which are scaled by the degrees of its pages.
    # Sums to the last digit cost several times as much, and label no better.
    structure = Graph(
        symmetric=UNDIRECTED, edge_bias=False, inference="bounded", sums="reweighted", tol=1e-4, max_sweeps=30
    )
    shared["l2_edge"] = l2_edge
    if name == "RMN":
        return PageLearner(CRF(structure, **shared), together=True)
    soft: dict[str, Any] = {"loss": "soft_hinge", "loss_options": LossOptions(temperature=temperature)}
    return PageLearner(SSVM(structure, **soft, **shared), together=True)
