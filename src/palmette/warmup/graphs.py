"""What compiles the kernels of graphs, for ``palmette warmup``."""

from __future__ import annotations

import warnings

import numpy as np

from palmette import CRF, SSVM, Graph, GraphInput, Perceptron
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.graph_cut import graph_cut
from palmette.inference.reduction import reduced
from palmette.structures import grid_graph, tree_graph
from palmette.structures.graph.factor_graphs import factor_graph
from palmette.warmup.answers import ask_all


def run_grids() -> None:
    """Learners and predictions on grids of two labels with features of edges: cuts, exact sums and messages."""
    rng = np.random.default_rng(0)
    X = [_with_contrast(grid_graph(rng.normal(size=(4, 4, 2)))) for _ in range(2)]
    Y = [rng.integers(0, 2, len(graph)) for graph in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations, and approximate answers
        for learner in (CRF, SSVM, Perceptron):
            for limit in (None, 1):
                model = learner(Graph(symmetric=True, memory_limit=limit), max_iter=2, n_jobs=1).fit(X, Y)
                model.predict(X)
                if learner is CRF:
                    model.predict_marginals(X)


def _with_contrast(graph: GraphInput) -> GraphInput:
    ends = graph.nodes[graph.edges]
    return GraphInput(graph.nodes, graph.edges, edge_features=np.abs(ends[:, 0] - ends[:, 1]))


def run_graphs() -> None:
    """Learners and answers on trees and grids, exact and approximate."""
    rng = np.random.default_rng(0)
    trees = [tree_graph(rng.normal(size=(4, 2)), [-1, 0, 0, 1]) for _ in range(3)]
    grids = [grid_graph(rng.normal(size=(3, 3, 2))) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations, and approximate answers
        for X in (trees, grids):
            Y = [rng.integers(0, 3, len(graph)).tolist() for graph in X]
            for learner in (CRF, SSVM, Perceptron):
                learner(Graph(), max_iter=2, n_jobs=1, classes=[0, 1, 2]).fit(X, Y).predict(X)
            if X is trees:
                for tol in (1e-4, 1e-6):  # in both precisions
                    CRF(Graph(), solver="dual", tol=tol, max_iter=2, n_jobs=1, classes=[0, 1, 2]).fit(X, Y)
            model = CRF(Graph(), max_iter=2, n_jobs=1, classes=[0, 1, 2]).fit(X, Y)
            theta = ask_all(model, X)
        for structure in (
            Graph(memory_limit=1),
            Graph(memory_limit=1, sums="bethe", inference="loopy"),
            Graph(memory_limit=1, inference="exact"),
        ):
            structure.best(theta)
            structure.log_partition(theta)
            structure.relaxed_best(theta)
        reduced(factor_graph(theta, 0))
        agree = [[1.0, 0.0], [0.0, 1.0]]
        graph_cut(FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), agree)]))
        binary = [rng.integers(0, 2, len(graph)).tolist() for graph in grids]
        for learner in (CRF, SSVM):  # messages and cuts of two labels
            learner(Graph(memory_limit=1), max_iter=2, n_jobs=1, classes=[0, 1]).fit(grids, binary).predict(
                grids
            )
        SSVM(Graph(memory_limit=1), max_iter=2, n_jobs=1, classes=[0, 1, 2]).fit(grids, Y)
